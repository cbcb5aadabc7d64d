"""Taylor terms of losses from an independent method: Cauchy's integral of the derivative on a circle."""

from collections.abc import Callable

import numpy as np
from scipy.special import erf

from jaxonline.losses import Exponential, Logistic, SeriesLoss, SmoothedAbsolute, SmoothedHinge, Squared
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError

_POINTS = 1024


def complex_derivative(loss: SeriesLoss) -> Callable[[np.ndarray], np.ndarray]:
    """Return l' of a loss for complex numbers, from the papers' closed forms; raise a TypeError for unknown losses."""
    if isinstance(loss, Squared):
        return lambda z: 2 * z
    if isinstance(loss, Exponential):
        return lambda z: -np.exp(-z)
    if isinstance(loss, Logistic):
        return lambda z: -1 / (1 + np.exp(z))
    if isinstance(loss, SmoothedAbsolute):
        scale = float(np.asarray(loss.scale))
        return lambda z: erf(scale * z)
    if isinstance(loss, SmoothedHinge):
        scale = float(np.asarray(loss.scale))
        return lambda z: (erf(scale * (z - 1)) - 1) / 2
    raise ArgumentTypeError("loss", f"must be one of the papers' losses (got {type(loss).__name__})")


def taylor_terms(loss: SeriesLoss, centre: float, offset: float, n_terms: int) -> np.ndarray:
    """Return gamma_n offset^n for n < n_terms, where l'(a) = sum gamma_n (a - centre)^n; errors are 1e-15 max |l'|.

    The radius of the circle of integration is twice the offset, or half way from the offset to the edge of the disc of
    convergence if that is smaller. On this circle the trapezoidal rule converges geometrically. Raises a ValueError if
    `offset` is outside the disc.
    """
    size, edge = abs(offset), loss.radius(centre)
    if not size < edge:
        raise ArgumentError("offset", f"must be inside the disc of radius {edge:g} (got {offset:g})")
    circle = min(2 * size, (size + edge) / 2) if size else 1.0
    angles = 2 * np.pi * np.arange(_POINTS) / _POINTS
    values = complex_derivative(loss)(centre + circle * np.exp(1j * angles))
    scaled = np.fft.fft(values)[:n_terms].real / _POINTS  # gamma_n circle^n
    scaled[np.abs(scaled) < 16 * np.finfo(float).eps * np.abs(values).max()] = 0.0  # rounding
    return scaled * (offset / circle) ** np.arange(n_terms)
