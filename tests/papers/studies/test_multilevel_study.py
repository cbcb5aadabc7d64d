"""The study of multilevel estimates: its exact moments against closed forms and samples, and its equal costs."""

import numpy as np
import pytest

from benchmarks.papers.studies import multilevel as study
from jaxonline.estimators import PowersOfTwo
from jaxonline.losses import Huber, Logistic

LAW = PowersOfTwo(1.5, 4)
P = 2.0 ** (-1.5 * np.arange(5))
P /= P.sum()


def test_moments_of_the_square_have_closed_forms():
    """Delta_k = -(A - B)^2/4 for halves of variance v/h, and the base has the mean square and its variance / n."""
    mean, v, n = 0.4, 0.49, 2.0 ** np.arange(5)
    own = study.gaussian_moments(np.square, mean, np.sqrt(v), LAW)
    square, variance = mean**2 + v, 2 * v**2 + 4 * mean**2 * v
    deltas, squares = -v / n[1:], 3 * v**2 / n[1:] ** 2
    assert own.mean == pytest.approx(mean**2 + v / n[-1])
    cross = square * deltas - 2 * v**2 / n[1:] ** 2  # E f(X_1) Delta_k, as E (X_1 - mean)^2 (A - B)^2 has 8 v^2/n^2
    expected = P @ (square**2 + variance / n) + 2 * cross.sum() + (squares / P[1:]).sum()
    assert own.mean_base == pytest.approx(expected, rel=1e-6)
    assert own.single == pytest.approx((square**2 + variance) / P[0] + (squares / P[1:]).sum(), rel=1e-6)


def test_the_mean_at_a_kink_is_exact():
    """E min(1/2 + Z, 1/2) = 1/2 - sd / sqrt(2 pi); the other kink is 8 deviations away."""
    own = study.gaussian_moments(Huber(0.5).derivative, 0.5, 0.5, LAW)
    assert own.mean == pytest.approx(0.5 - 0.125 / np.sqrt(2 * np.pi), abs=3e-5)


@pytest.mark.long
def test_heavy_tails_let_the_second_moment_grow_with_the_largest_level():
    rng = np.random.default_rng(0)
    light, heavy = (
        study.sampled_moments(X, 1.5) for X in (rng.standard_normal((2000, 64)), rng.standard_t(2.1, (2000, 64)))
    )
    assert heavy[5]["low"] > 1.4 * heavy[2]["high"]
    exact = study.gaussian_moments(Logistic().derivative, 0.0, 1.0, LAW).mean_base
    assert all(row["low"] < exact < row["high"] for row in light[3:])


def test_polynomials_have_the_cost_of_multilevel_estimates_and_the_least_second_moment():
    length, target = study.polynomials_of_cost(5, 2.2, 1.5), 2.2
    p, sizes = length.series.law.probabilities, length.series.sequence.magnitudes(1.5, 0.0)
    assert p @ np.arange(6) == pytest.approx(target)
    assert study.expected_queries(length, unused=False) == pytest.approx(1 + target)
    for last in (p[5] * 0.9, p[5] * 1.1):  # other laws with this mean: p_1 + 3 p_3 + 5 p_5 = target, and the sum 1
        third = (target - 1 - 4 * last) / 2
        other = sizes[1] ** 2 / (1 - third - last) + sizes[3] ** 2 / third + sizes[5] ** 2 / last
        assert other > length.second_moment(1.5, 0.0)
