"""Citations: the papers of a method, declared where the method is defined."""

from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")
REFERENCES: dict[str, tuple[str, ...]] = {}
"""Keys of `claims/references.bib` by the name of a class or function, or by an argument ("law=l2")."""


def cites(*keys: str, arguments: dict[str, tuple[str, ...]] | None = None) -> Callable[[T], T]:
    """Declare the papers of a class or function, for `jo.cite`.

    Args:
        keys: keys of `claims/references.bib`.
        arguments: further papers for the value of an argument, as a result prints it: `{"law=l2":
            ("hazan2012linear",)}`.

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
