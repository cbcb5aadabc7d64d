"""What a study measured: `result`, its statistics, tables, figures and storage."""

from jaxonline.results.result import Result
from jaxonline.results.standings import Standings
from jaxonline.results.statistics import Estimate

__all__ = ["Estimate", "Result", "Standings"]
