"""Regrets of skewed runs: means without warnings, and a sentence that names the skewed learners."""

from collections.abc import Mapping

from jaxonline.results import Result
from jaxonline.results.statistics import Estimate
from jaxonline.results.statistics.estimates import learners_with_skewed_runs
from jaxonline.study.comparison import format_places, ignore_skewness_warnings


def mean_regret(result: Result) -> Estimate:
    """Return the mean regrets with 95 % intervals, without a warning of skewed runs."""
    with ignore_skewness_warnings():
        return result.mean("regret")


def skewed_runs_sentences(results: Mapping[str, Result]) -> list[str]:
    """Return a sentence on the learners whose Student intervals in tables and figures are too short, if any."""
    skewed = {name: learners_with_skewed_runs(result, "regret") for name, result in results.items()}
    if not any(skewed.values()):
        return []
    start = "The runs are skewed, and the intervals of tables and figures understate the longer side, of"
    return [f"{start}: {format_places(skewed)}."]
