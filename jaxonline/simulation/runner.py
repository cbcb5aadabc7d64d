"""How a pass over the rounds is played: blocks of runs in waves over the devices, segment after segment."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax.sharding import Mesh

from jaxonline.simulation import blocks
from jaxonline.simulation.checkpoint import Checkpoint
from jaxonline.simulation.progress import Reporter
from jaxonline.simulation.segments import Matchup, Sweep, advance, begin
from jaxonline.simulation.sums import Compensated

BEST = "(best in hindsight)"  # the pass without a learner


class Plan(NamedTuple):
    """How one pass over the rounds is cut: segments of `length` rounds, blocks of `width` runs."""

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

    def on_one_device(self) -> "Plan":
        """The same on the first device only."""
        return self._replace(mesh=blocks.default_mesh([self.mesh.devices.flat[0]]))

    def of_one_run(self) -> "Plan":
        """Run 0 alone."""
        return self.on_one_device()._replace(width=1, blocks=[0])


class Played(NamedTuple):
    """The recorded rounds of one pass: S learners (of a sweep, else 1), R runs (whole blocks), G recorded rounds."""

    cumulative_loss: np.ndarray  # [S, R, G]
    queries: np.ndarray  # [S, R, G]
    first_nonfinite: np.ndarray  # [S, R]
    first_overflow: np.ndarray  # [S, R]
    best: np.ndarray | None  # [S, R, G]

    def map(self, function: Callable[[np.ndarray], np.ndarray]) -> "Played":
        """The same of every part that is there."""
        return Played(*(None if part is None else function(part) for part in self))  # type: ignore[arg-type]

    @staticmethod
    def join(pieces: Sequence["Played"], axis: int) -> "Played":
        """One after the other along an axis."""

        def put_together(*parts):
            return None if parts[0] is None else np.concatenate(parts, axis)

        return Played(*map(put_together, *pieces))  # type: ignore[arg-type]


def play_pass(name: str, matchup: Matchup, plan: Plan, reporter: Reporter, store: Checkpoint | None) -> Played:
    """All blocks of one pass."""
    kept = {} if store is None else {block: store.read(name, block) for block in plan.blocks}
    pieces = {block: Played(*parts) for block, parts in kept.items() if parts is not None}
    to_play = [block for block in plan.blocks if block not in pieces]
    reporter.skip(plan.pieces() - plan._replace(blocks=to_play).pieces())
    for wave, real in blocks.waves(to_play, plan.mesh):
        played = _play_wave(name, matchup, plan, wave, reporter)
        for device, block in enumerate(wave[:real].tolist()):
            pieces[block] = played.map(lambda part, device=device: part[device])
            if store is not None:
                store.write(name, block, pieces[block])
    return Played.join([pieces[block] for block in plan.blocks], axis=1)


def _play_wave(name: str, matchup: Matchup, plan: Plan, wave: np.ndarray, reporter: Reporter) -> Played:
    """One block per device through all segments; the host reads one segment behind, so that the device never waits."""
    sizes = {"width": plan.width, "mesh": plan.mesh}
    carry = begin(matchup, plan.key, wave, **sizes)
    wanted = set(plan.rounds.tolist())
    pending: deque = deque()
    read: list[Any] = []

    def fetch():
        t, tally = pending.popleft()
        jax.block_until_ready(tally.queries)
        if t in wanted:
            read.append(jax.tree.map(np.asarray, jax.device_get(tally)))
        reporter.advance("best in hindsight" if name == BEST else name)

    for t in range(0, plan.n_rounds, plan.length):
        carry, tally = advance(
            matchup, plan.key, jnp.int32(t), jnp.int32(plan.n_rounds), wave, carry,
            length=plan.length, may_overrun=plan.n_rounds % plan.length != 0, **sizes,
        )  # fmt: skip
        pending.append((min(t + plan.length, plan.n_rounds), tally))
        if len(pending) > 1:
            fetch()
    fetch()
    return _read(matchup, read)


def _read(matchup: Matchup, read: Sequence[Any]) -> Played:
    """Tallies of all recorded rounds to float64 arrays with the leading axis of devices [D, S, R, ...]."""
    swept = matchup.entrant is not None and isinstance(matchup.entrant.learner, Sweep)

    def put_together(*parts: np.ndarray) -> np.ndarray:  # each [D, R, ...] or, in a sweep, [D, R, S, ...]
        return np.stack([np.moveaxis(part, 2, 1) if swept else part[:, None] for part in parts], axis=3)

    stacked = jax.tree.map(put_together, *read)

    def in_float64(sums: Compensated) -> Any:
        with np.errstate(invalid="ignore"):  # infinity minus infinity in a failed run
            return jax.tree.map(lambda total, correction: total.astype(np.float64) - correction, *sums)

    best = None
    if matchup.comparator is not None:
        best = np.asarray(matchup.comparator.best_loss(in_float64(stacked.statistic)))
    loss = in_float64(stacked.loss)
    first = stacked.first_nonfinite[..., -1], stacked.first_overflow[..., -1]
    return Played(loss, stacked.queries.astype(np.float64), *first, best)
