"""Search for the best of many settings: grids and ranges of settings, and successive halving.

References: Karnin, Koren, Somekh, "Almost optimal exploration in multi-armed bandits" (ICML 2013); Jamieson, Talwalkar,
"Non-stochastic best arm identification and hyperparameter optimization" (AISTATS 2016).
"""

import itertools
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import jax
import numpy as np
from jaxtyping import ArrayLike, Float

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.statistics import Estimate, mean_over_runs
from jaxonline.results.tuned import Rung, Setting, is_number

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
        >>> from jaxonline.simulation.search import draw_settings
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
        >>> from jaxonline.simulation.search import argmin_finite
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
        >>> from jaxonline.simulation.search import estimate_settings
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
        >>> from jaxonline.simulation.search import plan_rungs
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
        >>> from jaxonline.simulation.search import successive_halving
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
