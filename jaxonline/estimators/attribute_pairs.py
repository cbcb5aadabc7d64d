"""Unbiased estimates of x x' and x from a few attributes, independent of the hypothesis (paper C's Baseline).

Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Efficient learning with partially observed attributes" (ICML 2010),
Algorithm 1, with errata E15 and E16.
"""

import itertools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Key

from jaxonline.estimators.index_sampling import EvenCount, check_enumerable, uniform_subset
from jaxonline.numerics.elementwise import run_compiled
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct


class PairMoments(NamedTuple):
    """`A` estimates x x' [d, d] (symmetric, in general with negative eigenvalues: erratum E16); `v` estimates x [d]."""

    A: Float[Array, "d d"]
    v: Float[Array, "d"]


@cites("cesabianchi2010efficient")
@struct
class AttributePairs:
    """Unbiased estimates of x x' and x from k attributes (paper C, Algorithm 1).

    The estimator draws k/2 pairs (i, j), a uniform subset of [d] x [d]. Each pair adds (d/k) x_i to v_i, (d/k) x_j to
    v_j, and (d^2/k) x_i x_j to both A_ij and A_ji.

    Args:
        n_attributes: the even number k of observed attributes; in a call k/2 <= d^2 (otherwise a ValueError).

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> pairs = jo.estimators.AttributePairs(2)
        >>> pairs.moments(3, pairs.choose(jax.random.key(0), d=3), jnp.ones(2)).A.shape
        (3, 3)
        >>> sum(p * moments.A for p, moments in pairs.support([1.0, 2.0])).round(12).tolist()
        [[1.0, 2.0], [2.0, 4.0]]
    """

    n_attributes: EvenCount = static()

    def __call__(self, key: Key[Array, ""], d: int, oracle: Any) -> PairMoments:
        """Estimate x x' and x from `oracle.attributes(indices)`."""
        indices = self.choose(key, d)
        return self.moments(d, indices, oracle.attributes(indices))

    def choose(self, key: Key[Array, ""], d: int) -> Int[Array, "k"]:
        """Draw the indices to observe: the first elements of all pairs, then the second elements."""
        half = self.n_attributes // 2
        if half > d * d:
            raise ArgumentError("n_attributes", f"must be at most 2 d^2 = {2 * d * d} (got {self.n_attributes})")
        pairs = uniform_subset(key, d * d, half)
        return jnp.concatenate([pairs // d, pairs % d])

    def moments(self, d: int, indices: Int[Array, "k"], values: Float[Array, "k"]) -> PairMoments:
        """Estimate x x' and x from the values of x at the indices."""
        k = self.n_attributes
        first, second = indices[: k // 2], indices[k // 2 :]
        products = d * d / k * values[: k // 2] * values[k // 2 :]
        A = jnp.zeros((d, d), values.dtype).at[first, second].add(products)
        return PairMoments(A + A.T, jnp.zeros(d, values.dtype).at[indices].add(d / k * values))

    def support(self, x: ArrayLike) -> list[tuple[float, PairMoments]]:
        """List (probability, estimates) of all outcomes in float64; raise a ValueError for over about a million."""
        x = np.asarray(x, float)
        d, half = len(x), self.n_attributes // 2
        check_enumerable(math.comb(d * d, half))
        pairs = np.array(list(itertools.combinations(range(d * d), half)), np.int32)
        indices = np.concatenate([pairs // d, pairs % d], axis=1)
        with jax.enable_x64(True):
            A, v = map(np.asarray, run_compiled(_all_moments, self, x, indices))
        return [(1 / len(pairs), PairMoments(*outcome)) for outcome in zip(A, v, strict=True)]


def _all_moments(pairs: AttributePairs, x: Float[Array, "d"], indices: Int[Array, "m k"]) -> PairMoments:
    return jax.vmap(lambda row: pairs.moments(len(x), row, x[row]))(indices)


def pair_loss(w: Float[Array, "d"], moments: PairMoments, y: ArrayLike) -> Float[Array, ""]:
    """Return w'Aw - 2 y w'v + y^2, the estimate of (<w, x> - y)^2 that paper C's Baseline minimises (erratum E15).

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.estimators.attribute_pairs import PairMoments, pair_loss
        >>> x = jnp.array([1.0, 2.0])
        >>> float(pair_loss(jnp.ones(2), PairMoments(jnp.outer(x, x), x), 2.0))
        1.0
    """
    return w @ moments.A @ w - 2 * y * (w @ moments.v) + y * y


def project_psd(A: Float[Array, "d d"]) -> Float[Array, "d d"]:
    """Project a symmetric matrix onto the positive semi-definite matrices (erratum E16 of paper C)."""
    values, vectors = jnp.linalg.eigh(A)
    return (vectors * jnp.maximum(values, 0.0)[None, :]) @ vectors.T
