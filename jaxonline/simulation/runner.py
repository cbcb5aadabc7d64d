"""Computation of jobs: blocks of runs in waves over the devices, or in threads, segment after segment."""

import threading
from collections import deque
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import Any

import jax
import numpy as np

from jaxonline._xla.threads import Cancelled, map_in_threads, share_cores
from jaxonline.simulation import blocks
from jaxonline.simulation.jobs import Job, Numbers, Plan, join_blocks
from jaxonline.simulation.progress import Reporter
from jaxonline.simulation.resuming import InProgress, Pace, Position, split_segments
from jaxonline.simulation.segments import BlockPrograms, Matchup, Totals, records_per_call
from jaxonline.simulation.sums import to_float64
from jaxonline.store.blocks import Store
from jaxonline.store.layout import COMPARATOR_LOSS, FIRST_ROUND_ARRAYS, FinishedBlock

CANCEL_SECONDS = 4.0  # longest time until a thread notices that its work was cancelled


def play_job(job: Job, reporter: Reporter, store: Store | None, hold: bool = True) -> Numbers | None:
    """Play the unfinished blocks of a job; return the job's numbers, or None if `hold` is False (they are stored)."""
    plan, played = job.plan, dict[int, Any]()
    for block, numbers in () if store is None else finished_blocks(job, store):
        played[block] = numbers if hold else None
    to_play = [block for block in plan.blocks if block not in played]
    reporter.skip(plan.n_steps() - plan._replace(blocks=to_play).n_steps())
    for block, numbers in play_blocks(job, to_play, reporter, store):
        played[block] = numbers if hold else None
    return join_blocks([played[block] for block in plan.blocks]) if hold else None


def play_blocks(
    job: Job, block_indices: Sequence[int], reporter: Reporter, store: Store | None
) -> Iterator[tuple[int, Numbers]]:
    """Play blocks of a job and write each finished block into the store; yields the blocks with their numbers.

    Blocks share no file of the store, so that several processes can play different blocks. A block that was finished
    with fewer rounds continues from its stored state.
    """
    plan, stop, n_threads = job.plan, threading.Event(), blocks.thread_count(job.plan.mesh, len(block_indices))
    matchup, key = blocks.replicate((job.matchup, plan.key), plan.mesh)
    job = job._replace(matchup=matchup, plan=plan._replace(key=key))
    programs = _programs(job, n_threads)
    if programs.host_callbacks:  # a callback needs a free thread of XLA to bring its arguments
        n_threads = 1
    earlier = {} if store is None else _shorter_blocks(job, block_indices, store)

    def rounds(block: int) -> int:
        return earlier[block].rounds if block in earlier else 0

    def waves() -> Iterator[tuple[int, np.ndarray, int]]:
        for begun, group in groupby(sorted(block_indices, key=rounds), rounds):
            for wave, real in blocks.waves(list(group), job.plan.mesh):
                yield begun, wave, real

    def play(item: tuple[int, np.ndarray, int]) -> list[tuple[int, Numbers]]:
        begun, wave, real = item
        in_progress = None if store is None else InProgress(store, job.rows, wave, real)
        recorded, end = _play_wave(job, programs, wave, reporter, in_progress, begun, stop)
        played = []
        for device, block in enumerate(wave[:real].tolist()):
            numbers = {name: array[device] for name, array in recorded.items()}
            if block in earlier:
                numbers = _prepend_rounds(earlier[block].arrays, numbers, len(job.plan.rounds))
            if store is not None:
                store.blocks.write(job.rows, block, FinishedBlock(job.plan.n_rounds, numbers))
            played.append((block, numbers))
        if in_progress is not None:
            in_progress.finish(end)
        return played

    for played in map_in_threads(play, waves(), n_threads, stop):
        yield from played


def _programs(job: Job, n_threads: int) -> BlockPrograms:
    """Return the programs of a job, compiled for the given number of threads."""
    plan = job.plan
    has_many_devices = plan.mesh.devices.size > 1  # compiled programs may reject the sharding of empty arrays
    if job.programs is not None and not has_many_devices:
        return job.programs
    if n_threads == 1 or has_many_devices:
        return BlockPrograms.lazy(plan.width, plan.mesh)
    with share_cores(n_threads):
        return BlockPrograms.compile(job.matchup, plan.key, plan.width, plan.mesh)


def finished_blocks(
    job: Job, store: Store, block_indices: Sequence[int] | None = None
) -> Iterator[tuple[int, Numbers]]:
    """Yield the blocks of a job (by default all) that are finished in the store, with their numbers."""
    obsolete_states = store.blocks_in_progress(job.rows) if not store.keep_states else set()
    candidates = job.plan.blocks if block_indices is None else block_indices
    for block in sorted(store.blocks.finished(job.rows).intersection(candidates)):
        stored = store.blocks.read(job.rows, block)
        if stored is not None and stored.rounds == job.plan.n_rounds:
            if block in obsolete_states:  # the process was killed before it removed the state
                store.delete_state(job.rows, block)
            yield block, stored.arrays


def _shorter_blocks(job: Job, block_indices: Sequence[int], store: Store) -> dict[int, FinishedBlock]:
    """Return the blocks that are finished at a shorter horizon and have a stored state to continue from."""
    resumable = store.blocks.finished(job.rows) & store.blocks_in_progress(job.rows)
    stored = {block: store.blocks.read(job.rows, block) for block in block_indices if block in resumable}
    return {block: numbers for block, numbers in stored.items() if numbers is not None}


def _play_wave(
    job: Job, programs: BlockPrograms, wave: np.ndarray, reporter: Reporter, in_progress: InProgress | None, begun: int,
    stop: threading.Event,
) -> tuple[Numbers, Position]:  # fmt: skip
    """Play a wave (one block per device) through all segments; the host reads while the devices play on.

    The numbers of the first `begun` rounds are known. Returns arrays [devices, learners, runs, rounds, ...] of the
    rounds after `begun` (of all rounds if no state is stored), and the last position of the wave. Raises Cancelled if
    `stop` is set.
    """
    plan, matchup = job.plan, job.matchup
    keys = programs.keys_of_runs(plan.key, wave)
    recorded_rounds, ends = set(plan.rounds.tolist()), {until for _, until in plan.segments()}
    name = job.block_label(wave.tolist())
    start, carry, read = 0, programs.begin(matchup, keys), []
    pace = Pace(CANCEL_SECONDS, rounds=1024)
    if in_progress is not None:
        position = in_progress.restore(carry)
        if position is not None and _follows(position, plan, begun):
            start, carry, read = position
        pace = Pace(in_progress.every)
        reporter.skip(sum(until <= start for until in ends))
    launched: deque[tuple[list[int], Totals]] = deque()

    def finish_call() -> None:
        stops, totals = launched.popleft()
        jax.block_until_ready(totals.first_nonfinite)
        if recorded := [i for i, t in enumerate(stops) if t in recorded_rounds]:
            numbers = _numbers_of(matchup, jax.tree.map(lambda leaf: leaf[:, recorded], jax.device_get(totals)))
            read.extend({name: numbers[name][:, :, :, i] for name in job.rows.outputs} for i in range(len(recorded)))
        for _ in ends.intersection(stops):
            reporter.advance(name)
        pace.played()

    capacity = records_per_call(carry)
    for t, stops in split_segments(plan.segments(), start, pace, capacity):
        if in_progress is not None and t > start and in_progress.is_due():
            finish_call()
            in_progress.save(Position(t, carry, read))
        if stop.is_set():
            raise Cancelled
        padded = np.array(stops + [0] * (capacity + 1 - len(stops)), np.int32)
        carry, totals = programs.advance(matchup, keys, np.int32(t), padded, carry)
        launched.append((stops, totals))
        if len(launched) > 1:
            finish_call()
    finish_call()
    recorded = {
        name: read[-1][name].copy()  # without the copy, the numbers of the other rounds would stay in memory
        if name in FIRST_ROUND_ARRAYS
        else np.stack([numbers[name] for numbers in read], axis=3)
        for name in job.rows.outputs
    }
    return recorded, Position(plan.n_rounds, carry, [])


def _follows(position: Position, plan: Plan, begun: int) -> bool:
    """Return whether a position's numbers, with those of the first `begun` rounds, cover all rounds so far."""
    recorded, known = np.sum(plan.rounds <= position.round), np.sum(plan.rounds <= begun)
    return position.round < plan.n_rounds and recorded - len(position.read) in (0, known)


def _prepend_rounds(earlier: Numbers, later: Numbers, recorded: int) -> Numbers:
    """Prepend to the arrays `later` those first rounds of `earlier` that they lack."""
    return {
        name: array if name in FIRST_ROUND_ARRAYS
        else np.concatenate([earlier[name][:, :, : recorded - array.shape[2]], array], axis=2)
        for name, array in later.items()
    }  # fmt: skip


def _numbers_of(matchup: Matchup, totals: Totals) -> Numbers:
    """Return totals at recorded rounds [devices, rounds, runs, ...] as arrays [devices, learners, runs, rounds, ...].

    Sums are converted to float64.
    """

    def order_axes(leaf: np.ndarray) -> np.ndarray:  # from [D, G, R, ...], or [D, G, R, S, ...] of several members
        return np.swapaxes(leaf, 1, 3) if matchup.members > 1 else np.swapaxes(leaf[:, None], 2, 3)

    totals = jax.tree.map(order_axes, totals)
    numbers = to_float64(totals.measures) | {name: getattr(totals, name) for name in FIRST_ROUND_ARRAYS}
    comparator, statistic = matchup.comparator, totals.statistic
    if comparator is not None:  # one round at a time, since the sums of NumPy depend on the layout of an array

        def best_loss(i: int) -> np.ndarray:
            one = jax.tree.map(lambda leaf: np.ascontiguousarray(leaf[:, :, :, i]), statistic)
            return np.asarray(comparator.best_loss(to_float64(one)))

        numbers[COMPARATOR_LOSS] = np.stack([best_loss(i) for i in range(totals.first_nonfinite.shape[3])], axis=3)
    return numbers
