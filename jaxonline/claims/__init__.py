"""What the papers claim, as statements that the verifier can check: `registry`, and one file a topic."""

from jaxonline.claims.plots import plot_intervals
from jaxonline.claims.registry import run_claims, to_json

__all__ = ["plot_intervals", "run_claims", "to_json"]
