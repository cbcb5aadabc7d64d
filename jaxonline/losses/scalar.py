"""Losses of a number: of residuals, margins, probabilities, intervals, and the squared distance of points."""

import itertools
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Annotated, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float
from scipy import special

from jaxonline.losses.base import ScalarLoss, erf_series, erf_tail_bound, scaled_gaussian
from jaxonline.losses.series import SeriesLoss
from jaxonline.parameters import check
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Interval, Number, Positive, as_floating, exp, host_float

# ---------------------------------------------------------------------------------------------------------------------
# Losses l(y_hat - y) of the residual of a regression.


@struct
class Squared(SeriesLoss):
    """Squared loss l(a) = a^2 of a regression residual; the derivative l'(a) = 2a has degree 1.

    Source: Cesa-Bianchi et al. (2010a), Example 1.

    Example:
        >>> from jaxonline.losses import Squared
        >>> float(Squared()(3.0, 1.0)), float(Squared().gradient(3.0, 1.0))
        (4.0, 4.0)
    """

    kind: ClassVar[str] = "regression"
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

    Source: Cesa-Bianchi et al. (2010a), Example 3, with errata E2 and E4. The derivative is l'(a) = erf(sa), and the
    majorant of its series about 0 is erfi(sa). As s grows, l(a) tends to the absolute loss |a|.

    Args:
        scale: s.

    Example:
        >>> from jaxonline.losses import SmoothedAbsolute
        >>> float(SmoothedAbsolute(4.0).value(-2.0))
        2.0
    """

    scale: Positive
    kind: ClassVar[str] = "regression"

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

    def value(self, a: ArrayLike) -> jax.Array:
        return jnp.abs(as_floating(a))

    def derivative(self, a: ArrayLike) -> jax.Array:
        return jnp.sign(as_floating(a))


@struct
class Huber(ScalarLoss):
    """Huber loss of a residual: a^2 / 2 if |a| <= delta, delta (|a| - delta / 2) otherwise.

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

    def value(self, a: ArrayLike) -> jax.Array:
        a = as_floating(a)
        tau = jnp.asarray(self.tau, a.dtype)
        return jnp.maximum((1.0 - tau) * a, -tau * a)

    def derivative(self, a: ArrayLike) -> jax.Array:
        a = as_floating(a)
        tau = jnp.asarray(self.tau, a.dtype)
        return jnp.where(a > 0.0, 1.0 - tau, jnp.where(a < 0.0, -tau, 0.0 * a))


# ---------------------------------------------------------------------------------------------------------------------
# Losses l(y * y_hat) of the margin of a classification, with labels y = +1 and -1.


@struct
class Exponential(SeriesLoss):
    """Exponential loss l(a) = e^-a of a classification margin.

    Source: Cesa-Bianchi et al. (2010a), Example 2, which prints e^+a (erratum E1).

    Example:
        >>> from jaxonline.losses import Exponential
        >>> float(Exponential()(0.0, 1.0)), Exponential().majorant(0.0)
        (1.0, 1.0)
    """

    kind: ClassVar[str] = "classification"

    def value(self, a: ArrayLike) -> jax.Array:
        return jnp.exp(-as_floating(a))

    def derivative(self, a: ArrayLike) -> jax.Array:
        return -jnp.exp(-as_floating(a))

    def majorant(self, a: float, centre: float = 0.0) -> float:
        return exp(host_float("a", check.non_negative("a", a)) - host_float("centre", centre))

    def tail_bound(self, n_terms: int, a: float, centre: float = 0.0) -> float:
        fraction = float(special.gammainc(n_terms, a)) if n_terms else 1.0
        return exp(a - centre + math.log(max(fraction, 1e-300)) + 1e-10)

    def _series(self, centre: float) -> Iterator[Decimal]:
        gamma = -Decimal(-centre).exp()
        for n in itertools.count(1):
            yield gamma
            gamma = -gamma / n


@struct
class SmoothedHinge(SeriesLoss):
    """Smoothed hinge loss of a classification margin (Cesa-Bianchi et al. 2010a, Example 4, with errata E3 and E4).

    l(a) = (a-1)(erf(s(a-1)) - 1)/2 + e^(-s^2 (a-1)^2) / (2 s sqrt(pi)), l'(a) = (erf(s(a-1)) - 1)/2. As s grows, l(a)
    tends to the hinge loss max(1 - a, 0). Cesa-Bianchi et al. (2010a) print the series of l' in powers of a - 1
    (`centre=1`), with factors (y y_hat - 1). With `centre=0` the factors are y y_hat, and the coefficients of the
    series are Hermite numbers.

    Args:
        scale: s.

    Example:
        >>> import numpy as np
        >>> from jaxonline.losses import SmoothedHinge
        >>> loss = SmoothedHinge(1.0)
        >>> round(float(loss.derivative(0.3)), 3)
        -0.839
        >>> round(float(loss.coefficients(40) @ 0.3 ** np.arange(40)), 3)
        -0.839
        >>> round(float(loss.coefficients(40, centre=1.0) @ (0.3 - 1.0) ** np.arange(40)), 3)
        -0.839
    """

    scale: Positive
    kind: ClassVar[str] = "classification"

    def value(self, a: ArrayLike) -> jax.Array:
        b = as_floating(a) - 1.0
        s = jnp.asarray(self.scale, b.dtype)
        return 0.5 * (scaled_gaussian(s, b) - b * jax.scipy.special.erfc(s * b))

    def derivative(self, a: ArrayLike) -> jax.Array:
        a = as_floating(a)
        return -0.5 * jax.scipy.special.erfc(jnp.asarray(self.scale, a.dtype) * (a - 1.0))

    def tail_bound(self, n_terms: int, a: float, centre: float = 0.0) -> float:
        scale = host_float("scale", self.scale)
        constant = 0.5 * math.erfc(scale * (centre - 1.0)) if n_terms == 0 else 0.0
        return constant + 0.5 * erf_tail_bound(max(n_terms, 1), a, scale, scale * (centre - 1.0))

    def _series(self, centre: float) -> Iterator[Decimal]:
        scale = Decimal(host_float("scale", self.scale))
        u = scale * (Decimal(centre) - 1)
        yield Decimal(-0.5 * math.erfc(u))
        yield from (gamma / 2 for gamma in erf_series(scale, u))


@struct
class Logistic(SeriesLoss):
    """Logistic loss l(a) = ln(1 + e^-a) of a classification margin.

    The derivative l'(a) = -1/(1 + e^a) is not entire: its series about `centre` has the radius of convergence sqrt(pi^2
    + centre^2). A series estimator with factors X has infinite variance if p E X^2 is at least the square of this
    radius.

    Example:
        >>> from jaxonline.losses import Logistic
        >>> Logistic().coefficients(4).round(6).tolist()
        [-0.5, 0.25, 0.0, -0.020833]
        >>> Logistic().majorant(3.2)
        inf
    """

    kind: ClassVar[str] = "classification"
    _max_terms: ClassVar[int] = 1 << 11

    def value(self, a: ArrayLike) -> jax.Array:
        return jax.nn.softplus(-as_floating(a))

    def derivative(self, a: ArrayLike) -> jax.Array:
        return -jax.nn.sigmoid(-as_floating(a))

    def radius(self, centre: float = 0.0) -> float:
        return math.hypot(math.pi, host_float("centre", centre))

    def majorant(self, a: float, centre: float = 0.0) -> float:
        if centre == 0.0:
            a = host_float("a", check.non_negative("a", a))
            return 0.5 + 0.5 * math.tan(0.5 * a) if a < math.pi else math.inf
        return super().majorant(a, centre)

    def tail_bound(self, n_terms: int, a: float, centre: float = 0.0) -> float:
        # from the partial fractions of tanh: |gamma_n| <= 2 sum_k rho_k^-(n+1) <= rho_0^-(n-1) / 4 for n >= 1.
        radius = self.radius(centre)
        if a >= radius:
            return math.inf
        constant = 1.0 / (1.0 + exp(centre)) if n_terms == 0 else 0.0
        return constant + 0.25 * radius * (a / radius) ** max(n_terms, 1) / (1.0 - a / radius)

    def _series(self, centre: float) -> Iterator[Decimal]:
        """Yield the Taylor coefficients of v = l'(a) = -1/(1 + e^a), which solves v' = -v (1 + v)."""
        gammas = [-1 / (1 + Decimal(centre).exp())]
        for n in itertools.count(1):
            yield gammas[-1]
            square = sum((gammas[i] * gammas[n - 1 - i] for i in range(n)), Decimal(0))
            gammas.append(-(gammas[-1] + square) / n)


@struct
class Hinge(ScalarLoss):
    """Hinge loss max(1 - a, 0) of a classification margin. At the kink a = 1 the subgradient is 0.

    Example:
        >>> from jaxonline.losses import Hinge
        >>> float(Hinge()(0.25, -1.0)), float(Hinge().gradient(0.25, -1.0)), float(Hinge().gradient(1.0, 1.0))
        (1.25, 1.0, 0.0)
    """

    kind: ClassVar[str] = "classification"

    def value(self, a: ArrayLike) -> jax.Array:
        return jnp.maximum(1.0 - as_floating(a), 0.0)

    def derivative(self, a: ArrayLike) -> jax.Array:
        a = as_floating(a)
        return jnp.where(a < 1.0, -jnp.ones_like(a), jnp.zeros_like(a))


@struct
class ZeroOne(ScalarLoss):
    """Zero-one loss of a classification margin, which counts mistakes: 1 if a <= 0, 0 if a > 0.

    A prediction of 0 is a mistake. The `gradient` is 0 everywhere, also at the jump, so a learner cannot learn from
    this loss: use it for the game, and another loss for the learner.

    Example:
        >>> from jaxonline.losses import ZeroOne
        >>> [float(ZeroOne()(y_hat, 1.0)) for y_hat in (0.3, 0.0, -0.3)], float(ZeroOne().gradient(-0.3, 1.0))
        ([0.0, 1.0, 1.0], 0.0)
    """

    kind: ClassVar[str] = "classification"

    def value(self, a: ArrayLike) -> jax.Array:
        a = as_floating(a)
        return jnp.where(jnp.isnan(a), a, (a <= 0.0).astype(a.dtype))

    def derivative(self, a: ArrayLike) -> jax.Array:
        return jnp.zeros_like(as_floating(a))


# ---------------------------------------------------------------------------------------------------------------------
# Losses of a predicted probability.


@struct
class LogLoss:
    """Log loss -ln P(y): -ln y_hat if y = 1, -ln(1 - y_hat) if y = 0.

    `y_hat` is the predicted probability of the label 1 (NaN outside [0, 1]). A label of predicted probability 0 costs
    inf, with an infinite gradient. Source: Cesa-Bianchi and Lugosi, "Prediction, Learning, and Games" (2006), chapter
    9.

    Example:
        >>> from jaxonline.losses import LogLoss
        >>> round(float(LogLoss()(0.5, 0.0)), 4), float(LogLoss().gradient(0.25, 1.0))
        (0.6931, -4.0)
    """

    def __call__(self, y_hat: ArrayLike, y: ArrayLike) -> Array:
        """Return the loss of the predicted probability `y_hat` of 1, for labels `y` (0 or 1) of the same shape."""
        p, y = _probability(y_hat), as_floating(y)
        return -jax.scipy.special.xlogy(y, p) - jax.scipy.special.xlog1py(1.0 - y, -p)

    def gradient(self, y_hat: ArrayLike, y: ArrayLike) -> Array:
        """Return (1 - y)/(1 - y_hat) - y/y_hat, with 0/0 = 0; `y` has the same shape."""
        p, y = _probability(y_hat), as_floating(y)
        return _ratio(1.0 - y, 1.0 - p) - _ratio(y, p)


def _probability(y_hat: ArrayLike) -> Array:
    p = as_floating(y_hat)
    return jnp.where((p >= 0.0) & (p <= 1.0), p, jnp.nan)


def _ratio(y: Array, p: Array) -> Array:
    """Return y / p, with 0 / 0 = 0."""
    return y / jnp.where((y == 0.0) & (p == 0.0), 1.0, p)


# ---------------------------------------------------------------------------------------------------------------------
# Losses of prediction sets that a threshold of scores describes.


# ---------------------------------------------------------------------------------------------------------------------
# Losses of a point in R^d, with a point as outcome. The linear loss <w, y> is `ExpectedLoss`.


@struct
class SquaredDistance:
    """Squared Euclidean distance |y_hat - y|^2 of two points.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.losses import SquaredDistance
        >>> w, y = jnp.array([1.0, 0.0]), jnp.array([0.0, 2.0])
        >>> float(SquaredDistance()(w, y)), SquaredDistance().gradient(w, y).tolist()
        (5.0, [2.0, -4.0])
    """

    def __call__(self, y_hat: Float[ArrayLike, "d"], y: Float[ArrayLike, "d"]) -> Float[Array, ""]:
        """Return |y_hat - y|^2."""
        difference = as_floating(y_hat) - as_floating(y)
        return jnp.vdot(difference, difference)

    def gradient(self, y_hat: Float[ArrayLike, "d"], y: Float[ArrayLike, "d"]) -> Float[Array, "d"]:
        """Return 2 (y_hat - y)."""
        return 2.0 * (as_floating(y_hat) - as_floating(y))
