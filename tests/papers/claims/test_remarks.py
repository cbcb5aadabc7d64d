"""Claims on remarks and numbered equations: their checks catch wrong statements, and most limits are reached."""

import pytest
from benchmarks.papers.claims.remarks import parallel_worlds

from benchmarks.papers.claims.registry import run_claims
from benchmarks.papers.claims.regret import largest_exponential_moment
from jaxonline.kernels import Gaussian

REACHED = ["distance of the smoothed*", "gradient descent on any*", "R of the surrogate for widths*", "1 - k/g*"]


@pytest.mark.parametrize("pattern", REACHED)
def test_limits_are_reached(pattern):
    """So a limit that is smaller by a millionth is violated."""
    (row,) = run_claims(pattern)
    assert row.verification.verdict == "respected"
    assert abs(row.verification.bias) < 1e-6


def test_the_original_kernel_is_biased_in_the_other_world():
    assert parallel_worlds(Gaussian(1.0)).verdict == "biased"


def test_azumas_constant_cannot_be_less_than_a_third():
    """The game uses a part of the interval; with 0.3 times the length the exponential moments exceed the limit."""
    assert largest_exponential_moment() <= 1 < largest_exponential_moment(factor=0.3)
