"""Draws that `jax.random` does not have: exact indices, fast Gaussian and beta numbers, permutations."""

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Key, UInt

from jaxonline._xla.barriers import batch_max, compute_once
from jaxonline.numerics.elementwise import sincos_small
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.random.threefry import WordPairs, at_least_float32, is_threefry, split_in_two, threefry, word_pairs

# ---------------------------------------------------------------------------------------------------------------------
# Normal numbers equal to those of jax up to rounding, with less computation.
#
# jax maps a uniform u on (-1, 1) to a normal number by the inverse error function of Giles, "Approximating the erfinv
# function" (GPU Computing Gems, 2011): u times a polynomial in w = -log(1 - u^2), or in the root of w if w >= 5
# (selected per number). Here one polynomial in (1 + w)^(1/2) covers both ranges of w. This polynomial tolerates an
# absolute error of w, so w is computed from (1 - u)(1 + u) = 2^k m by k log 2 and a polynomial in m, not from
# log1p(-u^2), which computes two forms and rounds u^2. In the tails the numbers of jax have a relative error of 6e-6,
# and the numbers of this module have 3e-7. Both polynomials are minimax, with errors of 3e-8 (1 - log m) and 1e-7.


# Coefficients from the highest power on. 1 - log m for m in [1, 2), in m - 1.5:
_ONE_MINUS_LOG = (
    0.00629994972, -0.0102438871, 0.0142641049, -0.0259673037, 0.0494212173, -0.0987917557, 0.222220793, -0.66666615,
    0.594534874,
)  # fmt: skip
# The normal number divided by u, in (1 + w)^(1/2) - 2 for w in [0, 16):
_NORMAL = (
    1.05094969e-05, -0.000107251821, 0.000357820507, -0.000125119375, -0.00175939314, 0.00257137185, 0.00441150228,
    -0.0111711994, -0.00818974152, 0.0377997346, 0.00584496139, -0.140569717, 0.211867496, 1.36686635, 2.29603529,
)  # fmt: skip
_ONE = np.int32(0x3F800000)  # the bits of 1.0: exponent, then 23 bits of the mantissa
_MANTISSA = np.int32(0x7FFFFF)


@jax.jit  # traced once per shape
def normal_from_uniform(u: Float[Array, "..."]) -> Float[Array, "..."]:
    """Return 2^(1/2) erf^-1(u) for float32 u in (-1, 1), a standard normal number if u is uniform."""
    bits = jax.lax.bitcast_convert_type((1.0 - u) * (1.0 + u), jnp.int32)
    k = ((bits - _ONE) >> 23).astype(jnp.float32)
    m = jax.lax.bitcast_convert_type((bits & _MANTISSA) | _ONE, jnp.float32)
    one_minus_log = _horner(_ONE_MINUS_LOG[:-1], m - 1.5, _ONE_MINUS_LOG[-1] - np.float32(np.log(2.0)) * k)
    return _horner(_NORMAL[:-1], jnp.sqrt(one_minus_log) - 2.0, _NORMAL[-1]) * u


def _horner(coefficients: tuple[float, ...], x: Float[Array, "..."], last: Any) -> Float[Array, "..."]:
    """Return the polynomial in x with `coefficients` from the highest power on, followed by `last`."""
    value = jnp.full_like(x, coefficients[0])
    for coefficient in coefficients[1:]:
        value = value * x + np.float32(coefficient)
    return value * x + last


# ---------------------------------------------------------------------------------------------------------------------
# Random indices with given probabilities, exact also for small probabilities.
#
# The weights become multiples of 2^-61 of their sum, as 64-bit integers; their sums have no rounding. A float32 sum
# near 1 would be a multiple of 6e-8, so that an index of probability 1e-8 would be drawn 12 times too often, or never.
# The table in docs/how-it-works.md has the errors of other draws.


_SEARCHED_AT_ONCE = 16
_SUM_BITS = 62  # the sum of the integers is within 2^62 / 1.5 and 2^62 1.5


def weighted_index(
    key: Key[Array, ""], weights: Float[ArrayLike, "K"], shape: tuple[int, ...] = ()
) -> Int[Array, "..."]:
    """Independent indices (int32) with probabilities proportional to weights, from one random word each.

    The relative error of the probability p of an index is below 1e-18 / p + 1e-7 for every index, whether first or
    last. An index of weight 0 or NaN is never drawn, unless no weight is positive: then the last index is drawn.

    Args:
        key: key of the draw.
        weights: weights [K] of a floating dtype, at least 0, with a finite sum (not checked). Another number of axes
            raises ValueError.
        shape: shape of the result.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> jo.random.weighted_index(jax.random.key(0), jnp.array([0.0, 2.0, 0.0]), (3,)).tolist()
        [1, 1, 1]
    """
    weights = jnp.asarray(weights)
    if not jnp.issubdtype(weights.dtype, jnp.floating):
        raise ArgumentTypeError("weights", f"must be floating (got {weights.dtype})")
    if weights.ndim != 1 or not len(weights):
        raise ArgumentError("weights", f"must be a vector with an entry (got the shape {weights.shape})")
    return _search(lambda key, total: _scale(word_pairs(key, shape, weights.dtype), total), key, weights)


def index_at(number: WordPairs, weights: Float[Array, "K"]) -> Int[Array, "..."]:
    """Return the index that uniform numbers draw: the first index where the sum of weights exceeds the fraction u."""
    return _search(_scale, number, weights)


def _search(scale: Callable[..., Array], source: Any, weights: Float[Array, "K"]) -> Int[Array, "..."]:
    """Return the first index where the sum of weights exceeds `scale(source, sum of all weights)`.

    For more than 16 weights, searches in the sums of blocks of sqrt(K) weights and in one block take less time than a
    search in the sums of all.
    """
    n = len(weights)
    size = 1 if n <= _SEARCHED_AT_ONCE else math.ceil(math.sqrt(n))
    n_blocks = -(-n // size)
    with jax.enable_x64(True):
        blocks = jnp.pad(_to_integers(weights), (0, n_blocks * size - n)).reshape(n_blocks, size)
        ends = jnp.cumsum(jnp.sum(blocks, axis=1))
        level = compute_once(scale, source, ends[-1])[..., None]
        ends = jnp.expand_dims(ends[:-1], range(level.ndim - 1))
        is_before = ends <= level
        block = jnp.sum(is_before, axis=-1, dtype=jnp.int32)
        if size == 1:
            return block
        rest = level - jnp.max(jnp.where(is_before, ends, jnp.uint64(0)), axis=-1, keepdims=True)
        place = jnp.sum(jnp.cumsum(blocks[block], axis=-1)[..., :-1] <= rest, axis=-1, dtype=jnp.int32)
    return jnp.minimum(block * size + place, n - 1)


def _to_integers(weights: Float[Array, "K"]) -> UInt[Array, "K"]:
    """Return the weights times a power of 2 for which their sum is about 2^61, rounded down to 64-bit integers."""
    weights = at_least_float32(jnp.where(weights > 0, weights, 0))
    # rounded to a power of 2: the bounds between these, such as 0.75 and 1.5, are far from the usual sum 1
    power = jax.lax.reduce_precision(jnp.sum(weights), jnp.finfo(weights.dtype).nexp, 0)
    scaled = weights / power * 2.0**_SUM_BITS
    return scaled.astype(jnp.int64).astype(jnp.uint64)


def _scale(number: WordPairs, total: UInt[Array, ""]) -> UInt[Array, "..."]:
    """Return u total, rounded down, from products of 32-bit halves."""
    half, mask = jnp.uint64(32), jnp.uint64(2**32 - 1)
    a, b = (words.astype(jnp.uint64) for words in number)
    c, d = total >> half, total & mask
    first = a * d + ((b * d) >> half)
    second = b * c + (first & mask)
    return a * c + (first >> half) + (second >> half)


# ---------------------------------------------------------------------------------------------------------------------
# Exact beta draws for parameters of at least 1, at a cost that does not grow with the parameters.
#
# A beta variable is G / (G + H) for independent gamma variables G and H, which are drawn by the method of Marsaglia and
# Tsang (2000). The proposal d v with d = shape - 1/3, v = (1 + w)^3, w = z / (3 sqrt(d)), z standard normal, is
# accepted with probability exp(3 d r(w)), r(w) = ln(1 + w) - w + w^2/2 - w^3/3. The exponent is about -z^4 / (108 d):
# one proposal in 20 is rejected at shape 1, and one in 36 d for large shapes. One uniform number decides about both
# gamma variables; their two normal numbers need two more uniform numbers (Box and Muller 1958). The draws are exact up
# to the resolution 2^-23 of float32, as in jax. Nearly all proposals are accepted without logarithms: -r(w) is at most
# w^4 / 4 for w >= 0, and at most w^4 / (4 (1 + w)) for w < 0.


LANE = 128  # numbers that one loop decides in turn; the loops of a longer vector run at the same time
SERIES_RADIUS = 0.25  # |w| below which a series of ln(1 + w) avoids cancellation
SERIES_TERMS = 10  # the next term is 2e-7 of the first


def fast_beta(key: Key[Array, ""], a: Float[Array, "K"], b: Float[Array, "K"]) -> Float[Array, "K"]:
    """Independent draws from Beta(a[k], b[k]) with parameters of at least 1; not the numbers of `jax.random.beta`.

    One step proposes all numbers. A loop then decides exactly about the first number that is not accepted yet, and
    draws it again if it is rejected. There are less than 0.2 K iterations on average. Runs that need fewer iterations
    than others of their block change nothing in the remaining ones. More than 128 numbers are drawn in parts with keys
    and loops of their own, which run at the same time, so that the cost of a number does not grow with K.

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
    n, lanes = len(a), -(-len(a) // LANE)
    if lanes > 1:
        width = -(-n // lanes)
        rows = (jnp.pad(shapes, (0, lanes * width - n), constant_values=1.0).reshape(lanes, width) for shapes in (a, b))
        keys = jax.vmap(lambda lane: jax.random.fold_in(key, lane))(jnp.arange(lanes, dtype=jnp.uint32))
        return jax.vmap(fast_beta)(keys, *rows).ravel()[:n]
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


# ---------------------------------------------------------------------------------------------------------------------
# Random permutations by sorts of 64-bit numbers, several times faster than those of jax on a CPU.
#
# `jax.random.permutation` sorts pairs of a random word and an index, with a call of a comparison function at each step.
# In this module random bits and an index form one 64-bit number. The 64-bit numbers have the order of the pairs, also
# for ties, and the compiler inlines their comparison.


_MAX_ONE_SORT = 2**16  # indices that one sort of 64-bit numbers orders with as few ties as the sorts of jax


def permutation_indices(key: Key[Array, ""], n: int) -> Int[Array, "n"]:
    """Return `jax.random.permutation(key, n)` as int32."""
    order = jnp.arange(n, dtype=jnp.int32)
    for _ in range(_sorts_of_jax(n)):
        key, words_key = split_in_two(key)
        words = jax.random.bits(words_key, (n,), jnp.uint32)
        with jax.enable_x64(True):
            places = jnp.arange(n, dtype=jnp.uint64)
            joined = (words.astype(jnp.uint64) << jnp.uint64(32)) | places
            places = jax.lax.sort(joined, is_stable=False).astype(jnp.uint32).astype(jnp.int32)
        order = order[places]
    return order


def shuffled_indices(key: Key[Array, ""], n: int) -> Int[Array, "n"]:
    """Return a random permutation of 0, ..., n - 1 as int32, by one sort if n is at most 65,536.

    It equals `jax.random.permutation(key, n)`, except for n between 1,626 and 65,536, where jax sorts twice. For these
    n an index takes up to 16 of the 64 bits, and the other bits are random. Tied indices keep their order. The expected
    number of ties in a permutation is at most 1 / n (for jax 1 / (2 n)).
    """
    if _sorts_of_jax(n) < 2 or n > _MAX_ONE_SORT:
        return permutation_indices(key, n)
    index_bits = (n - 1).bit_length()
    high, low = word_pairs(key, (n,), jnp.float32)
    with jax.enable_x64(True):
        words = (high.astype(jnp.uint64) << jnp.uint64(32)) | low.astype(jnp.uint64)
        joined = (words << jnp.uint64(index_bits)) | jnp.arange(n, dtype=jnp.uint64)
        ordered = jax.lax.sort(joined, is_stable=False)
        return (ordered & jnp.uint64(2**index_bits - 1)).astype(jnp.uint32).astype(jnp.int32)


def _sorts_of_jax(n: int) -> int:
    """Return how many times jax sorts n indices, so that ties are unlikely."""
    return math.ceil(3 * math.log(max(1, n)) / math.log(2**32 - 1))
