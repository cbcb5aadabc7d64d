"""Results of studies: statistics, tables, figures and storage."""

from jaxonline.results.loading import load_result
from jaxonline.results.report.standings import Standings
from jaxonline.results.result import Result
from jaxonline.results.statistics.intervals import Estimate

__all__ = ["Estimate", "Result", "Standings", "load_result"]
