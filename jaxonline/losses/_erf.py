"""The error function of the smoothed losses: its Taylor series, a bound on the tail, and a Gaussian."""

import itertools
import math
from collections.abc import Iterator
from decimal import Decimal

import jax
import jax.numpy as jnp
import numpy as np
from scipy import special

from jaxonline.parameters.numbers import exp

_SQRT_PI = Decimal("1.77245385090551602729816748334114518279754945612238712821381")


def scaled_gaussian(s: jax.Array, a: jax.Array) -> jax.Array:
    """Return e^(-s^2 a^2) / (s sqrt(pi))."""
    return jnp.exp(-((s * a) ** 2)) / (s * math.sqrt(math.pi))


def erf_series(scale: Decimal, u: Decimal) -> Iterator[Decimal]:
    """Yield coefficients 1, 2, ... of erf(u + scale h): (2/sqrt(pi)) scale^n (-1)^(n-1) H_(n-1)(u) e^(-u^2) / n!.

    The derivative g of erf(u + scale h) in h obeys g' = -2 scale (u + scale h) g.
    """
    previous, current = Decimal(0), 2 * scale * (-u * u).exp() / _SQRT_PI
    for n in itertools.count(1):
        yield current / n
        previous, current = current, -2 * scale * (u * current + scale * previous) / n


def erf_tail_bound(n_terms: int, a: float, scale: float, u: float) -> float:
    """Return a bound on the sum over n >= n_terms of |coefficient n of erf(u + scale h)| a^n.

    Cramer's inequality |H_m(u)| <= 1.0865 e^(u^2/2) sqrt(2^m m!) bounds each term. The ratio of successive bounds
    decreases; once this ratio is below 1/2, the rest of the sum is at most the last bound.
    """
    constant = abs(math.erf(u)) if n_terms == 0 else 0.0
    first, reach = max(n_terms, 1), scale * a
    if reach == 0.0:
        return constant
    n = np.arange(first, max(first, math.ceil(8.0 * reach**2)) + 1, dtype=float)
    logs = n * math.log(reach) + 0.5 * (n - 1) * math.log(2.0) + 0.5 * special.gammaln(n) - special.gammaln(n + 1)
    top = float(logs.max())
    total = float(np.exp(logs - top).sum() + np.exp(logs[-1] - top))
    return constant + 2.0 * 1.0865 / math.sqrt(math.pi) * total * exp(top - 0.5 * u * u)
