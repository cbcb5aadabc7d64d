"""Claims of five papers as statements that `jaxonline.verify` checks, one module per family, and notes on the papers.

`notes` lists papers and notes; printed formulas, named printed_*, are beside the claims that use them.
"""

from benchmarks.papers.claims.registry import run_claims, to_json
from benchmarks.papers.claims.report import claims_table, markdown_table, plot_intervals

__all__ = ["claims_table", "markdown_table", "plot_intervals", "run_claims", "to_json"]
