"""Claims of five papers as statements that `jaxonline.verify` checks, one module per topic, and notes on the papers.

`errata` lists papers and notes; printed formulas are only in the modules `printed_*`.
"""

from jaxonline.claims import errata
from jaxonline.claims.plots import plot_intervals
from jaxonline.claims.printed_gradients import PrintedKnownCovariance
from jaxonline.claims.registry import run_claims, to_json
from jaxonline.claims.report import claims_table, markdown_table

__all__ = [
    "PrintedKnownCovariance",
    "claims_table",
    "errata",
    "markdown_table",
    "plot_intervals",
    "run_claims",
    "to_json",
]
