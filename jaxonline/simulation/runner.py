"""How jobs are played: blocks of runs in waves over the devices, or by threads, segment after segment."""

import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from itertools import groupby
from typing import Any, NamedTuple

import jax
import numpy as np
from jax.sharding import Mesh

from jaxonline._xla.threads import Cancelled, sharing_cores, side_by_side
from jaxonline.parameters.struct import replace
from jaxonline.results.statistics.variance_reduction import HALF_DIFFERENCE
from jaxonline.simulation import blocks
from jaxonline.simulation.progress import Reporter
from jaxonline.simulation.resuming import InProgress, Pace, Position, pieces
from jaxonline.simulation.segments import BlockPrograms, Matchup, Totals
from jaxonline.simulation.sums import in_float64
from jaxonline.store.blocks import Store
from jaxonline.store.layout import BEST, FIRSTS, Kept, Rows

PATIENCE = 4.0  # seconds after which it has been seen at the latest that nobody waits any more


class Plan(NamedTuple):
    """How a job is cut: segments between recorded rounds, blocks of `width` runs."""

    key: jax.Array
    n_rounds: int
    rounds: np.ndarray
    width: int
    mesh: Mesh
    blocks: list[int]

    def pieces(self) -> int:
        """Segments to play, over all waves of blocks."""
        return sum(1 for _ in self.segments()) * -(-len(self.blocks) // self.mesh.devices.size)

    def segments(self) -> Iterator[tuple[int, int]]:
        """The segments as pairs (rounds before it, its last round).

        One ends at each recorded round; where these are far apart for what they are on average there are more, so that
        progress is seen.
        """
        longest, before = 2 * -(-self.n_rounds // len(self.rounds)), 0
        for recorded in self.rounds.tolist():
            for t in range(before, recorded, longest):
                yield t, min(t + longest, recorded)
            before = recorded

    def recording(self, rounds: Sequence[int]) -> "Plan":
        """The same with other recorded rounds."""
        return self._replace(rounds=np.asarray(rounds))

    def on_one_device(self) -> "Plan":
        """The same on the first device only."""
        return self._replace(mesh=blocks.default_mesh([self.mesh.devices.flat[0]]))

    def of_one_run(self) -> "Plan":
        """Run 0 alone."""
        return self.on_one_device()._replace(width=1, blocks=[0])


class Job(NamedTuple):
    """A matchup to be played, and how. The `name` is what progress calls it, `rows` are its place in a store, and
    `programs` play it, where they have been compiled for it."""

    name: str
    rows: Rows
    matchup: Matchup
    plan: Plan
    programs: BlockPrograms | None = None

    def blocks_in_words(self, some: Sequence[int]) -> str:
        """The job, and which of its blocks are played, where it has several: "EXP3, blocks 3-4 of 7"."""
        n = len(self.plan.blocks)
        first, last = (self.plan.blocks.index(block) + 1 for block in (some[0], some[-1]))
        which = f"block {first}" if first == last else f"blocks {first}-{last}"
        return self.name if n == 1 else f"{self.name}, {which} of {n:,}"


class Recorded(NamedTuple):
    """What a job has recorded: S learners (of a sweep), R runs (whole blocks), G recorded rounds."""

    measures: dict[str, np.ndarray]  # each [S, R, G, ...]
    first_nonfinite: np.ndarray  # [S, R]
    first_overflow: np.ndarray  # [S, R]
    best: np.ndarray | None  # [S, R, G]

    @staticmethod
    def join(pieces: Sequence["Recorded"], axis: int) -> "Recorded":
        """One after the other along an axis."""
        return jax.tree.map(lambda *parts: np.concatenate(parts, axis), *pieces)

    def select(self, function: Callable[[np.ndarray], np.ndarray]) -> "Recorded":
        """A part of every array."""
        return jax.tree.map(function, self)


def numbers_of(played: Sequence[Recorded], runs: np.ndarray, rounds: np.ndarray | None) -> dict[str, np.ndarray]:
    """What jobs have recorded, by name, with the learners of one after those of the other.

    Args:
        played: of each job.
        runs: which of its runs.
        rounds: which of the recorded rounds, all by default.
    """
    in_order = slice(runs[0], runs[-1] + 1) if (np.diff(runs) == 1).all() else runs  # copies nothing

    def part(array: np.ndarray) -> np.ndarray:
        some = array[:, in_order]
        return some if rounds is None or some.ndim < 3 else some[:, :, rounds]

    return _by_name(Recorded.join([each.select(part) for each in played], axis=0))


def play_job(job: Job, reporter: Reporter, store: Store | None, hold: bool = True) -> Recorded | None:
    """All blocks of one job; finished ones are taken from the store, and those in progress go on from it.

    Returns:
        The numbers; None where they are not to be held in memory, as they are in the store.
    """
    plan, found = job.plan, {}
    for block, recorded in () if store is None else finished(job, store):
        found[block] = recorded if hold else None
    to_play = [block for block in plan.blocks if block not in found]
    reporter.skip(plan.pieces() - plan._replace(blocks=to_play).pieces())
    for block, recorded in play_blocks(job, to_play, reporter, store):
        found[block] = recorded if hold else None
    return Recorded.join([found[block] for block in plan.blocks], axis=1) if hold else None


def play_blocks(
    job: Job, some: Sequence[int], reporter: Reporter, store: Store | None
) -> Iterator[tuple[int, Recorded]]:
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

    def play(item: tuple[int, np.ndarray, int]) -> list[tuple[int, Recorded]]:
        begun, wave, real = item
        in_progress = None if store is None else InProgress(store, job.rows, wave, real)
        recorded, end = _play_wave(job, programs, wave, reporter, in_progress, begun, ended)
        played = []
        for device, block in enumerate(wave[:real].tolist()):
            found = recorded.select(lambda part, device=device: part[device])
            if block in earlier:
                found = _joined(_from_arrays(job.rows, earlier[block].arrays), found, len(job.plan.rounds))
            if store is not None:
                store.blocks.write(job.rows, block, Kept(job.plan.n_rounds, _to_arrays(job.rows, found)))
            played.append((block, found))
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


def finished(job: Job, store: Store, some: Sequence[int] | None = None) -> Iterator[tuple[int, Recorded]]:
    """The blocks of a job, or some of them, that are finished in the store, and their numbers."""
    there = store.states(job.rows) if not store.keep_states else set()
    for block in sorted(store.blocks.finished(job.rows).intersection(job.plan.blocks if some is None else some)):
        kept = store.blocks.read(job.rows, block)
        if kept is not None and kept.rounds == job.plan.n_rounds:
            if block in there:  # a kill may have come in between
                store.forget_state(job.rows, block)
            yield block, _from_arrays(job.rows, kept.arrays)


def _shorter(job: Job, some: Sequence[int], store: Store) -> dict[int, Kept]:
    """The blocks that are finished with fewer rounds, and have a state from which they can go on."""
    there = store.blocks.finished(job.rows) & store.states(job.rows)
    found = {block: store.blocks.read(job.rows, block) for block in some if block in there}
    return {block: kept for block, kept in found.items() if kept is not None}


def _play_wave(
    job: Job, programs: BlockPrograms, wave: np.ndarray, reporter: Reporter, in_progress: InProgress | None, begun: int,
    ended: threading.Event,
) -> tuple[Recorded, Position]:  # fmt: skip
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
        What was recorded after the rounds that are known (all of it where the wave began anew), and where it ended.

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
    structure: Any = None

    def finish_piece() -> None:
        nonlocal structure
        until, totals = launched.popleft()
        jax.block_until_ready(totals.first_nonfinite)
        if until in wanted:
            leaves, structure = jax.tree.flatten(jax.device_get(totals))
            read.append([np.asarray(leaf) for leaf in leaves])
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
    found = _recorded(matchup, [jax.tree.unflatten(structure, leaves) for leaves in read])
    return found, Position(plan.n_rounds, carry, [])


def _follows(position: Position, plan: Plan, begun: int) -> bool:
    """Whether what was read up to a position, and what is known of the first rounds, is all that is recorded there."""
    recorded, known = np.sum(plan.rounds <= position.round), np.sum(plan.rounds <= begun)
    return position.round < plan.n_rounds and recorded - len(position.read) in (0, known)


def _joined(earlier: Recorded, later: Recorded, recorded: int) -> Recorded:
    """The first rounds from earlier, where later ones lack them; a wave that began anew has all of them."""

    def joined(first: np.ndarray, then: np.ndarray) -> np.ndarray:
        return np.concatenate([first[:, :, : recorded - then.shape[2]], then], axis=2)

    measures = {name: joined(earlier.measures[name], array) for name, array in later.measures.items()}
    best = None if earlier.best is None or later.best is None else joined(earlier.best, later.best)
    return later._replace(measures=measures, best=best)


def _recorded(matchup: Matchup, read: Sequence[Totals]) -> Recorded:
    """The totals of all recorded rounds as float64 arrays with the leading axis of devices [D, S, R, G, ...]."""
    if matchup.antithetic:
        one = replace(matchup, antithetic=False)
        plays = ([jax.tree.map(lambda part, i=i: part[:, :, i], totals) for totals in read] for i in range(2))
        return _mean_of_plays(*(_recorded(one, play) for play in plays))

    def put_together(*parts: np.ndarray) -> np.ndarray:  # each [D, R, ...] or, of several members, [D, R, S, ...]
        members = [np.moveaxis(part, 2, 1) if matchup.members > 1 else part[:, None] for part in parts]
        return np.stack(members, axis=3)

    stacked = jax.tree.map(put_together, *read)
    best = None
    if matchup.comparator is not None:
        best = np.asarray(matchup.comparator.best_loss(in_float64(stacked.statistic)))
    first = stacked.first_nonfinite[..., -1], stacked.first_overflow[..., -1]
    return Recorded(in_float64(stacked.measures), *first, best)


def _mean_of_plays(first: Recorded, second: Recorded) -> Recorded:
    """Of runs that were played twice: means, and half the difference of the losses, or regrets where they are known."""
    with np.errstate(invalid="ignore"):  # infinity minus infinity in a failed run
        measures = {name: (array + second.measures[name]) / 2 for name, array in first.measures.items()}
        half = (first.measures["cumulative_loss"] - second.measures["cumulative_loss"]) / 2
        best = None
        if first.best is not None and second.best is not None:
            best, half = (first.best + second.best) / 2, half - (first.best - second.best) / 2
    failed, overflowed = (
        np.where((a > 0) & (b > 0), np.minimum(a, b), np.maximum(a, b))
        for a, b in ((first.first_nonfinite, second.first_nonfinite), (first.first_overflow, second.first_overflow))
    )
    return Recorded(measures | {HALF_DIFFERENCE: half}, failed, overflowed, best)


def _to_arrays(rows: Rows, recorded: Recorded) -> dict[str, np.ndarray]:
    """The arrays of a block by name, for the store."""
    if rows.learners is None:
        best = np.asarray(recorded.best)[0]
        return {BEST: best if rows.width else best[0]}
    return _by_name(recorded)


def _by_name(recorded: Recorded) -> dict[str, np.ndarray]:
    arrays = recorded.measures | {name: getattr(recorded, name) for name in FIRSTS}
    return arrays if recorded.best is None else arrays | {BEST: recorded.best}


def _from_arrays(rows: Rows, arrays: dict[str, np.ndarray]) -> Recorded:
    best = arrays.get(BEST)
    if rows.learners is None and best is not None:
        best = best[None] if rows.width else best[None, None]
        none = np.zeros(best.shape[:2], np.int32)
        return Recorded({}, none, none, best)
    measures = {name: array for name, array in arrays.items() if name not in (*FIRSTS, BEST)}
    return Recorded(measures, arrays["first_nonfinite"], arrays["first_overflow"], best)
