"""Bandits with delayed losses: how much a delay increases the regret, in the theorem and in simulations."""

from collections.abc import Iterable
from typing import ClassVar

import numpy as np
from pydantic import Field

from jaxonline import bounds
from jaxonline.comparators import BestArm
from jaxonline.environments import BernoulliArms
from jaxonline.feedback import Bandit, Delayed
from jaxonline.game import Entrant, Game
from jaxonline.learners import BOLD, EXP3, UCB1, UpdateOnArrival
from jaxonline.losses import ArmLoss
from jaxonline.parameters.errors import ArgumentError
from jaxonline.simulation.measures import Unanswered
from jaxonline.study.ready.games.classical import Bound, ClassicalGame, Setting
from jaxonline.study.study import Numbers


def whole_delays(delays: Iterable[float]) -> list[int]:
    """Return delays as integers; raises ValueError for a negative or fractional delay."""
    for value in delays:
        if value < 0 or value != int(value):
            raise ArgumentError("delays", f"must be whole numbers of rounds, at least 0 (got {value:g})")
    return [int(value) for value in delays]


class DelayedBandits(ClassicalGame):
    """Bernoulli arms whose losses arrive after a fixed number of rounds, for several delays at once.

    All learners face the same losses. BOLD plays with one copy of UCB1 per round whose loss has not arrived.
    """

    title: ClassVar[str] = "Delayed bandits: pseudo-regret against the best arm."
    rounds: int = Field(5000, ge=2, le=100_000_000, description="The horizon.")
    means: Numbers = Field((0.3, 0.5, 0.6, 0.7), min_length=2, description="Mean losses of the arms.")
    delays: Numbers = Field((0, 20, 100), description="Delays, each a number of rounds.")

    def setting(self) -> Setting:
        means, T = np.asarray(self.means), self.rounds
        gaps, K = means - means.min(), len(means)
        if not gaps.any():
            raise ArgumentError("means", f"must not all be equal (got {', '.join(map(str, self.means))})")
        learners: dict[str, Entrant] = {}
        theorems: dict[str, Bound] = {}
        for d in whole_delays(self.delays):
            feedback = Delayed(Bandit(), d)
            eta = min(1 / (2 * np.e * (d + 1)), float(np.sqrt(np.log(K) / (T * (np.e * K / 2 + d)))))
            learners[f"UCB1, d = {d}"] = Entrant(UpdateOnArrival(UCB1()), feedback)
            learners[f"EXP3, d = {d}"] = Entrant(UpdateOnArrival(EXP3(eta)), feedback)
            learners[f"BOLD of UCB1, d = {d}"] = Entrant(BOLD(UCB1(), d), feedback)
            theorems[f"UCB1, d = {d}"] = lambda t, d=d: float(bounds.delayed_ucb1(gaps, d, t))
            theorems[f"EXP3, d = {d}"] = lambda t, d=d, eta=eta: float(bounds.delayed_exp3(K, d, T, eta))
            theorems[f"BOLD of UCB1, d = {d}"] = lambda t, d=d: float(
                bounds.bold(lambda rounds: bounds.ucb1(gaps, np.maximum(rounds, 1)), d, t)
            )
        sentences = [
            "Delay adds d times the sum of the gaps to the bound of UCB1, and multiplies that of BOLD by about d + 1.",
            "The bound of EXP3 is that at the horizon, with the learning rate of the learner.",
        ]
        game = Game(BernoulliArms(means), Bandit(), loss=ArmLoss(), pseudo=True)
        return Setting(game, learners, theorems, sentences, BestArm(), [Unanswered()], limits=(-1.0, 1.0))
