"""Long sums inside the simulator: compensated, and in chunks of rounds where a term is large."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, PyTree

from jaxonline.game.protocols import Specs
from jaxonline.linalg.compensated import Compensated

CHUNK_ROUNDS = 16  # rounds whose terms are added together before the long sum is touched


def to_float64(read: PyTree) -> PyTree:
    """What was read as float64 arrays on the host, compensated sums put together."""

    def convert(part: Any) -> Any:
        if not isinstance(part, Compensated):
            return np.asarray(part).astype(np.float64)
        with np.errstate(invalid="ignore"):  # infinity minus infinity in a failed run
            return jax.tree.map(lambda total, rest: np.asarray(total).astype(np.float64) - rest, *part)

    return jax.tree.map(convert, read, is_leaf=lambda part: isinstance(part, Compensated))


class Statistic(NamedTuple):
    """Sums of a comparator's statistic.

    A statistic may have d^2 numbers where a round has only d: rounds are kept until a chunk is full, so that the d^2
    numbers are touched once a chunk. Chunks are counted from round 1, whatever the segments, so that sums at a round do
    not depend on where else was recorded.
    """

    sums: Compensated
    x: PyTree  # leaves [CHUNK_ROUNDS, ...]
    y: PyTree  # leaves [CHUNK_ROUNDS, ...]

    @classmethod
    def empty(cls, comparator: Any, specs: Specs) -> "Statistic":
        """Before round 1."""

        def chunk(spec):
            return jax.tree.map(lambda leaf: jnp.zeros((CHUNK_ROUNDS, *leaf.shape), leaf.dtype), spec)

        sums = Compensated.zeros(jax.eval_shape(comparator.statistic, *specs))
        return cls(sums, chunk(specs.instance), chunk(specs.outcome))

    def add(self, comparator: Any, t: Int[Array, ""], x: PyTree, y: PyTree) -> "Statistic":
        """With round t = 1, 2, ... added."""
        place = (t - 1) % CHUNK_ROUNDS

        def put(rows, row):
            return jax.tree.map(lambda leaf, new: leaf.at[place].set(new), rows, row)

        kept = Statistic(self.sums, put(self.x, x), put(self.y, y))
        sums = jax.lax.cond(
            t % CHUNK_ROUNDS == 0, lambda: self.sums.add(kept._chunk(comparator, CHUNK_ROUNDS)), lambda: self.sums
        )
        return kept._replace(sums=sums)

    def read(self, comparator: Any, t: Int[Array, ""]) -> Compensated:
        """The sums after round t, rounds of an unfinished chunk included."""
        return self.sums.add(self._chunk(comparator, t % CHUNK_ROUNDS))

    def _chunk(self, comparator: Any, number: Int[Array, ""] | int) -> PyTree:
        terms = jax.vmap(comparator.statistic)(self.x, self.y)
        used = jnp.arange(CHUNK_ROUNDS, dtype=jnp.int32) < number

        def add_up(leaf):
            mask = used.reshape((CHUNK_ROUNDS,) + (1,) * (leaf.ndim - 1))
            return jnp.where(mask, leaf, jnp.zeros((), leaf.dtype)).sum(axis=0)

        return jax.tree.map(add_up, terms)
