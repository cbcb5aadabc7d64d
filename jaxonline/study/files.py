"""What studies write: tables, JSON, and the curves of a result as plain numbers."""

import csv
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from jaxonline.results import Result


def curves(result: Result, bounds: Mapping[str, np.ndarray] | None = None, level: float = 0.95) -> dict[str, Any]:
    """The curves of every learner as lists, for JSON: regret with its interval, queries, growth, runs left out.

    Args:
        result: of a study with a comparator.
        bounds: what a theorem promises at each recorded round [G], by learner.
        level: of the intervals.

    Example:
        >>> import numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.study.files import curves
        >>> game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
        >>> learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)
        >>> result = jo.simulate(game, {"a": learner}, n_runs=2, n_rounds=6, comparator=jo.L2Ball(2.0), record_at=2)
        >>> found = curves(result)
        >>> found["rounds"], found["learners"]["a"]["regret"]
        ([3, 6], [3.0, 3.0])
    """
    regret, queries = result.mean("regret", level), result.mean("queries", level)
    growths = result.growth(level=level)
    learners = {}
    for i, name in enumerate(result.learners):
        learners[name] = {
            "regret": regret.mean[i].tolist(),
            "low": regret.low[i].tolist(),
            "high": regret.high[i].tolist(),
            "queries": queries.mean[i].tolist(),
            "bound": None if bounds is None or name not in bounds else np.asarray(bounds[name], float).tolist(),
            "growth": growths[name]._asdict(),
            "failed": int(result.failed[i]),
            "overflowed": int(result.overflowed[i]),
        }
    return {"rounds": result.rounds.tolist(), "runs": len(result.runs), "level": level, "learners": learners}


def write_json(path: Path, numbers: Any) -> Path:
    """Write numbers as JSON, in folders made for it; NaN and infinity become null.

    Example:
        >>> import pathlib, tempfile
        >>> from jaxonline.study.files import write_json
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     print(write_json(pathlib.Path(folder) / "new" / "a.json", {"a": [1.0, float("nan")]}).read_text())
        {
         "a": [
          1.0,
          null
         ]
        }
        <BLANKLINE>
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(_finite(numbers), indent=1, allow_nan=False) + "\n")
    return path


def write_csv(path: Path, rows: Sequence[Mapping[str, Any]]) -> Path:
    """Write rows of the same columns, in folders made for them; None is an empty cell, numbers have 6 digits.

    Example:
        >>> import pathlib, tempfile
        >>> from jaxonline.study.files import write_csv
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     print(write_csv(pathlib.Path(folder) / "a.csv", [{"a": 1 / 3, "b": None}]).read_text())
        a,b
        0.333333,
        <BLANKLINE>
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="", encoding="utf-8") as file:
        if rows:
            lines = csv.writer(file, lineterminator="\n")
            lines.writerow(rows[0])
            lines.writerows([_cell(value) for value in row.values()] for row in rows)
    return path


def _cell(value: Any) -> Any:
    return f"{value:.6g}" if isinstance(value, float) else value


def _finite(numbers: Any) -> Any:
    if isinstance(numbers, Mapping):
        return {str(key): _finite(value) for key, value in numbers.items()}
    if isinstance(numbers, (list, tuple)):
        return [_finite(value) for value in numbers]
    if isinstance(numbers, (np.ndarray, np.generic)):
        return _finite(numbers.tolist())
    return None if isinstance(numbers, float) and not np.isfinite(numbers) else numbers
