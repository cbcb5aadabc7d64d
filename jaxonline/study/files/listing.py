"""What `jaxonline list` prints: everything that a study file can name, and what each takes."""

from collections.abc import Iterator
from typing import Any

from jaxonline.parameters.signatures import Parameter
from jaxonline.study.files import keys
from jaxonline.study.files.catalogue import HEADINGS, Entry, catalogue, entries_of, find_entry
from jaxonline.study.files.models import format_accepted, to_toml


def list_everything() -> Iterator[Any]:
    """Names with a line each, by kind."""
    from rich.padding import Padding

    for kind, heading in HEADINGS.items():
        entries = [each for each in catalogue().values() if each.kind == kind]
        yield heading
        for entry in entries:
            yield Padding(f"{entry.name}: {_summary(entry)}" if entry.line else entry.name, (0, 0, 0, 2))
        yield ""
    yield "What one of them takes: jaxonline list NAME. The keys of a study file: jaxonline list study"


def describe_name(name: str) -> Iterator[Any]:
    """What something takes: parameters with types, ranges and defaults; all of a kind; or the keys of a file.

    Raises:
        ValueError: there is nothing of that name.
    """
    from rich.padding import Padding

    if name.lower() == "study":
        for heading, table in {"A study file": keys.STUDY, "[game]": keys.GAME, "[precision]": keys.PRECISION,
                               "[tune]": keys.TUNE}.items():  # fmt: skip
            yield heading
            yield from (Padding(_format_parameter(each), (0, 0, 0, 2)) for each in table.values())
            yield ""
        return
    kind = _parse_kind(name)
    if kind is not None:
        entries = [each for each in catalogue().values() if each.kind == kind]
        yield HEADINGS[kind]
        yield from (Padding(f"{entry.name}: {_summary(entry)}", (0, 0, 0, 2)) for entry in entries)
        return
    entry = find_entry(name)
    where = "optax" if entry.package == "optax" else f"jaxonline.{entry.package}"
    yield f"{entry.name} ({entry.kind}; {where})"
    yield _summary(entry)
    yield ""
    for parameter in entry.parameters:
        yield Padding(_format_parameter(parameter), (0, 0, 0, 2))
    if not entry.parameters:
        yield "  no parameters"
    yield ""
    yield f"In a study file: {usage_example(entry)}"


def _parse_kind(name: str) -> str | None:
    """The kind that a word names, "learners" or "learner"."""
    alike = {each: each for each in HEADINGS} | {f"{each}s": each for each in HEADINGS}
    alike |= {"losses": "loss", "noise laws": "noise", "step sizes": "step size", "step-sizes": "step size"}
    return alike.get(name.lower()) if name not in catalogue() else None


def _summary(entry: Entry) -> str:
    return entry.line.rstrip(".") + "." if entry.line else ""


def _format_parameter(parameter: Parameter) -> str:
    """A parameter in a line: name, type, range, default, words."""
    kind = "functions, in Python only" if parameter.in_python_only else format_accepted(parameter)
    default = "" if parameter.required else f"; by default {_format_default(parameter)}"
    names = entries_of(parameter.kinds) if parameter.kinds else {}
    few = f" ({', '.join(names)})" if 0 < len(names) <= 6 else ""
    words = f": {parameter.description}" if parameter.description else ""
    return f"{parameter.name}, {kind}{few}{default}{words}"


def _format_default(parameter: Parameter) -> str:
    if "horizon" in parameter.takes:
        return "the study's rounds"
    value = to_toml(parameter.default)
    if value is None or value in ("", []):
        return "none"
    if value == "the default":
        return "a plain one"
    if isinstance(value, dict):
        rest = {key: each for key, each in value.items() if key != "type"}
        inside = ", ".join(f"{key}={each}" for key, each in rest.items() if not isinstance(each, dict))
        return f"{value['type']}({inside})" if inside else str(value["type"])
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def usage_example(entry: Entry) -> str:
    """An entry as it is written in a study file, with what it needs."""
    shown = [each for each in entry.parameters if each.required or (entry.name, each.name) == ("data", "file")]
    needed = [f"{each.name} = {_example_value(each)}" for each in shown]
    return f"{{ {', '.join([f'type = {chr(34)}{entry.name}{chr(34)}', *needed])} }}" if needed else f'"{entry.name}"'


def _example_value(parameter: Parameter) -> str:
    if parameter.choices:
        return f'"{parameter.choices[0]}"'
    if "number" in parameter.takes or "integer" in parameter.takes:
        return "..."
    if "array" in parameter.takes:
        return "[...]"
    return '"..."' if parameter.takes & {"component", "text", "function"} else "..."
