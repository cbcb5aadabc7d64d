"""Prediction with expert advice: regret to the best expert for stochastic, drifting and adversarial losses."""

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from jaxonline import bounds
from jaxonline.comparators import BestArm
from jaxonline.environments import BernoulliArms, DataStream, RandomWalkExperts
from jaxonline.feedback import FullInformation
from jaxonline.game import Environment, Game
from jaxonline.learners import (
    BOA,
    EWA,
    DrawnExpert,
    FollowTheLeader,
    FollowThePerturbedLeader,
    FollowTheRegularizedLeader,
    MLPoly,
)
from jaxonline.losses import ArmLoss
from jaxonline.study.ready.games.classical import ClassicalGame, Setting


class Experts(ClassicalGame):
    """K experts with losses in [0, 1], which are all revealed after each round; learners follow one expert per round.

    Kinds of losses: "coins" are fair coins, on which every learner has a regret of about sqrt(T ln K / 2). With "gap",
    one expert has a smaller mean loss. With "walk", losses are random walks. With "alternating", two experts alternate
    so that the leader is always wrong.
    """

    title: ClassVar[str] = "Expert advice: regret against the best expert."
    experts: int = Field(10, ge=2, le=100_000, description="Number of experts.")
    losses: Literal["coins", "gap", "walk", "alternating"] = Field("coins", description="Generator of the losses.")

    def environment(self) -> Environment:
        """Return the environment that generates the experts' losses."""
        K, T = self.experts, self.rounds
        if self.losses == "walk":
            return RandomWalkExperts(K, step=0.05)
        if self.losses == "alternating":
            losses = np.ones((T, K))
            losses[:, 0], losses[:, 1] = np.arange(T) % 2 == 0, np.arange(T) % 2 == 1
            losses[0, :2] = 0.5, 0.0
            return DataStream(None, losses)
        return BernoulliArms([0.5 - 0.1 * (self.losses == "gap"), *[0.5] * (K - 1)])

    def setting(self) -> Setting:
        K, T = self.experts, self.rounds
        weights, perturbed, regularized = (
            bound(K, T) for bound in (bounds.exponential_weights, bounds.perturbed_leader, bounds.regularized_leader)
        )
        learners = {
            "exponential weights": DrawnExpert(EWA(weights.eta)),
            "BOA": DrawnExpert(BOA()),
            "ML-Poly": DrawnExpert(MLPoly()),
            "perturbed leader": FollowThePerturbedLeader(perturbed.eta),
            "regularized leader": DrawnExpert(FollowTheRegularizedLeader(regularized.eta)),
            "follow the leader": DrawnExpert(FollowTheLeader()),
        }
        theorem_bounds = {
            "exponential weights": lambda t: bounds.exponential_weights(K, t, weights.eta).value,
            "perturbed leader": lambda t: bounds.perturbed_leader(K, t, perturbed.eta).value,
            "regularized leader": lambda t: bounds.regularized_leader(K, t, regularized.eta).value,
        }
        sentences = [
            f"Exponential weights: a regret of at most sqrt(T ln K / 2) = {weights.value:.1f} in expectation, always.",
            "Follow-the-leader has no such bound"
            + (
                ", and the leader is always wrong here."
                if self.losses == "alternating"
                else ": try --losses alternating."
            ),
        ]
        return Setting(
            Game(self.environment(), FullInformation(), loss=ArmLoss()), learners, theorem_bounds, sentences, BestArm(),
            limits=(-1.0, 1.0),
        )  # fmt: skip
