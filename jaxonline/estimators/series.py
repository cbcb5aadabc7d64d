"""Unbiased estimates of f(E X) from a random number of independent copies of X, for a power series f.

f(c + h) = sum gamma_n h^n. Draw N, query N copies, return theta = (gamma_N / p_N) (X_1 - c) ... (X_N - c): each
term of the series is estimated with the probability p_n and the weight 1/p_n, so that E theta = f(E X).

Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Online learning of noisy data with kernels" (COLT 2010), Lemma 1 and
section 3.2; the laws other than the geometric one, and the constant kept out of the draw, go beyond the paper.

Everywhere below, `second_moment` is E (X - c)^2 = Var X + (E X - c)^2, the second moment of one factor. The exact
mean, second moment and number of queries of an estimator are in `jaxonline.estimators.series_moments`.
"""

import dataclasses
import math
from collections.abc import Callable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from jaxonline.estimators.count_distributions import CountDistribution, FiniteDistribution, Geometric, Table
from jaxonline.losses.series import AnySeriesLoss, require_series
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.numbers import host_float
from jaxonline.parameters.struct import set_field, static, struct
from jaxonline.parameters.types import (
    Count,
    FiniteFloat,
    NonNegativeFloat,
    Number,
    PositiveFloat,
)
from jaxonline.parameters.validation import validate_arguments

_MAX_TERMS = 1024
_PRECISION = 1e-20
_ROUNDING = 1e-9  # below what float32 can tell apart


@cites("cesabianchi2010online")
@struct
class SeriesEstimator:
    """theta = constant + (gamma_N / p_N) (X_1 - c) ... (X_N - c), with N drawn from a law.

    The coefficients are a table, gamma_0 .. gamma_K: theta is unbiased for the polynomial they make. `for_loss` takes
    the terms of the derivative of a loss that matter where |E X - c| is at most `reach`; further out theta is biased
    by what the table leaves out, of which `truncation_bias` is a bound.
    A draw of N above K costs no copies and gives the constant. All loops run to the N that was drawn: no cap.

    Args:
        coefficients: gamma_0 .. gamma_K, a vector.
        law: the law of N, a `Geometric` or a `FiniteDistribution`, which must reach every n with gamma_n != 0.
        centre: c, the point of expansion.
        constant: added to every estimate.
        radius: the radius of convergence of the whole series, for the check of the variance.
        reach: where |E X - c| is at most this, what the table leaves out of the series is rounding; inf for a
            polynomial that is all there.

    Raises:
        ValueError: a law that never draws an n with gamma_n != 0.

    Example:
        >>> import jax
        >>> from jaxonline.estimators.count_distributions import FiniteDistribution
        >>> from jaxonline.estimators.series import SeriesEstimator
        >>> square = SeriesEstimator([0.0, 0.0, 1.0], FiniteDistribution([0.0, 0.0, 1.0]))
        >>> float(square.estimate(jax.random.key(0), lambda key: 3.0))
        9.0
    """

    coefficients: Table
    law: CountDistribution
    roots: np.ndarray = dataclasses.field(init=False, repr=False)
    """sign(gamma_n) |gamma_n|^(1/n): a factor for each copy, so that float32 meets no 1/n! times x^n."""
    centre: Number = 0.0
    constant: Number = 0.0
    radius: float = static(default=math.inf)
    reach: ArrayLike = math.inf

    def __post_init__(self):
        table = self.coefficients
        if isinstance(self.law, FiniteDistribution):
            missed = np.flatnonzero((table != 0.0) & np.isneginf(self.law.log_table(len(table))))
            if len(missed):
                n = int(missed[0])
                raise ArgumentError(
                    "law", f"must give n = {n} a probability above 0 (got 0); the coefficient is {table[n]:g}"
                )
        set_field(self, "roots", np.sign(table) * np.abs(table) ** (1.0 / np.maximum(np.arange(len(table)), 1)))

    @classmethod
    @validate_arguments
    def for_loss(
        cls,
        loss: AnySeriesLoss,
        law: Geometric | Callable[..., CountDistribution],
        second_moment: PositiveFloat,
        *,
        centre: FiniteFloat = 0.0,
        constant_outside: bool = False,
        n_terms: Count | None = None,
        reach: NonNegativeFloat | None = None,
    ) -> "SeriesEstimator":
        """The estimator of l'(E X) for a loss l, with enough coefficients and a finite variance.

        A right second moment is at least (E X - c)^2, so that the table is long enough whatever E X is. One that is too
        small costs more than variance: the table may end too early for E X, and theta is biased where |E X - c| is
        above `reach`. With a `reach` of your own the second moment may be a guess, which costs variance only.

        Args:
            loss: its derivative is estimated; a `SeriesLoss`.
            law: a `Geometric` law, or `minimum_variance` or `cost_aware` (or any function of the coefficients, the
                second moment and the radius that returns a law).
            second_moment: E (X - c)^2, or a bound on it.
            centre: c.
            constant_outside: return gamma_0 for certain instead of drawing it as the stratum N = 0. The variance
                falls, at the price of at least one copy for each estimate (with the laws made for the series).
            n_terms: length of the table; by default, the first for which the rest of the series, at the second
                moment of the weighted factors or at `reach`, is below 1e-20 of its majorant. Give it to `stack`
                estimators.
            reach: a bound on |E X - c|; by default the root of the second moment. The estimator's `reach` says how far
                its table goes, which is further: to where the rest of the series is 1e-9 of the sum of
                |gamma_n| reach^n.

        Raises:
            TypeError: `loss` has no series.
            ValueError: infinite variance (for a geometric law p E (X - c)^2 >= radius^2, else
                E (X - c)^2 >= radius^2), or a case so close to it that more than 1024 terms are needed; an `n_terms`
                with which the table does not go as far as `reach`.

        Example:
            >>> from jaxonline.estimators.count_distributions import Geometric, minimum_variance
            >>> from jaxonline.estimators.series import SeriesEstimator
            >>> from jaxonline.losses import Exponential, Squared
            >>> SeriesEstimator.for_loss(Squared(), minimum_variance, 2.0).law.probabilities.tolist()
            [0.0, 1.0]
            >>> len(SeriesEstimator.for_loss(Exponential(), Geometric(2.0), 0.5).coefficients)
            21
        """
        radius = require_series("loss", loss).radius(centre)
        check.instance(
            "law", law, isinstance(law, Geometric) or callable(law), "a Geometric, or a function that makes one"
        )
        check_finite_variance(law, second_moment, radius)
        mean_reach = math.sqrt(second_moment) if reach is None else float(reach)
        farthest = max(math.sqrt(_spread(law) * second_moment), mean_reach)
        gammas = loss.coefficients(n_required_terms(loss, farthest, centre) if n_terms is None else n_terms, centre)
        rest = loss.tail_bound(effective_length(gammas), farthest, centre)
        if n_terms is None and rest > 1e-15 * loss.majorant(farthest, centre):
            name, got = ("reach", reach) if farthest == reach else ("second_moment", second_moment)
            raise ArgumentError(
                name, f"must be smaller (got {got:g}, which needs terms whose coefficients float64 cannot hold)"
            )
        own_reach = table_reach(loss, gammas, centre)
        if own_reach < mean_reach:
            raise ArgumentError(
                "n_terms",
                f"must be at least {n_required_terms(loss, mean_reach, centre)} for |E X - c| up to "
                f"{mean_reach:g} (got {n_terms}, which do up to {own_reach:.3g})",
            )
        constant = gammas[0] if constant_outside else 0.0
        if constant_outside:
            gammas[0] = 0.0
        chosen = law if isinstance(law, Geometric) else law(gammas, second_moment, radius)
        return cls(gammas, chosen, centre, float(constant), radius, own_reach)

    def estimate(self, key: jax.Array, draw: Callable[[jax.Array], ArrayLike]) -> Float[Array, "*shape"]:
        """One estimate theta; `draw(key)` returns one copy of X.

        Args:
            key: consumed.
            draw: called with a new key for each copy; a number, or an array whose entries are estimated together.
        """
        key_n, key_copies = jax.random.split(key)
        return self.estimate_given(key_copies, self.law.sample(key_n), draw)

    def estimate_given(
        self, key: jax.Array, n: ArrayLike, draw: Callable[[jax.Array], ArrayLike]
    ) -> Float[Array, "*shape"]:
        """The estimate when N = n, with its weight 1/p_n; its mean is constant + gamma_n (E X - c)^n / p_n.

        Args:
            key: consumed by the copies.
            n: an integer, at least 0; may be traced.
            draw: as in `estimate`.
        """
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
        """The estimate when N = n from copies that are there already; the first n of them are used, n <= k."""
        n = jnp.asarray(n, jnp.int32)
        start, factor = self._weight(n, copies.dtype)
        factors = factor * (copies - jnp.asarray(self.centre, copies.dtype))
        product = jnp.prod(jnp.where(jnp.arange(len(copies), dtype=n.dtype) < n, factors, jnp.ones((), copies.dtype)))
        return jnp.asarray(self.constant, copies.dtype) + start * product

    def _weight(self, n: jax.Array, dtype: jnp.dtype) -> tuple[jax.Array, jax.Array]:
        """gamma_n / p_n as the first factor (the sign; all of it when n = 0) and the factor of each of n copies."""
        roots, log_p = jnp.asarray(self.roots).astype(dtype), self.law.log_pmf(n).astype(dtype)
        inside = (n < len(roots)) & jnp.isfinite(log_p)
        root = jnp.where(inside, roots[jnp.minimum(n, len(roots) - 1)], 0.0)
        factor = jnp.abs(root) * jnp.exp(-jnp.where(inside, log_p, 0.0) / jnp.maximum(n, 1).astype(dtype))
        return jnp.where(n == 0, jnp.sign(root) * factor, jnp.sign(root)), factor


def effective_length(coefficients: Table) -> int:
    """The length of a table of coefficients without the zeros at its end."""
    there = np.flatnonzero(np.asarray(coefficients))
    return int(there[-1]) + 1 if len(there) else 0


def n_required_terms(loss: AnySeriesLoss, reach: float, centre: float = 0.0) -> int:
    """How many coefficients of l' make the rest of sum |gamma_n| reach^n less than 1e-20 of the whole.

    Raises:
        TypeError: `loss` has no series.
        ValueError: `reach` outside the disc of convergence, the sum beyond float64, or more than 1024 terms needed.
    """
    total = require_series("loss", loss).majorant(reach, centre)
    if not math.isfinite(total):
        raise ArgumentError(
            "reach",
            "must be inside the disc of convergence and in the range of float64 "
            f"(got {reach:g}, where the sum of |gamma_n| reach^n about {centre:g} is {total:g})",
        )
    low, high = 0, 16
    while loss.tail_bound(high, reach, centre) > _PRECISION * total:
        if high >= _MAX_TERMS:
            raise ArgumentError(
                "reach",
                f"must be further inside the disc of convergence with radius {loss.radius(centre):g} "
                f"(got {reach:g}, where the series needs more than {_MAX_TERMS} terms)",
            )
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if loss.tail_bound(middle, reach, centre) <= _PRECISION * total else (middle, high)
    return high


def table_reach(loss: AnySeriesLoss, coefficients: Table, centre: float = 0.0) -> float:
    """The largest |E X - c| at which what l' has beyond a table of its coefficients is 1e-9 of the sum of the table's
    |gamma_n| |E X - c|^n or less; inf where the table has all of a polynomial."""
    sizes, used = np.abs(np.asarray(coefficients, np.float64)), effective_length(coefficients)
    if loss.degree is not None and used > loss.degree:
        return math.inf

    def suffices(a: float) -> bool:
        total = float(np.polynomial.polynomial.polyval(a, sizes))
        return math.isfinite(total) and loss.tail_bound(used, a, centre) <= _ROUNDING * total

    low, high = 0.0, min(1.0, loss.radius(centre))
    while high < loss.radius(centre) and suffices(high):
        low, high = high, min(2.0 * high, loss.radius(centre))
    for _ in range(40):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if suffices(middle) else (low, middle)
    return low


@validate_arguments
def check_finite_variance(
    law: CountDistribution | Callable[..., CountDistribution], second_moment: PositiveFloat, radius: float
) -> None:
    """Refuse a second moment at which the estimator of a series with this radius has infinite variance.

    A geometric law weighs term n by p^n: it needs p E (X - c)^2 < radius^2. Other laws need E (X - c)^2 < radius^2.

    Raises:
        ValueError: it is infinite; the message says why.
    """
    spread = _spread(law)
    if spread * second_moment >= radius**2:
        name = f"p * second_moment (p = {spread:g})" if isinstance(law, Geometric) else "second_moment"
        raise ArgumentError(
            name,
            f"must be below radius^2 = {radius**2:g} (got {spread * second_moment:g}); the series diverges "
            f"there and the variance of the estimator is infinite",
        )


def _spread(law: CountDistribution | Callable[..., CountDistribution]) -> float:
    return host_float("p", law.p) if isinstance(law, Geometric) else 1.0
