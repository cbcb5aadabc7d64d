"""Selection of recorded rounds and of runs."""

from collections.abc import Sequence
from typing import Literal, get_args

import numpy as np

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError

Spacing = Literal["linear", "log"]
SPACINGS: tuple[str, ...] = get_args(Spacing)
RecordedRounds = int | Sequence[int] | np.ndarray  # a number of rounds, or the rounds
RunIndices = Sequence[int] | np.ndarray
MAX_ROUNDS = 2**31 - 2  # so that the round after the last one is an int32


def record_rounds(n_rounds: int, record_at: RecordedRounds, spacing: Spacing = "linear") -> np.ndarray:
    """Return the recorded rounds of a study; the last recorded round is the horizon.

    If `record_at` is a number and `spacing` is linear, rounds are equally spaced, preferably by a divisor of the
    horizon. Therefore there may be fewer rounds than requested.

    Args:
        n_rounds: the horizon T.
        record_at: number of rounds, or a list of rounds (the horizon is added).
        spacing: "linear", or "log" for a logarithmic axis; ignored for a list of rounds.

    Raises:
        ValueError: a horizon or a number of rounds below 1, rounds outside 1..T, or an unknown spacing.

    Example:
        >>> from jaxonline.simulation import record_rounds
        >>> record_rounds(100, 4)
        array([ 25,  50,  75, 100])
        >>> record_rounds(1000, 4, "log")
        array([   1,   10,  100, 1000])
    """
    if check.count("n_rounds", n_rounds) > MAX_ROUNDS:
        raise ArgumentError(
            "n_rounds", f"must be at most {MAX_ROUNDS:,} because rounds are counted in int32 (got {n_rounds:,})"
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
        rounds = np.round(np.geomspace(length, n_rounds, record_at) / length).astype(int) * length
        rounds[-1] = n_rounds
        return np.unique(np.minimum(rounds, n_rounds))
    shortest = -(-n_rounds // record_at)
    divisors = (length for length in range(shortest, 2 * shortest) if n_rounds % length == 0)
    length = next(divisors, shortest)
    return np.minimum(np.arange(length, n_rounds + length, length), n_rounds)


def check_runs(runs: RunIndices | None, n_runs: int) -> np.ndarray:
    """Return the indices of the runs to simulate (default: all); ValueError unless they are distinct and in range."""
    if runs is None:
        return np.arange(n_runs)
    selected = check.finite_array("runs", runs)
    if selected.ndim != 1 or selected.size == 0 or not np.issubdtype(selected.dtype, np.integer):
        raise ArgumentError("runs", f"must be a sequence of at least one run index (got {check.quote(runs)})")
    if selected.min() < 0 or selected.max() >= n_runs:
        raise ArgumentError(
            "runs", f"must be between 0 and n_runs - 1 = {n_runs - 1} (got {selected.min()}..{selected.max()})"
        )
    distinct_runs, counts = np.unique(selected, return_counts=True)
    if (counts > 1).any():
        raise ArgumentError("runs", f"must be distinct (got {distinct_runs[counts > 1][0]} more than once)")
    return selected
