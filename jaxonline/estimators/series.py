"""Unbiased estimates of functions of a mean from a random number of copies, and their exact moments."""

import dataclasses
import math
from collections.abc import Callable, Iterable, Sequence
from typing import Annotated, Any, NamedTuple, TypedDict

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from jaxonline.estimators.counts import (
    AnyCountDistribution,
    AnyLaw,
    CountDistribution,
    Geometric,
    Table,
    cost_aware,
    has_known_values,
    limit_counts,
    minimum_variance,
)
from jaxonline.losses.series import AnySeriesLoss, SeriesLoss, require_series
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import set_field, static, struct
from jaxonline.parameters.types import (
    Count,
    FiniteFloat,
    Ge,
    NonNegativeFloat,
    Number,
    OrInfinity,
    PositiveFloat,
    PositiveOrInfinity,
    host_float,
)

# ---------------------------------------------------------------------------------------------------------------------
# Unbiased estimates of f(E X) for a power series f, from a random number of independent copies of X.
#
# Let f(c + h) = sum gamma_n h^n. An estimate draws N, queries N copies and returns theta = (gamma_N / p_N) (X_1 - c)
# ... (X_N - c). Term n is estimated with probability p_n and weight 1/p_n, so E theta = f(E X).
#
# Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Online learning of noisy data with kernels" (COLT 2010), Lemma 1 and
# section 3.2. Distributions other than the geometric one, and the constant outside the draw, are not in Cesa-Bianchi et
# al. (2010a).
#
# `second_moment` always means E (X - c)^2 = Var X + (E X - c)^2, the second moment of one factor. The exact mean,
# second moment and number of queries are in `jaxonline.estimators.series`.


_MAX_TERMS = 1024
_TRUNCATION = 1e-20  # rest of a series relative to the whole
_REACH_TRUNCATION = 1e-9  # the same at the reach of a table; below the resolution of float32


class SeriesOptions(TypedDict, total=False):
    """Keyword arguments of `SeriesEstimator.for_loss`, which describes them."""

    centre: float
    constant_outside: bool
    n_terms: int | None
    reach: float | None
    max_copies: int | None


@cites("cesabianchi2010online")
@struct
class SeriesEstimator:
    """Unbiased estimator of a power series at a mean: theta = constant + (gamma_N / p_N) (X_1 - c) ... (X_N - c).

    theta is unbiased for the polynomial with the coefficients gamma_0 .. gamma_K. For a longer series the bias is at
    most `truncation_bias`. `for_loss` keeps so many terms of the derivative of a loss that the bias is negligible for
    |E X - c| <= `reach`. If N exceeds K, the estimate costs no copies and is the constant. The loop over the copies
    ends at N; the number N has no cap.

    Args:
        coefficients: the coefficients gamma_0 .. gamma_K of the power series.
        law: distribution of N, positive wherever gamma_n != 0 (otherwise a ValueError).
        centre: the point of expansion c.
        constant: a number that is added to every estimate.
        radius: radius of convergence of the whole series, used to check the variance.
        reach: largest |E X - c| for which the terms beyond the table are of the size of rounding; inf for a polynomial.

    Example:
        >>> import jax, jaxonline as jo
        >>> square = jo.estimators.SeriesEstimator([0.0, 0.0, 1.0], jo.estimators.FiniteDistribution([0.0, 0.0, 1.0]))
        >>> float(square.estimate(jax.random.key(0), lambda key: 3.0))
        9.0
    """

    coefficients: Table
    law: AnyCountDistribution
    roots: np.ndarray = dataclasses.field(init=False, repr=False)
    """sign(gamma_n) |gamma_n|^(1/n), a factor for each copy; float32 cannot hold 1/n! times x^n."""
    centre: Number = 0.0
    constant: Number = 0.0
    radius: PositiveOrInfinity = static(default=math.inf)
    reach: Annotated[Number, Ge(0), OrInfinity()] = math.inf

    def __post_init__(self) -> None:
        table = self.coefficients
        if not isinstance(self.law, Geometric) and has_known_values(self.law):
            undrawn = np.flatnonzero((table != 0.0) & np.isneginf(self.law.log_table(len(table))))
            if len(undrawn):
                n = int(undrawn[0])
                raise ArgumentError(
                    "law", f"must give n = {n} a probability above 0 (got 0); the coefficient is {table[n]:g}"
                )
        set_field(self, "roots", np.sign(table) * np.abs(table) ** (1.0 / np.maximum(np.arange(len(table)), 1)))

    @classmethod
    @validate_arguments
    def for_loss(
        cls,
        loss: AnySeriesLoss,
        law: AnyLaw,
        second_moment: PositiveFloat,
        *,
        centre: FiniteFloat = 0.0,
        constant_outside: bool = False,
        n_terms: Count | None = None,
        reach: NonNegativeFloat | None = None,
        max_copies: Count | None = None,
    ) -> "SeriesEstimator":
        """Make the estimator of l'(E X) for a loss l, with enough coefficients and a finite variance.

        If `second_moment` is at least E (X - c)^2, the table of coefficients is long enough for any E X. A smaller
        `second_moment` may end the table too early: theta is then biased where |E X - c| exceeds the estimator's
        `reach`. With an explicit `reach` the second moment may be a guess, which affects the variance only.

        Args:
            loss: a `SeriesLoss` (otherwise a TypeError), whose derivative is estimated.
            law: a distribution (`Geometric` or your own, see `CountDistribution`), `minimum_variance`,
                `cost_aware`, or a function of the coefficients, the second moment and the radius that returns one.
            second_moment: E (X - c)^2, or a bound on it. Raises a ValueError if the variance is infinite, because
                `second_moment` (p times it for a geometric distribution) is radius^2 or more.
            centre: the point of expansion c.
            constant_outside: whether to add gamma_0 to every estimate instead of drawing it as the stratum N = 0. The
                constant lowers the variance; the optimal distributions then request at least one copy for each
                estimate.
            n_terms: length of the table of coefficients. By default it is the shortest length for which the rest of the
                series is below 1e-20 of its majorant, at the second moment of the weighted factors and at `reach`. Set
                `n_terms` to give several estimators tables of equal length, as `stack` requires. Raises a ValueError if
                more than 1024 terms are needed, or if `n_terms` is too small for `reach`.
            reach: bound on |E X - c|; by default the root of the second moment. The attribute `reach` of the estimator
                is larger: there the rest of the series is 1e-9 of the sum of |gamma_n| reach^n.
            max_copies: limit on the number of copies; None for no limit. N is drawn given N <= `max_copies`, and the
                later terms of the series are the bias of theta.

        Example:
            >>> import jaxonline as jo
            >>> law = jo.estimators.Geometric(2.0)
            >>> len(jo.estimators.SeriesEstimator.for_loss(jo.losses.Exponential(), law, 0.5).coefficients)
            21
        """
        radius = require_series("loss", loss).radius(centre)
        check_finite_variance(law, second_moment, radius)
        mean_reach = math.sqrt(second_moment) if reach is None else float(reach)
        farthest = max(math.sqrt(_variance_factor(law) * second_moment), mean_reach)
        gammas = loss.coefficients(n_required_terms(loss, farthest, centre) if n_terms is None else n_terms, centre)
        rest = loss.tail_bound(effective_length(gammas), farthest, centre)
        if n_terms is None and rest > 1e-15 * loss.majorant(farthest, centre):
            name, got = ("reach", reach) if farthest == reach else ("second_moment", second_moment)
            raise ArgumentError(
                name, f"must be smaller (got {got:g}); it needs coefficients that overflow or underflow float64"
            )
        computed_reach = table_reach(loss, gammas, centre)
        if computed_reach < mean_reach:
            raise ArgumentError(
                "n_terms",
                f"must be at least {n_required_terms(loss, mean_reach, centre)} for |E X - c| up to "
                f"{mean_reach:g} (got {n_terms}, enough up to {computed_reach:.3g})",
            )
        constant = gammas[0] if constant_outside else 0.0
        if constant_outside:
            gammas[0] = 0.0
        if max_copies is not None and max_copies + 1 < len(gammas):
            gammas = gammas[: max_copies + 1]
            computed_reach = table_reach(loss, gammas, centre)
        distribution = law if isinstance(law, CountDistribution) else law(gammas, second_moment, radius)
        if max_copies is not None:
            distribution = limit_counts(distribution, max_copies)
        return cls(gammas, distribution, centre, float(constant), radius, computed_reach)

    @validate_arguments
    def mean_bound(self, distance: NonNegativeFloat) -> float:
        """Bound on |E theta| if E X is within `distance` of the centre: the sum of the absolute terms of the series."""
        drawn = np.polynomial.polynomial.polyval(distance, np.abs(self.coefficients))
        return abs(host_float("constant", self.constant)) + float(drawn)

    def estimate(self, key: jax.Array, draw: Callable[[jax.Array], ArrayLike]) -> Float[Array, "*shape"]:
        """Draw an estimate theta. `draw(key)` returns a copy of X: a number, or an array estimated entry by entry."""
        key_n, key_copies = jax.random.split(key)
        return self.estimate_given(key_copies, self.law.sample(key_n), draw)

    def estimate_given(
        self, key: jax.Array, n: ArrayLike, draw: Callable[[jax.Array], ArrayLike]
    ) -> Float[Array, "*shape"]:
        """Draw an estimate given N = n, with weight 1/p_n; its mean is constant + gamma_n (E X - c)^n / p_n."""
        shape = jax.eval_shape(lambda key: jnp.asarray(draw(key)), key)
        n = jnp.asarray(n, jnp.int32)
        start, factor = self._weight(n, shape.dtype)
        centre = jnp.asarray(self.centre, shape.dtype)

        def multiply(j, product):
            return product * (factor * (jnp.asarray(draw(jax.random.fold_in(key, j))) - centre))

        used = jnp.where(n < len(self.coefficients), n, 0)
        product = jax.lax.fori_loop(jnp.zeros((), jnp.int32), used, multiply, jnp.broadcast_to(start, shape.shape))
        return jnp.asarray(self.constant, shape.dtype) + product

    def estimate_from(self, copies: Float[Array, "k"], n: ArrayLike) -> Float[Array, ""]:
        """Compute the estimate conditional on N = n from the first n of the k given copies."""
        n = jnp.asarray(n, jnp.int32)
        start, factor = self._weight(n, copies.dtype)
        factors = factor * (copies - jnp.asarray(self.centre, copies.dtype))
        product = jnp.prod(jnp.where(jnp.arange(len(copies), dtype=n.dtype) < n, factors, jnp.ones((), copies.dtype)))
        return jnp.asarray(self.constant, copies.dtype) + start * product

    def _weight(self, n: jax.Array, dtype: jnp.dtype) -> tuple[jax.Array, jax.Array]:
        """Split gamma_n / p_n into a first factor (the sign; the whole number if n = 0) and a factor for each copy."""
        roots, log_p = jnp.asarray(self.roots).astype(dtype), self.law.log_pmf(n).astype(dtype)
        inside = (n < len(roots)) & jnp.isfinite(log_p)
        root = jnp.where(inside, roots[jnp.minimum(n, len(roots) - 1)], 0.0)
        factor = jnp.abs(root) * jnp.exp(-jnp.where(inside, log_p, 0.0) / jnp.maximum(n, 1).astype(dtype))
        return jnp.where(n == 0, jnp.sign(root) * factor, jnp.sign(root)), factor


def effective_length(coefficients: Table) -> int:
    """Length of a table of coefficients without trailing zeros."""
    nonzero = np.flatnonzero(np.asarray(coefficients))
    return int(nonzero[-1]) + 1 if len(nonzero) else 0


def n_required_terms(loss: AnySeriesLoss, reach: float, centre: float = 0.0) -> int:
    """Number of coefficients of l' after which the rest of sum |gamma_n| reach^n is below 1e-20 of the whole.

    Raises a TypeError if `loss` has no series, and a ValueError if `reach` is outside the disc of convergence, the sum
    overflows float64, or more than 1024 terms are needed.
    """
    total = require_series("loss", loss).majorant(reach, centre)
    if not math.isfinite(total):
        raise ArgumentError(
            "reach",
            "must be inside the disc of convergence and in the range of float64 "
            f"(got {reach:g}, where the sum of |gamma_n| reach^n about {centre:g} is {total:g})",
        )
    low, high = 0, 16
    while loss.tail_bound(high, reach, centre) > _TRUNCATION * total:
        if high >= _MAX_TERMS:
            raise ArgumentError(
                "reach",
                f"must be further inside the disc of convergence with radius {loss.radius(centre):g} "
                f"(got {reach:g}, where the series needs more than {_MAX_TERMS} terms)",
            )
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if loss.tail_bound(middle, reach, centre) <= _TRUNCATION * total else (middle, high)
    return high


def table_reach(loss: AnySeriesLoss, coefficients: Table, centre: float) -> float:
    """Largest |E X - c| at which the terms beyond the table are at most 1e-9 of its sum; inf for a whole polynomial."""
    sizes, used = np.abs(np.asarray(coefficients, np.float64)), effective_length(coefficients)
    if loss.degree is not None and used > loss.degree:
        return math.inf

    def suffices(a: float) -> bool:
        total = float(np.polynomial.polynomial.polyval(a, sizes))
        return math.isfinite(total) and loss.tail_bound(used, a, centre) <= _REACH_TRUNCATION * total

    low, high = 0.0, min(1.0, loss.radius(centre))
    while high < loss.radius(centre) and suffices(high):
        low, high = high, min(2.0 * high, loss.radius(centre))
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if suffices(middle) else (low, middle)
    return low


@validate_arguments
def check_finite_variance(law: Any, second_moment: PositiveFloat, radius: float) -> None:
    """Raise a ValueError unless E (X - c)^2 < radius^2 (times p for `Geometric(p)`): the variance would be infinite."""
    factor = _variance_factor(law)
    if factor * second_moment >= radius**2:
        name = f"p * second_moment (p = {factor:g})" if isinstance(law, Geometric) else "second_moment"
        raise ArgumentError(
            name,
            f"must be below radius^2 = {radius**2:g} (got {factor * second_moment:g}); the series diverges, so the "
            f"variance of the estimator is infinite",
        )


def _variance_factor(law: Any) -> float:
    return host_float("p", law.p) if isinstance(law, Geometric) else 1.0


# ---------------------------------------------------------------------------------------------------------------------
# Exact mean, second moment and expected queries of a series estimator, in float64 on the host.
#
# As in `jaxonline.estimators.series`, `second_moment` is E (X - c)^2, the second moment of one factor.


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

    For `Geometric(p)` this is the exact form of Cesa-Bianchi et al. (2010a), Lemma 1, p/(p-1) sum gamma_n^2 p^n (E
    X^2)^n. Raises a ValueError if E theta^2 is infinite (p E (X - c)^2 >= radius^2), or if `mean` is missing.

    Example:
        >>> from jaxonline.estimators import Geometric, SeriesEstimator
        >>> from jaxonline.estimators.series import exact_second_moment
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
        >>> round(jo.estimators.series.exact_variance(double, second_moment=1.5, mean=1.0), 9)  # 4 Var X
        2.0
    """
    drawn_mean = exact_mean(estimator, mean) - host_float("constant", estimator.constant)
    return _drawn_second_moment(estimator, second_moment) - drawn_mean**2


def expected_queries(estimator: SeriesEstimator) -> float:
    """Return E N, the expected number of copies: 1/(p-1) for `Geometric(p)`."""
    return estimator.law.mean()


def lemma1_bound(loss: AnySeriesLoss, p: float, second_moment: float, centre: float = 0.0) -> float:
    """Return the bound p/(p-1) l'_+(sqrt(p E (X - c)^2))^2 on the second moment (Cesa-Bianchi et al. 2010a, Lemma 1).

    Raises a ValueError if p <= 1 or p E (X - c)^2 >= radius^2.

    Example:
        >>> from jaxonline.estimators.series import lemma1_bound
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
        >>> from jaxonline.estimators.series import variance_table
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
