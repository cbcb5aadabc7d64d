"""Confidence intervals for means of bounded quantities, valid for any distribution and any number of runs."""

import dataclasses
from typing import Any, ClassVar, Self

import numpy as np
from jaxtyping import ArrayLike, Float

from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.statistics.confidence_interval import ConfidenceInterval, Estimate

ROUNDING = 1e-5  # relative; float32 sums may exceed the limits of a quantity by rounding
CHUNK_ENTRIES = 2**20
STAKES = 2.0 ** -np.arange(12)  # of the largest stake


@dataclasses.dataclass(frozen=True)
class Bounded(ConfidenceInterval):
    """Empirical Bernstein interval, for bounded quantities with any distribution and for any number of runs.

    Error rate: at most 1 - level, if the values of all runs lie between the limits. Values outside the limits raise an
    error.

    Args:
        low: the smallest value that the quantity can have in one round.
        high: the largest value that the quantity can have in one round.
        quantity: the quantity with these limits, such as "regret"; None for any. A result with this interval uses
            `Anytime` for its other quantities.

    Raises:
        ValueError: a limit is not finite, or `low` is above `high`.

    References:
        Maurer and Pontil (2009), "Empirical Bernstein bounds and sample variance penalization", Theorem 4, used on both
        sides.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.results.statistics import mean_over_runs
        >>> estimate = mean_over_runs(np.zeros((1, 100)), interval=jo.intervals.Bounded(0.0, 1.0))
        >>> estimate.low.tolist(), estimate.high.round(2).tolist()
        ([0.0], [0.1])
    """

    test: ClassVar[str] = "paired tests of bounded differences"
    holds_for_any_runs: ClassVar[bool] = True

    low: ArrayLike
    high: ArrayLike
    quantity: str | None = None

    def __post_init__(self) -> None:
        low, high = check.finite_array("low", self.low), check.finite_array("high", self.high)
        if np.any(low > high):
            raise ArgumentError(
                "low", f"must be at most high (got {check.quote(self.low)} and {check.quote(self.high)})"
            )

    def ends(self, values: np.ndarray, estimate: Estimate, level: float) -> tuple[Any, Any]:
        """Return the ends of the interval, cut at the limits of the quantity."""
        low, high = self._limits(values)
        log = np.log(4.0 / (1.0 - level))
        half = estimate.standard_error * np.sqrt(2.0 * log) + 7.0 * (high - low) * log / (
            3.0 * np.maximum(estimate.n_runs - 1, 1)
        )
        return np.maximum(estimate.mean - half, low), np.minimum(estimate.mean + half, high)

    def p_values(self, values: np.ndarray, estimate: Estimate) -> np.ndarray:
        """Return p-values: 1 minus the level at which the interval's half-width equals the absolute mean."""
        low, high = self._limits(values)
        linear = 7.0 * (high - low) / (3.0 * np.maximum(estimate.n_runs - 1, 1))
        root = estimate.standard_error * np.sqrt(2.0)
        with np.errstate(divide="ignore", invalid="ignore"):
            log = ((np.sqrt(root**2 + 4.0 * linear * np.abs(estimate.mean)) - root) / (2.0 * linear)) ** 2
        return np.minimum(4.0 * np.exp(-log), 1.0)

    def after(self, rounds: ArrayLike) -> Self:
        """Return the interval for sums over `rounds` rounds, whose limits are `rounds` times as large."""
        return type(self)(np.asarray(self.low) * rounds, np.asarray(self.high) * rounds)

    def of_difference(self) -> Self:
        """The interval with the limits of a difference."""
        width = np.asarray(self.high) - np.asarray(self.low)
        return type(self)(-width, width)

    def _limits(self, values: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return the limits [L, *rest] of `values`; raises an error if a value lies outside by more than rounding."""
        shape = (len(values), *values.shape[2:])
        low, high = (np.broadcast_to(np.asarray(limit, float), shape) for limit in (self.low, self.high))
        rounding = ROUNDING * np.maximum(np.abs(low), np.abs(high))
        outside = (values < (low - rounding)[:, None]) | (values > (high + rounding)[:, None])
        if outside.any():
            limits = f"{type(self).__name__} over {check.quote(self.low)} to {check.quote(self.high)}"
            raise ArgumentError("interval", f"must enclose all values (got {limits}, {values[outside][0]:.6g})")
        return low, high


@cites("waudbysmith2024estimating")
@dataclasses.dataclass(frozen=True)
class Betting(Bounded):
    """Betting interval, for bounded quantities: valid for any distribution, and for all numbers of runs at once.

    Error rate: at most 1 - level for all numbers of runs together, if the values of all runs lie between the limits. So
    you can look at the interval at any time, and stop when it is narrow. It is often narrower than `Bounded`.

    The interval contains the means m under which no gambler becomes rich. The gamblers bet that the mean is above m,
    with the stakes 1, 1/2, 1/4, ..., 2^-11 of the largest stake that cannot lose more than the capital, and others bet
    that it is below m. If m is the mean, then the average capital of both sides is a martingale, which exceeds 1 / (1 -
    level) with probability 1 - level at most (Ville's inequality). The order of the runs does not matter.

    Args:
        low: the smallest value that the quantity can have in one round.
        high: the largest value that the quantity can have in one round.
        quantity: the quantity with these limits, such as "regret"; None for any. A result with this interval uses
            `Anytime` for its other quantities.

    Raises:
        ValueError: a limit is not finite, or `low` is above `high`.

    References:
        Waudby-Smith and Ramdas (2024), "Estimating means of bounded random variables by betting", Journal of the Royal
        Statistical Society B 86: the hedged capital process, with a mixture of fixed bets.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.results.statistics import mean_over_runs
        >>> estimate = mean_over_runs(np.zeros((1, 100)), interval=jo.intervals.Betting(0.0, 1.0))
        >>> estimate.low.tolist(), estimate.high.round(2).tolist()
        ([0.0], [0.06])
    """

    test: ClassVar[str] = "paired betting tests"

    def fewest_runs(self, half_width: float, level: float) -> int:
        """Return a number of runs below which no interval is this narrow, whatever the runs are."""
        width = float(np.max(np.asarray(self.high) - np.asarray(self.low)))
        if half_width >= width / 2:
            return 1
        return int(np.ceil(np.log(2.0 / (1.0 - level)) / -np.log1p(-2.0 * half_width / width)))

    def ends(self, values: np.ndarray, estimate: Estimate, level: float) -> tuple[Any, Any]:
        """Return the ends of the interval; see `ConfidenceInterval.ends`."""
        low, high = self._limits(values)
        runs, known = _columns(values, low, high), estimate.n_runs > 0
        threshold = np.log(2.0 / (1.0 - level))
        first = _lower_end(runs, threshold).reshape(low.shape)
        last = 1.0 - _lower_end(1.0 - runs, threshold).reshape(low.shape)
        first, last = (low + end * (high - low) for end in (first, last))
        return np.where(known, first, np.nan), np.where(known, last, np.nan)

    def p_values(self, values: np.ndarray, estimate: Estimate) -> np.ndarray:
        """Return p-values: 1 divided by the capital of the gamblers who bet that the mean is not 0."""
        low, high = self._limits(values)
        runs, zero = _columns(values, low, high), (0.0 - low) / np.where(high > low, high - low, 1.0)
        capital = np.maximum(_log_capital(runs, zero), _log_capital(1.0 - runs, 1.0 - zero))
        p = np.where((zero < 0) | (zero > 1), 0.0, np.minimum(2.0 * np.exp(-capital), 1.0))
        return np.where(estimate.n_runs > 0, p, np.nan)


def _columns(values: np.ndarray, low: np.ndarray, high: np.ndarray) -> Float[np.ndarray, "R S"]:
    """Return the values [L, R, *rest] as columns of runs, between 0 and 1 for the limits [L, *rest]; NaN stay."""
    width = np.where(high > low, high - low, 1.0)
    scaled = np.clip((values - low[:, None]) / width[:, None], 0.0, 1.0)
    return np.moveaxis(scaled, 1, 0).reshape(values.shape[1], low.size)


def _lower_end(runs: Float[np.ndarray, "R S"], threshold: float) -> Float[np.ndarray, "S"]:
    """Return for each column the largest m (up to 2^-30 of the mean) at which log capital reaches the threshold."""
    step = max(1, CHUNK_ENTRIES // max(1, len(runs)))
    parts = [_bisect(runs[:, i : i + step], threshold) for i in range(0, runs.shape[1], step)]
    return np.concatenate([np.empty(0), *parts])


def _bisect(runs: Float[np.ndarray, "R S"], threshold: float) -> Float[np.ndarray, "S"]:
    n_runs = np.maximum((~np.isnan(runs)).sum(axis=0), 1)
    low, high = np.zeros(runs.shape[1]), np.nansum(runs, axis=0) / n_runs  # at the mean of the runs, nobody has gained
    for _ in range(30):
        middle = (low + high) / 2
        reached = _log_capital(runs, middle) >= threshold
        low, high = np.where(reached, middle, low), np.where(reached, high, middle)
    return low


def _log_capital(runs: Float[np.ndarray, "R S"], m: Float[np.ndarray, "S"]) -> Float[np.ndarray, "S"]:
    """Return log of the mean over the stakes c of the products of 1 + c (run / m - 1) over the runs; NaN are left out.

    The products of 8 factors stay within the range of float64, and need one logarithm.
    """
    padded = np.pad(runs, ((0, -len(runs) % 8), (0, 0)), constant_values=np.nan).reshape(8, -1, runs.shape[1])
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        gains = padded / m - 1.0
        gains = np.where(np.isnan(gains), 0.0, gains)
        logs = [np.log((1.0 + stake * gains).prod(axis=0)).sum(axis=0) for stake in STAKES]
        return np.logaddexp.reduce(logs) - np.log(len(STAKES))
