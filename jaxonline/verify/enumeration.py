"""Exact verification: the whole support of the estimator, with its probabilities."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.verify.result import Verification, decide, target_units, worst_coordinate

Support = Iterable[tuple[float, Any]]


def _resolution(values: list[Any]) -> float:
    """The machine epsilon of the least precise value."""
    kinds = [np.asarray(v).dtype for v in values]
    return max([float(np.finfo(k).eps) if np.issubdtype(k, np.floating) else np.finfo(float).eps for k in kinds])


def enumerate_support(
    support: Support | Callable[[], Support], target: np.ndarray, detect: float, per_coordinate: bool = False
) -> Verification:
    """The bias of an estimator from its support, up to rounding.

    Args:
        support: pairs (probability, value), or a function that returns them.
        target: what the mean should be.
        detect: the largest bias that still counts as none, in units of the target.
        per_coordinate: whether the unit of each coordinate is its own.

    Raises:
        ValueError: if the probabilities are not probabilities, or a value does not have the target's shape.
    """
    outcomes: Any = support() if callable(support) else support
    outcomes = list(outcomes) if isinstance(outcomes, Iterable) else [outcomes]
    if not outcomes:
        raise ArgumentError("support", "must have at least one outcome (got none)")
    for outcome in outcomes:
        pair = isinstance(outcome, tuple | list) and len(outcome) == 2
        check.instance("support", outcome, pair, "pairs (probability, value)")
    p = check.finite_array("support's probabilities", [p for p, _ in outcomes]).astype(float)
    values = [check.finite_array("support's values", value) for _, value in outcomes]
    if np.any(p < 0) or abs(p.sum() - 1) > 1e-6:
        raise ArgumentError(
            "support", f"must have probabilities that are at least 0 and sum to 1 (got a sum of {p.sum():.9g})"
        )
    shapes = {value.shape for value in values}
    if shapes != {target.shape}:
        raise ArgumentError(
            "support", f"must have values with the target's shape {target.shape} (got {sorted(shapes)})"
        )
    table = np.stack([value.astype(float).ravel() for value in values])
    flat = target.astype(float).ravel()
    second = p @ table**2
    units, unit_name = target_units(flat, second, per_coordinate)
    # Values are computed from each other with cancellation: their rounding is that of the largest of them.
    half_width = np.full(flat.shape, 16 * _resolution(values) * max(np.abs(table).max(initial=0.0), units.max()))
    bias = p @ table - flat
    verdict, reason = decide(bias, half_width, detect * units)
    i = worst_coordinate(bias, half_width)
    return Verification(
        verdict=verdict,
        method="enumeration",
        bias=float(bias[i] / units[i]),
        half_width=float(half_width[i] / units[i]),
        detectable=2 * float((half_width / units).max()),
        level=0.0,
        power=1.0,
        samples=len(outcomes),
        unit=float(units[i]),
        unit_name=unit_name,
        second_moment=float(second.sum()),
        exact_second_moment=float(second.sum()),
        notes=(f"{reason}; give values in float64, or a larger detect",) if reason else (),
        detect=detect,
    )
