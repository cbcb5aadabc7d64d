"""The page of measured speed: the figure, and each ratio of the run that it shows, with device and date."""

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
    """The page in Markdown."""
    measured = json.loads((ROOT / MEASURED).read_text())
    lines = [
        "# How fast",
        "",
        f"Measured on {measured['machine']}, Python {measured['python']}, {measured['date']}, all workloads in one run "
        "of [the benchmarks](../benchmarks/README.md) (`make bench`), whose page says what was tried and did not work; "
        f"[the numbers](../{MEASURED}). The machine is shared: contenders take turns, and a ratio is that of two "
        "neighbours.",
        "",
        "![How many times faster than each peer](benchmarks.png)",
        "",
        "| workload | peer | times faster, median | least | most |",
        "| --- | --- | ---: | ---: | ---: |",
    ]
    for one in measured["workloads"]:
        for name in one["rates"]:
            if not is_ours(name):
                of = ratios(one["rates"], one["ours"], name)
                numbers = " | ".join(
                    f"{value:,.0f}" if value >= 1000 else f"{value:.3g}"
                    for value in (statistics.median(of), min(of), max(of))
                )
                lines.append(f"| {one['title']} | {name} | {numbers} |")
    lines += [
        "",
        "Below 1 the peer is faster. How the rate depends on the size of a study (`python -m benchmarks.scaling`, "
        "likewise):",
        "",
        "![Rounds per second by runs, dimension and horizon](scaling.png)",
    ]
    return "\n".join(lines) + "\n"
