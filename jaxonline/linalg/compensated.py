"""Compensated (Kahan) sums: long float32 sums that do not lose small terms."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import PyTree


class Compensated(NamedTuple):
    """Kahan sum of many small terms: a tree of totals and a tree of corrections.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.linalg.compensated import Compensated
        >>> total = Compensated(jnp.float32(2.0**24), jnp.float32(0.0)).add(jnp.float32(1.0)).add(jnp.float32(1.0))
        >>> total.total.item() - 2**24, (jnp.float32(2.0**24) + 1.0 + 1.0).item() - 2**24
        (2.0, 0.0)
    """

    total: PyTree
    correction: PyTree

    @classmethod
    def zeros(cls, spec: PyTree) -> "Compensated":
        """Return an empty sum of terms with the given shapes and dtypes."""
        zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), spec)
        return cls(zeros, zeros)

    def add(self, terms: PyTree) -> "Compensated":
        """Return the sum with one more term."""
        corrected = jax.tree.map(lambda term, correction: term - correction, terms, self.correction)
        total = jax.tree.map(lambda total, term: total + term, self.total, corrected)
        correction = jax.tree.map(lambda new, old, term: (new - old) - term, total, self.total, corrected)
        return Compensated(total, correction)
