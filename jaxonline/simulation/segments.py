"""The compiled part of the simulator: one block of runs through one segment of rounds.

A loop over rounds, `vmap` over the runs of a block, one block per device. Learners, environments, numbers of all kinds
and the bounds of a segment are arguments, never constants of the program.
"""

import functools
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, PyTree

from jaxonline._xla.compile_options import Program, has_host_callbacks
from jaxonline.game import Entrant, Round, Specs, States, StreamKeys, play_round, start, stream_keys
from jaxonline.game.binding import overflow_of
from jaxonline.game.defaults import FeedbackDefaults, method_of
from jaxonline.game.traits import LearnerTraits, traits_of
from jaxonline.parameters.struct import replace, static, struct
from jaxonline.simulation import blocks
from jaxonline.simulation.sums import Statistic


@struct
class Matchup:
    """What is played together.

    Attributes:
        game: the game.
        entrant: the learners of a sweep, stacked along a new leading axis, and their feedback; None where only the
            environment moves.
        comparator: whose statistic is summed, or None.
        measures: what is counted, by name.
        members: how many learners are stacked.
        antithetic: whether each run is played twice, with opposite noise.
        code: what the user's own functions and classes in it were when it was made: programs of other code, in which
            another value of a global is a constant, are not used for it.
    """

    game: Any
    entrant: Entrant | None
    comparator: Any
    measures: dict[str, Any]
    members: int = static(default=1)
    antithetic: bool = static(default=False)
    code: str = static(default="")


class Totals(NamedTuple):
    """What the referee adds up during a run: recorded as it is, and put together in float64 on the host."""

    measures: dict[str, Any]
    statistic: PyTree
    first_nonfinite: Array
    first_overflow: Array


class Carry(NamedTuple):
    """Everything that a run takes from one round to the next."""

    states: States
    totals: Totals


def map_learners(function: Callable[..., Any], matchup: Matchup, *axes: Any) -> Callable[..., Any]:
    """`function(matchup, keys, ...)` for the members of a sweep: random draws are made once, and shared by all.

    A sweep of one has no axis here: a batch axis of one would change the last bits, and cost time.

    Args:
        function: of a matchup with a single learner.
        matchup: with stacked learners.
        axes: of the further arguments of `function`, as for `vmap`.
    """
    if matchup.entrant is None:
        return functools.partial(function, matchup)
    if matchup.members == 1:
        learner = jax.tree.map(lambda leaf: leaf[0], matchup.entrant.learner)
        return functools.partial(function, _with_learner(matchup, learner))

    def one(learner, keys, *rest):
        return function(_with_learner(matchup, learner), keys, *rest)

    members = jax.vmap(one, in_axes=(0, None, *axes), axis_size=matchup.members)
    return functools.partial(members, matchup.entrant.learner)


def _with_learner(matchup: Matchup, learner: Any) -> Matchup:
    entrant = Entrant(learner, matchup.entrant.feedback)  # type: ignore[union-attr]
    return replace(matchup, entrant=entrant, members=1, antithetic=False)


def map_mirrored_runs(function: Callable[..., Any], matchup: Matchup, *axes: Any) -> Callable[..., Any]:
    """As `map_learners`, and for both plays of antithetic runs, along an axis in front: noise is drawn once for both.

    A play with the sign -1 has the negative noise of that with the sign 1; a feedback without noise has none to turn.
    """
    if not matchup.antithetic:
        return map_learners(function, matchup, *axes)

    def one(sign, keys, *rest):
        entrant, game = matchup.entrant, matchup.game
        entrant = Entrant(entrant.learner, method_of(entrant.feedback, FeedbackDefaults.mirrored)(sign))  # type: ignore[union-attr]
        if game.regret.learner_on_copies:
            game = replace(game, feedback=method_of(game.feedback, FeedbackDefaults.mirrored)(sign))
        turned = replace(matchup, game=game, entrant=entrant, antithetic=False)
        return map_learners(function, turned, *axes)(keys, *rest)

    plays = jax.vmap(one, in_axes=(0, None, *axes))
    return functools.partial(plays, jnp.array([1.0, -1.0], matchup.game.dtype))


def _play_round(matchup: Matchup, keys: StreamKeys, t: Array, states: States) -> tuple[States, Round]:
    return play_round(matchup.game, matchup.entrant, keys, t, states, code=matchup.code)


def begin_run(matchup: Matchup, keys: StreamKeys) -> Carry:
    """The carry of a run before round 1."""
    states = start(matchup.game, matchup.entrant, keys)
    _, record = jax.eval_shape(functools.partial(_play_round, matchup, keys, jnp.int32(1)), states)
    statistic = ()
    if matchup.comparator is not None:
        statistic = Statistic.empty(matchup.comparator, Specs(record.x_comparator, record.y_comparator))
    measures = {name: measure.init(record) for name, measure in matchup.measures.items()}
    return Carry(states, Totals(measures, statistic, jnp.int32(0), jnp.int32(0)))


def advance_run(matchup: Matchup, keys: StreamKeys, carry: Carry, t: Array) -> Carry:
    """The carry after round t."""
    states, record = _play_round(matchup, keys, t, carry.states)
    totals = carry.totals
    measures = {name: measure.add(totals.measures[name], t, record) for name, measure in matchup.measures.items()}
    statistic = totals.statistic
    if matchup.comparator is not None:
        statistic = statistic.add(matchup.comparator, t, record.x_comparator, record.y_comparator)
    nonfinite = totals.first_nonfinite
    if "cumulative_loss" in measures:
        # the sum is not finite from the first loss on that is not, or that is too much for it
        nonfinite = _first_round(nonfinite, ~jnp.isfinite(measures["cumulative_loss"].total), t)
    first_overflow, overflow = totals.first_overflow, overflow_of(record.info)
    if overflow is not None:
        first_overflow = _first_round(first_overflow, overflow, t)
    return Carry(states, Totals(measures, statistic, nonfinite, first_overflow))


def read_run(matchup: Matchup, _: StreamKeys, carry: Carry, t: Array) -> Totals:
    """What is recorded after round t."""
    totals = carry.totals
    measures = {name: measure.read(totals.measures[name]) for name, measure in matchup.measures.items()}
    statistic = totals.statistic
    if matchup.comparator is not None:
        statistic = statistic.read(matchup.comparator, t)
    return totals._replace(measures=measures, statistic=statistic)


def _first_round(so_far: Array, now: Array, t: Array) -> Array:
    """The first round in which something happened, 0 as long as it has not."""
    return jnp.where((so_far == 0) & now, t, so_far)


@functools.partial(Program, static_argnames=("width", "mesh"))
def keys_of_runs(key: Array, block_indices: Array, *, width: int, mesh: Mesh) -> StreamKeys:
    """The streams of the runs of one block per device, [devices, width]: one program for all learners of a study."""

    def block(key, index):
        return jax.vmap(stream_keys)(blocks.item_keys(key, index, width))

    return blocks.map_blocks(block, mesh, n_shared=1, n_blockwise=1)(key, block_indices)


@functools.partial(Program, static_argnames=("mesh",))
def begin(matchup: Matchup, keys: StreamKeys, *, mesh: Mesh) -> Carry:
    """The carries of one block per device, before round 1: leaves [devices, width, ...]."""

    def block(matchup, keys):
        return jax.vmap(map_mirrored_runs(begin_run, matchup))(keys)

    return blocks.map_blocks(block, mesh, n_shared=1, n_blockwise=1)(matchup, keys)


def has_long_rounds(matchup: Matchup) -> bool:
    """Whether the learner declares long rounds; the environment alone has none."""
    return matchup.entrant is not None and traits_of(matchup.entrant.learner, LearnerTraits).long_rounds


@functools.partial(Program, with_mlir=has_long_rounds, static_argnames=("mesh",), donate_argnames=("carry",))
def advance(
    matchup: Matchup, keys: StreamKeys, t: Array, until: Array, carry: Carry, *, mesh: Mesh
) -> tuple[Carry, Totals]:
    """Play rounds t + 1, ..., until; returns the carries, and what is recorded then."""

    def block(matchup, t, until, keys, carry):
        play, read = map_mirrored_runs(advance_run, matchup, 0, None), map_mirrored_runs(read_run, matchup, 0, None)

        def one_round(t, carry):
            return jax.vmap(lambda keys, carry: play(keys, carry, t))(keys, carry)

        carry = jax.lax.fori_loop(t + 1, until + 1, one_round, carry)
        return carry, jax.vmap(lambda keys, carry: read(keys, carry, until))(keys, carry)

    return blocks.map_blocks(block, mesh, n_shared=3, n_blockwise=2)(matchup, t, until, keys, carry)


@functools.partial(Program, static_argnames=("mesh", "length"), donate_argnames=("states",))
def collect(
    matchup: Matchup, keys: StreamKeys, t: Array, states: States, *, mesh: Mesh, length: int
) -> tuple[States, tuple[PyTree, PyTree]]:
    """Play the environment alone for rounds t + 1, ..., t + length, and keep what the comparator is judged on.

    Returns:
        The states, and instances and outcomes [devices, length, width, ...].
    """

    def block(matchup, t, keys, states):
        def one_round(states, t):
            play = jax.vmap(lambda keys, states: _play_round(matchup, keys, t, states))
            states, record = play(keys, states)
            return states, (record.x_comparator, record.y_comparator)

        return jax.lax.scan(one_round, states, t + jnp.arange(1, length + 1, dtype=jnp.int32))

    return blocks.map_blocks(block, mesh, n_shared=2, n_blockwise=2)(matchup, t, keys, states)


class BlockPrograms(NamedTuple):
    """What plays the blocks of a job: functions of arrays."""

    keys_of_runs: Callable[[Array, np.ndarray], StreamKeys]
    begin: Callable[[Matchup, StreamKeys], Carry]
    advance: Callable[[Matchup, StreamKeys, np.int32, np.int32, Carry], tuple[Carry, Totals]]
    host_callbacks: bool = False

    @classmethod
    def lazy(cls, width: int, mesh: Mesh) -> "BlockPrograms":
        """Traced and compiled by the first call, where that has not been done."""
        return cls(
            functools.partial(keys_of_runs, width=width, mesh=mesh),
            functools.partial(begin, mesh=mesh),
            functools.partial(advance, mesh=mesh),
        )

    @classmethod
    def compile(cls, matchup: Matchup, key: Array, width: int, mesh: Mesh) -> "BlockPrograms":
        """Compiled already, so that what jax is set to in the thread that calls them does not matter."""
        traced = list(traced_programs(matchup, key, width, mesh))
        compiled = (program.lower().compile() for program in traced)
        return cls(*compiled, host_callbacks=has_host_callbacks(traced[-1].jaxpr))


def traced_programs(matchup: Matchup, key: Array, width: int, mesh: Mesh) -> Iterator[Any]:
    """The programs of a job, one after the other, to be compiled; calls with arguments like these take them."""
    matchup, key = blocks.array_specs((matchup, key), mesh)
    wave, t = np.zeros(mesh.devices.size, np.int32), np.int32(0)
    of_keys = keys_of_runs.trace(key, wave, width=width, mesh=mesh)
    yield of_keys
    keys = blocks.array_specs(of_keys.out_info, mesh, blockwise=True)
    of_start = begin.trace(matchup, keys, mesh=mesh)
    yield of_start
    carry = blocks.array_specs(of_start.out_info, mesh, blockwise=True)
    yield advance.trace(matchup, keys, t, t, carry, mesh=mesh)
