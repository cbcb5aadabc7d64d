"""Numbers of a learner chosen by playing: in other runs than those that are reported."""

import os
import time
import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from jaxonline.game import Game
from jaxonline.game.protocols import Comparator, HindsightComparator, Measure
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.warning_classes import SearchEdgeWarning
from jaxonline.results.tuned import Tuned, at_edge, describe_edge
from jaxonline.simulation import blocks
from jaxonline.simulation.halving import judged, rungs_of, successive_halving
from jaxonline.simulation.measures import with_defaults
from jaxonline.simulation.progress import Progress, Reporter
from jaxonline.simulation.search_space import Grid, asked_for, checked_grid, sampler_of
from jaxonline.simulation.tuning_trials import Tried, maker
from jaxonline.store.checkpoints import Checkpoint

TUNING = np.uint32(2**32 - 1)  # which no run of a study has for its index
AT_ONCE = 8  # settings that a sampler is asked for


def tune(
    game: Game,
    learner: Any,
    grid: Grid,
    *,
    n_runs: int,
    n_rounds: int,
    key: int | jax.Array = 0,
    runs_key: int | jax.Array | None = None,
    comparator: Comparator | HindsightComparator | None = None,
    measures: Iterable[Measure] = (),
    quantity: str | None = None,
    rungs: int | None = None,
    factor: int = 3,
    n_settings: int | None = None,
    sampler: Any = None,
    together: int | None = None,
    mesh: Mesh | None = None,
    progress: Progress = False,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
) -> Tuned:
    """Choose step sizes and other numbers of a learner by successive halving: the least mean at the horizon.

    All settings are played in a few runs, the better ones in more: in each rung a third of the settings (`factor`) in
    three times the runs, those that they have had included. All settings face the same runs. `rungs=1` is the plain
    grid, every setting in all runs.

    The runs are not those of a study with the same key: their keys are `fold_in(fold_in(key, 2**32 - 1), r)`, and no
    run of a study has that index. So `simulate(game, tuned.learner, key=key, ...)` reports on runs that chose nothing.

    A setting with which a run diverged is out. Settings that differ in numbers are one compiled program, `together` of
    them at a time, the same in all rungs; those that differ in more (a size, an optimiser) have one each.

    Args:
        game: the game.
        learner: a function of the settings that makes one, by their names, or a learner (also an `Entrant`) whose
            fields are set: `{"radius": ...}`, `{"step_size.eta": ...}`.
        grid: by name what is tried: a list of values, or a `Range`. All combinations of lists are tried; where there is
            a range, `n_settings` of them, drawn at random and spread evenly.
        n_runs: of each setting in the last rung.
        n_rounds: the horizon.
        key: that of the study for which is chosen, a seed or a jax key.
        runs_key: that of the runs that choose, where it is to be another one than `fold_in(key, 2**32 - 1)`.
        comparator: as in `simulate`; then the mean regret is to be small, else the cumulative loss.
        measures: as in `simulate`.
        quantity: another one that is to be small, as in `Result.mean`.
        rungs: how many; by default as many as leave `factor` settings or fewer for the last, and two runs for the
            first. A search that has one setting left ends.
        factor: by which settings get fewer and runs more, at least 2.
        n_settings: how many are tried, where there is a range or a sampler.
        sampler: what decides which are tried in the first rung, `together` at a time, in the light of those before:
            "optuna", an `optuna.Study` (extra `tuning`), or an object with `ask(n)`, which returns n settings, and
            `tell(settings, losses)`.
        together: settings in one program; by default those of the last rung, with a sampler 8.
        mesh: as in `simulate`.
        progress: as in `simulate`.
        checkpoint: as in `simulate`: a search that was interrupted goes on, and one that is done is read.

    Raises:
        ValueError: a grid without values, a field that the learner does not have, a number that is not finite or out of
            the learner's range; no setting is left with a finite mean; `n_settings` missing, or given for a plain grid;
            more rungs than there are runs for; `runs_key` is `key`.
        TypeError: what is no game, learner, grid or sampler, or a function that does not take the settings.
        ModuleNotFoundError: Optuna is asked for, and not installed.

    Warns:
        SearchEdgeWarning: a number of the choice is the smallest or the largest that was tried.

    Example:
        >>> import numpy as np
        >>> import jaxonline as jo
        >>> game = jo.Game(jo.environments.LinearModel(np.array([0.6, -0.8])), jo.FullInformation())
        >>> make = lambda eta: jo.GradientLearner(jo.estimators.FullGradient(), jo.InverseSqrt(eta), radius=2.0)
        >>> tuned = jo.tune(game, make, {"eta": [0.01, 0.03, 0.1, 0.3, 1.0, 3.0]}, n_runs=24, n_rounds=100)
        >>> tuned.choice, [(len(rung.settings), rung.runs) for rung in tuned.rungs], tuned.rounds
        ({'eta': 0.3}, [(6, 8), (2, 24)], 8000)
    """
    began = time.perf_counter()
    check.instance("game", game, Game, "a Game")
    axes, root = checked_grid(grid), _root(key, runs_key)
    asked, n_tried = sampler_of(axes, n_settings, sampler, np.asarray(jax.random.key_data(root)).ravel().tolist())
    heights = rungs_of(n_tried, check.count("n_runs", n_runs), rungs, factor)
    if together is None:
        together = heights[-1][0] if sampler is None else AT_ONCE
    at_once = n_tried if sampler is None else check.count("together", together)
    counted, beside = with_defaults(measures), () if comparator is None else ("regret", "comparator_loss")
    if quantity is None:
        quantity = "cumulative_loss" if comparator is None else "regret"
    check.choice("quantity", quantity, (*beside, *counted))
    if quantity in axes:
        raise ArgumentError("grid", f"must have other names than the quantity (got {quantity!r})")
    tried = Tried(game, maker(learner), quantity, check.count("together", together))
    fewest = heights[0][1]
    width = blocks.default_width(-(-fewest // 2), jax.default_backend())
    # no more devices than the first rung keeps busy: for others it would be another program
    devices = (blocks.default_mesh() if mesh is None else blocks.check_mesh(mesh)).devices.flat
    mesh = blocks.default_mesh(list(devices)[: -(-fewest // width)])
    options = {
        "n_rounds": n_rounds, "record_at": [n_rounds], "key": root, "comparator": comparator, "mesh": mesh,
        "measures": [each for name, each in counted.items() if name not in ("cumulative_loss", "queries")],
        "block_size": width,
    }  # fmt: skip
    folder = None if checkpoint is None else Checkpoint.of(checkpoint)
    pieces = -(-n_tried // at_once) + len(heights) - 1
    with Reporter(progress, pieces) as reporter:

        def play(some: Sequence[int], runs: range, name: str) -> np.ndarray:
            own = {"runs": runs, "n_runs": runs.stop, "progress": reporter.within(name)}
            own |= {} if folder is None else {"checkpoint": folder / name.replace(" ", "-")}
            values = tried.play(some, **own, **options)
            reporter.advance(name)
            return values

        def rung(some: np.ndarray, runs: range) -> np.ndarray:
            if runs.start > 0:
                number = 1 + [n for _, n in heights].index(runs.stop)
                return play(some.tolist(), runs, f"rung {number}")
            values: list[np.ndarray] = []  # of the batches that are asked for
            while len(tried.settings) < n_tried:
                batch = asked_for(asked, min(at_once, n_tried - len(tried.settings)), axes)
                new = [tried.add(each) for each in batch]
                values.append(play(new, runs, f"rung 1 batch {1 + len(values)}" if at_once < n_tried else "rung 1"))
                asked.tell(batch, np.nan_to_num(judged(values[-1]).mean, nan=np.inf, posinf=np.inf).tolist())
            return np.concatenate(values)

        chosen, found = successive_halving(rung, heights)
    settings = tuple(tried.settings)
    if at_edge(settings, chosen):
        warnings.warn(describe_edge(settings, chosen), SearchEdgeWarning, stacklevel=2)
    rounds = n_rounds * sum(len(each.settings) * each.new_runs for each in found)
    seconds = time.perf_counter() - began
    return Tuned(settings, chosen, found, tried.learners[chosen], quantity, n_rounds, rounds, seconds)


def _root(key: Any, runs_key: Any) -> jax.Array:
    """The key of the runs that choose."""
    study = check.as_key("key", key)
    if runs_key is None:
        return jax.random.fold_in(study, TUNING)
    own = check.as_key("runs_key", runs_key)
    if np.array_equal(jax.random.key_data(own), jax.random.key_data(study)):
        raise ArgumentError(
            "runs_key", "must be another key than that of the study, whose runs are reported (got the same)"
        )
    return own
