"""AER and AERR over many streams of rows and many parameters at once: the same algorithms, in one program.

Nothing is learned here that is not learned in the game: given the same keys, `play_streams` chooses the same attributes
and has the same hypotheses as `aer` and `aerr` in `jo.play` (up to rounding). What is gained is time.

**What a round costs.** Lanes (stream x parameters) lie side by side in memory, coordinates one after the other. AER
keeps w_(t+1) = S(a, tau) / t, where S(a, tau) = sgn(a) (|a| - tau)_+. In these terms

* the shrinkage by 1 - 1/t costs nothing;
* the update touches k/2 coordinates of a;
* the projection on the l1 ball only raises the number tau, to where sum S(|a|, tau) = t B: Newton's method on that
  convex, piecewise linear function, which is there in a step unless coordinates become 0 (no sorting); rounds in which
  all norms are below B need none of it;
* y^ needs a draw by |w_i|: sums over blocks of sqrt(d) coordinates are found in the pass that measures the norm, and a
  draw goes through the sums and then through one block.

What is left that costs O(d), for each lane: a pass that reads a (4 d bytes, 4 d operations) for each step of Newton's
method, at least one, and a pass that adds w to the sum of hypotheses (12 d bytes, 4 d operations). Here d = 784 and
k = 4 make some 8 d to 20 d operations and 16 d to 28 d bytes, in cache. AERR scales w where AER raises tau, and writes
it in each round.
"""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Key

from jaxonline._util import check
from jaxonline.estimators.index_sampling import check_even, uniform_subset

LAWS = ("aer", "aerr")
EXACT = jax.lax.Precision.HIGHEST
_MAX_NEWTON = 64
_SETTLE = 32  # rounds after which tau begins at 0 again
_SLACK = 64  # roundings by which the sum of many numbers may be above the radius


class _Lanes(NamedTuple):
    """All lanes between two rounds.

    Attributes:
        a: the hypotheses, in blocks of coordinates [blocks, size, S, G]: w = sgn(a) (|a| - tau)_+ / (t - 1) for AER,
            w = a for AERR.
        tau: the thresholds [S, G].
        sums: of the weights by which coordinates are drawn, a sum for each block [blocks, S, G].
        total: of w_2, ..., w_t [blocks, size, S, G].
    """

    a: Float[Array, "blocks size S G"]
    tau: Float[Array, "S G"]
    sums: Float[Array, "blocks S G"]
    total: Float[Array, "blocks size S G"]


class _Choices(NamedTuple):
    """What is drawn beforehand, for each round and stream: the subset for x, the numbers in (0, 1] that draw for y^."""

    subset: Int[Array, "... half"]
    points: Float[Array, "... half"]


def play_streams(
    law: str,
    X: Float[ArrayLike, "n d"],
    y: Float[ArrayLike, "n"],
    rows: Int[ArrayLike, "S m"],
    keys: Key[Array, "S"],
    rates: Float[ArrayLike, "G"],
    radii: Float[ArrayLike, "G"],
    n_attributes: int,
    record_at: tuple[int, ...] | None = None,
    dimension: int | None = None,
) -> Float[Array, "records S G d"]:
    """The averaged hypotheses of AER or AERR, the means of w_2, ..., w_(t+1) after t rounds: the papers' output.

    Streams share the data; each has its own rows and its own key, with which its parameters share their draws.

    Args:
        law: "aer" or "aerr".
        X: instances.
        y: targets.
        rows: the rows of X in the order in which each stream meets them, m rounds.
        keys: of the streams; round t = 1, 2, ... has `fold_in(fold_in(key, t), 1)`, as in the game.
        rates: lambda for AER, the constant step size for AERR; above 0.
        radii: B, above 0, one for each rate.
        n_attributes: k, even, from 2 to d.
        record_at: the rounds t of which to return hypotheses, rising; by default the last. Rows after the last are
            not played, so that streams of many lengths can be one program.
        dimension: the first coordinates of X that are played with; by default all. The hypotheses are 0 beyond.

    Raises:
        ValueError: an argument outside its range, shapes that do not match.

    Example:
        >>> import jax, numpy as np
        >>> from jaxonline.learners.attributes.streams import play_streams
        >>> X = np.sign(np.random.default_rng(0).normal(size=(500, 4)))
        >>> keys = jax.random.split(jax.random.key(0), 1)
        >>> w = play_streams("aer", X, X[:, 0], np.arange(500)[None], keys, [1.0, 2.0], [1.0, 1.0], 2)
        >>> w.shape, int(abs(w[0, 0, 0]).argmax())
        ((1, 1, 2, 4), 0)
    """
    check.choice("law", law, LAWS)
    check_even("n_attributes", n_attributes)
    X, y = check.rows("X", X, "y", y)
    d = X.shape[1] if dimension is None else check.count("dimension", dimension)
    if not n_attributes <= d <= X.shape[1]:
        raise ValueError(f"n_attributes must be at most d = {d}, which is at most {X.shape[1]}, got {n_attributes}")
    check.numbers("rates", rates, gt=0.0)
    check.numbers("radii", radii, gt=0.0)
    if np.shape(rates) != np.shape(radii) or np.ndim(rates) != 1:
        raise ValueError(f"rates and radii must be vectors of one length, got {np.shape(rates)} and {np.shape(radii)}")
    rows = np.asarray(rows)
    if rows.ndim != 2 or len(rows) != len(keys) or rows.min() < 0 or rows.max() >= len(X):
        raise ValueError(f"rows must be [S, m] numbers of rows for S = {len(keys)} keys, got shape {rows.shape}")
    m = rows.shape[1]
    record_at = (m,) if record_at is None else tuple(int(t) for t in record_at)
    if not record_at or record_at[0] < 1 or record_at[-1] > m or any(np.diff(record_at) <= 0):
        raise ValueError(f"record_at must be rising rounds from 1 to {m}, got {record_at}")
    dtype = jnp.result_type(float)
    arrays = (jnp.asarray(a, dtype) for a in (X, y, rates, radii))
    ends = jnp.array(record_at, jnp.int32)
    return _play(law, *arrays, jnp.asarray(rows, jnp.int32), keys, n_attributes, ends, jnp.int32(d))


@jax.jit(static_argnames=("law", "n_attributes"))
def _play(law, X, y, rates, radii, rows, keys, n_attributes, ends, d):
    width, half = X.shape[1], n_attributes // 2
    size = math.isqrt(width - 1) + 1
    shape = (-(-width // size), size, len(rows), len(rates))
    spread = d.astype(X.dtype) / half
    step = _aer if law == "aer" else _aerr

    rounds = jnp.arange(1, rows.shape[1] + 1, dtype=jnp.int32)
    choices = jax.vmap(lambda t: jax.vmap(lambda key: _choose(key, t, d, half, X.dtype))(keys))(rounds)

    def play_round(t, lanes):  # t counts from 0
        row = rows[:, t]
        now = jax.tree.map(lambda all_rounds: all_rounds[t], choices)
        return step(lanes, (t + 1).astype(X.dtype), X, row, y[row][:, None], now, rates[None], radii[None], spread)

    def play_some(now):
        t, until, lanes = now
        then = jnp.minimum(t + _SETTLE, until)
        return then, until, jax.lax.fori_loop(t, then, play_round, _settled(lanes))

    def play_until(now, until):
        t, _, lanes = jax.lax.while_loop(lambda now: now[0] < now[1], play_some, (now[0], until, now[1]))
        return (t, lanes), lanes.total.reshape(-1, *shape[2:])[:width] / until.astype(X.dtype)

    lanes = _Lanes(*(jnp.zeros(of, X.dtype) for of in (shape, shape[2:], (shape[0], *shape[2:]), shape)))
    _, recorded = jax.lax.scan(play_until, (jnp.int32(0), lanes), ends)
    return jnp.moveaxis(recorded, 1, -1)


def _settled(lanes: _Lanes) -> _Lanes:
    """The same hypotheses with tau = 0: much later, |a| - tau would be all rounding."""
    return lanes._replace(a=_signed(lanes.a, lanes.tau), tau=jnp.zeros_like(lanes.tau))


def _choose(key: Key[Array, ""], t: Int[Array, ""], d: int, half: int, dtype: Any) -> _Choices:
    """As `AttributeGradient` draws in the game."""
    subset_key, weighted_key = jax.random.split(jax.random.fold_in(jax.random.fold_in(key, t), 1))
    return _Choices(uniform_subset(subset_key, d, half), 1 - jax.random.uniform(weighted_key, (half,), dtype))


def _aer(lanes, t, X, row, y, choices, rates, radii, spread):
    """A round of AER."""
    a, tau, sums, total = lanes
    norm = _summed(sums)
    y_hat = jnp.zeros_like(norm)
    for point in choices.points.T:
        index, chosen = _draw(a, sums, point[:, None], lambda part: _soft(part, tau))
        y_hat += jnp.sign(_signed(chosen, tau)) * X[row[:, None], index]
    y_hat *= norm / jnp.maximum(t - 1, 1) / len(choices.points.T)

    force, limit = 2 * (y_hat - y) * spread / rates, t * radii
    j = choices.subset.T  # [half, S]
    places = (*jnp.divmod(j, a.shape[1]), jnp.arange(len(row))[None])
    new = _signed(a[places], tau) - force[None] * X[row[None], j][..., None]
    size = jnp.abs(new) + tau[None]
    a = a.at[places].set(jnp.sign(new) * size, unique_indices=True)
    # for every set of coordinates the threshold is at least (the sum of their |a| - limit) / their number
    least = jnp.maximum(tau, jnp.maximum(size.max(0) - limit, (size.sum(0) - limit) / len(j)))

    slack = _SLACK * jnp.finfo(a.dtype).eps * limit

    def excess(sums):
        return jnp.maximum(_summed(sums) - limit, 0.0)

    def newton(now):
        tau, sums, steps = now
        alive = jnp.where(_soft(a, tau) > 0, 1.0, jnp.zeros_like(a))
        tau = tau + excess(sums) / jnp.maximum(_summed(_summed(alive)), 1.0)
        return tau, _summed(_soft(a, tau)), steps + 1

    def goes_on(now):
        return jnp.any(excess(now[1]) > slack) & (now[2] < _MAX_NEWTON)

    tau, sums, _ = jax.lax.while_loop(goes_on, newton, (least, _summed(_soft(a, least)), jnp.int32(0)))
    return _Lanes(a, tau, sums, total + _signed(a, tau) / t)


def _aerr(lanes, t, X, row, y, choices, rates, radii, spread):
    """A round of AERR."""
    w, tau, sums, total = lanes
    square = _summed(sums)
    y_hat = jnp.zeros_like(square)
    for point in choices.points.T:
        index, chosen = _draw(w, sums, point[:, None], jnp.square)
        alive = chosen != 0
        y_hat += jnp.where(alive, square / jnp.where(alive, chosen, 1.0), 0.0) * X[row[:, None], index]
    y_hat /= len(choices.points.T)

    force = 2 * (y_hat - y) * spread * rates
    j = choices.subset.T  # [half, S]
    places = (*jnp.divmod(j, w.shape[1]), jnp.arange(len(row))[None])
    w = w.at[places].add(-force[None] * X[row[None], j][..., None], unique_indices=True)

    sums = _summed(jnp.square(w))
    norm = jnp.sqrt(_summed(sums))
    scale = jnp.minimum(1.0, radii / jnp.where(norm > 0, norm, 1.0))
    w = w * _across(w, scale)
    return _Lanes(w, tau, sums * scale[None] ** 2, total + w)


def _soft(a, tau):
    """(|a| - tau)_+, without |a|, which XLA would take out of loops and keep as an array."""
    tau = _across(a, tau)
    return jnp.maximum(jnp.maximum(a - tau, -tau - a), 0.0)


def _signed(a, tau):
    """sgn(a) (|a| - tau)_+."""
    tau = _across(a, tau)
    return a - jnp.clip(a, -tau, tau)


def _across(a, lanes):
    """A number for each lane, as an array that goes with a."""
    return jnp.expand_dims(lanes, tuple(range(a.ndim - lanes.ndim)))


def _draw(a, sums, point, weight):
    """The first coordinate up to which the weights sum to `point` of their sum, in every lane, and its number in a."""
    up_to = _cumulative(sums)
    point = up_to[-1] * point
    before = up_to < point[None]
    block = jnp.sum(before, axis=0, dtype=jnp.int32)
    base = jnp.max(jnp.where(before, up_to, 0.0), axis=0)
    inside, *lanes = jnp.indices((a.shape[1], *point.shape), dtype=jnp.int32)
    part = a[block[None], inside, *lanes]
    within = _cumulative(weight(part))
    rest = jnp.minimum(point - base, within[-1])
    place = jnp.sum(within < rest[None], axis=0, dtype=jnp.int32)
    return block * a.shape[1] + place, jnp.sum(jnp.where(inside == place[None], part, 0.0), axis=0)


def _cumulative(weights):
    """Cumulative sums along the first axis, as a product: XLA makes many small operations of `cumsum`."""
    flat = weights.reshape(len(weights), -1)
    return jnp.matmul(jnp.tri(len(flat), dtype=flat.dtype), flat, precision=EXACT).reshape(weights.shape)


def _summed(values):
    """Sums along the third axis from behind, as a product, which is many times faster than `sum` on a CPU."""
    *blocks, size, S, G = values.shape
    flat = values.reshape(*blocks, size, S * G)
    ones = jnp.ones((*blocks, 1, size), values.dtype)
    return jnp.matmul(ones, flat, precision=EXACT).reshape(*blocks, S, G)
