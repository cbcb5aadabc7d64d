"""Unbiased estimates of gradients from a few attributes of an instance, and the indices to observe."""

import itertools
import math
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Key

from jaxonline import random
from jaxonline.losses import Loss, Squared
from jaxonline.numerics.elementwise import run_compiled
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Convert, Count, Ge
from jaxonline.random.exact import index_at
from jaxonline.random.threefry import word_pairs

# ---------------------------------------------------------------------------------------------------------------------
# Random indices of the attributes to observe.


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


# ---------------------------------------------------------------------------------------------------------------------
# Unbiased gradient of the squared loss from k of the d attributes of x, chosen at random.
#
# The estimator first chooses indices, then observes the attributes with these indices. The estimate is a pure function
# of the indices and the observations, so `support` can enumerate every outcome.
#
# Sources: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Efficient learning with partially observed attributes" (ICML 2010),
# Algorithm 2, with erratum E14 (Algorithm 1 is in `jaxonline.estimators.attributes`); Hazan and Koren, "Linear
# regression with limited observation" (ICML 2012), for "l2".


IndexLaw = Literal["l1", "l2"]
"""Distribution of the indices for <w, x>: proportional to |w_i| or to w_i^2."""


class AttributeIndices(NamedTuple):
    """Observed indices: `subset` [a], distinct, for the estimate of x; `weighted` [b], with repeats, for <w, x>."""

    subset: Int[Array, "a"]
    weighted: Int[Array, "b"]


@cites("cesabianchi2010efficient", arguments={"law=l2": ("hazan2012linear",)})
@struct
class AttributeGradient:
    """Unbiased gradient 2 (y^ - y) v of the squared loss from k attributes of x (AER, AERR).

    The vector v estimates x: it is d / a times the sum of x_j e_j over a uniform subset of a indices j. The number y^
    estimates <w, x>: it is the mean of b terms with random indices i. Cesa-Bianchi et al. (2010c) have a = b = k/2.
    With "l1" (AER), i has the probability |w_i| / |w|_1 and the term sgn(w_i) |w|_1 x_i. With "l2" (Hazan and Koren's
    AERR, for a bounded l2 norm), i has the probability w_i^2 / |w|^2 and the term (|w|^2 / w_i) x_i. If w = 0, the
    estimate y^ is 0.

    Args:
        n_attributes: number k = a + b of observed attributes; in a call a <= d (otherwise a ValueError).
        law: distribution of the indices i for y^. (Erratum E14: Cesa-Bianchi et al. 2010c print x_j for x_i in y^.)
        n_for_prediction: b, below k; by default half of k, which must then be even. Hazan and Koren use b = 1.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> estimator = jo.estimators.AttributeGradient(4)
        >>> w, x = jnp.array([0.5, 0.0, -0.5]), jnp.array([1.0, 2.0, 3.0])
        >>> indices = estimator.choose(jax.random.key(0), w)
        >>> estimator.gradient(w, 1.0, indices, x[indices.subset], x[indices.weighted]).shape
        (3,)
        >>> support = estimator.support(w, x, 1.0)
        >>> len(support), sum(p * g for p, g in support).round(12).tolist()  # 2 (<w, x> - y) x = -4 x
        (12, [-4.0, -8.0, -12.0])
    """

    n_attributes: Annotated[int, Ge(2)] = static()
    law: IndexLaw = static(default="l1")
    n_for_prediction: Count | None = static(default=None)
    loss: ClassVar[Loss] = Squared()

    def __post_init__(self) -> None:
        split_attributes(self.n_attributes, self.n_for_prediction)

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """Estimate the gradient at w, from `oracle.attributes(indices)` and `oracle.label()`."""
        indices = self.choose(key, w)
        values = oracle.attributes(jnp.concatenate(indices))
        size, _ = self._sizes(len(w))
        return self.gradient(w, oracle.label(), indices, values[:size], values[size:])

    def choose(self, key: Key[Array, ""], w: Float[Array, "d"]) -> AttributeIndices:
        """Draw the indices to observe."""
        subset_key, weighted_key = jax.random.split(key)
        size, draws = self._sizes(len(w))
        return AttributeIndices(
            uniform_subset(subset_key, len(w), size), weighted_indices(weighted_key, index_weights(w, self.law), draws)
        )

    def gradient(
        self,
        w: Float[Array, "d"],
        y: ArrayLike,
        indices: AttributeIndices,
        x_subset: Float[Array, "a"],
        x_weighted: Float[Array, "b"],
    ) -> Float[Array, "d"]:
        """Estimate the gradient at w from the label y and two samples of attributes of x, drawn by `indices`."""
        v = estimate_instance(indices.subset, x_subset, len(w))
        y_hat = jnp.mean(estimate_predictions(w, indices.weighted, x_weighted, self.law))
        return 2 * (y_hat - y) * v

    def support(self, w: ArrayLike, x: ArrayLike, y: float) -> list[tuple[float, np.ndarray]]:
        """List (probability, value) of all outcomes in float64; raise a ValueError for over about a million."""
        w, x = np.asarray(w, float), np.asarray(x, float)
        d = len(w)
        size, draws = self._sizes(d)
        check_enumerable(math.comb(d, size) * d**draws)
        weights = index_probabilities(w, self.law)
        subsets = list(itertools.combinations(range(d), size))
        pairs = list(itertools.product(subsets, itertools.product(np.flatnonzero(weights), repeat=draws)))
        subset, weighted = (np.array([pair[i] for pair in pairs], np.int32) for i in (0, 1))
        with jax.enable_x64(True):
            outcomes = AttributeIndices(jnp.asarray(subset), jnp.asarray(weighted))
            values = np.asarray(run_compiled(_gradients, self, w, x, y, outcomes))
        return list(zip(np.prod(weights[weighted], axis=1) / len(subsets), values, strict=True))

    def _sizes(self, d: int) -> tuple[int, int]:
        size, draws = split_attributes(self.n_attributes, self.n_for_prediction)
        if size > d:
            raise ArgumentError("n_attributes", f"must be at most d + {draws} = {d + draws} (got {self.n_attributes})")
        return size, draws


def index_weights(w: Float[Array, "d"], law: IndexLaw) -> Float[Array, "d"]:
    """Return numbers that are proportional to the probabilities of the indices for <w, x>."""
    return jnp.abs(w) if law == "l1" else w * w


def index_probabilities(w: Float[np.ndarray, "d"], law: IndexLaw) -> Float[np.ndarray, "d"]:
    """Return the probabilities of the indices for <w, x> in float64; uniform if w = 0."""
    weights = np.abs(w) if law == "l1" else w * w
    return weights / weights.sum() if weights.any() else np.full(len(w), 1 / len(w))


def estimate_instance(subset: Int[Array, "h"], x_subset: Float[Array, "h"], d: int) -> Float[Array, "d"]:
    """Return v, an estimate of x: (d / h) x_j for the h indices j of a uniform subset, 0 elsewhere."""
    return jnp.zeros(d, x_subset.dtype).at[subset].add(d / len(subset) * x_subset)


def estimate_predictions(
    w: Float[Array, "d"], weighted: Int[Array, "n"], x_weighted: Float[Array, "n"], law: IndexLaw
) -> Float[Array, "n"]:
    """Return an estimate of <w, x> from each attribute of `weighted`: sgn(w_i) |w|_1 x_i, or (|w|^2 / w_i) x_i."""
    w_weighted = w[weighted]
    if law == "l1":
        scale = jnp.sign(w_weighted) * jnp.sum(jnp.abs(w))
    else:
        scale = jnp.where(w_weighted == 0, 0.0, jnp.sum(w * w) / jnp.where(w_weighted == 0, 1.0, w_weighted))
    return scale * x_weighted


def _gradients(
    estimator: AttributeGradient, w: Float[Array, "d"], x: Float[Array, "d"], y: ArrayLike, outcomes: AttributeIndices
) -> Float[Array, "m d"]:
    return jax.vmap(lambda indices: estimator.gradient(w, y, indices, x[indices.subset], x[indices.weighted]))(outcomes)


# ---------------------------------------------------------------------------------------------------------------------
# Unbiased estimates of x x' and x from a few attributes, independent of the hypothesis (the Baseline of
# Cesa-Bianchi et al. 2010c).
#
# Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Efficient learning with partially observed attributes" (ICML 2010),
# Algorithm 1, with errata E15 and E16.


class PairMoments(NamedTuple):
    """`A` estimates x x' [d, d] (symmetric, in general with negative eigenvalues: erratum E16); `v` estimates x [d]."""

    A: Float[Array, "d d"]
    v: Float[Array, "d"]


@cites("cesabianchi2010efficient")
@struct
class AttributePairs:
    """Unbiased estimates of x x' and x from k attributes (Cesa-Bianchi et al. 2010c, Algorithm 1).

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
    """Return w'Aw - 2 y w'v + y^2, the estimate of (<w, x> - y)^2 that the Baseline minimises (erratum E15).

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.estimators.attributes import PairMoments, pair_loss
        >>> x = jnp.array([1.0, 2.0])
        >>> float(pair_loss(jnp.ones(2), PairMoments(jnp.outer(x, x), x), 2.0))
        1.0
    """
    return w @ moments.A @ w - 2 * y * (w @ moments.v) + y * y


def project_psd(A: Float[Array, "d d"]) -> Float[Array, "d d"]:
    """Project a symmetric matrix onto the positive semi-definite matrices (erratum E16)."""
    values, vectors = jnp.linalg.eigh(A)
    return (vectors * jnp.maximum(values, 0.0)[None, :]) @ vectors.T
