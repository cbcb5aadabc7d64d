"""Commands of studies: a study's command has an option for each field, and the common options."""

import ast
import importlib
import importlib.util
import inspect
import re
import time
import typing
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar

import typer
from typer.core import TyperCommand

from benchmarks.papers.output_paths import check_distinct, run_all_steps
from jaxonline.cli import Commands, console, option_flag, usage_errors
from jaxonline.parameters.errors import ArgumentError
from jaxonline.store.files import check_file, check_folder, write_atomically


class StudyCommands(Commands):
    """A group whose commands are studies; importing a study takes seconds, so the listing reads the source code."""

    studies: ClassVar[Mapping[str, str]] = {}  # location "module:class" of each study by command

    def list_commands(self, ctx: Any) -> list[str]:
        """Return the names of all commands."""
        return [*super().list_commands(ctx), *self.studies]

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command for listings, without loading a study."""
        if cmd_name in self.studies:
            return TyperCommand(cmd_name, help=study_title(self.studies[cmd_name]))
        return super().get_command(ctx, cmd_name)

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Return the command that the arguments name, which loads its study."""
        name, *rest = args
        if name in self.studies:
            return name, study_command(f"{ctx.command_path} {name}", load_study(self.studies[name])), rest
        return super().resolve_command(ctx, args)

    def full_names(self, ctx: Any) -> dict[str, str]:
        """Return all commands by their last word, for suggestions."""
        return {name: name for name in self.list_commands(ctx)}


def load_study(location: str) -> Any:
    """Return the class of a study at "module:class"."""
    module, _, study = location.partition(":")
    return getattr(importlib.import_module(module), study)


def study_title(location: str) -> str:
    """Return the title of a study, read from its source code."""
    module, _, study = location.partition(":")
    loader: Any = importlib.util.find_spec(module).loader  # type: ignore[union-attr]
    classes = (node for node in ast.parse(loader.get_source(module)).body if isinstance(node, ast.ClassDef))
    fields = (node for cls in classes if cls.name == study for node in cls.body if isinstance(node, ast.AnnAssign))
    return next(ast.literal_eval(node.value) for node in fields if ast.unparse(node.target) == "title" and node.value)


def study_command(path: str, study: Any) -> Any:
    """Return the command of a study, with an option for each field and the common options.

    Args:
        path: the words of the command, such as "python -m benchmarks.papers reproduce variance"; the last word names
            the output folder.
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
    option = typer.Option(option_flag(name), **options)
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=Annotated[kind, option])


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
        report = study.run(Context(folders.get("checkpoint"), seed=given["seed"], progress=True))
        screen, written = console(), []
        run_all_steps(
            lambda: report.show(screen),
            lambda: written.extend(report.save(out)),
            lambda: written.extend([write_atomically(json, report.json())] if json else []),
        )
    paths = ", ".join(str(path) for path in written)
    screen.print(f"{paths} written; {time.perf_counter() - began:.1f} s in all", markup=False, highlight=False)
