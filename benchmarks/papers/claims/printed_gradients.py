"""Gradient estimates of papers B and C as printed, for comparison with those of `jaxonline.estimators`."""

import itertools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Key

from jaxonline.estimators.attribute_pairs import PairMoments
from jaxonline.estimators.attributes import AttributeGradient, AttributeIndices
from jaxonline.estimators.gradients import squared_loss_gradient
from jaxonline.parameters.struct import struct


@struct
class PrintedKnownCovariance:
    """Gradient estimate printed in paper B, Lemma 2: - Sigma w where - 2 Sigma w is right (erratum E11)."""

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """Return 2 (<w, x~> - y~) x~ - Sigma w."""
        del key
        x = oracle.copy(0)
        return squared_loss_gradient(w, x, oracle.label(), x) - oracle.covariance @ w


def printed_attribute_gradient(
    estimator: AttributeGradient,
    w: Float[Array, "d"],
    y: ArrayLike,
    seen: AttributeIndices,
    x_subset: Float[Array, "half"],
) -> Float[Array, "d"]:
    """Return the gradient estimate printed in paper C, Algorithm 2: y^ has x_j for x_i (erratum E14).

    Here j is the last index in the loop that computes v, which is the largest index.
    """
    last = x_subset[jnp.argmax(seen.subset)]
    return estimator.gradient(w, y, seen, x_subset, jnp.full_like(x_subset, last))


def printed_attribute_support(
    estimator: AttributeGradient, w: Float[np.ndarray, "d"], x: Float[np.ndarray, "d"], y: float
) -> list[tuple[float, np.ndarray]]:
    """Enumerate (probability, value) of `printed_attribute_gradient`, for small d and k and the l1 distribution."""
    half, weights = estimator.n_attributes // 2, np.abs(w) / np.abs(w).sum()
    subsets = list(itertools.combinations(range(len(w)), half))
    pairs = list(itertools.product(subsets, itertools.product(np.flatnonzero(weights), repeat=half)))
    subset, weighted = (np.array([pair[i] for pair in pairs], np.int32) for i in (0, 1))
    with jax.enable_x64(True):
        gradient = jax.jit(
            jax.vmap(
                lambda s, t, seen: printed_attribute_gradient(
                    estimator, jnp.asarray(w), y, AttributeIndices(s, t), seen
                )
            )
        )
        values = np.asarray(gradient(jnp.asarray(subset), jnp.asarray(weighted), jnp.asarray(x[subset])))
    return [(math.prod(weights[list(t)]) / len(subsets), value) for (_, t), value in zip(pairs, values, strict=True)]


def printed_pair_loss(w: Float[Array, "d"], moments: PairMoments, y: ArrayLike) -> Float[Array, ""]:
    """Return w'Aw + 2 y w'v + y^2, the loss printed in paper C, Algorithm 1; - 2 y w'v is right (erratum E15)."""
    return w @ moments.A @ w + 2 * y * (w @ moments.v) + y * y
