"""Duelling bandits: learners that compare two arms in each round and observe which arm wins."""

from typing import ClassVar

import numpy as np
from pydantic import Field

from jaxonline import bounds
from jaxonline.comparators import CondorcetWinner
from jaxonline.environments import PreferenceArms
from jaxonline.feedback import Duel
from jaxonline.game import Game
from jaxonline.learners import RUCB
from jaxonline.losses import PairLoss
from jaxonline.parameters.errors import ArgumentError
from jaxonline.study.ready.games.classical import ClassicalGame, Setting
from jaxonline.study.study import Positive


class Duels(ClassicalGame):
    """Arms with strengths s_i: arm i beats arm j with probability s_i / (s_i + s_j) (model of Bradley and Terry)."""

    title: ClassVar[str] = "Duelling bandits: pseudo-regret against the Condorcet winner."
    on_logarithmic_axes: ClassVar[bool] = True
    rounds: int = Field(20_000, ge=2, le=100_000_000, description="The horizon.")
    strengths: Positive = Field((9.0, 3.0, 2.0, 1.0, 1.0), min_length=2, description="Strengths of the arms.")
    delta: float = Field(0.1, gt=0, lt=1, description="Probability that a bound fails.")

    def setting(self) -> Setting:
        strengths = np.asarray(self.strengths)
        if (strengths == strengths.max()).sum() > 1:
            raise ArgumentError("strengths", f"must have one largest number (got {', '.join(map(str, strengths))})")
        preferences = strengths[:, None] / (strengths[:, None] + strengths)
        comparator = CondorcetWinner(preferences)
        learners = {f"RUCB, alpha = {alpha:g}": RUCB(alpha) for alpha in (0.51, 1.0, 2.0)}
        theorems = {
            f"RUCB, alpha = {alpha:g}": lambda t, alpha=alpha: float(bounds.rucb(preferences, t, self.delta, alpha))
            for alpha in (1.0, 2.0)
        }
        sentences = [
            f"A bound holds with probability at least {1 - self.delta:g}, in all rounds at once.",
            "For alpha near 1/2 the theorem promises nothing at these horizons.",
        ]
        game = Game(PreferenceArms(preferences), Duel(), loss=PairLoss(comparator.winner), pseudo=True)
        return Setting(game, learners, theorems, sentences, comparator, limits=(0.0, 0.5))
