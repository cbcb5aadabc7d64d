"""Estimates of f(E X) from polynomials Q_0, Q_1, ..., Q_K that converge to f, for an f without a power series.

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
"""

import math
from collections.abc import Callable
from fractions import Fraction
from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from jaxonline.estimators.count_distributions import distribution_from_magnitudes
from jaxonline.estimators.count_protocol import AnyCountDistribution
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import (
    Convert,
    Count,
    FiniteFloat,
    NonNegativeFloat,
    Number,
    Positive,
    PositiveFloat,
    Shape,
    Takes,
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
        >>> from jaxonline.estimators.sequences import PolynomialSequence
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
        >>> from jaxonline.estimators.sequences import PolynomialSequence, PolynomialSequenceEstimator
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
            >>> from jaxonline.estimators.sequences import PolynomialSequence, PolynomialSequenceEstimator
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
        >>> from jaxonline.estimators import chebyshev
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
        >>> from jaxonline.estimators import bernstein
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
