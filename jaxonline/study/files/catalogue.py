"""The names that a study file can use: what the packages export, what optax offers, and the user's own modules."""

import functools
import importlib.util
import inspect
import re
import sys
import typing
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Annotated, Any, Literal, NamedTuple

from jaxonline import datasets
from jaxonline.datasets.catalogue import SOURCES
from jaxonline.environments import DataStream
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, did_you_mean
from jaxonline.parameters.signatures import Parameter, exported_names, parameters_of, validate_arguments
from jaxonline.parameters.types import PythonOnly

# ---------------------------------------------------------------------------------------------------------------------
# Data sets as environments of study files: the user's file, or a known data set.


@validate_arguments
def data_stream(
    folder: Annotated[Path, PythonOnly()],
    file: str | None = None,
    set: str | None = None,
    target: str | int | None = None,
    drop: list[str] = [],  # noqa: B006
    one_hot: list[str] | Literal["auto"] = [],  # noqa: B006
    impute: Literal["mean", "median"] | None = None,
    positive: str | int | float | None = None,
    order: Literal["file", "shuffled", "iid"] = "shuffled",
    centre: bool = False,
    scale: bool = False,
) -> DataStream:
    """Data with one row per round, pass after pass: your own file, or a known data set.

    Args:
        folder: folder of the study file.
        file: path of a .csv or .parquet file, an .npz file with X and y, or a text file with columns; relative to the
            folder of the study file.
        set: name of a known data set instead of a file: diabetes, AR(4), Airfoil, Concrete, Bias correction, Naval.
        target: name or number of the predicted column; by default the last column.
        drop: names of columns to leave out.
        one_hot: names of the categorical columns, or "auto" for all columns that contain text: each category
            becomes a column of zeros and ones. By default, a column of words or dates is an error.
        impute: how to fill the missing values of each column; by default, missing values are an error.
        positive: for classification, the target value that becomes the label +1; all other target values become -1.
        order: order of the rows: "shuffled" (anew for each pass and run), "iid" (drawn with replacement) or "file".
        centre: whether to subtract the mean of each column.
        scale: whether to divide each column by its standard deviation, and then all columns by the length of the
            longest row. Without `positive`, the mean of the targets is also subtracted, and the targets are divided by
            their largest absolute value.

    Raises:
        ValueError: not exactly one of file and set is given; an option of files is given with a set; the set is
            unknown; the data cannot be read.
        OSError: the set cannot be downloaded.
    """
    if (file is None) == (set is None):
        raise ArgumentError("file", f"must be given, or else set (got {'none' if file is None else 'both'})")
    options: Any = {"target": target, "drop": drop, "one_hot": one_hot, "impute": impute, "positive": positive}
    scaling: Any = {"centre": centre, "scale": scale}
    if set is not None:
        for name, value in options.items():
            if value not in (None, []):
                raise ArgumentError(name, f"must be left out beside set (got {check.quote(value)})")
        names = ("diabetes", "AR(4)", *SOURCES)
        if set.lower() != "diabetes" and datasets.canonical_name(set) is None:
            raise ArgumentError("set", f"must be one of {', '.join(names)} (got {set!r}){did_you_mean(set, names)}")
        data = datasets.load(set, **scaling)
    else:
        path = folder / str(file)
        if not path.is_file():
            raise ArgumentError("file", f"must be an existing file (got {file!r}); there is no file {str(path)!r}")
        data = datasets.load(path, **options, **scaling)
    if set is None:
        import pandas as pd

        return DataStream(pd.DataFrame(data.X, columns=data.names), data.y, order)  # for the names in messages
    return DataStream(data.X, data.y, order)


# ---------------------------------------------------------------------------------------------------------------------
# The names that a study file can use: what the packages export, what optax offers, and the user's own modules.


PACKAGES = {  # by kind: the packages that export its names
    "learners": ("learners",), "environments": ("environments", "environments.adversaries"),
    "feedback": ("feedback", "feedback.delays"), "noise": ("feedback.noise",), "losses": ("losses",),
    "estimators": ("estimators",), "kernels": ("kernels",), "comparators": ("comparators",), "bounds": ("bounds",),
    "measures": ("simulation.measures",),
}  # fmt: skip
USER_NAME = re.compile(r"(?P<module>[A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*):(?P<name>[A-Za-z_]\w*)")


class Entry(NamedTuple):
    """A name of study files: its kind, the class or function that documents it, and the function that makes it."""

    name: str  # CLASS.METHOD for another constructor of a class
    kind: str
    function: Callable[..., Any]
    make: Callable[..., Any]

    @property
    def parameters(self) -> dict[str, Parameter]:
        """The parameters that a study file can set, by name."""
        if self.kind == "projections":
            return {}
        given = (p for p in parameters_of(self.function) if not p.python_only)
        return {p.name: p for p in given if (self.kind, p.name) != ("optimizers", "learning_rate")}


def as_entry(name: str, function: Callable[..., Any], kind: str = "") -> Entry:
    """Return the entry of a class or function."""
    return Entry(name, kind, function, function)


@functools.cache
def catalogue() -> dict[str, Entry]:
    """Return the entries of the packages and of optax by name."""
    found: dict[str, Entry] = {}
    for kind, packages in PACKAGES.items():
        for package in packages:
            for entry in _package_entries(kind, importlib.import_module(f"jaxonline.{package}")):
                found.setdefault(entry.name, entry)
    for entry in (as_entry("data", data_stream, "environments"), *_optax_entries()):
        found.setdefault(entry.name, entry)
    return found


def _package_entries(kind: str, module: ModuleType) -> Iterator[Entry]:
    """Yield the structs of a package, their other constructors, and the functions that make structs or bounds."""
    for name in exported_names(module):
        value = getattr(module, name)
        if _is_struct(value):
            yield as_entry(name, value, kind)
            for method, maker in vars(value).items():
                if isinstance(maker, classmethod) and _makes(maker.__func__, value):
                    yield as_entry(f"{name}.{method}", getattr(value, method), kind)
        elif inspect.isfunction(value) and (kind == "bounds" or _is_struct(_product(value))):
            yield as_entry(name, value, kind)


def _is_struct(value: Any) -> bool:
    is_dataclass = isinstance(value, type) and hasattr(value, "__dataclass_params__")
    return is_dataclass and not inspect.isabstract(value) and not getattr(value, "_is_protocol", False)


def _product(function: Callable[..., Any]) -> Any:
    product = typing.get_type_hints(function).get("return")
    return next(iter(typing.get_args(product)), product)


def _makes(method: Callable[..., Any], owner: type) -> bool:
    annotation = str(inspect.signature(method).return_annotation).strip("'\"")
    return not method.__name__.startswith("_") and annotation in (owner.__name__, "Self")


def _optax_entries() -> Iterator[Entry]:
    """Yield optimizers (with learning rate 1), schedules, and projections with a radius."""
    import optax

    for kind, module in {"optimizers": optax, "schedules": optax.schedules, "projections": optax.projections}.items():
        for name, value in sorted(vars(module).items()):
            if not inspect.isfunction(value) or name.startswith(("_", "scale_by")):
                continue
            required = [p.name for p in inspect.signature(value).parameters.values() if p.default is p.empty]
            if kind == "optimizers" and required == ["learning_rate"]:
                yield Entry(name, kind, value, functools.partial(value, 1.0))
            elif kind == "schedules" and name.endswith(("schedule", "decay")):
                yield as_entry(name, value, kind)
            elif kind == "projections" and list(inspect.signature(value).parameters) == ["tree", "scale"]:
                yield Entry(name, kind, value, functools.partial(_identity, value))


def _identity(value: Any) -> Any:
    return value


# ---------------------------------------------------------------------------------------------------------------------
# Objects of the user's modules, named as "my_module:MyLearner". A module is imported only from the folder of the study
# file. No text of the study file is evaluated.

_IMPORTED: dict[str, tuple[Path, bytes]] = {}  # by name of the module: its file and the content of the file


def load_user_object(folder: Path, written: str) -> Any:
    """Return an object of a module in the folder; ValueError if the import fails or the module lacks the name."""
    match = USER_NAME.fullmatch(written)
    if match is None:
        raise ValueError(f"must be written MODULE:NAME, such as my_module:MyLearner (got {written!r})")
    module = _import_module(folder.resolve(), match["module"])
    if not hasattr(module, match["name"]):
        suggestion = did_you_mean(match["name"], vars(module))
        raise ValueError(f"must be a name in {module.__file__} (got {match['name']!r}){suggestion}")
    return getattr(module, match["name"])


def _import_module(folder: Path, name: str) -> ModuleType:
    file = folder.joinpath(*name.split(".")).with_suffix(".py")
    if not file.is_file() or folder not in file.resolve().parents:
        raise ValueError(f"must name a module in the folder of the study file (got {name!r}); there is no {file}")
    content = file.read_bytes()
    if _IMPORTED.get(name) == (file, content) and name in sys.modules:
        return sys.modules[name]
    if name not in _IMPORTED and _is_installed(name.partition(".")[0], folder):
        raise ValueError(f"must name a module that is not installed (got {name!r}); give {file.name} another name")
    spec: Any = importlib.util.spec_from_file_location(name, file)
    module = sys.modules[name] = importlib.util.module_from_spec(spec)
    sys.path.append(str(folder))  # for its own imports; at the end, so that it hides no installed module
    try:
        spec.loader.exec_module(module)
    except (Exception, SystemExit) as error:
        del sys.modules[name]
        words = f"must name a module that can be imported (got {file}); {type(error).__name__}: {error}"
        raise ValueError(words) from None
    finally:
        sys.path.remove(str(folder))
    _IMPORTED[name] = file, content
    return module


def _is_installed(name: str, folder: Path) -> bool:
    """Return whether Python would find a module with this name elsewhere than in the folder."""
    if name in sys.stdlib_module_names or name == "__main__":
        return True
    spec = importlib.util.find_spec(name)
    return spec is not None and not (spec.origin and folder in Path(spec.origin).resolve().parents)


# ---------------------------------------------------------------------------------------------------------------------
# What `jaxonline list` prints.


def describe_kind(kind: str) -> list[str]:
    """Return one line for each name of a kind."""
    lines = (f"  {one.name}: {first_line(one.function)}" for one in catalogue().values() if one.kind == kind)
    return [kind.capitalize(), *sorted(lines, key=str.lower)]


def describe_entry(entry: Entry) -> list[str]:
    """Return the lines on an entry: its docstring, and the types, ranges and defaults of its parameters."""
    owner = getattr(entry.function, "__self__", None)  # the class that a classmethod makes
    described = [entry.function, owner] if isinstance(owner, type) else [entry.function]
    texts = [text for each in described if (text := inspect.getdoc(each))]
    parameters = [f"  {format_parameter(parameter)}" for parameter in entry.parameters.values()]
    heads = [f"{entry.name} ({entry.kind})", *texts, "Parameters in a study file:"]
    return [*(line for head in heads for line in (head, "")), *parameters]


def first_line(value: Any) -> str:
    """Return the first line of a docstring."""
    return (inspect.getdoc(value) or "").partition("\n")[0]


def format_parameter(parameter: Parameter) -> str:
    """Return a line on a parameter: name, types, range, default."""
    types = sorted(parameter.takes - {"nothing", "horizon", "function"} or {"function"})
    words = "one of " + ", ".join(parameter.choices) if parameter.choices else " or ".join(types)
    accepted = f"{words} {parameter.limits.words}".strip()
    if not parameter.required:
        default = "the study's rounds" if "horizon" in parameter.takes else format_default(parameter.default)
        accepted += f" (default: {default})"
    return f"{parameter.name}: {accepted}"


def format_default(value: Any) -> str:
    """Return a default value as text: numbers and texts as they are, objects by their class or name."""
    if isinstance(value, bool | int | float | str):
        return str(value).lower() if isinstance(value, bool) else str(value)
    return "none" if value is None else getattr(value, "__name__", type(value).__name__)
