"""Estimators from polynomial sequences: Bernstein and Chebyshev against SciPy and NumPy, moments by enumeration."""

import functools
import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import interpolate, special

from benchmarks.papers.estimators.series import PolynomialSequence, PolynomialSequenceEstimator, bernstein, chebyshev
from jaxonline.estimators.counts import FiniteDistribution, Geometric

pytestmark = pytest.mark.fast_compile


def clip(x):
    """The derivative of a Huber loss: continuous, without a power series."""
    return np.clip(x, -0.3, 0.3)


def partial_polynomial(sequence, n, x):
    z = (np.asarray(x) - sequence.centre) / sequence.scale
    return np.polynomial.Polynomial(sequence.differences[: n + 1].sum(axis=0))(z)


def test_bernstein_agrees_with_scipy():
    lower, upper = -1.0, 2.0
    x = np.linspace(lower, upper, 7)
    sequence = bernstein(clip, 20, lower, upper)
    for n in (1, 5, 20):
        values = clip(np.linspace(lower, upper, n + 1))
        right = interpolate.BPoly(values[:, None], [lower, upper])(x)
        np.testing.assert_allclose(partial_polynomial(sequence, n, x), right, atol=1e-12)
    np.testing.assert_allclose(partial_polynomial(sequence, 0, x), clip(0.5))


def test_bernstein_error_for_the_absolute_value():
    """At 0 the Bernstein polynomial of |x| on [-1, 1] is E|2 S/K - 1|, S binomial: C(K, K/2)/2^K for even K."""
    for k in (2, 10, 30):
        assert bernstein(np.abs, k, -1.0, 1.0).bias(np.abs, 0.0) == pytest.approx(special.comb(k, k // 2) / 2**k)


def test_chebyshev_series_in_closed_form():
    """e^x = I_0(1) + 2 sum I_n(1) T_n(x); the error is about its first omitted coefficient."""
    sequence = chebyshev(np.exp, 12, -1.0, 1.0)
    for n in range(13):
        top = special.iv(n, 1.0) * (2.0 if n else 1.0)
        right = top * np.polynomial.chebyshev.cheb2poly(np.eye(13)[n][: n + 1])
        np.testing.assert_allclose(sequence.differences[n, : n + 1], right, atol=1e-13)
    short = chebyshev(np.exp, 5, -1.0, 1.0)
    assert short.largest_bias(np.exp) == pytest.approx(2 * special.iv(6, 1.0), rel=0.15)
    shifted = chebyshev(np.exp, 15, 1.0, 3.0)
    assert shifted.largest_bias(np.exp) < 1e-12
    assert not chebyshev(np.exp, 30, -1.0, 1.0).differences[25:].any()  # nothing but rounding there


@pytest.mark.parametrize("make", [bernstein, chebyshev])
def test_exact_moments_match_enumeration(make, x64):
    values, probabilities = np.array([-0.4, 0.9, 1.6]), np.array([0.3, 0.5, 0.2])
    sequence = make(clip, 5, -0.5, 1.5)
    mean, second = probabilities @ values, probabilities @ (values - sequence.centre) ** 2
    best = PolynomialSequenceEstimator.for_sequence(sequence, second, mean)
    for estimator in (best, PolynomialSequenceEstimator(sequence, Geometric(1.8))):
        first = square = 0.0
        for n in range(6):
            p = float(estimator.law.pmf(n))
            for copies in itertools.product(range(3), repeat=n):
                z = (values[list(copies)] - sequence.centre) / sequence.scale
                theta = sequence.differences[n, : n + 1] @ np.append(1.0, np.cumprod(z)) / p if p else 0.0
                weight = p * np.prod(probabilities[list(copies)])
                first, square = first + weight * theta, square + weight * theta**2
        assert first == pytest.approx(sequence.value(mean), rel=1e-12)
        assert estimator.exact_second_moment(second, mean) == pytest.approx(square, rel=1e-12)
    assert square >= sequence.magnitudes(second, mean).sum() ** 2 * (1 - 1e-12)
    assert best.exact_second_moment(second, mean) == pytest.approx(sequence.magnitudes(second, mean).sum() ** 2)


def test_strata_are_differences_of_polynomials(both_precisions):
    sequence = bernstein(clip, 8, -0.8, 1.4)
    estimator = PolynomialSequenceEstimator(sequence, Geometric(1.5))
    x = both_precisions(0.4)
    given = jax.jit(jax.vmap(lambda n: estimator.estimate_given(jax.random.key(0), n, lambda key: jnp.asarray(x))))
    found = given(jnp.arange(12))
    assert found.dtype == both_precisions
    partial = np.array([0.0] + [partial_polynomial(sequence, n, float(x)) for n in range(9)])
    right = np.diff(partial) * 1.5 ** np.arange(1.0, 10.0) / 0.5
    np.testing.assert_allclose(found[:9], right, rtol=0, atol=2000 * np.finfo(both_precisions).eps)
    assert not found[9:].any()


def test_bound_of_the_mean_has_all_terms_of_the_last_polynomial():
    """Q_2(x) = 1 - 2 z + 3 z^2 with z = (x - 1) / 2, at |z| = 1.5; the mean attains the bound at z = -1.5."""
    sequence = PolynomialSequence([[1.0, 0.0, 0.0], [0.5, -1.0, 0.0], [-0.5, -1.0, 3.0]], centre=1.0, scale=2.0)
    estimator = PolynomialSequenceEstimator(sequence, Geometric(1.5))
    assert estimator.mean_bound(3.0) == pytest.approx(1.0 + 3.0 + 6.75) == pytest.approx(sequence.value(-2.0))


@pytest.mark.long
def test_monte_carlo_mean_is_right_and_mutants_are_rejected(x64):
    """z-test with the exact variance at |z| > 5: false alarm 6e-7; 100,000 draws see a bias of 6/316 sd = 0.019 sd.

    The mutant uses one copy for all factors (a plain polynomial of one noisy copy).
    """
    sequence = bernstein(clip, 6, -1.0, 1.0)
    mean, second, size = 0.3, 0.3**2 + 0.25, 100_000
    estimator = PolynomialSequenceEstimator.for_sequence(sequence, second, mean)

    def copy(key):
        return 0.8 - (jax.random.key_data(key)[0] % 2).astype(float)  # a sign by a bit of the key itself

    @jax.jit
    @functools.partial(jax.vmap)
    def sample(key):
        one = copy(jax.random.fold_in(key, 1))
        return estimator.estimate(key, copy), estimator.estimate(key, lambda _: one)

    thetas, mutants = map(np.asarray, sample(jax.random.split(jax.random.key(5), size)))
    target = sequence.value(mean)
    error = np.sqrt((estimator.exact_second_moment(second, mean) - target**2) / size)
    assert abs(thetas.mean() - target) < 5 * error
    assert abs(mutants.mean() - target) > 6 * error


def test_invalid_arguments_raise_errors():
    with pytest.raises(ValueError, match=r"\bdegree\b"):
        chebyshev(np.abs, 40, -1.0, 1.0)
    with pytest.raises(ValueError, match=r"\bupper\b"):
        bernstein(np.abs, 3, 1.0, 1.0)
    with pytest.raises(ValueError, match=r"^f\b"):
        bernstein(lambda x: np.where(x > 0, x, np.nan), 3, -1.0, 1.0)
    with pytest.raises(ValueError, match=r"\bdegree\b"):
        bernstein(np.abs, 0, -1.0, 1.0)
    with pytest.raises(ValueError, match=r"\bnodes\b"):
        chebyshev(np.abs, 10, -1.0, 1.0, nodes=10)
    with pytest.raises(ValueError, match=r"\bdifferences\b"):
        PolynomialSequence([[1.0, 1.0], [0.0, 1.0]])
    with pytest.raises(ValueError, match=r"\blaw\b.*n = 2"):
        PolynomialSequenceEstimator(bernstein(np.square, 2, -1.0, 1.0), FiniteDistribution([0.5, 0.5]))
