"""Bounds equal their formulas, written a second time, at arguments that no changed operator or constant leaves alone.

Arguments such as 1 or 2 hide errors: with x = 1 the terms x, x^2 and 1 / x are equal. So all arguments differ from 0, 1
and 2, and from each other. Both sides of every condition occur.
"""

import functools
import math
from math import e, log, pi, sqrt

import numpy as np
import pytest

import jaxonline as jo
from benchmarks.papers.estimators.attributes import AttributeSeriesGradient, attribute_series_regret
from benchmarks.papers.estimators.copies import known_joint_covariance
from jaxonline import bounds
from jaxonline.estimators import minimum_variance
from jaxonline.parameters.errors import ArgumentError

R, X, Y, D, G, T = 1.7, 0.6, 0.9, 3.3, 7.3, 411
HORIZONS, GAPS = np.array([300.0, 5000.0]), [0.3, 0.0, 0.15, 0.7]


def assert_equal(pairs):
    """Check pairs of a bound and its formula."""
    for i, (bound, formula) in enumerate(pairs):
        np.testing.assert_allclose(bound, formula, rtol=1e-9, err_msg=f"pair {i}")


def numbers(bound):
    """The value and the parameters of a bound."""
    return bound.value, *bound.parameters.values()


def descent(radius, G, T):
    """The value, the step size, the constant and the radius of gradient descent."""
    return radius * sqrt(G) * sqrt(T), radius / sqrt(G) / sqrt(T), G, radius


def test_bounds_of_gradient_descent():
    basic = bounds.gradient_descent(R, G, T)
    reacting, constant = basic.in_any_environment(), R * e ** (0.3 * 1.9)
    assert_equal([
        (numbers(basic)[:5], (*descent(R, G, T), 3.4)),
        (basic.at_rounds(HORIZONS, step_size=0.3), R**2 / 0.6 + 0.15 * G * HORIZONS),
        (basic.at_rounds(HORIZONS, eta=0.3), (3.4**2 / 0.6 + 0.3 * G) * np.sqrt(HORIZONS)),
        (reacting.value, 2 * basic.value),
        (reacting.at_rounds(T, step_size=0.3), R**2 / 0.6 + 0.15 * G * T + R * sqrt(G * T)),
        (reacting.at_rounds(T, eta=0.3), (3.4**2 / 0.6 + 0.3 * G) * sqrt(T) + R * sqrt(G * T)),
        (numbers(bounds.two_copies(R, X, Y, T))[:4], descent(R, (2 * X * (R * X + Y)) ** 2, T)),
        (numbers(bounds.full_information(R, X, Y, T)), numbers(bounds.two_copies(R, X, Y, T))),
        (numbers(bounds.known_covariance(R, X, Y, T))[:4], descent(R, (2 * X * (R * X + Y)) ** 2, T)),
        (numbers(known_joint_covariance(R, X, Y, T))[:4], descent(R, (2 * X * (R * X + sqrt(2) * Y)) ** 2, T)),
        (bounds.surrogate_radius(R, D, 0.7), R * D / sqrt(1 - math.cos(0.7))),
        (bounds.surrogate_kernel(R, D, Y, T).value, 2 * R * D * (R * D + Y) * sqrt(T)),
        (bounds.surrogate_radial_kernel(R, 0.3, 1.9, 7, Y, T).value, 2 * constant * (constant + Y) * sqrt(T)),
        (numbers(bounds.unbiased_steps(R, D, G, T))[:4], descent(R, D * G, T)),
        (bounds.factor_moment(R, D, Y, centre=-0.4), (R * sqrt(D) + Y + 0.4) ** 2),
        (numbers(bounds.delayed_gradient_descent(R, G, 3, T))[:4], descent(R, 7 * G, T)),
    ])  # fmt: skip
    assert reacting.in_any_environment() == reacting


def test_bounds_of_convex_optimisation():
    projected, mirror = bounds.projected_gradient(D, G, T), bounds.mirror_descent(D, G, T)
    exponentiated = numbers(bounds.exponentiated_gradient(7, G, T, R))
    newton = numbers(bounds.online_newton_step(0.5, G, D, 3, T))
    bandit, convex = bounds.gradient_bandit(R, G, X, 3, 10**6), bounds.strongly_convex(D, G, T)
    assert_equal([
        (numbers(projected)[:5], (*descent(D, G**2, T), D)),
        (projected.at_rounds(T, eta=0.3), (D**2 / 0.6 + 0.3 * G**2) * sqrt(T)),
        (numbers(mirror)[:2], (G * sqrt(2 * D * T), sqrt(2 * D / T) / G)),
        (mirror.at_rounds(HORIZONS, eta=0.3), [math.inf, math.inf]),
        (exponentiated[:2], (R * G * sqrt(2 * T * log(7)), sqrt(2 * log(7) / T) / (R * G))),
        (newton[:3], (5 * (1 / 0.5 + G * D) * 3 * log(T), 1 / (8 * G * D), (8 * G) ** 2)),
        (numbers(bounds.online_newton_step(0.01, 0.7, D, 3, T))[1:3], (0.005, 1 / (0.005 * D) ** 2)),
        (bandit.delta, sqrt(R * 3 * G / (3 * X)) / 10**1.5),
        (numbers(bandit)[::2], (2 * 10**4.5 * sqrt(3 * R * 3 * G * X), R * bandit.delta / (3 * G * 1000))),
        (numbers(convex)[:3], (G**2 / (2 * D) * (1 + log(T)), 1 / D, G**2 / (2 * D))),
        (convex.at_rounds(HORIZONS), G**2 / (2 * D) * (1 + np.log(HORIZONS))),
        (bounds.online_newton_step(0.5, G, D, 3, 4).value, 5 * (2 + G * D) * 3 * log(4)),
        (numbers(bounds.adagrad(R, [G, D, 0.0]))[:2], (2 * sqrt(2) * R * (G + D), sqrt(2) * R)),
    ])  # fmt: skip
    least = (3 * G / (3 * X * R)) ** 2  # the rounds for which delta is the radius
    with pytest.raises(ArgumentError, match=f"above {least:.6g}"):
        bounds.gradient_bandit(R, G, X, 3, math.floor(least))
    assert bounds.gradient_bandit(R, G, X, 3, math.ceil(least)).delta < R


def test_bounds_of_learning_with_few_attributes():
    d, k, norm, y_noise, growth = 7, 4, 0.8, 8 * (R * X + Y) ** 2, 1 + np.log(HORIZONS)
    dense, sparse = (bounds.aer_regret(d, k, R, norm, T, X, Y, x_norm) for x_norm in (None, 1.1))
    large = bounds.aer_regret(d, k, R, norm, T, X, Y, 50.0)  # above sqrt(d) X
    rows = numbers(bounds.aerr_regret(d, k, R, T, X, Y))
    regularizer = (R + 1) * 1.1 * sqrt(d) / (X * norm) * sqrt(log(T) / (T * k))
    assert numbers(large)[:4] == numbers(dense)[:4]
    assert_equal([
        (dense.G, y_noise * d**2 * X**2 / k),
        (dense.regularizer, (R + 1) * d / norm * sqrt(log(T) / (T * k))),
        (numbers(sparse)[1:4], (regularizer, y_noise * d * 1.1**2 / k, norm)),
        (sparse.value, regularizer * T * norm**2 / 2 + sparse.G * (1 + log(T)) / regularizer),
        (sparse.at_rounds(HORIZONS, regularizer=0.3), 0.15 * HORIZONS * norm**2 + sparse.G * growth / 0.3),
        (sparse.in_any_environment().value, sparse.value + norm * sqrt(sparse.G * T)),
        (rows[:4], descent(R, 8 * d / k * X**2 * ((R * X + Y) ** 2 + R**2 * X**2 / 2), T)),
    ])  # fmt: skip
    assert sparse.in_any_environment().in_any_environment() == sparse.in_any_environment()
    small, entropy = y_noise * R**2 * d * X**2 / k, log(2 * d)
    least = math.ceil(8 * d * entropy / ((e - 2) * k))
    exponentiated = bounds.attribute_exponentiated_regret(d, k, R, least, X, Y)
    with pytest.raises(ArgumentError, match=f"at least {least}"):
        bounds.attribute_exponentiated_regret(d, k, R, least - 1, X, Y)
    estimators = {law: AttributeSeriesGradient.for_loss(jo.losses.Squared(), minimum_variance, 40.0, 3, law)
                  for law in ("l1", "l2")}  # fmt: skip
    lengths = 4 * (R * X + Y) ** 2 * d / 3 * X**2
    assert_equal([
        (exponentiated.value, 2 * sqrt((e - 2) * small * least * entropy)),
        (exponentiated.step_size, sqrt(entropy / ((e - 2) * small * least))),
        (numbers(attribute_series_regret(estimators["l1"], d, R, T, norm, X, Y))[:4], descent(norm, lengths * d, T)),
        (numbers(attribute_series_regret(estimators["l2"], d, R, T, None, X, Y))[:4], descent(R, lengths, T)),
        (attribute_series_regret(estimators["l2"], d, R, T).G, 4 * R**2 * d / 3),  # X = 1, Y = 0
    ])  # fmt: skip


@pytest.mark.parametrize("radius", [0.6, 1.7])
def test_bound_of_the_baseline(radius):
    d, k, m, share = 7, 4, 500, 0.3 / 4
    entries = 2 * radius**2 * d**2 / k * sqrt(2 * log(2 * d**2 / share) / m)
    labels = 4 * radius * d / sqrt(k) * sqrt(log(2 * d / share) / m)
    complexity = 4 * (radius + 1) * radius * sqrt(2 * log(2 * d) / m)
    width = 4 * radius if radius < 1 else (radius + 1) ** 2
    total = entries + labels + complexity + 2 * width * sqrt(log(1 / share) / (2 * m))
    assert bounds.baseline_risk(d, k, radius, m, 0.3) == pytest.approx(total, rel=1e-12)


def test_bound_and_limits_of_hidden_attributes():
    assert bounds.hidden_attribute_examples(5000, 3, 0.06) == 5000 // (96 * 3 * 0.06) / 2 == 144.5
    assert bounds.hidden_attribute_examples(18, 1, 0.06) == 1.5  # half of floor(18 / 5.76), not rounded up
    assert bounds.hidden_attribute_examples(400, 100, 0.06) == 0  # d < 96 k eps: the theorem says nothing
    assert bounds.hidden_attribute_examples(12, 3, 0.0624) == 0
    with pytest.raises(ArgumentError, match=r"dimension: must be at least 4 n_attributes = 12 \(got 11\)"):
        bounds.hidden_attribute_examples(11, 3, 0.01)
    for eps in (0.0, 1 / 16):
        with pytest.raises(ArgumentError, match="eps"):
            bounds.hidden_attribute_examples(12, 3, eps)


def test_bounds_of_experts():
    T, K, m, eta = 500, 7, 11, 0.3
    share = m / (T - 1)
    entropy = -share * log(share) - (1 - share) * log(1 - share)
    some, best = bounds.exponential_weights(K, T, eta), bounds.exponential_weights(K, T)
    half = 3 / 7  # (1 - 1/K) / 2
    surplus, leader = sum(1 / k for k in range(2, K + 1)), bounds.perturbed_leader(K, T)
    assert_equal([
        (some.value, log(K) / eta + eta * T / 8),
        (some.at_rounds(HORIZONS), log(K) / eta + eta * HORIZONS / 8),
        (best.value, sqrt(T * log(K) / 2)),
        (best.eta, sqrt(8 * log(K) / T)),
        (bounds.fixed_share(K, T, m).value, sqrt(T / 2 * ((m + 1) * log(K) + (T - 1) * entropy))),
        (bounds.perturbed_leader(K, T, eta).value, surplus / eta + eta * T),
        (leader.value, surplus / leader.eta + leader.eta * T),
        (bounds.regularized_leader(K, T, eta).value, half / eta + eta * K * T / 8),
        (bounds.regularized_leader(K, T).value, sqrt((K - 1) * T) / 2),
        (bounds.label_efficient(K, T, m).value, T * sqrt(2 * log(K) / m)),
        (bounds.label_efficient(K, T, T).value, sqrt(2 * T * log(K))),
        (bounds.doubling(R, 11), R * (1 + sqrt(2) + 2 + sqrt(8))),
        (bounds.halving(9, 5), 5 * (3 + 1) + 3),
        (bounds.weighted_majority(K, 0.3, 11), (11 * log(1 / 0.3) + log(K)) / log(2 / 1.3)),
        (bounds.ewa(K, Y), 4 * Y**2 * log(K)),
        (bounds.aggregating(K, Y), Y**2 * log(K)),
        (bounds.quantile_tracking(D, 0.3, T), (D + 0.3) / (0.3 * T)),
    ])  # fmt: skip
    assert bounds.fixed_share(K, 11, 5).n_rounds == 11
    with pytest.raises(ArgumentError, match="n_switches"):
        bounds.fixed_share(K, 11, 6)
    with pytest.raises(ArgumentError, match="n_questions"):
        bounds.label_efficient(K, T, T + 1)


def test_bounds_of_bandits():
    gaps, positive, K, T = np.array(GAPS), np.array([0.15, 0.3, 0.7]), 7, HORIZONS
    logs, delta, eta = np.log(HORIZONS), 0.03, jo.learners.EXP3IX.over_horizon(7, 411).eta
    ucb1 = 8 * logs * sum(1 / gap for gap in positive) + (1 + pi**2 / 3) * positive.sum()
    means = np.array([0.4, 0.2, 0.7])
    wrong = sum(gap * np.exp(-11 * gap**2 / (4 * 0.7**2)) for gap in positive)
    least, others = 0.2, np.array([0.4, 0.7])
    kl = others * np.log(others / least) + (1 - others) * np.log((1 - others) / (1 - least))
    any_delta = bounds.exp3_p(K, T, delta, known=False)
    H = max(i / gap**2 for i, gap in enumerate(positive, start=2))
    assert_equal([
        (bounds.explore_then_commit(GAPS, 11, T, 0.7), 11 * gaps.sum() + (T - 44) * wrong),
        (bounds.explore_then_commit(GAPS, 11, 44), 11 * gaps.sum()),
        (bounds.ucb1(GAPS, T), ucb1),
        (bounds.delayed_ucb1(GAPS, 11, T), ucb1 + 11 * gaps.sum()),
        (bounds.lai_robbins(means), ((others - least) / kl).sum()),
        (bounds.moss(K, T), 49 * np.sqrt(K * T)),
        (bounds.minimax(K, np.array([3.0, 300.0])), [3 / 20, sqrt(2100) / 20]),
        (bounds.exp3(K, T), np.sqrt(2 * T * K * log(K))),
        (bounds.exp4(5, K, T), np.sqrt(2 * T * K * log(5))),
        (bounds.exp3_ix(K, 411, delta), 2 * K * 411 * eta + (2 / eta + 1) * log(2 / delta)),
        (bounds.exp3_p(K, T, delta), 5.15 * np.sqrt(T * K * log(K / delta))),
        (any_delta, np.sqrt(T * K / log(K)) * log(1 / delta) + 5.15 * np.sqrt(T * K * log(K))),
        (bounds.bold(np.sqrt, 6, T), 7 * np.sqrt(T / 7)),
        (bounds.delayed_exp3(K, 3, T, 0.03), log(K) / 0.03 + 0.03 * T * (e * K / 2 + 3)),
        (bounds.sequential_halving(GAPS, 4000), 6 * np.exp(-4000 / (8 * H * 2))),  # ln 4 / ln 2 = 2
        (bounds.sequential_halving(GAPS, 3), 1.0),
    ])  # fmt: skip
    with pytest.raises(ArgumentError, match="at least pulls_each times arms, 44"):
        bounds.explore_then_commit(GAPS, 11, 43)
    with pytest.raises(ArgumentError, match=f"eta: must be at most .* = {1 / (8 * e):.3g}"):
        bounds.delayed_exp3(K, 3, T, 0.046)


def test_bound_of_successive_elimination():
    """n pulls suffice for a gap, and n - 1 do not; the best arm is pulled as often as the second best."""
    n = np.arange(1.0, 10_000)
    widths = 4 * np.sqrt(np.log(pi**2 * 4 * n**2 / (3 * 0.03)) / (2 * n))
    pulls = [int(n[(widths <= gap)][0]) for gap in (0.15, 0.3, 0.7)]
    assert bounds.successive_elimination(GAPS, 0.03) == sum(pulls) + pulls[0]
    assert bounds.successive_elimination([0.0, 5.0], 0.5) == 2  # 4 a(1) = 4.54
    with pytest.raises(ArgumentError, match="gaps"):
        bounds.successive_elimination([0.0, 0.0, 0.3], 0.1)
    with pytest.raises(ArgumentError, match="gaps"):
        bounds.sequential_halving([0.0, 0.0, 0.3], 100)


def test_bound_of_duels():
    """The winner is arm 1 with the gaps 1/4, 0, 3/8 and 1/8, which float32 represents exactly; C is large or small."""
    preferences = np.array([[4, 2, 5, 3], [6, 4, 7, 5], [3, 1, 4, 3], [5, 3, 5, 4]]) / 8
    gaps, alpha, delta = [0.25, 0.0, 0.375, 0.125], 0.8, 0.3
    pairs = [(0, 1, 0.25), (1, 2, 0.375), (1, 3, 0.125), (0, 2, 0.25), (0, 3, 0.125), (2, 3, 0.125)]
    C = ((4 * alpha - 1) * 16 / ((2 * alpha - 1) * delta)) ** (1 / (2 * alpha - 1))
    for T in (50, 10**6):
        total = sum((4 * alpha * log(T) / gap**2 + 1) * (gaps[i] + gaps[j]) / 2 for i, j, gap in pairs)
        assert bounds.rucb(preferences, T, delta, alpha) == pytest.approx(min(C, T) * 0.375 + total, rel=1e-9)
    assert 50 < C < 10**6


def test_bounds_of_classifiers():
    losses, squares, r, norm = [0.3, 0.0, 1.4], 0.3**2 + 1.4**2, 1.7, 0.7
    a, theta, d, k, required = 1.2, 5.0, 30, 4, 3
    A, M, c = a * d / ((a - 1) * theta), k / required * (1 + log(theta) / log(a)), 1 - 1 / required
    assert_equal([
        (bounds.perceptron(r, 0.3), (r / 0.3) ** 2),
        (bounds.p_norm_perceptron(4.0, r, 0.3), 3 * (r / 0.3) ** 2),
        (bounds.passive_aggressive("PA", r, norm, [0.0, 0.0]), r**2 * norm**2),
        (bounds.passive_aggressive("PA-I", r, norm, losses, 0.2), 5 * (norm**2 + 0.4 * 1.7)),
        (bounds.passive_aggressive("PA-I", r, norm, losses, 0.9), r**2 * (norm**2 + 1.8 * 1.7)),
        (bounds.passive_aggressive("PA-II", r, norm, losses, 0.2), (r**2 + 2.5) * (norm**2 + 0.4 * squares)),
        (bounds.winnow(d, k, a, theta), A + (1 + a) * k * (1 + log(theta) / log(a))),
        (bounds.winnow(d, k, a, theta, required), A + (1 + a) * (M + c * A) / (1 - a * c)),
    ])  # fmt: skip
    for largest in (1.5, 2.0):
        with pytest.raises(ArgumentError, match=rf"promotion: .* r / \(r - 1\) = 1.5 \(got {largest:g}\)"):
            bounds.winnow(d, k, largest, theta, required)


@pytest.mark.parametrize("layout", ["cosine", "pair"])
@pytest.mark.parametrize("scaled", [False, True])
def test_bounds_of_random_features(layout, scaled):
    """The norm of unscaled features is at most sqrt(c m); scaled features have the regularizer m lambda."""
    f, m, N, T, lam, own = 1.7, 30, 7, HORIZONS, 0.4, 0.23
    features = bounds.Features(m, layout, scaled)
    vaw2 = functools.partial(bounds.vaw2, f, N, features, Y, T, lam)
    c, n = (1.0, 2 * m) if layout == "pair" else (2.0, m)
    effective = lam * m if scaled else lam
    growth = n * Y**2 / 2 * np.log1p(c * m * T / (effective * n))
    energy = (effective / 2 + c * T / 2) * f**2 / m
    largest = 2 * Y**2 * (T + 1) + 4 * growth
    least, tail = energy + growth, N * Y**2 / 2
    assert_equal([
        (bounds.vaw(f, 11, X, Y, T, lam), lam * f**2 / 2 + 11 * Y**2 / 2 * np.log1p(X**2 * T / (lam * 11))),
        (bounds.concatenated(f, N, features, Y, T, lam), energy + N * growth),
        (vaw2(own), least + own / 2 + tail * np.log1p(N * largest * T / own)),
        (vaw2(own, truncated=True), least + own / 2 + tail * np.log1p(Y**2 * T / own)),
        (vaw2(), least + lam / 2 + tail * np.log1p(N * largest * T / lam)),
        (bounds.vaw_ewa(f, N, features, Y, T, lam), least + 4 * Y**2 * log(N)),
    ])  # fmt: skip
