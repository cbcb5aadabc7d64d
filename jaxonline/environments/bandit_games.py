"""Stochastic bandits as games, from the mean losses or mean rewards of the arms."""

from typing import Annotated, Any

import numpy as np
from numpy.typing import ArrayLike

from jaxonline.environments.arms import BernoulliArms, GaussianArms
from jaxonline.environments.moving_arms import SwitchingArms
from jaxonline.environments.rewards import Rewards
from jaxonline.feedback import Bandit
from jaxonline.game import Game, PseudoRegret
from jaxonline.game.protocols import AnyFeedback
from jaxonline.losses import ArmLoss
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.types import Component, NonNegativeFloat
from jaxonline.parameters.validation import validate_arguments


@validate_arguments
def bandit_game(
    means: ArrayLike,
    rewards: bool = False,
    *,
    std: NonNegativeFloat | None = None,
    starts: ArrayLike | None = None,
    feedback: Annotated[AnyFeedback, Component("feedback")] = Bandit(),  # noqa: B008
) -> Game:
    """Return the game of a stochastic bandit with the given means: Bernoulli arms, and the pseudo-regret.

    With `rewards=True`, the means are mean rewards, and results, tables, figures and messages show rewards. The game is
    the same as with the mean losses 1 - means: the same draws for the same key, and the same regret, as the regret is
    the reward of the best arm minus the reward of the learner. Learners still receive the losses 1 - reward
    (`jo.environments.Rewards`).

    The game is `Game(arms, feedback, loss=ArmLoss(), regret=PseudoRegret())`. Build it from these parts for other arms.
    `Rewards(environment)` also accepts arms that drift (`DriftingArms`), tables (`DataStream`), contexts
    (`ContextualLinearArms`) and environments of your own. Sets of arms (`SumOfArms`) and pairs of arms (`PairLoss`)
    have losses only.

    Args:
        means: mean losses of the arms [K], or mean rewards; in [0, 1] unless `std` is given. With `starts`, one row for
            each segment [S, K].
        rewards: whether means are mean rewards, and results show rewards. Convert rewards in another range [low, high]
            first: (reward - low) / (high - low). The regret is then in units of high - low.
        std: the standard deviation of Gaussian losses (or rewards); None for Bernoulli arms, which have 0 or 1.
        starts: the first rounds of the segments 2, ..., S [S - 1], for arms whose means change (`SwitchingArms`).
        feedback: the feedback, such as `Delayed(Bandit(), delay)`.

    Raises:
        TypeError: an argument is not of the required kind.
        ValueError: a number is out of range, or both `std` and `starts` are given.

    Example:
        >>> import jaxonline as jo
        >>> game = jo.bandit_game([0.8, 0.7, 0.5], rewards=True)
        >>> result = jo.simulate(
        ...     game, {"UCB1": jo.learners.UCB1()}, n_runs=20, n_rounds=100, comparator=jo.BestArm()
        ... )
        >>> result.mean("comparator_reward").mean[0, -1].round(3).item()
        80.0
        >>> jo.bandit_game([0.2, 0.3, 0.5]).environment
        BernoulliArms(means=[0.2, 0.3, 0.5])
    """
    if std is not None and starts is not None:
        raise ArgumentError("starts", "must be None if std is given, as arms that switch are Bernoulli arms (got both)")
    if starts is not None:
        check.finite_array("starts", starts, ndim=1)
        if np.ndim(means) == 1:
            raise ArgumentError(
                "starts", "must be None if means are a vector; with starts, give one row for each segment"
            )
    _check_means(means, rewards, std, starts)
    if starts is not None:
        arms: Any = SwitchingArms(means, starts)
    elif std is not None:
        arms = GaussianArms(means, std)
    else:
        arms = BernoulliArms(means)
    return Game(Rewards(arms) if rewards else arms, feedback, loss=ArmLoss(), regret=PseudoRegret())


def _check_means(means: Any, rewards: bool, std: float | None, starts: Any) -> None:
    """Check the shape of the means, and that means of Bernoulli arms are probabilities."""
    table = check.finite_array("means", means, ndim=1 if starts is None else 2)
    outside = np.asarray(table)[(np.asarray(table) < 0) | (np.asarray(table) > 1)]
    if std is None and outside.size:
        unit = "rewards" if rewards else "losses"
        scaled = "(reward - low) / (high - low)" if rewards else "(loss - low) / (high - low)"
        raise ArgumentError(
            "means", f"must be in [0, 1] for Bernoulli arms (got {float(outside[0]):g}); give std for Gaussian "
            f"{unit}, or scale {unit} in another range: {scaled}",
        )  # fmt: skip
