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
from jaxonline.parameters.check import Limits
from jaxonline.parameters.types import Declaration

# ---------------------------------------------------------------------------------------------------------------------
# Parameters of a class or function, read from its annotations: types, ranges, choices, defaults.


_PLAIN = {
    bool: "flag", int: "integer", float: "number", str: "text", Path: "text", os.PathLike: "text", dict: "table",
    Mapping: "table", np.ndarray: "array", Callable: "function", type(None): "nothing",
}  # fmt: skip
_SEQUENCES = (list, tuple, Sequence, Iterable)
_ARRAYS = (np.number, np.bool_, np.ndarray, jax.Array)  # parts of `ArrayLike`


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
    return _parameters(make, inspect.signature(make).parameters.values())


@functools.cache
def fields_of(cls: type) -> tuple[Parameter, ...]:
    """Return the fields that the constructor of a dataclass takes."""
    _, *given = inspect.signature(cls.__init__).parameters.values()  # of the class itself it may be that of __new__
    return _parameters(cls, given)


def _parameters(make: Callable[..., Any], given: Iterable[inspect.Parameter]) -> tuple[Parameter, ...]:
    has_init = isinstance(make, type) and not dataclasses.is_dataclass(make)
    owner: Any = make.__init__ if has_init else inspect.unwrap(make)
    try:
        hints = typing.get_type_hints(owner, include_extras=True)
    except (NameError, TypeError):  # a name that only a type checker imports
        hints = dict(getattr(owner, "__annotations__", {}))
    named = (p for p in given if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD))
    return tuple(_with_default(parameter_of(p.name, hints.get(p.name, Any)), p) for p in named)


def _with_default(parameter: Parameter, given: inspect.Parameter) -> Parameter:
    empty = given.default is given.empty
    takes = parameter.takes | {"nothing"} if given.default is None else parameter.takes
    required = empty and not takes & {"horizon", "nothing"}
    return parameter._replace(takes=takes, required=required, default=None if empty else given.default)


@functools.cache
def parameter_of(name: str, annotation: Any) -> Parameter:
    """Return the parameter that an annotation declares; an unknown annotation takes anything."""
    fields = _read(annotation)
    return Parameter(name, **fields | {"takes": frozenset(fields.get("takes") or {"anything"})})  # type: ignore[arg-type]


def _read(annotation: Any) -> dict[str, Any]:
    """Return the fields of a `Parameter` that an annotation declares."""
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is typing.Annotated:
        return functools.reduce(_constrain, arguments[1:], _read(arguments[0]))
    if annotation in _PLAIN or origin in _PLAIN:
        kind = _PLAIN.get(annotation) or _PLAIN[origin]
        return {"takes": {kind}, "constrained": kind == "flag"}
    if (dimensions := getattr(annotation, "dim_str", None)) is not None:  # of jaxtyping, for one kind of array
        return {"takes": {"seed" if "Key" in str(annotation) else "array" if dimensions else "number"}}
    if origin is typing.Literal:
        return {"takes": {"text"}, "choices": arguments, "constrained": True}
    if origin in (typing.Union, types.UnionType):
        return _read_union(arguments)
    if origin in _SEQUENCES or annotation in _SEQUENCES:
        return _read_sequence(arguments)
    if isinstance(annotation, type) and annotation.__module__.startswith("jaxonline"):
        is_protocol = getattr(annotation, "_is_protocol", False)
        return {"takes": {"component"}, "kinds": (annotation,), "constrained": not is_protocol}
    is_function = issubclass(annotation, Callable) if isinstance(annotation, type) else callable(annotation)
    return {"takes": {"function"}} if is_function else {}


def _read_union(arguments: tuple[Any, ...]) -> dict[str, Any]:
    if complex in arguments:  # ArrayLike without a shape, or a jaxtyping annotation that Python has taken apart
        return {"takes": {"number"} | {"nothing" for part in arguments if part is type(None)}}
    fields = functools.reduce(_merge, (_read(part) for part in arguments if part not in _ARRAYS), _merge({}, {}))
    shapes = [part.dim_str for part in arguments if hasattr(part, "dim_str") and "Key" not in str(part)]
    if len(shapes) > 1:  # jaxtyping's Float[ArrayLike, ...] is a union: one for each kind of array
        others = fields["takes"] - {"number", "array", "integer", "flag"}
        taken = {"...": {"number", "array"}, "": {"number"}}.get(shapes[0], {"array"})
        dimensions = len(shapes[0].split()) if taken == {"array"} else None
        return fields | {"takes": others | taken, "constrained": True, "dimensions": dimensions}
    if "integer" in fields["takes"] and "array" not in fields["takes"]:
        fields["takes"] -= {"number"}
    return fields


def _read_sequence(arguments: tuple[Any, ...]) -> dict[str, Any]:
    if arguments[:1] == (str,):
        return {"takes": {"texts"}}
    inner = _read(arguments[0]) if arguments else {}
    if inner.get("takes") == {"table"}:
        return {}
    return {"takes": {"components"}, "kinds": inner["kinds"]} if inner.get("kinds") else {"takes": {"array"}}


def _constrain(fields: dict[str, Any], constraint: Any) -> dict[str, Any]:
    """Return the fields of a `Parameter` with one item of the metadata of an `Annotated`."""
    if isinstance(constraint, Interval | Gt | Ge | Lt | Le):
        given = {name: getattr(constraint, name, None) for name in Limits._fields}
        limits = {name: limit for name, limit in given.items() if limit not in (None, -math.inf)}
        return fields | {"limits": fields.get("limits", Limits())._replace(**limits), "constrained": True}
    if isinstance(constraint, MinLen):
        return fields | {"constrained": True}
    return _merge(fields, constraint.declares) if isinstance(constraint, Declaration) else fields


def _merge(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Return the fields of both; what they take is joined."""
    takes = first.get("takes", set()) | second.get("takes", set())
    kinds = first.get("kinds", ()) + second.get("kinds", ())
    return first | {name: value for name, value in second.items() if value} | {"takes": takes, "kinds": kinds}


def exported_names(module: types.ModuleType) -> list[str]:
    """Return the public names of a module: `__all__`, or what a module defines and a package exports."""
    homes = "jaxonline" if hasattr(module, "__path__") else module.__name__
    defined = (name for name, value in vars(module).items() if getattr(value, "__module__", "").startswith(homes))
    return list(getattr(module, "__all__", None) or [name for name in defined if not name.startswith("_")])


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
            raise TypeError(f"{function.__name__}: {error}") from None
        for parameter in parameters_of(function):
            if parameter.name in bound.arguments:
                bound.arguments[parameter.name] = check_value(parameter, bound.arguments[parameter.name])
        return function(*bound.args, **bound.kwargs)

    return wrapper  # type: ignore[return-value]


_signature = functools.cache(inspect.signature)


def check_fields(obj: Any) -> None:
    """Check and convert the fields of a dataclass, also of a frozen one, as its annotations declare."""
    for parameter in fields_of(type(obj)):
        object.__setattr__(obj, parameter.name, check_value(parameter, getattr(obj, parameter.name)))


_CHECKS: dict[str, Callable[..., Any]] = {
    "flag": check.flag, "integer": check.count, "number": check.number, "array number": check.numbers,
    "text": check.text,
}  # fmt: skip


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
    if parameter.or_infinity and isinstance(value, check.NUMBERS) and np.ndim(value) == 0 and value == np.inf:
        return value
    if parameter.choices and takes == {"text"}:
        return check.choice(name, value, parameter.choices)
    if takes == {"array"}:
        return check.array(name, value, ndim=parameter.dimensions, **parameter.limits.given)
    if (kind := " ".join(sorted(takes))) in _CHECKS:
        return _CHECKS[kind](name, value, **parameter.limits.given)
    if parameter.arguments and takes <= {"function", "component"}:
        return check.function(name, value, parameter.arguments)
    if takes == {"component"} and all(isinstance(kind, type) for kind in parameter.kinds):
        return check.instance(name, value, parameter.kinds, " or ".join(kind.__name__ for kind in parameter.kinds))
    return value
