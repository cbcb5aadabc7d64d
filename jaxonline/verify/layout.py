"""Conversion of estimates, pytrees of real or complex arrays, to one vector of real numbers."""

import dataclasses
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.struct import struct
from jaxonline.verify.sampling import estimate_of, with_estimate


@dataclasses.dataclass(frozen=True)
class Layout:
    """The leaves of an estimate in the order of the vector; real parts of a complex leaf come first."""

    structure: Any
    leaves: tuple[jax.ShapeDtypeStruct, ...]

    @classmethod
    def from_estimate(cls, estimate: Any) -> "Layout":
        """Return the layout of an estimate with known shapes and dtypes."""
        leaves = tuple(jax.tree.leaves(estimate))
        if not leaves or not all(jnp.issubdtype(leaf.dtype, jnp.number) or leaf.dtype == bool for leaf in leaves):
            raise ArgumentTypeError("estimator", f"must return numbers (got {estimate})")
        return cls(jax.tree.structure(estimate), leaves)

    @property
    def is_complex(self) -> bool:
        """Whether a leaf is complex."""
        return any(jnp.issubdtype(leaf.dtype, jnp.complexfloating) for leaf in self.leaves)

    @property
    def is_array(self) -> bool:
        """Whether the estimate is a single real array."""
        return jax.tree.structure(0) == self.structure and not self.is_complex

    def vector(self, name: str, value: Any) -> np.ndarray:
        """Convert a value of the estimate's structure and shapes to a vector in float64."""
        if jax.tree.structure(0) == self.structure:
            return self._to_reals(name, value, self.leaves[0])
        try:
            leaves = self.structure.flatten_up_to(value)
        except (ValueError, TypeError):
            structure = jax.tree.structure(value)
            message = f"must have the structure of an estimate {self.structure} (got {structure})"
            raise ArgumentError(name, message) from None
        return np.concatenate([self._to_reals(name, *pair) for pair in zip(leaves, self.leaves, strict=True)])

    @staticmethod
    def _to_reals(name: str, value: Any, leaf: jax.ShapeDtypeStruct) -> np.ndarray:
        is_complex = jnp.issubdtype(leaf.dtype, jnp.complexfloating)
        if is_complex and np.iscomplexobj(value):
            parts = [check.finite_array(name, part) for part in (np.real(value), np.imag(value))]
        else:
            parts = [check.finite_array(name, value)]
            parts += [np.zeros_like(parts[0])] * is_complex
        if parts[0].shape != leaf.shape:
            raise ArgumentError(name, f"must have the shape of an estimate {leaf.shape} (got {parts[0].shape})")
        return np.concatenate([part.astype(float).ravel() for part in parts])


@struct
class AsVector:
    """An estimator whose estimate is converted to one vector."""

    estimator: Any

    def __call__(self, key: jax.Array) -> Any:
        out = self.estimator(key)
        leaves = [jnp.asarray(leaf) for leaf in jax.tree.leaves(estimate_of(out))]
        parts = [part for leaf in leaves for part in _real_parts(leaf)]
        widest = max((part.dtype for part in parts), key=lambda dtype: jnp.dtype(dtype).itemsize)
        return with_estimate(out, jnp.concatenate([part.ravel().astype(widest) for part in parts]))


def square_of_estimate(value: Any) -> jax.Array:
    """Return |theta|^2, the sum of the squares of all numbers of an estimate."""
    parts = [part for leaf in jax.tree.leaves(value) for part in _real_parts(jnp.asarray(leaf))]
    total = jnp.sum(parts[0] ** 2)
    for part in parts[1:]:
        total = total + jnp.sum(part**2).astype(total.dtype)
    return total


def _real_parts(leaf: jax.Array) -> list[jax.Array]:
    if jnp.issubdtype(leaf.dtype, jnp.complexfloating):
        return [jnp.real(leaf), jnp.imag(leaf)]
    return [leaf if leaf.dtype == jnp.float64 else leaf.astype(jnp.float32)]
