"""What a workload is, and the command that every one of them has."""

import argparse
import json
import statistics
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks import _timing
from benchmarks._many_runs import Many, at_sizes

RESOURCES = {
    "words": "random words of 32 bits",
    "normals": "normal numbers",
    "bytes": "bytes moved",
    "products": "float64 operations of matrix products",
}


class Workload(NamedTuple):
    """One table of a benchmark.

    Attributes:
        title: with its sizes.
        unit: of the work, in the singular: "round", "run".
        contenders: called without arguments, each returns how many units it did.
        ours: which of them is this package.
        needs: what a unit must cost at least, by the names of `RESOURCES`.
        many: the same at any number of runs, where it has runs.
    """

    title: str
    unit: str
    contenders: Mapping[str, Callable[[], float]]
    ours: str = "jaxonline"
    needs: Mapping[str, float] = {}
    many: Many | None = None


def share_of_limit(rate: float, needs: Mapping[str, float], limits: Mapping[str, float]) -> tuple[float, str] | None:
    """The largest part of the machine's limits that a rate takes up, and of which; None where no need is stated."""
    shares = [(rate * need / limits[name], name) for name, need in needs.items() if name in limits]
    return max(shares) if shares else None


def optional(package: str) -> bool:
    """Whether a package is there; where it is not, its contenders are left out, and a line says so."""
    try:
        __import__(package)
    except ImportError:
        print(f"  {package} is not installed: left out")
        return False
    return True


def command(doc: str | None, workloads: Callable[[bool], Iterator[Workload]], repeats: int = 5) -> None:
    """The command line of one module of workloads.

    Args:
        doc: of the module.
        workloads: of whether they are to be small (a check that all goes well, not a measurement).
        repeats: turns, by default.
    """
    parser = argparse.ArgumentParser(description=(doc or "").splitlines()[0])
    parser.add_argument("--json", type=Path, help="write what was measured to this file")
    parser.add_argument("--repeats", type=int, default=repeats, help="turns of each contender")
    parser.add_argument("--quick", action="store_true", help="small sizes, to see that it runs")
    parser.add_argument("--alone", action="store_true", help="ours alone: compilation and memory")
    parser.add_argument(
        "--runs", type=int, nargs="+", help="where there are runs: so many instead, ours and jax by hand"
    )
    parser.add_argument("--widths", type=int, nargs="+", default=[512], help="with --runs: how many are in a block")
    options = parser.parse_args()
    found = []
    for one in workloads(options.quick):
        entry: dict[str, Any] = {"title": one.title, "unit": one.unit, "ours": one.ours, "needs": dict(one.needs)}
        if options.runs and one.many is not None:
            print(f"{one.many.name}, on {_timing.machine()}", flush=True)
            sizes = at_sizes(one.many, one.ours, options.runs, options.widths, options.repeats)
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
        found.append(entry)
    if options.json:
        options.json.parent.mkdir(parents=True, exist_ok=True)
        options.json.write_text(json.dumps({"machine": _timing.machine(), "workloads": found}, indent=1) + "\n")
