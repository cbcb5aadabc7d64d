"""Exact draws from beta laws with shapes of at least 1, whose work does not grow with the shapes.

A beta variable is G / (G + H) for independent gamma variables G and H, and these are drawn as Marsaglia and Tsang
(2000) do: d v with d = shape - 1/3, v = (1 + w)^3 and w = z / (3 sqrt(d)), z standard normal, is accepted with
probability exp(z^2 / 2 + d - d v + d ln v). That exponent is 3 d (ln(1 + w) - w + w^2/2 - w^3/3), about -z^4 / (108 d):
one proposal in 20 is rejected at shape 1, and one in 36 d later on. Both gammas are accepted or rejected at once, with
one uniform number. "Exact" is up to the resolution of the random numbers, 2^-23 in float32 as those of jax.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jax.extend.random import threefry_2x32
from jaxtyping import Array, Bool, Float, Int, Key, UInt

SERIES = 0.25  # up to here ln(1 + w) is taken from its series, which the cancellation does not touch
TERMS = 10  # of the series; the next one is 2e-7 of the first


def beta_draws(key: Key[Array, ""], a: Float[Array, "K"], b: Float[Array, "K"]) -> Float[Array, "K"]:
    """Independent draws from Beta(a[k], b[k]), shapes of at least 1.

    All of them are proposed at once. Then, while some are rejected, the first of these is proposed again, alone: that
    costs a K-th of a proposal for all, and ends with probability 1, after less than 0.1 K such turns in the mean.
    """
    first = _propose(random_words(key, jnp.int32(0), 3 * len(a)).reshape(3, -1), a, b)

    def some_rejected(carry: tuple[Array, Array, Array]) -> Bool[Array, ""]:
        return ~jnp.all(carry[1])

    def again(carry: tuple[Array, Array, Array]) -> tuple[Array, Array, Array]:
        draws, accepted, turn = carry
        here = _first(~accepted)
        shapes = (jnp.sum(jnp.where(here, shape, 0.0)) for shape in (a, b))
        draw, good = _propose(random_words(key, turn, 3), *shapes)
        return jnp.where(here, draw, draws), accepted | (here & good), turn + 1

    return jax.lax.while_loop(some_rejected, again, (*first, jnp.int32(1)))[0]


def random_words(key: Key[Array, ""], turn: Int[Array, ""], number: int) -> UInt[Array, "n"]:
    """Random words, others for each turn; both words of a call of threefry, of which `jax.random.bits` gives one."""
    if str(jax.random.key_impl(key)) not in ("threefry2x32", "fry"):
        return jax.random.bits(jax.random.fold_in(key, turn), (number,), jnp.uint32)
    half = jnp.arange(-(-number // 2), dtype=jnp.uint32)
    counters = jnp.concatenate([jnp.full_like(half, turn.astype(jnp.uint32)), half])
    return threefry_2x32(jax.random.key_data(key), counters)[:number]


def open_uniform(words: UInt[Array, "..."], dtype: Any) -> Float[Array, "..."]:
    """Uniform numbers above 0 and below 1, in the middles of 2^23 intervals (2^31 for float64)."""
    bits = min(31, jnp.finfo(dtype).nmant)
    return ((words >> (32 - bits)).astype(jnp.int32).astype(dtype) + 0.5) * 2.0**-bits


def _propose(
    words: UInt[Array, "3 ..."], a: Float[Array, "..."], b: Float[Array, "..."]
) -> tuple[Float[Array, "..."], Bool[Array, "..."]]:
    """Proposals, and which of them are accepted; one that is NaN is, lest it come again for ever."""
    u = open_uniform(words, a.dtype)
    (g, first), (h, second) = (_gamma(u[i], shape) for i, shape in enumerate((a, b)))
    return g / (g + h), ~(jnp.log(u[2]) > first + second)


def _gamma(u: Float[Array, "..."], shape: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Marsaglia and Tsang's proposal from a uniform number, and the logarithm of the probability of accepting it."""
    d = shape - 1 / 3
    w = jnp.sqrt(2.0) * jax.lax.erf_inv(2.0 * u - 1.0) / (3.0 * jnp.sqrt(d))
    possible = ~(w <= -1.0)
    w = jnp.where(possible, w, 0.0)
    return d * (1.0 + w) ** 3, jnp.where(possible, 3.0 * d * log1p_remainder(w), -jnp.inf)


def log1p_remainder(w: Float[Array, "..."]) -> Float[Array, "..."]:
    """ln(1 + w) - w + w^2/2 - w^3/3 for w above -1: at most 0, and about -w^4/4."""
    small = jnp.where(jnp.abs(w) < SERIES, w, 0.0)
    tail = jnp.zeros_like(w)
    for power in range(TERMS + 3, 3, -1):
        tail = 1.0 / power - small * tail
    series = -(small**4) * tail
    return jnp.where(jnp.abs(w) < SERIES, series, jnp.log(1.0 + w) - w + w**2 / 2 - w**3 / 3)


def _first(flags: Bool[Array, "K"]) -> Bool[Array, "K"]:
    """The first of the flags that are set, alone."""
    places = jnp.arange(len(flags), dtype=jnp.int32)
    return places == jnp.min(jnp.where(flags, places, len(flags)))
