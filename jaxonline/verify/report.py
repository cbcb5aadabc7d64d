"""Claims on a terminal: the table, and the command behind `jaxonline verify`."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from jaxonline.verify.claims import Row, exit_code, run_claims, write_json


def claims_table(rows: Sequence[Row], title: str | None = None) -> Any:
    """The rows as a table of rich; a verdict that is not the expected one is marked.

    Example:
        >>> from jaxonline.verify.claims import run_claims
        >>> from jaxonline.verify.report import claims_table
        >>> claims_table(run_claims("E18")).row_count
        2
    """
    from rich.table import Table

    table = Table(title=title, title_justify="left")
    table.add_column("claim", min_width=24)
    table.add_column("paper", min_width=12)
    table.add_column("form")
    table.add_column("method")
    table.add_column("bias +- half-width", justify="right", no_wrap=True)
    table.add_column("would see", justify="right")
    table.add_column("E|θ|²: sample, exact, bound", justify="right")
    table.add_column("verdict", no_wrap=True)
    for row in rows:
        colour = "red" if not row.as_expected else "green" if row.form != "printed" else "yellow"
        verdict = row.verdict if row.as_expected else f"{row.verdict}, not {row.expected}"
        interval = f"{_number(row.bias, '+.2g')} +- {_number(row.half_width, '.2g')}"
        moments = (row.second_moment, row.exact_second_moment, row.second_moment_bound)
        table.add_row(
            row.claim, row.paper, row.form, row.method, interval, _number(row.detectable, ".2g"),
            ", ".join(_number(moment, ".3g") for moment in moments), f"[{colour}]{verdict}[/]",
        )  # fmt: skip
    return table


def verify_command(
    pattern: str | None = None,
    samples: int | None = None,
    seed: int = 0,
    json_file: str | Path | None = None,
    figure: str | Path | None = None,
    console: Any = None,
) -> int:
    """Run claims with a progress bar, print their table, write what was asked for; returns the exit code.

    Args:
        pattern: which claims (`jaxonline.verify.claims.select`).
        samples: samples of each check that samples.
        seed: the seed.
        json_file: where to write the rows.
        figure: where to draw the intervals.
        console: a console of rich; a new one when None.

    Returns:
        0 if every verdict is the expected one, else 1.

    Raises:
        ValueError: if no claim matches.

    Example:
        >>> import io
        >>> from rich.console import Console
        >>> from jaxonline.verify.report import verify_command
        >>> verify_command("E18", console=Console(file=io.StringIO()))
        0
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

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
    console.print(claims_table(rows))
    wrong = [row for row in rows if not row.as_expected]
    for row in wrong:
        console.print(
            f"[red]{row.claim}, {row.form}: {row.verdict}, expected {row.expected}; {'; '.join(row.notes)}[/]"
        )
    seconds = sum(row.seconds for row in rows)
    level = max((row.level for row in rows), default=0.0)
    console.print(
        f"{len(rows) - len(wrong)} of {len(rows)} claims as expected; {seconds:.1f} s; false-alarm rate of each at "
        f"most {level:g}"
    )
    if json_file is not None:
        write_json(rows, json_file)
        console.print(f"{json_file} written")
    if figure is not None:
        from jaxonline.verify.plots import save_intervals

        save_intervals(rows, figure)
        console.print(f"{figure} written")
    return exit_code(rows)


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)
