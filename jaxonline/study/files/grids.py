"""Grids of a study file: in a learner, a list where one value is asked for stands for as many learners."""

import itertools
import math
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from jaxonline.parameters import check
from jaxonline.parameters.signatures import Parameter
from jaxonline.simulation import sweep
from jaxonline.study.files.building import Builder
from jaxonline.study.files.catalogue import catalogue, own_entry
from jaxonline.study.files.models import Built
from jaxonline.study.files.positions import KeyPath

MOST_LEARNERS = 500


class Axis(NamedTuple):
    """A list of values in the table of a learner.

    Attributes:
        at: keys that lead to it.
        values: what it may be.
        swept: whether these are numbers of which a program can play several at once.
    """

    at: KeyPath
    values: list[Any]
    swept: bool


class Point(NamedTuple):
    """A learner of a grid: its table, and what it is called by.

    Attributes:
        table: with one value for each list.
        chosen: its place in brackets for what is not swept, empty where everything is.
        label: its label in the sweep, empty where nothing is swept.
    """

    table: Any
    chosen: str
    label: str


def points(builder: Builder, name: str, table: Any, at: KeyPath, so_far: int = 0) -> list[Point]:
    """The learners that a table stands for.

    Raises:
        StudyFileError: a list without values or with one twice, or too many learners.
    """
    axes = list(_axes(builder, table, (), at))
    for axis in axes:
        check_axis(builder, (*at, *axis.at), axis.values)
    size = math.prod(len(axis.values) for axis in axes)
    if so_far + size > MOST_LEARNERS:
        longest = max(axes, key=lambda axis: len(axis.values))
        raise builder.wrong(
            (*at, *longest.at) if axes else at,
            f"must stand for at most {MOST_LEARNERS} learners (got {size:,} in {name})",
        )
    short = [axis.at[-1] for axis in axes]
    names = [str(axis.at[-1]) if short.count(axis.at[-1]) == 1 else ".".join(map(str, axis.at)) for axis in axes]
    found = []
    for values in itertools.product(*(axis.values for axis in axes)):
        own = table
        for axis, value in zip(axes, values, strict=True):
            own = _with(own, axis.at, value)
        said = [f"{each}={in_a_name(value)}" for each, value in zip(names, values, strict=True)]
        parts = [
            ", ".join(word for word, axis in zip(said, axes, strict=True) if axis.swept == s) for s in (False, True)
        ]
        found.append(Point(own, f"[{parts[0]}]" if parts[0] else "", parts[1]))
    return found


def check_axis(builder: Builder, at: KeyPath, values: list[Any]) -> None:
    """Check that a list has values, all different."""
    if not values:
        raise builder.wrong(at, "must hold at least one value (got none)")
    twice = next((i for i, value in enumerate(values) if value in values[:i]), None)
    if twice is not None:
        raise builder.wrong((*at, twice), f"must occur once (got {check.quote(values[twice])} twice)")


def _axes(builder: Builder, table: Any, inside: KeyPath, at: KeyPath) -> Iterator[Axis]:
    """The lists of a table, which stands at `at`, and of the tables in it."""
    if not isinstance(table, Mapping) or not isinstance(table.get("type"), str):
        return
    name = table["type"]
    if ":" in name:
        found = builder.loaded(name, (*at, *inside, "type"))
        entry = own_entry(name, found) if callable(found) else None
    else:
        entry = catalogue().get(name)
    parameters = {each.name: each for each in entry.parameters} if entry else {}
    for key, value in table.items():
        parameter = parameters.get(key)
        if parameter is None:
            continue
        if isinstance(value, list) and not parameter.takes & {"array", "components", "texts", "anything"}:
            yield Axis((*inside, key), value, _can_be_swept(parameter, value))
        else:
            yield from _axes(builder, value, (*inside, key), at)


def _can_be_swept(parameter: Parameter, values: list[Any]) -> bool:
    numbers = all(isinstance(value, int | float) and not isinstance(value, bool) for value in values)
    return numbers and "number" in parameter.takes


def _with(table: Any, at: KeyPath, value: Any) -> Any:
    if not at:
        return value
    return {**table, at[0]: _with(table[at[0]], at[1:], value)}


def in_a_name(value: Any) -> str:
    """A value in a learner's name, in as many digits as tell it from all others."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}" if float(f"{value:g}") == value else repr(value)
    if isinstance(value, Mapping):
        rest = ", ".join(f"{key}={in_a_name(each)}" for key, each in value.items() if key != "type")
        return f"{value.get('type')}({rest})" if rest else str(value.get("type"))
    return f"[{', '.join(map(in_a_name, value))}]" if isinstance(value, list) else str(value)


def swept(name: str, built: Mapping[str, Built], points: Mapping[str, Point]) -> dict[str, Any]:
    """Learners by name, those that differ in swept numbers only as one sweep.

    Args:
        name: of the table that they come from.
        built: the learners by their names.
        points: of the grid, by the same names.
    """
    groups: dict[str, list[str]] = {}
    for full in built:
        groups.setdefault(points[full].chosen, []).append(full)
    found: dict[str, Any] = {}
    for chosen, members in groups.items():
        values = {points[full].label: built[full].value for full in members}
        if len(values) > 1:
            try:
                found[f"{name}{chosen}"] = sweep(values)
                continue
            except ValueError:  # they differ in more: a program each
                pass
        found |= {full: built[full].value for full in members}
    return found


def full_name(name: str, point: Point) -> str:
    """What the learner of a grid's point is called, as the learners of a sweep are."""
    return f"{name}{point.chosen}" + (f"[{point.label}]" if point.label else "")
