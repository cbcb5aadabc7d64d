"""Exact beta draws for parameters of at least 1, at a cost that does not grow with the parameters.

A beta variable is G / (G + H) for independent gamma variables G and H, which are drawn by the method of Marsaglia and
Tsang (2000). The proposal d v with d = shape - 1/3, v = (1 + w)^3, w = z / (3 sqrt(d)), z standard normal, is accepted
with probability exp(3 d r(w)), r(w) = ln(1 + w) - w + w^2/2 - w^3/3. The exponent is about -z^4 / (108 d): one proposal
in 20 is rejected at shape 1, and one in 36 d for large shapes. One uniform number decides about both gamma variables;
their two normal numbers need two more uniform numbers (Box and Muller 1958). The draws are exact up to the resolution
2^-23 of float32, as in jax. Nearly all proposals are accepted without logarithms: -r(w) is at most w^4 / 4 for w >= 0,
and at most w^4 / (4 (1 + w)) for w < 0.
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, UInt

from jaxonline._xla.loop_bounds import batch_max
from jaxonline.linalg.trigonometry import sincos_small
from jaxonline.parameters.errors import ArgumentError
from jaxonline.random.threefry import is_threefry, threefry

SERIES_RADIUS = 0.25  # |w| below which a series of ln(1 + w) avoids cancellation
SERIES_TERMS = 10  # the next term is 2e-7 of the first


def fast_beta(key: Key[Array, ""], a: Float[Array, "K"], b: Float[Array, "K"]) -> Float[Array, "K"]:
    """Independent draws from Beta(a[k], b[k]) with parameters of at least 1; not the numbers of `jax.random.beta`.

    One step proposes all numbers. A loop then decides exactly about the first number that is not accepted yet, and
    draws it again if it is rejected. There are less than 0.2 K iterations on average. Runs that need fewer iterations
    than others of their block change nothing in the remaining ones.

    Args:
        key: key of the draw.
        a: the first parameters [K], at least 1 (not checked), of a floating dtype. NaN gives NaN.
        b: the second parameters [K] (another length raises ValueError), at least 1 (not checked), of the dtype of `a`.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> draws = jo.random.fast_beta(jax.random.key(0), jnp.array([1.0, 9e5]), jnp.array([2.0, 1e5]))
        >>> draws.shape, bool(abs(draws[1] - 0.9) < 0.01)
        ((2,), True)
    """
    if a.ndim != 1 or a.shape != b.shape:
        raise ArgumentError("b", f"must be a vector of the same length as a (got shapes {b.shape} and {a.shape})")
    n = len(a)
    words = random_words(key, jnp.int32(0), 3 * n).reshape(3, -1)
    first = _propose(words, a, b)
    indices = jnp.arange(n, dtype=jnp.int32)

    def first_open(accepted: Bool[Array, "K"]) -> Int[Array, ""]:
        return jnp.min(jnp.where(accepted, n, indices))

    def is_open(carry: tuple[Array, ...]) -> Bool[Array, ""]:
        return batch_max((carry[2] < n).astype(jnp.int32)) > 0

    def retry(carry: tuple[Array, ...]) -> tuple[Array, ...]:
        draws, accepted, place, rejected, turn = carry  # place n changes nothing
        proposed = jnp.where(rejected, random_words(key, turn, 3), words[:, place])
        proposal = _propose(proposed, a[place], b[place])
        good = proposal.accepted()
        accepted = accepted.at[place].set(good, mode="drop")
        turn = turn + (~good & (place < n)).astype(turn.dtype)
        return draws.at[place].set(proposal.draw, mode="drop"), accepted, first_open(accepted), ~good, turn

    accepted = first.surely_accepted()
    start = first.draw, accepted, first_open(accepted), jnp.bool_(False), jnp.int32(0)
    return jax.lax.while_loop(is_open, retry, start)[0]


def random_words(key: Key[Array, ""], turn: Int[Array, ""], number: int) -> UInt[Array, "n"]:
    """Return random words, different in each iteration, from both output words of threefry (jax uses one of them)."""
    if not is_threefry(key):
        return jax.random.bits(jax.random.fold_in(key, turn), (number,), jnp.uint32)
    half = -(-number // 2)
    place = jnp.arange(number, dtype=jnp.uint32)
    high, low = threefry(jax.random.key_data(key), turn.astype(jnp.uint32), place % half)
    return jnp.where(place < half, high, low)


def open_uniform(words: UInt[Array, "..."], dtype: Any) -> Float[Array, "..."]:
    """Uniform numbers in (0, 1): midpoints of 2^23 intervals (2^31 for float64)."""
    bits = min(31, jnp.finfo(dtype).nmant)
    return ((words >> (32 - bits)).astype(jnp.int32).astype(dtype) + 0.5) * 2.0**-bits


class _Proposal(NamedTuple):
    """Proposed gamma variables for a beta variable, and the uniform number that decides on acceptance."""

    draw: Float[Array, "..."]
    uniform: Float[Array, "..."]
    shapes: tuple[Float[Array, "..."], Float[Array, "..."]]  # d of both
    w: tuple[Float[Array, "..."], Float[Array, "..."]]

    def surely_accepted(self) -> Bool[Array, "..."]:
        """Return a sufficient condition for acceptance, without logarithms; NaN is accepted to end the loop."""
        rest = sum(d * (w * w) ** 2 / jnp.minimum(1.0, 1.0 + w) for d, w in zip(self.shapes, self.w, strict=True))
        possible = (self.w[0] > -1.0) & (self.w[1] > -1.0)
        return (possible & (self.uniform < 1.0 - 0.75 * rest)) | jnp.isnan(rest)

    def accepted(self) -> Bool[Array, "..."]:
        """Return whether the proposal is accepted, by the exact condition; NaN is accepted."""
        exponent = sum(_exponent(d, w) for d, w in zip(self.shapes, self.w, strict=True))
        return ~(jnp.log(self.uniform) > exponent)


def _propose(words: UInt[Array, "3 ..."], a: Float[Array, "..."], b: Float[Array, "..."]) -> _Proposal:
    shapes = a - 1 / 3, b - 1 / 3
    normals = box_muller(words[0], words[1], a.dtype)
    v, w = (z * jax.lax.rsqrt(9.0 * d) for z, d in zip(normals, shapes, strict=True))
    g, h = (d * (1.0 + root) ** 3 for d, root in zip(shapes, (v, w), strict=True))
    return _Proposal(g / (g + h), open_uniform(words[2], a.dtype), shapes, (v, w))


def _exponent(d: Float[Array, "..."], w: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return the logarithm of the acceptance probability of the proposal from w."""
    impossible = w <= -1.0
    return jnp.where(impossible, -jnp.inf, 3.0 * d * log1p_remainder(jnp.where(impossible, 0.0, w)))


def box_muller(
    first: UInt[Array, "..."], second: UInt[Array, "..."], dtype: Any
) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Two independent standard normal numbers from two words (Box and Muller): a length and an angle."""
    length = jnp.sqrt(-2.0 * jnp.log(open_uniform(first, dtype)))
    quarter = second >> 30
    angle = ((second << 2).astype(jnp.int32).astype(dtype)) * (math.pi / 2 * 2.0**-32)  # within +- pi / 4
    sine, cosine = sincos_small(angle)
    odd = (quarter & 1) == 1
    x, y = jnp.where(odd, -sine, cosine), jnp.where(odd, cosine, sine)
    sign = jnp.where(quarter < 2, length, -length)
    return sign * x, sign * y


def log1p_remainder(w: Float[Array, "..."]) -> Float[Array, "..."]:
    """ln(1 + w) - w + w^2/2 - w^3/3 for w above -1."""
    small = jnp.where(jnp.abs(w) < SERIES_RADIUS, w, 0.0)
    tail = jnp.zeros_like(w)
    for power in range(SERIES_TERMS + 3, 3, -1):
        tail = 1.0 / power - small * tail
    series = -(small**4) * tail
    return jnp.where(jnp.abs(w) < SERIES_RADIUS, series, jnp.log(1.0 + w) - w + w**2 / 2 - w**3 / 3)
