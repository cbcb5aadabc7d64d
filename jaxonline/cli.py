"""The command line: `new`, `run FILE`, `show`, `diff`, `list`; `verify`; `quickstart`, and studies of a group by name.

Commands of studies are made from the studies' fields when they are used, and what takes long to import is imported by
the command that needs it. Whatever goes wrong ends in `_Commands.main`: two lines on standard error and an exit code.
"""

import contextlib
import importlib
import inspect
import os
import platform
import re
import sys
import time
import traceback
import typing
from collections.abc import Collection, Iterator
from importlib import metadata
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.suggest import did_you_mean
from jaxonline.store.filesystem import is_url
from jaxonline.store.output_paths import check_distinct, check_file, check_folder, run_all_steps, write_text
from jaxonline.study.files.templates import EXAMPLES, write_study_template
from jaxonline.study.ready import STUDY_GROUPS, load_study, study_commands, study_title

UsageError: Any = typer.BadParameter.__base__  # of options; typer keeps the name to itself
REFUSED, BUG, INTERRUPTED = 2, 3, 130
OTHERS = "verify", "new", "run", "show", "report", "diff", "list", "schema"  # commands
EXIT_CODES = (
    "Exit codes: 0, all is well; 1, a check of verify failed; 2, bad input, or an output that cannot be written; "
    "3, an error in jaxonline; 130, interrupted."
)


class _Refused(Exception):
    """What is wrong with the input of a command, or why its output cannot be written."""

    def __init__(self, command: str, words: str):
        super().__init__(words)
        self.command = command


class _Commands(TyperGroup):
    """A group with commands of studies, those of its name in `STUDY_GROUPS`."""

    def main(self, args: Any = None, prog_name: Any = None, complete_var: Any = None, **options: Any) -> Any:
        """Run a command, and exit with its code."""
        try:
            code = super().main(args, "jaxonline", complete_var, **options | {"standalone_mode": False})
            sys.stdout.flush()
        except _Refused as error:
            code = _refuse(error.command, str(error))
        except (KeyboardInterrupt, typer.Abort):
            code = INTERRUPTED
        except (BrokenPipeError, SystemExit):  # whoever read the output has enough of it
            code = 0
        except OSError as error:
            code = _refuse("jaxonline", f"the output cannot be written: {error.strerror or error}")
        except UsageError as error:
            code = _refuse(error.ctx.command_path if error.ctx else "jaxonline", error.format_message())
        except Exception:
            traceback.print_exc()
            code = BUG
        try:
            sys.stdout.flush()
        except OSError:
            _forget_output()
        raise SystemExit(code)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Without a command, the help."""
        return super().parse_args(ctx, args or ["--help"])

    def list_commands(self, ctx: Any) -> list[str]:
        return [*self._studies(), *super().list_commands(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """For lists of commands: no study is loaded for its title."""
        if cmd_name in self._studies():
            return TyperCommand(cmd_name, help=study_title(cmd_name))
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """The command that is run."""
        name, *rest = args
        if name in self._studies():
            return name, study_command(name), rest
        if name not in self.list_commands(ctx):
            names = {
                each.rpartition(" ")[2]: each for each in (*study_commands().values(), *STUDY_GROUPS, *OTHERS) if each
            }
            close = did_you_mean(name, names)
            for each, full in names.items():
                close = close.replace(f"'{each}'", f"'{full}'")
            raise _Refused(ctx.command_path, f"command: unknown name (got {name!r}){close}")
        return super().resolve_command(ctx, args)

    def _studies(self) -> list[str]:
        return list(STUDY_GROUPS.get(self.name or "", STUDY_GROUPS[""]))


options: dict[str, Any] = {"cls": _Commands}
app = typer.Typer(pretty_exceptions_enable=False, epilog=EXIT_CODES, **options)
HELP = {
    "reproduce": "Tables and figures of the papers, each one command.",
    "play": "The classical games of online learning: regret with its interval beside the theorem, each one command.",
    "benchmark": "Many learners in many games: ranks, and who is better where, each one command.",
}
for _group, _words in HELP.items():
    app.add_typer(typer.Typer(add_completion=False, help=_words, **options), name=_group)


def _print_versions(wanted: bool) -> None:
    if wanted:
        packages = ", ".join(f"{name} {metadata.version(name)}" for name in ("jaxonline", "jax"))
        typer.echo(f"{packages}, Python {platform.python_version()}")
        raise typer.Exit


@app.callback()
def _top(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_versions, is_eager=True, help="Print versions and exit.")
    ] = False,
) -> None:
    """The laboratory for online learning under limited information."""


def study_command(name: str) -> Any:
    """The command of a study: an option for each field, and those of every study."""
    study = load_study(name)
    made = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

    def command(**given: Any) -> None:
        _play(name, study, given)

    parameters = [_option(key, field) for key, field in study.model_fields.items()]
    parameters += [
        _parameter("out", str, f"results/{name}", help="Folder for tables, figures and numbers.", metavar="FOLDER"),
        _parameter("json", str | None, None, help="Write all numbers to this file.", metavar="FILE"),
        _parameter("seed", int, 0, help="Of all randomness."),
        _parameter(
            "checkpoint",
            str | None,
            None,
            help="Folder or URL from which an interrupted study goes on.",
            metavar="FOLDER",
        ),
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    command.__doc__ = f"{study.title}\n\n{_described(study)}"
    made.command(name)(command)
    return typer.main.get_command(made)


def _described(study: Any) -> str:
    """What a study says of itself, without what is for readers of Python."""
    words = re.split(
        r"^(?:Args|Attributes|Raises|Example):$", inspect.cleandoc(study.__doc__ or ""), flags=re.MULTILINE
    )[0]
    return "\n\n".join(" ".join(paragraph.split()) for paragraph in words.split("\n\n"))


def _parameter(name: str, kind: Any, default: Any, **options: Any) -> inspect.Parameter:
    option = typer.Option(_flag(name), **options)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


def _flag(name: str) -> str:
    return f"--{name.replace('_', '-')}"


def _option(name: str, field: Any) -> inspect.Parameter:
    """Of a field: flags are flags, tuples may be repeated, and all else is text, which the field reads."""
    from jaxonline.parameters.signatures import parameter_of

    if field.annotation is bool:
        return _parameter(name, bool, field.default, help=field.description)
    several = typing.get_origin(field.annotation) is tuple
    default = ",".join(map(str, field.default)) if several else field.default
    literal = typing.get_origin(field.annotation) is typing.Literal
    remarks = [" | ".join(map(str, typing.get_args(field.annotation)))] if literal else []
    remarks += [f"default {default}"] if default not in (None, "") else []
    limits = parameter_of(name, Annotated[field.annotation, *field.metadata]).limits if field.metadata else None
    remarks += [limits.words] if limits and limits.words else []
    remarks += [f"a multiple of {limit.multiple_of}" for limit in field.metadata if hasattr(limit, "multiple_of")]
    words = f"{field.description} ({', '.join(remarks)})" if remarks else field.description
    kind, metavar = (list[str], "LIST") if several else (str | None, "VALUE")
    return _parameter(name, kind, None, help=words, metavar=metavar)


def _play(name: str, study: Any, given: dict[str, Any]) -> None:
    """Check everything, play, print, write."""
    from jaxonline.study import Context

    began, command = time.perf_counter(), f"jaxonline {study_commands()[name]}"
    with _refusing(command, given):
        given = {key: value for key, value in given.items() if value not in (None, [])}
        fields = {key: given[key] for key in study.model_fields if key in given}
        for key, value in fields.items():
            if any(each == "" for each in (value if isinstance(value, list) else [value])):
                raise ArgumentError(key, "must not be empty (got '')")
        study = study(**fields)
        files = {key: check_file(key, given[key]) for key in ("json",) if key in given}
        kept = given.get("checkpoint")
        folders = {
            key: check_folder(key, given[key])
            for key in ("out", "checkpoint")
            if key in given and not (key == "checkpoint" and is_url(kept))
        }
        check_distinct(files, folders)
        out, json = folders["out"], files.get("json")
        report = study.run(Context(out, folders.get("checkpoint", kept), seed=given["seed"], progress=True))
        console, written = _console(), []
        run_all_steps(
            lambda: report.show(console),
            lambda: written.extend(report.save(out)),
            lambda: written.extend([write_text(json, report.json())] if json else []),
        )
    paths = ", ".join(str(path) for path in written)
    console.print(f"{paths} written; {time.perf_counter() - began:.1f} s in all", markup=False, highlight=False)


@app.command()
def verify(
    claim: Annotated[
        str | None, typer.Option(metavar="PATTERN", help="Only claims that match, e.g. E11 or 'B*'.")
    ] = None,
    json: Annotated[str | None, typer.Option(metavar="FILE", help="Write the rows to this file.")] = None,
    samples: Annotated[
        int | None, typer.Option(help="Samples of each check, 2 or more; by default the error rates decide.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Of all randomness.")] = 0,
    figure: Annotated[
        str | None, typer.Option(metavar="FILE", help="Draw all claims as intervals around zero.")
    ] = None,
) -> None:
    """Is it unbiased, does it hold? One row per claim of the papers; exit 1 if a verdict is not the expected one."""
    from jaxonline.claims.report import verify_command

    with _refusing("jaxonline verify", ("claim", "json", "samples", "seed", "figure")):
        code = verify_command(claim, samples, seed, json, figure, _console())
    raise typer.Exit(code)


def _said(*lines: str) -> str:
    """Examples at the end of a help."""
    return "Examples: " + "; ".join(lines)


def _names(incomplete: str) -> list[str]:
    """For the shell: names that begin so."""
    from jaxonline.study.files.catalogue import catalogue

    return [name for name in catalogue() if name.lower().startswith(incomplete.lower())]


FileOption = Annotated[str | None, typer.Option("--out", metavar="FILE", help="The file; NAME.toml by default.")]


@app.command("new", epilog=_said("jaxonline new bandits", "jaxonline new own-data --out mine/study.toml"))
def _new(
    name: Annotated[
        str,
        typer.Argument(metavar="NAME", help=f"One of {', '.join(EXAMPLES)}.", autocompletion=lambda: list(EXAMPLES)),
    ] = "noisy-measurements",
    out: FileOption = None,
    source: Annotated[
        str | None, typer.Option("--from", metavar="STUDY", help="A ready study instead: quickstart, or one of `play`.")
    ] = None,
) -> None:
    """Write a study file to start from, with comments."""
    with _refusing("jaxonline new", ("name", "out", "from")):
        written = write_study_template(name, out, source)
    typer.echo(f"{', '.join(map(str, written))} written\nPlay it: jaxonline run {written[0]}")


@app.command("schema", epilog=_said("jaxonline schema --out study.schema.json"))
def _schema(
    out: Annotated[
        str | None, typer.Option("--out", metavar="FILE", help="The file; standard output by default.")
    ] = None,
) -> None:
    """Write the JSON schema of study files, with which editors check and complete them."""
    with _refusing("jaxonline schema", ("out",)):
        from jaxonline.study.files.schema import schema_text, write_schema

        typer.echo(schema_text(), nl=False) if out is None else write_schema(check_file("out", out))


@app.command("run", epilog=_said("jaxonline run study.toml --out results/mine", "jaxonline run study.toml --runs 20"))
def _run(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A study file, TOML or JSON.")],
    out: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="For all of it; results/NAME by default, NAME that of the file."),
    ] = None,
    runs: Annotated[int | None, typer.Option(help="Instead of the file's.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Instead of the file's.")] = None,
    seed: Annotated[int | None, typer.Option(help="Instead of the file's.")] = None,
    workers: Annotated[
        int | None, typer.Option(help="So many processes of this machine play, of Dask (jaxonline\\[cluster]).")
    ] = None,
    cluster: Annotated[
        str | None, typer.Option(metavar="ADDRESS", help="The workers of this Dask scheduler play (tcp://host:8786).")
    ] = None,
) -> None:
    """Play the study of a file, in a folder. Interrupted, it goes on where it was with the same command."""
    with _refusing("jaxonline run", ("out", "runs", "rounds", "seed", "cluster", "workers")):
        from jaxonline.study.files.commands import run_file

        overrides = {"runs": runs, "rounds": rounds, "seed": seed}
        run_file(_console(), file, out, overrides, workers, cluster)


Folder = Annotated[str, typer.Argument(metavar="FOLDER", help="Of a study that was run, or is running.")]


def _call(function: str, *arguments: Any) -> None:
    """Call a function of `study.files.commands`, "show_folder" for the command `show`."""
    with _refusing(f"jaxonline {function.partition('_')[0]}", ()):
        getattr(importlib.import_module("jaxonline.study.files.commands"), function)(_console(), *arguments)


@app.command("show", epilog=_said("jaxonline show results/study"))
def _show(folder: Folder) -> None:
    """Print the table of a study and draw its figures, also of one that is not finished."""
    _call("show_folder", folder)


@app.command("report", epilog=_said("jaxonline report results/study"))
def _report(folder: Folder) -> None:
    """Write a study as one page of HTML and as a table of LaTeX, also one that is not finished."""
    _call("report_folder", folder)


@app.command("diff", epilog=_said("jaxonline diff results/first results/second"))
def _diff(folder: Folder, other: Folder) -> None:
    """Compare two studies: what differs in the configurations, and by how much the results do."""
    _call("diff_folders", folder, other)


@app.command("list", epilog=_said("jaxonline list", "jaxonline list learners", "jaxonline list GradientLearner"))
def _list(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="One of them, a kind, or 'study'.", autocompletion=_names)
    ] = None,
) -> None:
    """Everything that a study file can name, or what one of it takes: types, ranges, defaults."""
    _call("list_names", name)


@contextlib.contextmanager
def _refusing(command: str, arguments: Collection[str]) -> Iterator[None]:
    """What is wrong with an argument is wrong with the option of its name."""
    try:
        yield
    except (ValueError, OSError, OverflowError, MemoryError) as error:
        argument, problem = getattr(error, "argument", ""), getattr(error, "problem", "")
        words = f"{_flag(argument)}: {problem}" if argument in arguments else str(error) or type(error).__name__
        raise _Refused(command, words) from error


def _refuse(command: str, words: str) -> int:
    typer.echo(f"Error: {' '.join(words.split())}\nTry '{command} --help'.", err=True)
    return REFUSED


def _console() -> Any:
    """A console of rich on which words are only words, and whose reader may go away: the rest is done all the same."""
    from rich.console import Console

    from jaxonline.results.report.formats import replace_controls

    class Patient(Console):
        def on_broken_pipe(self) -> None:
            self.quiet = True
            _forget_output()

        def render_str(self, text: str, **options: Any) -> Any:
            return super().render_str(replace_controls(text), **options)

    return Patient()


def _forget_output() -> None:
    """What is still to be written to standard output is lost."""
    with contextlib.suppress(OSError), open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), sys.stdout.fileno())


def main() -> None:
    """The console script."""
    app()
