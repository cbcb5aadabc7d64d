"""Parameters inside a learner or feedback by scikit-learn's names, such as `learner__step_size__eta`."""

import dataclasses
from collections.abc import Mapping
from typing import Any

from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import replace_at

SEPARATOR = "__"


def nested_parameters(name: str, part: Any) -> dict[str, Any]:
    """Return the fields of a struct, and the fields inside them, by name; empty if `part` is no struct.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.live.nested_parameters import nested_parameters
        >>> sorted(nested_parameters("noise", jo.WithFeedback(jo.learners.UCB1(2.0), jo.Bandit())))
        ['noise__feedback', 'noise__learner', 'noise__learner__exploration']
    """
    parameters: dict[str, Any] = {}
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        for field in dataclasses.fields(part):
            if field.init:
                path, value = f"{name}{SEPARATOR}{field.name}", getattr(part, field.name)
                parameters |= {path: value} | nested_parameters(path, value)
    return parameters


def replace_nested(parts: Mapping[str, Any], changes: Mapping[str, Any]) -> dict[str, Any]:
    """Return the parts with some parameters inside them changed; outer parameters are changed before inner ones.

    Args:
        parts: learner and feedback by name.
        changes: new values by names such as `learner__step_size`.

    Raises:
        ValueError: a name or a value is invalid.
    """
    changed = dict(parts)
    for name in sorted(changes, key=lambda name: name.count(SEPARATOR)):
        part, *path = name.split(SEPARATOR)
        if changed[part] is None:
            raise ArgumentError(name, f"must be a parameter of the {part}, but {part} is None; pass {part}= first")
        changed[part] = replace_at(changed[part], ".".join(path), changes[name], name, keep_classes=False)
    return changed
