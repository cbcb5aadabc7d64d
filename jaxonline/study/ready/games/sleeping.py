"""Sleeping bandits and experts: regret to the best ordering of arms, and regret over rounds with an expert awake."""

from typing import ClassVar

import numpy as np
from pydantic import Field

from jaxonline import bounds
from jaxonline.comparators import BestOrdering
from jaxonline.environments import BernoulliArms, Sleeping
from jaxonline.feedback import Bandit, FullInformation
from jaxonline.game import Entrant, Game
from jaxonline.learners import EWA, EXP3, UCB1, Hedge
from jaxonline.losses import ArmLoss, ExpectedLoss
from jaxonline.parameters.errors import ArgumentError
from jaxonline.simulation.awake_regret import AwakeRegret
from jaxonline.simulation.measures import Switches
from jaxonline.study.ready.games.classical import ClassicalGame, Setting
from jaxonline.study.study import Numbers

MEANS = (0.1, 0.2, 0.3, 0.4, 0.5)


class SleepingBandits(ClassicalGame):
    """Arms with losses 0 and 1 that are available at random; the comparator is the best ordering of the arms.

    The best ordering pulls, in each round, the available arm with the smallest mean loss. The worst arm is always
    available.
    """

    title: ClassVar[str] = "Sleeping bandits: pseudo-regret against the best ordering."
    on_logarithmic_axes: ClassVar[bool] = True
    rounds: int = Field(10_000, ge=2, le=100_000_000, description="The horizon.")
    means: Numbers = Field(MEANS, min_length=2, max_length=8, description="Mean losses of the arms, 2 to 8.")
    available: float = Field(0.5, gt=0, le=1, description="Probability that an arm is available.")

    def setting(self) -> Setting:
        means, T = np.asarray(self.means), self.rounds
        gaps, K = means - means.min(), len(means)
        if not gaps.any():
            raise ArgumentError("means", f"must not all be equal (got {', '.join(map(str, self.means))})")
        environment = Sleeping(BernoulliArms(means), np.where(np.arange(K) == means.argmax(), 1.0, self.available))
        learners = {"UCB1": UCB1(), "EXP3": EXP3.over_horizon(K, T)}
        theorem_bounds = {"UCB1": lambda t: float(bounds.sleeping_ucb1(gaps, t))}
        sentences = [
            "UCB1 is AUER of Kleinberg, Niculescu-Mizil and Sharma: it pulls the available arm with the smallest "
            "index. EXP3 has no bound on the regret to an ordering; its bounds are those of `sleeping-experts`."
        ]
        game = Game(environment, Bandit(), loss=ArmLoss(), pseudo=True)
        return Setting(game, learners, theorem_bounds, sentences, BestOrdering(), [Switches()], limits=(-1.0, 1.0))


class SleepingExperts(ClassicalGame):
    """Experts with losses 0 and 1; the best expert sleeps half of the time, and regret counts its awake rounds.

    The best expert is awake for `block` rounds and asleep for `block` rounds, in turns; the other experts are always
    awake.
    """

    title: ClassVar[str] = "Sleeping experts: regret to the best expert over the rounds in which it is awake."
    rounds: int = Field(2000, ge=2, le=100_000_000, description="The horizon.")
    means: Numbers = Field(MEANS, min_length=2, description="Mean losses of the experts; the first one sleeps.")
    block: int = Field(50, ge=1, le=1_000_000, description="Rounds between falling asleep and waking up.")

    def setting(self) -> Setting:
        means, T, block = np.asarray(self.means), self.rounds, self.block
        K, masks = len(means), np.ones((2 * block, len(means)), bool)
        masks[block:, 0] = False

        def awake_rounds(t: int) -> int:
            return t // (2 * block) * block + min(t % (2 * block), block)

        eta = float(np.sqrt(8 * np.log(K) / awake_rounds(T)))
        bandit_eta = float(np.sqrt(2 * np.log(K) / (K * awake_rounds(T))))
        learners = {"Hedge": Hedge(EWA(eta)), "EXP3": Entrant(EXP3(bandit_eta), Bandit())}
        theorem_bounds = {
            "Hedge": lambda t: float(bounds.sleeping_hedge(K, eta, awake_rounds(t))),
            "EXP3": lambda t: float(bounds.sleeping_exp3(K, bandit_eta, K * awake_rounds(t))),
        }
        sentences = [
            f"The best expert is awake in {awake_rounds(T):,} of {T:,} rounds. Freund, Schapire, Singer and Warmuth: "
            "sleeping experts keep their share of the total weight, so that only rounds count in which they are awake."
        ]
        game = Game(Sleeping(BernoulliArms(means), masks), FullInformation(), loss=ExpectedLoss())
        measure = AwakeRegret(expert=0)
        return Setting(game, learners, theorem_bounds, sentences, None, [measure], measure.name, limits=(-1.0, 1.0))
