"""The compiled part of the simulator: one block of runs through one segment of rounds.

`lax.scan` over rounds, `vmap` over the runs of a block, one block per device. Learners, environments and numbers of
all kinds are arguments, never constants of the program.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax.sharding import Mesh
from jaxtyping import Array, PyTree

from jaxonline._util.struct import static, struct
from jaxonline.game import Entrant, States, StreamKeys, play_round, start, stream_keys
from jaxonline.simulation import blocks
from jaxonline.simulation.sums import Compensated, Statistic


@struct
class Sweep:
    """Learners that differ in numbers only, stacked: one program, and the noise is drawn once for all of them.

    Made by `jaxonline.sweep`.

    Example:
        >>> import jaxonline as jo
        >>> sweep = jo.sweep({eta: jo.GradientLearner(jo.estimators.TwoCopies(), step_size=eta) for eta in (0.1, 0.2)})
        >>> sweep.labels
        ('0.1', '0.2')
    """

    learners: Any
    labels: tuple[str, ...] = static()


class Matchup(NamedTuple):
    """What is played together: a game, the entrant (None: only the environment moves), the comparator (or None)."""

    game: Any
    entrant: Entrant | None
    comparator: Any


class Tally(NamedTuple):
    """What the referee adds up during a run: read out as it is, and put together in float64 on the host."""

    loss: Compensated
    statistic: PyTree
    queries: Array
    first_nonfinite: Array
    first_overflow: Array


class Carry(NamedTuple):
    """Everything that a run takes from one round to the next."""

    states: PyTree
    tally: Tally


def _begin_run(matchup: Matchup, keys: StreamKeys) -> Carry:
    spec = matchup.game.environment.instance_spec
    loss = Compensated.zeros(jax.ShapeDtypeStruct((), spec.dtype))
    statistic = () if matchup.comparator is None else Statistic.empty(matchup.comparator, spec)
    tally = Tally(loss, statistic, *(jnp.int32(0) for _ in range(3)))
    return Carry(start(matchup.game, matchup.entrant, keys), tally)


def _advance_run(matchup: Matchup, keys: StreamKeys, carry: Carry, t: Array) -> Carry:
    states, record = play_round(matchup.game, matchup.entrant, keys, t, carry.states)
    tally = carry.tally
    loss = tally.loss.add(record.loss.astype(tally.loss.total.dtype))
    statistic = tally.statistic
    if matchup.comparator is not None:
        statistic = statistic.add(matchup.comparator, t, record.x_comparator, record.y)
    # the sum is not finite from the first loss on that is not, or that is too much for it
    nonfinite = _first(tally.first_nonfinite, ~jnp.isfinite(loss.total), t)
    overflow, now = tally.first_overflow, getattr(record.info, "overflow", None)
    if now is not None:  # a learner that cannot run out of storage does not say so
        overflow = _first(overflow, _checked_overflow(now), t)
    return Carry(states, Tally(loss, statistic, tally.queries + record.queries, nonfinite, overflow))


def _first(so_far: Array, now: Array, t: Array) -> Array:
    """The first round in which something happened, 0 as long as it has not."""
    return jnp.where((so_far == 0) & now, t, so_far)


def _checked_overflow(overflow: Any) -> Array:
    kind = (jnp.shape(overflow), jnp.result_type(overflow))
    if kind != ((), jnp.bool_):
        raise TypeError(f"overflow in a learner's info must be a boolean scalar, got the shape and dtype {kind}")
    return overflow


def _read_run(matchup: Matchup, _: StreamKeys, carry: Carry, t: Array) -> Tally:
    tally = carry.tally
    if matchup.comparator is None:
        return tally
    return tally._replace(statistic=tally.statistic.read(matchup.comparator, t))


def _over_sweep(function: Any, matchup: Matchup) -> Any:
    """Add the learners of a sweep as an inner batch: keys are shared, so random draws are made once."""
    entrant = matchup.entrant
    if entrant is None or not isinstance(entrant.learner, Sweep):
        return function
    axes = Matchup(None, Entrant(0, None), None)  # type: ignore[arg-type]

    def one(matchup, keys, *carry_and_round):
        return function(matchup, keys, *carry_and_round)

    n_more = 0 if function is _begin_run else 2
    in_axes = (axes, None) + ((0, None) if n_more else ())
    unwrapped = matchup._replace(entrant=Entrant(entrant.learner.learners, entrant.feedback))
    return lambda _, *rest: jax.vmap(one, in_axes=in_axes)(unwrapped, *rest)


@jax.jit(static_argnames=("width", "mesh"))
def begin(matchup: Matchup, key: Array, block_indices: Array, *, width: int, mesh: Mesh) -> Carry:
    """The carries of one block per device, before round 1: leaves [devices, width, ...]."""

    def block(matchup, key, index):
        def one(run_key):
            return _over_sweep(_begin_run, matchup)(matchup, stream_keys(run_key))

        return jax.vmap(one)(blocks.item_keys(key, index, width))

    return blocks.over_blocks(block, mesh, n_shared=2, n_blockwise=1)(matchup, key, block_indices)


@jax.jit(static_argnames=("width", "mesh", "length", "may_overrun"), donate_argnames=("carry",))
def advance(
    matchup: Matchup, key: Array, t: Array, horizon: Array, block_indices: Array, carry: Carry,
    *, width: int, mesh: Mesh, length: int, may_overrun: bool,
) -> tuple[Carry, Tally]:  # fmt: skip
    """Play rounds t + 1, ..., t + length (not beyond the horizon); returns the carries and a copy of the tallies."""

    def block(matchup, key, t, horizon, index, carry):
        keys = jax.vmap(stream_keys)(blocks.item_keys(key, index, width))
        play, read = _over_sweep(_advance_run, matchup), _over_sweep(_read_run, matchup)

        def one_round(carry, t):
            def go(carry):
                return jax.vmap(lambda keys, carry: play(matchup, keys, carry, t))(keys, carry)

            # the round is common to all runs, so that this is a branch and not a selection
            return (jax.lax.cond(t <= horizon, go, lambda carry: carry, carry) if may_overrun else go(carry)), None

        carry, _ = jax.lax.scan(one_round, carry, t + jnp.arange(1, length + 1, dtype=jnp.int32))
        last = jnp.minimum(t + length, horizon)
        return carry, jax.vmap(lambda keys, carry: read(matchup, keys, carry, last))(keys, carry)

    on_devices = blocks.over_blocks(block, mesh, n_shared=4, n_blockwise=2)
    return on_devices(matchup, key, t, horizon, block_indices, carry)


@jax.jit(static_argnames=("width", "mesh", "length"), donate_argnames=("states",))
def collect(
    game: Any, key: Array, t: Array, block_indices: Array, states: States, *, width: int, mesh: Mesh, length: int
) -> tuple[States, tuple[Array, Array]]:
    """Play the environment alone as `advance` does, and keep what the comparator is judged on.

    Returns:
        The states, and instances and targets [devices, length, width, ...] of rounds t + 1, ..., t + length.
    """

    def block(game, key, t, index, states):
        keys = jax.vmap(stream_keys)(blocks.item_keys(key, index, width))

        def one_round(states, t):
            states, record = jax.vmap(lambda keys, states: play_round(game, None, keys, t, states))(keys, states)
            return states, (record.x_comparator, record.y)

        return jax.lax.scan(one_round, states, t + jnp.arange(1, length + 1, dtype=jnp.int32))

    return blocks.over_blocks(block, mesh, n_shared=3, n_blockwise=2)(game, key, t, block_indices, states)
