"""Exact draws from beta laws with shapes of at least 1, whose work does not grow with the shapes.

A beta variable is G / (G + H) for independent gamma variables G and H, and these are drawn as Marsaglia and Tsang
(2000) do: d v with d = shape - 1/3, v = (1 + w)^3 and w = z / (3 sqrt(d)), z standard normal, is accepted with
probability exp(z^2 / 2 + d - d v + d ln v). That exponent is 3 d (ln(1 + w) - w + w^2/2 - w^3/3), about -z^4 / (108 d):
one proposal in 20 is rejected at shape 1, and one in 36 d later on. Both gammas are accepted or rejected at once, with
one uniform number.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

SERIES = 0.25  # up to here ln(1 + w) is taken from its series, which the cancellation does not touch
TERMS = 10  # of the series; the next one is 2e-7 of the first


def beta_draws(key: Key[Array, ""], a: Float[Array, "K"], b: Float[Array, "K"]) -> Float[Array, "K"]:
    """Independent draws from Beta(a[k], b[k]), shapes of at least 1.

    All of them are proposed at once. Then, while some are rejected, the first of these is proposed again, alone: that
    costs a K-th of a proposal for all, and ends with probability 1, after less than 0.1 K such turns in the mean.
    """
    shapes = jnp.stack([a, b], axis=-1)
    first = _propose(jax.random.fold_in(key, 0), shapes)

    def some_rejected(carry: tuple[Array, Array, Array]) -> Bool[Array, ""]:
        return ~jnp.all(carry[1])

    def again(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        draws, accepted, turn = carry
        rejected = jnp.argmin(accepted)
        draw, good = _propose(jax.random.fold_in(key, turn), shapes[rejected])
        here = jnp.arange(len(draws), dtype=rejected.dtype) == rejected
        return jnp.where(here, draw, draws), accepted | (here & good), turn + 1

    turn: Int[Array, ""] = jnp.int32(1)
    return jax.lax.while_loop(some_rejected, again, (*first, turn))[0]


def _propose(key: Key[Array, ""], shapes: Float[Array, "... 2"]) -> tuple[Float[Array, "..."], Bool[Array, "..."]]:
    """Proposals, and which of them are accepted; one that is NaN is, lest it come again for ever."""
    normal_key, uniform_key = jax.random.split(key)
    dtype = shapes.dtype
    d = shapes - 1 / 3
    w = jax.random.normal(normal_key, shapes.shape, dtype) / (3.0 * jnp.sqrt(d))
    log_uniform = jnp.log(jax.random.uniform(uniform_key, shapes.shape[:-1], dtype))
    impossible = jnp.any(w <= -1.0, axis=-1)
    w = jnp.where(impossible[..., None], 0.0, w)
    rejected = impossible | (log_uniform > 3.0 * jnp.sum(d * log1p_remainder(w), axis=-1))
    gammas = d * (1.0 + w) ** 3
    return gammas[..., 0] / jnp.sum(gammas, axis=-1), ~rejected


def log1p_remainder(w: Float[Array, "..."]) -> Float[Array, "..."]:
    """ln(1 + w) - w + w^2/2 - w^3/3 for w above -1: at most 0, and about -w^4/4."""
    small = jnp.where(jnp.abs(w) < SERIES, w, 0.0)
    tail = jnp.zeros_like(w)
    for power in range(TERMS + 3, 3, -1):
        tail = 1.0 / power - small * tail
    series = -(small**4) * tail
    return jnp.where(jnp.abs(w) < SERIES, series, jnp.log(1.0 + w) - w + w**2 / 2 - w**3 / 3)
