"""How jobs are played: blocks of runs in waves over the devices, or by threads, segment after segment."""

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import jax
import numpy as np

from jaxonline._xla.threads import Cancelled, sharing_cores, side_by_side
from jaxonline.parameters.struct import replace
from jaxonline.results.statistics.variance_reduction import HALF_DIFFERENCE
from jaxonline.simulation import blocks
from jaxonline.simulation.jobs import Job, Numbers, Plan, join_blocks
from jaxonline.simulation.progress import Reporter
from jaxonline.simulation.resuming import InProgress, Pace, Position, pieces
from jaxonline.simulation.segments import BlockPrograms, Matchup, Totals
from jaxonline.simulation.sums import in_float64
from jaxonline.store.blocks import Store
from jaxonline.store.layout import COMPARATOR_LOSS, FIRST_ROUND_ARRAYS, FinishedBlock

PATIENCE = 4.0  # seconds after which it has been seen at the latest that nobody waits any more


def play_job(job: Job, reporter: Reporter, store: Store | None, hold: bool = True) -> Numbers | None:
    """All blocks of one job; finished ones are taken from the store, and those in progress go on from it.

    Returns:
        The numbers; None where they are not to be held in memory, as they are in the store.
    """
    plan, played = job.plan, dict[int, Any]()
    for block, numbers in () if store is None else finished(job, store):
        played[block] = numbers if hold else None
    to_play = [block for block in plan.blocks if block not in played]
    reporter.skip(plan.pieces() - plan._replace(blocks=to_play).pieces())
    for block, numbers in play_blocks(job, to_play, reporter, store):
        played[block] = numbers if hold else None
    return join_blocks([played[block] for block in plan.blocks]) if hold else None


def play_blocks(
    job: Job, some: Sequence[int], reporter: Reporter, store: Store | None
) -> Iterator[tuple[int, Numbers]]:
    """Play some blocks of a job, and keep each in the store when it is finished; yields blocks and their numbers.

    Blocks share no file of the store, so that several processes may play different ones. One that was finished with
    fewer rounds goes on from its state there, where that was kept.
    """
    plan, ended, n_threads = job.plan, threading.Event(), blocks.threads(job.plan.mesh, len(some))
    matchup, key = blocks.on_every_device((job.matchup, plan.key), plan.mesh)
    job = job._replace(matchup=matchup, plan=plan._replace(key=key))
    programs = _programs(job, n_threads)
    if programs.call_the_host:  # a call waits until a thread of XLA brings its arguments: one must be left for that
        n_threads = 1
    earlier = {} if store is None else _shorter(job, some, store)

    def rounds(block: int) -> int:
        return earlier[block].rounds if block in earlier else 0

    def waves() -> Iterator[tuple[int, np.ndarray, int]]:
        for begun, together in groupby(sorted(some, key=rounds), rounds):
            for wave, real in blocks.waves(list(together), job.plan.mesh):
                yield begun, wave, real

    def play(item: tuple[int, np.ndarray, int]) -> list[tuple[int, Numbers]]:
        begun, wave, real = item
        in_progress = None if store is None else InProgress(store, job.rows, wave, real)
        recorded, end = _play_wave(job, programs, wave, reporter, in_progress, begun, ended)
        played = []
        for device, block in enumerate(wave[:real].tolist()):
            numbers = {name: array[device] for name, array in recorded.items()}
            if block in earlier:
                numbers = _with_first_rounds(earlier[block].arrays, numbers, len(job.plan.rounds))
            if store is not None:
                store.blocks.write(job.rows, block, FinishedBlock(job.plan.n_rounds, numbers))
            played.append((block, numbers))
        if in_progress is not None:
            in_progress.finish(end)
        return played

    for played in side_by_side(play, waves(), n_threads, ended):
        yield from played


def _programs(job: Job, n_threads: int) -> BlockPrograms:
    """Those of a job, to be called by so many threads."""
    plan = job.plan
    several = plan.mesh.devices.size > 1  # empty arrays of theirs are not always where compiled programs expect them
    if job.programs is not None and not several:
        return job.programs
    if n_threads == 1 or several:
        return BlockPrograms.when_called(plan.width, plan.mesh)
    with sharing_cores(n_threads):
        return BlockPrograms.compiled(job.matchup, plan.key, plan.width, plan.mesh)


def finished(job: Job, store: Store, some: Sequence[int] | None = None) -> Iterator[tuple[int, Numbers]]:
    """The blocks of a job, or some of them, that are finished in the store, and their numbers."""
    there = store.blocks_in_progress(job.rows) if not store.keep_states else set()
    for block in sorted(store.blocks.finished(job.rows).intersection(job.plan.blocks if some is None else some)):
        kept = store.blocks.read(job.rows, block)
        if kept is not None and kept.rounds == job.plan.n_rounds:
            if block in there:  # a kill may have come in between
                store.delete_state(job.rows, block)
            yield block, kept.arrays


def _shorter(job: Job, some: Sequence[int], store: Store) -> dict[int, FinishedBlock]:
    """The blocks that are finished with fewer rounds, and have a state from which they can go on."""
    there = store.blocks.finished(job.rows) & store.blocks_in_progress(job.rows)
    found = {block: store.blocks.read(job.rows, block) for block in some if block in there}
    return {block: kept for block, kept in found.items() if kept is not None}


def _play_wave(
    job: Job, programs: BlockPrograms, wave: np.ndarray, reporter: Reporter, in_progress: InProgress | None, begun: int,
    ended: threading.Event,
) -> tuple[Numbers, Position]:  # fmt: skip
    """One block per device through all segments; the host reads one piece behind, so that the device never waits.

    Args:
        job: whose blocks are played, on the devices.
        programs: that play them.
        wave: a block for each device.
        reporter: is told of segments.
        in_progress: where to go on, and to keep.
        begun: rounds whose numbers are known.
        ended: is set when nobody waits for it any more.

    Returns:
        The arrays [devices, learners, runs, rounds, ...] after the rounds that are known (of all rounds where the wave
        began anew), and where it ended.

    Raises:
        Cancelled: nobody waits for it any more.
    """
    plan, matchup = job.plan, job.matchup
    keys = programs.keys_of_runs(plan.key, wave)
    wanted, ends = set(plan.rounds.tolist()), {until for _, until in plan.segments()}
    name = job.blocks_in_words(wave.tolist())
    start, carry, read = 0, programs.begin(matchup, keys), []
    pace = Pace(PATIENCE, rounds=1024)
    if in_progress is not None:
        position = in_progress.restore(carry)
        if position is not None and _follows(position, plan, begun):
            start, carry, read = position
        pace = Pace(in_progress.every)
        reporter.skip(sum(until <= start for until in ends))
    launched: deque[tuple[int, Totals]] = deque()

    def finish_piece() -> None:
        until, totals = launched.popleft()
        jax.block_until_ready(totals.first_nonfinite)
        if until in wanted:
            numbers = _numbers_of(matchup, jax.device_get(totals))
            read.append({name: numbers[name] for name in job.rows.outputs})
        if until in ends:
            reporter.advance(name)
        pace.played()

    for t, until in pieces(plan.segments(), start, pace):
        if in_progress is not None and t > start and in_progress.due():
            finish_piece()
            in_progress.keep(Position(t, carry, read))
        if ended.is_set():
            raise Cancelled
        carry, totals = programs.advance(matchup, keys, np.int32(t), np.int32(until), carry)
        launched.append((until, totals))
        if len(launched) > 1:
            finish_piece()
    finish_piece()
    recorded = {
        name: read[-1][name] if name in FIRST_ROUND_ARRAYS else np.stack([numbers[name] for numbers in read], axis=3)
        for name in job.rows.outputs
    }
    return recorded, Position(plan.n_rounds, carry, [])


def _follows(position: Position, plan: Plan, begun: int) -> bool:
    """Whether what was read up to a position, and what is known of the first rounds, is all that is recorded there."""
    recorded, known = np.sum(plan.rounds <= position.round), np.sum(plan.rounds <= begun)
    return position.round < plan.n_rounds and recorded - len(position.read) in (0, known)


def _with_first_rounds(earlier: Numbers, later: Numbers, recorded: int) -> Numbers:
    """The first rounds from earlier, where later ones lack them; a wave that began anew has all of them."""
    return {
        name: array if name in FIRST_ROUND_ARRAYS
        else np.concatenate([earlier[name][:, :, : recorded - array.shape[2]], array], axis=2)
        for name, array in later.items()
    }  # fmt: skip


def _numbers_of(matchup: Matchup, totals: Totals) -> Numbers:
    """The totals at a recorded round as arrays by name [devices, learners, runs, ...], sums in float64."""
    if matchup.antithetic:
        one = replace(matchup, antithetic=False)
        return _mean_of_plays(
            *(_numbers_of(one, jax.tree.map(lambda part, i=i: part[:, :, i], totals)) for i in (0, 1))
        )

    def with_members(part: np.ndarray) -> np.ndarray:  # [D, R, ...] or, of several members, [D, R, S, ...]
        return np.ascontiguousarray(np.moveaxis(part, 2, 1)) if matchup.members > 1 else part[:, None]

    totals = jax.tree.map(with_members, totals)
    numbers = in_float64(totals.measures) | {name: getattr(totals, name) for name in FIRST_ROUND_ARRAYS}
    if matchup.comparator is not None:
        numbers[COMPARATOR_LOSS] = np.asarray(matchup.comparator.best_loss(in_float64(totals.statistic)))
    return numbers


def _mean_of_plays(first: Numbers, second: Numbers) -> Numbers:
    """Of runs that were played twice: means, and half the difference of the losses, or regrets where they are known."""
    with np.errstate(invalid="ignore"):  # infinity minus infinity in a failed run
        mean = {name: (array + second[name]) / 2 for name, array in first.items() if name not in FIRST_ROUND_ARRAYS}
        half = {
            name: (first[name] - second[name]) / 2 for name in ("cumulative_loss", COMPARATOR_LOSS) if name in first
        }
        mean[HALF_DIFFERENCE] = half["cumulative_loss"] - half.get(COMPARATOR_LOSS, 0.0)
    for name in FIRST_ROUND_ARRAYS:
        a, b = first[name], second[name]
        mean[name] = np.where((a > 0) & (b > 0), np.minimum(a, b), np.maximum(a, b))
    return mean
