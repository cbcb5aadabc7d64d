"""The output of `jaxonline list`: all names of study files, and the parameters of each."""

from collections.abc import Iterator
from typing import Any

from jaxonline.parameters.signatures import Parameter
from jaxonline.study.files import keys
from jaxonline.study.files.catalogue import HEADINGS, Entry, catalogue, entries_of, find_entry
from jaxonline.study.files.models import format_accepted, to_toml
from jaxonline.study.files.templates import EXAMPLES


def list_everything() -> Iterator[Any]:
    """Yield one line for each shipped study, and for each name that a study file can use, grouped by kind."""
    from rich.padding import Padding

    yield "Shipped studies: jaxonline run NAME"
    yield from (Padding(f"{name}: {words}", (0, 0, 0, 2)) for name, words in EXAMPLES.items())
    yield ""
    for kind, heading in HEADINGS.items():
        entries = [entry for entry in catalogue().values() if entry.kind == kind]
        yield heading
        for entry in entries:
            yield Padding(f"{entry.name}: {_summary(entry)}" if entry.line else entry.name, (0, 0, 0, 2))
        yield ""
    yield "Parameters of one: jaxonline list NAME. Keys of a study file: jaxonline list study"


def describe_name(name: str) -> Iterator[Any]:
    """Yield the parameters of a component, the names of a kind, or the keys of a file; ValueError if unknown."""
    from rich.padding import Padding

    if name.lower() == "study":
        for heading, table in {"A study file": keys.STUDY, "[game]": keys.GAME, "[precision]": keys.PRECISION,
                               "[until]": keys.UNTIL, "[tune]": keys.TUNE}.items():  # fmt: skip
            yield heading
            yield from (Padding(_format_parameter(parameter), (0, 0, 0, 2)) for parameter in table.values())
            yield ""
        return
    kind = _parse_kind(name)
    if kind is not None:
        entries = [entry for entry in catalogue().values() if entry.kind == kind]
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
    kinds = {kind: kind for kind in HEADINGS} | {f"{kind}s": kind for kind in HEADINGS}
    kinds |= {"losses": "loss", "noise laws": "noise", "step sizes": "step size", "step-sizes": "step size"}
    return kinds.get(name.lower()) if name not in catalogue() else None


def _summary(entry: Entry) -> str:
    return entry.line.rstrip(".") + "." if entry.line else ""


def _format_parameter(parameter: Parameter) -> str:
    """Format a parameter in one line: name, type, range, default, sentence."""
    kind = "functions (in Python only)" if parameter.in_python_only else format_accepted(parameter)
    default = "" if parameter.required else f"; by default {_format_default(parameter)}"
    names = entries_of(parameter.kinds) if parameter.kinds else {}
    choices = f" ({', '.join(names)})" if 0 < len(names) <= 6 else ""
    sentence = f": {parameter.description}" if parameter.description else ""
    return f"{parameter.name}, {kind}{choices}{default}{sentence}"


def _format_default(parameter: Parameter) -> str:
    if "horizon" in parameter.takes:
        return "the study's rounds"
    value = to_toml(parameter.default)
    if value is None or value in ("", []):
        return "none"
    if value == "the default":
        return "a plain one"
    if isinstance(value, dict):
        arguments = {key: item for key, item in value.items() if key != "type"}
        settings = ", ".join(f"{key}={item}" for key, item in arguments.items() if not isinstance(item, dict))
        return f"{value['type']}({settings})" if settings else str(value["type"])
    return str(value).lower() if isinstance(value, bool) else f"{value:g}" if isinstance(value, float) else str(value)


def usage_example(entry: Entry) -> str:
    """Return an example of a component as written in a study file, with its required parameters."""
    parameters = [
        parameter
        for parameter in entry.parameters
        if parameter.required or (entry.name, parameter.name) == ("data", "file")
    ]
    settings = [f"{parameter.name} = {_example_value(parameter)}" for parameter in parameters]
    return (
        f"{{ {', '.join([f'type = {chr(34)}{entry.name}{chr(34)}', *settings])} }}" if settings else f'"{entry.name}"'
    )


def _example_value(parameter: Parameter) -> str:
    if parameter.choices:
        return f'"{parameter.choices[0]}"'
    if "number" in parameter.takes or "integer" in parameter.takes:
        return "..."
    if "array" in parameter.takes:
        return "[...]"
    return '"..."' if parameter.takes & {"component", "text", "function"} else "..."
