"""Side-by-side timing: contenders take turns, so that changes of the machine's speed affect all of them."""

import platform
import resource
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import jax

from jaxonline.simulation.blocks import default_mesh, thread_count


class Alone(NamedTuple):
    """Compilation time and memory of a contender, measured in a separate process.

    Attributes:
        first: seconds of the first call, compilation included.
        again: seconds of the second call.
        megabytes: growth of the process's peak memory.
    """

    first: float
    again: float
    megabytes: float

    @property
    def compilation(self) -> float:
        """Seconds of the first call minus seconds of the second."""
        return max(self.first - self.again, 0.0)


def side_by_side(
    contenders: Mapping[str, Callable[[], float]], repeats: int = 5, firsts: dict[str, float] | None = None,
    clock: Callable[[], float] | None = None,
) -> dict[str, list[float]]:  # fmt: skip
    """Measure `repeats` rates of each contender, after a first turn that compiles.

    A contender has no arguments and returns its amount of work, for example rounds. `firsts` receives the seconds of
    the first turn; without it they are printed. The clock is `time.perf_counter`; other programs on the machine disturb
    `time.process_time` less, for contenders that use one core.
    """
    clock = clock or time.perf_counter
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    for name, run in contenders.items():
        start_time = time.perf_counter()
        run()
        seconds = time.perf_counter() - start_time
        if firsts is None:
            print(f"  first call of {name}: {seconds:.2f} s", flush=True)
        else:
            firsts[name] = seconds
    for _ in range(repeats):
        for name, run in contenders.items():
            start_time = clock()
            work = run()
            rates[name].append(work / (clock() - start_time))
    return rates


def alone(run: Callable[[], float]) -> Alone:
    """Measure a first and a second call, and their memory."""
    before, seconds = peak(), []
    for _ in range(2):
        start_time = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - start_time)
    return Alone(*seconds, peak() - before)


def peak() -> float:
    """Return the peak memory of this process in megabytes."""
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / 1e6 if sys.platform == "darwin" else size / 1e3


def ratios(rates: Mapping[str, Sequence[float]], ours: str, other: str) -> list[float]:
    """Return our rate divided by another one, turn by turn."""
    return [mine / theirs for mine, theirs in zip(rates[ours], rates[other], strict=True)]


def report(title: str, unit: str, rates: Mapping[str, Sequence[float]], ours: str) -> None:
    """Print median rates, and the ratio of ours to each (median, minimum and maximum over turns)."""
    print(f"\n{title}, on {machine()}")
    width = max(map(len, rates))
    for name, values in rates.items():
        speedups = ratios(rates, ours, name)
        ratio = f"{statistics.median(speedups):7.2f} ({min(speedups):.2f} .. {max(speedups):.2f})"
        print(f"  {name:{width}}  {statistics.median(values):10.4g} {unit}   ours / theirs {ratio}")


def parallel_blocks() -> int:
    """Return the number of blocks that run in parallel: one for each device, or for each thread of a CPU."""
    mesh = default_mesh()
    return mesh.devices.size * thread_count(mesh, 1_000_000)


def machine() -> str:
    """Return the device and the versions in a line."""
    device = jax.devices()[0]
    return f"{device.device_kind} x {parallel_blocks()}, {platform.machine()}, jax {jax.__version__}"
