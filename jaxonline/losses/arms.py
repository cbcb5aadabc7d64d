"""Losses of arms, sets and pairs of arms, and of weights; outcomes of which only one entry is drawn."""

import dataclasses
import functools
from collections.abc import Callable
from typing import Annotated, Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxonline._xla.barriers import compute_once
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Component, Count, NonNegativeInt, PyTree, Takes, as_floating

# ---------------------------------------------------------------------------------------------------------------------
# Outcomes that are computed on request: losses and duels of arms, where an entry that is not read costs nothing.


@functools.partial(
    jax.tree_util.register_dataclass,
    data_fields=["arguments"],
    meta_fields=["entry_function", "vector_function", "length", "width", "offset"],
)
@dataclasses.dataclass(frozen=True, eq=False)
class LazyOutcome:
    """A vector or matrix of losses that computes its entries when they are read.

    An environment returns a lazy outcome from `outcome` in place of the array. Bandit feedback and `ArmLoss` read the
    entries that they need. All other code gets the whole array, with bit-identical entries.

    Args:
        entry_function: `entry_function(k, *arguments)` returns the entry at the index k, or the entries at an array of
            indices; for a matrix it is `entry_function(i, j, *arguments)`.
        vector_function: `vector_function(*arguments)` returns all entries [K], or [K, width].
        arguments: arguments of both functions, random keys included.
        length: the number K of entries, or of rows.
        width: the number of columns of a matrix.
        offset: a number that is added to all entries.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.losses.arms import LazyOutcome
        >>> squares = LazyOutcome(lambda k: k * k, lambda: jnp.arange(4) ** 2, (), length=4)
        >>> int(squares[2]), squares.vector().tolist()
        (4, [0, 1, 4, 9])
    """

    entry_function: Callable[..., Array]
    vector_function: Callable[..., Array]
    arguments: tuple[PyTree, ...]
    length: int
    width: int | None = None
    offset: float = 0.0

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape (K,), or (K, width)."""
        return (self.length,) if self.width is None else (self.length, self.width)

    @property
    def ndim(self) -> int:
        """1, or 2."""
        return len(self.shape)

    def __getitem__(self, index: Int[Array, "*n"] | tuple[Int[Array, "*n"], Int[Array, "*n"]]) -> Array:
        read = self._draws
        indices = index if isinstance(index, tuple) else (index,)
        place = tuple(map(id, indices))
        if place not in read:
            entry = compute_once(self.entry_function, *map(jnp.asarray, indices), *self.arguments)
            read[place] = indices, entry
        return self._plus_offset(read[place][1])

    def vector(self) -> Array:
        """All entries."""
        if "vector" not in self._draws:
            self._draws["vector"] = compute_once(self.vector_function, *self.arguments)
        return self._plus_offset(self._draws["vector"])

    def plus(self, offset: float) -> "LazyOutcome":
        """Return the outcome with a number added to all entries; both outcomes draw an entry once."""
        other = dataclasses.replace(self, offset=self.offset + offset)
        other.__dict__["_read"] = self._draws
        return other

    @property
    def _draws(self) -> dict[Any, Any]:
        """The entries drawn so far: the loss and the feedback read the same entry, which is drawn once."""
        return self.__dict__.setdefault("_read", {})

    def _plus_offset(self, entries: Array) -> Array:
        return entries + self.offset if self.offset else entries

    def __jax_array__(self) -> Array:
        return self.vector()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.vector(), dtype)


def as_vector(outcome: PyTree) -> PyTree:
    """Return the outcome as an array; all entries of a lazy outcome are computed."""
    return outcome.vector() if isinstance(outcome, LazyOutcome) else outcome


def for_loss(loss: Any, outcome: PyTree) -> PyTree:
    """Return the outcome for a loss: lazy only if the loss reads single entries."""
    return outcome if getattr(loss, "reads_entries", False) else as_vector(outcome)


# ---------------------------------------------------------------------------------------------------------------------
# Losses of a move among K arms (actions, experts); the outcome y is the vector of the losses of all arms [K].
#
# A move is an arm, 0 to K - 1, or weights on the arms [K], or a tuple (arm, probabilities): the
# `jaxonline.game.roles.Draw` of a learner that draws its arm.


@struct
class ArmLoss:
    """Loss y[arm] of the played arm; NaN for an arm outside 0 to K - 1. The move is an arm, or (arm, probabilities).

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.losses import ArmLoss
        >>> losses = jnp.array([0.5, 0.0, 1.0])
        >>> float(ArmLoss()(2, losses)), float(ArmLoss()((0, jnp.full(3, 1 / 3)), losses))
        (1.0, 0.5)
    """

    reads_entries: ClassVar[bool] = True  # a lazy outcome computes the entry of the arm only

    def __call__(self, y_hat: Any, y: Float[Array, "K"]) -> Float[Array, ""]:
        """Return y[arm]."""
        arm = y_hat[0] if isinstance(y_hat, tuple) else y_hat
        losses = y if isinstance(y, LazyOutcome) else as_floating(y)
        return jnp.where((arm >= 0) & (arm < losses.shape[0]), as_floating(losses[arm]), jnp.nan)

    def gradient(self, y_hat: Any, y: Float[Array, "K"]) -> Float[Array, "K"]:
        """Return the losses of all arms: the gradient of <e, y> in the indicator vector e, for any arm."""
        return as_floating(y)


@struct
class ExpectedLoss:
    """Expected loss <w, y> of a draw from the weights w; the move is w [K], or (arm, probabilities).

    The loss is linear in the weights, whose sum need not be 1. `Hedge` plays weights. For a learner that draws its arm,
    the expected loss is the mean of `ArmLoss` over the draw.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.losses import ExpectedLoss
        >>> losses, weights = jnp.array([0.5, 0.0, 1.0]), jnp.array([0.5, 0.25, 0.25])
        >>> float(ExpectedLoss()(weights, losses)), float(ExpectedLoss()((2, weights), losses))
        (0.5, 0.5)
        >>> ExpectedLoss().gradient(weights, losses).tolist()
        [0.5, 0.0, 1.0]
    """

    def __call__(self, y_hat: Any, y: Float[Array, "K"]) -> Float[Array, ""]:
        """Return <w, y>."""
        return jnp.vdot(as_floating(y_hat[1] if isinstance(y_hat, tuple) else y_hat), as_floating(y))

    def gradient(self, y_hat: Any, y: Float[Array, "K"]) -> Float[Array, "K"]:
        """Return the losses of all arms: the gradient of <w, y> in the weights w, for any weights."""
        return as_floating(y)


# ---------------------------------------------------------------------------------------------------------------------
# Loss of a set of arms, and linear optimisation over sets; the outcome y is the vector of the losses of all arms [K].
#
# A set of m arms is a vector of m different integers, 0 to K - 1. A linear-optimisation function maps numbers [..., K]
# to the set [..., m] with the smallest sum. `SmallestArms` is the linear-optimisation function for all sets of m arms;
# for other sets (paths, matchings) write a struct with `__call__`, or use `jax.tree_util.Partial`.


@struct
class SumOfArms:
    """Sum of the losses of a set of arms; NaN if an arm is outside 0 to K - 1, or is in the set twice.

    The move is the set: a vector of m different arms.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.losses import SumOfArms
        >>> float(SumOfArms()(jnp.array([2, 0]), jnp.array([0.5, 0.25, 1.0])))
        1.5
    """

    reads_entries: ClassVar[bool] = True  # a lazy outcome computes the entries of the set only

    def __call__(self, y_hat: Int[Array, "m"], y: Float[Array, "K"]) -> Float[Array, ""]:
        """Return the sum of y over the set."""
        losses = y if isinstance(y, LazyOutcome) else as_floating(y)
        inside = jnp.all((y_hat >= 0) & (y_hat < losses.shape[0]))
        equal_pairs = jnp.sum(y_hat[:, None] == y_hat[None, :], dtype=jnp.int32)
        return jnp.where(inside & (equal_pairs == len(y_hat)), jnp.sum(as_floating(losses[y_hat])), jnp.nan)

    def gradient(self, y_hat: Int[Array, "m"], y: Float[Array, "K"]) -> Float[Array, "K"]:
        """Return the losses of all arms: the gradient of <e, y> in the indicator vector e, for any set."""
        return as_floating(y)


@struct
class SmallestArms:
    """The set of the m arms with the smallest numbers; ties go to the first arms.

    Args:
        m: the number of arms in a set.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.losses import SmallestArms
        >>> SmallestArms(2)(jnp.array([0.3, 0.1, 0.2])).tolist()
        [1, 2]
    """

    m: Count = static()

    def __call__(self, values: Float[Array, "*n K"]) -> Int[Array, "*n m"]:
        """Return the set, in increasing order."""
        if self.m > values.shape[-1]:
            raise ArgumentError("m", f"must be at most the number of arms, {values.shape[-1]} (got {self.m})")
        return jnp.sort(jax.lax.top_k(-values, self.m)[1].astype(jnp.int32), axis=-1)


Select = Annotated[Callable[..., Any], Takes("(values [K])"), Component("`SmallestArms`")]
"""A linear-optimisation function: numbers [K] -> the set of arms [m] with the smallest sum."""


def set_size(select: Any, n_arms: int, dtype: Any) -> int:
    """Return the number m of arms in the sets of a linear-optimisation function.

    Raises:
        ValueError: the function does not return vectors of at most K integers.
    """
    arms = jax.eval_shape(select, jax.ShapeDtypeStruct((n_arms,), dtype))
    is_set = getattr(arms, "ndim", 0) == 1 and jnp.issubdtype(arms.dtype, jnp.integer)
    if not is_set or not 0 < len(arms) <= n_arms:
        raise ArgumentError("select", f"must return a set of 1 to {n_arms} arms, a vector of integers (got {arms})")
    return len(arms)


# ---------------------------------------------------------------------------------------------------------------------
# Loss of a pair of arms that are compared; the outcome y is the matrix of the duels of all arms [K, K].
#
# y[i, j] is 1 if arm i beats arm j and 0 otherwise, or the probability that arm i beats arm j; y + y' = 1, and the
# diagonal is 1/2. A pair is a vector of two arms.


@struct
class PairLoss:
    """Loss of a pair (i, j) of arms relative to the Condorcet winner c: (y[c, i] + y[c, j]) / 2 - 1/2.

    The loss of (c, c) is 0. The loss is linear in the outcome y, so `Game(pseudo=True)` evaluates the loss at the
    probabilities P. The loss at P is the regret of a duel, (gap_i + gap_j) / 2 with gap_i = P[c, i] - 1/2, and the
    cumulative loss is the cumulative regret. With realised duels the mean of the loss is the regret of a duel. The loss
    is NaN for an arm outside 0 to K - 1.

    Args:
        winner: the Condorcet winner c, the arm that beats every other arm with a probability above 1/2
            (`comparators.CondorcetWinner` finds it).

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.losses import PairLoss
        >>> preferences = jnp.array([[0.5, 0.75, 1.0], [0.25, 0.5, 0.6], [0.0, 0.4, 0.5]])
        >>> [float(PairLoss(winner=0)(jnp.array(pair), preferences)) for pair in ([0, 0], [0, 1], [1, 2])]
        [0.0, 0.125, 0.375]
    """

    winner: NonNegativeInt = static()

    reads_entries: ClassVar[bool] = True  # a lazy outcome computes the two duels with the winner only

    def __call__(self, y_hat: Int[Array, "2"], y: Float[Array, "K K"]) -> Float[Array, ""]:
        """Return (y[c, i] + y[c, j]) / 2 - 1/2."""
        duels = y if isinstance(y, LazyOutcome) else as_floating(y)
        n_arms, losses = self._n_arms(duels), [as_floating(duels[jnp.int32(self.winner), arm]) for arm in y_hat]
        is_pair = jnp.all(jnp.stack([(arm >= 0) & (arm < n_arms) for arm in y_hat]))
        return jnp.where(is_pair, 0.5 * (losses[0] + losses[1]) - 0.5, jnp.nan)

    def gradient(self, y_hat: Int[Array, "2"], y: Float[Array, "K K"]) -> Float[Array, "K"]:
        """Return y[c] - 1/2, the gradient in the mean of the indicator vectors of the two arms, for any pair."""
        y = as_floating(y)
        self._n_arms(y)
        return y[self.winner] - 0.5

    def _n_arms(self, y: Any) -> int:
        if getattr(y, "ndim", 0) != 2 or y.shape[0] != y.shape[1]:
            raise ArgumentError("y", f"must be a square matrix of duels (got {check.quote(y)})")
        if self.winner >= y.shape[0]:
            raise ArgumentError("winner", f"must be an arm, at most {y.shape[0] - 1} (got {self.winner})")
        return y.shape[0]


ARM_LOSSES = (ArmLoss, ExpectedLoss, PairLoss, SumOfArms)  # with these, outcomes are losses
