"""Comparators that need the whole history of a run, not sums over its rounds."""

from collections.abc import Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from jaxonline._util.struct import cast_leaves
from jaxonline.game import Game
from jaxonline.game.protocols import HindsightComparator
from jaxonline.simulation.checkpoint import Checkpoint
from jaxonline.simulation.progress import Reporter
from jaxonline.simulation.runner import BEST, Plan
from jaxonline.simulation.segments import Matchup, begin, collect

MAX_BYTES = 1 << 28  # of histories on the host at a time


class Hindsight:
    """The best in hindsight of the runs of a study, run after run on the host.

    Histories are collected block by block, and kept only for the runs in work: memory does not grow with the runs.

    Raises:
        ValueError: if the environment is adaptive, or the noise on which the comparator is judged.
    """

    def __init__(self, game: Game, comparator: HindsightComparator, plan: Plan, runs: np.ndarray):
        if not game.oblivious:
            raise ValueError(
                f"comparator {type(comparator).__name__} needs the history of each run, which is collected by playing "
                "the environment alone, but what it is judged on depends on the learner: use a comparator that sums "
                "over rounds, such as L2Ball"
            )
        self.comparator = comparator
        self._game = cast_leaves(game, game.environment.instance_spec.dtype)
        self._plan = plan.of_one_run() if game.deterministic else plan.on_one_device()
        self._runs = [0] if game.deterministic else runs.tolist()

    def pieces(self) -> int:
        """Runs to solve."""
        return len(set(self._runs))

    def best_losses(self, reporter: Reporter, store: Checkpoint | None) -> Float[np.ndarray, "R G"]:
        """One row for each run asked for; a single one where all runs are the same."""
        runs = dict.fromkeys(self._runs)
        kept = {} if store is None else {run: store.read(BEST, run) for run in runs}
        found = {run: parts[0] for run, parts in kept.items() if parts is not None}
        reporter.skip(len(found))
        for run, X, y in self._histories([run for run in runs if run not in found]):
            found[run] = _best_losses(self.comparator, X, y, self._plan.rounds)
            if store is not None:
                store.write(BEST, run, (found[run],))
            reporter.advance("best in hindsight")
        return np.stack([found[run] for run in self._runs])

    def _histories(self, runs: Sequence[int]) -> Iterator[tuple[int, np.ndarray, np.ndarray]]:
        """Instances and targets of each run, in float64."""
        spec, width = self._game.environment.instance_spec, self._plan.width
        at_once = max(1, MAX_BYTES // ((spec.size + 1) * spec.dtype.itemsize * self._plan.n_rounds))
        for block in dict.fromkeys(run // width for run in runs):
            own = [run for run in runs if run // width == block]
            for start in range(0, len(own), at_once):
                some = own[start : start + at_once]
                X, y = self._collected(block, [run % width for run in some])
                for i, run in enumerate(some):
                    yield run, X[:, i].astype(np.float64), y[:, i].astype(np.float64)

    def _collected(self, block: int, rows: list[int]) -> tuple[np.ndarray, np.ndarray]:
        """Instances [T, rows, ...] and targets [T, rows] of some runs of a block."""
        plan, block_indices = self._plan, np.array([block], np.int32)
        sizes: dict[str, Any] = {"width": plan.width, "mesh": plan.mesh}
        states = begin(Matchup(self._game, None, None), plan.key, block_indices, **sizes).states
        pieces = []
        for t in range(0, plan.n_rounds, plan.length):
            states, seen = collect(
                self._game, plan.key, jnp.int32(t), block_indices, states, length=plan.length, **sizes
            )
            pieces.append(jax.tree.map(lambda part: np.asarray(part[0])[:, rows], seen))
        X, y = (np.concatenate(parts)[: plan.n_rounds] for parts in zip(*pieces, strict=True))
        return X, y


def _best_losses(comparator: HindsightComparator, X: np.ndarray, y: np.ndarray, rounds: np.ndarray) -> np.ndarray:
    """The comparator's answers, NaN from the first round on that is not finite."""
    finite = np.isfinite(X).reshape(len(X), -1).all(axis=1) & np.isfinite(y)
    good = rounds[rounds <= (len(y) if finite.all() else int(np.argmin(finite)))]
    best = np.full(len(rounds), np.nan)
    if len(good):
        losses = np.asarray(comparator.best_losses(X[: good[-1]], y[: good[-1]], good), np.float64)
        if losses.shape != good.shape:
            raise ValueError(f"comparator.best_losses must return one loss a round, {good.shape}, got {losses.shape}")
        best[: len(good)] = losses
    return best
