"""AER and AERR over many streams of rows and many parameters at once, in one program.

Given the same keys, `play_streams` chooses the same attributes and has the same hypotheses (up to rounding) as `AER`
and `AERR` in `jo.play`, but in much less time.

**Cost of a round.** A lane is a pair of a stream and parameters. Lanes are contiguous in memory, and coordinates form
blocks. AER stores w_(t+1) = S(a, tau) / t, where S(a, tau) = sgn(a) (|a| - tau)_+. In this form

* the shrinkage by 1 - 1/t costs nothing;
* the update changes the few observed coordinates of a;
* the projection on the l1 ball increases tau until sum S(|a|, tau) = t B. One step of (last norm - t B) / (number of
  non-zero coordinates) suffices unless it sets some coordinates to 0; then secant steps follow, because the sum is
  convex and piecewise linear in tau;
* y^ needs draws of coordinates i in proportion to |w_i|. The pass that measures the norm also computes the sums of
  blocks. A draw searches d^(1/3) sums of groups of blocks, then d^(1/3) sums of blocks, and then one block.

The remaining O(d) costs per lane are a pass that reads a (4 d bytes, 6 d operations) to measure the norm, rarely a
second one, and a pass that adds w to the sum of hypotheses (12 d bytes, 7 d operations).

AERR stores w = c u with a number c, which the projection on the l2 ball changes, and the sum of hypotheses as C u + v
where C is the sum of the c. An update changes the observed coordinates of u and v and their blocks; nothing costs O(d).
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Key

from jaxonline.estimators.attributes import split_attributes, uniform_subset
from jaxonline.game.keys import UPDATE, part_key
from jaxonline.numerics.triangular import product
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.types import Count, Ge, Gt, Shape

_MAX_SECANTS = 64
_REBASE_ROUNDS = 32  # rounds after which tau is reset to 0, and c to 1
_MIN_SCALE = 1e-6  # smallest c before it is reset to 1
_NORM_TOLERANCE = 128  # largest excess of a norm over the radius, in roundings
_SLOPE_TOLERANCE = 256  # smallest difference of two norms that gives a slope, in roundings
_LANE_MULTIPLE = 8  # the number of lanes is padded to a multiple of this, to fill registers


class _AER(NamedTuple):
    """State of all L lanes of AER with N coordinates: w = sgn(a) (|a| - tau)_+ / (t - 1)."""

    a: Float[Array, "N L"]
    tau: Float[Array, "1 L"]
    sums: Float[Array, "blocks L"]  # sums of (|a| - tau)_+ over each block
    norm: Float[Array, "1 L"]  # the sum of `sums`
    alive: Float[Array, "1 L"]  # upper bound on the number of non-zero coordinates
    total: Float[Array, "N L"]  # w_2 + ... + w_t


class _AERR(NamedTuple):
    """State of all L lanes of AERR with N coordinates: w = c u, and w_2 + ... + w_t = sum_c u + v."""

    u: Float[Array, "N L"]
    c: Float[Array, "1 L"]
    sums: Float[Array, "blocks L"]  # sums of u^2 over each block
    sum_c: Float[Array, "1 L"]
    v: Float[Array, "N L"]


class _Round(NamedTuple):
    """Data and random draws of a round, and constants, for all L lanes."""

    t: Float[Array, ""]  # from 1
    x: Callable[[Int[Array, "..."]], Float[Array, "... L"]]  # the instance at coordinates
    y: Float[Array, "1 L"]
    subset: Int[Array, "a ..."]  # observed coordinates for the estimate of x [a], or [a, L] with several keys
    points: Float[Array, "b ..."]  # numbers in (0, 1] of the draws for y^ [b, 1], or [b, L]
    spread: Float[Array, ""]  # d / the number of observed coordinates for the estimate of x
    at: Callable[[Int[Array, "..."]], tuple]  # coordinates -> index of arrays with lanes on the last axis
    size: int  # of a block
    rates: Float[Array, "1 L"]
    radii: Float[Array, "1 L"]


class _Rule(NamedTuple):
    """Functions of one algorithm on all lanes; `rebase` sets tau = 0 or c = 1, so that roundings do not add up."""

    rebase: Callable[[Any, int], Any]  # also of the size of a block
    is_well_scaled: Callable[[Any], Any]  # whether the next round needs no rebasing
    play: Callable[[Any, _Round], Any]
    total: Callable[[Any], Array]  # w_2 + ... + w_t


@validate_arguments
def play_streams(
    algorithm: Literal["aer", "aerr"],
    X: Float[ArrayLike, "n d"],
    y: Float[ArrayLike, "n"],
    rows: Int[ArrayLike, "S m"],
    keys: Key[Array, "K"],
    rates: Annotated[Any, Shape("G"), Gt(0)],
    radii: Annotated[Any, Shape("G"), Gt(0)],
    n_attributes: Annotated[int, Ge(2)],
    record_at: tuple[int, ...] | None = None,
    dimension: Count | None = None,
) -> Float[Array, "records S G d"]:
    """Return the hypotheses of AER or AERR after t rounds: the mean of w_2, ..., w_(t+1), as in the papers.

    Streams share the data, and each has an order of rows of its own. With one key, all streams draw the same
    coordinates and numbers in the same round, which takes less time.

    Args:
        algorithm: AER or AERR.
        X: instances.
        y: targets.
        rows: for each stream, the indices of the rows of X in the order of the m rounds.
        keys: a key per stream [S], or one for all [1]; round t = 1, 2, ... has `game.keys.part_key(key, t, UPDATE)`, as
            in the game.
        rates: lambda for AER, the constant step size for AERR.
        radii: B, one for each rate.
        n_attributes: k, at most d.
        record_at: increasing rounds t whose hypotheses to return, by default the last. Later rows are not played, so
            that streams of different lengths share a program.
        dimension: number of leading coordinates of X to use, by default all. Hypotheses are 0 at the others.

    Raises:
        ValueError: shapes do not match, rounds or rows do not exist, or `n_attributes` is above d or cannot be halved.

    Example:
        >>> import jax, numpy as np
        >>> from benchmarks.papers.engines.attributes import play_streams
        >>> X = np.sign(np.random.default_rng(0).normal(size=(500, 4)))
        >>> keys = jax.random.split(jax.random.key(0), 1)
        >>> w = play_streams("aer", X, X[:, 0], np.arange(500)[None], keys, [1.0, 2.0], [1.0, 1.0], 2)
        >>> w.shape, int(abs(w[0, 0, 0]).argmax())
        ((1, 1, 2, 4), 0)
    """
    X, y = check.rows("X", X, "y", y)
    d = X.shape[1] if dimension is None else dimension
    if not n_attributes <= d <= X.shape[1]:
        raise ArgumentError("n_attributes", f"must be at most d = {d} (at most {X.shape[1]}) (got {n_attributes})")
    if np.shape(rates) != np.shape(radii):
        raise ArgumentError("radii", f"must be a vector as long as rates, {np.shape(rates)} (got {np.shape(radii)})")
    rows = np.asarray(rows)
    if rows.ndim != 2 or len(keys) not in (1, len(rows)) or rows.min() < 0 or rows.max() >= len(X):
        raise ArgumentError(
            "rows", f"must be row indices [S, m] for S keys or one key (got {rows.shape} and {len(keys)} keys)"
        )
    m = rows.shape[1]
    record_at = (m,) if record_at is None else tuple(int(t) for t in record_at)
    if not record_at or record_at[0] < 1 or record_at[-1] > m or any(np.diff(record_at) <= 0):
        raise ArgumentError("record_at", f"must be increasing rounds from 1 to {m} (got {record_at})")
    dtype = jnp.result_type(float)
    arrays = (jnp.asarray(a, dtype) for a in (X, y, rates, radii))
    ends = jnp.array(record_at, jnp.int32)
    sizes = split_attributes(n_attributes, None)
    return _play(algorithm, *arrays, jnp.asarray(rows, jnp.int32), keys, sizes, ends, jnp.int32(d))


@jax.jit(static_argnames=("algorithm", "sizes"))
def _play(algorithm, X, y, rates, radii, rows, keys, sizes, ends, d):
    (S, m), G, width = rows.shape, len(rates), X.shape[1]
    n = int(np.ceil(np.cbrt(width) - 1e-9))  # n groups of n blocks
    size = -(-width // n**2)
    lanes = jnp.arange(-(-S * G // _LANE_MULTIPLE) * _LANE_MULTIPLE, dtype=jnp.int32)
    stream = jnp.minimum(lanes // G, S - 1)
    rates, radii = rates[lanes % G][None], radii[lanes % G][None]
    spread = d.astype(X.dtype) / sizes[0]
    rounds = jnp.arange(1, m + 1, dtype=jnp.int32)
    subsets, points = jax.vmap(lambda t: jax.vmap(lambda key: _draw_attributes(key, t, d, sizes, X.dtype))(keys))(
        rounds
    )
    has_one_key = len(keys) == 1

    def make_round(t):  # counts from 0
        row = rows[:, t][stream][None]
        subset = subsets[t, 0] if has_one_key else subsets[t].T[:, stream]
        point = points[t, 0][:, None] if has_one_key else points[t].T[:, stream]
        at = (lambda i: (i,)) if has_one_key else (lambda i: (i, jnp.broadcast_to(lanes, i.shape)))
        number = (t + 1).astype(X.dtype)
        return _Round(number, lambda i: X[row, i], y[row], subset, point, spread, at, size, rates, radii)

    zeros = [jnp.zeros((*shape, len(lanes)), X.dtype) for shape in ((n * n * size,), (n * n,), (1,))]
    of_coordinates, of_blocks, of_lanes = zeros
    if algorithm == "aer":
        first = _AER(of_coordinates, of_lanes, of_blocks, of_lanes, of_lanes, of_coordinates)
        rule = _Rule(_rebase_aer, lambda _: True, _play_aer, lambda lanes: lanes.total)
    else:
        first = _AERR(of_coordinates, of_lanes + 1, of_blocks, of_lanes, of_coordinates)
        rule = _Rule(_rebase_aerr, _is_well_scaled, _play_aerr, _total_aerr)

    def play_some(state):
        t, until, lanes = state
        next_rebase = jnp.minimum(t + _REBASE_ROUNDS, until)
        t, lanes = jax.lax.while_loop(
            lambda state: (state[0] < next_rebase) & rule.is_well_scaled(state[1]),
            lambda state: (state[0] + 1, rule.play(state[1], make_round(state[0]))),
            (t, rule.rebase(lanes, size)),
        )
        return t, until, lanes

    def play_until(state, until):
        t, _, lanes = jax.lax.while_loop(lambda state: state[0] < state[1], play_some, (state[0], until, state[1]))
        mean = rule.total(lanes) / until.astype(X.dtype)
        return (t, lanes), mean[:width, : S * G].T.reshape(S, G, width)

    return jax.lax.scan(play_until, (jnp.int32(0), first), ends)[1]


def _draw_attributes(
    key: Key[Array, ""], t: Int[Array, ""], d: int, sizes: tuple[int, int], dtype: Any
) -> tuple[Array, Array]:
    """Draw like `AttributeGradient` in the game: the subset for x, and the numbers in (0, 1] of the draws for y^."""
    subset_key, weighted_key = jax.random.split(part_key(key, t, UPDATE))
    return uniform_subset(subset_key, d, sizes[0]), 1 - jax.random.uniform(weighted_key, (sizes[1],), dtype)


# ---------------------------------------------------------------------------------------------------------------------
# AER


def _rebase_aer(lanes: _AER, size: int) -> _AER:
    """Return the same hypotheses with tau = 0; for a large tau, |a| - tau would lose all digits."""
    a = _soft_threshold(lanes.a, lanes.tau)
    alive = sum_rows(jnp.where(a != 0, 1.0, jnp.zeros_like(a)))
    return lanes._replace(a=a, tau=jnp.zeros_like(lanes.tau), alive=alive)


def _play_aer(lanes: _AER, now: _Round) -> _AER:
    """Play a round of AER."""
    a, tau, sums, norm, alive, total = lanes
    y_hat = jnp.zeros_like(norm)
    for point in now.points[:, None]:
        index, chosen = draw_coordinate(a, sums, point, lambda part: _threshold(part, tau))
        y_hat += jnp.sign(_soft_threshold(chosen, tau)) * now.x(index)
    y_hat *= norm / jnp.maximum(now.t - 1, 1) / len(now.points)

    force, limit = 2 * (y_hat - now.y) * now.spread / now.rates, now.t * now.radii
    j, places = as_columns(now.subset), now.at(now.subset)
    old = _soft_threshold(a[places], tau)
    new = old - force * now.x(j)
    size = jnp.abs(new) + tau
    a = a.at[places].set(jnp.sign(new) * size, unique_indices=True)
    norm = norm + sum_rows(jnp.abs(new) - jnp.abs(old))
    alive = alive + sum_rows(jnp.where((old == 0) & (new != 0), 1.0, jnp.zeros_like(new)))

    # for every set of coordinates, the threshold is at least (the sum of their |a| minus the limit) / their number
    rounding = jnp.finfo(a.dtype).eps * limit
    least = tau + jnp.maximum(norm - limit, 0.0) / jnp.maximum(alive, 1.0)
    least = jnp.maximum(
        least, jnp.maximum(jnp.max(size, axis=0, keepdims=True) - limit, (sum_rows(size) - limit) / len(size))
    )

    def measured(before, norm_before, tau, alive):
        sums = block_sums(lambda part: _threshold(part, tau), a, now.size)
        norm = sum_rows(sums)
        fall, width = norm_before - norm, tau - before
        trusted = (fall > _SLOPE_TOLERANCE * rounding) & (width > 0)
        slope = jnp.where(trusted, fall / jnp.where(width > 0, width, 1.0), alive)
        return tau, sums, norm, jnp.minimum(alive, jnp.ceil(1.02 * slope)), jnp.minimum(alive, slope)

    def secant(state):
        (tau, _, norm, alive, slope), steps = state
        higher = tau + jnp.maximum(norm - limit, 0.0) / jnp.maximum(slope, 1.0)
        return measured(tau, norm, higher, alive), steps + 1

    def goes_on(state):
        return jnp.any(state[0][2] - limit > _NORM_TOLERANCE * rounding) & (state[1] < _MAX_SECANTS)

    (tau, sums, norm, alive, _), _ = jax.lax.while_loop(
        goes_on, secant, (measured(tau, norm, least, alive), jnp.int32(0))
    )
    return _AER(a, tau, sums, norm, alive, total + _soft_threshold(a, tau) * (1 / now.t))


def _threshold(a, tau):
    """Return (|a| - tau)_+. A term without tau, such as |a|, would become an array in XLA's loops."""
    return jnp.where(a > tau, a - tau, jnp.where(a < -tau, -tau - a, 0.0))


def _soft_threshold(a, tau):
    """sgn(a) (|a| - tau)_+."""
    return jnp.where(a > tau, a - tau, jnp.where(a < -tau, a + tau, 0.0))


# ---------------------------------------------------------------------------------------------------------------------
# AERR


def _rebase_aerr(lanes: _AERR, size: int) -> _AERR:
    """Return the same hypotheses with c = 1."""
    u, ones = lanes.u * lanes.c, jnp.ones_like(lanes.c)
    return _AERR(u, ones, block_sums(jnp.square, u, size), jnp.zeros_like(ones), _total_aerr(lanes))


def _is_well_scaled(lanes: _AERR) -> Bool[Array, ""]:
    return jnp.all(lanes.c > _MIN_SCALE)


def _total_aerr(lanes: _AERR) -> Float[Array, "N L"]:
    return lanes.sum_c * lanes.u + lanes.v


def _play_aerr(lanes: _AERR, now: _Round) -> _AERR:
    """Play a round of AERR."""
    u, c, sums, sum_c, v = lanes
    square = sum_rows(sums)
    y_hat = jnp.zeros_like(square)
    for point in now.points[:, None]:
        index, chosen = draw_coordinate(u, sums, point, jnp.square)
        alive = chosen != 0
        y_hat += jnp.where(alive, square / jnp.where(alive, chosen, 1.0), 0.0) * now.x(index)
    y_hat *= c / len(now.points)

    change = -2 * (y_hat - now.y) * now.spread * now.rates / c * now.x(as_columns(now.subset))
    places, block = now.at(now.subset), now.subset // now.size
    u = u.at[places].add(change, unique_indices=True)
    v = v.at[places].add(-change * sum_c, unique_indices=True)
    inside = jnp.arange(now.size, dtype=jnp.int32).reshape(-1, *[1] * block.ndim)
    sums = sums.at[now.at(block)].set(jnp.sum(jnp.square(u[now.at(block[None] * now.size + inside)]), axis=0))

    norm = c * jnp.sqrt(sum_rows(sums))
    c = c * jnp.minimum(1.0, now.radii / jnp.where(norm > 0, norm, 1.0))
    return _AERR(u, c, sums, sum_c + c, v)


# ---------------------------------------------------------------------------------------------------------------------
# Sums over coordinates and weighted draws of coordinates, for arrays [coordinates, lanes]


def as_columns(subset: jax.Array) -> jax.Array:
    """Return coordinates with an axis of lanes: as [half, 1] or [half, lanes]."""
    return subset[:, None] if subset.ndim == 1 else subset


def block_sums(values: Callable[[jax.Array], jax.Array], a: jax.Array, size: int) -> jax.Array:
    """Sums of `values(coordinates)` over blocks of coordinates [blocks, lanes]; XLA makes two loops of `jnp.sum`."""
    blocks = a.reshape(-1, size, a.shape[-1])
    sums: list[Any] = [values(blocks[:, i]) for i in range(size)]
    while len(sums) > 1:
        sums = [sum(sums[i + 1 : i + 2], sums[i]) for i in range(0, len(sums), 2)]
    return sums[0]


def draw_coordinate(
    a: jax.Array, sums: jax.Array, point: jax.Array, weight: Callable[[jax.Array], jax.Array]
) -> tuple[jax.Array, jax.Array]:
    """First coordinate where the cumulative weight reaches the fraction `point`, and its entry of a, for every lane."""
    n, lanes = round(len(sums) ** 0.5), jnp.arange(a.shape[1], dtype=jnp.int32)
    size = len(a) // len(sums)
    tops = jnp.sum(sums.reshape(n, n, -1), axis=1)
    top, rest = _search(tops, point * sum_rows(tops))
    sums_in_top = jnp.where(_rows(n)[..., None] == top[None], sums.reshape(n, n, -1), 0.0)
    middle, rest = _search(jnp.sum(sums_in_top, axis=0), rest)
    block = top * n + middle
    entries = a[block * size + _rows(size), lanes[None]]
    low, _ = _search(weight(entries), rest)
    return block * size + low, sum_rows(jnp.where(_rows(size) == low, entries, 0.0))


def _search(weights, point):
    """Return the first row where the cumulative weight reaches `point`, and the rest of `point` there, in every lane.

    A matrix product computes the sums, because XLA makes many small operations of `cumsum`.
    """
    up_to = product(jnp.tri(len(weights), dtype=weights.dtype), weights)
    below = up_to < jnp.minimum(point, up_to[-1:])
    row = jnp.sum(below, axis=0, dtype=jnp.int32, keepdims=True)
    return row, point - jnp.max(jnp.where(below, up_to, 0.0), axis=0, keepdims=True)


def sum_rows(values: jax.Array) -> jax.Array:
    """Sum over coordinates [1, lanes]."""
    return jnp.sum(values, axis=0, keepdims=True)


def _rows(n):
    return jnp.arange(n, dtype=jnp.int32)[:, None]
