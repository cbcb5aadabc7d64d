"""Jobs of a study: compiled ahead, played block after block, and resumed in the middle of a block."""

import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh

from jaxonline._xla.compile_options import has_host_callbacks, is_debugging
from jaxonline._xla.threads import Cancelled, bind_context, map_in_threads, share_cores
from jaxonline.simulation import blocks
from jaxonline.simulation.progress import Reporter
from jaxonline.simulation.segments import (
    BlockPrograms,
    Carry,
    Matchup,
    Totals,
    records_per_call,
    to_float64,
    traced_programs,
)
from jaxonline.store.checkpoints import COMPARATOR_LOSS, FIRST_ROUND_ARRAYS, JobArrays, Numbers, Store

# ---------------------------------------------------------------------------------------------------------------------
# Jobs of a study, and plans that divide a job into blocks of runs and segments of rounds.


class Plan(NamedTuple):
    """Division of a job into blocks of `width` runs, and of their rounds into segments between recorded rounds."""

    key: jax.Array
    n_rounds: int
    rounds: np.ndarray
    width: int
    mesh: Mesh
    blocks: Sequence[int]

    def n_steps(self) -> int:
        """Return the number of segments to play, over all waves of blocks."""
        return sum(1 for _ in self.segments()) * -(-len(self.blocks) // self.mesh.devices.size)

    def segments(self) -> Iterator[tuple[int, int]]:
        """Yield segments as pairs (number of rounds before the segment, last round of the segment).

        A segment ends at each recorded round. Long gaps between recorded rounds are divided, so that progress is
        reported.
        """
        longest, before = 2 * -(-self.n_rounds // len(self.rounds)), 0
        for recorded in self.rounds.tolist():
            for t in range(before, recorded, longest):
                yield t, min(t + longest, recorded)
            before = recorded

    def single_device(self) -> "Plan":
        """Return the plan for the first device only."""
        return self._replace(mesh=blocks.default_mesh([self.mesh.devices.flat[0]]))

    def single_run(self) -> "Plan":
        """Return the plan for run 0 only."""
        return self.single_device()._replace(width=1, blocks=[0])


class Job(NamedTuple):
    """A matchup and its plan; `name` is shown as progress, `rows` is the job's part of the store."""

    name: str
    rows: JobArrays
    matchup: Matchup
    plan: Plan
    programs: BlockPrograms | None = None

    def block_label(self, block_indices: Sequence[int]) -> str:
        """Return a progress label such as "EXP3, blocks 3-4 of 7"; only the name for a job with one block."""
        n = len(self.plan.blocks)
        first, last = (self.plan.blocks.index(block) + 1 for block in (block_indices[0], block_indices[-1]))
        numbers = f"block {first}" if first == last else f"blocks {first}-{last}"
        return self.name if n == 1 else f"{self.name}, {numbers} of {n:,}"


def join_blocks(block_numbers: Sequence[Numbers]) -> Numbers:
    """Concatenate the arrays [learners, runs, ...] of several blocks along the axis of runs.

    The arrays are removed from the blocks one by one, so that they are not in memory twice.
    """
    return {
        name: np.concatenate([numbers.pop(name) for numbers in block_numbers], axis=1)
        for name in tuple(block_numbers[0])
    }


# ---------------------------------------------------------------------------------------------------------------------
# Stored states of unfinished blocks, by which an interrupted study resumes in the middle of a block.


ROUND = "round"  # names of arrays in a saved state: ROUND, "leaf 0", "leaf 1", ..., "0 cumulative_loss", ...


class Position(NamedTuple):
    """Position of a wave of blocks: rounds played, the carry after these rounds, and the numbers recorded so far."""

    round: int
    carry: Carry
    read: list[Numbers]


class InProgress:
    """Saves and restores the states of the blocks of a wave; blocks after the first `real` ones are only copies.

    States are saved at intervals of at least `every` seconds.
    """

    def __init__(self, store: Store, rows: JobArrays, blocks: np.ndarray, real: int):
        self.every = store.every
        self._store, self._rows = store, rows
        self._blocks, self._real = blocks.tolist(), real
        self._since: float | None = None
        self._wait = self.every

    def restore(self, carry: Carry) -> Position | None:
        """Return the stored position if all blocks are stored at the same round; `carry` gives shapes and dtypes."""
        stored = [self._store.load_state(self._rows, block) for block in self._blocks[: self._real]]
        states = [state for state in stored if state is not None]
        if len(states) < len(stored) or len({int(state[ROUND]) for state in states}) != 1:
            return None
        states += [states[-1]] * (len(self._blocks) - self._real)
        stacked = {name: np.stack([state[name] for state in states]) for name in states[0]}
        leaves, structure = jax.tree.flatten(carry)
        restored = [leaf_like(leaf, stacked.pop(f"leaf {i}")) for i, leaf in enumerate(leaves)]
        round_ = int(stacked.pop(ROUND)[0])
        read: dict[str, Numbers] = {}
        for name, numbers in stacked.items():
            position, _, output = name.partition(" ")
            read.setdefault(position, {})[output] = numbers
        return Position(round_, jax.tree.unflatten(structure, restored), list(read.values()))

    def is_due(self) -> bool:
        """Return whether it is time to save the states; the clock starts at the first call."""
        now = time.monotonic()
        self._since = now if self._since is None else self._since
        return now - self._since >= self._wait

    def save(self, position: Position) -> None:
        """Save the states of the blocks; if saving takes long, the next save is due later."""
        start = time.monotonic()
        leaves = jax.device_get(jax.tree.leaves(jax.tree.map(plain_leaf, position.carry)))
        numbers = {f"leaf {i}": np.asarray(leaf) for i, leaf in enumerate(leaves)}
        numbers |= {f"{i} {name}": array for i, read in enumerate(position.read) for name, array in read.items()}
        for device, block in enumerate(self._blocks[: self._real]):
            arrays = {name: array[device] for name, array in numbers.items()}
            self._store.save_state(self._rows, block, {ROUND: np.array(position.round), **arrays})
        self._since = time.monotonic()
        self._wait = max(self.every, min(10 * (self._since - start), 10 * self.every))


def plain_leaf(leaf: jax.Array) -> jax.Array:
    """Return a leaf unchanged, or the key data of a leaf that is a JAX key."""
    return jax.random.key_data(leaf) if jax.dtypes.issubdtype(leaf.dtype, jax.dtypes.prng_key) else leaf


def leaf_like(leaf: jax.Array, numbers: np.ndarray) -> jax.Array:
    """Convert numbers from a file to an array (or JAX key) with the type and devices of `leaf`."""
    target = plain_leaf(leaf)
    if numbers.dtype.kind == "V":  # a dtype unknown to NumPy (bfloat16)
        numbers = numbers.view(target.dtype)
    array = jax.device_put(numbers, target.sharding)
    return array if target is leaf else jax.random.wrap_key_data(array, impl=jax.random.key_impl(leaf))


class Pace:
    """Number of rounds per call of a program, adapted until a call takes between 1/8 and 1/2 of `every` seconds."""

    def __init__(self, every: float, rounds: int = 16):
        self.rounds = rounds
        self._every = every
        self._last = time.monotonic()

    def played(self) -> None:
        """Adapt the number of rounds per call to the time since the last call of `played`."""
        now = time.monotonic()
        took, self._last = now - self._last, now
        if took < self._every / 8:
            self.rounds *= 2
        elif took > self._every / 2:
            self.rounds = max(self.rounds // 2, 1)


def split_segments(
    segments: Iterable[tuple[int, int]], start: int, pace: Pace, capacity: int
) -> Iterator[tuple[int, list[int]]]:
    """Divide the segments after round `start` into calls of at most `pace.rounds` rounds; longer segments are split.

    Yields for each call the number of rounds before it, and its at most `capacity` ends of segments.
    """
    t, ends = start, list[int]()
    for _, until in segments:
        while (ends[-1] if ends else t) < until:
            ends.append(min(t + pace.rounds, until))
            if ends[-1] == t + pace.rounds or len(ends) == capacity:
                yield t, ends
                t, ends = ends[-1], []
    if ends:
        yield t, ends


# ---------------------------------------------------------------------------------------------------------------------
# Computation of jobs: blocks of runs in waves over the devices, or in threads, segment after segment.


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
            reporter.advance(name, job.name, len(ends))
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


# ---------------------------------------------------------------------------------------------------------------------
# Parallel compilation of the programs of a job, and of the next job's programs while the current job runs.
#
# Compilation keeps one core busy and takes most of a small study's time. The small programs of a job are compiled while
# its large program (the loop over rounds) is traced.


_compiled_kinds: set[int] = set()  # hashes of jobs whose programs are compiled


def precompile_jobs(jobs: Sequence[Job], store: Store | None = None) -> Iterator[Job]:
    """Yield each job with its compiled programs, while the programs of the next job are being compiled.

    A job whose blocks are all in the store needs no programs.
    """
    if is_debugging():
        yield from jobs
        return
    to_compile = [job for job in jobs if _program_hash(job) not in _compiled_kinds and not _is_finished(job, store)]
    if not to_compile:
        yield from jobs
        return
    pool, waiting = ThreadPoolExecutor(max_workers=2), list[Callable[[], BlockPrograms]]()
    try:
        for job in jobs:
            if to_compile and job is to_compile[0]:
                waiting += [_start_compiling(next_job, pool) for next_job in to_compile[len(waiting) : 2]]
                _compiled_kinds.add(_program_hash(to_compile.pop(0)))
                job = job._replace(programs=waiting.pop(0)())
            yield job
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _program_hash(job: Job) -> int:
    """Return a hash that is equal for jobs with the same programs; hashing a job is faster than tracing it."""
    leaves, structure = jax.tree.flatten((job.matchup, job.plan.key))
    plan = job.plan
    types = ((leaf.shape, leaf.dtype) for leaf in leaves)
    return hash((str(structure), *types, plan.width, plan.mesh, blocks.thread_count(plan.mesh, len(plan.blocks))))


def _is_finished(job: Job, store: Store | None) -> bool:
    return store is not None and store.finished(job.rows).issuperset(job.plan.blocks)


def _start_compiling(job: Job, pool: ThreadPoolExecutor) -> Callable[[], BlockPrograms]:
    """Trace the programs of a job and compile them in a thread pool; returns a function that waits for the programs."""
    plan, programs, host = job.plan, list[Future[Any]](), False
    with share_cores(blocks.thread_count(plan.mesh, len(plan.blocks))):
        for traced in traced_programs(job.matchup, plan.key, plan.width, plan.mesh):
            programs.append(pool.submit(bind_context(traced.lower().compile)))
            host = host or has_host_callbacks(traced.jaxpr)
    return lambda: BlockPrograms(*(program.result() for program in programs), host_callbacks=host)
