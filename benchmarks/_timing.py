"""Side-by-side timing: contenders take turns, so that a drift of the machine's speed meets all of them."""

import json
import platform
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jax


def side_by_side(contenders: dict[str, Callable[[], float]], repeats: int = 5) -> dict[str, list[float]]:
    """Rates of each contender, a list of `repeats`; one warm-up turn (compilation) comes first and is printed.

    A contender is called without arguments and returns how much work it did (rounds, say).
    """
    rates: dict[str, list[float]] = {name: [] for name in contenders}
    for name, run in contenders.items():
        began = time.perf_counter()
        run()
        print(f"  first call of {name}: {time.perf_counter() - began:.2f} s", flush=True)
    for _ in range(repeats):
        for name, run in contenders.items():
            began = time.perf_counter()
            work = run()
            rates[name].append(work / (time.perf_counter() - began))
    return rates


def report(title: str, unit: str, rates: dict[str, list[float]], ours: str) -> None:
    """Print medians, and the ratio of ours to each contender, turn by turn (median, least, most)."""
    print(f"\n{title}, on {machine()}")
    width = max(map(len, rates))
    for name, values in rates.items():
        ratios = [mine / theirs for mine, theirs in zip(rates[ours], values, strict=True)]
        ratio = f"{statistics.median(ratios):7.2f} ({min(ratios):.2f} .. {max(ratios):.2f})"
        print(f"  {name:{width}}  {statistics.median(values):10.4g} {unit}   ours / theirs {ratio}")


def machine() -> str:
    """The device and software in a line."""
    device = jax.devices()[0]
    return f"{device.device_kind} x {jax.device_count()}, {platform.machine()}, jax {jax.__version__}"


def write(path: str, title: str, rates: dict[str, list[float]]) -> None:
    """Add the rates to a JSON file of results."""
    file = Path(path)
    known: dict[str, Any] = json.loads(file.read_text()) if file.exists() else {}
    known.setdefault(title, []).append({"machine": machine(), "rates": rates})
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(json.dumps(known, indent=1) + "\n")
