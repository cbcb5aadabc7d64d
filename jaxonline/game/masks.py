"""Arms or experts that are not available in every round: the instance contains a mask."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float

from jaxonline.parameters.types import PyTree


class Available(NamedTuple):
    """The instance of a round in which only some arms or experts are available (awake).

    Attributes:
        mask: whether each arm is available [K].
        context: the instance without the mask.
    """

    mask: Bool[Array, "K"]
    context: PyTree


def mask_of(x: PyTree) -> Bool[Array, "K"] | None:
    """Return the mask of an instance; None if all arms are available in every round."""
    return x.mask if isinstance(x, Available) else None


def observed_mask(oracle: Any) -> Bool[Array, "K"] | None:
    """Return the mask of the instance that an oracle shows; None for an oracle that shows no instance."""
    return mask_of(getattr(oracle, "x", ()))


def where_available(mask: Bool[Array, "K"] | None, values: Any, other: ArrayLike) -> Any:
    """Return the values, with `other` at the unavailable arms; without a mask, return the values unchanged."""
    return values if mask is None else jnp.where(mask, values, other)


def loss_if_available(x: PyTree, move: PyTree, loss: Float[Array, ""]) -> Float[Array, ""]:
    """Return the loss of a move, or NaN if the move is not available.

    A move consists of integer arms and of vectors of weights for all arms [K]. Each arm of the move must be available,
    and the weights of unavailable arms must be 0. In a round without an available arm, the loss of every move is NaN.
    """
    mask = mask_of(x)
    if mask is None:
        return loss

    def contains_only_available(leaf: Array) -> Bool[Array, ""]:
        arms = jnp.issubdtype(leaf.dtype, jnp.integer)
        return jnp.all(mask[leaf] if arms else mask | (leaf == 0))

    checks = [contains_only_available(jnp.asarray(leaf)) for leaf in jax.tree.leaves(move)]
    return jnp.where(jnp.all(jnp.stack([jnp.any(mask), *checks])), loss, jnp.nan)
