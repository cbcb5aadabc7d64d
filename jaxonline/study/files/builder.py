"""Construction of the objects of a study file: a table with a `type` is a call of that constructor."""

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxonline.parameters import check
from jaxonline.parameters.errors import did_you_mean
from jaxonline.parameters.signatures import Parameter
from jaxonline.study.files.catalogue import Entry, as_entry, catalogue, load_user_object
from jaxonline.study.files.source import KeyPath, SourceFile

MAX_LEARNERS = 500
_LISTS = {"array", "components", "texts", "anything"}  # parameters for which a list is one value


class Axis(NamedTuple):
    """A list of values in the table of a learner, which is one axis of the grid."""

    path: KeyPath  # keys from the table of the learner
    values: list[Any]
    is_numeric: bool  # whether one compiled program can run all values


class Builder:
    """Builds objects from tables of a study file; parameters that are numbers of rounds have the default `horizon`."""

    def __init__(self, source: SourceFile, horizon: int):
        self.source, self.horizon = source, horizon

    def build(self, value: Any, at: KeyPath) -> Any:
        """Return the object that a name, or a table with a `type`, describes; raises StudyFileError."""
        table = {"type": value} if isinstance(value, str) else value
        if not isinstance(table, dict) or not isinstance(table.get("type"), str):
            raise self.source.error(at, f"must be a name, or a table with a type (got {check.quote(value)})")
        given = {key: item for key, item in table.items() if key != "type"}
        found = self.find(table["type"], at)
        if not isinstance(found, Entry):  # of the user's module
            if not given and not isinstance(found, type):
                return found
            found = as_entry(table["type"], found)
        return self.call(found, given, at)

    def find(self, name: str, at: KeyPath) -> Any:
        """Return the `Entry` of a name, or the object that MODULE:NAME names."""
        if ":" in name:
            with self.source.errors_at(at):
                return load_user_object(self.source.folder, name)
        if name not in catalogue():
            suggestion = did_you_mean(name, catalogue())
            raise self.source.error(at, f"must be a name of `jaxonline list` (got {name!r}){suggestion}")
        return catalogue()[name]

    def call(self, entry: Entry, given: Mapping[str, Any], at: KeyPath) -> Any:
        """Call a constructor with the keys of a table as its arguments."""
        name, parameters = entry.name, entry.parameters
        for key in given:
            if key not in parameters:
                known = f"{name} has {', '.join(parameters) or 'no keys'}"
                raise self.source.error((*at, key), f"unknown key; {known}{did_you_mean(key, parameters)}")
        missing = [key for key, parameter in parameters.items() if parameter.required and key not in given]
        if missing:
            raise self.source.error(at, f"{name} needs {' and '.join(missing)}")
        arguments = {key: self.argument(parameters[key], item, (*at, key)) for key, item in given.items()}
        for key, parameter in parameters.items():
            if "horizon" in parameter.takes and key not in given:
                arguments[key] = float(self.horizon) if "number" in parameter.takes else self.horizon
        if name == "data":
            arguments["folder"] = self.source.folder
        with self.source.errors_at(at, given):
            return entry.make(**arguments)

    def argument(self, parameter: Parameter, value: Any, at: KeyPath) -> Any:
        """Return the argument that the value of a key stands for."""
        takes = parameter.takes
        if isinstance(value, str) and "function" in takes:
            found = self.find(value, at)
            function = found.function if isinstance(found, Entry) else found
            needed = isinstance(found, Entry) and any(p.required for p in found.parameters.values())
            if "component" not in takes or (needed and not isinstance(function, type)):
                return function
        if (isinstance(value, str) and "component" in takes) or (isinstance(value, dict) and "type" in value):
            return self.build(value, at)
        if isinstance(value, list) and "components" in takes:
            return [self.build(item, (*at, i)) for i, item in enumerate(value)]
        with self.source.errors_at(at[:-1], (at[-1],)):  # type: ignore[arg-type]
            if "seed" in takes:
                return check.as_key(str(at[-1]), value)
            if isinstance(value, list) and "array" in takes:
                return np.asarray(check.list_to_array(str(at[-1]), value))
            if takes <= {"number", "integer", "horizon", "nothing"}:  # also of optax, which checks nothing
                return check.number(str(at[-1]), value)
        return value

    # -----------------------------------------------------------------------------------------------------------------
    # Grids: a list instead of a single value in a learner's table makes one learner for each value.

    def expand(self, name: str, table: Any, at: KeyPath) -> dict[str, tuple[str, str, Any]]:
        """Return the learners of an entry by name: the name without the numbers, the numbers as text, and the table.

        Raises:
            StudyFileError: a list is empty, too long, or has a value twice.
        """
        axes = list(self.axes(table, (), at))
        size = math.prod(len(axis.values) for axis in axes)
        if axes and not 0 < size <= MAX_LEARNERS:
            longest = max(axes, key=lambda axis: len(axis.values) if size else -len(axis.values))
            raise self.source.error((*at, *longest.path), f"must give 1 to {MAX_LEARNERS} learners (got {size:,})")
        last = [axis.path[-1] for axis in axes]
        learners: dict[str, tuple[str, str, Any]] = {}
        for values in itertools.product(*(axis.values for axis in axes)):
            point, words = table, {False: [], True: []}
            for axis, value in zip(axes, values, strict=True):
                key = axis.path[-1] if last.count(axis.path[-1]) == 1 else ".".join(map(str, axis.path))
                point = _replace_at(point, axis.path, value)
                words[axis.is_numeric].append(f"{key}={format_in_name(value)}")
            group = f"{name}[{', '.join(words[False])}]" if words[False] else name
            label = ", ".join(words[True])
            full_name = f"{group}[{label}]" if label else group
            if full_name in learners:
                raise self.source.error((*at, *axes[-1].path), f"must have distinct values (got {full_name} twice)")
            learners[full_name] = group, label, point
        return learners

    def axes(self, table: Any, path: KeyPath, at: KeyPath) -> Iterator[Axis]:
        """Yield the lists that stand for single values, in a table and in the tables inside it."""
        if not isinstance(table, dict) or not isinstance(table.get("type"), str):
            return
        found = self.find(table["type"], (*at, *path))
        if not isinstance(found, Entry):
            found = as_entry(table["type"], found if callable(found) else object)
        for key, value in table.items():
            parameter = found.parameters.get(key)
            if parameter is not None and isinstance(value, list) and not parameter.takes & _LISTS:
                are_numbers = all(isinstance(item, int | float) and not isinstance(item, bool) for item in value)
                yield Axis((*path, key), value, are_numbers and "number" in parameter.takes)
            else:
                yield from self.axes(value, (*path, key), at)


def _replace_at(table: Any, at: KeyPath, value: Any) -> Any:
    return value if not at else {**table, at[0]: _replace_at(table[at[0]], at[1:], value)}


def format_in_name(value: Any) -> str:
    """Format a value for a learner's name, with as many digits as identify the value."""
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    if isinstance(value, Mapping):
        rest = ", ".join(f"{key}={format_in_name(item)}" for key, item in value.items() if key != "type")
        return f"{value.get('type')}({rest})" if rest else str(value.get("type"))
    return str(value)
