"""Claims on a terminal: the table, and the command behind `jaxonline verify`."""

import itertools
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from jaxonline.claims.errata import ERRATA
from jaxonline.claims.plots import ENDINGS, save_intervals
from jaxonline.claims.registry import Row, exit_code, finite_or_none, run_claims, write_json
from jaxonline.parameters.errors import ArgumentError
from jaxonline.store.output_paths import check_distinct, check_file, run_all_steps
from jaxonline.verify.result import BIASED, VIOLATED

# From these widths on the table has columns for second moments, and for paper, form and method.
_MOMENTS, _ORIGINS = 96, 144
CAPTION = (
    "bias: in units of the target, and the half-width of its interval (for a bound: value / bound - 1); "
    "detectable: the minimum detectable bias, which the check finds with probability 0.999 or more"
)


def claims_table(rows: Sequence[Row], width: int | None = None) -> Any:
    """The rows as a table of rich; a verdict that is not the expected one is red.

    Form, bias, minimum detectable bias and verdict always have their place. Where there is no room for columns of their
    own, a claim and its paper stand above the rows of its forms, and the second moments are left out.

    Args:
        rows: of `run_claims`.
        width: of the place where the table goes; None for all columns, each as wide as it needs.

    Returns:
        A `rich.table.Table`.

    Example:
        >>> from jaxonline.claims import claims_table, run_claims
        >>> [len(claims_table(run_claims("E18"), width).columns) for width in (80, 100, None)]
        [4, 7, 10]
    """
    from rich import box
    from rich.table import Table
    from rich.text import Text

    moments, origins = (width is None or width >= least for least in (_MOMENTS, _ORIGINS))
    table = Table(box=box.SIMPLE_HEAD, padding=(0, 1, 0, 0), caption=CAPTION, caption_justify="left")
    table.add_column("claim", no_wrap=width is None)
    for name in ("paper", "form", "method") if origins else ():
        table.add_column(name, no_wrap=True)
    for name in ("bias", "detectable", *(("E|θ|²,\nsample", "\nexact", "paper's\nbound") if moments else ())):
        table.add_column(name, justify="right", no_wrap=True)
    table.add_column("verdict", no_wrap=True)
    for (claim, paper), group in itertools.groupby(rows, lambda row: (row.claim.name, row.claim.paper)):
        if not origins:
            table.add_row(Text.assemble(claim, (f" ({paper})", "dim")))
        for row in group:
            how = (row.claim.form, row.verification.method)
            start = (claim, paper, *how) if origins else (f"  {', '.join(how)}",)
            table.add_row(*map(Text, start), *_numbers(row, moments), _verdict(row, " " if origins else "\n"))
    return table


def markdown_table(rows: Sequence[Row]) -> str:
    """The rows as a table in Markdown, the one in docs/claims.md: verdicts that speak against the form are bold.

    Example:
        >>> from jaxonline.claims import markdown_table, run_claims
        >>> print(markdown_table(run_claims("E18")).splitlines()[0])
        | claim | paper | form | method | bias | detectable | verdict |
    """
    head = ["claim", "paper", "form", "method", "bias", "detectable", "verdict"]
    lines = [head, ["---"] * len(head)]
    for row in rows:
        claim, found = row.claim, row.verification
        verdict = f"**{found.verdict}**" if found.verdict in (BIASED, VIOLATED) else found.verdict
        lines.append([as_text(claim.name), claim.paper, claim.form, found.method, *_numbers(row, False), verdict])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def markdown_errata() -> str:
    """The misprints as a table in Markdown."""
    lines = [["", "paper", "printed", "right", "note"], ["---"] * 5]
    for one in ERRATA:
        place = f"{one.paper}, {one.place}"
        lines.append([f"E{one.number}", place, *(as_text(text) for text in (one.printed, one.right, one.note))])
    return "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def as_text(formula: str) -> str:
    """Plain text for a cell of a table in Markdown, which would read some characters of formulas as its own."""
    return re.sub(r"([|*~_<`\\])", r"\\\1", formula)


def _numbers(row: Row, moments: bool) -> list[str]:
    found = row.verification
    known = (found.second_moment, found.exact_second_moment, found.second_moment_bound)
    return [
        f"{_number(found.bias, '+.2g')} ± {_number(found.half_width, '.2g')}",
        _number(found.detectable, ".2g"),
        *((_number(moment, ".3g") for moment in known) if moments else ()),
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
    """Run claims with a progress bar, print their table, write what was asked for; returns the exit code.

    The table fits a terminal of 80 columns or more (and the environment's COLUMNS); in a file or a pipe every claim
    has one line, as long as it needs.

    Args:
        pattern: which claims (`jaxonline.claims.registry.select`).
        samples: samples of each check that samples.
        seed: the seed.
        json_file: where to write the rows.
        figure: where to draw the intervals.
        console: a console of rich; a new one when None.

    Returns:
        0 if every verdict is the expected one, else 1.

    Raises:
        ValueError: before the work, for what `run_claims` refuses, or a figure with another ending than `ENDINGS`.
        OSError: a file that cannot be written, before the work where that can be seen; else after all that can be done.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    _check_files(json_file, figure)
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

    def put(save: Callable[[Sequence[Row], str | Path], None], path: str | Path | None) -> None:
        if path is not None:
            save(rows, path)
            console.print(f"{path} written", markup=False, soft_wrap=True)

    run_all_steps(
        lambda: _print_rows(console, rows), lambda: put(write_json, json_file), lambda: put(save_intervals, figure)
    )
    return exit_code(rows)


def _check_files(json_file: str | Path | None, figure: str | Path | None) -> None:
    """Check that both can be written."""
    files = {"json": json_file, "figure": figure}
    found = {name: check_file(name, path) for name, path in files.items() if path is not None}
    check_distinct(found)
    if figure is not None and Path(figure).suffix.lower() not in ENDINGS:
        raise ArgumentError("figure", f"must end in one of {', '.join(ENDINGS)} (got '{figure}')")


def _print_rows(console: Any, rows: Sequence[Row]) -> None:
    """The table, what is wrong, and a summary."""
    from rich.text import Text

    _print_table(console, rows)
    wrong = [row for row in rows if not row.as_expected]
    for row in wrong:
        one = row.claim
        reason = f"{one.name}, {one.form}: {row.verification.verdict}, expected {one.expected}; {'; '.join(row.notes)}"
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
