"""Settings that a hyperparameter search tries: a full grid, random samples of ranges, or a sampler's suggestions."""

import importlib
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import jax
import numpy as np

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.tuned import Setting, is_number

SAMPLERS = "'optuna', an optuna.Study, or a sampler with ask and tell"
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


@runtime_checkable
class SettingSampler(Protocol):
    """Protocol of samplers, which suggest settings based on the losses of earlier settings."""

    def ask(self, n_settings: int) -> Sequence[Setting]:
        """Suggest the next settings, which are tried in one batch."""
        ...

    def tell(self, settings: Sequence[Setting], losses: Sequence[float]) -> None:
        """Report the mean losses of settings to the sampler; the loss of a setting is infinite if a run failed."""
        ...


class OptunaStudy(Protocol):
    """An `optuna.Study`, whose class cannot be named here, since Optuna is optional."""

    @property
    def directions(self) -> Sequence[Any]: ...

    def ask(self, fixed_distributions: Any = None) -> Any:
        """Start a trial."""
        ...

    def tell(self, trial: Any, values: Any = None) -> Any:
        """Finish a trial."""
        ...


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


def ask_settings(sampler: SettingSampler, n_settings: int, grid: Mapping[str, Any]) -> list[Setting]:
    """Ask a sampler for settings, and check them.

    Raises:
        TypeError: a setting is not a dictionary.
        ValueError: the sampler returns a wrong number of settings, a name is missing or unknown, or a number is not
            finite.
    """
    settings = list(sampler.ask(n_settings))
    if len(settings) != n_settings:
        raise ArgumentError("sampler", f"must return {n_settings} settings from ask (got {len(settings)})")
    for setting in settings:
        check.instance("a setting of sampler", setting, Mapping, "a dictionary of values by name")
        if set(setting) != set(grid):
            raise ArgumentError(
                "sampler", f"must return settings with {', '.join(grid)} (got {', '.join(map(str, setting))})"
            )
        for name, value in setting.items():
            if is_number(value):
                check.number(f"{name} of a setting of sampler", value)
    return settings


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


def _all_settings(grid: Mapping[str, Any]) -> list[Setting]:
    """Return all combinations of a grid of lists; the values of the last name vary fastest."""
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def draw_settings(grid: Mapping[str, Any], n_settings: int, seed: Sequence[int]) -> list[Setting]:
    """Draw n settings from a Latin hypercube: each of n equal parts of a range contains one of the n numbers.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.simulation.search_space import draw_settings
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


def make_sampler(
    grid: Mapping[str, Any], n_settings: int | None, given: Any, seed: Sequence[int]
) -> tuple[SettingSampler, int]:
    """Return a sampler for the checked grid and the total number of settings.

    If `n_settings` is None, the grid must consist of lists, and all combinations are tried. `given` is a sampler, an
    `optuna.Study`, "optuna" for Optuna's default sampler, or None. Raises the errors of `tune`.
    """
    is_full_grid = given is None and not any(isinstance(axis, Range) for axis in grid.values())
    if is_full_grid:
        if n_settings is not None:
            raise ArgumentError(
                "n_settings", f"must be None for a grid of lists, which is tried whole (got {check.quote(n_settings)})"
            )
        settings = _all_settings(grid)
        return _ListSampler(settings), len(settings)
    if n_settings is None:
        raise ArgumentError("n_settings", "must be the number of settings for a range or a sampler (got None)")
    check.count("n_settings", n_settings)
    if given is None:
        return _ListSampler(draw_settings(grid, n_settings, seed)), n_settings
    kind = given if isinstance(given, str) else type(given).__module__.partition(".")[0]
    if kind != "optuna":
        return check.instance("sampler", given, isinstance(given, SettingSampler), SAMPLERS), n_settings
    return _OptunaSampler(given, grid, seed[-1]), n_settings


class _ListSampler:
    """A sampler of settings that are known in advance."""

    def __init__(self, settings: Sequence[Setting]):
        self._settings = iter(settings)

    def ask(self, n_settings: int) -> list[Setting]:
        """Return the next settings of the list."""
        return list(itertools.islice(self._settings, n_settings))

    def tell(self, settings: Sequence[Setting], losses: Sequence[float]) -> None:
        """Ignore the losses."""


class _OptunaSampler:
    """A sampler that uses the ask-and-tell interface of Optuna."""

    def __init__(self, given: Any, grid: Mapping[str, Any], seed: int):
        try:
            optuna: Any = importlib.import_module("optuna")
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError("sampler: Optuna is not installed; pip install 'jaxonline[tuning]'") from error
        own = optuna.samplers.TPESampler(seed=seed)
        study: Any = optuna.create_study(sampler=own) if isinstance(given, str) else given
        check.instance("sampler", study, isinstance(study, optuna.Study), SAMPLERS)
        directions = [direction.name.lower() for direction in study.directions]
        if directions != ["minimize"]:
            raise ArgumentError("sampler", f"must minimise one number (got a study to {', '.join(directions)})")
        self.study, self.trials, self.distributions = study, [], {}
        for name, axis in grid.items():
            if isinstance(axis, Range):
                ends = float(axis.low), float(axis.high)
                self.distributions[name] = optuna.distributions.FloatDistribution(*ends, log=axis.log)
                continue
            is_plain = all(isinstance(value, str | bool | int | float | None) for value in axis)
            wanted = "a list of numbers, strings, True, False or None for Optuna"
            check.instance(f"grid[{name!r}]", axis, is_plain, wanted)
            self.distributions[name] = optuna.distributions.CategoricalDistribution(axis)

    def ask(self, n_settings: int) -> list[Setting]:
        """Start Optuna trials and return their settings."""
        self.trials = [self.study.ask(self.distributions) for _ in range(n_settings)]
        return [dict(trial.params) for trial in self.trials]

    def tell(self, settings: Sequence[Setting], losses: Sequence[float]) -> None:
        """Report the losses of the last trials to Optuna."""
        for trial, loss in zip(self.trials, losses, strict=True):
            self.study.tell(trial, float(loss))
