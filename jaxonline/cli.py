"""The command line: `jaxonline quickstart`, ..."""

import contextlib
import os
import time
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.table import Table
from typer.core import TyperCommand


class _ListCommand(TyperCommand):
    """A command whose options --data, --sets and --seeds take several values: `--sets a b` is `--sets a --sets b`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        spread, option = [], ""
        for arg in args:
            if arg.startswith("-"):
                option = arg if arg in ("--data", "--sets", "--seeds") else ""
            elif option and spread[-1] != option:
                spread.append(option)
            spread.append(arg)
        return super().parse_args(ctx, spread)


app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    help="The laboratory for online learning under limited information.",
)
reproduce = typer.Typer(no_args_is_help=True, help="Tables and figures of the papers, each one command.")
app.add_typer(reproduce, name="reproduce")
console = Console()


@app.callback()
def _top() -> None:
    """The laboratory for online learning under limited information."""
    from jaxonline.simulation.blocks import use_all_cores

    if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
        with contextlib.suppress(RuntimeError):  # called from a program that has used jax before
            use_all_cores()


@app.command()
def quickstart(
    runs: Annotated[int, typer.Option(min=1, help="Runs of each learner.")] = 1000,
    passes: Annotated[int, typer.Option(min=1, help="Passes over the data set.")] = 10,
    seed: Annotated[int, typer.Option(min=0, help="Of all randomness.")] = 0,
    out: Annotated[Path, typer.Option(help="Folder for the table, the figure and the numbers.")] = Path(
        "results/quickstart"
    ),
) -> None:
    """Regret of five learners on noisy medical measurements, with intervals and bounds."""
    from jaxonline.study.ready.quickstart import quickstart as play
    from jaxonline.study.ready.quickstart import write

    began = time.perf_counter()
    study = play(n_runs=runs, passes=passes, seed=seed, progress=True)
    written = write(study, out)
    rows = study.result.table({name: bound[-1] for name, bound in study.bounds.items()})
    horizon = int(study.result.rounds[-1])
    console.print(regret_table(rows, f"{runs:,} runs of {horizon:,} rounds, regret on the clean data"))
    console.print(f"{', '.join(str(path) for path in written)} written; {time.perf_counter() - began:.1f} s in all")


@app.command()
def verify(
    claim: Annotated[
        str | None, typer.Option(metavar="PATTERN", help="Only claims that match, e.g. E11 or 'B*'.")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the rows to this file.")] = None,
    samples: Annotated[
        int | None, typer.Option(min=2, help="Samples of each check; by default the error rates decide.")
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Of all randomness.")] = 0,
    figure: Annotated[Path | None, typer.Option(help="Draw all claims as intervals around zero.")] = None,
) -> None:
    """Is it unbiased, does it hold? One row per claim of the papers; exit 1 if a verdict is not the expected one."""
    from jaxonline.claims.report import verify_command

    try:
        code = verify_command(claim, samples, seed, json_file, figure, console)
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    raise typer.Exit(code)


@reproduce.command("variance")
def _variance(
    out: Annotated[Path, typer.Option(help="Folder for the table and the figure.")] = Path("results/variance"),
) -> None:
    """Variance of series estimators against expected queries, for every loss and law of the number of copies."""
    from jaxonline.study.ready.variance import variance, write

    console.print(f"{', '.join(str(path) for path in write(variance(), out))} written")


@reproduce.command("noisy-kernels")
def _noisy_kernels(
    runs: Annotated[int, typer.Option(min=4, help="Runs of each learner; a third of them chooses the step.")] = 72,
    rounds: Annotated[int, typer.Option(min=16, help="The horizon.")] = 3000,
    seed: Annotated[int, typer.Option(min=0, help="Of all randomness.")] = 0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all numbers to this file.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the table, the figures and the numbers.")] = Path(
        "results/noisy-kernels"
    ),
) -> None:
    """Algorithm 1 on noisy copies: regret and bound for every loss and two kernels, and what better laws are worth."""
    from jaxonline.study.files import write_json
    from jaxonline.study.ready.noisy_kernels import noisy_kernels
    from jaxonline.study.ready.noisy_kernels_report import as_json, terminal_tables, write

    began = time.perf_counter()
    study = noisy_kernels(runs, rounds, seed, progress=True)
    written = write(study, out)
    if json_file is not None:
        written.append(write_json(json_file, as_json(study)))
    for table in terminal_tables(study):
        console.print(table)
    console.print(f"{', '.join(str(path) for path in written)} written; {time.perf_counter() - began:.0f} s in all")


@reproduce.command("impossibility")
def _impossibility(
    runs: Annotated[int, typer.Option(min=2, help="Runs of each learner in each world.")] = 256,
    rounds: Annotated[int, typer.Option(min=16, help="The horizon.")] = 3000,
    seed: Annotated[int, typer.Option(min=0, help="Of all randomness.")] = 0,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all numbers to this file.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the table and the figure.")] = Path("results/impossibility"),
) -> None:
    """Two worlds that one noisy copy does not tell apart: linear regret in one of them, but not with two copies."""
    from jaxonline.study.files import write_json
    from jaxonline.study.ready.impossibility import impossibility
    from jaxonline.study.ready.impossibility_report import RULE, as_json, sentence, terminal_tables, write

    began = time.perf_counter()
    study = impossibility(n_runs=runs, n_rounds=rounds, seed=seed, progress=True)
    written = write(study, out)
    if json_file is not None:
        written.append(write_json(json_file, as_json(study)))
    for table in terminal_tables(study):
        console.print(table)
    for line in (RULE, *(sentence(name, alike) for name, alike in study.alike.items())):
        console.print(line, markup=False, highlight=False)
    console.print(f"{', '.join(str(path) for path in written)} written; {time.perf_counter() - began:.1f} s in all")


@reproduce.command("gaussian-noise")
def _gaussian_noise(
    runs: Annotated[int, typer.Option(min=2, help="Runs of each learner.")] = 24,
    rounds: Annotated[int, typer.Option(min=128, help="The horizon, a multiple of 128.")] = 4096,
    seed: Annotated[int, typer.Option(min=0, help="Of all randomness.")] = 0,
    data: Annotated[
        Path | None, typer.Option(help="Folder of Airfoil and Concrete, before the folder JAXONLINE_DATA.")
    ] = None,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write all numbers to this file.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for the table and the figure.")] = Path("results/gaussian-noise"),
) -> None:
    """Algorithms 2 and 1, averages of copies and clean instances as Gaussian noise grows; real data with noise."""
    from jaxonline.study.files import write_json
    from jaxonline.study.ready.gaussian_noise import gaussian_noise
    from jaxonline.study.ready.gaussian_noise_figure import write
    from jaxonline.study.ready.gaussian_noise_report import as_json, sentences, terminal_tables

    def say(line: str) -> None:
        console.print(line, markup=False, highlight=False)

    began = time.perf_counter()
    try:
        with console.status("") as status:
            study = gaussian_noise(
                n_runs=runs, n_rounds=rounds, seed=seed, data=data, say=say,
                progress=lambda done, total, what: status.update(f"{done} of {total}: {what}"),
            )  # fmt: skip
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    written = write(study, out)
    if json_file is not None:
        written.append(write_json(json_file, as_json(study)))
    for table in terminal_tables(study):
        console.print(table)
    for line in sentences(study):
        say(line)
    console.print(f"{', '.join(str(path) for path in written)} written; {time.perf_counter() - began:.0f} s in all")


@reproduce.command("multikernel", cls=_ListCommand)
def _multikernel(
    data: Annotated[
        list[Path] | None, typer.Option(help="Folders and files of data, before the folder JAXONLINE_DATA.")
    ] = None,
    sets: Annotated[
        list[str] | None, typer.Option(help="Sets, e.g. AR(4),Airfoil,Concrete, or files (.npz with X and y, .csv).")
    ] = None,
    seeds: Annotated[
        list[str] | None, typer.Option(help="How many from 0 on, or a list or range: 5, 0,1,2, 0-4.")
    ] = None,
    forward: Annotated[bool, typer.Option(help="Figures for true VAW instead of online ridge.")] = False,
    json_file: Annotated[Path | None, typer.Option("--json", help="Write the errors of every seed.")] = None,
    target: Annotated[str | None, typer.Option(help="Column of the target in CSV files, by name or number.")] = None,
    impute: Annotated[str | None, typer.Option(help="Fill gaps with the column's mean or median.")] = None,
    draws: Annotated[int, typer.Option(min=0, help="Draws of the features by jax, to compare algorithms.")] = 0,
    sampler: Annotated[str, typer.Option(help="Of OMKL-GF: correct or published.")] = "correct",
    dtype: Annotated[str, typer.Option(help="float64, or float32 to see the drift.")] = "float64",
    out: Annotated[Path, typer.Option(help="Folder for tables and figures.")] = Path("results/multikernel"),
) -> None:
    """Table 2 of the multi-kernel paper beside ours: online ridge, which was published, and VAW, which was meant."""
    import jax

    from jaxonline.study.ready.multikernel_command import run

    try:
        with jax.enable_x64(True):
            run(
                data=data, sets=sets, seeds=",".join(seeds or ["5"]), forward=forward, json=json_file, target=target,
                impute=impute, draws=draws, sampler=sampler, dtype=dtype, out=out, say=console.print,
            )  # fmt: skip
    except (ValueError, OSError) as error:
        console.print(f"Error: {error}", style="red", markup=False, soft_wrap=True)
        raise typer.Exit(2) from error


def regret_table(rows: list[dict[str, Any]], title: str) -> Table:
    """The rows of `Result.table` for a terminal.

    Example:
        >>> from jaxonline.cli import regret_table
        >>> row = dict(learner="a", queries_per_round=1.0, regret=2.0, low=1.5, high=2.5, regret_per_round=0.1,
        ...            bound=None, failed=0, overflowed=0)
        >>> regret_table([row], "a table").row_count
        1
    """
    table = Table(title=title, title_justify="left")
    for column in ("learner", "queries\n/round", "regret\n(95 %)", "regret\n/round", "theorem's\nbound"):
        table.add_column(column, justify="left" if column == "learner" else "right", no_wrap=True)
    left_out = [what for what in ("failed", "overflowed") if any(row[what] for row in rows)]
    for what in left_out:
        table.add_column(f"{what}\nruns", justify="right", style="red")
    for row in rows:
        bound = "-" if row["bound"] is None else f"{row['bound']:,.0f}"
        half_width = (row["high"] - row["low"]) / 2
        cells = [
            row["learner"], f"{row['queries_per_round']:.2f}", f"{row['regret']:.2f} ± {half_width:.2f}",
            f"{row['regret_per_round']:.5f}", bound,
        ]  # fmt: skip
        table.add_row(*cells, *(str(row[what]) for what in left_out))
    return table


def main() -> None:
    """The console script.

    Example:
        >>> from jaxonline.cli import main
        >>> callable(main)
        True
    """
    app()
