"""Contextual bandits: arms with features whose mean losses are linear in the features."""

from typing import ClassVar

import numpy as np
from pydantic import Field

from jaxonline.comparators import BestOfEachRound
from jaxonline.environments import ContextualLinearArms
from jaxonline.feedback import Bandit
from jaxonline.game import Game
from jaxonline.learners import EXP3, LinThompson, LinUCB
from jaxonline.losses import ArmLoss
from jaxonline.study.ready.games.classical import ClassicalGame, Setting


class Contextual(ClassicalGame):
    """Arms whose mean loss is the inner product of unknown weights and the arm's features; all features are observed.

    In each round, the comparator is the arm with the smallest mean loss of the round.
    """

    title: ClassVar[str] = "Contextual bandits: pseudo-regret against the best arm of each round."
    arms: int = Field(5, ge=2, le=10_000, description="Arms in each round.")
    dimension: int = Field(5, ge=1, le=1000, description="Features of an arm.")
    noise_std: float = Field(0.1, ge=0, description="Standard deviation of the noise on losses.")
    width: float = Field(0.5, gt=0, description="Width of the learners' confidence sets.")

    def setting(self) -> Setting:
        weights = np.linspace(-1.0, 1.0, self.dimension) if self.dimension > 1 else np.ones(1)
        environment = ContextualLinearArms(
            weights / np.linalg.norm(weights), n_arms=self.arms, noise_std=self.noise_std
        )
        learners = {
            "LinUCB": LinUCB(self.width),
            "linear Thompson sampling": LinThompson(self.width),
            "EXP3, blind to features": EXP3(0.01),
        }
        sentences = ["A learner that ignores the features has linear regret here: no arm is best for long."]
        game = Game(environment, Bandit(), loss=ArmLoss(), pseudo=True)
        return Setting(game, learners, {}, sentences, BestOfEachRound())
