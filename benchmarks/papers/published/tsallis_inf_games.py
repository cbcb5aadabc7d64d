"""Games of the experiments of Zimmert and Seldin (2021): stochastic arms, and arms that an adversary changes."""

import math

from jaxonline.environments import BernoulliArms, SwitchingArms

REDUCED, WEIGHTED = "Tsallis-INF, RV", "Tsallis-INF, IW"  # reduced variance, importance-weighted
EXPONENTIAL, UCB, THOMPSON = "EXP3", "UCB1", "Thompson sampling"
STOCHASTIC, ADVERSARIAL = "stochastic", "adversarial"
GROWTH = 1.6  # of the phases of the adversary


def stochastic_arms(n_arms: int, gap: float) -> BernoulliArms:
    """Return arms with the mean losses (1 - gap) / 2 and (1 + gap) / 2."""
    return BernoulliArms([0.5 - gap / 2, *[0.5 + gap / 2] * (n_arms - 1)])


def adversarial_arms(n_arms: int, gap: float, n_rounds: int) -> SwitchingArms:
    """Return arms whose mean losses are 0 and gap in odd phases, 1 - gap and 1 in even phases."""
    starts, n = [], 0
    while (start := (starts[-1] if starts else 1) + math.floor(GROWTH**n)) <= n_rounds:
        starts.append(start)
        n += 1
    low, high = ([base, *[base + gap] * (n_arms - 1)] for base in (0.0, 1.0 - gap))
    return SwitchingArms([low if phase % 2 == 0 else high for phase in range(len(starts) + 1)], starts)
