"""Intervals (`jo.intervals`), bands and rankings."""

from jaxonline.results.statistics.intervals import Estimate
from jaxonline.results.statistics.means import (
    Difference,
    Growth,
    difference_of_means,
    growth,
    joint_p_values,
    mean_over_runs,
    pairwise_p_values,
    simultaneous,
)

__all__ = [
    "Difference",
    "Estimate",
    "Growth",
    "difference_of_means",
    "growth",
    "joint_p_values",
    "mean_over_runs",
    "pairwise_p_values",
    "simultaneous",
]  # fmt: skip
