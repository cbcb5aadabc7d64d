"""Compiled programs of the simulator: a loop over rounds, `vmap` over the runs of a block, and one block per device.

Learners, environments, all numbers, and the first and last round of a segment are arguments of the programs, not
constants.
"""

import functools
import math
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh
from jaxtyping import Array, Int

from jaxonline._xla.compile_options import Program, has_host_callbacks
from jaxonline.game import Round, States, StreamKeys, WithFeedback, play_round, start, stream_keys
from jaxonline.game.binding import is_outside, overflow_flag
from jaxonline.game.roles import Specs
from jaxonline.numerics.elementwise import Compensated
from jaxonline.parameters.struct import replace, static, struct
from jaxonline.parameters.types import PyTree
from jaxonline.simulation import blocks

# ---------------------------------------------------------------------------------------------------------------------
# Sums over many rounds in the simulator: compensated sums, and sums of large terms in chunks of rounds.


CHUNK_ROUNDS = 16  # rounds whose terms are added to each other before they are added to the long sum


def to_float64(read: PyTree) -> PyTree:
    """Convert to float64 arrays on the host, with the corrections of compensated sums applied."""

    def convert(value: Any) -> Any:
        if not isinstance(value, Compensated):
            return np.asarray(value).astype(np.float64)
        with np.errstate(invalid="ignore"):  # infinity minus infinity in a failed run
            return jax.tree.map(lambda total, rest: np.asarray(total).astype(np.float64) - rest, *value)

    return jax.tree.map(convert, read, is_leaf=lambda value: isinstance(value, Compensated))


class Statistic(NamedTuple):
    """The statistic of a comparator, summed over rounds.

    The statistic may have d^2 numbers, although the data of a round has only d numbers. Rounds are buffered until a
    chunk is full, so that the d^2 numbers of the sum change only once per chunk. The first chunk starts at round 1, so
    that sums do not depend on the recorded rounds.
    """

    sums: Compensated
    x: PyTree  # leaves [CHUNK_ROUNDS, ...]
    y: PyTree  # leaves [CHUNK_ROUNDS, ...]

    @classmethod
    def empty(cls, comparator: Any, specs: Specs) -> "Statistic":
        """Return the sums before round 1."""

        def chunk(spec):
            return jax.tree.map(lambda leaf: jnp.zeros((CHUNK_ROUNDS, *leaf.shape), leaf.dtype), spec)

        sums = Compensated.zeros(jax.eval_shape(comparator.statistic, *specs))
        return cls(sums, chunk(specs.instance), chunk(specs.outcome))

    def add(self, comparator: Any, t: Int[Array, ""], x: PyTree, y: PyTree) -> "Statistic":
        """Add the statistic of round t = 1, 2, ..."""
        position = (t - 1) % CHUNK_ROUNDS

        def put(rows, row):
            return jax.tree.map(lambda leaf, new: leaf.at[position].set(new), rows, row)

        statistic = Statistic(self.sums, put(self.x, x), put(self.y, y))
        sums = jax.lax.cond(
            t % CHUNK_ROUNDS == 0, lambda: self.sums.add(statistic._chunk(comparator, CHUNK_ROUNDS)), lambda: self.sums
        )
        return statistic._replace(sums=sums)

    def read(self, comparator: Any, t: Int[Array, ""]) -> Compensated:
        """Return the sums after round t, including the rounds of an unfinished chunk."""
        return self.sums.add(self._chunk(comparator, t % CHUNK_ROUNDS))

    def _chunk(self, comparator: Any, number: Int[Array, ""] | int) -> PyTree:
        terms = jax.vmap(comparator.statistic)(self.x, self.y)
        used = jnp.arange(CHUNK_ROUNDS, dtype=jnp.int32) < number

        def add_up(leaf):
            mask = used.reshape((CHUNK_ROUNDS,) + (1,) * (leaf.ndim - 1))
            return jnp.where(mask, leaf, jnp.zeros((), leaf.dtype)).sum(axis=0)

        return jax.tree.map(add_up, terms)


# ---------------------------------------------------------------------------------------------------------------------
# Compiled programs of the simulator: a loop over rounds, `vmap` over the runs of a block, and one block per device.
#
# Learners, environments, all numbers, and the first and last round of a segment are arguments of the programs, not
# constants.


MAX_RECORDS = 64  # recorded rounds of a block in one call of `advance`
MAX_RECORD_BYTES = 1 << 24  # of their totals


@struct
class Matchup:
    """A game with learners, comparator and measures, as an argument of the compiled programs."""

    game: Any
    # learners stacked along a new leading axis, and their feedback; None for the environment alone
    entrant: WithFeedback | None
    comparator: Any  # comparator with a summed statistic, or None
    measures: dict[str, Any]  # measures by name
    members: int = static(default=1)  # number of stacked learners
    # version of the user's functions and classes; workers of a cluster compute in this version too
    code: str = static(default="")
    loss_limits: tuple[float, float] | None = static(default=None)  # of outcomes that are checked in each round


class Totals(NamedTuple):
    """Sums over the rounds of a run, which the host converts to float64."""

    measures: dict[str, Any]
    statistic: PyTree
    first_nonfinite: Array
    first_overflow: Array
    first_out_of_range: Array


class Carry(NamedTuple):
    """State of a run between two rounds.

    Attributes:
        states: states of the game.
        totals: sums over the rounds so far.
        stopped_at: round after which the learner stopped, 0 before that; () for a learner that never stops.
    """

    states: States
    totals: Totals
    stopped_at: PyTree = ()


def map_learners(function: Callable[..., Any], matchup: Matchup, *axes: Any) -> Callable[..., Any]:
    """Map `function(matchup, keys, ...)` over stacked learners, which share all random draws.

    A single learner gets no batch axis, because a batch axis would change the last bits and cost time. `axes` are the
    `in_axes` of the arguments after `keys`.
    """
    if matchup.entrant is None:
        return functools.partial(function, matchup)
    if matchup.members == 1:
        learner = jax.tree.map(lambda leaf: leaf[0], matchup.entrant.learner)
        return functools.partial(function, _with_learner(matchup, learner))

    def call(learner, keys, *rest):
        return function(_with_learner(matchup, learner), keys, *rest)

    members = jax.vmap(call, in_axes=(0, None, *axes), axis_size=matchup.members)
    return functools.partial(members, matchup.entrant.learner)


def _with_learner(matchup: Matchup, learner: Any) -> Matchup:
    entrant = WithFeedback(learner, matchup.entrant.feedback)  # type: ignore[union-attr]
    return replace(matchup, entrant=entrant, members=1)


def _play_round(matchup: Matchup, keys: StreamKeys, t: Array, states: States) -> tuple[States, Round]:
    return play_round(matchup.game, matchup.entrant, keys, t, states)


def begin_run(matchup: Matchup, keys: StreamKeys) -> Carry:
    """Return the carry of a run before round 1."""
    states = start(matchup.game, matchup.entrant, keys)
    _, record = jax.eval_shape(functools.partial(_play_round, matchup, keys, jnp.int32(1)), states)
    statistic = ()
    if matchup.comparator is not None:
        statistic = Statistic.empty(matchup.comparator, Specs(record.x, record.y_comparator))
    measures = {name: measure.init(record) for name, measure in matchup.measures.items()}
    stopped_at = jnp.int32(0) if can_stop(record) else ()
    return Carry(states, Totals(measures, statistic, *[jnp.int32(0)] * 3), stopped_at)


def can_stop(record: Round) -> bool:
    """Return whether the learner can stop: its info then has the field `stopped`."""
    return hasattr(record.info, "stopped")


def advance_run(matchup: Matchup, keys: StreamKeys, carry: Carry, t: Array) -> Carry:
    """Play round t and return the next carry; the carry of a run that has stopped stays the same."""
    states, record = _play_round(matchup, keys, t, carry.states)
    totals = carry.totals
    measures = {name: measure.add(totals.measures[name], t, record) for name, measure in matchup.measures.items()}
    statistic = totals.statistic
    if matchup.comparator is not None:
        statistic = statistic.add(matchup.comparator, t, record.x, record.y_comparator)
    nonfinite = totals.first_nonfinite
    if "cumulative_loss" in measures:
        # the sum is non-finite from the first non-finite loss, or overflow of the sum, on
        nonfinite = _first_round(nonfinite, ~jnp.isfinite(measures["cumulative_loss"].total), t)
    first_overflow, overflow = totals.first_overflow, overflow_flag(record.info)
    if overflow is not None:
        first_overflow = _first_round(first_overflow, overflow, t)
    out_of_range = totals.first_out_of_range
    if matchup.loss_limits is not None:
        out_of_range = _first_round(out_of_range, is_outside(record.y, matchup.loss_limits), t)
    totals = Totals(measures, statistic, nonfinite, first_overflow, out_of_range)
    following = Carry(states, totals, carry.stopped_at)
    if not can_stop(record):
        return following
    following = following._replace(stopped_at=jnp.where(record.info.stopped, t, 0))
    return jax.tree.map(lambda old, new: jnp.where(carry.stopped_at > 0, old, new), carry, following)


def read_run(matchup: Matchup, _: StreamKeys, carry: Carry, t: Array) -> Totals:
    """Return the totals to record after round t."""
    totals = carry.totals
    measures = {name: measure.read(totals.measures[name]) for name, measure in matchup.measures.items()}
    statistic = totals.statistic
    if matchup.comparator is not None:
        stopped = not isinstance(carry.stopped_at, tuple)
        t = jnp.where(carry.stopped_at > 0, carry.stopped_at, t) if stopped else t
        statistic = statistic.read(matchup.comparator, t)
    return totals._replace(measures=measures, statistic=statistic)


def _first_round(so_far: Array, now: Array, t: Array) -> Array:
    """Return the first round in which `now` was true, or 0 if it was never true."""
    return jnp.where((so_far == 0) & now, t, so_far)


@functools.partial(Program, static_argnames=("width", "mesh"))
def keys_of_runs(key: Array, block_indices: Array, *, width: int, mesh: Mesh) -> StreamKeys:
    """Return the keys of the runs of one block per device [devices, width]; all learners share this program."""

    def block(key, index):
        return jax.vmap(stream_keys)(blocks.item_keys(key, index, width))

    return blocks.map_blocks(block, mesh, n_shared=1, n_blockwise=1)(key, block_indices)


@functools.partial(Program, static_argnames=("mesh",))
def begin(matchup: Matchup, keys: StreamKeys, *, mesh: Mesh) -> Carry:
    """Return the carries of one block per device before round 1, with leaves [devices, width, ...]."""

    def block(matchup, keys):
        return jax.vmap(map_learners(begin_run, matchup))(keys)

    return blocks.map_blocks(block, mesh, n_shared=1, n_blockwise=1)(matchup, keys)


def records_per_call(carry: Carry) -> int:
    """Return how many recorded rounds one call of `advance` can hold, from the carry of a block [devices, width, ...].

    Totals may be large: a comparator's statistic may have d^2 numbers for each run.
    """
    size = sum(math.prod(leaf.shape[1:]) * leaf.dtype.itemsize for leaf in jax.tree.leaves(carry.totals))
    return max(1, min(MAX_RECORDS, MAX_RECORD_BYTES // size))


@functools.partial(Program, static_argnames=("mesh",), donate_argnames=("carry",))
def advance(
    matchup: Matchup, keys: StreamKeys, t: Array, ends: Array | np.ndarray, carry: Carry, *, mesh: Mesh
) -> tuple[Carry, Totals]:
    """Play rounds t + 1, t + 2, ...; return the carries, and the totals after each round in `ends`.

    One call plays many recorded rounds, because a call costs Python a quarter of a millisecond.

    Args:
        matchup: the game with its learners.
        keys: keys of the runs [devices, width].
        t: number of rounds played before.
        ends: increasing rounds, the last of which ends the call; followed by zeros [n + 1], at least one.
        carry: carries after round t [devices, width, ...].
        mesh: the devices.

    Returns:
        The carries after the last round, and the totals [devices, n, width, ...]; they are 0 where `ends` is 0.
    """

    def block(matchup, t, ends, keys, carry):
        play, read = map_learners(advance_run, matchup, 0, None), map_learners(read_run, matchup, 0, None)

        def one_round(t, carry):
            return jax.vmap(lambda keys, carry: play(keys, carry, t))(keys, carry)

        def play_until(until, t, carry):
            if isinstance(carry.stopped_at, tuple):
                return jax.lax.fori_loop(t + 1, until + 1, one_round, carry)
            # a block in which all runs have stopped is not continued
            _, carry = jax.lax.while_loop(
                lambda loop: (loop[0] <= until) & jnp.any(loop[1].stopped_at == 0),
                lambda loop: (loop[0] + 1, one_round(*loop)),
                (t + 1, carry),
            )
            return carry

        def read_all(carry, until):
            return jax.vmap(lambda keys, carry: read(keys, carry, until))(keys, carry)

        def segment(loop):
            i, t, carry, records = loop
            carry = play_until(ends[i], t, carry)
            totals = read_all(carry, ends[i])
            records = jax.tree.map(
                lambda rows, row: jax.lax.dynamic_update_index_in_dim(rows, row, i, 0), records, totals
            )
            return i + 1, ends[i], carry, records

        totals = jax.eval_shape(read_all, carry, t)
        records = jax.tree.map(lambda leaf: jnp.zeros((len(ends) - 1, *leaf.shape), leaf.dtype), totals)
        loop = jax.lax.while_loop(lambda loop: ends[loop[0]] > 0, segment, (jnp.int32(0), t, carry, records))
        return loop[2:]

    return blocks.map_blocks(block, mesh, n_shared=3, n_blockwise=2)(matchup, t, ends, keys, carry)


@functools.partial(Program, static_argnames=("mesh", "length"), donate_argnames=("states",))
def collect(
    matchup: Matchup, keys: StreamKeys, t: Array, states: States, *, mesh: Mesh, length: int
) -> tuple[States, tuple[PyTree, PyTree]]:
    """Play rounds t + 1, ..., t + length of the environment, without a learner.

    Returns the states, and the comparator's instances and outcomes [devices, length, width, ...].
    """

    def block(matchup, t, keys, states):
        def one_round(states, t):
            play = jax.vmap(lambda keys, states: _play_round(matchup, keys, t, states))
            states, record = play(keys, states)
            return states, (record.x, record.y_comparator)

        return jax.lax.scan(one_round, states, t + jnp.arange(1, length + 1, dtype=jnp.int32))

    return blocks.map_blocks(block, mesh, n_shared=2, n_blockwise=2)(matchup, t, keys, states)


class BlockPrograms(NamedTuple):
    """Programs that play the blocks of a job."""

    keys_of_runs: Callable[[Array, np.ndarray], StreamKeys]
    begin: Callable[[Matchup, StreamKeys], Carry]
    advance: Callable[[Matchup, StreamKeys, np.int32, np.ndarray, Carry], tuple[Carry, Totals]]
    host_callbacks: bool = False

    @classmethod
    def lazy(cls, width: int, mesh: Mesh) -> "BlockPrograms":
        """Return programs that jax compiles at the first call."""
        return cls(
            functools.partial(keys_of_runs, width=width, mesh=mesh),
            functools.partial(begin, mesh=mesh),
            functools.partial(advance, mesh=mesh),
        )

    @classmethod
    def compile(cls, matchup: Matchup, key: Array, width: int, mesh: Mesh) -> "BlockPrograms":
        """Return compiled programs, which do not depend on the jax configuration of the calling thread."""
        traced = list(traced_programs(matchup, key, width, mesh))
        compiled = (program.lower().compile() for program in traced)
        return cls(*compiled, host_callbacks=has_host_callbacks(traced[-1].jaxpr))


def traced_programs(matchup: Matchup, key: Array, width: int, mesh: Mesh) -> Iterator[Any]:
    """Trace the programs of a job one by one, for compilation."""
    matchup, key = blocks.array_specs((matchup, key), mesh)
    wave, t = np.zeros(mesh.devices.size, np.int32), np.int32(0)
    traced_keys = keys_of_runs.trace(key, wave, width=width, mesh=mesh)
    yield traced_keys
    keys = blocks.array_specs(traced_keys.out_info, mesh, blockwise=True)
    traced_begin = begin.trace(matchup, keys, mesh=mesh)
    yield traced_begin
    carry = blocks.array_specs(traced_begin.out_info, mesh, blockwise=True)
    yield advance.trace(matchup, keys, t, np.zeros(records_per_call(carry) + 1, np.int32), carry, mesh=mesh)
