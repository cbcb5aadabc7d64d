"""The section of docs/intervals.md about sequential comparisons is what is simulated."""

import numpy as np
import pytest

from benchmarks.intervals import page, sequential
from benchmarks.intervals.adastop import adastop


@pytest.mark.long
def test_error_rates_on_the_page_are_what_is_simulated():
    lines = page.PAGE.read_text().splitlines()
    for line in sequential.error_rates(("lognormal(1.5) and normal",)).markdown().splitlines():
        assert line in lines


@pytest.mark.long
def test_adastop_is_exact_for_equal_distributions():
    """500 studies of Bernoulli(0.1) runs, which have many equal sums. A test of level 5 % finds a difference in at most
    8 % of them (in more once in 1,000), and in all studies if the difference is large."""
    rng = np.random.default_rng(0)
    equal = (rng.random((500, 2, 200)) < 0.1).astype(float)
    found, runs = adastop(rng, equal, 50)
    assert 0 < (found != 0).mean() <= 0.08
    assert set(runs) <= {50, 100, 150, 200}
    found, runs = adastop(rng, equal + np.array([0.0, 1.0])[:, None], 50)
    assert (found == -1).all()
    assert (runs == 50).all()
