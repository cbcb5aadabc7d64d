"""Side-by-side timing: contenders take turns, so that a drift of the machine's speed meets all of them."""

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
    """What a contender costs beside its speed, measured in a process of its own.

    Attributes:
        first: seconds of the first call, compilation included.
        again: seconds of the second call.
        megabytes: how far the process grew above what it took before, at its peak.
    """

    first: float
    again: float
    megabytes: float

    @property
    def compilation(self) -> float:
        """Seconds that only the first call took."""
        return max(self.first - self.again, 0.0)


def side_by_side(
    contenders: Mapping[str, Callable[[], float]], repeats: int = 5, firsts: dict[str, float] | None = None
) -> dict[str, list[float]]:
    """Rates of each contender, a list of `repeats`; one warm-up turn (compilation) comes first.

    A contender is called without arguments and returns how much work it did (rounds, say). The seconds of the first
    turn go into `firsts`, or are printed.
    """
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    for name, run in contenders.items():
        began = time.perf_counter()
        run()
        seconds = time.perf_counter() - began
        if firsts is None:
            print(f"  first call of {name}: {seconds:.2f} s", flush=True)
        else:
            firsts[name] = seconds
    for _ in range(repeats):
        for name, run in contenders.items():
            began = time.perf_counter()
            work = run()
            rates[name].append(work / (time.perf_counter() - began))
    return rates


def alone(run: Callable[[], float]) -> Alone:
    """A first and a second call, and the memory they take."""
    before, seconds = peak(), []
    for _ in range(2):
        began = time.perf_counter()
        run()
        seconds.append(time.perf_counter() - began)
    return Alone(*seconds, peak() - before)


def peak() -> float:
    """The most memory that this process has held so far, in megabytes."""
    size = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return size / 1e6 if sys.platform == "darwin" else size / 1e3


def ratios(rates: Mapping[str, Sequence[float]], ours: str, other: str) -> list[float]:
    """Ours over another's, turn by turn."""
    return [mine / theirs for mine, theirs in zip(rates[ours], rates[other], strict=True)]


def report(title: str, unit: str, rates: Mapping[str, Sequence[float]], ours: str) -> None:
    """Print medians, and the ratio of ours to each contender, turn by turn (median, least, most)."""
    print(f"\n{title}, on {machine()}")
    width = max(map(len, rates))
    for name, values in rates.items():
        of = ratios(rates, ours, name)
        ratio = f"{statistics.median(of):7.2f} ({min(of):.2f} .. {max(of):.2f})"
        print(f"  {name:{width}}  {statistics.median(values):10.4g} {unit}   ours / theirs {ratio}")


def at_once() -> int:
    """How many blocks are played at a time: by devices, or by threads on the cores of a CPU."""
    mesh = default_mesh()
    return mesh.devices.size * thread_count(mesh, 1_000_000)


def machine() -> str:
    """The device and software in a line."""
    device = jax.devices()[0]
    return f"{device.device_kind} x {at_once()}, {platform.machine()}, jax {jax.__version__}"
