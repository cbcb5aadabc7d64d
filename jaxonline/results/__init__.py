"""What a study measured: `result`, its statistics, tables, figures and storage."""

from jaxonline.results.result import Estimate, Result

__all__ = ["Estimate", "Result"]
