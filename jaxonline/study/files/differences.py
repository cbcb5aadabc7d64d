"""Two studies side by side: what differs in their configurations, and whether their results do."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from jaxonline.parameters import check
from jaxonline.results import Result
from jaxonline.results.report.tables import Interval, Number, Table, Text
from jaxonline.results.statistics import difference_of_means, mean_over_runs
from jaxonline.study.files.key_lines import KeyPath
from jaxonline.study.files.reading import format_key

# what decides which instances, outcomes and noise a run meets
INSTANCE_KEYS = ("game", "seed", "rounds")


def find_differences(first: Any, second: Any, at: KeyPath = ()) -> dict[KeyPath, tuple[Any, Any]]:
    """Where two configurations differ: both values by the key; None where one has no such key.

    Example:
        >>> from jaxonline.study.files.differences import find_differences
        >>> find_differences({"a": 1, "b": {"c": 2}}, {"a": 1, "b": {"c": 3}})
        {('b', 'c'): (2, 3)}
    """
    if isinstance(first, Mapping) and isinstance(second, Mapping):
        found: dict[KeyPath, tuple[Any, Any]] = {}
        for key in {**first, **second}:
            found |= find_differences(first.get(key), second.get(key), (*at, key))
        return found
    return {} if first == second else {at: (first, second)}


def format_differences(found: Mapping[KeyPath, tuple[Any, Any]], most: int = 6) -> str:
    """Differences as "game.noise.covariance (was 0.1, is 0.2)", the first few of them."""
    words = [
        f"{format_key(at)} (was {_format_setting(was)}, is {_format_setting(now)})"
        for at, (was, now) in list(found.items())[:most]
    ]
    return "; ".join(words) + (" ..." if len(found) > most else "")


def _format_setting(value: Any) -> str:
    if value is None:
        return "absent"
    if isinstance(value, Mapping):
        return str(value.get("type", "a table"))
    return check.quote(value)


def differences_table(found: Mapping[KeyPath, tuple[Any, Any]], first: str, second: str) -> Table:
    """Differences as a table."""
    rows = [
        {"key": format_key(at), "first": _format_setting(was), "second": _format_setting(now)}
        for at, (was, now) in found.items()
    ]
    return Table("", rows, (Text("key"), Text("first", first), Text("second", second)))


def compare_results(
    first: Result, second: Result, studies: tuple[Mapping[str, Any], Mapping[str, Any]], names: tuple[str, str]
) -> tuple[Table, list[str]]:
    """The learners that both have: their means at the last common round, and the difference with its interval.

    Where seed, game and horizon are the same, a run has met the same instances in both studies: differences are
    paired, over the runs that both have. Else they are of independent means (Welch's interval).

    Raises:
        ValueError: they have no learner, or no recorded round, in common.
    """
    common = [name for name in first.learners if name in second.learners]
    rounds = np.intersect1d(first.rounds, second.rounds)
    if not common or not len(rounds):
        what = "learner" if not common else "recorded round"
        raise ValueError(f"other: must have a {what} in common with the first study (got none)")
    both = first.comparator_loss is not None and second.comparator_loss is not None
    quantity, last = "regret" if both else "cumulative_loss", int(rounds[-1])
    parts = [each.values(quantity)[..., list(each.rounds).index(last)] for each in (first, second)]
    shared = np.intersect1d(first.runs, second.runs)
    paired = len(shared) > 1 and all(studies[0].get(key) == studies[1].get(key) for key in INSTANCE_KEYS)
    if paired:
        parts = [part[:, np.searchsorted(each.runs, shared)] for part, each in zip(parts, (first, second), strict=True)]
    rows = []
    for name in common:
        one, other = (part[list(each.learners).index(name)] for part, each in zip(parts, (first, second), strict=True))
        mean, low, high = _paired(other - one) if paired else difference_of_means(other, one)
        rows.append(
            {"learner": name, "first": _mean(one), "second": _mean(other), "difference": mean,
             "low": low, "high": high, "differs": "yes" if low > 0 or high < 0 else ""}
        )  # fmt: skip
    columns = (
        Text("learner"), Number("first", names[0], "{:.4g}"), Number("second", names[1], "{:.4g}"),
        Interval("difference", "difference\n(95 %)", "{:.3g}"), Text("differs"),
    )  # fmt: skip
    words = quantity.replace("cumulative_", "")
    how = f"paired over {len(shared):,} runs" if paired else "independent runs, Welch's interval"
    alone = [f"{name} only: {', '.join(own)}" for name, own in (
        (names[0], [each for each in first.learners if each not in common]),
        (names[1], [each for each in second.learners if each not in common]),
    ) if own]  # fmt: skip
    return Table(f"Mean {words} after {last:,} rounds ({how})", rows, columns), alone


def _mean(values: np.ndarray) -> float:
    """Of the runs that count, NaN where none does."""
    values = values[~np.isnan(values)]
    return float(values.mean()) if len(values) else float("nan")


def _paired(values: np.ndarray) -> tuple[float, float, float]:
    of = mean_over_runs(values[None, :, None], 0.95)
    return float(of.mean[0, 0]), float(of.low[0, 0]), float(of.high[0, 0])
