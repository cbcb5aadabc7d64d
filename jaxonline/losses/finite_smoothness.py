"""A loss with finitely many derivatives whose Taylor series has coefficients that decrease polynomially."""

import itertools
import math
from collections.abc import Iterator
from decimal import Decimal
from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import ArrayLike

from jaxonline.losses.series import SeriesLoss
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Positive, as_floating, host_float

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
        >>> from jaxonline.losses import SemicircleAbsolute
        >>> loss = SemicircleAbsolute(2.0)
        >>> float(loss.value(-3.0)), float(loss.derivative(3.0)), round(float(loss.derivative(1.0)), 4)
        (3.0, 1.0, 0.609)
    """

    width: Positive
    kind: ClassVar[str] = "regression"

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
            previous, current = (
                current,
                ((2 * n - 1) * v * current + (n - 2) * previous) / ((1 - v * v) * (n + 1)),
            )
