"""Estimates from k of d attributes (Cesa-Bianchi et al. 2010c), checked by enumeration of all outcomes, d = k = 4.

Losses other than the squared loss have a random number of attributes, at most 1 + 5. The functions printed_* are
formulas as printed in the paper.
"""

import itertools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial
from jaxtyping import Array, ArrayLike, Float, Int

from benchmarks.papers.claims.kernels import check_definite
from benchmarks.papers.claims.registry import PRINTED_BIASED, PRINTED_VIOLATED, Options, claim, in_float64
from benchmarks.papers.estimators.attributes import AttributeSeriesGradient
from benchmarks.papers.estimators.limits import limit_bias
from benchmarks.papers.estimators.series import PolynomialSequenceEstimator, chebyshev
from jaxonline.estimators import AttributeGradient, AttributePairs, SeriesEstimator, minimum_variance
from jaxonline.estimators.attributes import AttributeIndices, PairMoments, pair_loss, project_psd
from jaxonline.losses import Logistic, SeriesLoss, SmoothedHinge
from jaxonline.verify import Verification, bound, unbiased

W, X, Y, K = np.array([0.5, -1.0, 0.0, 0.25]), np.array([0.3, -0.8, 0.6, 1.0]), 0.7, 4
GRADIENT = 2 * (W @ X - Y) * X


class _KnownInstance:
    """Oracle that returns attributes and the label of the instance `X` of this module."""

    def __init__(self, y: float = Y):
        self._y = y

    def attributes(self, indices: Int[Array, "k"], number: Int[Array, ""] | None = None) -> Float[Array, "k"]:
        return jnp.asarray(X, jnp.float32)[indices]

    def label(self) -> Float[Array, ""]:
        return jnp.float32(self._y)


# ---------------------------------------------------------------------------------------------------------------------
# Gradients of the squared loss (AER, AERR)


def printed_attribute_gradient(
    estimator: AttributeGradient,
    w: Float[Array, "d"],
    y: ArrayLike,
    seen: AttributeIndices,
    x_subset: Float[Array, "half"],
) -> Float[Array, "d"]:
    """Return the gradient estimate printed in the paper, Algorithm 2: y^ has x_j for x_i (E14).

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

    def gradient(s, t, seen):
        return printed_attribute_gradient(estimator, jnp.asarray(w), y, AttributeIndices(s, t), seen)

    values = in_float64(jax.vmap(gradient), subset, weighted, x[subset])
    return [(math.prod(weights[list(t)]) / len(subsets), value) for (_, t), value in zip(pairs, values, strict=True)]


@claim("gradient from k attributes, AER", "C, Algorithm 2", AttributeGradient(K), note=14, **PRINTED_BIASED)
@claim("gradient from k attributes, l2 distribution (AERR)", "Hazan and Koren 2012", AttributeGradient(K, law="l2"),
       improved="within tolerance")  # fmt: skip
def _aer(form: str, options: Options, estimator: AttributeGradient) -> Verification:
    support = printed_attribute_support if form == "printed" else AttributeGradient.support
    return unbiased(None, GRADIENT, support=support(estimator, W, X, Y))


def _gradient_sample(estimator: Any, y: float, key: jax.Array) -> Float[Array, "d"]:
    return estimator(key, jnp.asarray(W, jnp.float32), _KnownInstance(y))


@claim("gradient from k attributes, the sampler", "C, Algorithm 2", few=True, corrected="within tolerance")
def _aer_sampler(form: str, options: Options) -> Verification:
    estimator = AttributeGradient(K)
    second = sum(p * g**2 for p, g in estimator.support(W, X, Y))
    return unbiased(Partial(_gradient_sample, estimator, Y), GRADIENT, second_moment=second, **options)


UNEVEN = np.array([2.0, -1.0, 0.5, 0.0, 0.3, -0.25, 0.4, 0.35])


def _frequencies(estimators, key):
    """Return the frequency of each attribute in the samples for <w, x> (l1 and l2 distribution) and for x."""
    w = jnp.asarray(UNEVEN, jnp.float32)
    first, second = (estimator.choose(key, w) for estimator in estimators)
    rows = (first.weighted, second.weighted, first.subset)
    return jnp.concatenate([jnp.mean(jax.nn.one_hot(row, len(w), dtype=jnp.float32), axis=0) for row in rows])


@claim("which attributes are observed, l1 and l2 distribution", "C, Algorithm 2", sampled=True,
       corrected="within tolerance")  # fmt: skip
def _choices(form: str, options: Options) -> Verification:
    """Test each attribute's frequency separately: a rare attribute reveals a wrong exponent, such as |w_i|^1.03."""
    target = np.concatenate([weights / weights.sum() for weights in (np.abs(UNEVEN), UNEVEN**2, np.ones(8))])
    sampler = Partial(_frequencies, (AttributeGradient(8), AttributeGradient(8, law="l2")))
    return unbiased(sampler, target, range=(-1e-6, 1), per_coordinate=True, detect=0.05, **options)


@claim("second moment of the gradient in the norm of the weights", "Hazan and Koren 2012", False, improved="respected")
@claim("second moment of the gradient in the dual norm", "Hazan and Koren 2012", True, improved="respected")
def _second_moments(form: str, options: Options, dual: bool) -> Verification:
    """The worst case x = (1, ..., 1), y = -1, w = e_1, for exponentiated gradient.

    The mean of sum_i p_i g_i^2 is L = 8 (1 + 1)^2 d / k for every p on the simplex, here p = e_1. The mean of
    |g|_inf^2 is at most G^2.
    """
    support = AttributeGradient(K).support(np.eye(4)[0], np.ones(4), -1.0)
    if dual:
        moment = sum(p * np.abs(g).max() ** 2 for p, g in support)
        return bound(float(moment), (4 * (1 + 1) * 4 / K) ** 2, note="E |g|_inf^2, G^2")
    return bound(float(sum(p * g[0] ** 2 for p, g in support)), 8 * (1 + 1) ** 2 * 4 / K, note="E sum p_i g_i^2, L")


# ---------------------------------------------------------------------------------------------------------------------
# Losses of the margin; the factors have the second moment |w|_1 sum |w_i| x_i^2 <= |w|_1^2

LABEL, FACTORS, HINGE = -1.0, 5, SmoothedHinge(1.0)
MARGIN = LABEL * float(W @ X)


def _series(loss: SeriesLoss) -> SeriesEstimator:
    return SeriesEstimator.for_loss(loss, minimum_variance, float(np.abs(W).sum()) ** 2, max_copies=FACTORS)


def _target(loss: SeriesLoss) -> np.ndarray:
    """Return y l'(y <w, x>) x, with the bias of the limit on the number of factors, in float64."""
    slope = float(in_float64(type(loss).derivative, loss, MARGIN))
    return LABEL * (slope + limit_bias(loss, _series(loss), MARGIN)) * X


def _support(loss: SeriesLoss) -> list[tuple[float, np.ndarray]]:
    return AttributeSeriesGradient(_series(loss), loss).support(W, X, LABEL)


@claim("gradient of the logistic loss from at most 6 attributes", "C, section 5", Logistic(),
       improved="within tolerance")  # fmt: skip
@claim("gradient of the smoothed hinge from at most 6 attributes", "C, section 5", HINGE, improved="within tolerance")
def _margin(form: str, options: Options, loss: SeriesLoss) -> Verification:
    """The mean is l'(y <w, x>) y x plus the bias of the limit."""
    return unbiased(None, _target(loss), support=_support(loss))


@claim("gradient of the smoothed hinge, one attribute for all factors", "", control="biased")
def _one_attribute(form: str, options: Options) -> Verification:
    """The mean of a power of y^ is not the power of its mean."""
    series, norm, d = _series(HINGE), float(np.abs(W).sum()), len(X)
    pmf = np.exp(series.law.log_table(FACTORS + 1))
    powers = np.asarray(series.coefficients) * (LABEL * np.sign(W) * norm * X)[:, None] ** np.arange(FACTORS + 1)
    support = [
        (float(pmf[n] * abs(W[i]) / norm / d), LABEL * powers[i, n] / pmf[n] * d * X[j] * np.eye(d)[j])
        for i, n, j in itertools.product(np.flatnonzero(W), np.flatnonzero(pmf), range(d))
    ]
    return unbiased(None, _target(HINGE), support=support)


@claim("gradient of the smoothed hinge, the sampler", "C, section 5", few=True, improved="within tolerance")
def _hinge_sampler(form: str, options: Options) -> Verification:
    second = sum(p * g**2 for p, g in _support(HINGE))
    sampler = Partial(_gradient_sample, AttributeSeriesGradient(_series(HINGE), HINGE), LABEL)
    return unbiased(sampler, _target(HINGE), second_moment=second, **options)


@claim("gradient of the logistic loss from Chebyshev polynomials, |w|_1 = 4 > pi", "C, section 5",
       improved="within tolerance")  # fmt: skip
def _polynomials(form: str, options: Options) -> Verification:
    """The mean is Q_5(y <w, x>) y x, and |Q_5 - l'| is at most 0.0065 on [-4, 4]."""
    w = 4 / np.abs(W).sum() * W
    sequence = chebyshev(lambda a: -1 / (1 + np.exp(a)), FACTORS, -4.0, 4.0)
    estimator = AttributeSeriesGradient(PolynomialSequenceEstimator.for_sequence(sequence, 16.0), Logistic())
    return unbiased(None, LABEL * sequence.value(LABEL * float(w @ X)) * X, support=estimator.support(w, X, LABEL))


# ---------------------------------------------------------------------------------------------------------------------
# Moments from pairs of attributes (Baseline)


def _pair_moments(key):
    return AttributePairs(K)(key, len(X), _KnownInstance())


@claim("x x' and x from k attributes, Baseline, the sampler", "C, Algorithm 1", sampled=True,
       improved="within tolerance")  # fmt: skip
def _pair_sampler(form: str, options: Options) -> Verification:
    support = AttributePairs(K).support(X)
    second = [np.sum([p * m[i] ** 2 for p, m in support], axis=0) for i in (0, 1)]
    target = PairMoments(np.outer(X, X), X)  # type: ignore[arg-type]
    return unbiased(_pair_moments, target, second_moment=PairMoments(*second), **options)


@claim("x x' from k attributes, Baseline", "C, Algorithm 1", 0, np.outer(X, X), printed="within tolerance")
@claim("x from k attributes, Baseline", "C, Algorithm 1", 1, X, printed="within tolerance")
def _pairs(form: str, options: Options, moment: int, target: np.ndarray) -> Verification:
    return unbiased(None, target, support=[(p, moments[moment]) for p, moments in AttributePairs(K).support(X)])


def printed_pair_loss(w: Float[Array, "d"], moments: PairMoments, y: ArrayLike) -> Float[Array, ""]:
    """Return w'Aw + 2 y w'v + y^2, the loss printed in the paper, Algorithm 1; - 2 y w'v is right (E15)."""
    return w @ moments.A @ w + 2 * y * (w @ moments.v) + y * y


@claim("squared loss from k attributes, Baseline", "C, Algorithm 1", note=15, **PRINTED_BIASED)
def _loss(form: str, options: Options) -> Verification:
    """The loss printed in the paper, with + 2 y w'v, estimates (<w, x> + y)^2, whose minimiser predicts -y."""
    loss = pair_loss if form == "corrected" else printed_pair_loss
    p, moments = zip(*AttributePairs(K).support(X), strict=True)
    loss_of_outcomes = jax.vmap(lambda *moments: loss(jnp.asarray(W), PairMoments(*moments), Y))
    losses = in_float64(loss_of_outcomes, *map(np.stack, zip(*moments, strict=True)))
    return unbiased(None, (W @ X - Y) ** 2, support=list(zip(p, losses, strict=True)))


@claim("the Baseline's problem is convex", "C, section 2.1", note=16, **PRINTED_VIOLATED)
def _convex(form: str, options: Options) -> Verification:
    """The printed claim concerns the matrix A, the mean of 50 symmetrised estimates of x x', as in Algorithm 1.

    The corrected claim concerns the projection of A onto the positive semi-definite matrices.
    """

    def mean_of_estimates(key):
        return jax.vmap(lambda key: _pair_moments(key).A)(jax.random.split(key, 50)).mean(axis=0).astype(jnp.float64)

    A = in_float64(mean_of_estimates, jax.random.key(0))
    return check_definite(in_float64(project_psd, A) if form == "corrected" else A)


@claim("the largest entry of the Baseline's v", "C, Lemma 3", 4, 4, 1, (2, 3), note=20, **PRINTED_VIOLATED)
@claim("the largest entry of the Baseline's A", "C, Lemma 2", 3, 2, 0, (3, 6), note=41, **PRINTED_VIOLATED)
def _largest_entry(form: str, options: Options, d: int, k: int, moment: int, factors: tuple) -> Verification:
    """For x = (1, ..., 1), in units of d/k.

    v_i is largest if attribute i is in a pair with itself and in k/2 - 1 other pairs, 1 + k/2 times in all. For d = 3
    and k = 2 the pair (i, i) adds d^2/k twice to A_ii.
    """
    largest = max(float(moments[moment].max()) for _, moments in AttributePairs(k).support(np.ones(d)))
    return bound(largest, factors[form == "corrected"] * d / k, note="the largest entry, its bound")
