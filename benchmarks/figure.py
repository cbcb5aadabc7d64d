"""A figure of the measurements of `python -m benchmarks --json FILE`: speed relative to each alternative.

With `--sizes`, it shows rates by the number of runs.

python -m benchmarks.figure FILE docs/benchmarks.png [--sizes]
"""

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

from benchmarks._timing import ratios
from jaxonline.results.report.plotting import (
    COLOURS,
    PAGE_WIDTH,
    bound_look,
    legend_entries,
    line_looks,
    set_log_scale,
    set_log_scales,
    style_axes,
    use_style,
    wrap_title,
    write_figure,
)


@use_style("paper")
def draw(measured: dict[str, Any], path: Path) -> None:
    """Draw a group for each workload, with a line for each alternative: how many times faster this package is."""
    from matplotlib.figure import Figure

    lines: list[tuple[str, list[float] | None]] = []  # a title, or an alternative with its ratios
    for one in measured["workloads"]:
        if "rates" not in one:
            continue
        peers = {name: ratios(one["rates"], one["ours"], name) for name in one["rates"] if not is_ours(name)}
        if peers:
            lines += [(one["title"], None), *sorted(peers.items(), key=lambda item: statistics.median(item[1]))]
    figure = Figure(figsize=(PAGE_WIDTH, 0.18 * len(lines) + 1.0), layout="constrained")
    axes = figure.subplots()
    for row, (label, speedups) in enumerate(lines):
        if speedups is None:
            axes.annotate(label, (0.0, row), (4, 0), xycoords=("axes fraction", "data"), textcoords="offset points",
                          va="center", weight="bold",
                          bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.0})  # fmt: skip
            continue
        middle = statistics.median(speedups)
        colour = COLOURS[0] if middle >= 1 else COLOURS[1]
        axes.plot([min(speedups), max(speedups)], [row, row], color=colour, lw=3, alpha=0.35, solid_capstyle="round")
        axes.plot(middle, row, "o", color=colour, mfc=colour if middle >= 1 else "white")
        number = f"{middle:.3g}" if middle < 1000 else f"{middle:,.0f}"
        axes.annotate(number, (max(speedups), row), (6, 0), textcoords="offset points", va="center")
    axes.axvline(1.0, color="0.3", lw=0.6)
    set_log_scale(axes, "x")
    axes.set_yticks(range(len(lines)), ["" if speedups is None else label for label, speedups in lines])
    axes.tick_params(axis="y", length=0)
    axes.set_ylim(len(lines) - 0.4, -0.8)
    axes.set_xlabel("times faster than this alternative (hollow: slower)\ndot and number: median; bar: all turns")
    axes.grid(visible=False, axis="y")
    figure.suptitle(wrap_title(f"{measured['machine']}, {measured['date']}", PAGE_WIDTH))
    write_figure(figure, path, dpi=200)


@use_style("paper")
def draw_sizes(measured: dict[str, Any], path: Path) -> None:
    """Draw a line for each workload at its best width of a block, and a dashed line for plain jax."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(PAGE_WIDTH, 4.8), layout="constrained")
    axes = figure.subplots()
    set_log_scales(axes)
    ticks: set[int] = set()
    shown = [one for one in measured["workloads"] if "sizes" in one]
    for look, one in zip(line_looks(len(shown)), shown, strict=False):
        best: dict[str, dict[int, float]] = {}
        for size in one["sizes"]:
            for name, values in size.get("rates", {}).items():
                rates = best.setdefault(name, {})
                rates[size["runs"]] = max(statistics.median(values), rates.get(size["runs"], 0.0))
        for name, rates in best.items():
            ticks |= rates.keys()
            ours = name == one["ours"]
            label = f"{one['title']} ({one['unit']}s)" if ours else None
            axes.plot(
                rates.keys(), rates.values(), **look | {"markevery": 1} | ({} if ours else bound_look()), label=label
            )
    axes.plot([], [], color="0.4", marker="o", **bound_look(), label="plain jax vmap(scan)")
    axes.set_xticks(sorted(ticks), [f"{tick:,}" for tick in sorted(ticks)])
    style_axes(axes, "runs", "a second", wrap_title(f"{measured['machine']}, {measured['date']}", PAGE_WIDTH))
    figure.legend(**legend_entries(axes), loc="outside lower center", ncols=2)
    write_figure(figure, path, dpi=200)


def is_ours(name: str) -> bool:
    """Return whether a contender is this package."""
    return name.startswith("jaxonline")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("file", type=Path, help="file of measurements")
    parser.add_argument("path", type=Path, help="path of the figure")
    parser.add_argument("--sizes", action="store_true", help="draw rates by the number of runs")
    options = parser.parse_args()
    (draw_sizes if options.sizes else draw)(json.loads(options.file.read_text()), options.path)


if __name__ == "__main__":
    main()
