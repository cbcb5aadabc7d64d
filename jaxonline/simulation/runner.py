"""How jobs are played: blocks of runs in waves over the devices, segment after segment."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from jaxonline._util.struct import replace
from jaxonline.results.reduction import HALF_DIFFERENCE
from jaxonline.simulation import blocks
from jaxonline.simulation.progress import Reporter
from jaxonline.simulation.segments import Matchup, Totals, advance, begin
from jaxonline.simulation.store import Store
from jaxonline.simulation.sums import in_float64
from jaxonline.simulation.unfinished import InProgress, Pace, Position, pieces


class Plan(NamedTuple):
    """How a job is cut: segments of `length` rounds, blocks of `width` runs."""

    key: jax.Array
    n_rounds: int
    length: int
    rounds: np.ndarray
    width: int
    mesh: Mesh
    blocks: list[int]

    def pieces(self) -> int:
        """Segments to play, over all waves of blocks."""
        return -(-self.n_rounds // self.length) * -(-len(self.blocks) // self.mesh.devices.size)

    def segments(self) -> Iterator[tuple[int, int]]:
        """The segments as pairs (rounds before it, its last round)."""
        for t in range(0, self.n_rounds, self.length):
            yield t, min(t + self.length, self.n_rounds)

    def on_one_device(self) -> "Plan":
        """The same on the first device only."""
        return self._replace(mesh=blocks.default_mesh([self.mesh.devices.flat[0]]))

    def of_one_run(self) -> "Plan":
        """Run 0 alone."""
        return self.on_one_device()._replace(width=1, blocks=[0])


class Job(NamedTuple):
    """A matchup to be played, and how. The `name` is what progress calls it, `stored_as` its place in a checkpoint."""

    name: str
    stored_as: str
    matchup: Matchup
    plan: Plan


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


def play_job(job: Job, reporter: Reporter, store: Store | None) -> Recorded:
    """All blocks of one job; finished ones are taken from the store, and those in progress go on from it."""
    plan = job.plan
    kept = {} if store is None else {block: store.read(job.stored_as, block) for block in plan.blocks}
    found = {block: _from_arrays(arrays) for block, arrays in kept.items() if arrays is not None}
    if store is not None:
        InProgress(store, job.stored_as, np.array([*found]), len(found)).finish()  # a kill may have come in between
    to_play = [block for block in plan.blocks if block not in found]
    reporter.skip(plan.pieces() - plan._replace(blocks=to_play).pieces())
    for wave, real in blocks.waves(to_play, plan.mesh):
        in_progress = None if store is None else InProgress(store, job.stored_as, wave, real)
        recorded = _play_wave(job, wave, reporter, in_progress)
        for device, block in enumerate(wave[:real].tolist()):
            found[block] = recorded.select(lambda part, device=device: part[device])
            if store is not None:
                store.write(job.stored_as, block, _to_arrays(found[block]))
        if in_progress is not None:
            in_progress.finish()
    return Recorded.join([found[block] for block in plan.blocks], axis=1)


def _play_wave(job: Job, wave: np.ndarray, reporter: Reporter, in_progress: InProgress | None) -> Recorded:
    """One block per device through all segments; the host reads one piece behind, so that the device never waits."""
    plan, matchup = job.plan, job.matchup
    sizes = {"width": plan.width, "mesh": plan.mesh}
    wanted, ends = set(plan.rounds.tolist()), {until for _, until in plan.segments()}
    start, carry, read = 0, begin(matchup, plan.key, wave, **sizes), []
    pace = None
    if in_progress is not None:
        start, carry, read = in_progress.restore(carry) or (start, carry, read)
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
            reporter.advance(job.name)
        if pace is not None:
            pace.played()

    for t, until in pieces(plan.segments(), start, pace):
        if in_progress is not None and t > start and in_progress.due():
            finish_piece()
            in_progress.keep(Position(t, carry, read))
        carry, totals = advance(matchup, plan.key, jnp.int32(t), jnp.int32(until), wave, carry, **sizes)
        launched.append((until, totals))
        if len(launched) > 1:
            finish_piece()
    finish_piece()
    return _recorded(matchup, [jax.tree.unflatten(structure, leaves) for leaves in read])


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


def _to_arrays(recorded: Recorded) -> dict[str, np.ndarray]:
    """The arrays of a block by name, for the store."""
    arrays = {f"measure {name}": array for name, array in recorded.measures.items()}
    arrays |= {"first_nonfinite": recorded.first_nonfinite, "first_overflow": recorded.first_overflow}
    return arrays if recorded.best is None else arrays | {"best": recorded.best}


def _from_arrays(arrays: dict[str, np.ndarray]) -> Recorded:
    measures = {name.removeprefix("measure "): array for name, array in arrays.items() if name.startswith("measure ")}
    return Recorded(measures, arrays["first_nonfinite"], arrays["first_overflow"], arrays.get("best"))
