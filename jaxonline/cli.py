"""The command line: `jaxonline quickstart`, `jaxonline reproduce NAME`, `jaxonline verify`.

The commands of studies are made from the studies' fields when they are used.
"""

import contextlib
import inspect
import os
import time
import typing
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from typer.core import TyperGroup

from jaxonline.study import Context
from jaxonline.study.ready import STUDIES, load_study
from jaxonline.study.study import LIMITS, write


class _Studies(TyperGroup):
    """A group with commands of studies: quickstart on the top, the others in `reproduce`."""

    def list_commands(self, ctx: Any) -> list[str]:
        return [*self._studies(), *super().list_commands(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return study_command(cmd_name) if cmd_name in self._studies() else super().get_command(ctx, cmd_name)

    def _studies(self) -> list[str]:
        return [name for name in STUDIES if (name == "quickstart") == (self.name != "reproduce")]


options: dict[str, Any] = {"cls": _Studies, "no_args_is_help": True, "add_completion": False}
app = typer.Typer(pretty_exceptions_enable=False, **options)
reproduce = typer.Typer(**options)
app.add_typer(reproduce, name="reproduce")


@reproduce.callback()
def _papers() -> None:
    """Tables and figures of the papers, each one command."""


@app.callback()
def _top() -> None:
    """The laboratory for online learning under limited information."""
    from jaxonline.simulation.blocks import use_all_cores

    if "xla_force_host_platform_device_count" not in os.environ.get("XLA_FLAGS", ""):
        with contextlib.suppress(RuntimeError):  # called from a program that has used jax before
            use_all_cores()


def study_command(name: str) -> Any:
    """The command of a study: an option for each field, and those of every study."""
    study = load_study(name)
    made = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

    def command(out: Path, json: Path | None, seed: int, checkpoint: Path | None, **fields: Any) -> None:
        _play(name, study, {k: v for k, v in fields.items() if v not in (None, [])}, out, json, seed, checkpoint)

    parameters = [_option(key, field) for key, field in study.model_fields.items()]
    parameters += [
        _parameter("out", Path, Path("results") / name, help="Folder for tables, figures and numbers."),
        _parameter("json", Path | None, None, help="Write all numbers to this file."),
        _parameter("seed", int, 0, help="Of all randomness."),
        _parameter("checkpoint", Path | None, None, help="Folder from which an interrupted study goes on."),
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    command.__doc__ = study.title
    made.command(name)(command)
    return typer.main.get_command(made)


def _parameter(name: str, kind: Any, default: Any, **options: Any) -> inspect.Parameter:
    option = typer.Option(f"--{name.replace('_', '-')}", **options)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


def _option(name: str, field: Any) -> inspect.Parameter:
    """Of a field: flags are flags, tuples may be repeated, and all else is text, which the field reads."""
    if field.annotation is bool:
        return _parameter(name, bool, field.default, help=field.description)
    several = typing.get_origin(field.annotation) is tuple
    default = ",".join(map(str, field.default)) if several else field.default
    remarks = [f"default {default}"] if default not in (None, "") else []
    limits = ((limit, key) for limit in field.metadata for key in LIMITS if hasattr(limit, key))
    remarks += [f"{LIMITS[key]} {getattr(limit, key):g}" for limit, key in limits]
    words = f"{field.description} ({', '.join(remarks)})" if remarks else field.description
    kind, metavar = (list[str], "LIST") if several else (str | None, "VALUE")
    return _parameter(name, kind, None, help=words, metavar=metavar)


def _play(
    name: str, study: Any, fields: dict[str, Any], out: Path, json: Path | None, seed: int, checkpoint: Path | None
) -> None:
    """Play, write, print; what is wrong with a field is two lines and exit code 2."""
    console, began = Console(), time.perf_counter()
    try:
        report = study(**fields).run(Context(out, checkpoint, seed=seed, progress=True))
        written = report.save(out) + ([] if json is None else [write(json, report.json())])
    except (ValueError, OSError) as error:
        words = " ".join(str(error).split())
        first = words.partition(" ")[0]
        option = f"--{first.replace('_', '-')}" if first in {*study.model_fields, "seed"} else first
        command = name if name == "quickstart" else f"reproduce {name}"
        typer.echo(f"Error: {option}{words.removeprefix(first)}\nTry 'jaxonline {command} --help'.", err=True)
        raise typer.Exit(2) from error
    report.show(console)
    paths = ", ".join(str(path) for path in written)
    console.print(f"{paths} written; {time.perf_counter() - began:.1f} s in all")


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
        code = verify_command(claim, samples, seed, json_file, figure, Console())
    except ValueError as error:
        raise typer.BadParameter(str(error)) from error
    raise typer.Exit(code)


def main() -> None:
    """The console script."""
    app()
