"""Estimators for tests of the verifier. Their numbers are data, so that all of one kind are one compiled program."""

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial

from jaxonline.simulation.blocks import default_mesh
from jaxonline.verify import Capped

ONE = default_mesh(jax.devices()[:1])


def _power(shift, scale, exponent, key):
    return shift + scale * (1 - jax.random.uniform(key, (), jnp.float32)) ** exponent


def power(scale=1.0, shift=0.0, exponent=1.0) -> Partial:
    """shift + scale u^exponent with u uniform on (0, 1]; `scale` and `shift` are numbers, or arrays of one shape."""
    return Partial(_power, *(jnp.asarray(a, jnp.float32) for a in (shift, scale, exponent)))


uniform = power()
heavy = power(exponent=-0.5)  # 1/sqrt(u): the mean is 2, the variance infinite


def _capped_geometric(cap, key):
    n = jax.random.geometric(key, 0.5, dtype=jnp.int32) - 1
    return Capped(jnp.minimum(n, cap).astype(jnp.float32), n > cap)


def capped_geometric(cap: int) -> Partial:
    """A geometric number, capped: E min(N, cap) = E N - E (N - cap)+ = 1 - 2^-cap."""
    return Partial(_capped_geometric, jnp.int32(cap))


def _weighted_product(weights, mean, spread, key, n):
    copies = mean + spread * jax.random.normal(key, (len(weights) - 1,), jnp.float32)
    return weights[n] * jnp.prod(jnp.where(n > jnp.arange(len(weights) - 1), copies, 1.0))


def weighted_product(weights, mean: float, spread: float) -> Partial:
    """Sampler given n: weights[n] times the product of n independent normal copies."""
    return Partial(_weighted_product, np.asarray(weights, np.float32), jnp.float32(mean), jnp.float32(spread))


def _geometric_product(given, p, key):
    key_n, key_x = jax.random.split(key)
    n = jnp.minimum(jax.random.geometric(key_n, 1 - 1 / p, dtype=jnp.int32) - 1, len(given.args[0]) - 1)
    return given(key_x, n)


def geometric_product(weights, mean: float, spread: float, p: float = 2.0) -> Partial:
    """`weighted_product` of a random n, P(N = n) = (p-1)/p^(n+1), cut off where the weights end."""
    return Partial(_geometric_product, weighted_product(weights, mean, spread), jnp.float32(p))


def _two_values(q, high, low, noise, key):
    rare, own = jax.random.split(key)
    value = jnp.where(jax.random.uniform(rare, (), jnp.float32) < q, high, low)
    return value + noise * jax.random.uniform(own, (), jnp.float32, -1.0, 1.0)


def two_values(q: float, high: float | None = None, low: float = 0.0, noise: float = 0.0) -> Partial:
    """`high` (1/q by default) with probability q, else `low`; plus `noise` times a uniform number on [-1, 1]."""
    return Partial(_two_values, *(jnp.float32(a) for a in (q, 1 / q if high is None else high, low, noise)))
