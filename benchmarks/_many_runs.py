"""A workload at many runs, as one device plays it: units of work a second, by runs and by the width of a block."""

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import jax

from benchmarks._timing import peak, side_by_side


class Many(NamedTuple):
    """A workload at any number of runs.

    Attributes:
        name: without sizes.
        play: of a number of runs and of how many are in a block: contenders, ours among them.
        in_blocks: whether ours plays blocks; if not, the second argument of `play` decides nothing.
    """

    name: str
    play: Callable[[int, int], Mapping[str, Callable[[], float]]]
    in_blocks: bool = True


def shortened(rounds: int, runs: int) -> int:
    """A horizon for so many runs: a thousand million rounds in all, but 200 at least."""
    return min(rounds, max(200, 10**9 // runs))


def at_sizes(
    many: Many, ours: str, runs: Sequence[int], widths: Sequence[int], repeats: int
) -> Iterator[dict[str, Any]]:
    """One entry for each number of runs and each width of a block; what the error says where a device has no room.

    Peers, who have no blocks, take turns with the narrowest one.
    """
    for n in runs:
        for i, width in enumerate(sorted({min(n, width) for width in widths})):
            if i and not many.in_blocks:
                break
            entry: dict[str, Any] = {"runs": n, "width": width if many.in_blocks else n}
            began = time.perf_counter()
            try:
                contenders = many.play(n, width)
                some = {name: play for name, play in contenders.items() if i == 0 or name == ours}
                firsts: dict[str, float] = {}
                rates = side_by_side(some, repeats, firsts)
                entry |= {"rates": rates, "first": firsts[ours]}
                said = f"{statistics.median(rates[ours]):.4g} a second"
            except Exception as error:  # what was measured before it is not lost
                said = f"{type(error).__name__}: {error}".splitlines()[0][:300]
                entry["failed"] = said
            entry["megabytes"] = peak_of_device()
            seconds = time.perf_counter() - began
            print(f"  {n:,} runs, {entry['width']:,} a block: {said} ({seconds:.0f} s)", flush=True)
            yield entry


def peak_of_device() -> float:
    """The most memory of the first device that has been in use, in megabytes; of the process where none is counted."""
    stats = jax.local_devices()[0].memory_stats() or {}
    return stats["peak_bytes_in_use"] / 1e6 if "peak_bytes_in_use" in stats else peak()
