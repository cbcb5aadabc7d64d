"""Numbers on docs/intervals.md and in the examples of the statistics, simulated or computed again."""

import numpy as np
import pytest
from benchmarks.intervals.adastop import adastop
from package_examples import run_examples_of

from benchmarks.intervals import curves, means, page, quantiles, rankings, sequential, stopping
from jaxonline.results import statistics


def test_the_page_has_every_section():
    text = page.PAGE.read_text()
    assert text.startswith(page.INTRODUCTION)
    assert list(page.sections_of(text)) == [section.TITLE for section in page.SECTIONS.values()]


TABLES = {
    "means": lambda: means.coverage_of_means(("lognormal, sigma 2", "1 with probability 0.2, else 0"), (20,)),
    "curves": lambda: curves.coverage_of_curves(("exponential",), (20,)),
    "quantiles": quantiles.coverage_of_quantiles,
    "rankings": lambda: rankings.errors_of_rankings(["lognormal, sigma 1.5"], [2, 7], [20]),
    "bounded rankings": rankings.errors_of_bounded_rankings,
    "power": lambda: rankings.power_of_rankings([20]),
    "stopping": lambda: stopping.coverage_at_stopping(("exponential",)),
    "sequential": lambda: sequential.error_rates(("lognormal(1.5) and normal",)),
}


@pytest.mark.long
@pytest.mark.parametrize("name", TABLES)
def test_the_rates_on_the_page_are_what_is_simulated(name):
    lines = page.PAGE.read_text().splitlines()
    assert [line for line in TABLES[name]().markdown().splitlines() if line not in lines] == []


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


def test_statistics_have_the_numbers_of_their_examples():
    number, failures = run_examples_of(statistics)
    assert number > 30
    assert failures == ""
