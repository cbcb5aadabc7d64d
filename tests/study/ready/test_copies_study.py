"""The study of copies: exact variances by enumeration, equal numbers of copies, and the report."""

import itertools
import json
import math

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxonline.estimators import Geometric
from jaxonline.feedback import ReplicatesOracle
from jaxonline.study import Context
from jaxonline.study.ready.copies import Copies
from jaxonline.study.ready.copies_estimators import ALL, CONSECUTIVE, ESTIMATORS, HALVES, gradient_variance

pytestmark = pytest.mark.fast_compile
M, V, LABEL_VARIANCE = 4, 0.3, 0.09
W, X, Y = np.array([0.5, -1.0]), np.array([0.6, -0.4]), 0.2
SIGNS = np.array(list(itertools.product([-1.0, 1.0], repeat=2 * M + 1)))
COPIES, LABELS = X + math.sqrt(V) * SIGNS[:, :-1].reshape(-1, M, 2), Y + math.sqrt(LABEL_VARIANCE) * SIGNS[:, -1]
PAIRS = {
    CONSECUTIVE: [(0, 1), (2, 3)],
    HALVES: list(itertools.product([0, 1], [2, 3])),
    ALL: list(itertools.permutations(range(M), 2)),
}
SMALL = Copies(
    runs=4, total=128, copies=(2, 4), samples=2000, rounds=30, repetitions=(1, 2), noise_variances=(0.05,),
    etas=(0.5, 2.0), kernel_etas=(0.5,), held_out=20,
)  # fmt: skip


def enumerated(pairs):
    """The mean over the pairs (i, j) of 2 (<w, x_i> - y) x_j, for all signs of two-point noise."""
    return np.mean([2 * (COPIES[:, i] @ W - LABELS)[:, None] * COPIES[:, j] for i, j in pairs], axis=0)


@pytest.mark.parametrize("name", PAIRS)
def test_estimates_are_means_over_pairs_with_the_exact_variance(name):
    """Against all 512 signs; the mean is the gradient, and a variance that is wrong by a relative 1e-11 is found."""
    expected = enumerated(PAIRS[name])
    estimate = jax.jit(
        jax.vmap(lambda c, y: ESTIMATORS[name](M)(None, jnp.asarray(W, jnp.float32), ReplicatesOracle(c, y[None], y)))
    )
    got = estimate(jnp.asarray(COPIES, jnp.float32), jnp.asarray(LABELS, jnp.float32))
    np.testing.assert_allclose(got, expected, rtol=1e-5, atol=1e-5)
    mean = 2 * (W @ X - Y) * X
    np.testing.assert_allclose(expected.mean(axis=0), mean, rtol=1e-12)
    variance = ((expected - mean) ** 2).sum(axis=1).mean()
    exact = gradient_variance(name, M, W, X[None], np.array([Y]), V, LABEL_VARIANCE)
    assert exact == pytest.approx(variance, rel=1e-11)


def test_all_pairs_vary_least_and_consecutive_pairs_most():
    def variances(m):
        return [gradient_variance(name, m, W, X[None], np.array([Y]), V, LABEL_VARIANCE) for name in ESTIMATORS]

    consecutive, halves, pairs = variances(2)
    assert consecutive == halves > pairs
    for m in (4, 16, 64):
        consecutive, halves, pairs = variances(m)
        assert consecutive > halves > pairs


def test_repetitions_have_equal_expected_copies_and_the_second_moment_of_the_formula():
    """r p / (p - 1)^2 copies. By hand at w = u/2, with t = <u, x>, k = e^|x|^2 and B = |x|^2 + d v: E g~^2 is 4 p^2 /
    (p - 1) times ((t^2 + v) p^2 / (4 (p - 1)) + label variance), E|Psi~|^2 = p / (p - 1) e^(p B), and the mean is -t
    Psi(x)."""
    x, v = np.array([0.3, -0.2, 0.1]), SMALL.noise_variances[0]
    t = float(x @ SMALL.target(0))
    for r in (1, 2, 8):
        p = SMALL.parameter(r)
        feature_map, length = SMALL.algorithm(r, x[None], np.array([t]))
        assert r * feature_map.expected_queries() * (1 + length.series.law.mean()) == pytest.approx(2.0, rel=1e-12)
        assert float(np.asarray(feature_map.law.p)) == p
        assert isinstance(length.series.law, Geometric)
        lengths = 4 * p**2 / (p - 1) * ((t**2 + v) * p**2 / (4 * (p - 1)) + SMALL.label_variance)
        S, mean = lengths * p / (p - 1) * math.exp(p * (x @ x + 3 * v)), t**2 * math.exp(x @ x)
        got = SMALL.second_moment(r, x[None], np.array([t]))
        assert got == pytest.approx(mean + (S - mean) / r, rel=1e-10)
    assert SMALL.parameter(1) == pytest.approx(2.0)


def test_a_total_that_cannot_be_spent_raises_an_error():
    with pytest.raises(ValueError, match=r"^total: must be a multiple of all copies \(got 100 for 8 copies\)"):
        Copies(total=100, copies=(2, 8)).run(Context())
    with pytest.raises(ValueError, match=r"^copies: must be a multiple of 2"):
        Copies(copies=(2, 3))


@pytest.fixture(scope="module")
def report():
    return SMALL.run(Context(seed=1))


@pytest.mark.long
def test_sampled_variances_agree_with_exact_ones_and_the_costs_are_equal(report):
    """Five times the half-width of a 95 % interval: 9.8 standard errors, so that skewness causes no false alarm; half
    of the variance of consecutive pairs is 13 standard errors or more away."""
    numbers = json.loads(report.json())
    assert [(row["estimator"], row["copies"]) for row in numbers["linear"]] == [
        (CONSECUTIVE, 2), (CONSECUTIVE, 4), (HALVES, 4), (ALL, 2), (ALL, 4),
    ]  # fmt: skip
    for row in numbers["linear"]:
        assert abs(row["sampled"] - row["variance"]) < 5 * (row["sampled"] - row["sampled_low"])
        assert row["copies"] * row["rounds"] == SMALL.total
        assert row["risk_low"] < row["risk"] < 0.05
    assert [row["queries"] for row in numbers["kernel"]] == pytest.approx([2.0, 2.0])
    assert numbers["kernel"][1]["second_moment"] < numbers["kernel"][0]["second_moment"]


@pytest.mark.long
def test_the_report_can_be_saved_and_drawn(report, tmp_path):
    names = {path.name for path in report.save(tmp_path)}
    assert {"linear.csv", "kernel.csv", "numbers.json", "figure.png"} <= names
