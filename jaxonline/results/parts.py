"""Selection and merging of runs, learners and rounds of a `Result`."""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.store.layout import AXES, COMPARATOR_LOSS, FIRST_ROUND_ARRAYS
from jaxonline.store.lazy_arrays import select_part


def check_shapes(result: Any) -> None:
    """Check that arrays have the shape (learners, runs, rounds), and that names and runs are distinct."""
    shape = len(result.learners), np.size(result.runs), np.size(result.rounds)
    for name, array in {"comparator_loss": result.comparator_loss, **result.measures}.items():
        if array is not None and np.shape(array)[:3] != shape:
            raise ArgumentError(name, f"must have the shape {shape} (learners, runs, rounds) (got {np.shape(array)})")
    for name, times in Counter(result.learners).items():
        if times > 1:
            raise ArgumentError("learners", f"must be distinct (got {name!r} more than once)")
    for name in (*AXES, *FIRST_ROUND_ARRAYS, COMPARATOR_LOSS):
        if name in result.measures:
            raise ArgumentError("measures", f"must have names of their own (got {name!r}, which results have already)")
    runs, times = np.unique(result.runs, return_counts=True)
    if (times > 1).any():
        raise ArgumentError(
            "runs",
            f"must be distinct (a run that counts twice narrows the intervals) (got {runs[times > 1][0]} "
            "more than once)",
        )


def select_runs(result: Any, learners: Sequence[int], runs: Any = slice(None), names: Sequence[str] = ()) -> Any:
    """Select learners and runs by position; with new `names`, a learner may be selected twice."""
    if not isinstance(runs, slice):
        at, size = np.asarray(runs), len(result.runs)
        mask = at.shape == (size,) and at.dtype == bool
        if not mask and not (at.ndim == 1 and at.dtype.kind == "i" and ((-size <= at) & (at < size)).all()):
            raise ArgumentError("runs", f"must be positions below {size} (got {check.quote(runs)})")

    def of(numbers: Any) -> Any:
        return select_part(numbers, learners, runs)

    return dataclasses.replace(
        result, learners=tuple(names or (result.learners[i] for i in learners)), runs=result.runs[runs],
        measures={name: of(array) for name, array in result.measures.items()},
        comparator_loss=None if result.comparator_loss is None else of(result.comparator_loss),
        first_nonfinite=of(result.first_nonfinite), first_overflow=of(result.first_overflow),
    )  # fmt: skip


def merge_runs(result: Any, other: Any) -> Any:
    """Merge the runs of two results; a ValueError if learners, rounds or measures differ, or a run occurs in both."""
    for name in ("learners", "rounds", "measures"):
        own, its = (list(getattr(each, name)) for each in (result, other))
        if own != its:
            raise ArgumentError("other", f"must have the same {name}, {own} (got {its})")

    def joined(own: np.ndarray, its: np.ndarray) -> np.ndarray:
        return np.concatenate([own, its], axis=1)

    best = None
    if result.comparator_loss is not None and other.comparator_loss is not None:
        best = joined(result.comparator_loss, other.comparator_loss)
    return dataclasses.replace(
        result, runs=np.concatenate([result.runs, other.runs]), meta=dict(result.meta), comparator_loss=best,
        measures={name: joined(array, other.measures[name]) for name, array in result.measures.items()},
        first_nonfinite=joined(result.first_nonfinite, other.first_nonfinite),
        first_overflow=joined(result.first_overflow, other.first_overflow),
    )  # fmt: skip


def select_rounds(result: Any, rounds: Any, *quantities: str) -> Any:
    """Select recorded rounds by position, and some of the measures if any are named."""
    kept = {name: array for name, array in result.measures.items() if name in quantities or not quantities}
    best = result.comparator_loss
    return dataclasses.replace(
        result, rounds=result.rounds[rounds],
        measures={name: select_part(array, rounds=rounds) for name, array in kept.items()},
        comparator_loss=None if best is None else select_part(best, rounds=rounds),
    )  # fmt: skip
