"""Distributions of the runs of simulated studies."""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

STUDIES = 1000


class Distribution(NamedTuple):
    """A distribution: `draw(generator, shape)`, its mean, and the limits of its values, or None."""

    draw: Callable[[np.random.Generator, Any], np.ndarray]
    mean: float
    limits: tuple[float, float] | None = None


def normal() -> Distribution:
    """Standard normal."""
    return Distribution(lambda rng, size: rng.normal(size=size), 0.0)


def exponential() -> Distribution:
    """Exponential with mean 1."""
    return Distribution(lambda rng, size: rng.exponential(size=size), 1.0)


def lognormal(sigma: float) -> Distribution:
    """exp(sigma Z) for a standard normal Z."""
    return Distribution(lambda rng, size: rng.lognormal(sigma=sigma, size=size), float(np.exp(sigma**2 / 2)))


def bernoulli(p: float) -> Distribution:
    """1 with probability p, else 0."""
    return Distribution(lambda rng, size: (rng.random(size) < p).astype(float), p, (0.0, 1.0))
