"""Claims of five papers as statements that `jaxonline.verify` checks, one module per topic, and notes on the papers.

`errata` lists papers and notes; printed formulas are only in the modules `printed_*`.
"""

from benchmarks.papers.claims import errata
from benchmarks.papers.claims.plots import plot_intervals
from benchmarks.papers.claims.printed_gradients import PrintedKnownCovariance
from benchmarks.papers.claims.registry import run_claims, to_json
from benchmarks.papers.claims.report import claims_table, markdown_table

__all__ = [
    "PrintedKnownCovariance",
    "claims_table",
    "errata",
    "markdown_table",
    "plot_intervals",
    "run_claims",
    "to_json",
]
