"""Hyperparameter search: simulation chooses a learner's parameters, in other runs than those of the reported study."""

import functools
import inspect
import itertools
import math
import os
import time
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh
from jaxtyping import ArrayLike, Float

from jaxonline.game import Game, Learner, WithFeedback
from jaxonline.game.roles import Comparator, HindsightComparator, Measure
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError, DivergedRunsWarning, SettingsWarning
from jaxonline.parameters.optional_packages import check_not_forked
from jaxonline.parameters.signatures import explain_calls
from jaxonline.parameters.struct import replace_at, structure_of
from jaxonline.results import Result
from jaxonline.results.quantities import LOSS_OF_REWARD, REWARD_OF_LOSS, has_rewards
from jaxonline.results.statistics import Estimate, mean_over_runs
from jaxonline.results.tuned import (
    Rung,
    Setting,
    Tuned,
    TunedLearner,
    at_edge,
    describe_edge,
    format_setting,
    is_number,
)
from jaxonline.simulation import blocks
from jaxonline.simulation.measures import with_defaults
from jaxonline.simulation.monte_carlo import simulate
from jaxonline.simulation.progress import Progress, Reporter, check_progress
from jaxonline.simulation.sweeps import sweep
from jaxonline.store.checkpoints import Checkpoint

# ---------------------------------------------------------------------------------------------------------------------
# Search for the best of many settings: grids and ranges of settings, and successive halving.
#
# References: Karnin, Koren, Somekh, "Almost optimal exploration in multi-armed bandits" (ICML 2013); Jamieson,
# Talwalkar, "Non-stochastic best arm identification and hyperparameter optimization" (AISTATS 2016).


RESERVED_NAMES = ("rung", "runs", "low", "high", "failed", "setting", "chosen")  # columns of the table of results


@dataclass(frozen=True)
class Range:
    """Interval of numbers in which `tune` searches.

    Args:
        low: lower end.
        high: upper end, above `low`.
        log: whether to sample on a logarithmic scale, as for step sizes; requires `low` above 0.

    Example:
        >>> import jaxonline as jo
        >>> jo.Range(1e-3, 1.0, log=True).at(0.5)
        0.03162277660168379
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self) -> None:
        check.number("low", self.low, gt=0.0 if check.flag("log", self.log) else None)
        check.number("high", self.high, gt=float(self.low))

    def at(self, fraction: float) -> float:
        """Return the number at a fraction of the range, from 0 at `low` to 1 at `high`."""
        if self.log:
            return float(self.low * math.exp(fraction * math.log(self.high / self.low)))
        return float(self.low + fraction * (self.high - self.low))


Grid = Mapping[str, Sequence[Any] | np.ndarray | jax.Array | Range]


def check_grid(grid: Any) -> dict[str, Any]:
    """Check a grid and convert it to a dictionary of `Range`s and lists.

    Raises:
        TypeError: the grid is not a dictionary of lists and ranges.
        ValueError: an entry is empty, or has a non-finite or a repeated value.
    """
    check.instance("grid", grid, Mapping, "a dictionary of lists or ranges by name")
    if not grid:
        raise ArgumentError("grid", "must have at least one entry (got none)")
    return {check_setting_name(name): _axis(f"grid[{name!r}]", values) for name, values in grid.items()}


def check_setting_name(name: Any) -> str:
    """Check that the name of a parameter differs from the names of other columns in the table of results."""
    if check.text("a name in grid", name) in RESERVED_NAMES:
        raise ArgumentError("grid", f"must have other names than {', '.join(map(repr, RESERVED_NAMES))} (got {name!r})")
    return name


def _axis(name: str, values: Any) -> Any:
    if isinstance(values, Range):
        return values
    if hasattr(values, "tolist"):  # an array
        values = values.tolist()
    choices = list(check.sequence(name, values, "value"))
    numbers = [value for value in choices if is_number(value)]
    if numbers:
        check.numbers(name, numbers)
    if len(numbers) == len(choices):
        choices = np.asarray(choices).tolist()  # one type: [1, 0.1] becomes [1.0, 0.1]
    seen = set()
    for value in choices:
        identity = ("number", value) if is_number(value) else ("object", id(value))
        if identity in seen:
            raise ArgumentError(name, f"must have distinct values (got {check.quote(value)} twice)")
        seen.add(identity)
    return choices


def draw_settings(grid: Mapping[str, Any], n_settings: int, seed: Sequence[int]) -> list[Setting]:
    """Draw n settings from a Latin hypercube: each of n equal parts of a range contains one of the n numbers.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.simulation.tuning import draw_settings
        >>> settings = draw_settings({"step": jo.Range(0.0, 1.0), "radius": [1, 2]}, 4, [0])
        >>> sorted(int(4 * setting["step"]) for setting in settings), sorted(setting["radius"] for setting in settings)
        ([0, 1, 2, 3], [1, 1, 2, 2])
    """
    rng = np.random.default_rng(seed)
    columns = []
    for axis in grid.values():
        fractions = (rng.permutation(n_settings) + rng.uniform(size=n_settings)) / n_settings
        is_range = isinstance(axis, Range)
        columns.append([axis.at(u) if is_range else axis[int(u * len(axis))] for u in fractions])
    return [dict(zip(grid, values, strict=True)) for values in zip(*columns, strict=True)]


def settings_of(grid: Mapping[str, Any], n_settings: int | None, seed: Sequence[int]) -> list[Setting]:
    """Return all combinations of a checked grid of lists, or `n_settings` settings of a grid with a `Range`.

    Raises:
        ValueError: `n_settings` is missing or superfluous.
    """
    if any(isinstance(axis, Range) for axis in grid.values()):
        if n_settings is None:
            raise ArgumentError("n_settings", "must be the number of settings for a grid with a range (got None)")
        return draw_settings(grid, check.count("n_settings", n_settings), seed)
    if n_settings is not None:
        problem = f"must be None for a grid of lists, which is tried whole (got {check.quote(n_settings)})"
        raise ArgumentError("n_settings", problem)
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


# ---------------------------------------------------------------------------------------------------------------------
# Successive halving: try all settings in a few runs, the better settings in more runs, and so on. With one rung it is a
# plain grid search.


PlaySettings = Callable[[np.ndarray, range], np.ndarray]


def argmin_finite(means: Float[ArrayLike, "S"]) -> int:
    """Return the index of the smallest finite mean (the first of equal means); ValueError if no mean is finite.

    Example:
        >>> from jaxonline.simulation.tuning import argmin_finite
        >>> argmin_finite([float("nan"), 3.0, 1.0, 1.0])
        2
    """
    means = np.asarray(means)
    if not np.isfinite(means).any():
        raise ArgumentError(
            "grid", f"must have a setting with a finite mean (got none in {means.size}); try smaller step sizes"
        )
    return int(np.argmin(np.where(np.isfinite(means), means, np.inf)))


def estimate_settings(values: Float[np.ndarray, "S R"]) -> Estimate:
    """Return means of settings over runs with intervals; infinite if a run is infinite; NaN runs are ignored.

    Example:
        >>> import numpy as np
        >>> from jaxonline.simulation.tuning import estimate_settings
        >>> estimate_settings(np.array([[1.0, 3.0], [1.0, np.nan], [np.inf, 0.0]])).mean.tolist()
        [2.0, 1.0, inf]
    """
    failed = np.isinf(values)
    estimate, has_failed = mean_over_runs(np.where(failed, np.nan, values)), failed.any(axis=1)
    low, high = (np.where(has_failed, np.nan, end) for end in (estimate.low, estimate.high))
    return estimate._replace(mean=np.where(has_failed, np.inf, estimate.mean), low=low, high=high)


def plan_rungs(n_settings: int, n_runs: int, rungs: int | None = None, factor: int = 3) -> list[tuple[int, int]]:
    """Return, for each rung, the number of settings and the number of runs per setting.

    Args:
        n_settings: number of settings in the first rung.
        n_runs: number of runs per setting in the last rung.
        rungs: number of rungs. By default, rungs are added until the last rung has at most `factor` settings, or one
            more rung would leave fewer than two runs in the first rung.
        factor: the factor by which settings decrease and runs increase.

    Raises:
        ValueError: there are too many rungs for the number of runs.

    Example:
        >>> from jaxonline.simulation.tuning import plan_rungs
        >>> plan_rungs(9, 30, factor=3), plan_rungs(9, 30, rungs=1), plan_rungs(8, 16, factor=2)
        ([(9, 10), (3, 30)], [(9, 30)], [(8, 4), (4, 8), (2, 16)])
    """
    check.count("factor", factor, ge=2)
    if rungs is None:
        rungs = 1
        while n_settings > factor**rungs and n_runs >= 2 * factor**rungs:
            rungs += 1
    elif factor ** (check.count("rungs", rungs) - 1) > n_runs:
        raise ArgumentError("rungs", f"must leave a run for the first rung (got {rungs} for n_runs={n_runs})")
    first = -(-n_runs // factor ** (rungs - 1))
    runs = [min(first * factor**up, n_runs) for up in range(rungs)]
    return [(-(-n_settings // factor**up), n) for up, n in enumerate(runs)]


def successive_halving(play: PlaySettings, rungs: Sequence[tuple[int, int]]) -> tuple[int, tuple[Rung, ...]]:
    """Return the setting with the smallest mean in the last rung, and the result of each rung.

    A rung plays additional runs of its settings, and compares the means of all runs of these settings. The search ends
    early if one setting is left.

    Args:
        play: function of settings [S] and a range of runs that returns the quantity to minimise [S, R]. The quantity is
            infinite in a failed run, which excludes its setting, and NaN in a run to ignore.
        rungs: numbers of settings and runs per rung (`plan_rungs`).

    Raises:
        ValueError: no setting has a finite mean.

    Example:
        >>> import numpy as np
        >>> from jaxonline.simulation.tuning import successive_halving
        >>> losses = np.array([[5.0, 5.0], [1.0, 3.0], [2.0, 1.0], [np.inf, 0.0]])
        >>> best, rungs = successive_halving(lambda some, runs: losses[some][:, runs], [(4, 1), (2, 2)])
        >>> best, [rung.settings.tolist() for rung in rungs]
        (2, [[0, 1, 2, 3], [1, 2]])
    """
    settings, values, results = np.arange(rungs[0][0]), np.empty((rungs[0][0], 0)), []
    for i, (_, n_runs) in enumerate(rungs):
        new_runs = range(values.shape[1], n_runs)
        values = np.concatenate([values, np.asarray(play(settings, new_runs), float)], axis=1)
        estimate = estimate_settings(values)
        results.append(Rung(settings, n_runs, len(new_runs), estimate, np.isinf(values).sum(axis=1)))
        best = argmin_finite(estimate.mean)
        if i + 1 == len(rungs):
            break
        order = np.argsort(np.where(np.isnan(estimate.mean), np.inf, estimate.mean), kind="stable")
        survivors = np.sort(order[: min(rungs[i + 1][0], int(np.isfinite(estimate.mean).sum()))])
        if len(survivors) == 1:
            break
        settings, values = settings[survivors], values[survivors]
    return int(settings[best]), tuple(results)


# ---------------------------------------------------------------------------------------------------------------------
# Hyperparameter search: simulation chooses a learner's parameters, in other runs than those of the reported study.


TUNING_STREAM = np.uint32(2**32 - 1)  # no run of a study has this index


@explain_calls
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

    Settings that differ only in numbers share one compiled program of the size of the last rung. Settings that differ
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
        quantity: name of another quantity to minimise, one that `Result.mean` accepts; a reward is maximised.
        rungs: number of rungs. By default, rungs are added until the last rung has at most `factor` settings, or one
            more rung would leave fewer than two runs in the first rung. The search ends early if one setting is left.
        factor: the factor by which settings decrease and runs increase.
        n_settings: number of settings to try, if the grid has a `Range`.
        mesh: the devices, as in `simulate`.
        progress: progress bar or function, as in `simulate`.
        checkpoint: store of the search, as in `simulate`. An interrupted search resumes from it, and the result of a
            finished search is read from it.

    Raises:
        ValueError: the grid is empty or has an unknown field or an invalid number, no setting has a finite mean,
            `n_settings` is missing or superfluous, there are too many rungs for `n_runs`, or `runs_key` is `key`.
        TypeError: an argument has the wrong type, or the function does not take the settings.

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
    settings = settings_of(axes, n_settings, seed)
    heights = plan_rungs(len(settings), check.count("n_runs", n_runs), rungs, factor)
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
    trials = Trials(game, learner_factory(learner), settings, quantity, heights[-1][0])
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
    with Reporter(progress, len(heights)) as reporter:

        def rung(indices: np.ndarray, runs: range) -> np.ndarray:
            name = f"rung {1 + [n for _, n in heights].index(runs.stop)}"
            own = {"runs": runs, "n_runs": runs.stop, "progress": reporter.nested(name)}
            own |= {} if folder is None else {"checkpoint": folder / name.replace(" ", "-")}
            values = trials.play(indices.tolist(), **own, **options)
            reporter.advance(name)
            return values

        chosen, results = successive_halving(rung, heights)
    if at_edge(settings, chosen):
        warnings.warn(describe_edge(settings, chosen), SettingsWarning, stacklevel=2)
    rounds = n_rounds * sum(len(rung_result.settings) * rung_result.new_runs for rung_result in results)
    seconds = time.perf_counter() - began
    tuned: Tuned[Any] = Tuned(
        tuple(settings), chosen, results, trials.learners[chosen], quantity, n_rounds, rounds, seconds
    )
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


# ---------------------------------------------------------------------------------------------------------------------
# Trials: settings and their learners, in groups that share a compiled program.


def horizon_values(result: Result, quantity: str) -> np.ndarray:
    """Return a scalar quantity at the horizon [L, R]: infinite in diverged runs, NaN in overflowed runs.

    For arms with rewards, a loss is the horizon minus the reward, also in a run that stopped before the horizon.
    """
    values = result.values(quantity)
    if has_rewards(result) and quantity in REWARD_OF_LOSS:
        values = result.rounds - result.values(REWARD_OF_LOSS[quantity])
    if values.ndim > 3:
        raise ArgumentError("quantity", f"must be a number in each round (got {quantity!r}, which is a vector)")
    return np.where(result.first_nonfinite > 0, np.inf, values[:, :, -1])


def learner_factory(learner: Any) -> Callable[[Setting], Any]:
    """Return a function that makes the learner of a setting."""
    if isinstance(learner, WithFeedback):
        make = learner_factory(learner.learner)
        return lambda setting: WithFeedback(make(setting), learner.feedback)
    if isinstance(learner, Learner) and not isinstance(learner, type):
        return lambda setting: functools.reduce(_set_field, setting.items(), learner)
    if not callable(learner):
        check.instance("learner", learner, False, "a learner, or a function of the settings that makes one")

    def make_learner(setting: Setting) -> Any:
        try:
            inspect.signature(learner).bind(**setting)
        except TypeError as error:
            raise ArgumentTypeError(
                "grid", f"must have the arguments of the learner function as names (got {', '.join(setting)}); {error}"
            ) from None
        return learner(**setting)

    return make_learner


def _set_field(learner: Any, field: tuple[str, Any]) -> Any:
    return replace_at(learner, *field, name="grid")


class Trials:
    """The settings of a search, their learners, and groups of at most `together` learners that share a program."""

    def __init__(
        self, game: Game, make: Callable[[Setting], Any], settings: Sequence[Setting], quantity: str, together: int
    ):
        self.game, self.settings, self.quantity, self.together = game, settings, quantity, together
        self.learners = [make(setting) for setting in settings]
        self.kinds: list[_LearnerKind] = []
        self.kind_of = [self._kind(learner) for learner in self.learners]

    def _kind(self, learner: Any) -> "_LearnerKind":
        kind = next((kind for kind in self.kinds if kind.fits(learner)), None)
        if kind is None:
            kind = _LearnerKind(learner)
            self.kinds.append(kind)
        return kind

    def play(self, indices: Sequence[int], *, runs: range, **options: Any) -> np.ndarray:
        """Simulate settings and return their `horizon_values` [S, R]."""
        teams: dict[str, Any] = {}
        names: dict[int, str] = {}
        for kind in self.kinds:
            own = [i for i in indices if self.kind_of[i] is kind]
            kind.members = kind.members or min(len(own), self.together)
            for start in range(0, len(own), kind.members or 1):
                batch = own[start : start + kind.members]
                name = f"settings {1 + len(teams)}"
                labels = {i: f"{i}: {format_setting(self.settings[i])}" for i in batch}
                names |= {i: f"{name}[{label}]" for i, label in labels.items()}
                members = {label: _bare_learner(self.learners[i]) for i, label in labels.items()}
                for copy in range(kind.members - len(batch)):  # padding, so that all batches share a program
                    members[f"{batch[-1]} again, {copy}"] = _bare_learner(self.learners[batch[-1]])
                teams[name] = kind.with_feedback(sweep(members))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DivergedRunsWarning)  # `Tuned` reports these runs
            result = simulate(self.game, teams, runs=runs, **options)
        return horizon_values(result.select(*(names[i] for i in indices)), self.quantity)


class _LearnerKind:
    """A group of learners that share a program: they differ only in numbers, and have the same feedback."""

    def __init__(self, learner: Any):
        self.structure = structure_of(_bare_learner(learner))
        self.feedback = learner.feedback if isinstance(learner, WithFeedback) else None
        self.members = 0  # learners per program, set when they are first played

    def fits(self, learner: Any) -> bool:
        """Return whether a learner belongs to the group."""
        feedback = learner.feedback if isinstance(learner, WithFeedback) else None
        return structure_of(_bare_learner(learner)) == self.structure and _are_equal(feedback, self.feedback)

    def with_feedback(self, team: Any) -> Any:
        """Return the learners as a `WithFeedback` with the group's feedback if the group has its own feedback."""
        return team if self.feedback is None else WithFeedback(team, self.feedback)


def _bare_learner(learner: Any) -> Any:
    return learner.learner if isinstance(learner, WithFeedback) else learner


def _are_equal(first: Any, second: Any) -> bool:
    """Return whether two pytrees are equal in structure and in all numbers."""
    leaves = zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=False)
    return structure_of(first) == structure_of(second) and all(np.array_equal(a, b) for a, b in leaves)
