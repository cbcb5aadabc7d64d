"""Losses of a margin or a residual, which know the Taylor series of their derivative.

A loss is a function of one number `a`: the residual `a = y_hat - y` in regression, the margin `a = y * y_hat` in
classification. `value` and `derivative` are JAX functions for the simulation; `coefficients`, `tail_bound`,
`majorant` and `radius` describe the series of the derivative l'(centre + h) = sum gamma_n h^n, on the host, in
float64. The coefficients come from recurrences in 60-digit decimal arithmetic, so they are right to the last bit or
two even where a recurrence cancels, and neither overflow nor underflow happens on the way to them.

Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Online learning of noisy data with kernels" (COLT 2010), Examples 1
to 4, with errata E1 to E4.
"""

import abc
import decimal
import itertools
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jax.typing import ArrayLike
from scipy import special

from jaxonline import _check
from jaxonline._struct import struct

_CONTEXT = decimal.Context(prec=60, Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN)
_SQRT_PI = Decimal("1.77245385090551602729816748334114518279754945612238712821381")


class Loss(abc.ABC):
    """A loss l(a) of a residual or a margin, with the series of its derivative.

    A subclass gives `value`, `derivative`, the coefficients of l' one after the other, a bound on their tail and the
    radius of convergence. Everything else follows.

    Example:
        >>> from jaxonline.losses import Loss, Squared
        >>> isinstance(Squared(), Loss)
        True
    """

    kind: ClassVar[str]
    """`"regression"` (a = y_hat - y) or `"classification"` (a = y * y_hat, y = +1 or -1)."""
    degree: ClassVar[int | None] = None
    """The degree of l' where it is a polynomial, None where its series is infinite."""
    _most_terms: ClassVar[int] = 1 << 19

    @abc.abstractmethod
    def value(self, a: ArrayLike) -> jax.Array:
        """The loss l(a), entry by entry.

        Example:
            >>> from jaxonline.losses import Squared
            >>> float(Squared().value(3.0))
            9.0
        """

    @abc.abstractmethod
    def derivative(self, a: ArrayLike) -> jax.Array:
        """The derivative l'(a), entry by entry.

        Example:
            >>> from jaxonline.losses import Squared
            >>> float(Squared().derivative(3.0))
            6.0
        """

    @abc.abstractmethod
    def tail_bound(self, n_terms: int, a: float, centre: float = 0.0) -> float:
        """A proven upper bound on sum over n >= `n_terms` of |gamma_n| a^n (a >= 0); inf outside the disc.

        Example:
            >>> from jaxonline.losses import Exponential
            >>> Exponential().tail_bound(30, 1.0) < 1e-32
            True
        """

    @abc.abstractmethod
    def _series(self, centre: float) -> Iterator[Decimal]:
        """gamma_0, gamma_1, ... of l' about `centre`, without end."""

    def radius(self, centre: float = 0.0) -> float:
        """The radius of convergence of the series of l' about `centre`; inf unless a loss says otherwise.

        Example:
            >>> from jaxonline.losses import Logistic, Squared
            >>> Squared().radius(), round(Logistic().radius(), 4)
            (inf, 3.1416)
        """
        return math.inf

    def margin(self, y_hat: ArrayLike, y: ArrayLike) -> jax.Array:
        """The number that the loss looks at: `y_hat - y` in regression, `y * y_hat` in classification.

        Example:
            >>> from jaxonline.losses import Exponential, Squared
            >>> float(Squared().margin(3.0, -1.0)), float(Exponential().margin(3.0, -1.0))
            (4.0, -3.0)
        """
        y_hat, y = _floating(y_hat), _floating(y)
        return y_hat - y if self.kind == "regression" else y * y_hat

    def __call__(self, y_hat: ArrayLike, y: ArrayLike) -> jax.Array:
        """The loss of the prediction `y_hat` where `y` is right; arguments of one shape."""
        return self.value(self.margin(y_hat, y))

    def gradient(self, y_hat: ArrayLike, y: ArrayLike) -> jax.Array:
        """The derivative of the loss of a prediction in `y_hat`; arguments of one shape.

        Example:
            >>> from jaxonline.losses import Squared
            >>> float(Squared().gradient(3.0, 1.0))
            4.0
        """
        slope = self.derivative(self.margin(y_hat, y))
        return slope if self.kind == "regression" else _floating(y) * slope

    def coefficients(self, n_terms: int, centre: float = 0.0) -> np.ndarray:
        """gamma_0 .. gamma_(n_terms - 1) of l'(centre + h) = sum gamma_n h^n, in float64.

        Args:
            n_terms: how many, at least 1.
            centre: the point of expansion, a finite number.

        Returns:
            A vector of `n_terms` float64 numbers, each right to about 1e-15 relative (0 or inf where float64 ends).

        Raises:
            ValueError: `n_terms` below 1 or `centre` not finite.
            TypeError: a parameter of the loss is a tracer (the series is computed on the host).

        Example:
            >>> from jaxonline.losses import Exponential
            >>> Exponential().coefficients(3).tolist()
            [-1.0, 1.0, -0.5]
        """
        n_terms = _check.count("n_terms", n_terms)
        with decimal.localcontext(_CONTEXT):
            series = self._series(_known("centre", centre))
            return np.array([float(gamma) for gamma in itertools.islice(series, n_terms)])

    def majorant(self, a: float, centre: float = 0.0) -> float:
        """The majorant l'_+(a) = sum |gamma_n| a^n of the series about `centre`.

        In closed form where there is one; else the sum and the bound on its tail, which is 1e-13 of it or less
        (more only so close to the edge of the disc, or so far out, that many thousand terms do not do).

        Args:
            a: where, at least 0.
            centre: the point of expansion.

        Returns:
            A float; inf where `a` is not below the radius of convergence or where float64 ends.

        Raises:
            ValueError: `a` below 0 or not finite.

        Example:
            >>> from jaxonline.losses import SmoothedHinge
            >>> round(SmoothedHinge(1.0).majorant(0.2), 3)  # the paper's bound says 0.615 (E4)
            0.972
        """
        a, centre = _known("a", _check.not_negative("a", a)), _known("centre", centre)
        if a >= self.radius(centre):
            return math.inf
        with decimal.localcontext(_CONTEXT):
            total, power, step, check = Decimal(0), Decimal(1), Decimal(a), 16
            for n, gamma in enumerate(self._series(centre), start=1):
                total += abs(gamma) * power
                power *= step
                if n == check:
                    rest = self.tail_bound(n, a, centre)
                    if float(total) == math.inf or rest <= 1e-13 * float(total) or n >= self._most_terms:
                        break
                    check *= 2
            return float(total) + rest


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
        a = _floating(a)
        return a * a

    def derivative(self, a: ArrayLike) -> jax.Array:
        return 2.0 * _floating(a)

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
        return jnp.exp(-_floating(a))

    def derivative(self, a: ArrayLike) -> jax.Array:
        return -jnp.exp(-_floating(a))

    def majorant(self, a: float, centre: float = 0.0) -> float:
        return _exp(_known("a", _check.not_negative("a", a)) - _known("centre", centre))

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
        _check.positive("scale", self.scale)

    def value(self, a: ArrayLike) -> jax.Array:
        a = _floating(a)
        s = jnp.asarray(self.scale, a.dtype)
        return _gauss_over(s, a) + a * jax.scipy.special.erf(s * a)

    def derivative(self, a: ArrayLike) -> jax.Array:
        a = _floating(a)
        return jax.scipy.special.erf(jnp.asarray(self.scale, a.dtype) * a)

    def majorant(self, a: float, centre: float = 0.0) -> float:
        if centre == 0.0:
            return float(special.erfi(_known("scale", self.scale) * _check.not_negative("a", a)))
        return Loss.majorant(self, a, centre)

    def tail_bound(self, n_terms: int, a: float, centre: float = 0.0) -> float:
        scale = _known("scale", self.scale)
        return _erf_tail_bound(n_terms, a, scale, scale * centre)

    def _series(self, centre: float) -> Iterator[Decimal]:
        scale = Decimal(_known("scale", self.scale))
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
        _check.positive("scale", self.scale)

    def value(self, a: ArrayLike) -> jax.Array:
        b = _floating(a) - 1.0
        s = jnp.asarray(self.scale, b.dtype)
        return 0.5 * (_gauss_over(s, b) - b * jax.scipy.special.erfc(s * b))

    def derivative(self, a: ArrayLike) -> jax.Array:
        a = _floating(a)
        return -0.5 * jax.scipy.special.erfc(jnp.asarray(self.scale, a.dtype) * (a - 1.0))

    def tail_bound(self, n_terms: int, a: float, centre: float = 0.0) -> float:
        scale = _known("scale", self.scale)
        constant = 0.5 * math.erfc(scale * (centre - 1.0)) if n_terms == 0 else 0.0
        return constant + 0.5 * _erf_tail_bound(max(n_terms, 1), a, scale, scale * (centre - 1.0))

    def _series(self, centre: float) -> Iterator[Decimal]:
        scale = Decimal(_known("scale", self.scale))
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
    _most_terms: ClassVar[int] = 1 << 11

    def value(self, a: ArrayLike) -> jax.Array:
        return jax.nn.softplus(-_floating(a))

    def derivative(self, a: ArrayLike) -> jax.Array:
        return -jax.nn.sigmoid(-_floating(a))

    def radius(self, centre: float = 0.0) -> float:
        return math.hypot(math.pi, _known("centre", centre))

    def majorant(self, a: float, centre: float = 0.0) -> float:
        if centre == 0.0:
            a = _known("a", _check.not_negative("a", a))
            return 0.5 + 0.5 * math.tan(0.5 * a) if a < math.pi else math.inf
        return Loss.majorant(self, a, centre)

    def tail_bound(self, n_terms: int, a: float, centre: float = 0.0) -> float:
        """From the partial fractions of tanh: |gamma_n| <= 2 sum_k rho_k^-(n+1) <= rho_0^-(n-1) / 4 for n >= 1."""
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


def _floating(a: ArrayLike) -> jax.Array:
    a = jnp.asarray(a)
    return a if jnp.issubdtype(a.dtype, jnp.floating) else a.astype(jnp.result_type(float))


def _known(name: str, value: Any) -> float:
    if _check.concrete(value) is None:
        raise TypeError(f"{name} must be a known number here (a series is computed outside jit), got {value!r}")
    return float(_check.number(name, value))


def _exp(x: float) -> float:
    return math.exp(x) if x < 709.0 else math.inf
