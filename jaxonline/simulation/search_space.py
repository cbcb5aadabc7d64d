"""Which settings a search tries: all of a grid, some of a range, or what a sampler asks for."""

import importlib
import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable

import numpy as np

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.tuned import Setting, is_number

SAMPLERS = "'optuna', an optuna.Study, or a sampler with ask and tell"
RESERVED_NAMES = ("rung", "runs", "low", "high", "failed", "setting", "chosen")  # by the rows of what was found


@dataclass(frozen=True)
class Range:
    """All numbers from the lowest to the highest, for `tune`.

    Args:
        low: the lowest.
        high: the highest, above `low`.
        log: whether their logarithms are spread evenly, as suits step sizes; then `low` must be above 0.

    Raises:
        ValueError: a number out of its range.

    Example:
        >>> import jaxonline as jo
        >>> jo.Range(1e-3, 1.0, log=True).at(0.5)
        0.03162277660168379
    """

    low: float
    high: float
    log: bool = False

    def __post_init__(self):
        check.number("low", self.low, gt=0.0 if check.flag("log", self.log) else None)
        check.number("high", self.high, gt=float(self.low))

    def at(self, part: float) -> float:
        """The number that has this part of the range, from 0 to 1, below it."""
        if self.log:
            return float(self.low * math.exp(part * math.log(self.high / self.low)))
        return float(self.low + part * (self.high - self.low))


Grid = Mapping[str, Sequence[Any] | Range]


@runtime_checkable
class AsksAndTells(Protocol):
    """What decides which settings are tried, in the light of those before."""

    def ask(self, n_settings: int) -> Sequence[Setting]:
        """So many settings to try next, which are played together."""
        ...

    def tell(self, settings: Sequence[Setting], losses: Sequence[float]) -> None:
        """What these settings came to: means over the runs, infinite where a run failed."""
        ...


def checked_grid(grid: Any) -> dict[str, Any]:
    """A grid as it is searched: by name a `Range`, or a list of numbers of one kind, or of choices.

    Raises:
        TypeError: no dictionary, or values that are neither a list nor a range.
        ValueError: nothing to try, a number that is not finite, a value that is there twice.
    """
    check.instance("grid", grid, Mapping, "a dictionary of lists or ranges by name")
    if not grid:
        raise ArgumentError("grid", "must have at least one entry (got none)")
    return {check_setting_name(name): _axis(f"grid[{name!r}]", values) for name, values in grid.items()}


def check_setting_name(name: Any) -> str:
    """Check that what is set has a name of its own in tables."""
    if check.text("a name in grid", name) in RESERVED_NAMES:
        raise ArgumentError("grid", f"must have other names than {', '.join(map(repr, RESERVED_NAMES))} (got {name!r})")
    return name


def asked_for(sampler: AsksAndTells, n_settings: int, grid: Mapping[str, Any]) -> list[Setting]:
    """So many settings that a sampler asks for, checked: all names, and finite numbers.

    Raises:
        TypeError: a setting is no dictionary.
        ValueError: more or fewer settings, a name that is missing or unknown, a number that is not finite.
    """
    settings = list(sampler.ask(n_settings))
    if len(settings) != n_settings:
        raise ArgumentError("sampler", f"must ask for {n_settings} settings where it is asked to (got {len(settings)})")
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
    tried = list(check.sequence(name, values, "value"))
    numbers = [value for value in tried if is_number(value)]
    if numbers:
        check.numbers(name, numbers)
    if len(numbers) == len(tried):
        tried = np.asarray(tried).tolist()  # of one kind: 1 beside 0.1 is 1.0
    for i, value in enumerate(tried):
        if any(value is other or (is_number(value) and is_number(other) and value == other) for other in tried[:i]):
            raise ArgumentError(name, f"must have distinct values (got {check.quote(value)} twice)")
    return tried


def _product(grid: Mapping[str, Any]) -> list[Setting]:
    """All settings of a grid of lists, the last name the fastest."""
    return [dict(zip(grid, values, strict=True)) for values in itertools.product(*grid.values())]


def drawn(grid: Mapping[str, Any], n_settings: int, seed: Sequence[int]) -> list[Setting]:
    """So many settings at random, spread evenly (a Latin hypercube): of n numbers one in each n-th part of a range.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.simulation.search_space import drawn
        >>> settings = drawn({"step": jo.Range(0.0, 1.0), "radius": [1, 2]}, 4, [0])
        >>> sorted(int(4 * each["step"]) for each in settings), sorted(each["radius"] for each in settings)
        ([0, 1, 2, 3], [1, 1, 2, 2])
    """
    rng = np.random.default_rng(seed)
    columns = []
    for axis in grid.values():
        parts = (rng.permutation(n_settings) + rng.uniform(size=n_settings)) / n_settings
        is_range = isinstance(axis, Range)
        columns.append([axis.at(part) if is_range else axis[int(part * len(axis))] for part in parts])
    return [dict(zip(grid, values, strict=True)) for values in zip(*columns, strict=True)]


def sampler_of(
    grid: Mapping[str, Any], n_settings: int | None, given: Any, seed: Sequence[int]
) -> tuple[AsksAndTells, int]:
    """What is asked for settings, and for how many in all.

    Args:
        grid: as `checked_grid` returns it.
        n_settings: how many are tried, None for all of a grid of lists.
        given: a sampler as it is, an `optuna.Study`, "optuna" for a new one with Optuna's default sampler, or None.
        seed: of what is drawn.

    Raises:
        ModuleNotFoundError: Optuna is not installed (extra `tuning`).
        TypeError: no sampler; or a list of the grid holds what Optuna cannot choose from.
        ValueError: `n_settings` missing, or given for a grid of lists; a study that does not minimise one number.
    """
    plain = given is None and not any(isinstance(axis, Range) for axis in grid.values())
    if plain:
        if n_settings is not None:
            raise ArgumentError("n_settings", f"must be left out where all of a grid is tried (got {n_settings})")
        settings = _product(grid)
        return _Given(settings), len(settings)
    if n_settings is None:
        raise ArgumentError("n_settings", "must say how many are tried where there is a range or a sampler (got None)")
    check.count("n_settings", n_settings)
    if given is None:
        return _Given(drawn(grid, n_settings, seed)), n_settings
    kind = given if isinstance(given, str) else type(given).__module__.partition(".")[0]
    if kind != "optuna":
        return check.instance("sampler", given, isinstance(given, AsksAndTells), SAMPLERS), n_settings
    return _Optuna(given, grid, seed[-1]), n_settings


class _Given:
    """Settings that are known beforehand, as a sampler."""

    def __init__(self, settings: Sequence[Setting]):
        self._settings = iter(settings)

    def ask(self, n_settings: int) -> list[Setting]:
        """The next ones."""
        return list(itertools.islice(self._settings, n_settings))

    def tell(self, settings: Sequence[Setting], losses: Sequence[float]) -> None:
        """They are what they are."""


class _Optuna:
    """A study of Optuna, through its ask-and-tell interface."""

    def __init__(self, given: Any, grid: Mapping[str, Any], seed: int):
        try:
            optuna: Any = importlib.import_module("optuna")
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError("sampler: Optuna is not installed; pip install 'jaxonline[tuning]'") from error
        own = optuna.samplers.TPESampler(seed=seed)
        study: Any = optuna.create_study(sampler=own) if isinstance(given, str) else given
        check.instance("sampler", study, isinstance(study, optuna.Study), SAMPLERS)
        directions = [each.name.lower() for each in study.directions]
        if directions != ["minimize"]:
            raise ArgumentError("sampler", f"must minimize one number (got a study that is to {', '.join(directions)})")
        self.study, self.trials, self.distributions = study, [], {}
        for name, axis in grid.items():
            if isinstance(axis, Range):
                ends = float(axis.low), float(axis.high)
                self.distributions[name] = optuna.distributions.FloatDistribution(*ends, log=axis.log)
                continue
            plain = all(isinstance(each, str | bool | int | float | None) for each in axis)
            check.instance(f"grid[{name!r}]", axis, plain, "a list of numbers, words, True, False or None for Optuna")
            self.distributions[name] = optuna.distributions.CategoricalDistribution(axis)

    def ask(self, n_settings: int) -> list[Setting]:
        """So many trials."""
        self.trials = [self.study.ask(self.distributions) for _ in range(n_settings)]
        return [dict(trial.params) for trial in self.trials]

    def tell(self, settings: Sequence[Setting], losses: Sequence[float]) -> None:
        """The losses of the trials that were asked for last."""
        del settings  # Optuna knows them by their trials
        for trial, loss in zip(self.trials, losses, strict=True):
            self.study.tell(trial, float(loss))
