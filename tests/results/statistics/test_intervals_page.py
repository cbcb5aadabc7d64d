"""Numbers on docs/intervals.md and in the examples of the statistics, simulated or computed again."""

import pytest
from package_examples import run_examples_of

from benchmarks.intervals import curves, games, laws, means, page, rankings, stopping
from jaxonline.results import statistics

LAW = "normal, and 10 with probability 0.1"


def test_the_page_has_every_section():
    text = page.PAGE.read_text()
    assert text.startswith(page.INTRODUCTION)
    assert list(page.sections_of(text)) == [section.TITLE for section in page.SECTIONS.values()]


def check_lines(*tables) -> None:
    lines = page.PAGE.read_text().splitlines()
    for table in tables:
        for line in table.markdown().splitlines():
            assert line in lines


@pytest.mark.long
def test_the_numbers_on_the_page_are_what_is_simulated():
    """Some lines of the page, simulated again."""
    for rows in (
        means.errors_of_means([LAW]),
        means.warned_intervals(means.two_studies, 0.0, 2, [LAW]),
        rankings.errors_of_rankings([LAW]),
        rankings.errors_of_rankings([LAW], shared=True),
        curves.errors_of_bands(["exponential"]),
    ):
        check_lines(laws.silent(rows), laws.wrong(rows))
    check_lines(means.coverage_of_quantiles(), means.kinds_of_intervals(), means.effect_of_the_limit())
    check_lines(stopping.stopped_studies([(LAW, 0.03)]), stopping.error_rates([(LAW, 0.03)]))
    check_lines(rankings.power_of_rankings([20]), games.coverage_across_games(["exponential"], [10]))


def test_statistics_have_the_numbers_of_their_examples():
    number, failures = run_examples_of(statistics)
    assert number > 30
    assert failures == ""
