"""Results of studies: statistics, tables, figures and storage."""

from jaxonline.results.loading import load_result as load_result
from jaxonline.results.report.across_games import AcrossGames as AcrossGames
from jaxonline.results.result import Result as Result
from jaxonline.results.standings import Standings as Standings
from jaxonline.results.statistics.intervals import Estimate as Estimate
