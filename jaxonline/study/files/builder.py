"""Construction of objects from the tables of a study file, after validation by pydantic models."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from pydantic_core import ValidationError

from jaxonline.game.roles import Environment, Feedback, Learner
from jaxonline.game.round import check_role
from jaxonline.parameters import check
from jaxonline.parameters.errors import did_you_mean
from jaxonline.parameters.signatures import Parameter, members_of
from jaxonline.study.files.catalogue import PROTOCOLS, Entry, catalogue, entries_of, user_entry
from jaxonline.study.files.key_lines import KeyPath
from jaxonline.study.files.models import (
    BuiltObject,
    article_of,
    error_keys,
    format_accepted,
    model_of,
    noun_of,
    table_model,
    to_toml,
    validation_error,
    with_article,
)
from jaxonline.study.files.reading import SourceFile, StudyFileError
from jaxonline.study.files.user_code import load_user_object


class Builder:
    """Builds objects from tables of a study file; parameters that are numbers of rounds have the default `horizon`."""

    def __init__(self, source: SourceFile, horizon: int):
        self.source, self.horizon = source, horizon

    def component(self, value: Any, at: KeyPath, kinds: tuple[Any, ...], beside: tuple[str, ...] = ()) -> BuiltObject:
        """Build the object that a name or a table describes, without the keys `beside`; raises StudyFileError."""
        if isinstance(value, dict):
            value = {key: item for key, item in value.items() if key not in beside}
        return self._located(at, lambda: self.construct(value, kinds))

    def value(self, parameter: Parameter, value: Any, at: KeyPath) -> BuiltObject:
        """Build the value of one parameter from the value of its key in the file."""
        return self._located(at, lambda: self.table({parameter.name: value}, (parameter,))[parameter.name], 1)

    def keys(
        self, parameters: Mapping[str, Parameter], table: Mapping[str, Any], at: KeyPath
    ) -> dict[str, BuiltObject]:
        """Build the values of the keys in a table; keys that the table does not have are left out."""
        return self._located(
            at, lambda: self.table(table, tuple(parameters.values()), at[-1] if at else "a study file")
        )

    def _located(self, at: KeyPath, make: Callable[[], Any], skipped: int = 0) -> Any:
        """Call `make`; a validation error inside becomes a StudyFileError at the invalid key."""
        try:
            return make()
        except ValidationError as error:
            first = error.errors(include_url=False)[0]
            raise self.error_at((*at, *error_keys(first)[skipped:]), first["msg"]) from error.__cause__

    def table(
        self, table: Mapping[str, Any], parameters: tuple[Parameter, ...], name: Any = "", entry: Entry | None = None
    ) -> dict[str, Any]:
        """Validate a table and return its values; unknown keys are reported before missing or wrong keys."""
        model = model_of(entry) if entry else table_model(parameters)
        try:
            return model.validate_python(table, context=self)
        except ValidationError as error:
            errors = error.errors(include_url=False)
        known = {parameter.name: parameter for parameter in parameters}
        first = next((entry_error for entry_error in errors if entry_error["type"] == "extra_forbidden"), errors[0])
        at, key = error_keys(first), str(first["loc"][-1])
        if first["type"] == "extra_forbidden":
            what = f"{entry.name} has" if entry else f"{name} has"
            suggestion = did_you_mean(key, known)
            raise validation_error(f"unknown key{suggestion} ({what} {', '.join(known) or 'no keys'})", at)
        if first["type"] == "missing":
            words = f"({format_accepted(known[key])}) for {entry.name}" if entry else f": {known[key].description}"
            raise validation_error(
                f"needs {key} {words}" if at[:-1] or entry or name != "a study file" else f"{key} is missing{words}"
            )
        raise validation_error(first["msg"], at)

    def construct(self, value: Any, kinds: tuple[Any, ...]) -> BuiltObject:
        """Build the object that a name, or a table with a type, describes."""
        table = {"type": value} if isinstance(value, str) else value
        if not isinstance(table, dict):
            raise validation_error(
                f"must be {article_of(kinds)}, by its name or as a table with a type (got {check.quote(value)})"
            )
        if not isinstance(table.get("type"), str):
            words = f"must name the {noun_of(kinds)} (got {check.quote(table.get('type'))})"
            raise validation_error(words, ("type",))
        where = ("type",) if table is value else ()
        name, given = table["type"], {key: item for key, item in table.items() if key != "type"}
        if ":" in name:
            return self._own(name, given, where, kinds)
        known = entries_of(kinds)
        if name not in known:
            entry = catalogue().get(name)
            choices = f" ({', '.join(known)})" if len(known) <= 8 and entry is None else ""
            other = f", which is {with_article(entry.kind)}" if entry else did_you_mean(name, known)
            raise validation_error(f"must be {article_of(kinds)}{choices} (got {name!r}){other}", where)
        return self._construct(known[name], given)

    def _construct(self, entry: Entry, given: Mapping[str, Any]) -> BuiltObject:
        built = self.table({"type": entry.name, **given}, entry.parameters, entry=entry)
        del built["type"]
        resolved: dict[str, Any] = {"type": entry.name}
        for parameter in entry.parameters:
            if parameter.name in built:
                continue
            value, shown = parameter.default, to_toml(parameter.default)
            if "horizon" in parameter.takes:
                value, shown = float(self.horizon) if "number" in parameter.takes else self.horizon, self.horizon
            if "horizon" in parameter.takes or ("nothing" in parameter.takes and value is None):
                built[parameter.name] = BuiltObject(value, shown)
            else:
                resolved[parameter.name] = shown
        arguments = {name: item.value if isinstance(item, BuiltObject) else item for name, item in built.items()}
        resolved |= {name: item.resolved if isinstance(item, BuiltObject) else item for name, item in built.items()}
        names = ["type", *(parameter.name for parameter in entry.parameters)]
        resolved = {name: resolved[name] for name in (*names, *resolved)}
        if entry.name == "data":
            arguments["folder"] = self.source.folder
        value = call_constructor(entry.name, entry.make, arguments)
        if entry.name == "data":
            resolved["sha256"] = _checksum(value)
        return BuiltObject(value, resolved)

    def _own(self, name: str, given: dict[str, Any], where: KeyPath, kinds: tuple[Any, ...]) -> BuiltObject:
        """Return an object of the user's module; a class (or a function, if keys are given) is called with the keys."""
        loaded = self.load(name, where)
        if callable(loaded) and (isinstance(loaded, type) or given):
            built = self._construct(user_entry(name, loaded), given)
        elif given:
            raise validation_error(f"must be left out, as {name} takes no keys", (next(iter(given)),))
        else:
            built = BuiltObject(loaded, {"type": name})
        role: Any = PROTOCOLS.get(kinds[0]) if len(kinds) == 1 else None
        if role in (Environment, Feedback, Learner):
            try:
                check_role(name, built.value, role)
            except TypeError as error:
                raise validation_error(str(error), where) from None
            return built
        needed = members_of(role) if role else ()
        missing = next((member for member in needed if not hasattr(built.value, member)), None)
        if missing is not None:
            raise validation_error(
                f"must be {article_of(kinds)}, with {', '.join(needed)} (got {name}, which has no {missing})", where
            )
        return built

    def load(self, name: str, at: KeyPath = ()) -> Any:
        """Load an object of the user's module by its name "MODULE:NAME"."""
        try:
            return load_user_object(self.source.folder, name)
        except ValueError as error:
            raise validation_error(str(error), at) from None

    def load_at(self, name: str, at: KeyPath) -> Any:
        """Load an object of the user's module; an error names the key `at`."""
        return self._located(at, lambda: self.load(name))

    def call(self, name: str, make: Callable[..., Any], arguments: dict[str, Any], at: KeyPath) -> Any:
        """Call a constructor; an error names the key `at`."""
        return self._located(at, lambda: call_constructor(name, make, arguments))

    def error_at(self, at: KeyPath, words: str) -> StudyFileError:
        """Return a StudyFileError that names the file, line and key."""
        return self.source.error_at(at, words)


def call_constructor(name: str, make: Callable[..., Any], arguments: dict[str, Any]) -> Any:
    """Call a constructor; the error of an argument becomes an error at the key with the argument's name."""
    try:
        return make(**arguments)
    except (ValidationError, StudyFileError):
        raise
    except (ValueError, TypeError, OverflowError, OSError, ArithmeticError, MemoryError) as error:
        argument = getattr(error, "argument", None)
        if argument in arguments:
            raise validation_error(error.problem, (argument,)) from error  # type: ignore[union-attr]
        raise validation_error(f"{name}: {str(error) or type(error).__name__}") from error
    except Exception as error:  # raised by user code
        raise validation_error(f"{name}: {type(error).__name__}: {error}") from error


def _checksum(stream: Any) -> str:
    from jaxonline.datasets import checksum

    return checksum(np.asarray(stream.X), np.asarray(stream.y))[:16]
