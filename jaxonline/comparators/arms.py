"""Comparators with finitely many moves: arms, experts, sets, pairs, and sequences of segments."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from jaxonline.environments.arms import MeansOfRows
from jaxonline.environments.bandit_games import Preferences
from jaxonline.game.roles import Comparator
from jaxonline.losses import ZeroOne
from jaxonline.losses.arms import PairLoss, Select, set_size
from jaxonline.losses.base import AnyLoss
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.struct import set_field, static, struct
from jaxonline.parameters.types import Count, PyTree

# ---------------------------------------------------------------------------------------------------------------------
# Cumulative statistic of a comparator over a data set.


def cumulative_statistic(comparator: Comparator, X: Float[ArrayLike, "n d"], y: Float[ArrayLike, "n"]) -> PyTree:
    """Return the sum of a comparator's statistic over a data set, added up in float64.

    Example:
        >>> import numpy as np
        >>> from jaxonline.comparators import L2Ball, cumulative_statistic
        >>> ball = L2Ball(np.inf)
        >>> float(ball.best_loss(cumulative_statistic(ball, np.eye(2), np.array([1.0, 2.0]))))
        0.0
    """
    check.instance("comparator", comparator, Comparator, "a comparator that is summed over rounds, such as L2Ball")
    X, y = check.finite_array("X", X), check.finite_array("y", y)
    if X.ndim == 0 or y.ndim == 0 or len(X) != len(y):
        raise ArgumentError("y", f"must have as many rows as X (got shapes {y.shape} and {X.shape})")
    statistics = jax.vmap(comparator.statistic)(jnp.asarray(X, float), jnp.asarray(y, float))
    return jax.tree.map(lambda leaf: np.asarray(leaf, np.float64).sum(0), statistics)


# ---------------------------------------------------------------------------------------------------------------------
# Comparator: the best arm, or the best expert, in hindsight.


@struct
class BestArm:
    """Best arm (or expert) in hindsight: the arm with the smallest cumulative loss.

    Outcomes are vectors of the losses of all arms. With `Game(pseudo=True)` losses are expected losses.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> best = jo.BestArm()
        >>> best.best_loss(np.array([3.0, 2.0, 5.0])).item(), best.best_predictor(np.array([3.0, 2.0, 5.0])).item()
        (2.0, 1)
    """

    label: ClassVar[str] = "the best arm"

    def statistic(self, x: PyTree, y: Float[Array, "K"]) -> Float[Array, "K"]:
        """Losses of all arms in one round; raises a TypeError if the outcome is not a vector."""
        if getattr(y, "ndim", getattr(y, "shape", None) and len(y.shape)) != 1:
            raise ArgumentTypeError("outcomes", f"must be vectors of losses for BestArm (got {check.quote(y)})")
        return y

    def best_loss(self, sums: Float[np.ndarray, "... K"]) -> Float[np.ndarray, "..."]:
        """Smallest cumulative loss."""
        return np.asarray(sums).min(axis=-1)

    def best_predictor(self, sums: Float[np.ndarray, "... K"]) -> np.ndarray:
        """Index of the best arm."""
        return np.asarray(sums).argmin(axis=-1)


# ---------------------------------------------------------------------------------------------------------------------
# Comparator: the best expert in hindsight, for experts that give advice.


@struct
class BestExpert:
    """Best expert in hindsight: the expert with the smallest cumulative loss.

    Instances are vectors of the experts' predictions. If outcomes are vectors of the experts' losses, use `BestArm`.

    Args:
        loss: `loss(prediction, y)` of the game; the default `ZeroOne()` counts mistakes.

    Example:
        >>> import numpy as np
        >>> from jaxonline.comparators import BestExpert, cumulative_statistic
        >>> best = BestExpert()
        >>> sums = cumulative_statistic(best, np.array([[1.0, -1.0], [1.0, 1.0]]), np.array([-1.0, -1.0]))
        >>> best.best_loss(sums).item(), best.best_predictor(sums).item()
        (1.0, 1)
    """

    loss: AnyLoss = ZeroOne()
    label: ClassVar[str] = "the best expert"

    def statistic(self, x: Float[Array, "K"], y: Any) -> Float[Array, "K"]:
        """Losses of all experts in one round; raises a TypeError if the instance is not a vector."""
        if len(getattr(x, "shape", ())) != 1:
            raise ArgumentTypeError("instances", f"must be vectors of advice for BestExpert (got {check.quote(x)})")
        return jax.vmap(lambda prediction: self.loss(prediction, y))(x)

    def best_loss(self, sums: Float[np.ndarray, "... K"]) -> Float[np.ndarray, "..."]:
        """Smallest cumulative loss."""
        return np.asarray(sums).min(axis=-1)

    def best_predictor(self, sums: Float[np.ndarray, "... K"]) -> np.ndarray:
        """Index of the best expert."""
        return np.asarray(sums).argmin(axis=-1)


# ---------------------------------------------------------------------------------------------------------------------
# Comparator: the best set of arms in hindsight.


@struct
class BestSet:
    """Set of arms with the smallest cumulative loss (expected loss if `pseudo=True`), for the loss `losses.SumOfArms`.

    Args:
        select: function of the cumulative losses [K] that returns the set [m] with the smallest sum, such as
            `losses.SmallestArms(m)`.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> best, sums = jo.BestSet(jo.losses.SmallestArms(2)), np.array([3.0, 2.0, 5.0])
        >>> best.best_loss(sums).item(), best.best_predictor(sums).tolist()
        (5.0, [0, 1])
    """

    select: Select

    label: ClassVar[str] = "the best set"

    def statistic(self, x: PyTree, y: Float[Array, "K"]) -> Float[Array, "K"]:
        """Return the losses of all arms in one round.

        Raises a TypeError if the outcome is not a vector, and a ValueError if `select` does not return a set of at most
        K arms.
        """
        if getattr(y, "ndim", getattr(y, "shape", None) and len(y.shape)) != 1:
            raise TypeError(f"y: BestSet needs vectors of losses as outcomes (got {check.quote(y)})")
        set_size(self.select, y.shape[0], y.dtype)
        return y

    def best_loss(self, sums: Float[np.ndarray, "... K"]) -> Float[np.ndarray, "..."]:
        """Return the smallest cumulative loss [...] of a set of arms."""
        return np.take_along_axis(np.asarray(sums), self.best_predictor(sums), axis=-1).sum(axis=-1)

    def best_predictor(self, sums: Float[np.ndarray, "... K"]) -> Int[np.ndarray, "... m"]:
        """Return the arms of the best set [..., m]."""
        sums = np.asarray(sums)
        with jax.enable_x64(True):
            sets = jax.vmap(self.select)(jnp.asarray(sums.reshape(-1, sums.shape[-1])))
        return np.asarray(sets).reshape(*sums.shape[:-1], -1)


# ---------------------------------------------------------------------------------------------------------------------
# Comparator: the Condorcet winner, the arm that beats every other arm.


@struct
class CondorcetWinner:
    """The pair (c, c) of the Condorcet winner c, which beats every other arm with a probability above 1/2.

    The game must use the loss `losses.PairLoss(c)`, which is the attribute `loss` of the comparator. The pair (c, c)
    has the loss 0, so the regret is the cumulative loss.

    Args:
        preferences: arm i beats arm j with probability `preferences[i, j]` [K, K]; the matrix and its transpose add up
            to 1. If no arm beats every other arm, a ValueError is raised.

    Example:
        >>> import jaxonline as jo
        >>> best = jo.CondorcetWinner([[0.5, 0.4], [0.6, 0.5]])
        >>> best.best_predictor, best.loss
        (1, PairLoss(winner=1))
    """

    preferences: Preferences
    winner: int = static(default=-1, init=False)

    label: ClassVar[str] = "the Condorcet winner"

    def __post_init__(self) -> None:
        values = check.concrete_array(self.preferences)
        if values is None:
            raise ArgumentError("preferences", "must be known here (computed outside jit)")
        beats_all = (values > 0.5).sum(axis=1) == len(values) - 1
        if not beats_all.any():
            raise ArgumentError("preferences", "must have a Condorcet winner, an arm that beats every other arm")
        set_field(self, "winner", int(beats_all.argmax()))

    @property
    def loss(self) -> PairLoss:
        """The loss of pairs of arms relative to the Condorcet winner."""
        return PairLoss(self.winner)

    @property
    def best_predictor(self) -> int:
        """The winner."""
        return self.winner

    def statistic(self, x: PyTree, y: Float[Array, "K K"]) -> Float[Array, ""]:
        """Return the loss of the pair (c, c) in one round; raises a ValueError if the outcome is no matrix of duels."""
        winner = jnp.full(2, self.winner, jnp.int32)
        return self.loss(winner, y)

    def best_loss(self, sums: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Return the cumulative loss of the pair (c, c), which is 0."""
        return np.asarray(sums)


# ---------------------------------------------------------------------------------------------------------------------
# Comparators that change over time: the best expert of each round, and sequences of experts with few switches.


@struct
class BestSegments:
    """Best sequence of experts (or arms) with at most k segments, the comparator of the switching regret.

    Outcomes are vectors of the losses of all experts. Dynamic programming finds the best sequence exactly, in time T k
    K for K experts. With one segment the comparator is `BestArm`.

    Args:
        n_segments: k, the largest number of segments; there are at most k - 1 switches.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> losses, rounds = np.array([[0.0, 1.0], [0.0, 1.0], [1.0, 0.0], [0.0, 1.0]]), np.array([3, 4])
        >>> [jo.BestSegments(k).best_losses(None, losses, rounds).tolist() for k in (1, 2, 3)]
        [[1.0, 1.0], [0.0, 1.0], [0.0, 0.0]]
    """

    n_segments: Count = static()
    label: ClassVar[str] = "the best sequence of arms"

    def best_losses(
        self, X: PyTree, y: Float[np.ndarray, "T K"], rounds: Int[np.ndarray, "G"]
    ) -> Float[np.ndarray, "G"]:
        """Return the smallest loss over the first t rounds, for each t of `rounds` (TypeError unless `y` is [T, K])."""
        if y.ndim != 2:
            raise ArgumentTypeError("outcomes", f"must be vectors of losses for BestSegments (got shape {y.shape[1:]})")
        # best[s, i]: smallest loss so far of the sequences with at most s switches that end with expert i
        best, losses_so_far = np.full((self.n_segments, y.shape[1]), np.inf), np.empty(len(y))
        best[0] = 0.0
        for t, losses in enumerate(y):
            best[1:] = np.minimum(best[1:], best[:-1].min(axis=1, keepdims=True))
            best = best + losses
            losses_so_far[t] = best.min()
        return losses_so_far[np.asarray(rounds) - 1]


@struct
class BestOfEachRound:
    """Best expert (or arm) of every round, the comparator of the dynamic regret.

    Outcomes are vectors of the losses of all experts; with `Game(pseudo=True)` outcomes are the expected losses.

    Example:
        >>> import numpy as np
        >>> from jaxonline.comparators import BestOfEachRound, cumulative_statistic
        >>> comparator = BestOfEachRound()
        >>> sums = cumulative_statistic(comparator, np.zeros((2, 0)), np.array([[0.5, 0.25], [0.0, 1.0]]))
        >>> float(comparator.best_loss(sums))
        0.25
    """

    label: ClassVar[str] = "the best arm of each round"

    def statistic(self, x: PyTree, y: Float[Array, "K"]) -> Float[Array, ""]:
        """Smallest loss of an expert in one round; raises a TypeError if the outcome is not a vector."""
        if len(getattr(y, "shape", ())) != 1:
            raise ArgumentTypeError("outcomes", f"must be vectors of losses for BestOfEachRound (got {check.quote(y)})")
        return jnp.min(y)

    def best_loss(self, sums: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Sum of the smallest losses of the rounds."""
        return np.asarray(sums)


# ---------------------------------------------------------------------------------------------------------------------
# Comparator of rested arms: the best number of pulls of each arm.


@struct
class BestPulls:
    """Best numbers of pulls of rested arms (`environments.RestedArms`), the comparator of the policy regret.

    Mean losses depend only on the numbers of pulls, so every order of the same pulls has the same expected loss. Play
    with `Game(pseudo=True)`, so that the losses of the learner are also expected losses. Dynamic programming finds the
    best numbers exactly, in time K T^2 for K arms and T rounds. The best numbers are for losses also in a game of
    rewards: give 1 - means there.

    Args:
        means: mean losses [N, K]: row n for the pull n + 1 of an arm, and the last row for all later pulls.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> best = jo.comparators.BestPulls([[0.25, 0.5], [1.0, 0.5]])
        >>> best.best_loss(np.array([1.0, 3.0])).tolist()  # one pull of the first arm, then two of the second
        [0.25, 1.25]
    """

    means: MeansOfRows

    label: ClassVar[str] = "the best numbers of pulls"

    def statistic(self, x: PyTree, y: Float[Array, "K"]) -> Float[Array, ""]:
        """Count the round; raises a ValueError if the outcome is not a vector of the losses of the arms."""
        if getattr(y, "shape", None) != self.means.shape[1:]:
            raise ArgumentError(
                "means", f"must have a column for each arm, {self.means.shape[1:]} (got {check.quote(y)})"
            )
        return jnp.ones((), y.dtype)

    def best_loss(self, sums: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Return the smallest expected loss of each number of rounds."""
        rounds = np.rint(sums).astype(int)
        n, means = np.arange(rounds.max(initial=0) + 1), np.asarray(self.means, np.float64)
        best = np.where(n == 0, 0.0, np.inf)
        for of_arm in np.cumsum(means[np.minimum(n, len(means) - 1)], axis=0).T:
            losses = np.concatenate([[0.0], of_arm])
            best = np.array([(losses[: t + 1] + best[t::-1]).min() for t in n])
        return best[rounds]
