"""Tables of claims, and the command `python -m benchmarks.papers verify`."""

import itertools
import os
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from benchmarks.papers.claims.errata import ERRATA
from benchmarks.papers.claims.plots import ENDINGS, save_intervals
from benchmarks.papers.claims.registry import Row, check_rows, exit_code, finite_or_none, run_claims, select, write_json
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.store.output_paths import check_distinct, check_file, run_all_steps
from jaxonline.verify.result import BIASED, VIOLATED

# Minimum widths for columns of second moments, and of paper, form and method.
_MOMENTS_WIDTH, _ORIGINS_WIDTH = 108, 168
CAPTION = (
    "bias: in units of the target, and the half-width of its interval (for a bound: value / bound - 1); "
    "detectable: the minimum detectable bias, which the check finds with probability 0.999 or more"
)


def claims_table(rows: Sequence[Row], width: int | None = None) -> Any:
    """Return the rows as a table of the library rich, with unexpected verdicts in red.

    In a narrow table each claim and its paper are above the rows of its forms, and second moments are left out. A
    `width` of None shows all columns.

    Example:
        >>> from benchmarks.papers.claims import claims_table, run_claims
        >>> [len(claims_table(run_claims("E18"), width).columns) for width in (80, 120, None)]
        [4, 7, 10]
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    rows = check_rows(rows)
    if width is not None:
        check.count("width", width)
    moments, origins = (width is None or width >= minimum for minimum in (_MOMENTS_WIDTH, _ORIGINS_WIDTH))
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), caption=CAPTION, caption_justify="left")
    table.add_column("claim", no_wrap=width is None)
    for name in ("paper", "form", "method") if origins else ():
        table.add_column(name, no_wrap=True)
    for name in ("bias", "detectable", *(("E|θ|²,\nsample", "\nexact", "paper's\nbound") if moments else ())):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for (claim, paper), group in itertools.groupby(rows, lambda row: (row.claim.name, row.claim.paper)):
        if not origins:
            table.add_row(Text.assemble(claim, (f" ({paper})" if paper else "", "dim")))
        for row in group:
            how = (row.claim.form, _method(row))
            start = (claim, paper, *how) if origins else (f"  {', '.join(how)}",)
            table.add_row(*map(Text, start), *_numbers(row, moments), _verdict(row, " " if origins else "\n"))
    return table


def markdown_table(rows: Sequence[Mapping[str, Any]]) -> str:
    """Return rows of `Row.as_dict`, or of the file of `--json`, in Markdown; "biased" and "violated" are bold.

    Example:
        >>> from benchmarks.papers.claims import markdown_table, run_claims
        >>> print(markdown_table([row.as_dict() for row in run_claims("E18")]).splitlines()[0])
        | claim | paper | form | method | bias | detectable | verdict |
    """
    head = ["claim", "paper", "form", "method", "bias", "detectable", "verdict"]
    lines = [head, ["---"] * len(head)]
    for row in rows:
        method = row["method"] + (", mathematics" if row["mathematics"] else "")
        bias = f"{_number(row['bias'], '+.2g')} ± {_number(row['half_width'], '.2g')}"
        verdict = f"**{row['verdict']}**" if row["verdict"] in (BIASED, VIOLATED) else row["verdict"]
        cells = (row["paper"], row["form"], method, bias, _number(row["detectable"], ".2g"), verdict)
        lines.append([as_text(row["claim"]), *cells])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def markdown_errata() -> str:
    """Return the notes as a table in Markdown."""
    lines = [["", "paper", "class", "printed", "right", "note"], ["---"] * 6]
    for erratum in ERRATA:
        place = f"{erratum.paper}, {erratum.place}"
        texts = (erratum.printed, erratum.right, erratum.note)
        lines.append([f"E{erratum.number}", place, erratum.kind, *map(as_text, texts)])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def as_text(formula: str) -> str:
    """Escape plain text for a cell of a table in Markdown."""
    return re.sub(r"([|*~_<`\\])", r"\\\1", formula)


def _method(row: Row) -> str:
    return f"{row.verification.method}, mathematics" if row.claim.mathematics else row.verification.method


def _numbers(row: Row, moments: bool) -> list[str]:
    verification = row.verification
    moments_of_row = (
        verification.second_moment, verification.exact_second_moment, verification.second_moment_bound
    )  # fmt: skip
    return [
        f"{_number(verification.bias, '+.2g')} ± {_number(verification.half_width, '.2g')}",
        _number(verification.detectable, ".2g"),
        *((_number(moment, ".3g") for moment in moments_of_row) if moments else ()),
    ]


def _verdict(row: Row, space: str) -> Any:
    from rich.text import Text

    verdict = row.verification.verdict
    if not row.as_expected:
        return Text(f"{verdict},{space}not {row.claim.expected}", style="bold red")
    return Text(verdict, style="yellow" if verdict in (BIASED, VIOLATED) else "green")


def verify_command(
    pattern: str | None = None,
    samples: int | None = None,
    seed: int = 0,
    json_file: str | Path | None = None,
    figure: str | Path | None = None,
    console: Any = None,
) -> int:
    """Run claims with a progress bar, print their table, write the requested files, and return the exit code.

    The table fits a terminal of at least 80 columns (or of the number of columns in the variable COLUMNS). In a file or
    a pipe every row of the table is one line.

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
        OSError: a file cannot be written; raised before the checks if possible, otherwise after the other outputs.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    _check_files(json_file, figure)
    try:
        select(pattern)
    except ArgumentError as error:  # the option of the command is called claim
        raise ArgumentError("claim", error.problem) from None
    console = Console() if console is None else console
    columns = (
        BarColumn(),
        TextColumn("{task.percentage:>3.0f} %"),
        TimeElapsedColumn(),
        TextColumn("{task.description}"),
    )
    with Progress(*columns, console=console, transient=True) as bar:
        task = bar.add_task("", total=1)
        rows = run_claims(
            pattern,
            samples,
            seed,
            lambda name, done, total: bar.update(task, description=name, completed=done, total=total),
        )

    def write(save: Callable[[Sequence[Row], str | Path], None], path: str | Path | None) -> None:
        if path is not None:
            save(rows, path)
            console.print(f"{path} written", markup=False, soft_wrap=True)

    run_all_steps(
        lambda: _print_rows(console, rows), lambda: write(write_json, json_file), lambda: write(save_intervals, figure)
    )
    return exit_code(rows)


def _check_files(json_file: str | Path | None, figure: str | Path | None) -> None:
    files = {"json": json_file, "figure": figure}
    checked = {name: check_file(name, path) for name, path in files.items() if path is not None}
    check_distinct(checked)
    if figure is not None and Path(figure).suffix.lower() not in ENDINGS:
        raise ArgumentError("figure", f"must end in one of {', '.join(ENDINGS)} (got '{figure}')")


def _print_rows(console: Any, rows: Sequence[Row]) -> None:
    from rich.text import Text

    _print_table(console, rows)
    wrong = [row for row in rows if not row.as_expected]
    for row in wrong:
        claim, verdict = row.claim, row.verification.verdict
        reason = f"{claim.name}, {claim.form}: {verdict}, expected {claim.expected}; {'; '.join(row.notes)}"
        console.print(Text(reason, style="bold red"), soft_wrap=True)
    seconds = sum(row.seconds for row in rows)
    level = max((row.verification.level for row in rows), default=0.0)
    console.print(
        f"{len(rows) - len(wrong)} of {len(rows)} claims as expected; {seconds:.1f} s of checks; false-alarm rate of "
        f"each at most {level:g}",
        highlight=False,
    )


def _print_table(console: Any, rows: Sequence[Row]) -> None:
    if console.is_terminal or "COLUMNS" in os.environ:
        console.print(claims_table(rows, console.width))
        return
    table = claims_table(rows)
    table.width = console.measure(table, options=console.options.update(max_width=1000)).maximum
    console.print(table, crop=False)


def _number(value: float | None, form: str) -> str:
    return "-" if finite_or_none(value) is None else format(value, form)
