"""Comparators that need the whole history of a run, because sums over rounds do not suffice."""

from collections.abc import Iterator, Sequence

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from jaxonline.game import Game
from jaxonline.game.roles import HindsightComparator
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import cast_leaves
from jaxonline.parameters.types import PyTree
from jaxonline.simulation.jobs import Plan
from jaxonline.simulation.progress import Reporter
from jaxonline.simulation.segments import Matchup, begin, collect, keys_of_runs
from jaxonline.store.checkpoints import AXES, COMPARATOR_LOSS, JobArrays, Store

MAX_HISTORY_BYTES = 1 << 28  # of histories on the host at a time
ROUNDS_PER_CALL = 256  # rounds collected at a time, at most: one program for all long horizons


class Hindsight:
    """Finds the best predictor in hindsight for each run, on the host.

    Histories are collected block by block and freed after each run. The host holds at most `max_bytes` of histories at
    a time, but always the history of at least one run. ValueError if the environment, or the noise on the comparator's
    instances, depends on the learner.
    """

    def __init__(
        self, game: Game, comparator: HindsightComparator, plan: Plan, runs: Sequence[int] | np.ndarray, code: str = "",
        max_bytes: int = MAX_HISTORY_BYTES,
    ):  # fmt: skip
        if not game.oblivious:
            raise ArgumentError(
                "comparator",
                f"{type(comparator).__name__} needs the history of the environment alone, but this game's history "
                "depends on the learner; use a comparator that sums over rounds, such as L2Ball",
            )
        self.comparator = comparator
        self._matchup = Matchup(cast_leaves(game, game.dtype), None, None, {}, code=code)
        self._plan = plan.single_run() if game.deterministic else plan.single_device()
        self._runs = [0] if game.deterministic else np.asarray(runs).tolist()
        self._max_bytes = max_bytes
        self.rows = JobArrays(
            "hindsight", "hindsight", (COMPARATOR_LOSS,), (0, 1), 1, AXES[2:] if game.deterministic else AXES[1:]
        )

    def n_steps(self) -> int:
        """Number of runs for which the best predictor is computed."""
        return len(set(self._runs))

    def best_losses(self, reporter: Reporter, store: Store | None) -> Float[np.ndarray, "R G"]:
        """Return the best predictor's losses in each requested run; a single row if all runs are equal."""
        runs, best = dict.fromkeys(self._runs), dict[int, np.ndarray]()
        if store is not None:
            for run in runs:
                stored = store.read_block(self.rows, run)
                if stored is not None:
                    best[run] = stored[COMPARATOR_LOSS][0, 0]
        reporter.skip(len(best))
        for run, X, y in self._iterate_histories([run for run in runs if run not in best]):
            best[run] = _best_losses(self.comparator, X, y, self._plan.rounds)
            if store is not None:
                store.write_block(self.rows, run, {COMPARATOR_LOSS: best[run][None, None]})
            reporter.advance("best in hindsight")
        return np.stack([best[run] for run in self._runs])

    def _iterate_histories(self, runs: Sequence[int]) -> Iterator[tuple[int, PyTree, PyTree]]:
        """Yield the index, instances and outcomes of each run, in float64."""
        width = self._plan.width
        round_bytes = sum(leaf.size * leaf.dtype.itemsize for leaf in jax.tree.leaves(tuple(self._matchup.game.specs)))
        n_in_memory = max(1, self._max_bytes // max(1, round_bytes * self._plan.n_rounds))
        for block in dict.fromkeys(run // width for run in runs):
            block_runs = [run for run in runs if run // width == block]
            for start in range(0, len(block_runs), n_in_memory):
                batch = block_runs[start : start + n_in_memory]
                histories = self._collect_histories(block, [run % width for run in batch])
                for i, run in enumerate(batch):
                    yield run, *jax.tree.map(lambda leaf, i=i: leaf[:, i].astype(np.float64), histories)

    def _collect_histories(self, block: int, rows: list[int]) -> tuple[PyTree, PyTree]:
        """Return instances and outcomes [T, rows, ...] of some runs (`rows`) of a block."""
        plan, mesh = self._plan, self._plan.mesh
        keys = keys_of_runs(plan.key, np.array([block], np.int32), width=plan.width, mesh=mesh)
        states = begin(self._matchup, keys, mesh=mesh).states
        length, segments = min(ROUNDS_PER_CALL, plan.n_rounds), []
        for t in range(0, plan.n_rounds, length):
            states, history = collect(self._matchup, keys, jnp.int32(t), states, length=length, mesh=mesh)
            segments.append(jax.tree.map(lambda leaf: np.asarray(leaf[0])[:, rows], history))
        return jax.tree.map(lambda *leaves: np.concatenate(leaves)[: plan.n_rounds], *segments)


def _best_losses(comparator: HindsightComparator, X: PyTree, y: PyTree, rounds: np.ndarray) -> np.ndarray:
    """Return the losses of the best predictor at the recorded rounds, NaN from the first non-finite round on."""
    finite = np.all([np.isfinite(leaf).reshape(len(leaf), -1).all(axis=1) for leaf in jax.tree.leaves((X, y))], axis=0)
    finite_rounds = rounds[rounds <= (len(finite) if finite.all() else int(np.argmin(finite)))]
    best = np.full(len(rounds), np.nan)
    if len(finite_rounds):
        X, y = jax.tree.map(lambda leaf: leaf[: finite_rounds[-1]], (X, y))
        losses = np.asarray(comparator.best_losses(X, y, finite_rounds), np.float64)
        if losses.shape != finite_rounds.shape:
            raise ArgumentError(
                "comparator", f"best_losses must return one loss per round, {finite_rounds.shape} (got {losses.shape})"
            )
        best[: len(finite_rounds)] = losses
    return best
