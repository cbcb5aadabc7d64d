"""What users rely on equals the committed list: public names with signatures and defaults, options of commands, and
keys of study files. docs/policies.md says when each of them may change."""

import importlib
import inspect
import pkgutil
import types
import typing
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from typer.core import TyperGroup
from typer.main import get_command

import jaxonline
from jaxonline import cli
from jaxonline.estimators.series import SeriesOptions
from jaxonline.parameters.signatures import exported_names
from jaxonline.simulation.options import StudyOptions
from jaxonline.study.files.study_file import StudyKeys
from jaxonline.verify.bias import UnbiasedOptions

LIST = Path(__file__).with_name("public_api.txt")
COMMAND = "python tests/project/test_public_api.py"  # writes the list


def public_modules() -> list[types.ModuleType]:
    """The package, the modules that it exports, and the other packages."""
    names = [info.name for info in pkgutil.walk_packages(jaxonline.__path__, "jaxonline.")]
    inside = [importlib.import_module(name) for name in names if "._" not in name]
    exported = [getattr(jaxonline, name) for name in jaxonline.__all__]
    return [jaxonline, *(module for module in inside if module in exported or hasattr(module, "__path__"))]


def home(value: Any) -> str:
    return getattr(value, "__module__", None) or ""


class Default:
    """A default as the list shows it: functions and classes by name, objects of other packages as "..."."""

    def __init__(self, value: Any):
        ours = home(type(value)).partition(".")[0] in ("builtins", "jaxonline")
        self.text = getattr(value, "__qualname__", None) or (repr(value) if ours else "...")

    def __repr__(self) -> str:
        return self.text


def signature(value: Any) -> str:
    """Arguments and defaults. Without annotations, which versions of Python print differently."""
    if not callable(value) or (inspect.isclass(value) and issubclass(value, BaseException)):
        return ""
    parameters = [p for p in inspect.signature(value).parameters.values() if p.name != "self"]
    defaults = [p.empty if p.default is p.empty else Default(p.default) for p in parameters]
    shown = [p.replace(annotation=p.empty, default=d) for p, d in zip(parameters, defaults, strict=True)]
    return str(inspect.Signature(shown))


def members(cls: type) -> Iterator[str]:
    """Public methods and properties that classes of jaxonline define."""
    for name, value in inspect.getmembers_static(cls):
        owner = next(base for base in cls.__mro__ if name in vars(base))
        if name.startswith("_") or not home(owner).startswith("jaxonline"):
            continue
        value = getattr(value, "fn", value)  # of scikit-learn's available_if
        if isinstance(value, property):
            yield name
        elif isinstance(value, types.FunctionType | classmethod | staticmethod):
            yield name + signature(getattr(cls, name))


def python_names() -> Iterator[str]:
    shown: dict[int, str] = {}
    for module in public_modules():
        for name in sorted(exported_names(module)):
            value, full = getattr(module, name), f"{module.__name__}.{name}"
            if isinstance(value, types.ModuleType):
                yield f"{full}: module"
            elif id(value) in shown:
                yield f"{full} = {shown[id(value)]}"
            else:
                shown[id(value)] = full
                yield full + signature(value)
                yield from (f"{full}.{member}" for member in (members(value) if inspect.isclass(value) else ()))


def command_options(command: Any, path: str = "jaxonline") -> Iterator[str]:
    context = command.make_context(path, [], resilient_parsing=True)
    yield " ".join([path, *(" ".join(parameter.opts) for parameter in command.params)])
    if isinstance(command, TyperGroup):
        for name in command.list_commands(context):
            yield from command_options(command.resolve_command(context, [name])[1], f"{path} {name}")


def public_api() -> str:
    keys = (f"study file: {key}" for key in StudyKeys.model_fields)
    return "\n".join([*python_names(), *command_options(get_command(cli.app)), *keys]) + "\n"


def test_the_public_names_are_those_of_the_list():
    listed, found = LIST.read_text().splitlines(), public_api().splitlines()
    missing, new = sorted(set(listed) - set(found)), sorted(set(found) - set(listed))
    assert (missing, new) == ([], []), f"if this is intended, run `{COMMAND}` and add a line to docs/CHANGELOG.md"


def keywords(function) -> dict[str, Any]:
    """The keyword-only arguments of a function, with their types."""
    hints = typing.get_type_hints(function)
    parameters = inspect.signature(function).parameters.values()
    return {p.name: hints[p.name] for p in parameters if p.kind is p.KEYWORD_ONLY}


def test_options_have_the_names_and_types_of_the_keywords():
    of_context = {"n_runs", "n_rounds", "key", "mesh", "progress", "checkpoint", "cluster"}  # not options of a study
    for options, function, others in (
        (StudyOptions, jaxonline.simulate, of_context), (UnbiasedOptions, jaxonline.verify.unbiased, set()),
    ):  # fmt: skip
        found, hints = keywords(function), typing.get_type_hints(options)
        assert others | set(hints) == set(found)
        assert hints == {name: found[name] for name in hints}
    assert set(SeriesOptions.__annotations__) == set(keywords(jaxonline.estimators.SeriesEstimator.for_loss))


if __name__ == "__main__":
    LIST.write_text(public_api())
