"""Which rounds are recorded, and which runs are played."""

from collections.abc import Sequence

import numpy as np

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError

SPACINGS = ("linear", "log")
MOST_ROUNDS = 2**31 - 2  # and the next number is the first that is not played


def record_rounds(n_rounds: int, record_at: int | Sequence[int], spacing: str = "linear") -> np.ndarray:
    """The rounds at which a study records; the last one is the horizon.

    For a number of recorded rounds on a linear scale they are equally far apart, by a divisor of the horizon where
    there is one not much larger than need be; so there may be fewer of them than asked for, never more.

    Args:
        n_rounds: the horizon T.
        record_at: how many, or the rounds themselves (the horizon is added).
        spacing: "linear", or "log" for a logarithmic axis; ignored when the rounds are given.

    Raises:
        ValueError: for a horizon or a number of recorded rounds below 1, rounds outside 1..T, or an unknown spacing.

    Example:
        >>> from jaxonline.simulation import record_rounds
        >>> record_rounds(100, 4)
        array([ 25,  50,  75, 100])
        >>> record_rounds(1000, 4, "log")
        array([   1,   10,  100, 1000])
    """
    if check.count("n_rounds", n_rounds) > MOST_ROUNDS:
        raise ArgumentError(
            "n_rounds", f"must be at most {MOST_ROUNDS:,}, as rounds are counted in int32 (got {n_rounds:,})"
        )
    check.choice("spacing", spacing, SPACINGS)
    if not isinstance(record_at, int | np.integer):
        if not np.issubdtype(check.finite_array("record_at", record_at).dtype, np.integer) or np.size(record_at) == 0:
            got = check.quote(record_at)
            raise ArgumentTypeError(
                "record_at", f"must be a number of recorded rounds or a sequence of rounds (got {got})"
            )
        rounds = np.unique(np.append(record_at, n_rounds))
        if rounds[0] < 1 or rounds[-1] > n_rounds:
            raise ArgumentError(
                "record_at", f"must be rounds between 1 and n_rounds={n_rounds} (got {rounds[[0, -1]]})"
            )
        return rounds
    check.count("record_at", record_at)
    if spacing == "log":
        length = max(1, n_rounds // 512)
        wanted = np.round(np.geomspace(length, n_rounds, record_at) / length).astype(int) * length
        wanted[-1] = n_rounds
        return np.unique(np.minimum(wanted, n_rounds))
    shortest = -(-n_rounds // record_at)
    divisors = (length for length in range(shortest, 2 * shortest) if n_rounds % length == 0)
    length = next(divisors, shortest)
    return np.minimum(np.arange(length, n_rounds + length, length), n_rounds)


def selected_runs(runs: Sequence[int] | None, n_runs: int) -> np.ndarray:
    """The indices of the runs that are played, all by default.

    Raises:
        ValueError: no sequence of integers, an index out of range, or one that is there twice.
    """
    if runs is None:
        return np.arange(n_runs)
    selected = check.finite_array("runs", runs)
    if selected.ndim != 1 or selected.size == 0 or not np.issubdtype(selected.dtype, np.integer):
        raise ArgumentError("runs", f"must be a sequence of at least one run index (got {check.quote(runs)})")
    if selected.min() < 0 or selected.max() >= n_runs:
        raise ArgumentError(
            "runs", f"must be between 0 and n_runs - 1 = {n_runs - 1} (got {selected.min()}..{selected.max()})"
        )
    runs_met, times = np.unique(selected, return_counts=True)
    if (times > 1).any():
        raise ArgumentError("runs", f"must be distinct (got {runs_met[times > 1][0]} more than once)")
    return selected
