"""Sums over many rounds in the simulator: compensated sums, and sums of large terms in chunks of rounds."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int

from jaxonline.game.roles import Specs
from jaxonline.numerics.elementwise import Compensated
from jaxonline.parameters.types import PyTree

CHUNK_ROUNDS = 16  # rounds whose terms are added to each other before they are added to the long sum


def to_float64(read: PyTree) -> PyTree:
    """Convert to float64 arrays on the host, with the corrections of compensated sums applied."""

    def convert(value: Any) -> Any:
        if not isinstance(value, Compensated):
            return np.asarray(value).astype(np.float64)
        with np.errstate(invalid="ignore"):  # infinity minus infinity in a failed run
            return jax.tree.map(lambda total, rest: np.asarray(total).astype(np.float64) - rest, *value)

    return jax.tree.map(convert, read, is_leaf=lambda value: isinstance(value, Compensated))


class Statistic(NamedTuple):
    """Sums over rounds of a comparator's statistic.

    The statistic may have d^2 numbers, although the data of a round has only d numbers. Rounds are buffered until a
    chunk is full, so that the d^2 numbers of the sum change only once per chunk. The first chunk starts at round 1, so
    that sums do not depend on the recorded rounds.
    """

    sums: Compensated
    x: PyTree  # leaves [CHUNK_ROUNDS, ...]
    y: PyTree  # leaves [CHUNK_ROUNDS, ...]

    @classmethod
    def empty(cls, comparator: Any, specs: Specs) -> "Statistic":
        """Return the sums before round 1."""

        def chunk(spec):
            return jax.tree.map(lambda leaf: jnp.zeros((CHUNK_ROUNDS, *leaf.shape), leaf.dtype), spec)

        sums = Compensated.zeros(jax.eval_shape(comparator.statistic, *specs))
        return cls(sums, chunk(specs.instance), chunk(specs.outcome))

    def add(self, comparator: Any, t: Int[Array, ""], x: PyTree, y: PyTree) -> "Statistic":
        """Add the statistic of round t = 1, 2, ..."""
        position = (t - 1) % CHUNK_ROUNDS

        def put(rows, row):
            return jax.tree.map(lambda leaf, new: leaf.at[position].set(new), rows, row)

        statistic = Statistic(self.sums, put(self.x, x), put(self.y, y))
        sums = jax.lax.cond(
            t % CHUNK_ROUNDS == 0, lambda: self.sums.add(statistic._chunk(comparator, CHUNK_ROUNDS)), lambda: self.sums
        )
        return statistic._replace(sums=sums)

    def read(self, comparator: Any, t: Int[Array, ""]) -> Compensated:
        """Return the sums after round t, including the rounds of an unfinished chunk."""
        return self.sums.add(self._chunk(comparator, t % CHUNK_ROUNDS))

    def _chunk(self, comparator: Any, number: Int[Array, ""] | int) -> PyTree:
        terms = jax.vmap(comparator.statistic)(self.x, self.y)
        used = jnp.arange(CHUNK_ROUNDS, dtype=jnp.int32) < number

        def add_up(leaf):
            mask = used.reshape((CHUNK_ROUNDS,) + (1,) * (leaf.ndim - 1))
            return jnp.where(mask, leaf, jnp.zeros((), leaf.dtype)).sum(axis=0)

        return jax.tree.map(add_up, terms)
