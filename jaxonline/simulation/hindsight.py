"""Comparators that need the whole history of a run, not sums over its rounds."""

from collections.abc import Iterator, Sequence
from copy import copy

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float, PyTree

from jaxonline.game import Game
from jaxonline.game.protocols import HindsightComparator
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import cast_leaves
from jaxonline.simulation.jobs import Plan
from jaxonline.simulation.progress import Reporter
from jaxonline.simulation.segments import Matchup, begin, collect, keys_of_runs
from jaxonline.store.blocks import Store
from jaxonline.store.layout import AXES, COMPARATOR_LOSS, FinishedBlock, JobArrays

MAX_BYTES = 1 << 28  # of histories on the host at a time
PIECE = 256  # rounds collected at a time, at most: one program for all long horizons


class Hindsight:
    """The best in hindsight of the runs of a study, run after run on the host.

    Histories are collected block by block, and kept only for the runs in work: memory does not grow with the runs.

    Args:
        game: the game.
        comparator: whose best losses are computed.
        plan: of the study.
        runs: the runs asked for.
        code: as in `Matchup`.
        max_bytes: of histories on the host at a time; at least one run's is there.

    Raises:
        ValueError: if the environment is adaptive, or the noise on which the comparator is judged.
    """

    def __init__(
        self, game: Game, comparator: HindsightComparator, plan: Plan, runs: np.ndarray, code: str = "",
        max_bytes: int = MAX_BYTES,
    ):  # fmt: skip
        if not game.oblivious:
            raise ArgumentError(
                "comparator",
                f"{type(comparator).__name__} needs the history of the environment alone, but in this game that "
                "depends on the learner; use a comparator that sums over rounds, such as L2Ball",
            )
        self.comparator = comparator
        self._matchup = Matchup(cast_leaves(game, game.dtype), None, None, {}, code=code)
        self._plan = plan.of_one_run() if game.deterministic else plan.on_one_device()
        self._runs = [0] if game.deterministic else runs.tolist()
        self._max_bytes = max_bytes
        self.rows = JobArrays(
            "hindsight", "hindsight", (COMPARATOR_LOSS,), (0, 1), 1, AXES[2:] if game.deterministic else AXES[1:]
        )

    def pieces(self) -> int:
        """Runs to solve."""
        return len(set(self._runs))

    def recording(self, rounds: Sequence[int]) -> "Hindsight":
        """The same with other recorded rounds."""
        other = copy(self)
        other._plan = self._plan.recording(rounds)
        return other

    def best_losses(self, reporter: Reporter, store: Store | None) -> Float[np.ndarray, "R G"]:
        """One row for each run asked for; a single one where all runs are the same."""
        runs, best = dict.fromkeys(self._runs), dict[int, np.ndarray]()
        if store is not None:
            for run in store.blocks.finished(self.rows).intersection(runs):
                kept = store.blocks.read(self.rows, run)
                if kept is not None and kept.rounds == self._plan.n_rounds:
                    best[run] = kept.arrays[COMPARATOR_LOSS][0, 0]
        reporter.skip(len(best))
        for run, X, y in self._histories([run for run in runs if run not in best]):
            best[run] = _best_losses(self.comparator, X, y, self._plan.rounds)
            if store is not None:
                store.blocks.write(
                    self.rows, run, FinishedBlock(self._plan.n_rounds, {COMPARATOR_LOSS: best[run][None, None]})
                )
            reporter.advance("best in hindsight")
        return np.stack([best[run] for run in self._runs])

    def _histories(self, runs: Sequence[int]) -> Iterator[tuple[int, PyTree, PyTree]]:
        """Instances and outcomes of each run, in float64."""
        width = self._plan.width
        round_bytes = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tuple(self._matchup.game.specs)))
        at_once = max(1, self._max_bytes // max(1, round_bytes * self._plan.n_rounds))
        for block in dict.fromkeys(run // width for run in runs):
            own = [run for run in runs if run // width == block]
            for start in range(0, len(own), at_once):
                some = own[start : start + at_once]
                seen = self._collected(block, [run % width for run in some])
                for i, run in enumerate(some):
                    yield run, *jax.tree.map(lambda part, i=i: part[:, i].astype(np.float64), seen)

    def _collected(self, block: int, rows: list[int]) -> tuple[PyTree, PyTree]:
        """Instances and outcomes [T, rows, ...] of some runs of a block."""
        plan, mesh = self._plan, self._plan.mesh
        keys = keys_of_runs(plan.key, np.array([block], np.int32), width=plan.width, mesh=mesh)
        states = begin(self._matchup, keys, mesh=mesh).states
        length, pieces = min(PIECE, plan.n_rounds), []
        for t in range(0, plan.n_rounds, length):
            states, seen = collect(self._matchup, keys, jnp.int32(t), states, length=length, mesh=mesh)
            pieces.append(jax.tree.map(lambda part: np.asarray(part[0])[:, rows], seen))
        return jax.tree.map(lambda *parts: np.concatenate(parts)[: plan.n_rounds], *pieces)


def _best_losses(comparator: HindsightComparator, X: PyTree, y: PyTree, rounds: np.ndarray) -> np.ndarray:
    """The comparator's answers, NaN from the first round on that is not finite."""
    finite = np.all([np.isfinite(leaf).reshape(len(leaf), -1).all(axis=1) for leaf in jax.tree.leaves((X, y))], axis=0)
    good = rounds[rounds <= (len(finite) if finite.all() else int(np.argmin(finite)))]
    best = np.full(len(rounds), np.nan)
    if len(good):
        X, y = jax.tree.map(lambda leaf: leaf[: good[-1]], (X, y))
        losses = np.asarray(comparator.best_losses(X, y, good), np.float64)
        if losses.shape != good.shape:
            raise ArgumentError(
                "comparator", f"best_losses must return one loss a round, {good.shape} (got {losses.shape})"
            )
        best[: len(good)] = losses
    return best
