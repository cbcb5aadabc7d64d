"""The interface of confidence intervals for a mean over runs."""

import abc
from typing import Any, ClassVar, NamedTuple

import numpy as np
from jaxtyping import ArrayLike, Float


class Estimate(NamedTuple):
    """A mean over runs with its standard error and confidence interval; all fields have the same shape."""

    mean: np.ndarray
    standard_error: np.ndarray
    low: np.ndarray
    high: np.ndarray
    n_runs: np.ndarray


class ConfidenceInterval(abc.ABC):
    """A two-sided confidence interval for a mean over independent runs."""

    test: ClassVar[str] = ""  # the name of its paired test
    holds_for_any_runs: ClassVar[bool] = False  # whether it covers for any number of runs with any distribution
    quantity: str | None = None  # the quantity that the interval suits; None for any

    @abc.abstractmethod
    def ends(self, values: Float[np.ndarray, "L R *rest"], estimate: Estimate, level: float) -> tuple[Any, Any]:
        """Return the ends of the intervals [L, *rest]; `estimate` has the means and standard errors of `values`."""

    @abc.abstractmethod
    def p_values(self, values: Float[np.ndarray, "L R"], estimate: Estimate) -> Float[np.ndarray, "L"]:
        """Return p-values: the smallest alpha for which the interval of level 1 - alpha excludes 0; NaN if unknown."""

    def after(self, rounds: ArrayLike) -> "ConfidenceInterval":
        """Return the kind of interval for sums over `rounds` rounds."""
        return self

    def of_difference(self) -> "ConfidenceInterval":
        """Return the kind of interval for the difference of two quantities that each have this kind of interval."""
        return self

    def to_json(self) -> dict[str, Any]:
        """Return the interval as a dictionary, which `interval_from_json` reads."""
        return {"type": type(self).__name__} | {name: np.asarray(value).tolist() for name, value in vars(self).items()}
