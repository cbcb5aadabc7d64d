"""Pydantic models of the tables of a study file, made from annotations.

Each catalogue entry has a model: a dictionary with known keys. A component is a union of models discriminated by
`type`. A model is built when it is first needed, since building all models takes longer than reading a file.
"""

import dataclasses
import functools
from collections.abc import Iterable, Mapping
from typing import Annotated, Any, Literal, NamedTuple, NotRequired, cast

import jax
import numpy as np
import pydantic
from pydantic_core import InitErrorDetails, PydanticCustomError, ValidationError, core_schema
from typing_extensions import TypedDict

from jaxonline.parameters import check
from jaxonline.parameters.check import Limits, format_limit
from jaxonline.parameters.errors import did_you_mean
from jaxonline.parameters.signatures import Parameter
from jaxonline.study.files.catalogue import HEADINGS, Entry, catalogue, entries_of
from jaxonline.study.files.key_lines import KeyPath

TYPE_NAMES = {
    "number": "a number", "integer": "an integer", "flag": "true or false", "text": "a text",
    "texts": "a list of texts", "array": "a list of numbers", "seed": "a seed, an integer from 0 to 2^32 - 1",
    "function": "a function MODULE:NAME", "components": "a list", "table": "a table",
}  # fmt: skip
MAX_ARRAY_DIMENSIONS = 4
MAX_FLOAT = int(np.finfo(float).max)
USER_NAME_PATTERN = r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$"
_RANGE_ERRORS = {"greater_than", "greater_than_equal", "less_than", "less_than_equal"}
_TAGS = {bool: "flag", int: "integer", float: "float", str: "text", list: "list", dict: "table", type(None): "nothing"}


class BuiltObject(NamedTuple):
    """An object built from a study file, and its configuration with all defaults."""

    value: Any
    resolved: Any


def validation_error(words: str, at: KeyPath = ()) -> ValidationError:
    """Return a pydantic error with the given message, at a key inside the validated value."""
    error = PydanticCustomError("study", "{words}", {"words": words})
    return ValidationError.from_exception_data("study", [InitErrorDetails(type=error, loc=at, input=None)])


def error_keys(error: Mapping[str, Any]) -> KeyPath:
    """Return the path of keys of a pydantic error, without the names of union members."""
    return tuple(part for part in error["loc"] if not str(part).startswith("\0"))


def type_of(parameter: Parameter) -> Any:
    """Return the pydantic type of a parameter's value in a file; validation by this type returns a `BuiltObject`."""
    takes, limits = parameter.takes, pydantic.Field(**cast(dict[str, Any], parameter.limits.given))
    integer, number = Annotated[int, limits], Annotated[float, limits]
    component = Annotated[Any, ComponentType(parameter.kinds)]
    array: Any = Annotated[list[Any], ArrayType(parameter.limits)]
    types: dict[str, Any] = {}  # by the tag of a value; later ones replace earlier ones
    for taken, tags, kind in (
        ("seed", "integer", Annotated[int, pydantic.Field(ge=0, lt=2**32), pydantic.AfterValidator(jax.random.key)]),
        ("array", "integer float", number), ("array", "list", array), ("integer", "integer float", integer),
        ("number", "integer float", number), ("flag", "flag", bool), ("texts", "list", list[str]),
        ("components", "list", Annotated[list[component], pydantic.AfterValidator(_unzipped)]),
        ("component", "text table", component),
        ("function", "text", Annotated[str, FunctionType(parameter.kinds)]), ("table", "table", dict[str, Any]),
        ("text", "text", Literal[parameter.choices] if parameter.choices else str), ("nothing", "nothing", None),
    ):  # fmt: skip
        types |= dict.fromkeys(tags.split(), kind) if taken in takes else {}
    if "anything" in takes:
        union: Any = Annotated[Any, ComponentType(tuple(HEADINGS), anything=True)]
    else:
        parts: list[Any] = [Annotated[kind, pydantic.Tag(f"\0{tag}")] for tag, kind in types.items()]
        union = functools.reduce(lambda a, b: a | b, parts)
        union = Annotated[union, pydantic.Discriminator(_tag)] if len(parts) > 1 else types[next(iter(types))]
    return Annotated[union, pydantic.WrapValidator(functools.partial(_validate, parameter))]


def _tag(value: Any) -> str:
    return f"\0{_TAGS.get(type(value))}"


def _validate(parameter: Parameter, value: Any, handler: Any) -> BuiltObject:
    _check_size(value)
    try:
        result = handler(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        if error_keys(first) or first["type"] == "study":
            raise
        limits = parameter.limits
        if first["type"] in _RANGE_ERRORS:
            raise validation_error(f"must be {limits.words} (got {format_limit(value)})") from None
        hint = "; only a learner accepts a list of values" * isinstance(value, list)
        suggestion = did_you_mean(value, parameter.choices)
        raise validation_error(
            f"must be {format_accepted(parameter)} (got {check.quote(value)}){suggestion}{hint}"
        ) from None
    return result if isinstance(result, BuiltObject) else BuiltObject(result, value)


def _check_size(value: Any, at: KeyPath = ()) -> None:
    if type(value) is int and abs(value) > MAX_FLOAT:
        raise validation_error("must be finite (got an integer that is too large)", at)


def _unzipped(items: list[BuiltObject]) -> BuiltObject:
    return BuiltObject([item.value for item in items], [item.resolved for item in items])


class _PlainType:
    json_schema: dict[str, Any] = {"type": "string"}  # noqa: RUF012

    def build(self, value: Any, info: Any) -> Any:
        """Return the validated value (called by pydantic)."""
        raise NotImplementedError

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> Any:
        return core_schema.with_info_plain_validator_function(self.build)

    def __get_pydantic_json_schema__(self, schema: Any, handler: Any) -> Any:
        return dict(self.json_schema)


class ArrayType(_PlainType):
    """Pydantic type of an array: a list of numbers, or of lists of equal length."""

    json_schema = {"kinds": "numbers"}  # noqa: RUF012

    def __init__(self, limits: Limits):
        self.limits = limits

    def build(self, value: Any, info: Any) -> np.ndarray:
        """Return the validated array."""
        return self._array(value, ())

    def _array(self, value: list[Any], at: KeyPath) -> np.ndarray:
        if not value:
            raise validation_error("must have at least one number (got none)", at)
        if all(isinstance(item, list) for item in value) and len(at) < MAX_ARRAY_DIMENSIONS:
            rows = [self._array(item, (*at, i)) for i, item in enumerate(value)]
            wrong = next((i for i, row in enumerate(rows) if row.shape != rows[0].shape), None)
            if wrong is not None:
                words = f"must have {len(rows[0])} entries like the first row (got {len(rows[wrong])})"
                raise validation_error(words, (*at, wrong))
            return np.array(rows)
        for i, item in enumerate(value):
            if type(item) not in (int, float) or item != item:
                raise validation_error(f"must be a number (got {check.quote(item)})", (*at, i))
            _check_size(item, (*at, i))
            if self.limits.exclude(item):
                raise validation_error(f"must be {self.limits.words} (got {format_limit(item)})", (*at, i))
        return np.array(value, float)


class FunctionType(_PlainType):
    """Pydantic type of a function: the name of a function in the catalogue, or of the user's own function."""

    def __init__(self, kinds: tuple[Any, ...]):
        self.kinds = kinds
        self.json_schema = {"kinds": kinds} if kinds else {"type": "string", "pattern": USER_NAME_PATTERN}

    def build(self, value: str, info: Any) -> BuiltObject:
        """Return the function."""
        if ":" in value:
            return BuiltObject(info.context.load(value), value)
        entry = catalogue().get(value)
        if entry is not None and not isinstance(entry.make, type) and value not in entries_of(self.kinds):
            return BuiltObject(entry.make, value)
        if self.kinds:
            return ComponentType(self.kinds).build(value, info)
        raise validation_error(f"must be a function, written MODULE:NAME (got {value!r})")


class ComponentType(_PlainType):
    """Pydantic type of a component: its name, or a table with a type; other values only if `anything` is True."""

    def __init__(self, kinds: tuple[Any, ...], anything: bool = False):
        self.kinds, self.anything = kinds, anything
        self.json_schema = {} if anything else {"kinds": kinds}

    def build(self, value: Any, info: Any) -> BuiltObject:
        """Return the component."""
        if self.anything and not (isinstance(value, dict) and "type" in value):
            return BuiltObject(value, value)
        return info.context.construct(value, self.kinds)


@functools.cache
def model_of(entry: Entry) -> pydantic.TypeAdapter:
    """Return the pydantic model of the table that describes a component of the catalogue."""
    return table_model(entry.parameters, entry.name, entry.open_ended)


def table_model(parameters: Iterable[Parameter], type_name: str = "", open_ended: bool = False) -> pydantic.TypeAdapter:
    """Return the pydantic model of a table with these keys, and with the key `type` if `type_name` is given."""
    fields: dict[str, Any] = {"type": Literal[type_name]} if type_name else {}
    for parameter in parameters:
        default = to_toml(parameter.default)
        more = {"default": default} if type(default) in (bool, int, float, str) and default != float("inf") else {}
        kind = Annotated[
            type_of(parameter),
            pydantic.Field(description=_sentence(parameter.description), json_schema_extra=more or None),
        ]
        fields[parameter.name] = kind if parameter.required else NotRequired[kind]
    table: Any = TypedDict(type_name or "Table", fields)  # type: ignore[misc]
    table.__pydantic_config__ = pydantic.ConfigDict(strict=True, extra="allow" if open_ended else "forbid")
    return pydantic.TypeAdapter(table)


def _sentence(words: str) -> str | None:
    return words[:1].upper() + words[1:] or None


def format_accepted(parameter: Parameter) -> str:
    """Format which values a parameter accepts, such as "a number above 0" or "an estimator or a number"."""
    if parameter.choices:
        return f"one of {', '.join(map(repr, parameter.choices))}"
    words = [article_of(parameter.kinds)] if "component" in parameter.takes else []
    words += [TYPE_NAMES[taken] for taken in TYPE_NAMES if taken in parameter.takes]
    limits = f" {parameter.limits.words}" if parameter.limits.words and parameter.takes & {"number", "integer"} else ""
    return (" or ".join(words) or "anything") + limits


def to_toml(value: Any) -> Any:
    """Convert an object to tables, numbers and texts of a study file; a function becomes its name."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, jax.Array | np.ndarray):
        return np.asarray(value).tolist()
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return [to_toml(item) for item in value]
    if dataclasses.is_dataclass(value):
        fields = [field.name for field in dataclasses.fields(value) if field.init]
        return {"type": type(value).__name__} | {name: to_toml(getattr(value, name)) for name in fields}
    return getattr(value, "__name__", "the default")


def names_of(kinds: tuple[Any, ...]) -> list[str]:
    """Return the names of component kinds, which are texts or classes."""
    return [kind.__name__ if isinstance(kind, type) else kind.strip("`") for kind in kinds]


def noun_of(kinds: tuple[Any, ...]) -> str:
    """Format component kinds as a noun, such as "learner or combiner"."""
    return " or ".join(names_of(kinds)) if len(kinds) <= 4 else "component"


def article_of(kinds: tuple[Any, ...]) -> str:
    """Format component kinds with an article, such as "a learner or combiner"."""
    return with_article(noun_of(kinds))


def with_article(noun: str) -> str:
    """Return a noun with its indefinite article."""
    if noun in ("noise", "feedback"):
        return "a noise distribution" if noun == "noise" else "a feedback"
    return f"an {noun}" if noun[0] in "aeioAEIO" else f"a {noun}"
