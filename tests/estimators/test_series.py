"""Series estimators: exact moments by enumeration and closed forms, Monte Carlo with mutants, bad input."""

import functools
import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special
from tiers import some

from jaxonline.estimators.counts import FiniteDistribution, Geometric, cost_aware, minimum_variance
from jaxonline.estimators.series import (
    SeriesEstimator,
    exact_mean,
    exact_second_moment,
    exact_variance,
    expected_queries,
    lemma1_bound,
    truncation_bias,
    variance_table,
)
from jaxonline.losses import Exponential, Logistic, SmoothedAbsolute, SmoothedHinge, Squared
from jaxonline.parameters.struct import replace

pytestmark = pytest.mark.fast_compile

LOSSES = [Squared(), Exponential(), SmoothedAbsolute(1.0), SmoothedHinge(1.0), Logistic()]
X_VALUES, X_PROBS = np.array([-0.5, 1.0, 2.0]), np.array([0.3, 0.5, 0.2])
GEOMETRIC = Geometric(2.0)
MEAN, MOMENT = float(X_PROBS @ X_VALUES), float(X_PROBS @ X_VALUES**2)


def draw_x(key):
    """One copy of X, by inversion of the key's own bits."""
    uniform = jax.random.key_data(key)[0].astype(float) * 2.0**-32
    return jnp.asarray(X_VALUES)[jnp.sum(uniform > jnp.asarray(np.cumsum(X_PROBS)[:2]))]


def about(centre):
    return MOMENT - 2 * centre * MEAN + centre**2


estimates_from = jax.jit(jax.vmap(SeriesEstimator.estimate_from, in_axes=(None, 0, 0)))


def enumerate_moments(estimator):
    """E theta and E theta^2 over all N up to the end of the table and all values of the copies, as one program."""
    k = len(estimator.coefficients)
    copies = [np.array(list(itertools.product(range(3), repeat=n)), int).reshape(3**n, n) for n in range(k)]
    chances = [float(estimator.law.pmf(n)) * np.prod(X_PROBS[rows], axis=1) for n, rows in enumerate(copies)]
    padded = np.concatenate([np.pad(X_VALUES[rows], ((0, 0), (0, k - n))) for n, rows in enumerate(copies)])
    n = np.repeat(np.arange(k), [len(rows) for rows in copies])
    thetas = np.asarray(estimates_from(estimator, jnp.asarray(padded), jnp.asarray(n)), float)
    first, second = (np.concatenate(chances) @ thetas**power for power in (1, 2))
    beyond, constant = float(estimator.law.tail(k)), float(estimator.constant)
    return first + beyond * constant, second + beyond * constant**2


@pytest.mark.parametrize("constant", [0.0, 0.8])
@pytest.mark.parametrize("centre", [0.0, 0.6])
@pytest.mark.parametrize("law", ["geometric", "uniform", "minimum variance", "cost-aware"])
def test_exact_moments_match_enumeration(law, centre, constant, x64):
    gammas = np.array([0.4, -1.2, 0.0, 0.7, -0.3])
    laws = {
        "geometric": Geometric(1.7),
        "uniform": FiniteDistribution(np.full(5, 0.2)),
        "minimum variance": minimum_variance(gammas, about(centre)),
        "cost-aware": cost_aware(gammas, about(centre)),
    }
    estimator = SeriesEstimator(gammas, laws[law], centre, constant)
    first, second = enumerate_moments(estimator)
    polynomial = np.polynomial.Polynomial(gammas)(MEAN - centre) + constant
    assert first == pytest.approx(polynomial, rel=1e-12)
    assert exact_mean(estimator, MEAN) == pytest.approx(polynomial, rel=1e-12)
    assert exact_second_moment(estimator, about(centre), MEAN) == pytest.approx(second, rel=1e-12)
    assert exact_variance(estimator, about(centre), MEAN) == pytest.approx(second - first**2, rel=1e-12)


@pytest.mark.parametrize("p", [1.1, 2.0, 4.0])
def test_lemma_1_matches_closed_forms(p):
    """sum p^n B^n / n!^2 is the Bessel function I_0(2 sqrt(p B)); the paper's bound is above, by Cauchy-Schwarz."""
    for moment in (0.3, 1.0, 2.5):
        estimator = SeriesEstimator.for_loss(Exponential(), Geometric(p), moment)
        exact = exact_second_moment(estimator, moment)
        assert exact == pytest.approx(p / (p - 1) * special.iv(0, 2 * np.sqrt(p * moment)), rel=1e-12)
        bound = lemma1_bound(Exponential(), p, moment)
        assert bound == pytest.approx(p / (p - 1) * np.exp(2 * np.sqrt(p * moment)), rel=1e-12)
        assert exact < bound
        assert expected_queries(estimator) == pytest.approx(1 / (p - 1))


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize("centre", [0.0, 0.4])
def test_the_mean_is_the_derivative_of_the_loss(loss, centre, x64):
    target = float(loss.derivative(MEAN))
    for law in (Geometric(1.5), minimum_variance, cost_aware):
        for outside in (False, True):
            estimator = SeriesEstimator.for_loss(loss, law, about(centre), centre=centre, constant_outside=outside)
            assert exact_mean(estimator, MEAN) == pytest.approx(target, rel=1e-13)
            assert truncation_bias(loss, estimator, MEAN) < 1e-17
    if not outside:
        assert exact_second_moment(estimator, about(centre)) <= lemma1_bound(loss, 1.5, about(centre), centre)


@jax.jit
@functools.partial(jax.vmap, in_axes=(None, 0))
def sample_n_and_theta(estimator, key):
    return estimator.law.sample(jax.random.split(key)[0]), estimator.estimate(key, draw_x)


@pytest.mark.parametrize("loss", LOSSES, ids=lambda loss: type(loss).__name__)
@pytest.mark.parametrize(
    "law", some([GEOMETRIC, minimum_variance, cost_aware], GEOMETRIC), ids=["geometric", "best", "cost"]
)
def test_monte_carlo_mean_is_right_and_mutants_are_rejected(loss, law, x64):
    """z-test with the exact variance at |z| > 5: false alarm 6e-7 a test; 50,000 draws see a bias of 0.027 sd. The
    mutants are the weight p^n for p^(n+1) (a factor 1/2 here), and the first used coefficient dropped."""
    estimator = SeriesEstimator.for_loss(loss, law, MOMENT, n_terms=80)
    size = 50_000
    alike = replace(estimator, radius=math.inf)  # only checks look at it, and it would be another program
    n, thetas = map(np.asarray, sample_n_and_theta(alike, jax.random.split(jax.random.key(7), size)))
    target, error = float(loss.derivative(MEAN)), np.sqrt(exact_variance(estimator, MOMENT, MEAN) / size)
    first = int(np.flatnonzero(estimator.coefficients)[0])
    mutants = {"p^n": thetas / 2, "dropped": np.where(n == first, 0.0, thetas)}
    assert abs(thetas.mean() - target) < 5 * error
    for name, mutant in mutants.items():
        assert abs(mutant.mean() - target) > 6 * error, name


@jax.jit
@functools.partial(jax.vmap, in_axes=(None, 0, None))
def given_noiseless(estimator, n, copy):
    return estimator.estimate_given(jax.random.key(0), n, lambda key: copy)


@pytest.mark.parametrize(("p", "centre"), [(1.5, 0.0), (3.0, 0.0), (1.5, 0.3), (2.0, -0.7)])
def test_strata_are_single_terms(p, centre, x64):
    """Given N = n the mean is gamma_n (m - c)^n / p_n: exact with noiseless copies, for every n."""
    loss, terms = SmoothedHinge(1.0), 72
    assert len(SeriesEstimator.for_loss(loss, Geometric(p), 1.0, centre=centre).coefficients) <= terms
    estimator = SeriesEstimator.for_loss(loss, Geometric(p), 1.0, centre=centre, n_terms=terms)
    n = np.arange(terms)
    copy = np.array([0.8, -0.2])  # a vector, entry by entry
    found = given_noiseless(estimator, jnp.append(n, terms + 3), jnp.asarray(copy))
    right = (loss.coefficients(terms, centre) * p ** (n + 1.0) / (p - 1))[:, None] * (copy - centre) ** n[:, None]
    np.testing.assert_allclose(found[:-1], right, rtol=1e-12)
    assert found[-1].tolist() == [0.0, 0.0]


def test_float32_estimates_neither_overflow_nor_underflow():
    """gamma_60 of e^-a is 1e-82 and 20^60 is 1e78: both are out of range in float32, and the term is 3e-4."""
    estimator = SeriesEstimator.for_loss(Exponential(), Geometric(1.1), 20.0**2)
    found = given_noiseless(estimator, jnp.array([60, 300, 10_000]), jnp.float32(20.0))
    right = -math.exp(60 * math.log(20) - math.lgamma(61) + 61 * math.log(1.1) - math.log(0.1))
    assert found.dtype == jnp.float32
    assert float(found[0]) == pytest.approx(right, rel=1e-4)
    assert found[1:].tolist() == [0.0, 0.0]


def test_centre_and_constant_outside_reduce_the_variance():
    """Minimum variance: (sum a_n)^2 - f^2, and without a_0 (sum over n >= 1)^2 - (f - gamma_0)^2."""
    loss, mean = Exponential(), 1.0
    variances = []
    for sd in (1e-1, 1e-2, 1e-3):
        found = []
        for outside in (False, True):
            estimator = SeriesEstimator.for_loss(loss, minimum_variance, sd**2, centre=mean, constant_outside=outside)
            found.append(exact_variance(estimator, sd**2, mean))
        scale = math.exp(-2 * mean)  # f^2 = gamma_0^2
        assert found[0] == pytest.approx(scale * math.expm1(2 * sd), rel=1e-9)
        assert found[1] == pytest.approx(scale * math.expm1(sd) ** 2, rel=1e-9)
        variances.append(found)
    assert np.all(np.diff(np.log10(variances), axis=0) < [-0.9, -1.9])
    # The right centre alone is not enough: with sd = 1 the variance stays.
    estimator = SeriesEstimator.for_loss(loss, minimum_variance, 1.0, centre=mean)
    assert exact_variance(estimator, 1.0, mean) == pytest.approx(math.exp(-2) * math.expm1(2), rel=1e-9)


def test_variance_table_rows():
    """p E X^2 = 6 is inside the disc of the logistic series (pi^2), 7 x 1.5 is outside."""
    rows = variance_table(LOSSES, mean=0.5, second_moment=1.5, ps=[1.1, 4.0])
    for loss in LOSSES:
        mine = {row.law: row for row in rows if row.loss == type(loss).__name__}
        best, aware = mine["minimum variance"], mine["cost-aware"]
        others = [row for row in rows if row.loss == best.loss and "outside" not in row.law]
        assert best.variance <= min(row.variance for row in others) * (1 + 1e-12)
        price = aware.second_moment * (1 + aware.expected_queries)
        assert price <= min(row.second_moment * (1 + row.expected_queries) for row in others) * (1 + 1e-12)
        assert mine["minimum variance, constant outside"].variance <= best.variance * (1 + 1e-12)
        slope = float(loss.derivative(0.5))
        assert best.second_moment - best.variance == pytest.approx(slope**2, rel=1e-3)
    row, *_ = variance_table([Logistic()], mean=0.5, second_moment=1.5, ps=[7.0])
    assert (row.variance, row.expected_queries) == (math.inf, pytest.approx(1 / 6))


LONG_SERIES = {
    "exponential": (Exponential(), lambda a: -math.exp(-a)),
    "absolute": (SmoothedAbsolute(1.0), math.erf),
    "hinge": (SmoothedHinge(0.5), lambda a: (math.erf(0.5 * (a - 1)) - 1) / 2),
    "logistic": (Logistic(), lambda a: -1 / (1 + math.exp(a))),
}


@pytest.mark.parametrize("law", [Geometric(2.0), minimum_variance], ids=["geometric", "minimum variance"])
@pytest.mark.parametrize("name", LONG_SERIES)
def test_too_small_a_guess_causes_a_bias_only_beyond_reach(name, law):
    """A second moment of 0.01 where E X is 1.8: a table for 0.1 is off by more than 1e-8, as its `reach` says; one that
    is told to go as far as 1.8 is right to rounding."""
    loss, derivative = LONG_SERIES[name]
    short = SeriesEstimator.for_loss(loss, law, 0.01)
    for mean in (short.reach, -short.reach):
        assert abs(exact_mean(short, mean) - derivative(mean)) <= 1.01e-9 * loss.majorant(short.reach)
    assert 0.1 < short.reach < 1.8
    off = abs(exact_mean(short, -1.8) - derivative(-1.8))
    assert 1e-8 < off <= truncation_bias(loss, short, -1.8) * (1 + 1e-6)
    long = SeriesEstimator.for_loss(loss, law, 0.01, reach=1.8)
    assert long.reach >= 1.8
    for mean in (1.8, -1.8, 0.3):
        assert exact_mean(long, mean) == pytest.approx(derivative(mean), abs=1e-13 * loss.majorant(1.8))


def test_reach_of_a_table():
    """It exceeds the root of the second moment, is inf for a polynomial, and is close to the exact value."""
    assert SeriesEstimator.for_loss(Squared(), minimum_variance, 1.0).reach == math.inf
    assert SeriesEstimator([1.0, 2.0], Geometric(2.0)).reach == math.inf
    exponential = SeriesEstimator.for_loss(Exponential(), Geometric(2.0), 1.0)
    rest = [math.fsum(a**n / math.factorial(n) for n in range(24, 150)) for a in (5.0, 5.1)]
    assert len(exponential.coefficients) == 24
    assert rest[0] < 1e-9 * math.exp(5.0)
    assert rest[1] > 1e-9 * math.exp(5.1)
    assert 5.0 < exponential.reach < 5.1
