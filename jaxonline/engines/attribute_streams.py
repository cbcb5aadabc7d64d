"""AER and AERR over many streams of rows and many parameters at once: the same algorithms, in one program.

Nothing is learned here that is not learned in the game: given the same keys, `play_streams` chooses the same attributes
and has the same hypotheses as `aer` and `aerr` in `jo.play` (up to rounding). What is gained is time.

**What a round costs.** Lanes (stream x parameters) lie side by side in memory, coordinates one after the other, in
blocks. AER keeps w_(t+1) = S(a, tau) / t, where S(a, tau) = sgn(a) (|a| - tau)_+. In these terms

* the shrinkage by 1 - 1/t costs nothing;
* the update touches k/2 coordinates of a;
* the projection on the l1 ball only raises the number tau, to where sum S(|a|, tau) = t B. A step from the last norm
  and the number of coordinates that are not 0 is there unless some become 0; then secants of that convex, piecewise
  linear function are (no sorting, no counting);
* y^ needs a draw by |w_i|: sums over blocks are found in the pass that measures the norm, and a draw goes through
  d^(1/3) sums of sums, as many sums, and then through one block.

What is left that costs O(d), for each lane: a pass that reads a (4 d bytes, 6 d operations) to measure the norm, now
and then a second, and a pass that adds w to the sum of hypotheses (12 d bytes, 7 d operations).

AERR keeps w = c u with a number c, which the projection on the l2 ball changes, and the sum of hypotheses as C u + v
where C is the sum of the c: an update touches k/2 coordinates of u and v and their blocks, and nothing costs O(d).
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Key

from jaxonline.engines.lane_sums import block_sums, columns_of, draw_coordinate, sum_rows
from jaxonline.estimators.index_sampling import EvenCount, uniform_subset
from jaxonline.game.keys import UPDATE, part_key
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.types import Count, Gt, Shape
from jaxonline.parameters.validation import validate_arguments

_MAX_SECANTS = 64
_SETTLE = 32  # rounds after which tau begins at 0 again, and c at 1
_LEAST_SCALE = 1e-6  # the c below which it begins at 1 again at once
_SLACK = 128  # roundings by which the sum of many numbers may be above the radius
_TRUSTED = 256  # roundings from which a difference of two norms counts as a slope
_LANES = 32  # a multiple of this many lanes, which fill the registers


class _AER(NamedTuple):
    """All lanes of AER between two rounds: w = sgn(a) (|a| - tau)_+ / (t - 1).

    Attributes:
        a: [coordinates, lanes].
        tau: the thresholds [1, lanes].
        sums: of the (|a| - tau)_+, a sum for each block [blocks, lanes].
        norm: their sum [1, lanes].
        alive: the number of coordinates that are not 0, or somewhat more [1, lanes].
        total: of w_2, ..., w_t [coordinates, lanes].
    """

    a: Float[Array, "N L"]
    tau: Float[Array, "1 L"]
    sums: Float[Array, "blocks L"]
    norm: Float[Array, "1 L"]
    alive: Float[Array, "1 L"]
    total: Float[Array, "N L"]


class _AERR(NamedTuple):
    """All lanes of AERR between two rounds: w = c u, and w_2 + ... + w_t = passed u + kept.

    Attributes:
        u: [coordinates, lanes].
        c: [1, lanes].
        sums: of the u^2, a sum for each block [blocks, lanes].
        passed: the sum of the c [1, lanes].
        kept: [coordinates, lanes].
    """

    u: Float[Array, "N L"]
    c: Float[Array, "1 L"]
    sums: Float[Array, "blocks L"]
    passed: Float[Array, "1 L"]
    kept: Float[Array, "N L"]


class _Round(NamedTuple):
    """What happens in a round, in every lane, and what never changes.

    Attributes:
        t: its number, from 1.
        x: the instance at given coordinates.
        y: the target [1, lanes].
        subset: the coordinates that are seen for the estimate of x, [half] or, where streams differ, [half, lanes].
        points: the numbers in (0, 1] that draw for y^ [half, 1] or [half, lanes].
        spread: d / (k/2).
        at: the index of coordinates in arrays whose last axis are the lanes.
        size: of a block.
        rates: [1, lanes].
        radii: [1, lanes].
    """

    t: Float[Array, ""]
    x: Callable[[Int[Array, "..."]], Float[Array, "... L"]]
    y: Float[Array, "1 L"]
    subset: Int[Array, "half ..."]
    points: Float[Array, "half ..."]
    spread: Float[Array, ""]
    at: Callable[[Int[Array, "..."]], tuple]
    size: int
    rates: Float[Array, "1 L"]
    radii: Float[Array, "1 L"]


class _Rule(NamedTuple):
    """How the lanes of an algorithm are updated.

    Attributes:
        settle: (lanes, size of a block) -> the same hypotheses, represented anew, so that no rounding adds up.
        may_go_on: lanes -> whether the next round may be played before they are represented anew.
        play: (lanes, round) -> the lanes after the round.
        total: lanes -> w_2 + ... + w_t.
    """

    settle: Callable[[Any, int], Any]
    may_go_on: Callable[[Any], Any]
    play: Callable[[Any, _Round], Any]
    total: Callable[[Any], Array]


@validate_arguments
def play_streams(
    law: Literal["aer", "aerr"],
    X: Float[ArrayLike, "n d"],
    y: Float[ArrayLike, "n"],
    rows: Int[ArrayLike, "S m"],
    keys: Key[Array, "K"],
    rates: Annotated[Any, Shape("G"), Gt(0)],
    radii: Annotated[Any, Shape("G"), Gt(0)],
    n_attributes: EvenCount,
    record_at: tuple[int, ...] | None = None,
    dimension: Count | None = None,
) -> Float[Array, "records S G d"]:
    """The averaged hypotheses of AER or AERR, the means of w_2, ..., w_(t+1) after t rounds: the papers' output.

    Streams share the data; each has its own rows, and its own key or that of all of them. With one key they choose the
    same coordinates in the same round, and the same numbers draw for y^.

    Args:
        law: the algorithm, AER or AERR.
        X: instances.
        y: targets.
        rows: the rows of X in the order in which each stream meets them, m rounds.
        keys: of the streams [S], or one for all of them [1], which takes less time; round t = 1, 2, ... has
            `game.keys.part_key(key, t, UPDATE)`, as in the game.
        rates: lambda for AER, the constant step size for AERR.
        radii: B, one for each rate.
        n_attributes: k, at most d.
        record_at: the rounds t of which to return hypotheses, rising; by default the last. Rows after the last are
            not played, so that streams of many lengths can be one program.
        dimension: the first coordinates of X that are played with; by default all. The hypotheses are 0 beyond.

    Raises:
        ValueError: shapes that do not match, rounds or rows that are not there, `n_attributes` odd or above d.

    Example:
        >>> import jax, numpy as np
        >>> from jaxonline.engines.attribute_streams import play_streams
        >>> X = np.sign(np.random.default_rng(0).normal(size=(500, 4)))
        >>> keys = jax.random.split(jax.random.key(0), 1)
        >>> w = play_streams("aer", X, X[:, 0], np.arange(500)[None], keys, [1.0, 2.0], [1.0, 1.0], 2)
        >>> w.shape, int(abs(w[0, 0, 0]).argmax())
        ((1, 1, 2, 4), 0)
    """
    X, y = check.rows("X", X, "y", y)
    d = X.shape[1] if dimension is None else dimension
    if not n_attributes <= d <= X.shape[1]:
        raise ArgumentError(
            "n_attributes", f"must be at most d = {d}, which is at most {X.shape[1]} (got {n_attributes})"
        )
    if np.shape(rates) != np.shape(radii):
        raise ArgumentError("radii", f"must be a vector as long as rates, {np.shape(rates)} (got {np.shape(radii)})")
    rows = np.asarray(rows)
    if rows.ndim != 2 or len(keys) not in (1, len(rows)) or rows.min() < 0 or rows.max() >= len(X):
        raise ArgumentError(
            "rows", f"must be [S, m] numbers of rows, for S keys or 1 (got {rows.shape} and {len(keys)} keys)"
        )
    m = rows.shape[1]
    record_at = (m,) if record_at is None else tuple(int(t) for t in record_at)
    if not record_at or record_at[0] < 1 or record_at[-1] > m or any(np.diff(record_at) <= 0):
        raise ArgumentError("record_at", f"must be rising rounds from 1 to {m} (got {record_at})")
    dtype = jnp.result_type(float)
    arrays = (jnp.asarray(a, dtype) for a in (X, y, rates, radii))
    ends = jnp.array(record_at, jnp.int32)
    return _play(law, *arrays, jnp.asarray(rows, jnp.int32), keys, n_attributes, ends, jnp.int32(d))


@jax.jit(static_argnames=("law", "n_attributes"))
def _play(law, X, y, rates, radii, rows, keys, n_attributes, ends, d):
    (S, m), G, width, half = rows.shape, len(rates), X.shape[1], n_attributes // 2
    n = int(np.ceil(np.cbrt(width) - 1e-9))  # blocks of blocks, blocks in each
    size = -(-width // n**2)
    lanes = jnp.arange(-(-S * G // _LANES) * _LANES, dtype=jnp.int32)
    stream = jnp.minimum(lanes // G, S - 1)
    rates, radii = rates[lanes % G][None], radii[lanes % G][None]
    spread = d.astype(X.dtype) / half
    rounds = jnp.arange(1, m + 1, dtype=jnp.int32)
    subsets, points = jax.vmap(lambda t: jax.vmap(lambda key: _choose(key, t, d, half, X.dtype))(keys))(rounds)
    together = len(keys) == 1

    def now(t):  # counts from 0
        row = rows[:, t][stream][None]
        subset = subsets[t, 0] if together else subsets[t].T[:, stream]
        point = points[t, 0][:, None] if together else points[t].T[:, stream]
        at = (lambda i: (i,)) if together else (lambda i: (i, jnp.broadcast_to(lanes, i.shape)))
        number = (t + 1).astype(X.dtype)
        return _Round(number, lambda i: X[row, i], y[row], subset, point, spread, at, size, rates, radii)

    zeros = [jnp.zeros((*shape, len(lanes)), X.dtype) for shape in ((n * n * size,), (n * n,), (1,))]
    of_coordinates, of_blocks, of_lanes = zeros
    if law == "aer":
        first = _AER(of_coordinates, of_lanes, of_blocks, of_lanes, of_lanes, of_coordinates)
        rule = _Rule(_settled_aer, lambda _: True, _aer, lambda lanes: lanes.total)
    else:
        first = _AERR(of_coordinates, of_lanes + 1, of_blocks, of_lanes, of_coordinates)
        rule = _Rule(_settled_aerr, _may_go_on, _aerr, _total_aerr)

    def play_some(state):
        t, until, lanes = state
        then = jnp.minimum(t + _SETTLE, until)
        t, lanes = jax.lax.while_loop(
            lambda state: (state[0] < then) & rule.may_go_on(state[1]),
            lambda state: (state[0] + 1, rule.play(state[1], now(state[0]))),
            (t, rule.settle(lanes, size)),
        )
        return t, until, lanes

    def play_until(state, until):
        t, _, lanes = jax.lax.while_loop(lambda now: now[0] < now[1], play_some, (state[0], until, state[1]))
        mean = rule.total(lanes)[:width, : S * G] / until.astype(X.dtype)
        return (t, lanes), mean.T.reshape(S, G, width)

    return jax.lax.scan(play_until, (jnp.int32(0), first), ends)[1]


def _choose(key: Key[Array, ""], t: Int[Array, ""], d: int, half: int, dtype: Any) -> tuple[Array, Array]:
    """As `AttributeGradient` draws in the game: the subset for x, and the numbers in (0, 1] that draw for y^."""
    subset_key, weighted_key = jax.random.split(part_key(key, t, UPDATE))
    return uniform_subset(subset_key, d, half), 1 - jax.random.uniform(weighted_key, (half,), dtype)


# ---------------------------------------------------------------------------------------------------------------------
# AER


def _settled_aer(lanes: _AER, size: int) -> _AER:
    """The same hypotheses with tau = 0: much later, |a| - tau would be all rounding."""
    a = _signed(lanes.a, lanes.tau)
    alive = sum_rows(jnp.where(a != 0, 1.0, jnp.zeros_like(a)))
    return lanes._replace(a=a, tau=jnp.zeros_like(lanes.tau), alive=alive)


def _aer(lanes: _AER, now: _Round) -> _AER:
    """A round of AER."""
    a, tau, sums, norm, alive, total = lanes
    y_hat = jnp.zeros_like(norm)
    for point in now.points[:, None]:
        index, chosen = draw_coordinate(a, sums, point, lambda part: _soft(part, tau))
        y_hat += jnp.sign(_signed(chosen, tau)) * now.x(index)
    y_hat *= norm / jnp.maximum(now.t - 1, 1) / len(now.points)

    force, limit = 2 * (y_hat - now.y) * now.spread / now.rates, now.t * now.radii
    j, places = columns_of(now.subset), now.at(now.subset)
    old = _signed(a[places], tau)
    new = old - force * now.x(j)
    size = jnp.abs(new) + tau
    a = a.at[places].set(jnp.sign(new) * size, unique_indices=True)
    norm = norm + sum_rows(jnp.abs(new) - jnp.abs(old))
    alive = alive + sum_rows(jnp.where((old == 0) & (new != 0), 1.0, jnp.zeros_like(new)))

    # for every set of coordinates the threshold is at least (the sum of their |a| - limit) / their number
    rounding = jnp.finfo(a.dtype).eps * limit
    least = tau + jnp.maximum(norm - limit, 0.0) / jnp.maximum(alive, 1.0)
    least = jnp.maximum(
        least, jnp.maximum(jnp.max(size, axis=0, keepdims=True) - limit, (sum_rows(size) - limit) / len(size))
    )

    def measured(before, norm_before, tau, alive):
        sums = block_sums(lambda part: _soft(part, tau), a, now.size)
        norm = sum_rows(sums)
        fall, width = norm_before - norm, tau - before
        trusted = (fall > _TRUSTED * rounding) & (width > 0)
        slope = jnp.where(trusted, fall / jnp.where(width > 0, width, 1.0), alive)
        return tau, sums, norm, jnp.minimum(alive, jnp.ceil(1.02 * slope)), jnp.minimum(alive, slope)

    def secant(state):
        (tau, _, norm, alive, slope), steps = state
        higher = tau + jnp.maximum(norm - limit, 0.0) / jnp.maximum(slope, 1.0)
        return measured(tau, norm, higher, alive), steps + 1

    def goes_on(state):
        return jnp.any(state[0][2] - limit > _SLACK * rounding) & (state[1] < _MAX_SECANTS)

    (tau, sums, norm, alive, _), _ = jax.lax.while_loop(
        goes_on, secant, (measured(tau, norm, least, alive), jnp.int32(0))
    )
    return _AER(a, tau, sums, norm, alive, total + _signed(a, tau) * (1 / now.t))


def _soft(a, tau):
    """(|a| - tau)_+, without a part that does not depend on tau: XLA would keep it as an array, for loops."""
    return jnp.where(a > tau, a - tau, jnp.where(a < -tau, -tau - a, 0.0))


def _signed(a, tau):
    """sgn(a) (|a| - tau)_+."""
    return jnp.where(a > tau, a - tau, jnp.where(a < -tau, a + tau, 0.0))


# ---------------------------------------------------------------------------------------------------------------------
# AERR


def _settled_aerr(lanes: _AERR, size: int) -> _AERR:
    """The same hypotheses with c = 1."""
    u, ones = lanes.u * lanes.c, jnp.ones_like(lanes.c)
    return _AERR(u, ones, block_sums(jnp.square, u, size), jnp.zeros_like(ones), _total_aerr(lanes))


def _may_go_on(lanes: _AERR) -> Bool[Array, ""]:
    return jnp.all(lanes.c > _LEAST_SCALE)


def _total_aerr(lanes: _AERR) -> Float[Array, "N L"]:
    return lanes.passed * lanes.u + lanes.kept


def _aerr(lanes: _AERR, now: _Round) -> _AERR:
    """A round of AERR."""
    u, c, sums, passed, kept = lanes
    square = sum_rows(sums)
    y_hat = jnp.zeros_like(square)
    for point in now.points[:, None]:
        index, chosen = draw_coordinate(u, sums, point, jnp.square)
        alive = chosen != 0
        y_hat += jnp.where(alive, square / jnp.where(alive, chosen, 1.0), 0.0) * now.x(index)
    y_hat *= c / len(now.points)

    change = -2 * (y_hat - now.y) * now.spread * now.rates / c * now.x(columns_of(now.subset))
    places, block = now.at(now.subset), now.subset // now.size
    u = u.at[places].add(change, unique_indices=True)
    kept = kept.at[places].add(-change * passed, unique_indices=True)
    inside = jnp.arange(now.size, dtype=jnp.int32).reshape(-1, *[1] * block.ndim)
    sums = sums.at[now.at(block)].set(jnp.sum(jnp.square(u[now.at(block[None] * now.size + inside)]), axis=0))

    norm = c * jnp.sqrt(sum_rows(sums))
    c = c * jnp.minimum(1.0, now.radii / jnp.where(norm > 0, norm, 1.0))
    return _AERR(u, c, sums, passed + c, kept)
