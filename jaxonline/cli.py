"""The command line: `new`, `run`, `show`, `list`, `quickstart`.

Slow modules are imported late. An error prints two lines and exits.
"""

import contextlib
import os
import platform
import signal
import sys
import traceback
import warnings
import weakref
from collections.abc import Collection, Iterator
from importlib import metadata
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from jaxonline.parameters.errors import did_you_mean, replace_controls, replace_unencodable, to_one_line
from jaxonline.study.files.templates import EXAMPLES, write_study_template

UsageError: Any = typer.BadParameter.__base__  # typer does not export this class
EXIT_BAD_INPUT, EXIT_BUG, EXIT_INTERRUPTED = 2, 3, 130
EXIT_CODES = (
    "Exit codes: 0, success; 2, invalid input, or an output that cannot be written; 3, an error in jaxonline; "
    "130, interrupted (Ctrl-C or SIGTERM)."
)


class _CommandError(Exception):
    """Invalid input of a command, or an output that cannot be written."""

    def __init__(self, command: str, words: str):
        super().__init__(words)
        self.command = command


class Commands(TyperGroup):
    """A group of commands that print errors in two lines."""

    program = "jaxonline"

    def main(self, args: Any = None, prog_name: Any = None, complete_var: Any = None, **options: Any) -> Any:
        """Run a command and exit. A wrong input prints two lines, and an error in jaxonline prints its traceback."""
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
        _interrupt.end()
        try:
            sys.stdout.flush()
        except OSError:
            _discard_output()
        raise SystemExit(code)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse the options of the group; without arguments, the group prints its help."""
        return super().parse_args(ctx, args or ["--help"])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments name; the error for an unknown name suggests a command."""
        name = args[0]
        if name not in self.list_commands(ctx):
            full_names = self.full_names(ctx)
            suggestion = did_you_mean(name, full_names)
            for last_word, full in full_names.items():
                suggestion = suggestion.replace(f"'{last_word}'", f"'{full}'")
            raise _CommandError(ctx.command_path, f"command: unknown name (got {name!r}){suggestion}")
        return super().resolve_command(ctx, args)

    def full_names(self, ctx: Any) -> dict[str, str]:
        """Return all commands by their last word, for suggestions."""
        return {name: f"run {name}" for name in EXAMPLES} | {name: name for name in self.list_commands(ctx)}


options: dict[str, Any] = {"cls": Commands}
app = typer.Typer(pretty_exceptions_enable=False, epilog=EXIT_CODES, **options)


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


def _examples(*lines: str) -> str:
    """Format examples for the end of a help text."""
    return "Examples: " + "; ".join(lines)


NAMES = ", ".join(EXAMPLES)


@app.command("new", epilog=_examples("jaxonline new bandits", "jaxonline new own-data --out mine/study.toml"))
def _new(
    name: Annotated[str, typer.Argument(metavar="NAME", help=f"A shipped study: {NAMES}.")] = "quickstart",
    out: Annotated[str | None, typer.Option("--out", metavar="FILE", help="The file; NAME.toml by default.")] = None,
) -> None:
    """Write a commented study file to start from: a copy of a shipped study."""
    with usage_errors("jaxonline new", ("out",)):
        written = write_study_template(name, out)
    typer.echo(replace_controls(f"{', '.join(map(str, written))} written\nRun it: jaxonline run {written[0]}"))


OutOption = Annotated[
    str | None, typer.Option(metavar="FOLDER", help="Output folder; results/NAME by default for NAME or NAME.toml.")
]
NumberOption = Annotated[int | None, typer.Option(help="Replaces the value in the file.")]
FILE_HELP = f"A study file (TOML), or the name of a shipped study: {NAMES}."
WORKERS_HELP = "Number of worker processes on this machine (Dask, jaxonline\\[cluster])."
CLUSTER_HELP = "Address of a Dask scheduler whose workers run the study (tcp://host:8786)."


@app.command("run", epilog=_examples("jaxonline run bandits --runs 20", "jaxonline run study.toml --out results/mine"))
def _run(
    file: Annotated[str, typer.Argument(metavar="FILE", help=FILE_HELP)],
    out: OutOption = None,
    runs: NumberOption = None,
    rounds: NumberOption = None,
    seed: NumberOption = None,
    workers: Annotated[int | None, typer.Option(min=1, help=WORKERS_HELP)] = None,
    cluster: Annotated[str | None, typer.Option(metavar="ADDRESS", help=CLUSTER_HELP)] = None,
) -> None:
    """Run the study of a file in a folder. After an interruption the same command continues."""
    if workers is not None and cluster is not None:
        raise typer.BadParameter("must be left out beside --workers", param_hint="--cluster")
    _run_file("jaxonline run", file, out, {"runs": runs, "rounds": rounds, "seed": seed}, workers or cluster)


@app.command("quickstart", epilog=_examples("jaxonline quickstart", "jaxonline quickstart --runs 20"))
def _quickstart(
    out: OutOption = None, runs: NumberOption = None, rounds: NumberOption = None, seed: NumberOption = None
) -> None:
    """Run the first study: regret of four learners on noisy medical measurements, with intervals and bounds."""
    _run_file("jaxonline quickstart", "quickstart", out, {"runs": runs, "rounds": rounds, "seed": seed})


def _run_file(command: str, file: str, out: str | None, overrides: dict[str, Any], cluster: Any = None) -> None:
    with usage_errors(command, ("out", "runs", "rounds", "seed", "cluster")):
        from jaxonline.study.files.commands import run_file

        run_file(console(), file, out, overrides, cluster)


@app.command("show", epilog=_examples("jaxonline show results/bandits"))
def _show(
    folder: Annotated[str, typer.Argument(metavar="FOLDER", help="Folder of a study that ran or is running.")],
) -> None:
    """Print the table of a study and draw its figures, also of an unfinished study."""
    with usage_errors("jaxonline show", ()):
        from jaxonline.study.files.commands import show_folder

        show_folder(console(), folder)


@app.command("list", epilog=_examples("jaxonline list", "jaxonline list learners", "jaxonline list GradientLearner"))
def _list(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="A name, a kind, or 'study'.")] = None,
) -> None:
    """Print the shipped studies and all names that a study file can use, or the parameters of one name."""
    with usage_errors("jaxonline list", ()):
        from jaxonline.study.files.commands import list_names

        list_names(console(), name)


def option_flag(name: str) -> str:
    """Return the option of the command line for an argument."""
    return f"--{name.replace('_', '-')}"


@contextlib.contextmanager
def usage_errors(command: str, arguments: Collection[str]) -> Iterator[None]:
    """Context manager: an error of an argument names the option of the command line."""
    try:
        yield
    except (ValueError, OSError, OverflowError, MemoryError) as error:
        argument, problem = getattr(error, "argument", ""), getattr(error, "problem", "")
        words = f"{option_flag(argument)}: {problem}" if argument in arguments else str(error) or type(error).__name__
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


class _Interrupted(KeyboardInterrupt):
    """Ctrl-C or SIGTERM; unlike a KeyboardInterrupt, it can have a weak reference."""


class _Interrupt:
    """Handler of signals that ends a command.

    Python drops an exception that is raised inside a callback of JAX, such as that of the garbage collection, and one
    inside an import of JAX may abort the process. So the handler looks every half second whether its exception still
    exists, and raises it again if it was dropped; it waits for the end of an import. A second signal does not wait.
    """

    _raised: Any = staticmethod(lambda: None)
    _is_asked = _is_over = False

    def __call__(self, number: int, frame: Any) -> None:
        if hasattr(signal, "setitimer"):
            if number == signal.SIGALRM and self._is_over:
                return
            signal.signal(signal.SIGALRM, self)
            signal.setitimer(signal.ITIMER_REAL, 0.5)
            waits = number == signal.SIGALRM or not self._is_asked
            self._is_asked = True
            if waits and (self._raised() is not None or _is_importing(frame)):
                return
        error = _Interrupted()
        self._raised = weakref.ref(error)
        try:
            raise error
        finally:
            del error  # the frame would keep it

    def end(self) -> None:
        """Stop looking."""
        self._is_over = True
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_REAL, 0)


def _is_importing(frame: Any) -> bool:
    while frame is not None and frame.f_code.co_filename != "<frozen importlib._bootstrap>":
        frame = frame.f_back
    return frame is not None


_interrupt = _Interrupt()


def _hide_interrupts(dropped: Any) -> None:
    if not isinstance(dropped.exc_value, KeyboardInterrupt):
        sys.__unraisablehook__(dropped)


def main(commands: Any = app) -> None:
    """Run a command line. SIGTERM ends a command as Ctrl-C does. A question mark replaces unprintable characters."""
    for number, default in ((signal.SIGINT, signal.default_int_handler), (signal.SIGTERM, signal.SIG_DFL)):
        if signal.getsignal(number) is default:
            signal.signal(number, _interrupt)
    sys.unraisablehook = _hide_interrupts
    os.environ.setdefault("MPLBACKEND", "agg")  # else a file matplotlibrc in the current folder may name a module
    replace_unencodable(sys.stdout, sys.stderr)
    warnings.formatwarning = lambda message, *_, **__: f"Warning: {to_one_line(str(message))}\n"
    commands()
