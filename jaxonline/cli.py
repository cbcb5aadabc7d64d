"""The command line: `new`, `run FILE`, `show`, `diff`, `list`, `quickstart`; ready studies are GROUP NAME.

A study's command has an option for each field. Slow modules are imported late. An error prints two lines and exits.
"""

import contextlib
import importlib
import inspect
import os
import platform
import re
import signal
import sys
import time
import traceback
import typing
from collections.abc import Collection, Iterator
from importlib import metadata
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

from jaxonline.parameters.errors import ArgumentError, did_you_mean, replace_controls, replace_unencodable, to_one_line
from jaxonline.store.output_paths import check_distinct, check_file, check_folder, run_all_steps, write_text
from jaxonline.study.files.templates import EXAMPLES, write_study_template
from jaxonline.study.ready import STUDY_GROUPS, load_study, study_commands, study_title

UsageError: Any = typer.BadParameter.__base__  # typer does not export this class
EXIT_BAD_INPUT, EXIT_BUG, EXIT_INTERRUPTED = 2, 3, 130
OTHER_COMMANDS = "new", "run", "show", "report", "check", "diff", "list", "schema"
EXIT_CODES = (
    "Exit codes: 0, success; 1, check found damage; 2, invalid input, or an output that "
    "cannot be written; 3, an error in jaxonline; 130, interrupted (Ctrl-C or SIGTERM)."
)


class _CommandError(Exception):
    """Invalid input of a command, or an output that cannot be written."""

    def __init__(self, command: str, words: str):
        super().__init__(words)
        self.command = command


class Commands(TyperGroup):
    """A group whose commands print errors in two lines; some of its commands are studies."""

    program = "jaxonline"

    def main(self, args: Any = None, prog_name: Any = None, complete_var: Any = None, **options: Any) -> Any:
        try:
            code = super().main(args, self.program, complete_var, **options | {"standalone_mode": False})
            sys.stdout.flush()
        except _CommandError as error:
            code = _print_error(error.command, str(error))
        except (KeyboardInterrupt, typer.Abort):
            code = EXIT_INTERRUPTED
        except (BrokenPipeError, SystemExit):  # the reader closed the pipe
            code = 0
        except OSError as error:
            code = _print_error(self.program, f"the output cannot be written: {error.strerror or error}")
        except UsageError as error:
            code = _print_error(error.ctx.command_path if error.ctx else self.program, error.format_message())
        except Exception:
            sys.stderr.write(replace_controls(traceback.format_exc()))
            code = EXIT_BUG
        try:
            sys.stdout.flush()
        except OSError:
            _discard_output()
        raise SystemExit(code)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        return super().parse_args(ctx, args or ["--help"])

    def list_commands(self, ctx: Any) -> list[str]:
        return [*self._studies(), *super().list_commands(ctx)]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command for listings, without loading a study."""
        if cmd_name in self._studies():
            return TyperCommand(cmd_name, help=study_title(self._studies()[cmd_name]))
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        name, *rest = args
        if name in self._studies():
            return name, study_command(f"{ctx.command_path} {name}", load_study(self._studies()[name])), rest
        if name not in self.list_commands(ctx):
            names = {command.rpartition(" ")[2]: command for command in self.all_commands()}
            suggestion = did_you_mean(name, names)
            for command, full in names.items():
                suggestion = suggestion.replace(f"'{command}'", f"'{full}'")
            raise _CommandError(ctx.command_path, f"command: unknown name (got {name!r}){suggestion}")
        return super().resolve_command(ctx, args)

    def all_commands(self) -> list[str]:
        """Return the commands of all groups, for suggestions."""
        return [*study_commands().values(), *filter(None, STUDY_GROUPS), *OTHER_COMMANDS]

    def _studies(self) -> dict[str, str]:
        """Return the location of each study, by command."""
        return STUDY_GROUPS.get(self.name or "", STUDY_GROUPS[""])


options: dict[str, Any] = {"cls": Commands}
app = typer.Typer(pretty_exceptions_enable=False, epilog=EXIT_CODES, **options)
HELP = {
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
def _root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_versions, is_eager=True, help="Print versions and exit.")
    ] = False,
) -> None:
    """Simulation of online learning with limited information: regret studies in JAX."""


def study_command(path: str, study: Any) -> Any:
    """Return the command of a study, with an option for each field and the common options.

    Args:
        path: the words of the command, such as "jaxonline quickstart"; the last word names the output folder.
        study: the class of the study.
    """
    name = path.rpartition(" ")[2]
    made = typer.Typer(add_completion=False, pretty_exceptions_enable=False)

    def command(**given: Any) -> None:
        _run_study(path, study, given)

    parameters = [_option(key, field) for key, field in study.model_fields.items()]
    parameters += [
        _parameter("out", str, f"results/{name}", help="Folder for tables, figures and numbers.", metavar="FOLDER"),
        _parameter("json", str | None, None, help="Write all numbers to this file.", metavar="FILE"),
        _parameter("seed", int, 0, help="Seed of all random numbers."),
        _parameter("checkpoint", str | None, None, help="Folder for resuming the study.", metavar="FOLDER"),
    ]
    command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    command.__doc__ = f"{study.title}\n\n{_study_help(study)}"
    made.command(name)(command)
    return typer.main.get_command(made)


def _study_help(study: Any) -> str:
    """Return the docstring of a study without the sections for Python users."""
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
    """Return the option of a field: flags are flags, tuples may be repeated, others are text that the field parses."""
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


def _run_study(command: str, study: Any, given: dict[str, Any]) -> None:
    """Check the options, run the study, print and write the report."""
    from jaxonline.study import Context

    began = time.perf_counter()
    with usage_errors(command, given):
        given = {key: value for key, value in given.items() if value not in (None, [])}
        fields = {key: given[key] for key in study.model_fields if key in given}
        for key, value in fields.items():
            if any(item == "" for item in (value if isinstance(value, list) else [value])):
                raise ArgumentError(key, "must not be empty (got '')")
        study = study(**fields)
        files = {key: check_file(key, given[key]) for key in ("json",) if key in given}
        folders = {key: check_folder(key, given[key]) for key in ("out", "checkpoint") if key in given}
        check_distinct(files, folders)
        out, json = folders["out"], files.get("json")
        report = study.run(Context(out, folders.get("checkpoint"), seed=given["seed"], progress=True))
        screen, written = console(), []
        run_all_steps(
            lambda: report.show(screen),
            lambda: written.extend(report.save(out)),
            lambda: written.extend([write_text(json, report.json())] if json else []),
        )
    paths = ", ".join(str(path) for path in written)
    screen.print(f"{paths} written; {time.perf_counter() - began:.1f} s in all", markup=False, highlight=False)


def _examples(*lines: str) -> str:
    """Format examples for the end of a help text."""
    return "Examples: " + "; ".join(lines)


def _complete_name(incomplete: str) -> list[str]:
    from jaxonline.study.files.catalogue import catalogue

    return [name for name in catalogue() if name.lower().startswith(incomplete.lower())]


FileOption = Annotated[str | None, typer.Option("--out", metavar="FILE", help="The file; NAME.toml by default.")]


@app.command("new", epilog=_examples("jaxonline new bandits", "jaxonline new own-data --out mine/study.toml"))
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
    """Write a commented study file to start from."""
    with usage_errors("jaxonline new", ("name", "out", "from")):
        written = write_study_template(name, out, source)
    typer.echo(replace_controls(f"{', '.join(map(str, written))} written\nRun it: jaxonline run {written[0]}"))


@app.command("schema", epilog=_examples("jaxonline schema --out study.schema.json"))
def _schema(
    out: Annotated[
        str | None, typer.Option("--out", metavar="FILE", help="The file; standard output by default.")
    ] = None,
) -> None:
    """Write the JSON schema of study files, for checks and completion in editors."""
    with usage_errors("jaxonline schema", ("out",)):
        from jaxonline.study.files.schema import schema_text, write_schema

        typer.echo(schema_text(), nl=False) if out is None else write_schema(check_file("out", out))


@app.command(
    "run", epilog=_examples("jaxonline run study.toml --out results/mine", "jaxonline run study.toml --runs 20")
)
def _run(
    file: Annotated[str, typer.Argument(metavar="FILE", help="A study file, TOML or JSON.")],
    out: Annotated[
        str | None,
        typer.Option(metavar="FOLDER", help="Output folder; results/NAME by default for NAME.toml."),
    ] = None,
    runs: Annotated[int | None, typer.Option(help="Replaces the value in the file.")] = None,
    rounds: Annotated[int | None, typer.Option(help="Replaces the value in the file.")] = None,
    seed: Annotated[int | None, typer.Option(help="Replaces the value in the file.")] = None,
    workers: Annotated[
        int | None, typer.Option(help="Number of worker processes on this machine (Dask, jaxonline\\[cluster]).")
    ] = None,
    cluster: Annotated[
        str | None,
        typer.Option(
            metavar="ADDRESS", help="Address of a Dask scheduler whose workers run the study (tcp://host:8786)."
        ),
    ] = None,
) -> None:
    """Run the study of a file in a folder. After an interruption the same command continues."""
    with usage_errors("jaxonline run", ("out", "runs", "rounds", "seed", "cluster", "workers")):
        from jaxonline.study.files.commands import run_file

        overrides = {"runs": runs, "rounds": rounds, "seed": seed}
        run_file(console(), file, out, overrides, workers, cluster)


Folder = Annotated[str, typer.Argument(metavar="FOLDER", help="Folder of a study that ran or is running.")]


def _call(function: str, *arguments: Any) -> Any:
    """Call a function of `study.files.commands` ("show_folder" for the command `show`)."""
    with usage_errors(f"jaxonline {function.partition('_')[0]}", ()):
        return getattr(importlib.import_module("jaxonline.study.files.commands"), function)(console(), *arguments)


def _add_folder_command(function: str, words: str) -> None:
    name = function.partition("_")[0]

    @app.command(name, help=words, epilog=_examples(f"jaxonline {name} results/study"))
    def _(folder: Folder) -> None:
        raise typer.Exit(_call(function, folder) or 0)


_add_folder_command("show_folder", "Print the table of a study and draw its figures, also of an unfinished study.")
_add_folder_command("report_folder", "Write a study as an HTML page and LaTeX tables, also an unfinished study.")
_add_folder_command("check_digests", "Compare the files of a folder with their digests; exit code 1 if one is damaged.")


@app.command("diff", epilog=_examples("jaxonline diff results/first results/second"))
def _diff(folder: Folder, other: Folder) -> None:
    """Compare two studies: configurations and results."""
    _call("diff_folders", folder, other)


@app.command("list", epilog=_examples("jaxonline list", "jaxonline list learners", "jaxonline list GradientLearner"))
def _list(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="A name, a kind, or 'study'.", autocompletion=_complete_name)
    ] = None,
) -> None:
    """Print all names that a study file can use, or the parameters of one name: types, ranges, defaults."""
    _call("list_names", name)


@contextlib.contextmanager
def usage_errors(command: str, arguments: Collection[str]) -> Iterator[None]:
    """Context manager: an error of an argument names the option of the command line."""
    try:
        yield
    except (ValueError, OSError, OverflowError, MemoryError) as error:
        argument, problem = getattr(error, "argument", ""), getattr(error, "problem", "")
        words = f"{_flag(argument)}: {problem}" if argument in arguments else str(error) or type(error).__name__
        raise _CommandError(command, words) from error


def _print_error(command: str, words: str) -> int:
    typer.echo(f"Error: {to_one_line(words)}\nTry '{command} --help'.", err=True)
    return EXIT_BAD_INPUT


def console() -> Any:
    """Return a rich console that prints text literally and keeps working after its reader has closed the pipe."""
    from rich.console import Console

    class _PipeTolerantConsole(Console):
        def on_broken_pipe(self) -> None:
            self.quiet = True
            _discard_output()

        def render_str(self, text: str, **options: Any) -> Any:
            return super().render_str(replace_controls(text), **options)

    return _PipeTolerantConsole()


def _discard_output() -> None:
    with contextlib.suppress(OSError), open(os.devnull, "wb") as nothing:
        os.dup2(nothing.fileno(), sys.stdout.fileno())


def main() -> None:
    """Run the command line. SIGTERM ends a command as Ctrl-C does. A question mark replaces unprintable characters."""
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
    replace_unencodable(sys.stdout, sys.stderr)
    app()
