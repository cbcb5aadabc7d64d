"""Bounds with high probability: by hand, by brute force, and against the runs of games."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pytest
from scipy import stats

import jaxonline as jo
from jaxonline import bounds
from jaxonline.bounds import largest_copies, largest_estimate, with_high_probability
from jaxonline.parameters.errors import ArgumentError

RUNS, T = 2000, 400


def test_constants_match_hand_calculations():
    """R = 2, G = 9, b = 5, delta = e^-2, T = 100: eta = 1/15, D = 4, c = 40, V = (4 + 1/6)^2 9."""
    expected = bounds.gradient_descent(2.0, 9.0, 100)
    bound = with_high_probability(expected, 5.0, 100, float(np.exp(-2)))
    azuma, bernstein = 40 * np.sqrt(100), (4 + 1 / 6) * np.sqrt(2 * 9 * 100 * 2) + 40 * 2 / 3
    np.testing.assert_allclose(bound.value, 60 + min(azuma, bernstein), rtol=1e-12)
    assert bernstein < azuma
    ball = with_high_probability(expected.replace(G=25.0), 5.0, 100, float(np.exp(-2)))  # b^2 = G: Azuma is smaller
    np.testing.assert_allclose(ball.value - expected.replace(G=25.0).at_rounds(100, step_size=1 / 15), 400, rtol=1e-12)
    np.testing.assert_allclose(2 * 5 * np.sqrt(8 * 100 * 2), 400, rtol=1e-12)  # radius b sqrt(8 T ln(1/delta))
    any_game, delta = bound.in_any_environment(), float(np.exp(-2))
    log = np.log(2 / delta)
    first = min(20 * np.sqrt(50 * log), (2 + 1 / 6) * np.sqrt(1800 * log) + 20 * log / 3)
    second = 2 * 2 * 5 * np.sqrt(200 * np.log(4 / delta))
    np.testing.assert_allclose(any_game.value, 60 + first + second, rtol=1e-12)
    assert (bound.assumptions.environment, any_game.assumptions.environment) == ("oblivious", "any")
    assert bound.assumptions.quantity == any_game.assumptions.quantity == "regret with high probability"


@pytest.mark.parametrize("step", [0.01, 0.3, 1.0, 4.0])
def test_the_length_of_azumas_interval_is_the_largest_by_brute_force(step):
    """All g~ = (s, 0) with |s| <= b and all v = (+-D, 0): by convexity the extremes of h are at parallel vectors."""
    b, radius, t, delta = 1.5, 1.0, 9.0, 0.3
    s = np.linspace(-b, b, 200_001)
    h = step * s**2 / 2 - 2 * radius * s
    azuma = np.ptp(h) * np.sqrt(t * np.log(1 / delta) / 2)
    expected = bounds.gradient_descent(radius, b**2, 9)
    bound = with_high_probability(expected, b, 9, delta)
    bernstein = np.sqrt(2 * (2 * radius + step * b / 2) ** 2 * b**2 * t * np.log(1 / delta))
    deviation = bound.at_rounds(t, step_size=step) - expected.at_rounds(t, step_size=step)
    np.testing.assert_allclose(deviation, min(azuma, bernstein + np.ptp(h) * np.log(1 / delta) / 3), rtol=1e-6)


def test_the_inequalities_hold_for_sums_and_smaller_constants_do_not():
    """Exact tails of binomial sums: both inequalities hold for all tested cases; 0.7 times Azuma's constant fails."""
    n, fails = 400, 0
    for p in (0.5, 0.1, 0.02):
        for delta in (0.1, 0.01, 1e-6):
            log, k = np.log(1 / delta), np.arange(n + 1)
            tails, sums = stats.binom.sf(k - 1, n, p), k - n * p  # of steps in an interval of length 1
            for limit in (np.sqrt(n * log / 2), np.sqrt(2 * p * (1 - p) * n * log) + (1 - p) * log / 3):
                assert tails[sums >= limit].max(initial=0.0) <= delta
            fails += tails[sums >= 0.7 * np.sqrt(n * log / 2)].max(initial=0.0) > delta
    assert fails >= 2


def test_largest_copies_are_the_largest_that_occur():
    """Corners of the cube for uniform noise with a full factor matrix; the quantile of Gaussian coordinates."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(5, 2)), rng.normal(size=5)
    corners = np.sqrt(3) * np.array([[i, j] for i in (-1, 1) for j in (-1, 1)])
    covariance = np.array([[0.5, 0.2], [0.2, 0.4]])
    for law, tight in ((jo.noise.uniform([0.5, 0.2]), True), (jo.noise.uniform(covariance), False)):
        copies = X[:, None] + corners @ law.factor_matrix(2).T
        largest = np.linalg.norm(copies, axis=2).max()
        bound = largest_copies(X, y, law, jo.noise.uniform(0.1))
        assert bound.x_bound == pytest.approx(largest) if tight else bound.x_bound >= largest
        assert bound.y_bound == pytest.approx(np.abs(y).max() + np.sqrt(0.3))
    zero = np.zeros((1, 1))
    for law, tail in (
        (jo.noise.gaussian(1.0), 2 * stats.norm.sf(3.0)), (jo.noise.laplace(1.0), 2 * stats.laplace.sf(3 * np.sqrt(2))),
        (jo.noise.student_t(1.0, 6.0), 2 * stats.t.sf(3 * np.sqrt(1.5), 6)),
    ):  # fmt: skip
        assert largest_copies(zero, [0.0], law, missed=7 * tail, draws=7).x_bound == pytest.approx(3.0)
    assert largest_copies(zero, [0.0]) == (0.0, 0.0)


def test_largest_estimates_bound_the_estimates():
    """Estimates at w = (R, 0) from extreme copies and labels reach b; the covariance adds at most 2 R |Sigma|."""
    copy, y, w = np.array([1.5, 0.0]), -0.7, np.array([2.0, 0.0])
    g = 2 * (w @ copy - y) * copy
    assert largest_estimate(2.0, 1.5, 0.7) == pytest.approx(np.linalg.norm(g))
    sigma = np.diag([-0.3, 0.1])  # the sign of 2 Sigma w is chosen to make the sum large
    assert largest_estimate(2.0, 1.5, 0.7, 0.3) == pytest.approx(np.linalg.norm(g - 2 * sigma @ w))


def test_unbounded_noise_and_exact_gradients_are_errors():
    X, y, law, exact = np.eye(2), [0.0, 1.0], jo.noise.gaussian(0.1), bounds.full_information(1.0, 1.0, 1.0, 9)
    reacting, delayed = bounds.two_copies(1, 1, 1, 9).in_any_environment(), bounds.delayed_gradient_descent(1, 4, 3, 9)
    for message, call in (
        ("noise: must be bounded", lambda: largest_copies(X, y, law)),
        ("label_noise: must be bounded", lambda: largest_copies(X, y, None, law)),
        ("draws: must be the number of drawn", lambda: largest_copies(X, y, law, missed=0.01)),
        ("bound: must be for noisy estimates", lambda: with_high_probability(exact, 4.0, 9, 0.1)),
        ("bound: must be for noisy estimates", lambda: with_high_probability(reacting, 4.0, 9, 0.1)),
        ("bound: must have a finite diameter", lambda: with_high_probability(delayed, 4.0, 9, 0.1)),
    ):
        with pytest.raises(ArgumentError, match=f"^{message}"):
            call()


class Rival(NamedTuple):
    """A learner with its feedback, the bound on its expected regret, and its bound with probability 1 - delta."""

    entrant: jo.WithFeedback
    expected: bounds.Bound
    likely: Callable[[float], bounds.Bound]


X, LABEL, UNIFORM, GAUSSIAN = np.ones((1, 1)), np.array([10.0]), jo.noise.uniform(1 / 3), jo.noise.gaussian(1 / 3)


def rivals():
    """Learners on the instance 1 with the label 10; one rare label of a run on average is wrong by 400 or -400."""
    moments = bounds.moment_bounds(X, LABEL, UNIFORM)
    two = bounds.two_copies(1.0, moments.x_second, moments.y_second, T)
    known = bounds.known_covariance(1.0, moments.x_fourth, moments.y_second, T)
    rare = bounds.two_copies(1.0, 1.0, float(np.hypot(10.0, np.sqrt(1 / T) * 400.0)), T)

    def uniform(expected, covariance_norm=0.0):
        b = largest_estimate(1.0, *largest_copies(X, LABEL, UNIFORM), covariance_norm)
        return lambda delta: with_high_probability(expected, b, T, delta)

    def gaussian(delta):
        copies = largest_copies(X, LABEL, GAUSSIAN, missed=delta / 2, draws=2 * T)
        return with_high_probability(two, largest_estimate(1.0, *copies), T, delta / 2)

    def wrong_labels(delta):
        return with_high_probability(rare, largest_estimate(1.0, 1.0, 410.0), T, delta)

    def entrant(estimator, bound, *noises):
        feedback = jo.NoisyCopies(*noises, reveal_covariance=isinstance(estimator, jo.estimators.KnownCovariance))
        return jo.WithFeedback(jo.GradientLearner(estimator, bound.step_size, radius=1.0), feedback)

    copies, one_copy = jo.estimators.TwoCopies(), jo.estimators.KnownCovariance()
    errors = jo.noise.RareErrors(400.0, 1 / T)
    return {
        "uniform noise": Rival(entrant(copies, two, UNIFORM), two, uniform(two)),
        "Gaussian noise": Rival(entrant(copies, two, GAUSSIAN), two, gaussian),
        "known covariance": Rival(entrant(one_copy, known, UNIFORM), known, uniform(known, moments.covariance_norm)),
        "rare wrong labels": Rival(entrant(copies, rare, jo.noise.gaussian(0.0), errors), rare, wrong_labels),
    }


@pytest.fixture(scope="module")
def regrets():
    """The regret of each run at the horizon, by learner."""
    game = jo.Game(jo.environments.DataStream(X, LABEL, order="iid"), jo.FullInformation())
    entrants = {name: rival.entrant for name, rival in rivals().items()}
    result = jo.simulate(game, entrants, n_runs=RUNS, n_rounds=T, key=5, comparator=jo.L2Ball(1.0), record_at=1)
    return dict(zip(result.learners, result.regret[:, :, -1], strict=True))


@pytest.mark.long
@pytest.mark.parametrize("name", ["uniform noise", "Gaussian noise", "known covariance", "rare wrong labels"])
def test_bounds_hold_in_runs(regrets, name):
    """Quantiles 0.5 to 0.99 of 2,000 runs are below the bound (99.99 % intervals)."""
    for probability in (0.5, 0.9, 0.99):
        bound = rivals()[name].likely(1 - probability).value
        assert interval(regrets[name], probability, 0.9999)[1] < bound


def interval(values, probability, level):
    """The distribution-free interval of a quantile, from the binomial quantiles of scipy.stats."""
    low, high = stats.binom.ppf([(1 - level) / 2, (1 + level) / 2], len(values), probability).astype(int)
    ordered = np.sort(values)
    return (ordered[low - 1] if low > 0 else -np.inf), (ordered[high] if high < len(values) else np.inf)


@pytest.mark.long
def test_wrong_bounds_are_caught_by_rare_wrong_labels(regrets):
    """11 % of the runs exceed the bound on the expected regret. As a bound with probability 0.95 it is wrong, as is one
    with a twentieth of the deviation at 0.99 (2,000 runs show this by chance with probability below 1e-6)."""
    values, rival = regrets["rare wrong labels"], rivals()["rare wrong labels"]
    assert values.mean() + 1.96 * values.std() / np.sqrt(RUNS) < rival.expected.value
    assert 0.08 < np.mean(values > rival.expected.value) < 0.15
    assert interval(values, 0.95, 1 - 2e-6)[0] > rival.expected.value
    correct = rival.likely(0.01).value
    assert interval(values, 0.99, 1 - 2e-6)[0] > rival.expected.value + (correct - rival.expected.value) / 20
    assert interval(values, 0.99, 1 - 2e-6)[1] < correct
