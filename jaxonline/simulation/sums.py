"""Long sums inside the simulator: compensated, and in chunks of rounds where a term is large."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

CHUNK = 16  # rounds whose terms are added together before the long sum is touched


class Compensated(NamedTuple):
    """Kahan's sum of many small terms, which plain float32 would lose: a tree of totals and one of corrections."""

    total: PyTree
    correction: PyTree

    @classmethod
    def zeros(cls, spec: PyTree) -> "Compensated":
        """An empty sum of terms of the given shapes and dtypes."""
        zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), spec)
        return cls(zeros, zeros)

    def add(self, terms: PyTree) -> "Compensated":
        """The sum with one more term."""
        corrected = jax.tree.map(lambda term, correction: term - correction, terms, self.correction)
        total = jax.tree.map(lambda total, term: total + term, self.total, corrected)
        correction = jax.tree.map(lambda new, old, term: (new - old) - term, total, self.total, corrected)
        return Compensated(total, correction)


class Statistic(NamedTuple):
    """Sums of a comparator's statistic.

    A statistic has d^2 numbers, a round only d: rounds are kept until a chunk is full, so that the d^2 numbers are
    touched once a chunk. Chunks are counted from round 1, whatever the segments, so that sums at a round do not
    depend on where else was read out.
    """

    sums: Compensated
    x: Float[Array, "chunk ..."]
    y: Float[Array, "chunk"]

    @classmethod
    def empty(cls, comparator: Any, instance: jax.ShapeDtypeStruct) -> "Statistic":
        """Before round 1."""
        scalar = jax.ShapeDtypeStruct((), instance.dtype)
        sums = Compensated.zeros(jax.eval_shape(comparator.statistic, instance, scalar))
        return cls(sums, jnp.zeros((CHUNK, *instance.shape), instance.dtype), jnp.zeros((CHUNK,), instance.dtype))

    def add(self, comparator: Any, t: Int[Array, ""], x: Array, y: Array) -> "Statistic":
        """With round t = 1, 2, ... added."""
        place = (t - 1) % CHUNK
        kept = Statistic(self.sums, self.x.at[place].set(x), self.y.at[place].set(y))
        sums = jax.lax.cond(t % CHUNK == 0, lambda: self.sums.add(kept._chunk(comparator, CHUNK)), lambda: self.sums)
        return kept._replace(sums=sums)

    def read(self, comparator: Any, t: Int[Array, ""]) -> Compensated:
        """The sums after round t, rounds of an unfinished chunk included."""
        return self.sums.add(self._chunk(comparator, t % CHUNK))

    def _chunk(self, comparator: Any, number: Int[Array, ""] | int) -> PyTree:
        terms = jax.vmap(comparator.statistic)(self.x, self.y)
        used = jnp.arange(CHUNK, dtype=jnp.int32) < number

        def add_up(leaf):
            mask = used.reshape((CHUNK,) + (1,) * (leaf.ndim - 1))
            return jnp.where(mask, leaf, jnp.zeros((), leaf.dtype)).sum(axis=0)

        return jax.tree.map(add_up, terms)
