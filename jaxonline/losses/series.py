"""Losses of a margin or a residual, which know the Taylor series of their derivative.

A loss is a function of one number `a`: the residual `a = y_hat - y` in regression, the margin `a = y * y_hat` in
classification. `value` and `derivative` are JAX functions for the simulation; `coefficients`, `tail_bound`,
`majorant` and `radius` describe the series of the derivative l'(centre + h) = sum gamma_n h^n, on the host, in
float64. The coefficients come from recurrences in 60-digit decimal arithmetic, so they are right to the last bit or
two even where a recurrence cancels, and neither overflow nor underflow happens on the way to them.

Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Online learning of noisy data with kernels" (COLT 2010), Examples 1
to 4, with errata E1 to E4.
"""

import itertools
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike
from scipy import special

from jaxonline._util import check
from jaxonline._util.numbers import floating, known
from jaxonline._util.struct import struct
from jaxonline.losses.base import Loss

__all__ = ["Exponential", "Logistic", "Loss", "SmoothedAbsolute", "SmoothedHinge", "Squared"]

_SQRT_PI = Decimal("1.77245385090551602729816748334114518279754945612238712821381")


@struct
class Squared(Loss):
    """The squared loss l(a) = a^2 of a regression residual (Example 1); l'(a) = 2a, of degree 1.

    Example:
        >>> from jaxonline.losses import Squared
        >>> float(Squared()(3.0, 1.0)), float(Squared().gradient(3.0, 1.0))
        (4.0, 4.0)
    """

    kind: ClassVar[str] = "regression"
    degree: ClassVar[int | None] = 1

    def value(self, a: ArrayLike) -> jax.Array:
        a = floating(a)
        return a * a

    def derivative(self, a: ArrayLike) -> jax.Array:
        return 2.0 * floating(a)

    def tail_bound(self, n_terms: int, a: float, centre: float = 0.0) -> float:
        return sum(([2.0 * abs(centre), 2.0 * a])[n_terms:], 0.0)

    def _series(self, centre: float) -> Iterator[Decimal]:
        yield 2 * Decimal(centre)
        yield Decimal(2)
        yield from itertools.repeat(Decimal(0))


@struct
class Exponential(Loss):
    """The exponential loss l(a) = e^-a of a classification margin (Example 2; E1: printed e^+a).

    Example:
        >>> from jaxonline.losses import Exponential
        >>> float(Exponential()(0.0, 1.0)), Exponential().majorant(0.0)
        (1.0, 1.0)
    """

    kind: ClassVar[str] = "classification"

    def value(self, a: ArrayLike) -> jax.Array:
        return jnp.exp(-floating(a))

    def derivative(self, a: ArrayLike) -> jax.Array:
        return -jnp.exp(-floating(a))

    def majorant(self, a: float, centre: float = 0.0) -> float:
        return _exp(known("a", check.not_negative("a", a)) - known("centre", centre))

    def tail_bound(self, n_terms: int, a: float, centre: float = 0.0) -> float:
        share = float(special.gammainc(n_terms, a)) if n_terms else 1.0
        return _exp(a - centre + math.log(max(share, 1e-300)) + 1e-10)

    def _series(self, centre: float) -> Iterator[Decimal]:
        gamma = -Decimal(-centre).exp()
        for n in itertools.count(1):
            yield gamma
            gamma = -gamma / n


@struct
class SmoothedAbsolute(Loss):
    """The smoothed absolute loss l(a) = a erf(sa) + e^(-s^2 a^2) / (s sqrt(pi)) of a residual (Example 3, E2, E4).

    l'(a) = erf(sa), and its majorant about 0 is erfi(sa) exactly. As s grows, l(a) -> |a|.

    Args:
        scale: s, above 0.

    Raises:
        ValueError: `scale` not above 0.

    Example:
        >>> from jaxonline.losses import SmoothedAbsolute
        >>> float(SmoothedAbsolute(4.0).value(-2.0))
        2.0
    """

    scale: ArrayLike
    kind: ClassVar[str] = "regression"

    def __post_init__(self):
        check.positive("scale", self.scale)

    def value(self, a: ArrayLike) -> jax.Array:
        a = floating(a)
        s = jnp.asarray(self.scale, a.dtype)
        return _gauss_over(s, a) + a * jax.scipy.special.erf(s * a)

    def derivative(self, a: ArrayLike) -> jax.Array:
        a = floating(a)
        return jax.scipy.special.erf(jnp.asarray(self.scale, a.dtype) * a)

    def majorant(self, a: float, centre: float = 0.0) -> float:
        if centre == 0.0:
            return float(special.erfi(known("scale", self.scale) * check.not_negative("a", a)))
        return Loss.majorant(self, a, centre)

    def tail_bound(self, n_terms: int, a: float, centre: float = 0.0) -> float:
        scale = known("scale", self.scale)
        return _erf_tail_bound(n_terms, a, scale, scale * centre)

    def _series(self, centre: float) -> Iterator[Decimal]:
        scale = Decimal(known("scale", self.scale))
        yield Decimal(math.erf(scale * Decimal(centre)))
        yield from _erf_series(scale, scale * Decimal(centre))


@struct
class SmoothedHinge(Loss):
    """The smoothed hinge loss of a classification margin (Example 4, E3, E4).

    l(a) = (a-1)(erf(s(a-1)) - 1)/2 + e^(-s^2 (a-1)^2) / (2 s sqrt(pi)), l'(a) = (erf(s(a-1)) - 1)/2. As s grows,
    l(a) -> max(1 - a, 0). The paper prints the series in powers of a - 1: that is `centre=1`, and its factors are
    then (y y_hat - 1). About `centre=0`, where factors are y y_hat, the coefficients are Hermite numbers.

    Args:
        scale: s, above 0.

    Raises:
        ValueError: `scale` not above 0.

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

    scale: ArrayLike
    kind: ClassVar[str] = "classification"

    def __post_init__(self):
        check.positive("scale", self.scale)

    def value(self, a: ArrayLike) -> jax.Array:
        b = floating(a) - 1.0
        s = jnp.asarray(self.scale, b.dtype)
        return 0.5 * (_gauss_over(s, b) - b * jax.scipy.special.erfc(s * b))

    def derivative(self, a: ArrayLike) -> jax.Array:
        a = floating(a)
        return -0.5 * jax.scipy.special.erfc(jnp.asarray(self.scale, a.dtype) * (a - 1.0))

    def tail_bound(self, n_terms: int, a: float, centre: float = 0.0) -> float:
        scale = known("scale", self.scale)
        constant = 0.5 * math.erfc(scale * (centre - 1.0)) if n_terms == 0 else 0.0
        return constant + 0.5 * _erf_tail_bound(max(n_terms, 1), a, scale, scale * (centre - 1.0))

    def _series(self, centre: float) -> Iterator[Decimal]:
        scale = Decimal(known("scale", self.scale))
        u = scale * (Decimal(centre) - 1)
        yield Decimal(-0.5 * math.erfc(u))
        yield from (gamma / 2 for gamma in _erf_series(scale, u))


@struct
class Logistic(Loss):
    """The logistic loss l(a) = ln(1 + e^-a) of a classification margin: a warning case.

    l'(a) = -1/(1 + e^a) is not entire: about `centre` its series has the radius of convergence
    sqrt(pi^2 + centre^2), and a series estimator has infinite variance as soon as p E X^2 reaches its square.

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
        return jax.nn.softplus(-floating(a))

    def derivative(self, a: ArrayLike) -> jax.Array:
        return -jax.nn.sigmoid(-floating(a))

    def radius(self, centre: float = 0.0) -> float:
        return math.hypot(math.pi, known("centre", centre))

    def majorant(self, a: float, centre: float = 0.0) -> float:
        if centre == 0.0:
            a = known("a", check.not_negative("a", a))
            return 0.5 + 0.5 * math.tan(0.5 * a) if a < math.pi else math.inf
        return Loss.majorant(self, a, centre)

    def tail_bound(self, n_terms: int, a: float, centre: float = 0.0) -> float:
        # From the partial fractions of tanh: |gamma_n| <= 2 sum_k rho_k^-(n+1) <= rho_0^-(n-1) / 4 for n >= 1.
        radius = self.radius(centre)
        if a >= radius:
            return math.inf
        constant = 1.0 / (1.0 + _exp(centre)) if n_terms == 0 else 0.0
        return constant + 0.25 * radius * (a / radius) ** max(n_terms, 1) / (1.0 - a / radius)

    def _series(self, centre: float) -> Iterator[Decimal]:
        """The series of v = -1/(1 + e^a), by v' = -v (1 + v)."""
        gammas = [-1 / (1 + Decimal(centre).exp())]
        for n in itertools.count(1):
            yield gammas[-1]
            square = sum((gammas[i] * gammas[n - 1 - i] for i in range(n)), Decimal(0))
            gammas.append(-(gammas[-1] + square) / n)


def _gauss_over(s: jax.Array, a: jax.Array) -> jax.Array:
    return jnp.exp(-((s * a) ** 2)) / (s * math.sqrt(math.pi))


def _erf_series(scale: Decimal, u: Decimal) -> Iterator[Decimal]:
    """Coefficients 1, 2, ... of erf(u + scale h), (2/sqrt(pi)) scale^n (-1)^(n-1) H_(n-1)(u) e^(-u^2) / n!.

    The derivative g of erf(u + scale h) in h obeys g' = -2 scale (u + scale h) g.
    """
    before, now = Decimal(0), 2 * scale * (-u * u).exp() / _SQRT_PI
    for n in itertools.count(1):
        yield now / n
        before, now = now, -2 * scale * (u * now + scale * before) / n


def _erf_tail_bound(n_terms: int, a: float, scale: float, u: float) -> float:
    """Bound on sum over n >= n_terms of |coefficient n of erf(u + scale h)| a^n.

    Cramer's inequality |H_m(u)| <= 1.0865 e^(u^2/2) sqrt(2^m m!) bounds each term; the ratio of successive bounds
    falls, and once it is below 1/2 the rest is at most the last bound.
    """
    constant = abs(math.erf(u)) if n_terms == 0 else 0.0
    first, reach = max(n_terms, 1), scale * a
    if reach == 0.0:
        return constant
    n = np.arange(first, max(first, math.ceil(8.0 * reach**2)) + 1, dtype=float)
    logs = n * math.log(reach) + 0.5 * (n - 1) * math.log(2.0) + 0.5 * special.gammaln(n) - special.gammaln(n + 1)
    top = float(logs.max())
    total = float(np.exp(logs - top).sum() + np.exp(logs[-1] - top))
    return constant + 2.0 * 1.0865 / math.sqrt(math.pi) * total * _exp(top - 0.5 * u * u)


def _exp(x: float) -> float:
    return math.exp(x) if x < 709.0 else math.inf
