"""The page of speed: a table of ratios, with device and date, and figures of committed measurements."""

import json
import statistics
from pathlib import Path

from benchmarks import figure, history
from benchmarks._timing import ratios

ROOT = Path(__file__).resolve().parents[2]
MEASURED = "benchmarks/results/two-cores.json"
PAGE = """# How fast is it?

Measured on {machine}, Python {python}, {date}, all workloads in one run of
[the benchmarks](../benchmarks/README.md) (`make bench`; [numbers](../{file})). The machine is shared. Contenders take
turns, and a ratio compares two neighbouring turns.

![How many times faster than each alternative](benchmarks.png)

| workload | alternative | times faster, median | minimum | maximum |
| --- | --- | ---: | ---: | ---: |
{rows}

*Ratio of the rates in neighbouring turns. Below 1, the alternative is faster.*

The rate depends on the size of a study: `python -m benchmarks.scaling --figure scaling.png` measures it.
"""


def page(folder: Path) -> str:
    """Return the page in Markdown, and draw the figures of this page and of the benchmarks into its folder."""
    measured = json.loads((ROOT / MEASURED).read_text())
    figure.draw(measured, folder / "benchmarks.png")
    history.draw(history.read_lines(), folder / "speed-history.png")
    rows = []
    for workload in measured["workloads"]:
        for name in workload["rates"]:
            if not figure.is_ours(name):
                speedups = ratios(workload["rates"], workload["ours"], name)
                numbers = statistics.median(speedups), min(speedups), max(speedups)
                cells = [f"{value:,.0f}" if value >= 1000 else f"{value:.3g}" for value in numbers]
                rows.append(f"| {workload['title']} | {name} | {' | '.join(cells)} |")
    return PAGE.format(**measured, file=MEASURED, rows="\n".join(rows))
