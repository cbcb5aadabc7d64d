"""Results of studies: statistics, tables, figures and storage."""

from jaxonline.results.loading import load_result
from jaxonline.results.report.across_games import AcrossGames
from jaxonline.results.report.critical_differences import CriticalDifferences
from jaxonline.results.report.standings import Standings
from jaxonline.results.result import Result
from jaxonline.results.statistics.intervals import Estimate

__all__ = ["AcrossGames", "CriticalDifferences", "Estimate", "Result", "Standings", "load_result"]
