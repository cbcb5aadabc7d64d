"""Grids in a study file: a list instead of a single value in a learner's table makes one learner per value."""

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from jaxonline.parameters import check
from jaxonline.parameters.signatures import Parameter
from jaxonline.simulation import sweep
from jaxonline.study.files.builder import Builder
from jaxonline.study.files.catalogue import catalogue, user_entry
from jaxonline.study.files.key_lines import KeyPath
from jaxonline.study.files.models import BuiltObject

MAX_LEARNERS = 500


class Axis(NamedTuple):
    """A list of values in the table of a learner, which is one axis of the grid."""

    at: KeyPath  # its keys
    values: list[Any]
    is_numeric: bool  # whether one compiled program can run all values


class Point(NamedTuple):
    """A learner of a grid: its table, and the values that name it."""

    table: Any  # with one value for each list
    chosen: str  # the values that are not numeric, in brackets; may be empty
    label: str  # the numeric values, as in a sweep; may be empty


def expand_grid(builder: Builder, name: str, table: Any, at: KeyPath, so_far: int = 0) -> list[Point]:
    """Return the learners of a table; StudyFileError for an empty list, a repeated value, or too many learners."""
    axes = list(_find_axes(builder, table, (), at))
    size = math.prod(len(axis.values) for axis in axes)
    if so_far + size > MAX_LEARNERS:
        longest = max(axes, key=lambda axis: len(axis.values)).at if axes else ()
        so_many = f"{size:,} of {name}" + (f" and {so_far:,} of the entries before" if so_far else "")
        raise builder.error_at((*at, *longest), f"must give at most {MAX_LEARNERS} learners (got {so_many})")
    for axis in axes:
        check_axis(builder, (*at, *axis.at), axis.values)
    last_keys = [axis.at[-1] for axis in axes]
    names = [str(axis.at[-1]) if last_keys.count(axis.at[-1]) == 1 else ".".join(map(str, axis.at)) for axis in axes]
    points = []
    for values in itertools.product(*(axis.values for axis in axes)):
        point_table = table
        for axis, value in zip(axes, values, strict=True):
            point_table = _replace_at(point_table, axis.at, value)
        settings: dict[bool, list[str]] = {False: [], True: []}
        for key, axis, value in zip(names, axes, values, strict=True):
            settings[axis.is_numeric].append(f"{key}={format_in_name(value)}")
        bracket, label = (", ".join(settings[numeric]) for numeric in (False, True))
        points.append(Point(point_table, f"[{bracket}]" if bracket else "", label))
    return points


def check_axis(builder: Builder, at: KeyPath, values: list[Any]) -> None:
    """Check that a list of values is not empty and not too long, and that its values are distinct."""
    if not values:
        raise builder.error_at(at, "must have at least one value (got none)")
    if len(values) > MAX_LEARNERS:
        raise builder.error_at(at, f"must have at most {MAX_LEARNERS} values (got {len(values):,})")
    twice = next((i for i, value in enumerate(values) if value in values[:i]), None)
    if twice is not None:
        raise builder.error_at((*at, twice), f"must occur once (got {check.quote(values[twice])} twice)")


def _find_axes(builder: Builder, table: Any, inside: KeyPath, at: KeyPath) -> Iterator[Axis]:
    if not isinstance(table, Mapping) or not isinstance(table.get("type"), str):
        return
    name = table["type"]
    if ":" in name:
        loaded = builder.load_at(name, (*at, *inside, "type"))
        entry = user_entry(name, loaded) if callable(loaded) else None
    else:
        entry = catalogue().get(name)
    parameters = {parameter.name: parameter for parameter in entry.parameters} if entry else {}
    for key, value in table.items():
        parameter = parameters.get(key)
        if parameter is None:
            continue
        if isinstance(value, list) and not parameter.takes & {"array", "components", "texts", "anything"}:
            yield Axis((*inside, key), value, _is_numeric(parameter, value))
        else:
            yield from _find_axes(builder, value, (*inside, key), at)


def _is_numeric(parameter: Parameter, values: list[Any]) -> bool:
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return numbers and "number" in parameter.takes


def _replace_at(table: Any, at: KeyPath, value: Any) -> Any:
    if not at:
        return value
    return {**table, at[0]: _replace_at(table[at[0]], at[1:], value)}


def format_in_name(value: Any) -> str:
    """Format a value for a learner's name, with as many digits as identify the value."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    if isinstance(value, Mapping):
        rest = ", ".join(f"{key}={format_in_name(item)}" for key, item in value.items() if key != "type")
        return f"{value.get('type')}({rest})" if rest else str(value.get("type"))
    return f"[{', '.join(map(format_in_name, value))}]" if isinstance(value, list) else str(value)


def group_into_sweeps(name: str, built: Mapping[str, BuiltObject], points: Mapping[str, Point]) -> dict[str, Any]:
    """Group learners that differ only in numbers into sweeps; `name` is the name of the entry in the file."""
    groups: dict[str, list[str]] = {}
    for full_name in built:
        groups.setdefault(points[full_name].chosen, []).append(full_name)
    learners: dict[str, Any] = {}
    for chosen, members in groups.items():
        values = {points[full_name].label: built[full_name].value for full_name in members}
        if len(values) > 1:
            try:
                learners[f"{name}{chosen}"] = sweep(values)
                continue
            except ValueError:  # they also differ in other fields: one program each
                pass
        learners |= {full_name: built[full_name].value for full_name in members}
    return learners


def learner_name(name: str, point: Point) -> str:
    """Return the name of a learner of a grid, which equals the learner's name in a sweep."""
    return f"{name}{point.chosen}" + (f"[{point.label}]" if point.label else "")
