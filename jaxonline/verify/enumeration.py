"""Exact verification from the whole support of the estimator with its probabilities."""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.verify.result import Verification, decide, largest_bias, target_units, worst_coordinate

Support = Iterable[tuple[float, Any]]


def _largest_epsilon(values: list[Any]) -> float:
    dtypes = [np.asarray(v).dtype for v in values]
    return max([float(np.finfo(k).eps) if np.issubdtype(k, np.floating) else np.finfo(float).eps for k in dtypes])


def enumerate_support(
    support: Support | Callable[[], Support], target: np.ndarray, detect: float, per_coordinate: bool = False
) -> Verification:
    """Compute the bias of an estimator from its support, pairs (probability, value), up to rounding."""
    outcomes: Any = support() if callable(support) else support
    outcomes = list(outcomes) if isinstance(outcomes, Iterable) else [outcomes]
    if not outcomes:
        raise ArgumentError("support", "must have at least one outcome (got none)")
    for outcome in outcomes:
        is_pair = isinstance(outcome, tuple | list) and len(outcome) == 2
        check.instance("support", outcome, is_pair, "pairs (probability, value)")
    p = check.finite_array("support's probabilities", [p for p, _ in outcomes]).astype(float)
    values = [check.finite_array("support's values", value) for _, value in outcomes]
    if np.any(p < 0) or abs(p.sum() - 1) > 1e-6:
        raise ArgumentError("support", f"must have probabilities of at least 0 and sum 1 (got a sum of {p.sum():.9g})")
    shapes = {value.shape for value in values}
    if shapes != {target.shape}:
        raise ArgumentError("support", f"must have values of the target's shape {target.shape} (got {sorted(shapes)})")
    table = np.stack([value.astype(float).ravel() for value in values])
    flat = target.astype(float).ravel()
    second = p @ table**2
    units, unit_name = target_units(flat, second, per_coordinate)
    # Sums cancel, so that the rounding error is that of the largest value.
    half_width = np.full(flat.shape, 16 * _largest_epsilon(values) * max(np.abs(table).max(initial=0.0), units.max()))
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
        largest_bias=largest_bias(bias, half_width, units, unit_name),
    )
