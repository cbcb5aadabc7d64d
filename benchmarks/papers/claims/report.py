"""Tables and the figure of claims, and the command `python -m benchmarks.papers verify`."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.papers.claims.registry import Row, exit_code, run_claims, select, to_json
from benchmarks.papers.output_paths import check_distinct
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.report.plotting import COLOURS, PAGE_WIDTH, figure_names, legend_entries, use_style, write_figure
from jaxonline.store.files import check_file, write_atomically

ENDINGS = (".eps", ".jpg", ".pdf", ".png", ".svg")
_MARKERS = {"printed": "s", "corrected": "o", "improved": "D", "control": "v"}
_LINEAR_RANGE = 0.1  # of the axis of the bias
MAX_WIDTH = 400  # of a table in a file, in characters
CAPTION = (
    "bias: in units of the target, and the half-width of its interval (for a bound: value / bound - 1); "
    "detectable: the minimum detectable bias, which the check finds with probability 0.999 or more"
)


def as_text(formula: str) -> str:
    """Escape plain text for a cell of a table in Markdown."""
    return re.sub(r"([|*~_<`\\])", r"\\\1", formula)


def to_markdown(head: Sequence[str], lines: Sequence[Sequence[str]]) -> str:
    """Return a table in Markdown."""
    return "".join(f"| {' | '.join(line)} |\n" for line in (head, ["---"] * len(head), *lines))


def _cells(row: Mapping[str, Any]) -> dict[str, str]:
    """Return the cells of a row of `Row.as_dict` by column."""

    def number(name: str, form: str) -> str:
        return "-" if row[name] is None else format(row[name], form)

    verdict = row["verdict"] if row["verdict"] == row["expected"] else f"{row['verdict']}, not {row['expected']}"
    return {
        "claim": row["claim"],
        "paper": row["paper"],
        "form": row["form"],
        "method": row["method"] + (", mathematics" if row["mathematics"] else ""),
        "bias": f"{number('bias', '+.2g')} ± {number('half_width', '.2g')}",
        "detectable": number("detectable", ".2g"),
        "E|θ|²": number("second_moment", ".3g"),
        "exact E|θ|²": number("exact_second_moment", ".3g"),
        "its bound": number("second_moment_bound", ".3g"),
        "verdict": verdict,
    }


_OPTIONAL = ("its bound", "exact E|θ|²", "E|θ|²", "method", "paper", "detectable")  # left out in a narrow table


def claims_table(rows: Sequence[Row], width: int | None = None) -> Any:
    """Return the rows as a table of the library rich, with unexpected verdicts in red.

    A table that is wider than `width` leaves out columns, in the order of `_OPTIONAL`, and then breaks the names.

    Example:
        >>> from benchmarks.papers.claims import claims_table, run_claims
        >>> len(claims_table(run_claims("E18")).columns)
        10
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    lines = [_cells(row.as_dict()) for row in rows]
    widths = {name: max(map(len, (name, *(line[name] for line in lines)))) for name in (lines[0] if lines else ())}
    for name in _OPTIONAL:
        if width is not None and sum(widths.values()) + 2 * len(widths) > width:
            widths.pop(name, None)
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), caption=CAPTION, caption_justify="left")
    for name in widths:
        is_name = name == "claim" and width is not None
        table.add_column(name, no_wrap=not is_name, min_width=None if is_name else widths[name])
    for row, line in zip(rows, lines, strict=True):
        style = "green" if row.claim.expected in ("within tolerance", "respected") else "yellow"
        styles = {"verdict": style if row.as_expected else "bold red"}
        table.add_row(*(Text(line[name], styles.get(name, "")) for name in widths))
    return table


def markdown_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows of `Row.as_dict`, or of the file of `--json`, as a table in Markdown; errors are bold.

    Example:
        >>> from benchmarks.papers.claims import markdown_table, run_claims
        >>> print(markdown_table([row.as_dict() for row in run_claims("E18")]).splitlines()[0])
        | claim | paper | form | method | bias | detectable | verdict |
    """
    head = ["claim", "paper", "form", "method", "bias", "detectable", "verdict"]
    lines = []
    for row in rows:
        cells = _cells(row) | {"claim": as_text(row["claim"])}
        if row["verdict"] in ("biased", "violated"):
            cells["verdict"] = f"**{cells['verdict']}**"
        lines.append([cells[name] for name in head])
    return to_markdown(head, lines)


@use_style("paper")
def plot_intervals(rows: Sequence[Row]) -> Any:
    """Plot an interval for the bias of each claim; the interval of a correct claim contains zero.

    For a claim on a bound, the plot shows the interval of value / bound - 1, which is not above zero if the bound is
    respected. The axis of the bias is linear near zero and logarithmic beyond. Rows without a finite bias and
    half-width are left out.

    Example:
        >>> from benchmarks.papers.claims import plot_intervals, run_claims
        >>> len(plot_intervals(run_claims("E18")).axes)
        1
    """
    from matplotlib.figure import Figure

    shown = [row for row in rows if np.isfinite([row.verification.bias, row.verification.half_width]).all()]
    figure = Figure(figsize=(PAGE_WIDTH, 1.0 + 0.15 * max(len(shown), 2)), layout="constrained")
    axes = figure.add_subplot()
    for (form, marker), colour in zip(_MARKERS.items(), COLOURS, strict=False):
        chosen = [(i, row.verification) for i, row in enumerate(shown) if row.claim.form == form]
        bias, half_width = [v.bias for _, v in chosen], [v.half_width for _, v in chosen]
        axes.errorbar(bias, [i for i, _ in chosen], xerr=half_width, fmt=marker, color=colour, capsize=2, label=form)
    for i, row in enumerate(shown):
        if not row.as_expected:
            axes.plot(row.verification.bias, i, "o", ms=7, mfc="none", color="black", label="not as expected")
    axes.axvline(0.0, color="black", lw=0.6)
    axes.set_xscale("symlog", linthresh=_LINEAR_RANGE)
    labels = figure_names([f"{row.claim.name}: {row.verification.verdict}" for row in shown], 60)
    axes.set_yticks(np.arange(len(shown)), labels)
    axes.set_ylim(max(len(shown), 1) - 0.5, -0.5)
    axes.set_xlabel("bias in units of the target\n(bounds: value / bound - 1)")
    axes.grid(visible=False, axis="y")
    figure.legend(**legend_entries(axes), loc="outside lower center", ncols=4)
    return figure


def verify_command(
    pattern: str | None = None,
    samples: int | None = None,
    seed: int = 0,
    json_file: str | Path | None = None,
    figure: str | Path | None = None,
    console: Any = None,
) -> int:
    """Run claims with a progress bar, print their table, write the requested files, and return the exit code.

    Args:
        pattern: pattern of the claims (see `benchmarks.papers.claims.registry.select`).
        samples: number of samples of each sampled check.
        seed: the seed.
        json_file: file to which the rows are written as JSON.
        figure: file to which the plot of intervals is written.
        console: a console of the library rich; by default a new console.

    Raises:
        ValueError: an argument is invalid for `run_claims`, or the ending of `figure` is not in `ENDINGS`; raised
            before the checks.
        OSError: a file cannot be written; raised before the checks if possible.
    """
    from rich.console import Console
    from rich.progress import Progress

    files = {"json": json_file, "figure": figure}
    check_distinct({name: check_file(name, path) for name, path in files.items() if path is not None})
    if figure is not None and Path(figure).suffix.lower() not in ENDINGS:
        raise ArgumentError("figure", f"must end in one of {', '.join(ENDINGS)} (got '{figure}')")
    try:
        select(pattern)
    except ArgumentError as error:  # the option of the command is called claim
        raise ArgumentError("claim", error.problem) from None
    console = Console() if console is None else console
    with Progress(console=console, transient=True) as bar:
        task = bar.add_task("", total=None)
        rows = run_claims(
            pattern, samples, seed, lambda name, done, total: bar.update(task, completed=done, total=total)
        )
    table = claims_table(rows, console.width if console.is_terminal else None)
    if not console.is_terminal:  # one line for each row
        table.width = console.measure(table, options=console.options.update(max_width=MAX_WIDTH)).maximum
    console.print(table, crop=False)
    wrong = [row for row in rows if not row.as_expected]
    for row in wrong:
        text = f"{row.claim.name}, {row.claim.form}: {row.verification}, expected {row.claim.expected}"
        console.print(text, style="bold red", markup=False, highlight=False, soft_wrap=True)
    print_line = f"{len(rows) - len(wrong)} of {len(rows)} claims as expected"
    console.print(f"{print_line}; {sum(row.seconds for row in rows):.1f} s of checks", highlight=False)
    if json_file is not None:
        write_atomically(Path(json_file), to_json(rows))
    if figure is not None:
        write_figure(plot_intervals(rows), figure, dpi=150)
    return exit_code(rows)
