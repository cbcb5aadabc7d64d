"""Compensated (Kahan) sums: long float32 sums that do not lose small terms."""

from typing import NamedTuple

import jax
import jax.numpy as jnp

from jaxonline.parameters.types import PyTree


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

    @classmethod
    def starting_at(cls, total: PyTree) -> "Compensated":
        """Return a sum with the given total."""
        return cls(total, jax.tree.map(jnp.zeros_like, total))

    @property
    def value(self) -> PyTree:
        """The corrected sums, rounded to their dtype; the pair of total and correction has more digits."""
        return jax.tree.map(lambda total, correction: total - correction, *self)

    def add(self, terms: PyTree) -> "Compensated":
        """Return the sum with one more term."""
        corrected = jax.tree.map(lambda term, correction: term - correction, terms, self.correction)
        total = jax.tree.map(lambda total, term: total + term, self.total, corrected)
        return Compensated(total, jax.tree.map(lambda new, old, term: (new - old) - term, total, self.total, corrected))
