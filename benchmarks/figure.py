"""One figure of what `python -m benchmarks --json FILE` measured: this package against each of the others.

python -m benchmarks.figure FILE docs/benchmarks.png
"""

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

from benchmarks._timing import ratios
from jaxonline.results.plotting import COLOURS


def draw(measured: dict[str, Any], path: Path) -> None:
    """A row for each workload, a mark for each peer at how many times faster this package is, with least and most."""
    from matplotlib.figure import Figure

    rows = [one for one in measured["workloads"] if any(not name.startswith("jaxonline") for name in one["rates"])]
    figure = Figure(figsize=(9.5, 0.75 * len(rows) + 1.6), layout="constrained")
    axes = figure.subplots()
    peers = list(dict.fromkeys(name for one in rows for name in one["rates"] if not name.startswith("jaxonline")))
    colours = {name: COLOURS[i % len(COLOURS)] for i, name in enumerate(peers)}
    for row, one in enumerate(rows):
        for name in one["rates"]:
            if name.startswith("jaxonline"):
                continue
            of = ratios(one["rates"], one["ours"], name)
            middle = statistics.median(of)
            axes.plot([min(of), max(of)], [row, row], color=colours[name], lw=3, alpha=0.4, solid_capstyle="round")
            axes.plot(middle, row, "o", color=colours[name], ms=7)
            axes.annotate(f"{name}\n{middle:.3g}", (middle, row), (0, 8), textcoords="offset points", ha="center",
                          fontsize=7, color=colours[name])  # fmt: skip
    axes.axvline(1.0, color="0.3", lw=1)
    axes.set_xscale("log")
    axes.set_yticks(range(len(rows)), [one["title"].replace(", ", ",\n", 1) for one in rows], fontsize=8)
    axes.set_ylim(len(rows) - 0.5, -0.7)
    axes.set_xlabel("times faster than this peer (dot: median; bar: least to most of the turns)", fontsize=9)
    axes.spines[["top", "right"]].set_visible(False)
    axes.grid(axis="x", color="0.92")
    axes.set_title(f"{measured['machine']}, {measured['date']}", fontsize=10)
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=120)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="what was measured")
    parser.add_argument("path", type=Path, help="where to draw it")
    options = parser.parse_args()
    draw(json.loads(options.file.read_text()), options.path)


if __name__ == "__main__":
    main()
