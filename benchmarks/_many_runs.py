"""Rates of a workload with many runs, by the number of runs and by the width of a block."""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax

from benchmarks._timing import peak, side_by_side


class ManyRuns(NamedTuple):
    """A workload with any number of runs.

    Attributes:
        name: name without sizes.
        play: returns the contenders, given the number of runs and the number of runs in a block.
        in_blocks: whether our contender has blocks; if not, the second argument of `play` has no effect.
    """

    name: str
    play: Callable[[int, int], Mapping[str, Callable[[], float]]]
    in_blocks: bool = True


def shorten_horizon(rounds: int, runs: int) -> int:
    """Return a horizon so that all runs have 10^9 rounds together, but at least 200."""
    return min(rounds, max(200, 10**9 // runs))


def measure_sizes(
    many: ManyRuns, ours: str, runs: Sequence[int], widths: Sequence[int], repeats: int
) -> Iterator[dict[str, Any]]:
    """Yield an entry for each number of runs and each width of a block, or the error if the device has too little
    memory.

    Alternatives have no blocks, and take turns with the narrowest width.
    """
    for n in runs:
        for i, width in enumerate(sorted({min(n, width) for width in widths})):
            if i and not many.in_blocks:
                break
            entry: dict[str, Any] = {"runs": n, "width": width if many.in_blocks else n}
            start_time = time.perf_counter()
            try:
                contenders = many.play(n, width)
                some = {name: play for name, play in contenders.items() if i == 0 or name == ours}
                firsts: dict[str, float] = {}
                rates = side_by_side(some, repeats, firsts)
                entry |= {"rates": rates, "first": firsts[ours]}
                summary = f"{statistics.median(rates[ours]):.4g} a second"
            except Exception as error:  # earlier measurements are kept
                summary = f"{type(error).__name__}: {error}".splitlines()[0][:300]
                entry["failed"] = summary
            entry["megabytes"] = peak_device_megabytes()
            seconds = time.perf_counter() - start_time
            print(f"  {n:,} runs, {entry['width']:,} a block: {summary} ({seconds:.0f} s)", flush=True)
            yield entry


def peak_device_megabytes() -> float:
    """Return the peak memory of the first device in megabytes, or of the process if the device counts none."""
    stats = jax.local_devices()[0].memory_stats() or {}
    return stats["peak_bytes_in_use"] / 1e6 if "peak_bytes_in_use" in stats else peak()
