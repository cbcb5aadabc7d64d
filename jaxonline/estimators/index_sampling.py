"""Random indices of the attributes to observe."""

from typing import Annotated, Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline import random
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.types import Convert, Count, Ge
from jaxonline.random.exact import index_at
from jaxonline.random.threefry import word_pairs

_MAX_OUTCOMES = 1 << 20


@validate_arguments
def uniform_subset(key: Key[Array, ""], d: int | Int[Array, ""], size: Count) -> Int[Array, "size"]:
    """Draw a uniformly random subset of {0, ..., d - 1} by Floyd's algorithm, whose cost does not depend on d.

    Raises a ValueError if `size` exceeds d (not checked if d is traced).
    """
    known = check.concrete_array(d)
    if known is not None and size > known:
        raise ArgumentError("size", f"must be at most d = {d} (got {size})")
    last = jnp.int32(d) - size + jnp.arange(size, dtype=jnp.int32)
    draws = random.randint(key, (size,), 0, last + 1, jnp.int32)

    def choose(chosen, step):
        j, draw = step
        is_chosen = jnp.any(chosen == draw)
        return chosen.at[j].set(jnp.where(is_chosen, last[j], draw)), None

    steps = (jnp.arange(size, dtype=jnp.int32), draws)
    return jax.lax.scan(choose, jnp.full(size, -1, jnp.int32), steps, unroll=min(size, 8))[0]


def weighted_indices(key: Key[Array, ""], weights: Float[Array, "d"], size: int) -> Int[Array, "size"]:
    """Draw `size` independent indices with probabilities proportional to `weights`; uniform if all weights are 0."""
    weights = jnp.where(jnp.any(weights > 0), weights, jnp.ones_like(weights))
    # the order of `engines.attribute_streams`: large uniform numbers draw the first indices
    return index_at(word_pairs(key, (size,), weights.dtype).mirrored(), weights)


def _require_even(value: Any, name: str) -> int:
    if check.count(name, value, ge=2) % 2:
        raise ArgumentError(name, f"must be even (each of two estimates uses half of it) (got {value})")
    return int(value)


EvenCount = Annotated[int, Ge(2), Convert(_require_even)]
"""An even number of attributes; each of two estimates uses half of it."""


def split_attributes(n_attributes: int, n_for_prediction: int | None) -> tuple[int, int]:
    """Return how many attributes serve to estimate x, and how many to estimate the prediction; by default, half each.

    Raises a ValueError if one of the two numbers is 0, or if an odd number of attributes is to be halved.
    """
    if n_for_prediction is None:
        half = _require_even(n_attributes, "n_attributes") // 2
        return half, half
    if n_for_prediction >= n_attributes:
        raise ArgumentError("n_for_prediction", f"must be below n_attributes = {n_attributes} (got {n_for_prediction})")
    return n_attributes - n_for_prediction, n_for_prediction


def check_enumerable(outcomes: int) -> None:
    """Check that the number of outcomes is small enough to enumerate."""
    if outcomes > _MAX_OUTCOMES:
        raise ArgumentError("n_attributes", f"must be smaller to enumerate all outcomes (got {outcomes:,} of them)")
