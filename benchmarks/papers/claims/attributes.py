"""Claims on estimates from k of d attributes (paper C), checked by enumeration of all outcomes for d = 4 and k = 4.

Losses other than the squared loss have a random number of attributes, at most 1 + 5.
"""

from functools import partial
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from benchmarks.papers.claims.printed_gradients import printed_attribute_support, printed_pair_loss
from benchmarks.papers.claims.registry import SamplingOptions, claim, control
from benchmarks.papers.estimators.attributes import AttributeSeriesGradient
from benchmarks.papers.estimators.limits import limit_bias
from benchmarks.papers.estimators.series import PolynomialSequenceEstimator, chebyshev
from jaxonline.estimators.attribute_pairs import AttributePairs, PairMoments, pair_loss, project_psd
from jaxonline.estimators.attributes import AttributeGradient
from jaxonline.estimators.count_distributions import minimum_variance
from jaxonline.estimators.series import SeriesEstimator
from jaxonline.linalg.programs import run_compiled
from jaxonline.losses import Logistic, SmoothedHinge
from jaxonline.losses.series import SeriesLoss
from jaxonline.verify.bias import unbiased
from jaxonline.verify.moments import bound
from jaxonline.verify.result import Verification

W, X, Y, K = np.array([0.5, -1.0, 0.0, 0.25]), np.array([0.3, -0.8, 0.6, 1.0]), 0.7, 4
GRADIENT = 2 * (W @ X - Y) * X


class _KnownInstance:
    """Oracle that returns attributes and the label of the instance `X` of this module."""

    def __init__(self, y: float = Y):
        self._y = y

    def attributes(self, indices: Int[Array, "k"], number: Int[Array, ""] | None = None) -> Float[Array, "k"]:
        del number
        return jnp.asarray(X, jnp.float32)[indices]

    def label(self) -> Float[Array, ""]:
        return jnp.float32(self._y)


@claim(
    "gradient from k attributes, AER",
    "C, Algorithm 2",
    erratum=14,
    cost="exact",
    printed="biased",
    corrected="within tolerance",
)
def _aer(form: str, options: SamplingOptions) -> Verification:
    support = (
        AttributeGradient(K).support
        if form == "corrected"
        else partial(printed_attribute_support, AttributeGradient(K))
    )
    return unbiased(None, GRADIENT, support=support(W, X, Y))


@claim(
    "gradient from k attributes, l2 distribution (AERR)",
    "Hazan and Koren 2012",
    cost="exact",
    improved="within tolerance",
)
def _aerr(form: str, options: SamplingOptions) -> Verification:
    return unbiased(None, GRADIENT, support=AttributeGradient(K, law="l2").support(W, X, Y))


@claim("gradient from k attributes, the sampler", "C, Algorithm 2", few=True, corrected="within tolerance")
def _aer_sampler(form: str, options: SamplingOptions) -> Verification:
    estimator = AttributeGradient(K)
    second = sum(p * g**2 for p, g in estimator.support(W, X, Y))
    return unbiased(jax.tree_util.Partial(_gradient, estimator), GRADIENT, second_moment=second, **options.sampling())


def _gradient(estimator: Any, key: jax.Array) -> Float[Array, "d"]:
    return estimator(key, jnp.asarray(W, jnp.float32), _KnownInstance())


# ---------------------------------------------------------------------------------------------------------------------
# Losses of the margin; the factors have the second moment |w|_1 sum |w_i| x_i^2 <= |w|_1^2

LABEL, FACTORS = -1.0, 5
MARGIN = LABEL * float(W @ X)


def _series(loss: SeriesLoss) -> SeriesEstimator:
    return SeriesEstimator.for_loss(loss, minimum_variance, float(np.abs(W).sum()) ** 2, max_copies=FACTORS)


def _target(loss: SeriesLoss) -> np.ndarray:
    """Return y l'(y <w, x>) x, with the bias of the limit on the number of factors, in float64."""
    with jax.enable_x64(True):
        slope = float(run_compiled(type(loss).derivative, loss, MARGIN))
    return LABEL * (slope + limit_bias(loss, _series(loss), MARGIN)) * X


def _support(loss: SeriesLoss) -> list[tuple[float, np.ndarray]]:
    return AttributeSeriesGradient(_series(loss), loss).support(W, X, LABEL)


@claim(
    "gradient of the logistic loss from at most 6 attributes", "C, section 5", cost="exact", improved="within tolerance"
)
def _logistic(form: str, options: SamplingOptions) -> Verification:
    """The mean is l'(y <w, x>) y x plus the bias of the limit."""
    return unbiased(None, _target(Logistic()), support=_support(Logistic()))


HINGE = SmoothedHinge(1.0)


@claim(
    "gradient of the smoothed hinge from at most 6 attributes",
    "C, section 5",
    cost="exact",
    improved="within tolerance",
)
def _hinge(form: str, options: SamplingOptions) -> Verification:
    return unbiased(None, _target(HINGE), support=_support(HINGE))


@control("gradient of the smoothed hinge, one attribute for all factors", "biased", cost="exact")
def _hinge_one_attribute(form: str, options: SamplingOptions) -> Verification:
    """The mean of a power of y^ is not the power of its mean."""
    series, norm, d = _series(HINGE), float(np.abs(W).sum()), len(X)
    pmf = np.exp(series.law.log_table(FACTORS + 1))
    powers = np.asarray(series.coefficients) * (LABEL * np.sign(W) * norm * X)[:, None] ** np.arange(FACTORS + 1)
    support = [
        (float(pmf[n] * abs(W[i]) / norm / d), LABEL * powers[i, n] / pmf[n] * d * X[j] * np.eye(d)[j])
        for i in np.flatnonzero(W)
        for n in np.flatnonzero(pmf)
        for j in range(d)
    ]
    return unbiased(None, _target(HINGE), support=support)


@claim("gradient of the smoothed hinge, the sampler", "C, section 5", few=True, improved="within tolerance")
def _hinge_sampler(form: str, options: SamplingOptions) -> Verification:
    second = sum(p * g**2 for p, g in _support(HINGE))
    sampler = jax.tree_util.Partial(_gradient_at_label, AttributeSeriesGradient(_series(HINGE), HINGE))
    return unbiased(sampler, _target(HINGE), second_moment=second, **options.sampling())


def _gradient_at_label(estimator: Any, key: jax.Array) -> Float[Array, "d"]:
    return estimator(key, jnp.asarray(W, jnp.float32), _KnownInstance(LABEL))


@claim(
    "gradient of the logistic loss from Chebyshev polynomials, |w|_1 = 4 > pi",
    "C, section 5",
    cost="exact",
    improved="within tolerance",
)
def _polynomials(form: str, options: SamplingOptions) -> Verification:
    """The mean is Q_5(y <w, x>) y x, and |Q_5 - l'| is at most 0.0065 on [-4, 4]."""
    w = 4 / np.abs(W).sum() * W
    sequence = chebyshev(lambda a: -1 / (1 + np.exp(a)), FACTORS, -4.0, 4.0)
    estimator = AttributeSeriesGradient(PolynomialSequenceEstimator.for_sequence(sequence, 16.0), Logistic())
    return unbiased(None, LABEL * sequence.value(LABEL * float(w @ X)) * X, support=estimator.support(w, X, LABEL))


# ---------------------------------------------------------------------------------------------------------------------
# Second moments of the gradient for exponentiated gradient, in the worst case x = (1, ..., 1), y = -1, w = e_1


def _worst_case() -> list[tuple[float, np.ndarray]]:
    return AttributeGradient(K).support(np.eye(4)[0], np.ones(4), -1.0)


@claim(
    "second moment of the gradient in the norm of the weights",
    "Hazan and Koren 2012",
    cost="exact",
    improved="respected",
)
def _local_norm(form: str, options: SamplingOptions) -> Verification:
    """The mean of sum_i p_i g_i^2 is L = 8 (1 + 1)^2 d / k for every p on the simplex, here p = e_1."""
    moment = sum(p * g[0] ** 2 for p, g in _worst_case())
    return bound(float(moment), 8 * (1 + 1) ** 2 * 4 / K, note="E sum p_i g_i^2, L")


@claim("second moment of the gradient in the dual norm", "Hazan and Koren 2012", cost="exact", improved="respected")
def _dual_norm(form: str, options: SamplingOptions) -> Verification:
    moment = sum(p * np.abs(g).max() ** 2 for p, g in _worst_case())
    return bound(float(moment), (4 * (1 + 1) * 4 / K) ** 2, note="E |g|_inf^2, G^2")


UNEVEN = np.array([2.0, -1.0, 0.5, 0.0, 0.3, -0.25, 0.4, 0.35])


def _frequencies(estimators, key):
    """Return the frequency of each attribute in the samples for <w, x> (l1 and l2 distribution) and for x."""
    w = jnp.asarray(UNEVEN, jnp.float32)
    first, second = (estimator.choose(key, w) for estimator in estimators)
    rows = (first.weighted, second.weighted, first.subset)
    return jnp.concatenate([jnp.mean(jax.nn.one_hot(row, len(w), dtype=jnp.float32), axis=0) for row in rows])


@claim("which attributes are observed, l1 and l2 distribution", "C, Algorithm 2", corrected="within tolerance")
def _choices(form: str, options: SamplingOptions) -> Verification:
    """Test each attribute's frequency separately: a rare attribute reveals a wrong exponent, such as |w_i|^1.03."""
    laws = [weights / weights.sum() for weights in (np.abs(UNEVEN), UNEVEN**2, np.ones(8))]
    estimators = (AttributeGradient(8), AttributeGradient(8, law="l2"))
    sampler = jax.tree_util.Partial(_frequencies, estimators)
    return unbiased(
        sampler, np.concatenate(laws), range=(-1e-6, 1), per_coordinate=True, detect=0.05, **options.sampling()
    )


def _pair_moments(key):
    return AttributePairs(K)(key, len(X), _KnownInstance())


@claim("x x' and x from k attributes, Baseline, the sampler", "C, Algorithm 1", improved="within tolerance")
def _pair_sampler(form: str, options: SamplingOptions) -> Verification:
    support = AttributePairs(K).support(X)
    second = [np.sum([p * m[i] ** 2 for p, m in support], axis=0) for i in (0, 1)]
    target = PairMoments(np.outer(X, X), X)  # type: ignore[arg-type]
    return unbiased(_pair_moments, target, second_moment=PairMoments(*second), **options.sampling())


@claim("x x' from k attributes, Baseline", "C, Algorithm 1", cost="exact", printed="within tolerance")
def _pairs(form: str, options: SamplingOptions) -> Verification:
    return unbiased(None, np.outer(X, X), support=[(p, m.A) for p, m in AttributePairs(K).support(X)])


@claim("x from k attributes, Baseline", "C, Algorithm 1", cost="exact", printed="within tolerance")
def _vector(form: str, options: SamplingOptions) -> Verification:
    return unbiased(None, X, support=[(p, m.v) for p, m in AttributePairs(K).support(X)])


@claim(
    "squared loss from k attributes, Baseline",
    "C, Algorithm 1",
    erratum=15,
    cost="exact",
    printed="biased",
    corrected="within tolerance",
)
def _loss(form: str, options: SamplingOptions) -> Verification:
    """The loss printed in paper C, with + 2 y w'v, estimates (<w, x> + y)^2, whose minimiser predicts -y."""
    loss = pair_loss if form == "corrected" else printed_pair_loss
    with jax.enable_x64(True):
        p, moments = zip(*AttributePairs(K).support(X), strict=True)
        loss_of_outcomes = jax.vmap(lambda *moments: loss(jnp.asarray(W), PairMoments(*moments), Y))
        losses = np.asarray(run_compiled(loss_of_outcomes, *map(np.stack, zip(*moments, strict=True))))
    return unbiased(None, (W @ X - Y) ** 2, support=list(zip(p, losses, strict=True)))


def _mean_second_moment(key: Key[Array, ""]) -> Float[Array, "d d"]:
    estimates = jax.vmap(lambda key: AttributePairs(K)(key, len(X), _KnownInstance()).A)(jax.random.split(key, 50))
    return estimates.mean(axis=0).astype(jnp.float64)


@claim(
    "the Baseline's problem is convex",
    "C, section 2.1",
    erratum=16,
    cost="exact",
    printed="violated",
    corrected="respected",
)
def _convex(form: str, options: SamplingOptions) -> Verification:
    """A symmetric matrix is positive semi-definite if the sum of its absolute eigenvalues is at most its trace.

    The printed claim concerns the matrix A, the mean of 50 symmetrised estimates of x x', as in paper C's Algorithm 1
    after 50 examples. The corrected claim concerns the projection of A onto the positive semi-definite matrices.
    """
    with jax.enable_x64(True):
        A = run_compiled(_mean_second_moment, jax.random.key(0))
        A = np.asarray(run_compiled(project_psd, A) if form == "corrected" else A)
    return bound(float(np.abs(np.linalg.eigvalsh(A)).sum()), float(np.trace(A)), note="sum of |eigenvalues|, trace")


@claim(
    "the largest entry of the Baseline's v",
    "C, Lemma 3",
    erratum=20,
    cost="exact",
    printed="violated",
    corrected="respected",
)
def _largest_entry(form: str, options: SamplingOptions) -> Verification:
    """For x = (1, ..., 1) v_i is largest if attribute i is in a pair with itself and in k/2 - 1 other pairs."""
    d = len(X)
    largest = max(float(m.v.max()) for _, m in AttributePairs(K).support(np.ones(d)))
    return bound(largest, (2 if form == "printed" else 1 + K // 2) * d / K, note="the largest entry, its bound")
