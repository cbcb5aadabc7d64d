"""Validation of arguments against the annotations of their parameters."""

import functools
import inspect
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from jaxonline.parameters import check
from jaxonline.parameters.signatures import Parameter, fields_of, parameters_of
from jaxonline.parameters.suggest import did_you_mean

F = TypeVar("F", bound=Callable[..., Any])


def validate_arguments(function: F) -> F:
    """Decorator: check the arguments against the annotations at each call.

    Raises:
        ArgumentError: an argument is outside of its declared range.
        ArgumentTypeError: the type of an argument differs from the declared type.

    Example:
        >>> from jaxonline.parameters.validation import validate_arguments
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
