"""Losses l(y * y_hat) of the margin of a classification, with labels y = +1 and -1."""

import itertools
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import ArrayLike
from scipy import special

from jaxonline.losses._erf import erf_series, erf_tail_bound, scaled_gaussian
from jaxonline.losses.base import ScalarLoss
from jaxonline.losses.series import SeriesLoss
from jaxonline.parameters import check
from jaxonline.parameters.numbers import as_floating, exp, host_float
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Positive


@struct
class Exponential(SeriesLoss):
    """Exponential loss l(a) = e^-a of a classification margin (paper A, Example 2, which prints e^+a: erratum E1).

    Example:
        >>> from jaxonline.losses import Exponential
        >>> float(Exponential()(0.0, 1.0)), Exponential().majorant(0.0)
        (1.0, 1.0)
    """

    kind: ClassVar[str] = "classification"
    convex: ClassVar[bool] = True

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
    """Smoothed hinge loss of a classification margin (paper A, Example 4, with errata E3 and E4).

    l(a) = (a-1)(erf(s(a-1)) - 1)/2 + e^(-s^2 (a-1)^2) / (2 s sqrt(pi)), l'(a) = (erf(s(a-1)) - 1)/2. As s grows, l(a)
    tends to the hinge loss max(1 - a, 0). Paper A prints the series of l' in powers of a - 1 (`centre=1`), with factors
    (y y_hat - 1). With `centre=0` the factors are y y_hat, and the coefficients of the series are Hermite numbers.

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
    convex: ClassVar[bool] = True

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
    convex: ClassVar[bool] = True
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
    convex: ClassVar[bool] = True

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
    limits: ClassVar[tuple[float, float]] = (0.0, 1.0)

    def value(self, a: ArrayLike) -> jax.Array:
        a = as_floating(a)
        return jnp.where(jnp.isnan(a), a, (a <= 0.0).astype(a.dtype))

    def derivative(self, a: ArrayLike) -> jax.Array:
        return jnp.zeros_like(as_floating(a))
