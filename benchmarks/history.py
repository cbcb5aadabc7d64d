"""The history of speed: a line for each job and release in `history.csv`, its figure, and the table of README.md.

`python -m benchmarks --history RELEASE` adds lines; this command draws the figure and writes the table again:

    python -m benchmarks.history
"""

import csv
import re
import statistics
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks._jobs import NARROW
from benchmarks._timing import ratios
from benchmarks.figure import is_ours
from jaxonline.results.report.plotting import COLOURS, PAGE_WIDTH, set_log_scale, use_style, write_figure

HERE = Path(__file__).parent
CSV, PAGE, FIGURE = HERE / "history.csv", HERE / "README.md", HERE.parent / "build" / "speed-history.png"
COLUMNS = (
    "release", "date", "machine", "job", "goal", "unit", "ns", "ratio", "low", "high", "ns_64", "ratio_64", "low_64",
    "high_64", "best_peer", "ratio_to_best",
)  # fmt: skip
"""Names of the columns.

`ns` is the time of a unit of work with default settings, for example of a round of one run. `ratio` is our rate
divided by numba's (median over turns; `low` and `high` are the minimum and the maximum), and empty without numba.
`ns_64` to `high_64` are the same numbers with 64 runs in a block. `best_peer` is the fastest alternative, and
`ratio_to_best` is the median ratio to it.
"""
Line = dict[str, str]


def lines_of(measured: Mapping[str, Any], release: str) -> list[Line]:
    """Return the lines of the measurements of `python -m benchmarks --json FILE`."""
    lines = []
    for one in measured["workloads"]:
        rates = one.get("rates", {})
        medians = {name: statistics.median(values) for name, values in rates.items()}
        peers = [name for name in rates if not is_ours(name)]
        if not peers:
            continue
        best = max(peers, key=lambda name: medians[name])
        loops = [name for name in peers if name.startswith("numba")]
        numba = "numba, parallel" if "numba, parallel" in loops else max(loops, key=medians.get, default=None)
        line = {
            "release": release, "date": measured["date"], "machine": measured["machine"], "job": one["title"],
            "goal": one.get("goal", ""), "unit": one["unit"], "best_peer": best,
            "ratio_to_best": _number(statistics.median(ratios(rates, one["ours"], best))),
        }  # fmt: skip
        for name, end in ((one["ours"], ""), (NARROW, "_64")):
            if name in rates:
                line[f"ns{end}"] = _number(1e9 / medians[name])
                if numba:
                    speedups = ratios(rates, name, numba)
                    numbers = statistics.median(speedups), min(speedups), max(speedups)
                    line |= zip((f"ratio{end}", f"low{end}", f"high{end}"), map(_number, numbers), strict=True)
        lines.append({column: str(line.get(column, "")) for column in COLUMNS})
    return lines


def read_lines(path: Path = CSV) -> list[Line]:
    """Return the lines of a history; none if there is no file."""
    if not path.exists():
        return []
    with path.open(newline="") as file:
        return list(csv.DictReader(file))


def add_lines(lines: Sequence[Line], path: Path = CSV) -> None:
    """Write lines to a history; they replace lines of the same job and release."""
    new = {(line["release"], line["job"]) for line in lines}
    kept = [line for line in read_lines(path) if (line["release"], line["job"]) not in new]
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows([*kept, *lines])


def table(lines: Sequence[Line]) -> str:
    """Return the newest line of each job as a table in Markdown."""
    rows = [
        "| job | goal | default settings | 64 runs a block | best alternative | ns, default settings | machine |",
        "| --- | ---: | ---: | ---: | --- | ---: | --- |",
    ]
    for line in {line["job"]: line for line in lines}.values():
        shown = [
            f"{line[f'ratio{end}']} ({line[f'low{end}']} to {line[f'high{end}']})" if line[f"ratio{end}"] else ""
            for end in ("", "_64")
        ]
        best = f"{line['ratio_to_best']} ({line['best_peer']})"
        time = f"{int(line['ns']):,}" if line["ns"].isdigit() else line["ns"]
        time += "" if line["unit"] == "round" else f" ({line['unit']})"
        machine = line["machine"].partition(",")[0]
        rows.append(f"| {line['job']} | {line['goal']} | {shown[0]} | {shown[1]} | {best} | {time} | {machine} |")
    return "\n".join(rows)


def with_table(page: str, lines: Sequence[Line]) -> str:
    """Return a page with a new table in place of the table of results."""
    return re.sub(r"^\| job \| goal .*?(?=\n\n|\Z)", lambda _: table(lines), page, flags=re.MULTILINE | re.DOTALL)


@use_style("paper")
def draw(lines: Sequence[Line], path: Path) -> None:
    """Draw a row for each job with a dot for each release: our rate with default settings divided by numba's."""
    from matplotlib.figure import Figure

    lines = [line for line in lines if line["ratio"]]
    rows = {job: row for row, job in enumerate(dict.fromkeys(line["job"] for line in lines))}
    releases = list(dict.fromkeys(line["release"] for line in lines))
    figure = Figure(figsize=(PAGE_WIDTH, 0.2 * len(rows) + 1.4), layout="constrained")
    axes = figure.subplots()

    def plot(column: str, some: Sequence[Line], marker: str, **style: Any) -> None:
        shown = [line for line in some if line[column]]
        axes.plot([float(line[column]) for line in shown], [rows[line["job"]] for line in shown], marker, **style)

    for number, release in enumerate(releases, start=1):
        newest, some = number == len(releases), [line for line in lines if line["release"] == release]
        style = {"color": COLOURS[0] if newest else "0.6", "alpha": number / len(releases), "ms": 4}
        plot("ratio", some, "o", label=release, **style)
        plot("ratio_64", some, "o", mfc="none", label=f"{release}, 64 runs a block" if newest else None, **style)
    plot("goal", lines, "|", ms=8, mew=1.5, color=COLOURS[3], label="goal")
    axes.axvline(1.0, color="0.3", lw=0.6, label="as fast as numba")
    set_log_scale(axes, "x")
    axes.set_yticks(range(len(rows)), list(rows))
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.set_xlabel("rate divided by that of numba, parallel over runs")
    figure.legend(loc="outside lower center", ncols=3)
    write_figure(figure, path, dpi=200)


def _number(value: float) -> str:
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def write(path: Path = CSV, page: Path = PAGE, figure: Path = FIGURE) -> None:
    """Draw the figure of a history, and write its newest lines into the table of a page."""
    lines = read_lines(path)
    draw(lines, figure)
    page.write_text(with_table(page.read_text(), lines))
    print(f"{figure} and {page} written")


if __name__ == "__main__":
    write()
