"""Workloads, and their command line."""

import argparse
import json
import statistics
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import _timing
from benchmarks._many_runs import ManyRuns, measure_sizes

RESOURCES = {
    "words": "random words of 32 bits",
    "normals": "normal numbers",
    "bytes": "bytes moved",
    "products": "float64 operations of matrix products",
}


class Workload(NamedTuple):
    """One table of a benchmark.

    Attributes:
        title: title with the sizes.
        unit: unit of work in the singular, "round" or "run".
        contenders: functions without arguments; each returns its number of units.
        ours: the name of this package's contender.
        needs: minimum cost of a unit, by the names of `RESOURCES`.
        many: the workload with any number of runs, if it has runs.
        goal: goal for our rate divided by that of "numba, parallel"; None if there is none.
    """

    title: str
    unit: str
    contenders: Mapping[str, Callable[[], float]]
    ours: str = "jaxonline"
    needs: Mapping[str, float] = {}
    many: ManyRuns | None = None
    goal: float | None = None


def share_of_limit(rate: float, needs: Mapping[str, float], limits: Mapping[str, float]) -> tuple[float, str] | None:
    """Return the largest share of the machine's limits that a rate uses, and its resource; None without needs."""
    shares = [(rate * need / limits[name], name) for name, need in needs.items() if name in limits]
    return max(shares) if shares else None


def is_installed(package: str) -> bool:
    """Return whether a package is installed; otherwise print that its contenders are left out."""
    try:
        __import__(package)
    except ImportError:
        print(f"  {package} is not installed: left out")
        return False
    return True


def command(doc: str | None, workloads: Callable[[bool], Iterator[Workload]], repeats: int = 5) -> None:
    """Run the command line of a module of workloads.

    Args:
        doc: docstring of the module.
        workloads: yields the workloads; its argument is True for small sizes (a check, not a measurement).
        repeats: default number of turns.
    """
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="write the measurements to this file")
    parser.add_argument("--repeats", type=int, default=repeats, help="turns of each contender")
    parser.add_argument("--quick", action="store_true", help="small sizes, as a check that it runs")
    parser.add_argument("--alone", action="store_true", help="measure only this package: compilation and memory")
    parser.add_argument("--runs", type=int, nargs="+", help="numbers of runs, for this package and plain jax")
    parser.add_argument("--widths", type=int, nargs="+", default=[512], help="with --runs: numbers of runs in a block")
    options = parser.parse_args()
    entries = []
    for one in workloads(options.quick):
        entry: dict[str, Any] = {"title": one.title, "unit": one.unit, "ours": one.ours, "needs": dict(one.needs)}
        entry |= {"goal": one.goal} if one.goal else {}
        if options.runs and one.many is not None:
            print(f"{one.many.name}, on {_timing.machine()}", flush=True)
            sizes = measure_sizes(one.many, one.ours, options.runs, options.widths, options.repeats)
            entry |= {"title": one.many.name, "sizes": list(sizes)}
        elif options.alone:
            cost = _timing.alone(one.contenders[one.ours])
            entry |= {"compilation": cost.compilation, "megabytes": cost.megabytes}
            print(f"{one.title}: compilation {cost.compilation:.1f} s, {cost.megabytes:.0f} MB", flush=True)
        else:
            rates = _timing.side_by_side(one.contenders, options.repeats)
            _timing.report(one.title, f"{one.unit}s/s", rates, one.ours)
            entry["rates"] = rates
            print(f"  a {one.unit} takes {1e9 / statistics.median(rates[one.ours]):,.0f} ns", flush=True)
        entries.append(entry)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({"machine": _timing.machine(), "workloads": entries}, indent=1) + "\n")
