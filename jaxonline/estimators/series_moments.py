"""Exact mean, second moment and expected queries of a series estimator, in float64 on the host.

As in `jaxonline.estimators.series`, `second_moment` is E (X - c)^2, the second moment of one factor.
"""

import math
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from jaxonline.estimators.count_distributions import Geometric, cost_aware, minimum_variance
from jaxonline.estimators.series import SeriesEstimator, check_finite_variance, effective_length
from jaxonline.losses.series import AnySeriesLoss, SeriesLoss, require_series
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.types import FiniteFloat, PositiveFloat, host_float


def truncation_bias(loss: AnySeriesLoss, estimator: SeriesEstimator, mean: float) -> float:
    """Return a bound on the bias |E theta - l'(E X)| from the terms of l' beyond the table, if E X = `mean`."""
    centre = host_float("centre", estimator.centre)
    return require_series("loss", loss).tail_bound(effective_length(estimator.coefficients), abs(mean - centre), centre)


def exact_mean(estimator: SeriesEstimator, mean: float) -> float:
    """Return the exact mean E theta = constant + sum gamma_n (E X - c)^n if E X = `mean`."""
    offset = mean - host_float("centre", estimator.centre)
    drawn = np.polynomial.polynomial.polyval(offset, np.asarray(estimator.coefficients, np.float64))
    return host_float("constant", estimator.constant) + float(drawn)


@validate_arguments
def exact_second_moment(
    estimator: SeriesEstimator, second_moment: PositiveFloat, mean: FiniteFloat | None = None
) -> float:
    """Return E theta^2 = sum gamma_n^2 (E (X - c)^2)^n / p_n, plus the constant's terms, which need `mean` = E X.

    For `Geometric(p)` this is the exact form of paper A, Lemma 1, p/(p-1) sum gamma_n^2 p^n (E X^2)^n. Raises a
    ValueError if E theta^2 is infinite (p E (X - c)^2 >= radius^2), or if `mean` is missing.

    Example:
        >>> from jaxonline.estimators import Geometric, SeriesEstimator
        >>> from jaxonline.estimators.series_moments import exact_second_moment
        >>> round(exact_second_moment(SeriesEstimator([0.0, 2.0], Geometric(2.0)), second_moment=1.0), 9)
        16.0
    """
    constant = host_float("constant", estimator.constant)
    drawn = _drawn_second_moment(estimator, second_moment)
    if constant == 0.0:
        return drawn
    if mean is None:
        raise ArgumentError("mean", "must be given if the estimator has a constant (got None)")
    return drawn + 2.0 * constant * (exact_mean(estimator, mean) - constant) + constant**2


@validate_arguments
def exact_variance(estimator: SeriesEstimator, second_moment: PositiveFloat, mean: FiniteFloat) -> float:
    """Return the variance of theta if E X = `mean`; raise a ValueError if it is infinite (p E (X - c)^2 >= radius^2).

    Example:
        >>> import jaxonline as jo
        >>> double = jo.estimators.SeriesEstimator([0.0, 2.0], jo.estimators.FiniteDistribution([0.0, 1.0]))
        >>> round(jo.estimators.series_moments.exact_variance(double, second_moment=1.5, mean=1.0), 9)  # 4 Var X
        2.0
    """
    drawn_mean = exact_mean(estimator, mean) - host_float("constant", estimator.constant)
    return _drawn_second_moment(estimator, second_moment) - drawn_mean**2


def expected_queries(estimator: SeriesEstimator) -> float:
    """Return E N, the expected number of copies: 1/(p-1) for `Geometric(p)`."""
    return estimator.law.mean()


def lemma1_bound(loss: AnySeriesLoss, p: float, second_moment: float, centre: float = 0.0) -> float:
    """Return the bound p/(p-1) l'_+(sqrt(p E (X - c)^2))^2 on the second moment (paper A, Lemma 1).

    Raises a ValueError if p <= 1 or p E (X - c)^2 >= radius^2.

    Example:
        >>> from jaxonline.estimators.series_moments import lemma1_bound
        >>> from jaxonline.losses import Squared
        >>> round(lemma1_bound(Squared(), 2.0, 1.0), 9)
        16.0
    """
    check_finite_variance(Geometric(p), second_moment, require_series("loss", loss).radius(centre))
    return p / (p - 1.0) * loss.majorant(math.sqrt(p * second_moment), centre) ** 2


class VarianceRow(NamedTuple):
    """Row of `variance_table`; `second_moment` and `variance` are inf if they are infinite."""

    loss: str
    """The name of the class of the loss."""
    law: str
    """`"geometric"`, `"minimum variance"` or `"cost-aware"`; plus `", constant outside"` if gamma_0 is not drawn."""
    p: float
    """Parameter of the geometric distribution; NaN for the others."""
    expected_queries: float
    second_moment: float
    variance: float


def variance_table(
    losses: Iterable[SeriesLoss],
    mean: float,
    second_moment: float,
    *,
    ps: Sequence[float] = (1.1, 1.25, 1.5, 2.0, 2.5, 3.0, 4.0),
    centre: float = 0.0,
) -> list[VarianceRow]:
    """Table of variance against expected queries, for geometric and for optimal distributions.

    Each loss has a row for each p, then rows for the minimum-variance and the cost-aware distribution, first without
    and then with the constant outside the draw.

    Args:
        losses: losses whose derivative at `mean` is estimated.
        mean: E X, the mean of the copies.
        second_moment: E X^2 of the copies X, not of X - centre; above mean^2 (otherwise a ValueError).
        ps: parameters of the geometric distribution.
        centre: point of expansion of all estimators.

    Example:
        >>> from jaxonline.estimators.series_moments import variance_table
        >>> from jaxonline.losses import Squared
        >>> rows = variance_table([Squared()], mean=1.0, second_moment=1.5, ps=[2.0])
        >>> [(row.law, round(row.expected_queries, 3), round(row.variance, 3)) for row in rows[:2]]
        [('geometric', 1.0, 20.0), ('minimum variance', 1.0, 2.0)]
    """
    check.number("second_moment", second_moment, gt=mean**2)
    moment = second_moment - 2.0 * centre * mean + centre**2
    laws = [("geometric", float(p), Geometric(p), False) for p in ps]
    laws += [
        (name + ", constant outside" * outside, math.nan, law, outside)
        for outside in (False, True)
        for name, law in (("minimum variance", minimum_variance), ("cost-aware", cost_aware))
    ]
    return [
        VarianceRow(type(loss).__name__, name, p, *_row(loss, law, outside, mean, moment, centre))
        for loss in losses
        for name, p, law, outside in laws
    ]


def _row(
    loss: AnySeriesLoss, law, outside: bool, mean: float, moment: float, centre: float
) -> tuple[float, float, float]:
    queries = law.mean() if isinstance(law, Geometric) else math.nan
    try:
        check_finite_variance(law, moment, require_series("losses", loss).radius(centre))
    except ValueError:
        return queries, math.inf, math.inf
    estimator = SeriesEstimator.for_loss(loss, law, moment, centre=centre, constant_outside=outside)
    second = exact_second_moment(estimator, moment, mean)
    return expected_queries(estimator), second, exact_variance(estimator, moment, mean)


def _drawn_second_moment(estimator: SeriesEstimator, second_moment: float) -> float:
    """Return E (theta - constant)^2 of a series estimator."""
    check_finite_variance(estimator.law, second_moment, estimator.radius)
    gammas = np.asarray(estimator.coefficients, np.float64)
    n = np.flatnonzero(gammas)
    logs = 2.0 * np.log(np.abs(gammas[n])) + n * math.log(second_moment) - estimator.law.log_table(len(gammas))[n]
    return math.fsum(np.exp(logs))
