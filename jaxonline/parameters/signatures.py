"""Parameters of constructors and functions, and their validation."""

import dataclasses
import functools
import inspect
import math
import os
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

import jax
import numpy as np
from annotated_types import Ge, Gt, Interval, Le, Lt, MinLen

from jaxonline.parameters import check
from jaxonline.parameters.errors import did_you_mean
from jaxonline.parameters.types import Component, Convert, Horizon, OrInfinity, PythonOnly, Shape, Takes

# ---------------------------------------------------------------------------------------------------------------------
# Parameters of a class or function, read from its annotations: types, ranges, choices, defaults.


_WORDS = {"gt": "above", "ge": "at least", "lt": "below", "le": "at most"}
_PLAIN = {
    bool: "flag", int: "integer", float: "number", str: "text", dict: "table", type(None): "nothing",
    np.ndarray: "array",
}  # fmt: skip


class Limits(NamedTuple):
    """The range of a number: the number is above `gt`, at least `ge`, below `lt` and at most `le`."""

    gt: float | None = None
    ge: float | None = None
    lt: float | None = None
    le: float | None = None

    @property
    def words(self) -> str:
        """Return the range in words, such as "above 0 and at most 1"; "" for a range without limits."""
        return " and ".join(f"{_WORDS[name]} {format_limit(limit)}" for name, limit in self.given.items())

    @property
    def given(self) -> dict[str, float]:
        """Return the limits that are not None, by name."""
        return {name: limit for name, limit in self._asdict().items() if limit is not None}

    def exclude(self, value: float) -> bool:
        """Return whether a number is outside of the range."""
        return bool(
            (self.gt is not None and value <= self.gt)
            or (self.ge is not None and value < self.ge)
            or (self.lt is not None and value >= self.lt)
            or (self.le is not None and value > self.le)
        )


def format_limit(value: float) -> str:
    """Format the limit of a range with all its digits, such as 100,000 instead of 1e+05."""
    whole = 1000 <= abs(value) < 1e15 and value == round(value)
    return f"{value:,.0f}" if whole else f"{float(value):g}"


class Parameter(NamedTuple):
    """A parameter of a class or function.

    `takes` contains any of "number", "integer", "flag", "text", "texts", "array", "seed", "horizon", "component",
    "components" (a list), "function", "table" (a dictionary), "nothing" (None), "anything".
    """

    name: str
    takes: frozenset[str] = frozenset({"anything"})
    kinds: tuple[Any, ...] = ()  # of components: kinds of study files, or classes
    limits: Limits = Limits()
    choices: tuple[str, ...] = ()  # of texts; empty if any text is allowed
    dimensions: int | None = None  # of an array; None if any number is allowed
    arguments: str = ""  # of a function, in words
    convert: Callable[[Any, str], Any] | None = None  # checks and converts a value
    or_infinity: bool = False  # whether infinity is also allowed
    constrained: bool = False  # whether a constructor checks constraints
    python_only: bool = False  # whether a study file cannot set it
    required: bool = True
    default: Any = None
    description: str = ""  # sentence of the docstring, for display only

    @property
    def in_python_only(self) -> bool:
        """Whether a study file can set this parameter only by an object of the user's own Python module."""
        return self.takes - {"nothing"} in ({"function"}, {"anything"}) and not self.kinds


@functools.cache
def parameters_of(make: Callable[..., Any]) -> tuple[Parameter, ...]:
    """Return the parameters of a class, classmethod or function, as its annotations declare them."""
    signature = inspect.signature(make)
    hints = _hints(make)
    named = (p for p in signature.parameters.values() if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))
    return tuple(_with_default(parameter_of(p.name, hints.get(p.name, Any)), p) for p in named)


@functools.cache
def fields_of(cls: type) -> tuple[Parameter, ...]:
    """Return the fields that the constructor of a dataclass takes."""
    _, *given = inspect.signature(cls.__init__).parameters.values()  # of the class itself it may be that of __new__
    hints = _hints(cls)
    return tuple(_with_default(parameter_of(field.name, hints.get(field.name, Any)), field) for field in given)


def _hints(make: Callable[..., Any]) -> dict[str, Any]:
    owner = make if isinstance(make, type) and dataclasses.is_dataclass(make) else None
    function = make.__init__ if isinstance(make, type) and owner is None else inspect.unwrap(make)  # type: ignore[misc]
    try:
        return typing.get_type_hints(owner or function, include_extras=True)
    except (NameError, TypeError):  # a name that only a type checker imports
        return dict(getattr(owner or function, "__annotations__", {}))


def _with_default(parameter: Parameter, given: inspect.Parameter) -> Parameter:
    empty = given.default is given.empty
    takes = parameter.takes | {"nothing"} if given.default is None else parameter.takes
    required = empty and not takes & {"horizon", "nothing"}
    return parameter._replace(takes=takes, required=required, default=None if empty else given.default)


@functools.cache
def parameter_of(name: str, annotation: Any) -> Parameter:
    """Return the parameter that an annotation declares; an unknown annotation takes anything."""
    takes, kinds, more = _read(annotation)
    return Parameter(name, frozenset(takes or {"anything"}), kinds, **more)


def _read(annotation: Any) -> tuple[set[str], tuple[Any, ...], dict[str, Any]]:
    """Return three parts of a `Parameter` from its annotation: `takes`, `kinds`, and a dictionary of other fields."""
    if typing.get_origin(annotation) is typing.Annotated:
        inner, *metadata = typing.get_args(annotation)
        takes, kinds, more = _read(inner)
        for constraint in metadata:
            takes, kinds = _constrain(constraint, takes, kinds, more)
        return takes, kinds, more
    if isinstance(annotation, type) and annotation in _PLAIN:
        return {_PLAIN[annotation]}, (), {"constrained": annotation is bool}
    dimensions = getattr(annotation, "dim_str", None)  # of jaxtyping
    if dimensions is not None:
        return _read_array(annotation, dimensions)
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Literal:
        return {"text"}, (), {"choices": tuple(arguments), "constrained": True}
    if origin in (typing.Union, types.UnionType):
        return _read_union(arguments)
    if origin in (list, tuple, Sequence, Iterable):
        return _read_sequence(arguments)
    if origin in (dict, Mapping):
        return {"table"}, (), {}
    if Path in (annotation, origin) or os.PathLike in (annotation, origin):
        return {"text"}, (), {}
    if annotation in (Any, inspect.Parameter.empty):
        return set(), (), {}
    if (callable(annotation) and not isinstance(annotation, type)) or origin is Callable or annotation is Callable:
        return {"function"}, (), {}
    if isinstance(annotation, type) and annotation.__module__.startswith("jaxonline"):
        return {"component"}, (annotation,), {"constrained": not getattr(annotation, "_is_protocol", False)}
    return {"function"} if isinstance(annotation, type) and issubclass(annotation, Callable) else set(), (), {}


def _read_array(annotation: Any, dimensions: str) -> tuple[set[str], tuple[Any, ...], dict[str, Any]]:
    if "Key" in str(annotation):
        return {"seed"}, (), {}
    if "ArrayLike" not in str(annotation) and "Union" not in str(annotation):  # an array of jax: no constraint
        return {"array"} if dimensions else {"number"}, (), {}
    if dimensions == "...":
        return {"number", "array"}, (), {"constrained": True}
    return (
        {"array"} if dimensions else {"number"},
        (),
        {"constrained": True} | ({"dimensions": len(dimensions.split())} if dimensions else {}),
    )


def _read_union(arguments: tuple[Any, ...]) -> tuple[set[str], tuple[Any, ...], dict[str, Any]]:
    if complex in arguments:  # ArrayLike without a shape, or a jaxtyping annotation that Python has taken apart
        return {"number"} | {"nothing" for part in arguments if part is type(None)}, (), {}
    takes: set[str] = set()
    kinds: tuple[Any, ...] = ()
    more: dict[str, Any] = {}
    shapes = [part for part in arguments if getattr(part, "dim_str", None) is not None and "Key" not in str(part)]
    for part in arguments:
        part_takes, classes, part_fields = _read(part)
        if part is np.number or part in (jax.Array, np.ndarray, np.bool_):
            continue
        takes, kinds = takes | part_takes, kinds + classes
        more |= {key: value for key, value in part_fields.items() if value}
    if len(shapes) > 1:  # jaxtyping's Float[ArrayLike, ...] is a union: one for each kind of array
        dimensions = shapes[0].dim_str
        takes -= {"number", "array", "integer", "flag"}
        takes |= {"number", "array"} if dimensions == "..." else {"array"} if dimensions else {"number"}
        more |= {"constrained": True}
        if dimensions not in ("", "..."):
            more["dimensions"] = len(dimensions.split())
    elif "integer" in takes and "array" not in takes:
        takes -= {"number"}
    return takes, kinds, more


def _read_sequence(arguments: tuple[Any, ...]) -> tuple[set[str], tuple[Any, ...], dict[str, Any]]:
    if arguments[:1] == (str,):
        return {"texts"}, (), {}
    takes, kinds, _ = _read(arguments[0]) if arguments else (set(), (), {})
    if takes == {"table"}:
        return set(), (), {}
    return ({"components"}, kinds, {}) if kinds else ({"array"}, (), {})


def _constrain(
    constraint: Any, takes: set[str], kinds: tuple[Any, ...], more: dict[str, Any]
) -> tuple[set[str], tuple[Any, ...]]:
    """Apply one item of the metadata of an `Annotated`; the dictionary `more` is changed in place."""
    limits = {}
    if isinstance(constraint, Interval):
        limits = {name: value for name in Limits._fields if (value := getattr(constraint, name)) is not None}
    elif isinstance(constraint, Gt | Ge | Lt | Le):
        name = type(constraint).__name__.lower()
        limits = {name: getattr(constraint, name)}
    if limits:
        if limits.get("ge", 0) in (-(2**63), -math.inf):
            limits = {}
        more["limits"] = more.get("limits", Limits())._replace(**limits)
        more["constrained"] = True
    elif isinstance(constraint, MinLen):
        more["constrained"] = True
    elif isinstance(constraint, Component):
        names = constraint.kinds
        return takes | {"component"} | ({"number"} if constraint.number else set()), kinds + names
    elif isinstance(constraint, Takes):
        more |= {"arguments": constraint.arguments, "constrained": True}
        return takes | {"function"}, kinds
    elif isinstance(constraint, Horizon):
        return takes | {"horizon"}, kinds
    elif isinstance(constraint, OrInfinity):
        more["or_infinity"] = True
    elif isinstance(constraint, PythonOnly):
        more["python_only"] = True
    elif isinstance(constraint, Shape):
        more |= {"dimensions": len(constraint.dimensions) or None, "constrained": True}
        return takes | {"array"}, kinds
    elif isinstance(constraint, Convert):
        more["convert"] = constraint.function
    return takes, kinds


def exported_names(module: types.ModuleType) -> list[str]:
    """Return the public names of a module: `__all__`, or what a module defines and a package exports."""
    homes = "jaxonline" if hasattr(module, "__path__") else module.__name__
    defined = (name for name, value in vars(module).items() if getattr(value, "__module__", "").startswith(homes))
    return list(getattr(module, "__all__", None) or [name for name in defined if not name.startswith("_")])


def members_of(protocol: type) -> tuple[str, ...]:
    """Return the public attributes and methods that a protocol requires."""
    bases = [base for base in reversed(protocol.__mro__) if getattr(base, "_is_protocol", False)]
    names = dict.fromkeys(name for base in bases for name in vars(base))
    return tuple(name for name in names if not name.startswith("_") or name == "__call__")


# ---------------------------------------------------------------------------------------------------------------------
# Validation of arguments against the annotations of their parameters.


F = TypeVar("F", bound=Callable[..., Any])


def validate_arguments(function: F) -> F:
    """Decorator: check the arguments against the annotations at each call.

    Raises:
        ArgumentError: an argument is outside of its declared range.
        ArgumentTypeError: the type of an argument differs from the declared type.

    Example:
        >>> from jaxonline.parameters.signatures import validate_arguments
        >>> from jaxonline.parameters.types import Count
        >>> @validate_arguments
        ... def squares(n: Count) -> list[int]:
        ...     return [k**2 for k in range(n)]
        >>> squares(0)
        Traceback (most recent call last):
            ...
        jaxonline.parameters.errors.ArgumentError: n: must be at least 1 (got 0)
    """

    @functools.wraps(function)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        try:
            bound = _signature(function).bind(*args, **kwargs)
        except TypeError as error:  # its message does not name the function
            names = list(_signature(function).parameters)
            hints = (did_you_mean(name, names) for name in kwargs if name not in names)
            raise TypeError(f"{function.__name__}: {error}{next(hints, '')}") from None
        for parameter in parameters_of(function):
            if parameter.name in bound.arguments:
                value = bound.arguments[parameter.name]
                bound.arguments[parameter.name] = check_value(parameter, value)
        return function(*bound.args, **bound.kwargs)

    return wrapper  # type: ignore[return-value]


_signature = functools.cache(inspect.signature)


def check_fields(obj: Any) -> None:
    """Check and convert the fields of a dataclass, also of a frozen one, as its annotations declare."""
    for parameter in fields_of(type(obj)):
        value = getattr(obj, parameter.name)
        if (new := check_value(parameter, value)) is not value:
            object.__setattr__(obj, parameter.name, new)


def check_value(parameter: Parameter, value: Any) -> Any:
    """Check a value and return it, converted if the annotation says so; raises ArgumentError or ArgumentTypeError.

    Values that are unknown while JAX traces are converted but not checked. Integers must be known while JAX traces,
    because they are sizes.
    """
    name, takes = parameter.name, parameter.takes - {"nothing", "horizon"}
    if value is None and "nothing" in parameter.takes:
        return value
    if parameter.convert is not None:
        return parameter.convert(value, name)
    if not parameter.constrained or (check.is_abstract(value) and takes != {"integer"}):
        return value
    limits = parameter.limits.given
    number = check.concrete_array(value) if parameter.or_infinity else None
    if number is not None and number.ndim == 0 and number == np.inf:
        return value
    if takes == {"flag"}:
        return check.flag(name, value)
    if takes == {"integer"}:
        return check.count(name, value, **limits)
    if takes == {"number"}:
        return check.number(name, value, **limits)
    if takes == {"number", "array"}:
        return check.numbers(name, check.list_to_array(name, value), **limits)
    if takes == {"array"}:
        return check.array(name, value, ndim=parameter.dimensions, **limits)
    if takes == {"text"}:
        return check.choice(name, value, parameter.choices) if parameter.choices else check.text(name, value)
    if parameter.arguments and takes <= {"function", "component"}:
        return check.function(name, value, parameter.arguments)
    if takes == {"component"} and all(isinstance(kind, type) for kind in parameter.kinds):
        return check.instance(name, value, parameter.kinds, _with_articles(parameter.kinds))
    return value


def _with_articles(kinds: tuple[type, ...]) -> str:
    names = [kind.__name__ for kind in kinds]
    return " or ".join(f"{'an' if name[0] in 'AEIO' else 'a'} {name}" for name in names)
