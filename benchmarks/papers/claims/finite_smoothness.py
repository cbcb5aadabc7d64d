"""Claims on losses with finitely many derivatives (paper A, section 4.2).

Theorem (erratum E39): let Q_n converge to f on an interval around c, and let the estimator (Q'_N - Q'_(N-1)) / p_N have
a finite second moment for independent copies X_j with E (X_j - c)^2 = s and Var X_j > 0. Then f is a power series about
c at all points a of the interval with |a - c|^2 < s.

Proof: let c = 0, m = E X, sigma^2 = s - m^2, and let d_i be the coefficients of Q_n - Q_(n-1). If m = 0, the products
X_1 ... X_i are orthogonal, and E (Q'_n - Q'_(n-1))^2 = sum d_i^2 s^i =: V_n. By the inequality of Cauchy and Schwarz,
sum |d_i| |a|^i <= sqrt(V_n) (1 - a^2/s)^(-1/2). The sum over n of sqrt(V_n) is at most the root of sum V_n / p_n, the
second moment. So the double series of all d_i a^i converges absolutely, and f(a), which is its sum, is a power series.
If m != 0, write X_j = m (1 + xi_j) and T_j = sum over i >= j of d_i m^i. The products of xi_j over sets S are
orthogonal, and the coefficient of S is T_(max S). So V_n = T_0^2 + sum over j >= 1 of T_j^2 (s/m^2 - 1) (s/m^2)^(j-1).
As d_i m^i = T_i - T_(i+1), the sum of |d_i| |a|^i is at most a constant times sqrt(V_n) if a^2 < s, as before.

The theorem does not concern other estimators, such as functions of means of copies.
"""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
from scipy import special

from benchmarks.papers.claims.registry import SamplingOptions, claim, control
from benchmarks.papers.estimators.series import (
    DiscreteLomax,
    PolynomialSequence,
    SemicircleAbsolute,
    SequenceLength,
    chebyshev,
)
from jaxonline.estimators.count_distributions import minimum_variance
from jaxonline.estimators.gradient_length import GradientLength
from jaxonline.linalg.programs import run_compiled
from jaxonline.verify.bias import unbiased
from jaxonline.verify.moments import bound
from jaxonline.verify.result import Verification

DELTA, DEGREE = 0.5, 6
VALUES, LABEL = np.array([0.1, 1.1]), 0.2  # of <w, Psi~>, equally likely


def huber_slope(a: np.ndarray) -> np.ndarray:
    """Derivative of Huber's loss."""
    return np.clip(a, -DELTA, DELTA)


def huber_length() -> tuple[PolynomialSequence, GradientLength]:
    """Return the polynomials for Huber's loss, and the estimator of the length of the gradient."""
    sequence, residuals = chebyshev(huber_slope, DEGREE, -1.0, 1.0), VALUES - LABEL
    moment, mean = float(np.mean(residuals**2)), float(np.mean(residuals))
    return sequence, SequenceLength.for_sequence(sequence, "regression", moment, mean)


@claim(
    "length of the gradient, Huber loss, polynomials Q_0 ... Q_6",
    "A, section 4.2",
    cost="exact",
    improved="within tolerance",
)
def _huber(form: str, options: SamplingOptions) -> Verification:
    """Enumerate N and the copies: the mean is Q_6(0.4) = 0.383, where l' = 0.4."""
    sequence, length = huber_length()
    return _enumerate(length, sequence.value(float(VALUES.mean()) - LABEL), shared=False)


@control("length of the gradient, Huber loss, polynomials, against l' itself", "biased", cost="exact")
def _huber_without_bias(form: str, options: SamplingOptions) -> Verification:
    return _enumerate(huber_length()[1], float(huber_slope(VALUES.mean() - LABEL)), shared=False)


@control("length of the gradient, Huber loss, polynomials, one vector for all factors", "biased", cost="exact")
def _huber_shared(form: str, options: SamplingOptions) -> Verification:
    """The mean is that of Q_6 at a random residual."""
    sequence, length = huber_length()
    return _enumerate(length, sequence.value(float(VALUES.mean()) - LABEL), shared=True)


def _enumerate(length: GradientLength, target: float, shared: bool) -> Verification:
    """Compare the mean of g~ over N and all values of its factors with a target."""
    pmf = np.exp(length.series.law.log_table(DEGREE + 1))
    factors = np.array(list(itertools.product(VALUES, repeat=DEGREE)))
    if shared:
        factors = np.repeat(VALUES[:, None], DEGREE, axis=1)
    n, row = (part.ravel() for part in np.indices((DEGREE + 1, len(factors))))
    combine = jax.vmap(lambda values, n: length.combine(values, n, LABEL))
    values = run_compiled(combine, jnp.asarray(factors[row], jnp.float32), jnp.asarray(n, jnp.int32))
    return unbiased(None, target, support=list(zip(pmf[n] / len(factors), np.asarray(values), strict=True)))


@claim("length of the gradient, semicircle loss, queries from a polynomial tail", "A, section 4.2", cost="exact",
       improved="within tolerance")  # fmt: skip
def _lomax_queries(form: str, options: SamplingOptions) -> Verification:
    """E N = zeta(2) - 1 for P(N >= n) = (1 + n)^-2."""
    length = GradientLength.for_loss(SemicircleAbsolute(1.0), DiscreteLomax(3.0), 0.5)  # type: ignore[arg-type]
    return unbiased(None, float(special.zeta(2.0)) - 1, support=[(1.0, length.series.law.mean())])


@claim(
    "length of the gradient, semicircle loss, polynomial tail",
    "A, section 4.2",
    cost="exact",
    improved="within tolerance",
)
def _semicircle(form: str, options: SamplingOptions) -> Verification:
    """Residuals 0.4 +- 0.5: the sum over N of the means given N is l'(0.4)."""
    return _semicircle_mean(DiscreteLomax(3.0), DiscreteLomax(3.0))


@control("length of the gradient, semicircle loss, weights of another exponent", "biased", cost="exact")
def _semicircle_wrong_weights(form: str, options: SamplingOptions) -> Verification:
    """Draw N with the exponent 3 and weigh it with 2.5."""
    return _semicircle_mean(DiscreteLomax(3.0), DiscreteLomax(2.5))


def _semicircle_mean(drawn: DiscreteLomax, weighed: DiscreteLomax) -> Verification:
    """Compare the mean over N, with the mean of every factor, with the derivative of the loss."""
    loss, mean = SemicircleAbsolute(1.0), float(VALUES.mean()) - LABEL
    moment = float(np.mean((VALUES - LABEL) ** 2))
    length = GradientLength.for_loss(loss, weighed, moment)  # type: ignore[arg-type]
    size = len(length.series.coefficients)
    factors = jnp.full(size, mean + LABEL, jnp.float32)
    combine = jax.vmap(lambda n: length.combine(factors, n, LABEL))
    values = np.asarray(run_compiled(combine, jnp.arange(size, dtype=jnp.int32)))
    pmf = np.exp(drawn.log_table(size))
    target = 2 / math.pi * (mean * math.sqrt(1 - mean**2) + math.asin(mean))
    return unbiased(None, target, support=[*zip(pmf, values, strict=True), (1 - pmf.sum(), 0.0)])


@claim("least second moment of the series, Huber loss, growth from degree 15 to 25", "A, section 4.2", erratum=39,
       cost="exact", improved="respected")  # fmt: skip
def _growth(form: str, options: SamplingOptions) -> Verification:
    """A factor of at least 16,000, for the best distribution of N, E X = 0, E X^2 = 1/2: 16,000 / factor is below 1.

    The loss has kinks of its second derivative at 1/2. The theorem above concerns the series of section 3.2 only.
    """
    moments = [chebyshev(huber_slope, degree, -1.0, 1.0).magnitudes(0.5, 0.0).sum() ** 2 for degree in (15, 25)]
    return bound(1.6e4 * float(moments[0] / moments[1]), 1.0)


@claim("least second moment of the series, semicircle loss, E X^2 = 1/2", "A, section 4.2", erratum=39, cost="exact",
       improved="within tolerance")  # fmt: skip
def _limit(form: str, options: SamplingOptions) -> Verification:
    """The square of the sum of |gamma_n| (E X^2)^(n/2), which is finite as l' is a power series for |a| < 1."""
    loss, a, k = SemicircleAbsolute(1.0), math.sqrt(0.5), np.arange(200)
    gammas = 4 / math.pi * np.abs(special.binom(0.5, k)) / (2 * k + 1)  # of a^(2 k + 1), in absolute value
    length = GradientLength.for_loss(loss, minimum_variance, 0.5, max_copies=120)
    return unbiased(
        None, float(gammas @ a ** (2 * k + 1)) ** 2, support=[(1.0, length.second_moment(0.5))], detect=1e-5
    )
