"""Computation of jobs: blocks of runs in waves over the devices, or in threads, segment after segment."""

import threading
from collections import deque
from collections.abc import Iterator, Sequence

import jax
import numpy as np

from jaxonline._xla.threads import Cancelled, map_in_threads, share_cores
from jaxonline.simulation import blocks
from jaxonline.simulation.jobs import Job, join_blocks
from jaxonline.simulation.progress import Reporter
from jaxonline.simulation.resuming import InProgress, Pace, Position, split_segments
from jaxonline.simulation.segments import BlockPrograms, Matchup, Totals, records_per_call
from jaxonline.simulation.sums import to_float64
from jaxonline.store.checkpoints import COMPARATOR_LOSS, FIRST_ROUND_ARRAYS, Numbers, Store

CANCEL_SECONDS = 4.0  # longest time until a thread notices that its work was cancelled


def play_job(job: Job, reporter: Reporter, store: Store | None) -> Numbers:
    """Play the unfinished blocks of a job; return the numbers of all its blocks."""
    plan, played = job.plan, finished_blocks(job, store)
    to_play = [block for block in plan.blocks if block not in played]
    reporter.skip(plan.n_steps() - plan._replace(blocks=to_play).n_steps())
    played |= play_blocks(job, to_play, reporter, store)
    return join_blocks([played[block] for block in plan.blocks])


def play_blocks(
    job: Job, block_indices: Sequence[int], reporter: Reporter, store: Store | None
) -> Iterator[tuple[int, Numbers]]:
    """Play blocks of a job and write each finished block into the store; yields the blocks with their numbers."""
    stop, n_threads = threading.Event(), blocks.thread_count(job.plan.mesh, len(block_indices))
    matchup, key = blocks.replicate((job.matchup, job.plan.key), job.plan.mesh)
    job = job._replace(matchup=matchup, plan=job.plan._replace(key=key))
    programs = _programs(job, n_threads)
    if programs.host_callbacks:  # a callback needs a free thread of XLA to bring its arguments
        n_threads = 1

    def play(item: tuple[np.ndarray, int]) -> list[tuple[int, Numbers]]:
        wave, real = item
        in_progress = None if store is None else InProgress(store, job.rows, wave, real)
        recorded = _play_wave(job, programs, wave, reporter, in_progress, stop)
        played = []
        for device, block in enumerate(wave[:real].tolist()):
            played.append((block, {name: array[device] for name, array in recorded.items()}))
            if store is not None:
                store.write_block(job.rows, *played[-1])
        return played

    for played in map_in_threads(play, blocks.waves(list(block_indices), job.plan.mesh), n_threads, stop):
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


def finished_blocks(job: Job, store: Store | None) -> dict[int, Numbers]:
    """Return the blocks of a job that are finished in the store, with their numbers."""
    if store is None:
        return {}
    stored = {block: store.read_block(job.rows, block) for block in job.plan.blocks}
    finished = {block: numbers for block, numbers in stored.items() if numbers is not None}
    for block in finished:  # the process may have been killed before it removed the state
        store.delete_state(job.rows, block)
    return finished


def _play_wave(
    job: Job, programs: BlockPrograms, wave: np.ndarray, reporter: Reporter, in_progress: InProgress | None,
    stop: threading.Event,
) -> Numbers:  # fmt: skip
    """Play a wave (one block per device) through all segments; the host reads while the devices play on.

    Returns arrays [devices, learners, runs, recorded rounds, ...]. Raises Cancelled if `stop` is set.
    """
    plan, matchup = job.plan, job.matchup
    keys = programs.keys_of_runs(plan.key, wave)
    recorded_rounds, ends = set(plan.rounds.tolist()), {until for _, until in plan.segments()}
    name = job.block_label(wave.tolist())
    start, carry, read = 0, programs.begin(matchup, keys), []
    pace = Pace(CANCEL_SECONDS, rounds=1024)
    if in_progress is not None:
        position = in_progress.restore(carry)
        if position is not None:
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
    return {
        name: read[-1][name].copy()  # without the copy, the numbers of the other rounds would stay in memory
        if name in FIRST_ROUND_ARRAYS
        else np.stack([numbers[name] for numbers in read], axis=3)
        for name in job.rows.outputs
    }


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
