"""Intervals (`jo.intervals`), bands and rankings."""

from jaxonline.results.statistics.intervals import Estimate as Estimate
from jaxonline.results.statistics.means import Difference as Difference
from jaxonline.results.statistics.means import Growth as Growth
from jaxonline.results.statistics.means import difference_of_means as difference_of_means
from jaxonline.results.statistics.means import growth as growth
from jaxonline.results.statistics.means import joint_p_values as joint_p_values
from jaxonline.results.statistics.means import mean_over_runs as mean_over_runs
from jaxonline.results.statistics.means import pairwise_p_values as pairwise_p_values
from jaxonline.results.statistics.means import simultaneous as simultaneous
