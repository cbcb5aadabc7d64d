"""The length of the gradient from polynomials, for losses without a series, alone and inside Algorithm 1."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import special

import jaxonline as jo
from benchmarks.papers.estimators.series import (
    DiscreteLomax,
    PolynomialSequence,
    PolynomialSequenceEstimator,
    SemicircleAbsolute,
    SequenceLength,
    chebyshev,
)
from jaxonline.estimators import FiniteDistribution, GradientLength
from jaxonline.estimators.series import expected_queries

LABELS = {"regression": -0.2, "classification": -1.0}
VALUES, PROBABILITIES = np.array([-0.4, 0.3, 0.9]), np.array([0.3, 0.5, 0.2])


def huber(a):
    return np.clip(a, -0.5, 0.5)


def factors_of(values, kind):
    return values - LABELS[kind] if kind == "regression" else LABELS[kind] * values


@pytest.mark.parametrize("kind", LABELS)
def test_mean_and_second_moment_match_enumeration(kind, x64):
    """Over N and all values of <w, Psi~>: the mean is that of Q_5 at the mean of a factor (times y for labels -1)."""
    sequence = chebyshev(huber, 5, -1.5, 1.5)
    factors = factors_of(VALUES, kind)
    mean, second = float(PROBABILITIES @ factors), float(PROBABILITIES @ factors**2)
    length = SequenceLength.for_sequence(sequence, kind, second, mean)
    index = np.array(list(itertools.product(range(3), repeat=5)))
    weights = np.prod(PROBABILITIES[index], axis=1)
    combine = jax.jit(jax.vmap(lambda values, n: length.combine(values, n, LABELS[kind]), (0, None)))
    first = square = 0.0
    for n, p in enumerate(np.exp(length.series.law.log_table(6))):
        g = np.asarray(combine(jnp.asarray(VALUES[index]), jnp.int32(n)))
        first, square = first + p * weights @ g, square + p * weights @ g**2
    sign = 1.0 if kind == "regression" else LABELS[kind]
    assert first == pytest.approx(sign * sequence.value(mean), rel=1e-12)
    assert square == pytest.approx(length.second_moment(second, mean), rel=1e-12)
    assert square <= length.second_moment(second) * (1 + 1e-12)
    assert abs(first - sign * huber(mean)) <= sequence.largest_bias(huber)
    assert abs(first - sign * huber(mean)) > 1e-3, "the bias of Q_5"


@pytest.mark.long
def test_estimate_from_equals_estimate_given(both_precisions):
    """Given copies instead of drawn ones, also when fewer or more copies are given than polynomials."""
    estimator = SequenceLength.for_sequence(chebyshev(huber, 4, -1.0, 2.0), "regression", 0.5).series
    copies = np.array([0.3, -0.2, 0.9, 1.4, 0.1, 0.6, 0.2], both_precisions)
    with jax.disable_jit():
        for n in range(7):
            draws = iter([0.0, *copies.tolist()])  # the first draw is for the dtype

            def draw(_, draws=draws):
                return jnp.asarray(next(draws), both_precisions)

            wanted = estimator.estimate_given(jax.random.key(0), n, draw)
            for k in (n, 7):
                got = estimator.estimate_from(jnp.asarray(copies[:k]), n)
                assert got.dtype == both_precisions
                np.testing.assert_allclose(got, wanted, rtol=50 * np.finfo(both_precisions).eps)
    assert float(estimator.estimate_from(jnp.asarray(copies[:2]), 3)) == 0.0


GAME = jo.Game(
    jo.environments.LinearModel(np.array([0.6, -0.3]), noise_std=0.1), jo.NoisyCopies(jo.noise.gaussian(0.05)),
    loss=jo.losses.Squared(),
)  # fmt: skip
LINEAR = jo.estimators.DotProductFeatureMap(jo.kernels.Linear(), FiniteDistribution([0.0, 1.0]))


def learner(length, n_rounds, eta=0.1):
    storage = jo.learners.Storage.for_horizon(LINEAR, length, dimension=2, n_rounds=n_rounds)
    return jo.learners.NoisyKernel(LINEAR, length, jo.InverseSqrt(eta), 1.0, storage)


@pytest.mark.long
def test_algorithm_1_with_polynomials_of_a_series_equals_algorithm_1_with_the_series():
    """2 a of the squared loss as Q_0 = 0, Q_1 = 2 a, with the same distribution of N: the same predictions."""
    law = FiniteDistribution([0.25, 0.75])
    series = GradientLength(jo.estimators.SeriesEstimator([0.0, 2.0], law), "regression")
    sequence = PolynomialSequenceEstimator(PolynomialSequence([[0.0, 0.0], [0.0, 2.0]]), law)
    played = [
        jo.play(GAME, learner(length, 40), jax.random.key(1), 40)[1]
        for length in (series, SequenceLength(sequence, "regression"))
    ]
    np.testing.assert_allclose(played[0].y_hat, played[1].y_hat, rtol=1e-5, atol=1e-6)
    np.testing.assert_array_equal(played[0].queries, played[1].queries)
    assert np.abs(played[0].y_hat).max() > 0.05


def test_bound_of_algorithm_1_uses_the_second_moment_of_the_polynomials():
    length = SequenceLength.for_sequence(chebyshev(huber, 3, -1.0, 1.0), "regression", 0.5)
    bound = jo.bounds.noisy_kernel(LINEAR, length, 1.0, 1.1, 100, y_bound=0.5)
    factors = (math.sqrt(1.1) + 0.5) ** 2
    table, p = np.abs(length.series.sequence.differences), np.exp(length.series.law.log_table(4))
    powers = math.sqrt(factors) ** np.arange(4)
    moment = sum((table[n] @ powers) ** 2 / p[n] for n in range(4) if table[n].any())
    np.testing.assert_allclose(bound.G, 1.1 * moment, rtol=1e-9)


@pytest.mark.long
def test_algorithm_1_learns_with_the_huber_loss():
    """Linear targets: in the last 500 of 1,000 rounds the squared loss is less than a third of that of the predictor 0
    (16 runs)."""
    rng = np.random.default_rng(0)
    X = rng.uniform(-0.7, 0.7, (1000, 2))
    y = X @ [0.8, -0.6]
    length = SequenceLength.for_sequence(chebyshev(huber, 3, -2.0, 2.0), "regression", 0.5)
    game = jo.Game(jo.environments.DataStream(X, y), jo.NoisyCopies(jo.noise.gaussian(0.05)))
    result = jo.simulate(game, learner(length, 1000, eta=0.5), n_runs=16, n_rounds=1000, record_at=[500, 1000])
    late = np.diff(result.cumulative_loss, axis=-1)[0, :, 0]
    assert late.mean() + 6 * late.std(ddof=1) / 4 < (y[500:] ** 2).sum() / 3


def test_semicircle_loss_with_a_polynomial_tail():
    """E g~^2 = sum gamma_n^2 s^n / P(N = n) and E N = zeta(2) - 1; infinite from s = width^2 on."""
    loss, law, s = SemicircleAbsolute(1.5), DiscreteLomax(3.0), 1.2
    length = GradientLength.for_loss(loss, law, s)
    k = np.arange(2000)
    gammas = 4 / np.pi * (-1.0) ** k * special.binom(0.5, k) / (2 * k + 1)
    n = 2.0 * k + 1
    p = (1 + n) ** -2 - (2 + n) ** -2
    assert length.second_moment(s) == pytest.approx(float(np.sum(gammas**2 * (s / 1.5**2) ** n / p)), rel=1e-9)
    assert expected_queries(length.series) == pytest.approx(math.pi**2 / 6 - 1)
    with pytest.raises(ValueError, match=r"^second_moment: must be below radius\^2 = 2.25 .*infinite"):
        GradientLength.for_loss(loss, law, 2.25)


def test_second_moments_of_chebyshev_sequences_grow_without_limit():
    """E39: with kinks at 1/2, E X = 0 and E X^2 = 1 the least second moment grows by more than 1,000 from degree 5 to
    15, and again from 15 to 25; for an entire function with the same values of its sequence it converges."""

    def least(f, degree):
        return chebyshev(f, degree, -1.0, 1.0).magnitudes(1.0, 0.0).sum() ** 2

    moments = [least(huber, degree) for degree in (5, 15, 25)]
    assert moments[1] > 1e3 * moments[0]
    assert moments[2] > 1e3 * moments[1]
    assert least(np.sin, 25) == pytest.approx(least(np.sin, 15), rel=1e-3)
