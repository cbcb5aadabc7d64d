"""Checks of arguments at construction: which argument, what it was, what it must be.

Values that are not known yet (tracers inside jit or vmap, shape structs) pass: they were checked where they were
concrete.
"""

from typing import Any

import jax
import numpy as np
from jax.core import Tracer


def concrete(value: Any) -> np.ndarray | None:
    """The value as a NumPy array, or None when it is not known yet (a tracer, a placeholder)."""
    if isinstance(value, Tracer) or not isinstance(value, int | float | np.ndarray | np.generic | jax.Array):
        return None
    return np.asarray(value)


def number(name: str, value: Any, *, gt: float | None = None, ge: float | None = None,
           lt: float | None = None, le: float | None = None) -> Any:  # fmt: skip
    """Check that every entry of `value` is finite and inside the stated limits; returns `value`."""
    array = concrete(value)
    if array is None:
        if value is None or isinstance(value, str | list | tuple | dict):
            raise TypeError(f"{name} must be a number, got {value!r}")
        return value
    limits = [
        (gt, "above", np.greater),
        (ge, "at least", np.greater_equal),
        (lt, "below", np.less),
        (le, "at most", np.less_equal),
    ]
    wanted = " and ".join(f"{word} {limit:g}" for limit, word, _ in limits if limit is not None) or "finite"
    good = bool(np.all(np.isfinite(array)))
    good = good and all(bool(np.all(test(array, limit))) for limit, _, test in limits if limit is not None)
    if not good:
        raise ValueError(f"{name} must be {wanted}, got {_short(array)}")
    return value


def positive(name: str, value: Any) -> Any:
    """Check that `value` is finite and above 0."""
    return number(name, value, gt=0.0)


def not_negative(name: str, value: Any) -> Any:
    """Check that `value` is finite and at least 0."""
    return number(name, value, ge=0.0)


def count(name: str, value: Any, *, ge: int = 1) -> int:
    """Check that `value` is an integer of at least `ge`; returns it as an int."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise TypeError(f"{name} must be an integer of at least {ge}, got {value!r}")
    if value < ge:
        raise ValueError(f"{name} must be at least {ge}, got {value}")
    return int(value)


def choice(name: str, value: Any, options: tuple[str, ...]) -> str:
    """Check that `value` is one of `options`."""
    if value not in options:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, options))}, got {value!r}")
    return value


def finite_array(name: str, value: Any, *, ndim: int | None = None) -> np.ndarray:
    """Check that `value` is a real array without NaN or infinity, of `ndim` dimensions where that is given."""
    array = np.asarray(value)
    if not np.issubdtype(array.dtype, np.number) or np.issubdtype(array.dtype, np.complexfloating):
        raise TypeError(f"{name} must hold real numbers, got dtype {array.dtype}")
    if ndim is not None and array.ndim != ndim:
        raise ValueError(f"{name} must have {ndim} dimension{'s' * (ndim != 1)}, got shape {array.shape}")
    bad = np.argwhere(~np.isfinite(array.astype(float)))
    if len(bad):
        where = ", ".join(map(str, bad[0]))
        raise ValueError(f"{name} must be finite, got {array[tuple(bad[0])]} at [{where}] ({len(bad)} such entries)")
    return array


def rows(name: str, X: Any, of_rows: str, y: Any, *, vectors: bool = True) -> tuple[np.ndarray, np.ndarray]:
    """Check a matrix and a vector with one entry for each of its rows: finite, not empty.

    Without `vectors`, rows of both may have any shape.
    """
    X, y = finite_array(name, X, ndim=2 if vectors else None), finite_array(of_rows, y, ndim=1 if vectors else None)
    if X.ndim < 2 or y.ndim < 1:
        raise ValueError(f"{name} and {of_rows} must have one row a round, got shapes {X.shape} and {y.shape}")
    if len(X) != len(y) or X.size == 0 or y.size == 0:
        raise ValueError(
            f"{name} and {of_rows} must have the same number of rows, at least one, got {X.shape} and {y.shape}"
        )
    return X, y


def covariance(name: str, value: Any) -> Any:
    """Check a covariance given as a variance (number), a vector of variances, or a symmetric PSD matrix."""
    array = concrete(value)
    if array is None:
        if value is None or isinstance(value, str | dict):
            raise TypeError(f"{name} must be a number, a vector or a square matrix, got {value!r}")
        return value
    finite_array(name, array)
    if array.ndim < 2:
        return not_negative(name, value)
    if array.ndim > 2 or array.shape[0] != array.shape[1]:
        raise ValueError(f"{name} must be a number, a vector or a square matrix, got shape {array.shape}")
    scale = max(float(np.abs(array).max()), np.finfo(float).tiny)
    if np.abs(array - array.T).max() > 1e-6 * scale:
        raise ValueError(f"{name} must be symmetric, got a difference of {np.abs(array - array.T).max():g}")
    smallest = float(np.linalg.eigvalsh(array.astype(float)).min())
    if smallest < -1e-6 * scale:
        raise ValueError(f"{name} must be positive semi-definite, got the eigenvalue {smallest:g}")
    return value


def seed(name: str, value: Any) -> int:
    """Check that `value` is an integer from 0 to 2^32 - 1; returns it as an int.

    Where float64 is not enabled, jax makes the same key of seeds that are the same modulo 2^32.
    """
    if count(name, value, ge=0) >= 2**32:
        raise ValueError(f"{name} must be below 2^32, got {value}")
    return int(value)


def _short(array: np.ndarray) -> str:
    text = np.array2string(array, threshold=6, precision=6)
    return text if array.ndim else f"{array.item():g}"
