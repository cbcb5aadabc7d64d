"""Grad_Length_Estimate in a round of `NoisyKernel`: the number of used estimates, the labels, and g~.

Estimate 0 of a pair (g~, Psi~) is Psi~; estimates 1, ..., n are the fresh ones of Grad_Length_Estimate. Source: paper A
(COLT 2010), Subroutine 1, with errata E9 and E22.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxonline.estimators.gradient_length import GradientLength
from jaxonline.learners.kernels.capacity import Storage


def max_estimates(length: GradientLength, storage: Storage) -> int:
    """Return the largest number of used estimates of a pair."""
    return min(1 + storage.most_fresh, len(length.series.coefficients))


def count_used(length: GradientLength, n: Int[Array, ""]) -> tuple[Int[Array, ""], Int[Array, ""]]:
    """Return whether Psi~ is used (1 or 0), and the number of used fresh estimates.

    If the term of the series is 0, the learner asks for copies in the round but does not use them.
    """
    coefficients = jnp.asarray(length.series.coefficients)
    table = len(coefficients)
    is_used = (n < table) & (coefficients[jnp.minimum(n, table - 1)] != 0.0)
    fresh = jnp.where(is_used, n, 0)
    own = jnp.where(is_used | (jnp.asarray(length.series.constant) != 0.0), 1, 0)
    return own, fresh


def labels_of_one(length: GradientLength, oracle: Any, fresh: Int[Array, ""]) -> Float[Array, "..."]:
    """Return the label, or in regression a label for each factor of g~, of which `fresh` are drawn."""
    if _needs_one_label(length):
        return oracle.label()
    table = len(length.series.coefficients)
    labels = oracle.labels(table - 1, fresh)
    is_drawn = jnp.arange(table, dtype=jnp.int32) < fresh
    return jnp.where(is_drawn, jnp.append(labels, labels[0]), labels[0])


def labels_of_pairs(length: GradientLength, oracle: Any, fresh: Int[Array, "r"]) -> Float[Array, "r ..."]:
    """Return labels as `labels_of_one` for each of r pairs, which do not share a label."""
    r, table = len(fresh), len(length.series.coefficients)
    if _needs_one_label(length):
        return oracle.labels(r, jnp.int32(r))
    number = jnp.maximum(fresh, 1)
    labels, first = oracle.labels(r * (table - 1), jnp.sum(number)), jnp.cumsum(number) - number
    factor = jnp.arange(table, dtype=jnp.int32)[None]
    return labels[first[:, None] + jnp.where(factor < fresh[:, None], factor, 0)]


def grad_length(
    length: GradientLength, products: Float[Array, "k"], n: Int[Array, ""], y: Float[Array, "..."]
) -> Float[Array, ""]:
    """Return g~, from the products of w with the fresh estimates, and the labels."""
    table = len(length.series.coefficients)
    padded = jnp.zeros(table, products.dtype).at[: len(products)].set(products[:table])
    return length.combine(padded, n, y)


def _needs_one_label(length: GradientLength) -> bool:
    return length.kind == "classification" or len(length.series.coefficients) <= 2  # at most one factor
