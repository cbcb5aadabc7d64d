"""Losses l(y_hat - y) of the residual of a regression."""

import itertools
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import ArrayLike
from scipy import special

from jaxonline.losses._erf import erf_series, erf_tail_bound, scaled_gaussian
from jaxonline.losses.base import ScalarLoss
from jaxonline.losses.series import SeriesLoss
from jaxonline.parameters import check
from jaxonline.parameters.numbers import as_floating, host_float
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Interval, Number, Positive


@struct
class Squared(SeriesLoss):
    """Squared loss l(a) = a^2 of a regression residual (paper A, Example 1); the derivative l'(a) = 2a has degree 1.

    Example:
        >>> from jaxonline.losses import Squared
        >>> float(Squared()(3.0, 1.0)), float(Squared().gradient(3.0, 1.0))
        (4.0, 4.0)
    """

    kind: ClassVar[str] = "regression"
    convex: ClassVar[bool] = True
    degree: ClassVar[int | None] = 1

    def value(self, a: ArrayLike) -> jax.Array:
        a = as_floating(a)
        return a * a

    def derivative(self, a: ArrayLike) -> jax.Array:
        return 2.0 * as_floating(a)

    def tail_bound(self, n_terms: int, a: float, centre: float = 0.0) -> float:
        return sum(([2.0 * abs(centre), 2.0 * a])[n_terms:], 0.0)

    def _series(self, centre: float) -> Iterator[Decimal]:
        yield 2 * Decimal(centre)
        yield Decimal(2)
        yield from itertools.repeat(Decimal(0))


@struct
class SmoothedAbsolute(SeriesLoss):
    """Smoothed absolute loss l(a) = a erf(sa) + e^(-s^2 a^2) / (s sqrt(pi)) of a residual.

    Source: paper A, Example 3, with errata E2 and E4. The derivative is l'(a) = erf(sa), and the majorant of its series
    about 0 is erfi(sa). As s grows, l(a) tends to the absolute loss |a|.

    Args:
        scale: s.

    Example:
        >>> from jaxonline.losses import SmoothedAbsolute
        >>> float(SmoothedAbsolute(4.0).value(-2.0))
        2.0
    """

    scale: Positive
    kind: ClassVar[str] = "regression"
    convex: ClassVar[bool] = True

    def value(self, a: ArrayLike) -> jax.Array:
        a = as_floating(a)
        s = jnp.asarray(self.scale, a.dtype)
        return scaled_gaussian(s, a) + a * jax.scipy.special.erf(s * a)

    def derivative(self, a: ArrayLike) -> jax.Array:
        a = as_floating(a)
        return jax.scipy.special.erf(jnp.asarray(self.scale, a.dtype) * a)

    def majorant(self, a: float, centre: float = 0.0) -> float:
        if centre == 0.0:
            return float(special.erfi(host_float("scale", self.scale) * check.non_negative("a", a)))
        return super().majorant(a, centre)

    def tail_bound(self, n_terms: int, a: float, centre: float = 0.0) -> float:
        scale = host_float("scale", self.scale)
        return erf_tail_bound(n_terms, a, scale, scale * centre)

    def _series(self, centre: float) -> Iterator[Decimal]:
        scale = Decimal(host_float("scale", self.scale))
        yield Decimal(math.erf(scale * Decimal(centre)))
        yield from erf_series(scale, scale * Decimal(centre))


@struct
class Absolute(ScalarLoss):
    """Absolute loss |a| of a residual; its minimiser is a median. At a = 0 the subgradient is 0.

    Example:
        >>> from jaxonline.losses import Absolute
        >>> float(Absolute()(1.0, 3.0)), float(Absolute().gradient(1.0, 3.0)), float(Absolute().gradient(3.0, 3.0))
        (2.0, -1.0, 0.0)
    """

    kind: ClassVar[str] = "regression"
    convex: ClassVar[bool] = True

    def value(self, a: ArrayLike) -> jax.Array:
        return jnp.abs(as_floating(a))

    def derivative(self, a: ArrayLike) -> jax.Array:
        return jnp.sign(as_floating(a))


@struct
class Huber(ScalarLoss):
    """Huber loss of a residual: a^2 / 2 if |a| <= delta, delta (|a| - delta / 2) otherwise; l' clips a.

    Source: Huber, "Robust estimation of a location parameter" (Annals of Mathematical Statistics, 1964).

    Args:
        delta: largest |a| at which the loss is a parabola.

    Example:
        >>> from jaxonline.losses import Huber
        >>> float(Huber(2.0)(1.0, 0.0)), float(Huber(2.0)(5.0, 0.0)), float(Huber(2.0).gradient(5.0, 0.0))
        (0.5, 8.0, 2.0)
    """

    delta: Positive
    kind: ClassVar[str] = "regression"
    convex: ClassVar[bool] = True

    def value(self, a: ArrayLike) -> jax.Array:
        clipped = self.derivative(a)
        return clipped * (as_floating(a) - 0.5 * clipped)

    def derivative(self, a: ArrayLike) -> jax.Array:
        a = as_floating(a)
        delta = jnp.asarray(self.delta, a.dtype)
        return jnp.clip(a, -delta, delta)


@struct
class Pinball(ScalarLoss):
    """Pinball (quantile) loss max((1 - tau) a, -tau a) of a residual a; its minimiser is the quantile `tau`.

    An outcome above the prediction costs `tau` per unit, an outcome below it costs 1 - tau. At a = 0 the subgradient is
    0. Source: Koenker and Bassett, "Regression quantiles" (Econometrica, 1978).

    Args:
        tau: level of the quantile.

    Example:
        >>> from jaxonline.losses import Pinball
        >>> float(Pinball(0.75)(1.0, 3.0)), float(Pinball(0.75)(3.0, 1.0)), float(Pinball(0.75).gradient(1.0, 3.0))
        (1.5, 0.5, -0.75)
    """

    tau: Annotated[Number, Interval(gt=0, lt=1)]
    kind: ClassVar[str] = "regression"
    convex: ClassVar[bool] = True

    def value(self, a: ArrayLike) -> jax.Array:
        a = as_floating(a)
        tau = jnp.asarray(self.tau, a.dtype)
        return jnp.maximum((1.0 - tau) * a, -tau * a)

    def derivative(self, a: ArrayLike) -> jax.Array:
        a = as_floating(a)
        tau = jnp.asarray(self.tau, a.dtype)
        return jnp.where(a > 0.0, 1.0 - tau, jnp.where(a < 0.0, -tau, 0.0 * a))
