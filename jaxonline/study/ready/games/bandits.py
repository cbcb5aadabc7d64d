"""Stochastic bandits: pseudo-regret of classical algorithms on arms with given mean losses."""

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from jaxonline import bounds
from jaxonline.comparators import BestArm
from jaxonline.environments import BernoulliArms, GaussianArms
from jaxonline.feedback import Bandit
from jaxonline.game import Game
from jaxonline.learners import (
    EXP3,
    EXP3IX,
    KLUCB,
    MOSS,
    UCB1,
    BernoulliThompson,
    EpsilonGreedy,
    ExploreThenCommit,
    GaussianThompson,
)
from jaxonline.losses import ArmLoss
from jaxonline.parameters.errors import ArgumentError
from jaxonline.simulation.measures import Switches
from jaxonline.study.ready.games.classical import Bound, ClassicalGame, Setting
from jaxonline.study.study import Numbers

STD = 0.25  # standard deviation of Gaussian losses


class Bandits(ClassicalGame):
    """Arms with random losses; the learner sees only the loss of the pulled arm.

    Losses are 0 or 1 ("bernoulli"), or Gaussian with standard deviation 1/4, for learners that do not need losses in
    [0, 1].
    """

    title: ClassVar[str] = "Bandits: pseudo-regret against the best arm."
    on_logarithmic_axes: ClassVar[bool] = True
    rounds: int = Field(10_000, ge=2, le=100_000_000, description="The horizon.")
    means: Numbers = Field((0.1, 0.2, 0.3, 0.4, 0.5), min_length=2, description="Mean losses of the arms.")
    law: Literal["bernoulli", "gaussian"] = Field("bernoulli", description="Distribution of the losses of an arm.")

    def setting(self) -> Setting:
        means, T = np.asarray(self.means), self.rounds
        gaps, K = means - means.min(), len(means)
        if not gaps.any():
            raise ArgumentError("means", f"must not all be equal (got {', '.join(map(str, self.means))})")
        pulls = max(1, round((T / K) ** (2 / 3)))
        committing = f"explore {pulls} times, then commit"
        learners: dict[str, Any] = {committing: ExploreThenCommit(pulls), "epsilon-greedy, 0.1": EpsilonGreedy(0.1)}
        theorem_bounds: dict[str, Bound] = {}
        if pulls * K <= T:
            std = STD if self.law == "gaussian" else 0.5
            theorem_bounds[committing] = lambda t: float(bounds.explore_then_commit(gaps, pulls, T, std))
        if self.law == "gaussian":
            environment: Any = GaussianArms(means, STD)
            learners["Thompson sampling"] = GaussianThompson(STD)
            sentences = ["Thompson sampling knows the standard deviation of the losses."]
        else:
            environment, rate = BernoulliArms(means), bounds.lai_robbins(means)
            learners |= {
                "UCB1": UCB1(), "KL-UCB": KLUCB(), "MOSS": MOSS(T), "Thompson sampling": BernoulliThompson(),
                "EXP3": EXP3.over_horizon(K, T), "EXP3-IX": EXP3IX.over_horizon(K, T),
            }  # fmt: skip
            theorem_bounds |= {
                "UCB1": lambda t: float(bounds.ucb1(gaps, t)),
                "MOSS": lambda t: float(bounds.moss(K, T)),
                "EXP3": lambda t: float(bounds.exp3(K, T)),
            }
            sentences = [
                f"Lai and Robbins: asymptotically every consistent learner has at least {rate:.2f} ln t, the rate of "
                f"KL-UCB and Thompson sampling ({rate * np.log(T):.1f} at the horizon; at finite t less is possible).",
                "The bounds of explore-then-commit, MOSS and EXP3 are those at the horizon.",
            ]
        game = Game(environment, Bandit(), loss=ArmLoss(), pseudo=True)
        limits = (-1.0, 1.0) if self.law == "bernoulli" else None
        return Setting(game, learners, theorem_bounds, sentences, BestArm(), [Switches()], limits=limits)
