"""Comparison of two studies: configurations and results."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxonline.parameters import check
from jaxonline.results import Result
from jaxonline.results.quantities import has_rewards
from jaxonline.results.report.tables import Interval, Number, Table, Text
from jaxonline.results.statistics import difference_of_means, mean_over_runs
from jaxonline.study.files.key_lines import KeyPath
from jaxonline.study.files.reading import format_key

# these decide the instances, outcomes and noise of a run
INSTANCE_KEYS = ("game", "seed", "rounds")


def find_differences(first: Any, second: Any, at: KeyPath = ()) -> dict[KeyPath, tuple[Any, Any]]:
    """Return the values that differ between two configurations, by key; None stands for a missing key.

    Example:
        >>> from jaxonline.study.files.differences import find_differences
        >>> find_differences({"a": 1, "b": {"c": 2}}, {"a": 1, "b": {"c": 3}})
        {('b', 'c'): (2, 3)}
    """
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        differences: dict[KeyPath, tuple[Any, Any]] = {}
        for key in {**first, **second}:
            differences |= find_differences(first.get(key), second.get(key), (*at, key))
        return differences
    return {} if first == second else {at: (first, second)}


def format_differences(differences: Mapping[KeyPath, tuple[Any, Any]], limit: int = 6) -> str:
    """Format the first differences as text, such as "game.noise.covariance (was 0.1, is 0.2)"."""
    changes = [
        f"{format_key(at)} (was {_format_setting(before)}, is {_format_setting(after)})"
        for at, (before, after) in list(differences.items())[:limit]
    ]
    return "; ".join(changes) + (" ..." if len(differences) > limit else "")


def _format_setting(value: Any) -> str:
    if value is None:
        return "absent"
    if isinstance(value, Mapping):
        return str(value.get("type", "a table"))
    return check.quote(value)


def differences_table(differences: Mapping[KeyPath, tuple[Any, Any]], first: str, second: str) -> Table:
    """Return the differences of two configurations as a table."""
    rows = [
        {"key": format_key(at), "first": _format_setting(before), "second": _format_setting(after)}
        for at, (before, after) in differences.items()
    ]
    return Table("", rows, (Text("key"), Text("first", first), Text("second", second)))


def compare_results(
    first: Result, second: Result, studies: tuple[Mapping[str, Any], Mapping[str, Any]], names: tuple[str, str]
) -> tuple[Table, list[str]]:
    """Compare the learners that two results share: means at the last common round, and the difference of the means.

    If seed, game and rounds are equal, the runs of both studies have the same instances, so the differences are paired
    over the common runs. Otherwise the means of the two studies are independent, and the difference has Welch's
    interval. The function also returns lines about learners that only one result has. Raises ValueError if the results
    share no learner or no round.
    """
    common = [name for name in first.learners if name in second.learners]
    rounds = np.intersect1d(first.rounds, second.rounds)
    if not common or not len(rounds):
        what = "learner" if not common else "recorded round"
        raise ValueError(f"other: must have a {what} in common with the first study (got none)")
    both = first.comparator_loss is not None and second.comparator_loss is not None
    summed = "cumulative_reward" if has_rewards(first) and has_rewards(second) else "cumulative_loss"
    quantity, last = "regret" if both else summed, int(rounds[-1])
    parts = [result.values(quantity)[..., list(result.rounds).index(last)] for result in (first, second)]
    shared = np.intersect1d(first.runs, second.runs)
    paired = len(shared) > 1 and all(studies[0].get(key) == studies[1].get(key) for key in INSTANCE_KEYS)
    if paired:
        parts = [
            part[:, np.searchsorted(result.runs, shared)] for part, result in zip(parts, (first, second), strict=True)
        ]
    rows = []
    for name in common:
        one, other = (
            part[list(result.learners).index(name)] for part, result in zip(parts, (first, second), strict=True)
        )
        mean, low, high = _paired(other - one) if paired else difference_of_means(other, one)
        rows.append(
            {"learner": name, "first": _mean(one), "second": _mean(other), "difference": mean,
             "low": low, "high": high, "differs": "yes" if low > 0 or high < 0 else ""}
        )  # fmt: skip
    columns = (
        Text("learner"), Number("first", names[0], "{:.4g}"), Number("second", names[1], "{:.4g}"),
        Interval("difference", "difference\n(95 %)", "{:.3g}"), Text("differs"),
    )  # fmt: skip
    label = quantity.replace("cumulative_", "")
    method = f"paired over {len(shared):,} runs" if paired else "independent runs, Welch's interval"
    extra_lines = [f"{name} only: {', '.join(own)}" for name, own in (
        (names[0], [name for name in first.learners if name not in common]),
        (names[1], [name for name in second.learners if name not in common]),
    ) if own]  # fmt: skip
    return Table(f"Mean {label} after {last:,} rounds ({method})", rows, columns), extra_lines


def _mean(values: np.ndarray) -> float:
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else float("nan")


def _paired(values: np.ndarray) -> tuple[float, float, float]:
    interval = mean_over_runs(values[None, :, None], 0.95)
    return float(interval.mean[0, 0]), float(interval.low[0, 0]), float(interval.high[0, 0])
