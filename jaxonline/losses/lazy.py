"""Outcomes that are computed on request: losses of arms of which only the entries that are read cost anything."""

from collections.abc import Callable
from typing import Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PyTree

from jaxonline._xla.barriers import compute_once
from jaxonline.parameters.struct import static, struct


@struct
class LazyOutcome:
    """A vector of losses that computes its entries when they are read.

    An environment returns it from `answer` in place of the vector [K]. Bandit feedback and `ArmLoss` read the entries
    that they need. Everything else gets the whole vector, with the same bits.

    Args:
        entry_function: `entry_function(k, *arguments)` returns the entry at the index k, or the entries at an array of
            indices.
        vector_function: `vector_function(*arguments)` returns all entries [K].
        arguments: what the functions need, keys included.
        length: the number K of entries.

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

    @property
    def shape(self) -> tuple[int]:
        """(K,)."""
        return (self.length,)

    @property
    def ndim(self) -> int:
        """1."""
        return 1

    def __getitem__(self, index: Int[Array, "*n"]) -> Array:
        read = self.__dict__.setdefault("_read", {})  # the loss and the feedback read the same entry: draw it once
        if id(index) not in read:
            entry = compute_once(self.entry_function, jnp.asarray(index), *self.arguments)
            read[id(index)] = index, entry
        return read[id(index)][1]

    def vector(self) -> Array:
        """All entries [K]."""
        return self.vector_function(*self.arguments)

    def __jax_array__(self) -> Array:
        return self.vector()

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        return np.array(self.vector(), dtype)


def as_vector(outcome: PyTree) -> PyTree:
    """The outcome, with all entries computed if it is lazy."""
    return outcome.vector() if isinstance(outcome, LazyOutcome) else outcome


def for_loss(loss: Any, outcome: PyTree) -> PyTree:
    """The outcome for a loss: lazy only if the loss reads entries."""
    return outcome if getattr(loss, "reads_entries", False) else as_vector(outcome)
