"""The page docs/intervals.md is what `python -m benchmarks.intervals` writes."""

import pytest

from benchmarks.intervals import curves, means, page, quantiles, rankings, stopping


def test_the_page_has_every_section():
    text = page.PAGE.read_text()
    assert text.startswith(page.INTRODUCTION)
    assert list(page.sections_of(text)) == [section.TITLE for section in page.SECTIONS.values()]


def check_lines(table) -> None:
    lines = page.PAGE.read_text().splitlines()
    for line in table.markdown().splitlines():
        assert line in lines


@pytest.mark.long
def test_the_coverage_on_the_page_is_what_is_simulated():
    """Some lines of the page, simulated again."""
    check_lines(means.coverage_of_means(("lognormal, sigma 2", "1 with probability 0.2, else 0"), (20,)))
    check_lines(curves.coverage_of_curves(("exponential",), (20,)))
    check_lines(quantiles.coverage_of_quantiles())
    check_lines(rankings.errors_of_rankings(["lognormal, sigma 1.5"], [2, 7], [20]))
    check_lines(rankings.errors_of_bounded_rankings())
    check_lines(rankings.power_of_rankings([20]))
    check_lines(stopping.coverage_at_stopping(("exponential",)))
