"""Citations: the decorator `cites` declares the papers of a method at the definition of the method."""

import types
from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import jax

T = TypeVar("T")
REFERENCES: dict[str, tuple[str, ...]] = {}
"""Keys of `references.bib` by the name of a class or function, or by an argument ("law=l2")."""


def cites(*keys: str, arguments: dict[str, tuple[str, ...]] | None = None) -> Callable[[T], T]:
    """Declare the papers of a class or function, for `jo.cite`.

    Args:
        keys: keys of `references.bib`.
        arguments: further papers for one value of an argument, by "name=value": `{"law=l2": ("hazan2012linear",)}`.

    Example:
        >>> from jaxonline.parameters.citations import REFERENCES, cites
        >>> @cites("auer2002finite")
        ... class Copy:
        ...     pass
        >>> REFERENCES.pop("Copy")
        ('auer2002finite',)
    """

    def register(method: Any) -> Any:
        REFERENCES[method.__name__] = keys
        REFERENCES.update(arguments or {})
        return method

    return register


def method_names(value: Any, depth: int = 8) -> list[str]:
    """Return the class names in an object, outermost first, and those arguments that have their own papers ("law=l2").

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.parameters.citations import method_names
        >>> method_names(jo.learners.Hedge(jo.learners.EWA(0.1)))
        ['Hedge', 'EWA']
    """
    to_dict = getattr(value, "_asdict", None)  # of named tuples
    fields = to_dict() if to_dict is not None else getattr(value, "__dict__", None)
    if isinstance(value, Mapping | list | tuple) and to_dict is None:
        items = value.values() if isinstance(value, Mapping) else value
        return [name for item in items for name in method_names(item, depth - 1)]
    if depth <= 0 or fields is None or isinstance(value, type | types.FunctionType | jax.Array):
        return []
    names = [type(value).__name__]
    for name, field in fields.items():
        names += [f"{name}={field}"] if isinstance(field, str) and f"{name}={field}" in REFERENCES else []
        names += method_names(field, depth - 1)
    return names
