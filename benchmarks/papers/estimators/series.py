"""Estimates of functions that have no power series, or one whose coefficients decrease slowly.

Sequences of polynomials: estimates of f(E X) from polynomials Q_0, Q_1, ..., Q_K that converge to f, for an f without a
power series.

An estimate draws N, queries N copies and returns (Q'_N - Q'_(N-1)) / p_N with Q'_n(x_1, ..., x_n) = sum_i gamma_(n,i)
x_1 ... x_i and Q'_(-1) = 0. The mean of the estimate is exactly Q_K(E X).

The sequences end at a degree K, so the estimate of f(E X) has the bias Q_K(E X) - f(E X); see `PolynomialSequence.bias`
and `largest_bias`. An infinite sequence has no bias but is numerically useless. Products of independent copies estimate
only powers, and in the power basis the coefficients grow like (1 + sqrt 2)^n. The second moment grows like the square
of the coefficients. For f(x) = |x| the Chebyshev sequence has a second moment near 4,000 at n = 20 (where f^2 is 0.1),
and float64 rounding exceeds 1e-6 of f soon after n = 30. The coefficients of Bernstein's sequence grow more slowly, but
the sequence converges slowly.

For every infinite sequence and every distribution of N, the second moment is infinite unless f equals a power series
about the centre c wherever |x - c|^2 < E (X - c)^2 (the proof is in `benchmarks/papers`). So a
kink of f at such an x, as in the derivative of Huber's loss, excludes a finite second moment without bias.

Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Online learning of noisy data with kernels" (COLT 2010), section 3.2.

`DiscreteLomax` is a distribution of the number of copies with a polynomial tail, and `SemicircleAbsolute` a loss with
finitely many derivatives whose Taylor series has coefficients that decrease polynomially.
"""

import itertools
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from typing import Any, ClassVar, Literal

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int
from scipy import special

from jaxonline.estimators.counts import (
    AnyCountDistribution,
    CountDistribution,
    distribution_from_magnitudes,
    fine_uniform,
)
from jaxonline.estimators.gradient_length import GradientLength
from jaxonline.losses.series import SeriesLoss
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import (
    Annotated,
    Convert,
    Count,
    FiniteFloat,
    Gt,
    NonNegativeFloat,
    Number,
    Positive,
    PositiveFloat,
    Shape,
    Takes,
    as_floating,
    host_float,
)

_MAX_ROUNDING = 1e-6  # relative to max |f|
ArrayFunction = Annotated[Callable[[np.ndarray], np.ndarray], Takes("an array")]


def _as_triangular(value: Any, name: str) -> np.ndarray:
    table = check.finite_array(name, value, ndim=2).astype(np.float64)
    if table.shape[0] != table.shape[1] or np.triu(table, 1).any():
        raise ArgumentError(name, f"must be a square lower triangular matrix (got shape {table.shape})")
    return table


@struct
class PolynomialSequence:
    """Sequence of polynomials Q_0, ..., Q_K in z = (x - centre) / scale, stored as the differences Q_n - Q_(n-1).

    Args:
        differences: lower triangular matrix [K + 1, K + 1] (otherwise a ValueError); row n holds the power-basis
            coefficients of Q_n - Q_(n-1).
        centre: middle of the interval on which the Q_n approximate f.
        scale: half the length of the interval.

    Example:
        >>> from benchmarks.papers.estimators.series import PolynomialSequence
        >>> sequence = PolynomialSequence([[1.0, 0.0], [0.0, 2.0]])  # Q_0 = 1, Q_1 = 1 + 2 x
        >>> sequence.value(3.0)
        7.0
    """

    differences: Annotated[Any, Shape("K", "K"), Convert(_as_triangular)]
    centre: Number = 0.0
    scale: Positive = 1.0

    def value(self, x: float) -> float:
        """Return Q_K(x), the mean of the estimator if E X = x."""
        return float(self._values(np.array([x]))[0])

    def bias(self, f: Callable[[np.ndarray], np.ndarray], x: float) -> float:
        """Return the bias Q_K(x) - f(x) of the estimator if E X = x."""
        return self.value(x) - float(f(np.array([x], np.float64))[0])

    def largest_bias(self, f: Callable[[np.ndarray], np.ndarray], points: int = 4001) -> float:
        """Return the largest |Q_K - f| on a grid of the interval."""
        x = host_float("centre", self.centre) + host_float("scale", self.scale) * np.linspace(-1.0, 1.0, points)
        return float(np.max(np.abs(self._values(x) - f(x))))

    def rounding(self, dtype: Any = np.float64) -> float:
        """Return a bound on the rounding error of an estimate of type `dtype`: eps sum |differences|."""
        return float(jnp.finfo(dtype).eps) * float(np.abs(np.asarray(self.differences)).sum())

    def magnitudes(self, second_moment: float, mean: float) -> np.ndarray:
        """Return the roots of E (Q'_n - Q'_(n-1))^2 for n = 0 .. K, from E (X - centre)^2 and the mean E X.

        The variance is smallest if the p_n are proportional to these roots.
        """
        scale = host_float("scale", self.scale)
        m, b = (mean - host_float("centre", self.centre)) / scale, second_moment / scale**2
        table = np.asarray(self.differences, np.float64)
        n = np.arange(len(table))
        shared, unshared = np.minimum.outer(n, n), np.abs(np.subtract.outer(n, n))
        moments = b**shared * m**unshared  # E (z_1 ... z_i) (z_1 ... z_j)
        return np.sqrt(np.maximum(np.einsum("ni,ij,nj->n", table, moments, table), 0.0))

    def _values(self, x: np.ndarray) -> np.ndarray:
        z = (x - host_float("centre", self.centre)) / host_float("scale", self.scale)
        return np.polynomial.polynomial.polyval(z, np.asarray(self.differences, np.float64).sum(axis=0))


@cites("cesabianchi2010online")
@struct
class PolynomialSequenceEstimator:
    """Estimator theta = (Q'_N - Q'_(N-1)) / p_N with the mean Q_K(E X).

    Args:
        sequence: the polynomials.
        law: distribution of N, positive wherever Q_n differs from Q_(n-1) (otherwise a ValueError).

    Example:
        >>> import jax
        >>> from jaxonline.estimators import FiniteDistribution
        >>> from benchmarks.papers.estimators.series import PolynomialSequence, PolynomialSequenceEstimator
        >>> line = PolynomialSequence([[1.0, 0.0], [0.0, 2.0]])
        >>> estimator = PolynomialSequenceEstimator(line, FiniteDistribution([0.5, 0.5]))
        >>> float(estimator.estimate_given(jax.random.key(0), 1, lambda key: 3.0))  # 2 * 3 / 0.5
        12.0
    """

    sequence: PolynomialSequence
    law: AnyCountDistribution

    def __post_init__(self) -> None:
        needed = np.any(np.asarray(self.sequence.differences) != 0.0, axis=1)
        undrawn = np.flatnonzero(needed & np.isneginf(self.law.log_table(needed.size)))
        if len(undrawn):
            raise ArgumentError(
                "law", f"must give n = {undrawn[0]} a probability above 0 (got 0); Q_n differs from Q_(n-1) there"
            )

    @classmethod
    @validate_arguments
    def for_sequence(
        cls, sequence: PolynomialSequence, second_moment: PositiveFloat, mean: FiniteFloat = 0.0
    ) -> "PolynomialSequenceEstimator":
        """Make the estimator with the smallest variance for E (X - centre)^2 and E X; both numbers may be guesses.

        Example:
            >>> from benchmarks.papers.estimators.series import PolynomialSequence, PolynomialSequenceEstimator
            >>> line = PolynomialSequence([[1.0, 0.0], [0.0, 3.0]])
            >>> PolynomialSequenceEstimator.for_sequence(line, second_moment=1.0).law.probabilities.tolist()
            [0.25, 0.75]
        """
        needed = np.any(np.asarray(sequence.differences) != 0.0, axis=1)
        sizes = sequence.magnitudes(second_moment, mean)
        return cls(sequence, distribution_from_magnitudes(np.where(needed, np.maximum(sizes, 1e-300), 0.0)))

    def estimate(self, key: jax.Array, draw: Callable[[jax.Array], ArrayLike]) -> Float[Array, ""]:
        """Draw one estimate; `draw(key)` returns one copy of X."""
        key_n, key_copies = jax.random.split(key)
        return self.estimate_given(key_copies, self.law.sample(key_n), draw)

    def estimate_given(self, key: jax.Array, n: ArrayLike, draw: Callable[[jax.Array], ArrayLike]) -> Float[Array, ""]:
        """Draw an estimate given N = n, with the weight 1/p_n; its mean is (Q_n - Q_(n-1))(E X) / p_n."""
        dtype = jax.eval_shape(lambda key: jnp.asarray(draw(key)), key).dtype
        n = jnp.asarray(n, jnp.int32)
        table = jnp.asarray(self.sequence.differences).astype(dtype)
        centre, scale = jnp.asarray(self.sequence.centre, dtype), jnp.asarray(self.sequence.scale, dtype)
        inside = n < len(table)
        row = table[jnp.minimum(n, len(table) - 1)]

        def add(j, carry):
            total, product = carry
            product = product * ((jnp.asarray(draw(jax.random.fold_in(key, j))) - centre) / scale)
            return total + row[j + 1] * product, product

        first = (row[0], jnp.ones((), dtype))
        total, _ = jax.lax.fori_loop(jnp.zeros((), jnp.int32), jnp.where(inside, n, 0), add, first)
        weight = self.law.pmf(n).astype(dtype)
        drawable = inside & (weight > 0.0)
        return jnp.where(drawable, total / jnp.where(drawable, weight, 1.0), 0.0)

    def estimate_from(self, copies: Float[Array, "k"], n: ArrayLike) -> Float[Array, ""]:
        """Compute the estimate conditional on N = n from the first n of the k given copies; 0 if n > k."""
        n, k, dtype = jnp.asarray(n, jnp.int32), copies.shape[0], copies.dtype
        table = jnp.asarray(self.sequence.differences).astype(dtype)
        row = table[jnp.minimum(n, len(table) - 1)]
        row = jnp.pad(row, (0, max(k + 1 - len(table), 0)))[: k + 1]
        z = (copies - jnp.asarray(self.centre, dtype)) / jnp.asarray(self.sequence.scale, dtype)
        total = row[0] + jnp.sum(row[1:] * jnp.cumprod(z))
        weight = self.law.pmf(n).astype(dtype)
        drawable = (n < len(table)) & (n <= k) & (weight > 0.0)
        return jnp.where(drawable, total / jnp.where(drawable, weight, 1.0), 0.0)

    @validate_arguments
    def mean_bound(self, distance: NonNegativeFloat) -> float:
        """Bound on |Q_K(E X)| if E X is within `distance` of the centre: the sum of the absolute terms of Q_K."""
        coefficients = np.asarray(self.sequence.differences, np.float64).sum(axis=0)
        z = distance / host_float("scale", self.sequence.scale)
        return float(np.polynomial.polynomial.polyval(z, np.abs(coefficients)))

    @property
    def coefficients(self) -> Float[Array, "k"]:
        """Sums of the absolute coefficients of Q_n - Q_(n-1) for n = 0 .. K; 0 if an estimate with N = n is 0."""
        return jnp.sum(jnp.abs(jnp.asarray(self.sequence.differences)), axis=1)

    @property
    def constant(self) -> float:
        """The number that is added to every estimate: 0."""
        return 0.0

    @property
    def centre(self) -> Number:
        """Middle of the interval on which the polynomials approximate f."""
        return self.sequence.centre

    @property
    def reach(self) -> Number:
        """Largest |E X - centre| for which the polynomials approximate f: half the length of the interval."""
        return self.sequence.scale

    def exact_second_moment(self, second_moment: float, mean: float | None) -> float:
        """Return E theta^2 = sum_n E (Q'_n - Q'_(n-1))^2 / p_n; arguments as in `PolynomialSequence.magnitudes`.

        If `mean` is None, return an upper bound for every mean, from the absolute coefficients of Q_n - Q_(n-1).
        """
        if mean is None:
            table = np.abs(np.asarray(self.sequence.differences, np.float64))
            root = math.sqrt(second_moment) / host_float("scale", self.sequence.scale)
            squares = (table @ root ** np.arange(len(table))) ** 2
        else:
            squares = self.sequence.magnitudes(second_moment, mean) ** 2
        n = np.flatnonzero(squares)
        return math.fsum(squares[n] / np.exp(self.law.log_table(len(squares))[n]))


@struct
class SequenceLength(GradientLength):
    """Estimator g~ of the length of the gradient of a loss without a series: l' is replaced by a polynomial Q_K.

    g~ has the bias Q_K - l' (`sequence.largest_bias`) if the means of the factors are in the interval of the sequence.
    Its second moment grows exponentially with K if l' has a kink within the root of the second moment of the factors
    (erratum E39).

    Args:
        series: the estimator of the sequence of polynomials.
        kind: "classification" or "regression", as in the loss.

    Example:
        >>> from benchmarks.papers.estimators.series import SequenceLength, chebyshev
        >>> huber = chebyshev(lambda a: a.clip(-0.5, 0.5), 5, -1.0, 1.0)
        >>> length = SequenceLength.for_sequence(huber, "regression", second_moment=0.3)
        >>> round(length.series.law.mean(), 2), round(length.second_moment(0.3, mean=0.2), 2)
        (2.39, 0.46)
    """

    series: PolynomialSequenceEstimator

    @classmethod
    @validate_arguments
    def for_sequence(
        cls,
        sequence: PolynomialSequence,
        kind: Literal["classification", "regression"],
        second_moment: PositiveFloat,
        mean: FiniteFloat = 0.0,
    ) -> "SequenceLength":
        """Make the estimator, for guesses of E (X - centre)^2 and E X of one factor X."""
        return cls(PolynomialSequenceEstimator.for_sequence(sequence, second_moment, mean), kind)

    def second_moment(self, factor_moment: float, mean: float | None = None) -> float:
        """Return the exact E g~^2 for factors with E X^2 = `factor_moment`; without `mean`, a bound for every mean."""
        return self.series.exact_second_moment(factor_moment, mean)


@validate_arguments
def chebyshev(
    f: ArrayFunction, degree: Count, lower: FiniteFloat, upper: FiniteFloat, nodes: Count = 1024
) -> PolynomialSequence:
    """Chebyshev series of f on [lower, upper], truncated at each degree: Q_n - Q_(n-1) = c_n T_n.

    The polynomials are close to the best approximations of their degrees. The c_n are the coefficients of the
    polynomial that interpolates f at `nodes` Chebyshev points.

    Args:
        f: vectorised function, finite on the interval (otherwise a ValueError). E X must lie in the interval; copies of
            X may lie outside.
        degree: the last degree K. Raises a ValueError if float64 rounding exceeds 1e-6 max |f| at the given degree.
        lower: lower end of the interval.
        upper: upper end of the interval, above `lower` (otherwise a ValueError).
        nodes: number of interpolation points, above `degree`.

    Example:
        >>> from benchmarks.papers.estimators.series import chebyshev
        >>> chebyshev(np.square, 2, -1.0, 1.0).differences.round(9).tolist()
        [[0.5, 0.0, 0.0], [0.0, 0.0, 0.0], [-0.5, 0.0, 1.0]]
    """
    centre, scale = _interval(lower, upper)
    check.count("nodes", nodes, ge=degree + 1)
    angles = (np.arange(nodes) + 0.5) * np.pi / nodes
    values = _values(f, centre + scale * np.cos(angles))
    c = 2.0 / nodes * np.cos(np.outer(np.arange(degree + 1), angles)) @ values
    c[0] /= 2.0
    c[np.abs(c) < np.finfo(float).eps * np.abs(values).max()] = 0.0  # rounding of f
    table = np.zeros((degree + 1, degree + 1))
    for n in range(degree + 1):
        table[n, : n + 1] = c[n] * np.polynomial.chebyshev.cheb2poly(np.eye(n + 1)[n])
    return _make_sequence(table, centre, scale, values)


@validate_arguments
def bernstein(f: ArrayFunction, degree: Count, lower: FiniteFloat, upper: FiniteFloat) -> PolynomialSequence:
    """Bernstein polynomials of f on [lower, upper], of degree 0 (f at the centre) to K.

    The polynomials converge for every continuous f, but slowly: |Q_K - f| is at most 5/4 of the largest change of f
    over a fraction K^(-1/2) of the interval. For a smooth f this error decreases like 1/K. The coefficients are
    computed with exact rationals.

    Args:
        f: vectorised function, finite on the interval (otherwise a ValueError). E X must lie in the interval; copies of
            X may lie outside.
        degree: the last degree K. Raises a ValueError if float64 rounding exceeds 1e-6 max |f| at the given degree.
        lower: lower end of the interval.
        upper: upper end of the interval, above `lower` (otherwise a ValueError).

    Example:
        >>> from benchmarks.papers.estimators.series import bernstein
        >>> bernstein(np.square, 2, -1.0, 1.0).differences.tolist()
        [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [-0.5, 0.0, 0.5]]
    """
    centre, scale = _interval(lower, upper)
    table = [[Fraction(0)] * (degree + 1) for _ in range(degree + 1)]
    largest = np.zeros(1)
    previous = table[0]
    for n in range(degree + 1):
        values = _values(f, centre + scale * (np.linspace(-1.0, 1.0, n + 1) if n else np.zeros(1)))
        largest = np.maximum(largest, np.abs(values).max())
        current = _bernstein_row(values, degree)
        table[n] = [new - old for new, old in zip(current, previous, strict=True)]
        previous = current
    return _make_sequence(np.array([[float(entry) for entry in row] for row in table]), centre, scale, largest)


def _bernstein_row(values: np.ndarray, degree: int) -> list[Fraction]:
    """Return the power-basis coefficients in z of sum_k f_k C(n,k) ((1+z)/2)^k ((1-z)/2)^(n-k)."""
    n = len(values) - 1
    row = [Fraction(0)] * (degree + 1)
    for k, value in enumerate(values):
        weight = Fraction(float(value)) * math.comb(n, k) / 2**n
        for i in range(k + 1):
            for j in range(n - k + 1):
                row[i + j] += weight * math.comb(k, i) * math.comb(n - k, j) * (-1) ** j
    return row


def _interval(lower: float, upper: float) -> tuple[float, float]:
    check.number("upper", upper, gt=float(lower))
    return 0.5 * (lower + upper), 0.5 * (upper - lower)


def _values(f: Callable[[np.ndarray], np.ndarray], x: np.ndarray) -> np.ndarray:
    with np.errstate(all="ignore"):
        values = check.finite_array("f", f(x))
    return np.broadcast_to(values, x.shape).astype(np.float64)


def _make_sequence(table: np.ndarray, centre: float, scale: float, values: np.ndarray) -> PolynomialSequence:
    sequence = PolynomialSequence(table, centre, scale)
    largest = max(float(np.abs(values).max()), np.finfo(float).tiny)
    if sequence.rounding() > _MAX_ROUNDING * largest:
        raise ArgumentError(
            "degree",
            f"must be smaller (got {len(table) - 1}); rounding in float64 can change the estimate by "
            f"{sequence.rounding() / largest:.1g} of max |f|",
        )
    return sequence


_MAX_COPIES = 2.0**30  # of a draw, in the range of int32; probability 2^(-30 (exponent - 1))


@struct
class DiscreteLomax(CountDistribution):
    """Distribution of the number of copies with P(N >= n) = (1 + n)^(1 - a), so that P(N = n) ~ (a - 1) n^-a.

    It suits series with coefficients |gamma_n| ~ n^-b and a radius of convergence rho. With m = E X^2 of one copy, the
    second moment sum gamma_n^2 m^n / P(N = n) of a series estimator is finite if m < rho^2 (`Geometric(p)` requires
    p m < rho^2), and at m = rho^2 if and only if 2 b - a > 1. E N = zeta(a - 1) - 1 is finite if and only if a > 2.

    Source: the discrete form of Lomax, "Business failures: another example of the analysis of failure data" (Journal of
    the American Statistical Association, 1954), with scale 1.

    Args:
        exponent: a. For 1 < a <= 2, `mean` is inf.

    Example:
        >>> from benchmarks.papers.estimators.series import DiscreteLomax
        >>> law = DiscreteLomax(3.0)
        >>> float(law.pmf(0)), float(law.tail(1)), round(law.mean(), 4)  # pi^2 / 6 - 1
        (0.75, 0.25, 0.6449)
    """

    exponent: Annotated[Number, Gt(1)]

    def sample(self, key: jax.Array) -> Int[Array, ""]:
        a = as_floating(self.exponent)
        continuous = fine_uniform(key, a.dtype) ** (-1.0 / (a - 1.0)) - 1.0
        return jnp.minimum(continuous, jnp.asarray(_MAX_COPIES, a.dtype)).astype(jnp.int32)

    def log_pmf(self, n: ArrayLike) -> Float[Array, "*shape"]:
        a, n = as_floating(self.exponent), jnp.asarray(n)
        first = jnp.maximum(n + 1, 1).astype(a.dtype)
        step = -jnp.expm1((1.0 - a) * jnp.log1p(1.0 / first))  # 1 - P(N > n) / P(N >= n)
        return jnp.where(n >= 0, (1.0 - a) * jnp.log(first) + jnp.log(step), -jnp.inf)

    def tail(self, n: ArrayLike) -> Float[Array, "*shape"]:
        a = as_floating(self.exponent)
        return jnp.exp((1.0 - a) * jnp.log(jnp.maximum(jnp.asarray(n) + 1, 1).astype(a.dtype)))

    def log_table(self, n_terms: int) -> np.ndarray:
        a, first = host_float("exponent", self.exponent), np.arange(1.0, n_terms + 1.0)
        return (1.0 - a) * np.log(first) + np.log(-np.expm1((1.0 - a) * np.log1p(1.0 / first)))

    def mean(self) -> float:
        """E N = zeta(a - 1) - 1; inf for a <= 2."""
        a = host_float("exponent", self.exponent)
        return float(special.zeta(a - 1.0)) - 1.0 if a > 2.0 else np.inf


_PI = Decimal("3.14159265358979323846264338327950288419716939937510582097494")


@struct
class SemicircleAbsolute(SeriesLoss):
    """Absolute loss of a residual, smoothed by a semicircle: l(a) = E |a - width Z|, Z of density (2/pi) sqrt(1 - z^2).

    With u = a / width, l'(a) = (2/pi) (u sqrt(1 - u^2) + asin u) if |u| <= 1, and the sign of a otherwise. So l equals
    |a| from |a| = width on, where its second derivative is continuous and its third is not. Inside, l' has a Taylor
    series about c with the radius width - |c|; about 0 its coefficients are gamma_n width^n ~ n^-5/2. A series
    estimator has a finite second moment if E (X - c)^2 is below the squared radius (erratum E39).

    Args:
        width: |a| from which on the loss is |a|.

    Example:
        >>> from benchmarks.papers.estimators.series import SemicircleAbsolute
        >>> loss = SemicircleAbsolute(2.0)
        >>> float(loss.value(-3.0)), float(loss.derivative(3.0)), round(float(loss.derivative(1.0)), 4)
        (3.0, 1.0, 0.609)
    """

    width: Positive
    kind: ClassVar[str] = "regression"
    convex: ClassVar[bool] = True

    def value(self, a: ArrayLike) -> jax.Array:
        a = as_floating(a)
        u, is_inside = self._inside(a)
        smoothed = 2.0 / math.pi * (u * jnp.arcsin(u) + jnp.sqrt(1.0 - u * u) * (2.0 + u * u) / 3.0)
        return jnp.where(is_inside, smoothed * jnp.asarray(self.width, a.dtype), jnp.abs(a))

    def derivative(self, a: ArrayLike) -> jax.Array:
        a = as_floating(a)
        u, is_inside = self._inside(a)
        return jnp.where(is_inside, 2.0 / math.pi * (u * jnp.sqrt(1.0 - u * u) + jnp.arcsin(u)), jnp.sign(a))

    def _inside(self, a: jax.Array) -> tuple[jax.Array, jax.Array]:
        """Return u where |u| < 1, and 0 elsewhere, where automatic derivatives would be NaN."""
        u = a / jnp.asarray(self.width, a.dtype)
        is_inside = jnp.abs(u) < 1.0
        return jnp.where(is_inside, u, 0.0), is_inside

    def radius(self, centre: float = 0.0) -> float:
        """Return the radius of convergence, width - |centre|; 0 if the centre is not inside."""
        return max(host_float("width", self.width) - abs(centre), 0.0)

    def tail_bound(self, n_terms: int, a: float, centre: float = 0.0) -> float:
        # By Cauchy's estimate on the largest disc inside |u| <= 1, where |1 - u^2| <= 2, term n is at most
        # (4 sqrt(2) / pi) rho x^n / n, with x = a / radius and rho = radius / width.
        if a >= self.radius(centre):
            return math.inf
        x, rho = a / self.radius(centre), self.radius(centre) / host_float("width", self.width)
        first = max(n_terms, 1)
        rest = 4.0 * math.sqrt(2.0) / math.pi * rho * x**first / (first * (1.0 - x))
        return rest + (1.0 if n_terms == 0 else 0.0)

    def _series(self, centre: float) -> Iterator[Decimal]:
        width = Decimal(host_float("width", self.width))
        v = Decimal(centre) / width
        if abs(v) >= 1:
            raise ArgumentError("centre", f"must be inside (-width, width) = (-{width}, {width}) (got {centre:g})")
        yield Decimal(2 / math.pi * (float(v) * math.sqrt(1 - float(v) ** 2) + math.asin(float(v))))
        # sqrt(1 - u^2) solves (1 - u^2) g' + u g = 0, and l'' = 4 / (pi width) g
        previous, current = Decimal(0), (1 - v * v).sqrt()
        for n in itertools.count():
            yield 4 / _PI * current / ((n + 1) * width ** (n + 1))
            previous, current = (current, ((2 * n - 1) * v * current + (n - 2) * previous) / ((1 - v * v) * (n + 1)))
