"""Outcomes that are computed on request: losses and duels of arms, where an entry that is not read costs nothing."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from jaxonline._xla.barriers import compute_once
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import PyTree


@struct
class LazyOutcome:
    """A vector or matrix of losses that computes its entries when they are read.

    An environment returns a lazy outcome from `answer` in place of the array. Bandit feedback and `ArmLoss` read the
    entries that they need. All other code gets the whole array, with bit-identical entries.

    Args:
        entry_function: `entry_function(k, *arguments)` returns the entry at the index k, or the entries at an array of
            indices; for a matrix it is `entry_function(i, j, *arguments)`.
        vector_function: `vector_function(*arguments)` returns all entries [K], or [K, width].
        arguments: arguments of both functions, random keys included.
        length: the number K of entries, or of rows.
        width: the number of columns of a matrix.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.losses.lazy import LazyOutcome
        >>> squares = LazyOutcome(lambda k: k * k, lambda: jnp.arange(4) ** 2, (), length=4)
        >>> int(squares[2]), squares.vector().tolist()
        (4, [0, 1, 4, 9])
    """

    entry_function: Callable[..., Array] = static()
    vector_function: Callable[..., Array] = static()
    arguments: tuple[PyTree, ...]
    length: int = static()
    width: int | None = static(default=None)

    @property
    def shape(self) -> tuple[int, ...]:
        """The shape (K,), or (K, width)."""
        return (self.length,) if self.width is None else (self.length, self.width)

    @property
    def ndim(self) -> int:
        """1, or 2."""
        return len(self.shape)

    def __getitem__(self, index: Int[Array, "*n"] | tuple[Int[Array, "*n"], Int[Array, "*n"]]) -> Array:
        read = self.__dict__.setdefault("_read", {})  # the loss and the feedback read the same entry: draw it once
        indices = index if isinstance(index, tuple) else (index,)
        place = tuple(map(id, indices))
        if place not in read:
            entry = compute_once(self.entry_function, *map(jnp.asarray, indices), *self.arguments)
            read[place] = indices, entry
        return read[place][1]

    def vector(self) -> Array:
        """All entries."""
        if "_vector" not in self.__dict__:  # the loss and the feedback read the same entries: draw them once
            self.__dict__["_vector"] = compute_once(self.vector_function, *self.arguments)
        return self.__dict__["_vector"]

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
