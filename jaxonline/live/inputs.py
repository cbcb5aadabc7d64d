"""Checks of instances and outcomes for live learners; valid arrays are checked in one pass."""

from typing import Any

import numpy as np

from jaxonline.feedback import Bandit
from jaxonline.losses.base import check_outcomes
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError

MAX_FINITE_SQUARES = 1e37  # a smaller sum of squares has finite entries in float32


def to_shape(name: str, value: Any) -> tuple[int, ...]:
    """Convert a value to a shape; an integer is the length of a vector."""
    lengths = value if isinstance(value, tuple) else (value,)
    return tuple(check.count(name, length, ge=0) for length in lengths)


def is_finite(array: np.ndarray) -> bool:
    """Whether floating numbers are finite, also in float32, in one pass; very large ones count as not finite."""
    return bool(np.vdot(array, array) < MAX_FINITE_SQUARES)  # False for NaN


def to_array(name: str, value: Any, shape: tuple[int, ...] | None, dtype: Any) -> np.ndarray:
    """A copy of one instance or outcome, of any shape if `shape` is None; a None value is an empty array."""
    if value is None and shape in (None, (0,)):
        return np.zeros(0, dtype)
    given = np.asarray(value)
    fits = shape in (None, given.shape) and not isinstance(value, np.ma.MaskedArray)
    if fits and given.dtype.kind == "f" and is_finite(given):
        return given.astype(dtype)
    check.fits_dtype(name, check.finite_array(name, value), dtype)
    if not fits:
        raise ArgumentError(name, f"must have shape {shape} (got {given.shape})")
    return given.astype(dtype)


def to_rows(name: str, value: Any, shape: tuple[int, ...] | None, dtype: Any) -> np.ndarray:
    """A copy of several instances or outcomes, one per row."""
    is_checked = type(value) is np.ndarray and value.dtype.kind == "f" and is_finite(value)
    given = value if is_checked else check.finite_array(name, value)
    if given.ndim == 0 or len(given) == 0 or shape not in (None, given.shape[1:]):
        wanted = "" if shape is None else f", of shape {shape}"
        raise ArgumentError(name, f"must have one row a round, at least one{wanted} (got shape {given.shape})")
    return given.astype(dtype) if is_checked else to_array(name, given, given.shape, dtype)


def check_outcome_range(
    name: str, outcomes: np.ndarray, losses: list[Any], loss_range: tuple[float, float] | None
) -> None:
    """Check outcomes against the classes of margin losses, and against the learner's range of losses."""
    for loss in losses:
        check_outcomes(name, outcomes, loss)
    if loss_range is not None:
        check.numbers(name, outcomes, ge=loss_range[0], le=loss_range[1])


def only_one(method: str, **values: Any) -> tuple[str, Any]:
    """Return the name and the value of the only argument that is not None; a TypeError if it is not exactly one."""
    given = {name: value for name, value in values.items() if value is not None}
    if len(given) != 1:
        *names, last = values
        raise ArgumentTypeError(
            method, f"must be given one of {', '.join(names)} and {last} (got {' and '.join(given) or 'none'})"
        )
    return next(iter(given.items()))


def loss_of_reward(reward: np.ndarray, feedback: Any, loss_range: tuple[float, float] | None) -> np.ndarray:
    """Return the loss 1 - reward of an arm, after a check against the learner's range of losses."""
    if not isinstance(feedback, Bandit):
        raise ArgumentTypeError("reward", f"must be None unless the feedback is Bandit (got {type(feedback).__name__})")
    if loss_range is not None:
        check.numbers("reward", reward, ge=1.0 - loss_range[1], le=1.0 - loss_range[0])
    return np.asarray(1.0 - reward, reward.dtype)
