"""Selection and merging of runs, learners and rounds of a `Result`."""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.store.checkpoints import FIRST_ROUND_ARRAYS

RESERVED_NAMES = ("learner", "run", "round", "comparator_loss", *FIRST_ROUND_ARRAYS)


def check_shapes(result: Any) -> None:
    """Check that arrays have the shape (learners, runs, rounds), and that names and runs are distinct."""
    for name in ("runs", "rounds"):
        check.finite_array(name, getattr(result, name), ndim=1)
    shape = len(result.learners), np.size(result.runs), np.size(result.rounds)
    for name, array in {"comparator_loss": result.comparator_loss, **result.measures}.items():
        if array is not None:
            check_shape(name, array, shape, "learners, runs, rounds")
    for name, times in Counter(result.learners).items():
        if times > 1:
            raise ArgumentError("learners", f"must be distinct (got {name!r} more than once)")
    for name in RESERVED_NAMES:
        if name in result.measures:
            raise ArgumentError("measures", f"must not use a reserved name (got {name!r}); choose another name")
    runs, times = np.unique(result.runs, return_counts=True)
    if (times > 1).any():
        problem = "must be distinct (a run that counts twice narrows the intervals)"
        raise ArgumentError("runs", f"{problem} (got {runs[times > 1][0]} more than once)")


def complete_first_rounds(result: Any) -> None:
    """Check the arrays of first rounds (learners, runs); if they are None, there are no such rounds."""
    shape = len(result.learners), len(result.runs)
    for name in FIRST_ROUND_ARRAYS:
        if getattr(result, name) is None:
            object.__setattr__(result, name, np.zeros(shape, np.int32))
        check_shape(name, check.finite_array(name, getattr(result, name)), shape, "learners, runs")


def check_shape(name: str, array: Any, shape: tuple[int, ...], axes: str) -> None:
    """Check the first axes of an array."""
    got = (array if hasattr(array, "shape") else check.real_array(name, array)).shape
    if got[: len(shape)] != shape:
        raise ArgumentError(name, f"must have the shape {shape} ({axes}) (got {got})")


def select_runs(result: Any, learners: Sequence[int], runs: Any = slice(None), names: Sequence[str] = ()) -> Any:
    """Select learners and runs by position; if new `names` are given, the same learner may be selected twice."""
    if not isinstance(runs, slice):
        positions, size = np.asarray(runs), len(result.runs)
        mask = positions.shape == (size,) and positions.dtype == bool
        if not mask and not (
            positions.ndim == 1 and positions.dtype.kind == "i" and ((-size <= positions) & (positions < size)).all()
        ):
            raise ArgumentError("runs", f"must be positions below {size} (got {check.quote(runs)})")

    def select(array: Any) -> Any:
        return array[learners][:, runs]

    return dataclasses.replace(
        result, learners=tuple(names or (result.learners[i] for i in learners)), runs=result.runs[runs],
        measures={name: select(array) for name, array in result.measures.items()},
        comparator_loss=None if result.comparator_loss is None else select(result.comparator_loss),
        **{name: select(getattr(result, name)) for name in FIRST_ROUND_ARRAYS},
    )  # fmt: skip


def merge_runs(result: Any, other: Any) -> Any:
    """Merge the runs of two results; ValueError if learners, rounds or measures differ, or both have the same run."""
    return _merge(result, other, ("learners", "rounds", "measures"), 1, dict(result.meta))


def merge_learners(result: Any, other: Any) -> Any:
    """Merge the learners of two results of one game; ValueError if the games differ, or both have the same learner."""
    check.instance("other", other, type(result), "a Result")
    for name in ("game", "comparator", "key", "dtype"):
        if result.meta.get(name) != other.meta.get(name):
            first, second = (check.quote(part.meta.get(name)) for part in (result, other))
            raise ArgumentError("other", f"must have the same {name}, {first} (got {second})")
    meta = dict(result.meta)
    for name in ("learners", "overflow_probability"):
        meta[name] = {**result.meta.get(name, {}), **other.meta.get(name, {})}
    if methods := {**result.meta.get("methods", {}), **other.meta.get("methods", {})}:
        parts = (part.meta.get("methods", {}).get("learners", {}) for part in (result, other))
        meta["methods"] = methods | {"learners": {name: of for part in parts for name, of in part.items()}}
    return _merge(result, other, ("runs", "rounds", "measures"), 0, meta)


def _merge(result: Any, other: Any, same: Sequence[str], axis: int, meta: dict[str, Any]) -> Any:
    check.instance("other", other, type(result), "a Result")
    for name in same:
        first, second = (list(getattr(part, name)) for part in (result, other))
        if first != second:
            raise ArgumentError("other", f"must have the same {name}, {check.quote(first)} (got {check.quote(second)})")

    def concatenate(first: np.ndarray, second: np.ndarray) -> np.ndarray:
        return np.concatenate([first, second], axis=axis)

    comparator_loss = None
    if result.comparator_loss is not None and other.comparator_loss is not None:
        comparator_loss = concatenate(result.comparator_loss, other.comparator_loss)
    return dataclasses.replace(
        result, learners=result.learners + (other.learners if axis == 0 else ()), meta=meta,
        runs=np.concatenate([result.runs, other.runs]) if axis == 1 else result.runs, comparator_loss=comparator_loss,
        measures={name: concatenate(array, other.measures[name]) for name, array in result.measures.items()},
        **{name: concatenate(getattr(result, name), getattr(other, name)) for name in FIRST_ROUND_ARRAYS},
    )  # fmt: skip


def select_rounds(result: Any, rounds: slice, *quantities: str) -> Any:
    """Select recorded rounds by position, and the named measures (all measures if no name is given)."""
    measures = {name: array for name, array in result.measures.items() if name in quantities or not quantities}
    comparator_loss = result.comparator_loss
    return dataclasses.replace(
        result, rounds=result.rounds[rounds],
        measures={name: array[:, :, rounds] for name, array in measures.items()},
        comparator_loss=None if comparator_loss is None else comparator_loss[:, :, rounds],
    )  # fmt: skip
