"""Functions of short vectors: argmin, compensated sums, KL bounds, trigonometry, sums of prefixes."""

import contextvars
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Bool, Float, Int

from jaxonline._xla.barriers import compute_once as compute_once
from jaxonline._xla.barriers import exact_products as exact_products
from jaxonline._xla.barriers import opaque_zero
from jaxonline._xla.compile_options import run_compiled as run_compiled
from jaxonline.parameters.types import PyTree

# ---------------------------------------------------------------------------------------------------------------------
# Control of the order in which a compiled program reads and updates arrays, without a change of values.


def index_after(number: int | Int[Array, ""], value: Float[Array, ""]) -> Int[Array, ""]:
    """Return the integer unchanged, but computed only after a value.

    An update that uses the integer as an index then runs after the reads from which the value is computed.

    Args:
        number: the integer.
        value: the value to wait for.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.numerics.elementwise import index_after
        >>> index_after(3, jnp.float32(0.5)).item()
        3
    """
    return number + opaque_zero(value)


# ---------------------------------------------------------------------------------------------------------------------
# Projection on a ball.


def project_l2_ball(w: Float[Array, "d"], radius: Float[Array, ""] | float) -> Float[Array, "d"]:
    """Return the closest point of a ball to w, or NaN if |w|^2 overflows.

    `optax.projections.projection_l2_ball` returns 0 then, and also if the square of the radius overflows.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.numerics.elementwise import project_l2_ball
        >>> project_l2_ball(jnp.array([0.0, 4.0]), 1.0).tolist(), project_l2_ball(jnp.array([1e30]), 1.0).item()
        ([0.0, 1.0], nan)
    """
    largest = 0.99 * float(jnp.finfo(w.dtype).max) ** 0.5  # a norm of this or less has a finite square
    inside = optax.projections.projection_l2_ball(w, jnp.minimum(radius, largest))
    return jnp.where(jnp.isinf(jnp.vdot(w, w)), jnp.nan, inside)


# ---------------------------------------------------------------------------------------------------------------------
# The place of the smallest number.


_available: contextvars.ContextVar[Array | None] = contextvars.ContextVar("available", default=None)


def call_with_available(available: Bool[Array, "K"], function: Callable[..., Any], *args: Any) -> Any:
    """Return `function(*args)`; in this call, `first_argmin` of K numbers searches only the available ones.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.numerics.elementwise import call_with_available, first_argmin
        >>> call_with_available(jnp.array([True, False, True]), first_argmin, jnp.array([3.0, 1.0, 2.0])).item()
        2
    """
    context = contextvars.copy_context()
    context.run(_available.set, available)
    return context.run(function, *args)


def among_available(values: Float[Array, "K"] | Int[Array, "K"]) -> Array:
    """Return the numbers, with the largest number or infinity for those that are not available in this call."""
    available = _available.get()
    return values if available is None else jnp.where(available, values, _largest(values.dtype))


def _largest(dtype: Any) -> Array:
    return jnp.asarray(jnp.inf if jnp.issubdtype(dtype, jnp.floating) else jnp.iinfo(dtype).max, dtype)


_SHORT = 14  # `python -m benchmarks.workarounds "UCB1, K=10"` has the gain


class Order(NamedTuple):
    """An order of K things: the rank of each thing [K], and the things in the order of their ranks [K]."""

    ranks: Float[Array, "K"]
    things: Int[Array, "K"]


def first_argmin(values: Float[Array, "K"] | Int[Array, "K"], order: Order | None = None) -> Int[Array, ""]:
    """Return the index of the smallest number, int32; ties go to the first one in an order, by default of the indices.

    If there is a NaN, its index may result.

    `jnp.argmin` computes one number after the other on a CPU. Two searches with one result each, first for the smallest
    number and then for its index, are vectorised, which pays for more than 14 numbers.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.numerics.elementwise import first_argmin
        >>> first_argmin(jnp.array([2.0, 1.0, 1.0])).item()
        1
    """
    available = _available.get()
    if len(values) == 1:  # XLA crashes if a learner that stops reduces a vector of one pair
        return jnp.int32(0)
    if order is None:
        if len(values) <= _SHORT and available is None:
            return jnp.argmin(values).astype(jnp.int32)
        is_floating = jnp.issubdtype(values.dtype, jnp.floating)
        ranks = jnp.arange(len(values), dtype=values.dtype if is_floating else jnp.float32)
    else:
        ranks = order.ranks
    if available is not None:  # a thing that is not available is never first, even if all numbers are infinite
        values, ranks = among_available(values), jnp.where(available, ranks, jnp.inf)
    if len(values) <= _SHORT and jax.__version_info__ >= (0, 11):  # jax 0.10 crashes if a learner that stops does this
        last = _largest(values.dtype), jnp.asarray(jnp.inf, ranks.dtype)
        rank = jax.lax.reduce((values, ranks), last, _first_pair, (0,))[1]
    else:
        is_smallest = (values == jnp.min(values)) | jnp.isnan(values)
        rank = jnp.min(jnp.where(is_smallest, ranks, jnp.inf))
    rank = rank.astype(jnp.int32)
    return rank if order is None else order.things[rank]


def _first_pair(pair: tuple[Array, Array], other: tuple[Array, Array]) -> tuple[Array, Array]:
    """Return the pair of value and rank with the smaller value or, if these are equal, the smaller rank."""
    (value, rank), (other_value, other_rank) = pair, other
    is_first = (value < other_value) | ((value == other_value) & (rank < other_rank)) | jnp.isnan(value)
    return jnp.where(is_first, value, other_value), jnp.where(is_first, rank, other_rank)


# ---------------------------------------------------------------------------------------------------------------------
# Compensated (Kahan) sums: long float32 sums that do not lose small terms.


class Compensated(NamedTuple):
    """Kahan sum of many small terms: a tree of totals and a tree of corrections.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.numerics.elementwise import Compensated
        >>> total = Compensated(jnp.float32(2.0**24), jnp.float32(0.0)).add(jnp.float32(1.0)).add(jnp.float32(1.0))
        >>> total.total.item() - 2**24, (jnp.float32(2.0**24) + 1.0 + 1.0).item() - 2**24
        (2.0, 0.0)
    """

    total: PyTree
    correction: PyTree

    @classmethod
    def zeros(cls, spec: PyTree) -> "Compensated":
        """Return an empty sum of terms with the given shapes and dtypes."""
        zeros = jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), spec)
        return cls(zeros, zeros)

    @classmethod
    def starting_at(cls, total: PyTree) -> "Compensated":
        """Return a sum with the given total."""
        return cls(total, jax.tree.map(jnp.zeros_like, total))

    @property
    def value(self) -> PyTree:
        """The corrected sums, rounded to their dtype; the pair of total and correction has more digits."""
        return jax.tree.map(lambda total, correction: total - correction, *self)

    def add(self, terms: PyTree) -> "Compensated":
        """Return the sum with one more term."""
        corrected = jax.tree.map(lambda term, correction: term - correction, terms, self.correction)
        total = jax.tree.map(lambda total, term: total + term, self.total, corrected)
        return Compensated(total, jax.tree.map(lambda new, old, term: (new - old) - term, total, self.total, corrected))


# ---------------------------------------------------------------------------------------------------------------------
# Confidence bounds from the Kullback-Leibler divergence kl of Bernoulli distributions.


NEWTON_STEPS, NEWTON_STEPS_FLOAT64 = 5, 8  # from the start in `kl_lower_bound`, until only rounding errors remain


def kl_lower_bound(mean: Float[Array, "K"], budget: Float[Array, "K"]) -> Float[Array, "K"]:
    """Return the smallest q with kl(mean, q) <= budget, by Newton steps, for means in [0, 1].

    kl(mean, q) is the integral of (mean - s) / (s (1 - s)) over s from q to mean, so it is at least
    g^2 / (2 min(mean, 1/4)) for the gap g = mean - q, and at least mean ln(mean / q) - mean. These two lower bounds on
    kl give a start value below the solution. The Newton steps then increase to the solution, because kl is convex in q.
    Divergences are computed from the gaps mean - q, without the cancellation of nearly equal logarithms.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.numerics.elementwise import kl_lower_bound
        >>> bounds = kl_lower_bound(jnp.array([0.5, 1.0]), jnp.log(jnp.array([2.0, 2.0])))
        >>> [round(q.item(), 3) for q in bounds]  # kl(1, q) = -ln q
        [0.067, 0.5]
    """
    start = _below_kl_lower_bound(mean, budget)
    n_steps = NEWTON_STEPS_FLOAT64 if mean.dtype == jnp.float64 else NEWTON_STEPS

    def newton_step(_: Int[Array, ""], q: Float[Array, "K"]) -> Float[Array, "K"]:
        return _newton_step(q, mean, budget, start)

    return jnp.where(mean > 0.0, jax.lax.fori_loop(0, n_steps, newton_step, start), 0.0)


def _below_kl_lower_bound(mean: Float[Array, "..."], budget: Float[Array, "..."]) -> Float[Array, "..."]:
    tiny = jnp.asarray(jnp.finfo(mean.dtype).tiny, mean.dtype)
    m = jnp.maximum(mean, tiny)
    nearest = m - jnp.sqrt(2.0 * budget * jnp.minimum(m, 0.25))
    return jnp.maximum(jnp.maximum(nearest, m * jnp.exp(-1.0 - budget / m)), tiny)


def _newton_step(
    q: Float[Array, "..."], mean: Float[Array, "..."], budget: Float[Array, "..."], least: Float[Array, "..."]
) -> Float[Array, "..."]:
    tiny = jnp.asarray(jnp.finfo(mean.dtype).tiny, mean.dtype)
    m = jnp.maximum(mean, tiny)
    gap = m - q
    kl = m * jnp.log1p(gap / q) - (1.0 - m) * jnp.log1p(gap / jnp.maximum(1.0 - m, tiny))
    step = (kl - budget) * q * (1.0 - q) / jnp.maximum(gap, tiny)
    return jnp.clip(q + step, least, m)


# ---------------------------------------------------------------------------------------------------------------------
# Fast sine and cosine of many angles, for random features.
#
# On a CPU, XLA calls the scalar library for float64 sines, about 8 ns each. A polynomial in array operations is
# vectorised, so that a sine and a cosine together cost a tenth of 8 ns.


# pi in four parts; the first three have 27 bits, so that a multiple of each by n/2 is exact for |n| < 2^26
_PI = tuple(map(float.fromhex, ("0x1.921fb54p+1", "0x1.10b461p-29", "0x1.a62633p-57", "0x1.45c06e0e68948p-85")))
# (sin(r)/r - 1) / r^2 as a polynomial in r^2, interpolated at Chebyshev points of [0, pi^2/4]; error 4e-17 of the sine
_SINE = (
    -0.16666666666666666, 0.008333333333333316, -0.00019841269841254966, 2.7557319219160833e-06,
    -2.505210761669045e-08, 1.6058977292642743e-10, -7.643969663988074e-13, 2.7314368769379893e-15,
)  # fmt: skip


def sincos(angle: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Sine and cosine of angles of any size and shape.

    In float64 the absolute error is below 3e-16 for |angle| < 1e8. For larger angles the error is below the spacing of
    float64 numbers at the angle. For other dtypes `jnp.sin` and `jnp.cos` are called.
    """
    if angle.dtype != jnp.float64:
        return jnp.sin(angle), jnp.cos(angle)
    return _sine(angle, 0.0), -_sine(angle, 0.5)


def sincos_small(angle: Float[Array, "..."]) -> tuple[Float[Array, "..."], Float[Array, "..."]]:
    """Sine and cosine of angles in [-pi / 4, pi / 4], accurate to rounding in float32 and float64, from their series.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.numerics.elementwise import sincos_small
        >>> [round(value.item(), 4) for value in sincos_small(jnp.float32(0.5))]
        [0.4794, 0.8776]
    """
    square = angle * angle
    n_terms = 5 if jnp.finfo(angle.dtype).nmant < 30 else 10

    def series(first: int) -> Array:  # 1 - t/(1 2) + t^2/(1 2 3 4) - ... for 0, 1 - t/(2 3) + ... for 1
        total = jnp.ones_like(square)
        for n in range(n_terms - 1, 0, -1):
            total = 1.0 - square / ((2 * n + first - 1) * (2 * n + first)) * total
        return total

    return angle * series(1), series(0)


def _sine(angle: Array, shift: float) -> Array:
    """The sine of angle - shift pi."""
    turns = jnp.round(angle * (1.0 / jnp.pi) - shift)
    r = angle
    for part in _PI:
        r = r - (turns + shift) * part
    r = jnp.clip(r, -1.6, 1.6)  # |r| <= pi/2 for angles below 1e8
    z = r * r
    total = jnp.full_like(z, _SINE[-1])
    for coefficient in _SINE[-2::-1]:
        total = coefficient + z * total
    sine = r + r * z * total
    return jnp.where(turns - 2.0 * jnp.floor(0.5 * turns) == 1.0, -sine, sine)


# ---------------------------------------------------------------------------------------------------------------------
# Prefix sums of the numbers of calls of runs, and search of the run to which a position of the joint list belongs.
#
# `jnp.cumsum` and `jnp.searchsorted` need a dozen small CPU kernels, and `searchsorted` compares every position with
# every run. Here a position is compared with the ends of blocks of 16 runs, and then with the ends in one block. This
# search needs a few kernels, and 3 microseconds instead of 30 for 512 runs.


BLOCK_RUNS = 16
"""Runs per block. Other numbers of runs than its multiples are padded, which takes longer than the sums."""

_MAX_BLOCKS = 64  # with more blocks the library's search needs fewer operations


def chunk_size(share: float, size: int, most: int) -> int:
    """Return the number of calls per chunk: `share` for each run, at most `most`; a multiple of BLOCK_RUNS if large."""
    chunk = round(share * size)
    if chunk >= 2 * BLOCK_RUNS:
        chunk = BLOCK_RUNS * round(chunk / BLOCK_RUNS)
    return max(1, min(chunk, most))


class RunEnds(NamedTuple):
    """Positions in a list of calls at which each run ends."""

    # calls of a run and all runs before it, in blocks, padded with the total [blocks, block]
    ends: Int[Array, "blocks block"]
    size: int  # number of runs

    @classmethod
    def from_counts(cls, number: Int[Array, "size"]) -> "RunEnds":
        """Return the ends of runs with the given numbers of calls.

        Example:
            >>> import jax.numpy as jnp
            >>> from jaxonline.numerics.elementwise import RunEnds
            >>> ends = RunEnds.from_counts(jnp.array([2, 0, 3]))
            >>> ends.per_run().tolist(), ends.total().item(), ends.find_runs(jnp.arange(6)).tolist()
            ([2, 2, 5], 5, [0, 0, 2, 2, 2, 3])
        """
        size = len(number)
        blocks = -(-size // BLOCK_RUNS)
        if blocks > _MAX_BLOCKS:
            return cls(jnp.cumsum(number, dtype=jnp.int32)[None], size)
        padded = jnp.pad(number, (0, blocks * BLOCK_RUNS - size)).reshape(blocks, BLOCK_RUNS)
        run, block = np.arange(BLOCK_RUNS), np.arange(blocks)
        upto, before = run[:, None] >= run, block[:, None] > block
        within = jnp.sum(jnp.where(upto[None], padded[:, None], jnp.int32(0)), axis=2, dtype=jnp.int32)
        earlier = jnp.sum(jnp.where(before, within[None, :, -1], jnp.int32(0)), axis=1, dtype=jnp.int32)
        return cls(within + earlier[:, None], size)

    def per_run(self) -> Int[Array, "size"]:
        """Return the end of each run."""
        return self.ends.reshape(-1)[: self.size]

    def total(self) -> Int[Array, ""]:
        """Return the total number of calls."""
        return self.ends[-1, -1]

    def find_runs(self, positions: Int[Array, "chunk"]) -> Int[Array, "chunk"]:
        """Return the run to which each position belongs, or `size` for positions beyond the last run."""
        blocks, block = self.ends.shape
        if blocks == 1:
            method = "scan_unrolled" if block > BLOCK_RUNS else "compare_all"
            runs = jnp.searchsorted(self.ends[0], positions, side="right", method=method)
            return jnp.minimum(runs.astype(jnp.int32), self.size)
        positions = positions[:, None]
        row = jnp.sum(self.ends[None, :, -1] <= positions, axis=1, dtype=jnp.int32)
        row = jnp.minimum(row, blocks - 1)
        column = jnp.sum(self.ends.at[row].get(mode="promise_in_bounds") <= positions, axis=1, dtype=jnp.int32)
        return jnp.minimum(row * block + column, self.size)
