"""Hyperparameter search: simulation chooses a learner's parameters, in other runs than those of the reported study."""

import os
import time
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

import jax
import numpy as np
from jax.sharding import Mesh

from jaxonline.game import Game
from jaxonline.game.roles import Comparator, HindsightComparator, Measure
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, SettingsWarning
from jaxonline.parameters.optional_packages import check_not_forked
from jaxonline.results.quantities import LOSS_OF_REWARD, REWARD_OF_LOSS
from jaxonline.results.tuned import Tuned, TunedLearner, at_edge, describe_edge
from jaxonline.simulation import blocks
from jaxonline.simulation.halving import estimate_settings, plan_rungs, successive_halving
from jaxonline.simulation.measures import with_defaults
from jaxonline.simulation.progress import Progress, Reporter, check_progress
from jaxonline.simulation.search_space import Grid, OptunaStudy, SettingSampler, ask_settings, check_grid, make_sampler
from jaxonline.simulation.tuning_trials import Trials, learner_factory
from jaxonline.store.checkpoints import Checkpoint

TUNING_STREAM = np.uint32(2**32 - 1)  # no run of a study has this index
BATCH_SETTINGS = 8  # default number of settings that a sampler returns at a time


def tune(
    game: Game,
    learner: Callable[..., TunedLearner] | TunedLearner,
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
    sampler: Literal["optuna"] | SettingSampler | OptunaStudy | None = None,
    together: int | None = None,
    mesh: Mesh | None = None,
    progress: Progress = False,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
) -> Tuned[TunedLearner]:
    """Choose step sizes and other hyperparameters of a learner by successive halving.

    The search minimises the mean of a quantity at the horizon. The first rung of the search tries all settings in a few
    runs. Each further rung keeps the best third of the settings (`factor=3`) and gives them three times as many runs,
    including their earlier runs. All settings face the same runs, and a setting with a diverged run is excluded.
    `rungs=1` is a plain grid search.

    The runs of the search are not those of a study with the same key: run r has the key `fold_in(fold_in(key, 2**32 -
    1), r)`. Therefore `simulate(game, tuned.learner, key=key, ...)` evaluates the chosen learner on independent runs.

    Up to `together` settings that differ only in numbers share one compiled program in all rungs. Settings that differ
    in more (a size, an optimiser) have one program each.

    Args:
        game: the game.
        learner: a function that takes a setting as keyword arguments and returns a learner; or a learner (also
            `WithFeedback`) of which the search sets the fields that the grid names, such as `{"radius": ...}` or
            `{"step_size.eta": ...}`.
        grid: for each parameter name, a list of values or a `Range`. If all entries are lists, all combinations are
            tried. If an entry is a `Range`, `n_settings` settings are drawn from a Latin hypercube.
        n_runs: number of runs of each setting in the last rung.
        n_rounds: the horizon.
        key: the key (a seed or a JAX key) of the study in which the chosen learner will be used.
        runs_key: the key of the search's runs, which replaces `fold_in(key, 2**32 - 1)`.
        comparator: comparator of the regret, as in `simulate`. With a comparator, the search minimises the mean regret,
            otherwise the mean cumulative loss.
        measures: more measures, as in `simulate`.
        quantity: name of the quantity to minimise instead, as in `Result.mean`; a reward is maximised.
        rungs: number of rungs. By default, rungs are added until the last rung has at most `factor` settings, or one
            more rung would leave fewer than two runs in the first rung. The search ends early if one setting is left.
        factor: the factor by which settings decrease and runs increase.
        n_settings: number of settings to try, if the grid has a `Range` or a sampler suggests settings.
        sampler: sampler that suggests the settings of the first rung, `together` at a time: "optuna", an `optuna.Study`
            (extra `tuning`), or an object with `ask(n)`, which returns n settings, and `tell(settings, losses)`.
        together: number of settings per program; by default the number of settings in the last rung, or 8 with a
            sampler.
        mesh: the devices, as in `simulate`.
        progress: progress bar or function, as in `simulate`.
        checkpoint: store of the search, as in `simulate`. An interrupted search resumes from it, and the result of a
            finished search is read from it.

    Raises:
        ValueError: the grid is empty or has an unknown field or an invalid number, no setting has a finite mean,
            `n_settings` is missing or superfluous, there are too many rungs for `n_runs`, or `runs_key` is `key`.
        TypeError: an argument has the wrong type, or the function does not take the settings.
        ModuleNotFoundError: Optuna is not installed.

    Warns:
        SettingsWarning: a chosen number is the smallest or the largest that was tried.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> game = jo.Game(jo.environments.LinearModel(np.array([0.6, -0.8])), jo.FullInformation())
        >>> make = lambda eta: jo.GradientLearner(jo.estimators.FullGradient(), jo.InverseSqrt(eta), radius=2.0)
        >>> tuned = jo.tune(game, make, {"eta": [0.01, 0.03, 0.1, 0.3, 1.0, 3.0]}, n_runs=24, n_rounds=100)
        >>> tuned.choice, [(len(rung.settings), rung.runs) for rung in tuned.rungs], tuned.rounds
        ({'eta': 0.3}, [(6, 8), (2, 24)], 8000)
    """
    began = time.perf_counter()
    check_not_forked()
    check.instance("game", game, Game, "a Game")
    check_progress(progress)
    axes, root = check_grid(grid), _tuning_key(key, runs_key)
    seed = np.asarray(jax.random.key_data(root)).ravel().tolist()
    suggester, n_tried = make_sampler(axes, n_settings, sampler, seed)
    heights = plan_rungs(n_tried, check.count("n_runs", n_runs), rungs, factor)
    if together is None:
        together = heights[-1][0] if sampler is None else BATCH_SETTINGS
    batch_size = n_tried if sampler is None else check.count("together", together)
    counted, of_comparator = with_defaults(measures), () if comparator is None else ("regret", "comparator_loss")
    if quantity is None:
        quantity = "cumulative_loss" if comparator is None else "regret"
    elif game.rewards:  # a smaller loss is a larger reward
        quantity = LOSS_OF_REWARD.get(quantity, quantity)
    names = [REWARD_OF_LOSS.get(name, name) if game.rewards else name for name in (*of_comparator, *counted)]
    if not (game.rewards and quantity in REWARD_OF_LOSS):
        check.choice("quantity", quantity, names)
    if quantity in axes:
        raise ArgumentError("grid", f"must have other names than the quantity (got {quantity!r})")
    trials = Trials(game, learner_factory(learner), quantity, check.count("together", together))
    first_runs = heights[0][1]
    width = blocks.default_width(game.specs, -(-first_runs // 2), jax.default_backend())
    # only the devices that the first rung keeps busy, so that all rungs use the same program
    devices = (blocks.default_mesh() if mesh is None else blocks.check_mesh(mesh)).devices.flat
    mesh = blocks.default_mesh(list(devices)[: -(-first_runs // width)])
    options = {
        "n_rounds": n_rounds, "record_at": [n_rounds], "key": root, "comparator": comparator, "mesh": mesh,
        "measures": [measure for name, measure in counted.items() if name not in ("cumulative_loss", "queries")],
        "block_size": width,
    }  # fmt: skip
    folder = None if checkpoint is None else Checkpoint.of(checkpoint)
    n_steps = -(-n_tried // batch_size) + len(heights) - 1
    with Reporter(progress, n_steps) as reporter:

        def play(indices: Sequence[int], runs: range, name: str) -> np.ndarray:
            own = {"runs": runs, "n_runs": runs.stop, "progress": reporter.nested(name)}
            own |= {} if folder is None else {"checkpoint": folder / name.replace(" ", "-")}
            values = trials.play(indices, **own, **options)
            reporter.advance(name)
            return values

        def rung(indices: np.ndarray, runs: range) -> np.ndarray:
            if runs.start > 0:
                number = 1 + [n for _, n in heights].index(runs.stop)
                return play(indices.tolist(), runs, f"rung {number}")
            values: list[np.ndarray] = []  # of each batch
            while len(trials.settings) < n_tried:
                batch = ask_settings(suggester, min(batch_size, n_tried - len(trials.settings)), axes)
                new = [trials.add(setting) for setting in batch]
                values.append(play(new, runs, f"rung 1 batch {1 + len(values)}" if batch_size < n_tried else "rung 1"))
                losses = np.nan_to_num(estimate_settings(values[-1]).mean, nan=np.inf, posinf=np.inf)
                suggester.tell(batch, losses.tolist())
            return np.concatenate(values)

        chosen, results = successive_halving(rung, heights)
    settings = tuple(trials.settings)
    if at_edge(settings, chosen):
        warnings.warn(describe_edge(settings, chosen), SettingsWarning, stacklevel=2)
    rounds = n_rounds * sum(len(rung_result.settings) * rung_result.new_runs for rung_result in results)
    seconds = time.perf_counter() - began
    tuned: Tuned[Any] = Tuned(settings, chosen, results, trials.learners[chosen], quantity, n_rounds, rounds, seconds)
    return tuned.in_rewards() if game.rewards else tuned


def _tuning_key(key: Any, runs_key: Any) -> jax.Array:
    """Return the key of the search's runs."""
    study = check.as_key("key", key)
    if runs_key is None:
        return jax.random.fold_in(study, TUNING_STREAM)
    own = check.as_key("runs_key", runs_key)
    if np.array_equal(jax.random.key_data(own), jax.random.key_data(study)):
        raise ArgumentError("runs_key", "must differ from key, whose runs are reported (got the same)")
    return own
