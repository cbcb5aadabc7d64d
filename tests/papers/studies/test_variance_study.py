"""The study of variance against expected queries, against closed forms."""

import math

import pytest
from scipy import special

from benchmarks.papers.studies.variance import Variance

MEAN, NOISE, GUESS = 1.5, 0.5, 1.0
SECOND = MEAN**2 + NOISE
STUDY = Variance(mean=MEAN, noise_variance=NOISE, guess=GUESS)
PS = STUDY.ps


@pytest.fixture(scope="module")
def study():
    return STUDY.compute()


def rows_by_distribution(rows, loss, centre=0.0):
    return {
        row.p if row.law == "geometric" else row.law: (row.variance, row.expected_queries) for row in rows[loss, centre]
    }


@pytest.mark.parametrize("p", PS)
def test_the_geometric_distribution_has_its_closed_form(study, p):
    """sum (p m)^n / n!^2 = I_0(2 sqrt(p m)), for any centre up to a factor."""
    for centre in (0.0, GUESS):
        m = NOISE + (MEAN - centre) ** 2
        expected = math.exp(-2 * centre) * p / (p - 1) * special.i0(2 * math.sqrt(p * m)) - math.exp(-2 * MEAN)
        assert rows_by_distribution(study, "exponential", centre)[p] == pytest.approx(
            (expected, 1 / (p - 1)), rel=1e-10
        )


def test_optimised_distributions_have_their_closed_forms(study):
    """Of minimum variance: E theta^2 = l'_+(sqrt(E X^2))^2; for the exponential loss N is then Poisson."""
    root = math.sqrt(SECOND)
    exponential, absolute = (
        rows_by_distribution(study, "exponential"),
        rows_by_distribution(study, "smoothed absolute (s = 1)"),
    )
    assert exponential["minimum variance"] == pytest.approx((math.exp(2 * root) - math.exp(-2 * MEAN), root), rel=1e-10)
    assert absolute["minimum variance"][0] == pytest.approx(special.erfi(root) ** 2 - math.erf(MEAN) ** 2, rel=1e-10)
    drawn = (math.expm1(root)) ** 2 - math.expm1(-MEAN) ** 2  # without gamma_0 = -1
    assert exponential["minimum variance, constant outside"][0] == pytest.approx(drawn, rel=1e-10)
    for law in ("minimum variance", "cost-aware"):
        assert rows_by_distribution(study, "squared")[law] == pytest.approx((4 * NOISE, 1.0), rel=1e-10)


def test_the_variance_of_the_logistic_loss_is_infinite_beyond_its_radius(study):
    """The radius is pi: p E X^2 >= pi^2 for p = 4."""
    infinite = {
        (loss, centre, row.p)
        for (loss, centre), rows in study.items()
        for row in rows
        if not math.isfinite(row.variance)
    }
    assert infinite == {("logistic", 0.0, p) for p in PS if p * SECOND >= math.pi**2} == {("logistic", 0.0, 4.0)}
