"""Losses, and the series estimator of their derivative (Cesa-Bianchi et al. 2010a, Lemma 1, sections 3.2 and 4.2).

The copies of X have noise of variance 0.05: Gaussian noise in samples, so that every moment is known exactly, and two
values in checks of all outcomes. Each number N of copies belongs to one term of the Taylor series. The functions
printed_* are formulas as printed in the paper.
"""

import dataclasses
import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial
from jaxtyping import ArrayLike
from numpy.polynomial import chebyshev as chebyshev_series
from scipy import special

from benchmarks.papers.claims.registry import PRINTED_BIASED, PRINTED_VIOLATED, Options, claim, in_float64
from benchmarks.papers.claims.terms import all_signs, check_terms
from benchmarks.papers.estimators.limits import limit_bias
from benchmarks.papers.estimators.series import (
    DiscreteLomax,
    PolynomialSequence,
    PolynomialSequenceEstimator,
    SemicircleAbsolute,
    SequenceLength,
    chebyshev,
)
from jaxonline.estimators import (
    FiniteDistribution,
    Geometric,
    GradientLength,
    SeriesEstimator,
    cost_aware,
    minimum_variance,
)
from jaxonline.estimators.series import exact_second_moment, lemma1_bound
from jaxonline.losses import Exponential, Logistic, SeriesLoss, SmoothedAbsolute, SmoothedHinge, Squared
from jaxonline.numerics.elementwise import run_compiled
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.types import as_floating, host_float
from jaxonline.verify import Verification, bound, queries, second_moment, unbiased

MEAN, SPREAD, P = 0.8, math.sqrt(0.05), 2.0
_MIN_TERM = 1e-6  # relative to the largest term
_POINTS = 1024  # of Cauchy's integral


# ---------------------------------------------------------------------------------------------------------------------
# Terms


def complex_derivative(loss: SeriesLoss) -> Callable[[np.ndarray], np.ndarray]:
    """Return l' of a loss for complex numbers, from the papers' closed forms; raise a TypeError for unknown losses."""
    scale = float(np.asarray(getattr(loss, "scale", 1.0)))
    derivatives: dict[type, Callable[[np.ndarray], np.ndarray]] = {
        Squared: lambda z: 2 * z,
        Exponential: lambda z: -np.exp(-z),
        Logistic: lambda z: -1 / (1 + np.exp(z)),
        SmoothedAbsolute: lambda z: special.erf(scale * z),
        SmoothedHinge: lambda z: (special.erf(scale * (z - 1)) - 1) / 2,
    }
    if type(loss) not in derivatives:
        raise ArgumentTypeError("loss", f"must be one of the papers' losses (got {type(loss).__name__})")
    return derivatives[type(loss)]


def taylor_terms(loss: SeriesLoss, centre: float, offset: float, n_terms: int) -> np.ndarray:
    """Return gamma_n offset^n for n < n_terms, where l'(a) = sum gamma_n (a - centre)^n, by Cauchy's integral.

    The errors are 1e-15 max |l'|. The radius of the circle of integration is twice the offset, or half way from the
    offset to the edge of the disc of convergence if that is smaller. On this circle the trapezoidal rule converges
    geometrically. Raises a ValueError if `offset` is outside the disc.
    """
    size, edge = abs(offset), loss.radius(centre)
    if not size < edge:
        raise ArgumentError("offset", f"must be inside the disc of radius {edge:g} (got {offset:g})")
    circle = min(2 * size, (size + edge) / 2) if size else 1.0
    angles = 2 * np.pi * np.arange(_POINTS) / _POINTS
    values = complex_derivative(loss)(centre + circle * np.exp(1j * angles))
    scaled = np.fft.fft(values)[:n_terms].real / _POINTS  # gamma_n circle^n
    scaled[np.abs(scaled) < 16 * np.finfo(float).eps * np.abs(values).max()] = 0.0  # rounding
    return scaled * (offset / circle) ** np.arange(n_terms)


def noisy_number(mean: float, key: jax.Array) -> jax.Array:
    """Return one copy of X: `mean` plus Gaussian noise of variance 0.05."""
    return mean + SPREAD * jax.random.normal(key)


def series_means(estimator: Any, mean: float, law: Any, size: int) -> np.ndarray:
    """Return P(N = n) E[theta | N = n] for n < size, for copies `mean` +- sqrt(0.05) and N of `law`."""
    signs = [all_signs(n, size) for n in range(size)]
    n = np.repeat(np.arange(size, dtype=np.int32), [len(rows) for rows in signs])
    values = in_float64(_estimates, estimator, mean + SPREAD * np.concatenate(signs), n)
    return np.exp(law.log_table(size)) * np.bincount(n, values) / np.bincount(n)


def _estimates(estimator, copies, n):
    return jax.vmap(estimator.estimate_from)(copies, n)


def check_series(
    estimator: SeriesEstimator, mean: float, target: float, terms: np.ndarray | None = None, drawn: Any = None
) -> Verification:
    """Check the terms of a series estimator and their sum.

    `terms` are gamma_n (mean - centre)^n from an independent source (`taylor_terms`), one for each coefficient of the
    estimator; if they are None, only the sum is checked. `drawn` is the distribution of N, `estimator.law` when None.
    """
    table = np.asarray(estimator.coefficients, float)
    own = table * (mean - host_float("centre", estimator.centre)) ** np.arange(len(table))
    known = own if terms is None else terms
    size = 1 + int(np.flatnonzero(np.abs(known) > _MIN_TERM * np.abs(known).max())[-1])
    means = series_means(estimator, mean, estimator.law if drawn is None else drawn, size)
    return check_terms(means, target, None if terms is None else terms[:size], float(known[size:].sum()))


def _estimate(estimator, mean, key):
    return estimator.estimate(key, functools.partial(noisy_number, mean))


def _draw_n(law, key):
    return law.sample(key)


def _second(mean: float, centre: float = 0.0) -> float:
    return (mean - centre) ** 2 + SPREAD**2


# ---------------------------------------------------------------------------------------------------------------------
# The mean of the series estimator


def printed_exponential(a: ArrayLike) -> jax.Array:
    """Return e^(+a), the exponential loss printed in the paper, Example 2; it grows with the margin a (E1)."""
    return jnp.exp(as_floating(a))


def printed_exponential_coefficients(n_terms: int) -> np.ndarray:
    """Return the Taylor coefficients 1/n! of e^(+a), the derivative of the printed exponential loss (E1)."""
    return 1.0 / special.factorial(np.arange(check.count("n_terms", n_terms)))


def printed_hinge_coefficients(n_terms: int, scale: float) -> np.ndarray:
    """Coefficients of powers of (a - 1) in the paper, Appendix C; its estimator has powers of a instead (E3)."""
    return SmoothedHinge(scale).coefficients(n_terms, centre=1.0)


@claim("series estimate of l', smoothed absolute loss", "A, Lemma 1, Example 3",
       SmoothedAbsolute(1.3), Geometric(P), 0.5, printed="within tolerance")  # fmt: skip
@claim("smoothed hinge loss about 1", "A, Lemma 1, Example 4",
       SmoothedHinge(0.8), Geometric(P), 0.3, 1.0, note=3, improved="within tolerance")  # fmt: skip
@claim("series estimate of l', logistic loss inside its disc", "A, Lemma 1",
       Logistic(), Geometric(P), improved="within tolerance")  # fmt: skip
@claim("minimum-variance distribution of N", "A, section 3.2",
       Exponential(), minimum_variance, improved="within tolerance")  # fmt: skip
@claim("cost-aware distribution of N", "A, section 3.2",
       Exponential(), cost_aware, improved="within tolerance")  # fmt: skip
@claim("expansion about a guess of E X", "A, section 3.2",
       Exponential(), minimum_variance, MEAN, 0.7, improved="within tolerance")  # fmt: skip
@claim("exact distribution for a polynomial: squared loss", "A, section 3.2",
       Squared(), minimum_variance, improved="within tolerance")  # fmt: skip
def _by_terms(
    form: str, options: Options, loss: SeriesLoss, law: Any, mean: float = MEAN, centre: float = 0.0
) -> Verification:
    """Compare the mean of the series estimator at `mean` with l'(mean), which is computed without the series."""
    moment = _second(mean, centre)
    estimator = SeriesEstimator.for_loss(loss, law, moment, centre=centre)
    terms = taylor_terms(loss, centre, mean - centre, len(np.asarray(estimator.coefficients)))
    target = float(in_float64(type(loss).derivative, loss, np.float64(mean)))
    return dataclasses.replace(
        check_series(estimator, mean, target, terms),
        exact_second_moment=exact_second_moment(estimator, moment),
        second_moment_bound=lemma1_bound(loss, P, moment, centre) if isinstance(law, Geometric) else None,
    )


@claim("series estimate of l', exponential loss", "A, Lemma 1, Example 2",
       Exponential(), MEAN, printed_exponential_coefficients(20), note=1, **PRINTED_BIASED)  # fmt: skip
@claim("series estimate of l', smoothed hinge loss", "A, Lemma 1, Example 4",
       SmoothedHinge(0.8), 0.3, printed_hinge_coefficients(40, 0.8), note=3,
       **PRINTED_BIASED)  # fmt: skip
def _printed_series(form: str, options: Options, loss: SeriesLoss, mean: float, printed: np.ndarray) -> Verification:
    if form == "corrected":
        return _by_terms(form, options, loss, Geometric(P), mean)
    target = float(complex_derivative(loss)(np.array(mean)))
    return check_series(SeriesEstimator(printed, Geometric(P)), mean, target)


@claim("any distribution on the integers", "A, Lemma 1", improved="within tolerance")
def _any_law(form: str, options: Options) -> Verification:
    gammas = [1.0, -2.0, 0.5, 0.25]
    estimator = SeriesEstimator(gammas, FiniteDistribution([0.1, 0.2, 0.3, 0.4]))
    return check_series(estimator, MEAN, float(np.polynomial.polynomial.polyval(MEAN, gammas)))


@claim("series estimate with at most one copy: l' without the rest of its series", "A, Lemma 1", True,
       improved="within tolerance")  # fmt: skip
@claim("series estimate with at most one copy, without its bias", "", False, control="biased")
def _limited(form: str, options: Options, has_bias: bool) -> Verification:
    """Test for the smoothed hinge loss that the bias is minus the sum of the remaining terms (`limit_bias`)."""
    loss = SmoothedHinge(1.0)
    estimator = SeriesEstimator.for_loss(loss, Geometric(P), _second(MEAN), max_copies=1)
    target = float(in_float64(type(loss).derivative, loss, np.float64(MEAN)))
    target += limit_bias(loss, estimator, MEAN) if has_bias else 0.0
    return check_series(estimator, MEAN, target, taylor_terms(loss, 0.0, MEAN, 2))


@claim("polynomial tail of N, coefficients ~ n^-5/2", "A, section 3.2", DiscreteLomax(3.0),
       improved="within tolerance")  # fmt: skip
@claim("polynomial tail of N, weights of another exponent", "", DiscreteLomax(2.5), control="biased")
def _lomax(form: str, options: Options, weights: DiscreteLomax) -> Verification:
    """Test l'(a) = (2/pi) (a sqrt(1 - a^2) + asin a), of the absolute loss smoothed by a semicircle.

    N has the exponent 3, and the weights are those of a distribution with the same or another exponent.
    """
    gammas, k = np.zeros(96), np.arange(48)
    gammas[1::2] = 4 / math.pi * (-1.0) ** k * special.binom(0.5, k) / (2 * k + 1)
    return check_series(SeriesEstimator(gammas, weights), MEAN, semicircle_slope(MEAN), drawn=DiscreteLomax(3.0))


def semicircle_slope(a: float) -> float:
    """Return the derivative of the absolute loss smoothed by a semicircle of radius 1."""
    return 2 / math.pi * (a * math.sqrt(1 - a**2) + math.asin(a))


@claim("coefficients of the series of l', exponential loss", "A, Lemma 1", Exponential(), 2.5,
       improved="within tolerance")  # fmt: skip
@claim("coefficients of the series of l', smoothed absolute loss", "A, Lemma 1", SmoothedAbsolute(1.3), 1.0,
       improved="within tolerance")  # fmt: skip
@claim("coefficients of the series of l', smoothed hinge loss", "A, Lemma 1", SmoothedHinge(0.8), 1.5,
       improved="within tolerance")  # fmt: skip
@claim("coefficients of the series of l', logistic loss", "A, Lemma 1", Logistic(), 2.5, improved="within tolerance")
def _coefficients(form: str, options: Options, loss: SeriesLoss, offset: float) -> Verification:
    """Compare the first 16 Taylor coefficients about 0.3, as ratios, with those from Cauchy's integral.

    The offset from the point of expansion is one at which rounding loses no term.
    """
    terms = loss.coefficients(16, 0.3) * offset ** np.arange(16)
    ratios = np.float32(terms / taylor_terms(loss, 0.3, offset, 16))  # sufficient precision
    return unbiased(None, np.ones(16), support=[(1.0, ratios)], detect=1e-4)


# ---------------------------------------------------------------------------------------------------------------------
# Losses and majorants


def printed_smoothed_absolute(a: ArrayLike, scale: ArrayLike, sigma: ArrayLike) -> jax.Array:
    """Return the smoothed absolute loss printed in the paper, Appendix C (E2).

    The printed loss a erf(sa) + e^(-s^2 a^2) / (sigma sqrt(pi)) is an antiderivative of erf(sa) only if sigma = s.
    """
    a = as_floating(a)
    s, sigma = jnp.asarray(scale, a.dtype), jnp.asarray(sigma, a.dtype)
    return a * jax.scipy.special.erf(s * a) + jnp.exp(-((s * a) ** 2)) / (sigma * math.sqrt(math.pi))


def printed_absolute_majorant(a: float, scale: float) -> float:
    """Bound on l'_+(a) of the smoothed absolute loss printed in the paper, Example 3 (E4).

    The bound is 1/2 + (e^(s^2 a^2) - 1) / (s a sqrt(pi)). Appendix C derives it for the smoothed hinge loss, from the
    series of E3.
    """
    reach = check.positive("scale", scale) * check.positive("a", a)
    return 0.5 + math.expm1(reach**2) / (reach * math.sqrt(math.pi))


def printed_hinge_majorant(a: float, scale: float) -> float:
    """Bound on l'_+(a) of the smoothed hinge loss printed in the paper, Example 4 (E4).

    The bound is 2 e^(s^2 a^2 - 1) / (s a sqrt(pi)). Appendix C derives it for the smoothed absolute loss, also with the
    1 in the exponent. With e^(s^2 a^2) - 1, the sum of (s a)^(2n+2) / (n+1)!, the bound would be right for the smoothed
    absolute loss.
    """
    reach = check.positive("scale", scale) * check.positive("a", a)
    return 2.0 * math.exp(reach**2 - 1.0) / (reach * math.sqrt(math.pi))


@claim("smoothed absolute loss, its derivative", "A, Appendix C", note=2, mathematics="printed", **PRINTED_BIASED)
def _antiderivative(form: str, options: Options) -> Verification:
    a, s = 0.3, 2.0
    value = SmoothedAbsolute(s).value if form == "corrected" else lambda a: printed_smoothed_absolute(a, s, 1.0)
    return unbiased(None, math.erf(s * a), support=[(1.0, in_float64(jax.grad(value), np.float64(a)))])


@claim("majorant l'_+ of the smoothed hinge loss", "A, Example 4",
       SmoothedHinge(1.0), 0.7, printed_hinge_majorant, note=4, **PRINTED_VIOLATED)  # fmt: skip
@claim("majorant l'_+ of the smoothed hinge loss, the appendix", "A, Appendix C",
       SmoothedHinge(1.0), 0.2, printed_absolute_majorant, note=4, printed="violated")  # fmt: skip
@claim("majorant l'_+ of the smoothed absolute loss", "A, Example 3",
       SmoothedAbsolute(1.0), 2.0, printed_absolute_majorant, note=4, **PRINTED_VIOLATED)  # fmt: skip
@claim("majorant l'_+ of the smoothed absolute loss, the appendix", "A, Appendix C",
       SmoothedAbsolute(1.0), 3.0, printed_hinge_majorant, note=4, printed="violated")  # fmt: skip
def _majorant(form: str, options: Options, loss: SeriesLoss, a: float, printed: Callable) -> Verification:
    """The appendix swaps the bounds of Examples 3 and 4: 0.615 where the sum is 0.972, and 1121 where it is 1630."""
    total = float(np.abs(loss.coefficients(120)) @ a ** np.arange(120))
    return bound(total, printed(a, 1.0) if form == "printed" else loss.majorant(a))


@claim("distance of the smoothed losses from the absolute and the hinge loss", "A, Figure 1", printed="respected")
def _smoothed_losses(form: str, options: Options) -> Verification:
    """The losses are at most 1/(s sqrt(pi)) and half of it above, for s = 1 (the figure), 3 and 10."""
    a, ratios = np.linspace(-4, 4, 801), []
    for s in (1.0, 3.0, 10.0):
        absolute = in_float64(SmoothedAbsolute(s), a, np.zeros(801)) - np.abs(a)
        hinge = in_float64(SmoothedHinge(s), a, np.ones(801)) - np.maximum(1 - a, 0)
        ratios += [np.abs(distance).max() * s * math.sqrt(math.pi) for distance in (absolute, 2 * hinge)]
    return bound(float(max(ratios)), 1.0)


# ---------------------------------------------------------------------------------------------------------------------
# Second moments and numbers of copies


@claim("second moment p/(p-1) l'_+(sqrt(p E X^2))^2", "A, Lemma 1", sampled=True, printed="respected")
def _lemma1(form: str, options: Options) -> Verification:
    loss, moment = Exponential(), _second(MEAN)
    estimator = SeriesEstimator.for_loss(loss, Geometric(P), moment)
    sampler, exact = Partial(_estimate, estimator, MEAN), exact_second_moment(estimator, moment)
    return second_moment(sampler, lemma1_bound(loss, P, moment), exact=exact, kurtosis=200.0, **options)


@claim("number of copies 1/(p-1)", "A, Lemma 1", Geometric(1.6), 1 / 0.6, {"kurtosis": 20.0},
       sampled=True, printed="within tolerance")  # fmt: skip
@claim("number of copies, any distribution", "A, section 3.2",
       FiniteDistribution([0.1, 0.25, 0.3, 0.0, 0.2, 0.15]), 0.25 + 0.6 + 0.8 + 0.75, {"range": (0, 5)},
       sampled=True, improved="within tolerance")  # fmt: skip
def _copies(form: str, options: Options, law: Any, mean: float, known: dict) -> Verification:
    return queries(Partial(_draw_n, law), mean, detect=0.005, max_samples=1 << 23, **known, **options)


def squared_moment(law: Any) -> float:
    """E theta^2 of the estimator of 2 E X, the derivative of the squared loss, for E X^2 = 1."""
    return exact_second_moment(SeriesEstimator([0.0, 2.0], law), 1.0)


@claim("second moment as p grows, squared loss", "A, section 3.2", note=23, improved="respected")
def _larger_p(form: str, options: Options) -> Verification:
    """p = 2 has the least of 4 p^2/(p - 1), 16; p = 1.1 has 48.4."""
    others = [squared_moment(Geometric(float(p))) for p in np.delete(np.linspace(1.05, 6.0, 100), 19)]
    return bound(squared_moment(Geometric(2.0)), min(others))


@claim("ratio of second moments with and without P(N = 0)", "A, section 3.2", note=34, improved="within tolerance")
def _without_zero(form: str, options: Options) -> Verification:
    """Squared loss, p = 3: 18 with P(N = 0) = (p - 1)/p, and 6 with N from 1 on, whose P(N = 1) is (p - 1)/p."""
    p = 3.0
    ratio = squared_moment(Geometric(p)) / squared_moment(FiniteDistribution([1 / p, (p - 1) / p]))
    return unbiased(None, ratio, support=[(1.0, p)], detect=1e-6)


# ---------------------------------------------------------------------------------------------------------------------
# Polynomial sequences Q_n -> f

LOW, HIGH = -1.6, 1.4
CENTRE, SCALE = (LOW + HIGH) / 2, (HIGH - LOW) / 2


def _erf(z: np.ndarray) -> np.ndarray:
    return special.erf(1.2 * z)


def _interpolate() -> np.ndarray:
    """Return the coefficients of f in Chebyshev polynomials on [`LOW`, `HIGH`], by interpolation of degree 60."""
    return chebyshev_series.chebinterpolate(lambda z: _erf(CENTRE + SCALE * z), 60)  # type: ignore[arg-type]


@claim("polynomial sequence Q_n -> f (Chebyshev, f = erf)", "A, section 3.2", improved="within tolerance")
def _sequence(form: str, options: Options) -> Verification:
    """Compare a Chebyshev sequence with its terms c_n T_n."""
    size, mean, c = 13, 0.5, _interpolate()
    sequence = chebyshev(_erf, size - 1, LOW, HIGH)
    estimator = PolynomialSequenceEstimator.for_sequence(sequence, _second(mean, CENTRE), mean)
    terms = c * np.cos(np.arange(len(c)) * math.acos((mean - CENTRE) / SCALE))
    means = series_means(estimator, mean, estimator.law, size)
    return check_terms(means, float(_erf(np.asarray(mean))), terms[:size], float(terms[size:].sum()))


@claim("second moment of the polynomial sequence", "A, section 3.2", few=True, improved="respected")
def _sequence_moment(form: str, options: Options) -> Verification:
    """The bound is the square of the sum of the roots of E (Q'_n - Q'_(n-1))^2, for the best distribution of N.

    Q_n - Q_(n-1) = c_n T_n, with powers of z = (X - centre) / scale; E z_1 ... z_i z_1 ... z_j is a product of moments.
    """
    degree, mean, c = 6, 0.5, _interpolate()
    sequence, moment, n = chebyshev(_erf, degree, LOW, HIGH), _second(mean, CENTRE), np.arange(degree + 1)
    m, b = (mean - CENTRE) / SCALE, moment / SCALE**2
    moments = b ** np.minimum.outer(n, n) * m ** np.abs(np.subtract.outer(n, n))
    powers = [np.pad(chebyshev_series.cheb2poly(row[: k + 1]), (0, degree - k)) for k, row in enumerate(np.eye(7))]
    least = float(sum(abs(c[k]) * math.sqrt(powers[k] @ moments @ powers[k]) for k in n) ** 2)
    estimator = PolynomialSequenceEstimator.for_sequence(sequence, moment, mean)
    exact = estimator.exact_second_moment(moment, mean)
    return second_moment(Partial(_estimate, estimator, mean), least * (1 + 1e-6), exact=exact, kurtosis=50.0, **options)


# ---------------------------------------------------------------------------------------------------------------------
# Losses with finitely many derivatives (section 4.2)
#
# Theorem (E39): let Q_n converge to f on an interval around c, and let the estimator (Q'_N - Q'_(N-1)) / p_N have a
# finite second moment for independent copies X_j with E (X_j - c)^2 = s and Var X_j > 0. Then f is a power series about
# c at all points a of the interval with |a - c|^2 < s.
#
# Proof: let c = 0, m = E X, sigma^2 = s - m^2, and let d_i be the coefficients of Q_n - Q_(n-1). If m = 0, the products
# X_1 ... X_i are orthogonal, and E (Q'_n - Q'_(n-1))^2 = sum d_i^2 s^i =: V_n. By the inequality of Cauchy and Schwarz,
# sum |d_i| |a|^i <= sqrt(V_n) (1 - a^2/s)^(-1/2). The sum over n of sqrt(V_n) is at most the root of sum V_n / p_n, the
# second moment. So the double series of all d_i a^i converges absolutely, and its sum f(a) is a power series. If m !=
# 0, write X_j = m (1 + xi_j) and T_j = sum over i >= j of d_i m^i. The products of xi_j over sets S are orthogonal, and
# the coefficient of S is T_(max S). So V_n = T_0^2 + sum over j >= 1 of T_j^2 (s/m^2 - 1) (s/m^2)^(j-1). As d_i m^i =
# T_i - T_(i+1), the sum of |d_i| |a|^i is at most a constant times sqrt(V_n) if a^2 < s, as before.
#
# The theorem does not concern other estimators, such as functions of means of copies.

DELTA, DEGREE = 0.5, 6
VALUES, LABEL = np.array([0.1, 1.1]), 0.2  # of <w, Psi~>, equally likely
RESIDUALS = VALUES - LABEL
RESIDUAL, RESIDUAL_MOMENT = float(RESIDUALS.mean()), float(np.mean(RESIDUALS**2))
SEMICIRCLE: Any = SemicircleAbsolute(1.0)


def huber_slope(a: np.ndarray) -> np.ndarray:
    """Derivative of Huber's loss."""
    return np.clip(a, -DELTA, DELTA)


def _slope_of_polynomial(sequence: PolynomialSequence) -> float:
    return sequence.value(RESIDUAL)


def _slope_of_huber(sequence: PolynomialSequence) -> float:
    return float(huber_slope(np.array(RESIDUAL)))


@claim("length of the gradient, Huber loss, polynomials Q_0 ... Q_6", "A, section 4.2", _slope_of_polynomial,
       improved="within tolerance")  # fmt: skip
@claim("length of the gradient, Huber loss, polynomials, against l' itself", "", _slope_of_huber, control="biased")
@claim("length of the gradient, Huber loss, polynomials, one vector for all factors", "", _slope_of_polynomial, True,
       control="biased")  # fmt: skip
def _huber(form: str, options: Options, slope: Callable, shared: bool = False) -> Verification:
    """Enumerate N and the copies: the mean is Q_6(0.4) = 0.383, where l' = 0.4.

    With one vector for all factors it is the mean of Q_6 at a random residual.
    """
    sequence = chebyshev(huber_slope, DEGREE, -1.0, 1.0)
    length = SequenceLength.for_sequence(sequence, "regression", RESIDUAL_MOMENT, RESIDUAL)
    pmf = np.exp(length.series.law.log_table(DEGREE + 1))
    factors = np.array(list(itertools.product(VALUES, repeat=DEGREE)))
    if shared:
        factors = np.repeat(VALUES[:, None], DEGREE, axis=1)
    n, row = (part.ravel() for part in np.indices((DEGREE + 1, len(factors))))
    combine = jax.vmap(lambda values, n: length.combine(values, n, LABEL))
    values = run_compiled(combine, jnp.asarray(factors[row], jnp.float32), jnp.asarray(n, jnp.int32))
    support = list(zip(pmf[n] / len(factors), np.asarray(values), strict=True))
    return unbiased(None, slope(sequence), support=support)


@claim("length of the gradient, semicircle loss, queries from a polynomial tail", "A, section 4.2",
       improved="within tolerance")  # fmt: skip
def _lomax_queries(form: str, options: Options) -> Verification:
    """E N = zeta(2) - 1 for P(N >= n) = (1 + n)^-2."""
    length = GradientLength.for_loss(SEMICIRCLE, DiscreteLomax(3.0), 0.5)
    return unbiased(None, float(special.zeta(2.0)) - 1, support=[(1.0, length.series.law.mean())])


@claim("length of the gradient, semicircle loss, polynomial tail", "A, section 4.2", DiscreteLomax(3.0),
       improved="within tolerance")  # fmt: skip
@claim("length of the gradient, semicircle loss, weights of another exponent", "", DiscreteLomax(2.5), control="biased")
def _semicircle(form: str, options: Options, weights: DiscreteLomax) -> Verification:
    """Residuals 0.4 +- 0.5: the sum over N, drawn with the exponent 3, of the means given N is l'(0.4)."""
    length = GradientLength.for_loss(SEMICIRCLE, weights, RESIDUAL_MOMENT)
    size = len(length.series.coefficients)
    factors = jnp.full(size, RESIDUAL + LABEL, jnp.float32)
    values = run_compiled(jax.vmap(lambda n: length.combine(factors, n, LABEL)), jnp.arange(size, dtype=jnp.int32))
    pmf = np.exp(DiscreteLomax(3.0).log_table(size))
    support = [*zip(pmf, np.asarray(values), strict=True), (1 - pmf.sum(), 0.0)]
    return unbiased(None, semicircle_slope(RESIDUAL), support=support)


@claim("least second moment of the series, Huber loss, growth from degree 15 to 25", "A, section 4.2", note=39,
       improved="respected")  # fmt: skip
def _growth(form: str, options: Options) -> Verification:
    """A factor of at least 16,000, for the best distribution of N, E X = 0, E X^2 = 1/2: 16,000 / factor is below 1.

    The loss has kinks of its second derivative at 1/2. The theorem above concerns the series of section 3.2 only.
    """
    moments = [chebyshev(huber_slope, degree, -1.0, 1.0).magnitudes(0.5, 0.0).sum() ** 2 for degree in (15, 25)]
    return bound(1.6e4 * float(moments[0] / moments[1]), 1.0)


@claim("least second moment of the series, semicircle loss, E X^2 = 1/2", "A, section 4.2", note=39,
       improved="within tolerance")  # fmt: skip
def _limit(form: str, options: Options) -> Verification:
    """The square of the sum of |gamma_n| (E X^2)^(n/2), which is finite as l' is a power series for |a| < 1."""
    a, k = math.sqrt(0.5), np.arange(200)
    gammas = 4 / math.pi * np.abs(special.binom(0.5, k)) / (2 * k + 1)  # of a^(2 k + 1), in absolute value
    least = GradientLength.for_loss(SEMICIRCLE, minimum_variance, 0.5, max_copies=120).second_moment(0.5)
    return unbiased(None, float(gammas @ a ** (2 * k + 1)) ** 2, support=[(1.0, least)], detect=1e-5)
