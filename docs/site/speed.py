"""The page of speed: the figure and its ratios, with device and date."""

import json
import statistics
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
MEASURED = "benchmarks/results/two-cores.json"

sys.path.insert(0, str(ROOT))
from benchmarks._timing import ratios  # noqa: E402
from benchmarks.figure import is_ours  # noqa: E402


def page() -> str:
    """Return the page in Markdown."""
    measured = json.loads((ROOT / MEASURED).read_text())
    lines = [
        "# How fast is it?",
        "",
        f"Measured on {measured['machine']}, Python {measured['python']}, {measured['date']}, all workloads in one run "
        f"of [the benchmarks](../benchmarks/README.md) (`make bench`; [numbers](../{MEASURED})). The machine is "
        "shared. Contenders take turns, and a ratio compares two neighbouring turns.",
        "",
        "![How many times faster than each alternative](benchmarks.png)",
        "",
        "| workload | alternative | times faster, median | minimum | maximum |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for one in measured["workloads"]:
        for name in one["rates"]:
            if not is_ours(name):
                speedups = ratios(one["rates"], one["ours"], name)
                numbers = " | ".join(
                    f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
                    for value in (statistics.median(speedups), min(speedups), max(speedups))
                )
                lines.append(f"| {one['title']} | {name} | {numbers} |")
    lines += [
        "",
        "*Ratio of the rates in neighbouring turns. Below 1, the alternative is faster.*",
        "",
        "The rate depends on the size of a study (`python -m benchmarks.scaling`):",
        "",
        "![Rounds per second by runs, dimension and horizon](scaling.png)",
    ]
    return "\n".join(lines) + "\n"
