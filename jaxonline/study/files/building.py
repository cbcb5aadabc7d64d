"""Tables of a study file made into objects: everything is looked up in the catalogue, checked, and constructed."""

import dataclasses
import math
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxonline.parameters import check
from jaxonline.parameters.suggest import meant
from jaxonline.study.files.catalogue import HEADINGS, KINDS, Entry, catalogue, fitting, own_entry
from jaxonline.study.files.own_code import load_own
from jaxonline.study.files.parameters import Parameter, in_digits
from jaxonline.study.files.positions import KeyPath
from jaxonline.study.files.reading import SourceFile, StudyFileError

SAID = {
    "number": "a number",
    "integer": "an integer",
    "flag": "true or false",
    "text": "a text",
    "texts": "a list of texts",
    "array": "a list of numbers",
    "seed": "a seed, an integer from 0 to 2^32 - 1",
    "function": "a function MODULE:NAME",
    "components": "a list",
}


class Built(NamedTuple):
    """An object, and its configuration with all defaults filled in."""

    value: Any
    resolved: Any


class Builder:
    """Makes objects of the tables of a study file.

    Args:
        source: the file.
        horizon: what stands for `n_rounds` where it is not given.
    """

    def __init__(self, source: SourceFile, horizon: int):
        self.source, self.horizon = source, horizon

    def component(self, value: Any, at: KeyPath, kinds: tuple[Any, ...], beside: tuple[str, ...] = ()) -> Built:
        """The object that a name, or a table with a type, stands for; the keys `beside` are left to the caller.

        Raises:
            StudyFileError: it is neither, there is no such type, or the constructor refuses.
        """
        table = {"type": value} if isinstance(value, str) else value
        if not isinstance(table, dict):
            raise self.wrong(
                at, f"must be {_article(kinds)}, by its name or as a table with a type, got {check.shown(value)}"
            )
        if not isinstance(table.get("type"), str):
            raise self.wrong(
                (*at, "type"), f"must say which {_noun(kinds)} it is, got {check.shown(table.get('type'))}"
            )
        where = (*at, "type") if table is value else at
        name, given = table["type"], {key: each for key, each in table.items() if key not in ("type", *beside)}
        if ":" in name:
            return self.own(name, given, at, where, kinds)
        return self.made(self.entry(name, where, kinds), given, at)

    def entry(self, name: str, at: KeyPath, kinds: tuple[Any, ...]) -> Entry:
        """What the catalogue has under a name, if it is of one of the kinds."""
        known = fitting(kinds)
        if name in known:
            return known[name]
        entry = catalogue().get(name)
        if entry is not None:
            raise self.wrong(at, f"must be {_article(kinds)}, got {name!r}, which is {_with_article(entry.kind)}")
        some = f" ({', '.join(known)})" if len(known) <= 8 else ""
        raise self.wrong(at, f"must be {_article(kinds)}{some}, got {name!r}{meant(name, known)}")

    def made(self, entry: Entry, given: Mapping[str, Any], at: KeyPath) -> Built:
        """What an entry makes of the keys of a table."""
        parameters = {each.name: each for each in entry.parameters}
        for key in given:
            if key not in parameters and not entry.open_ended:
                takes = ", ".join(parameters) or "none"
                raise self.wrong(
                    (*at, key), f"is no parameter of {entry.name}, which has {takes}{meant(key, parameters)}"
                )
        built = {
            name: self.value(each, given[name], (*at, name)) if name in given else self.absent(each, entry, at)
            for name, each in parameters.items()
        }
        built |= {key: Built(value, value) for key, value in given.items() if key not in parameters}
        passed = {name for name, each in parameters.items() if "horizon" in each.takes} | set(given)
        passed |= {name for name, each in parameters.items() if "nothing" in each.takes and each.default is None}
        arguments = {name: each.value for name, each in built.items() if name in passed}
        if entry.name == "data":
            arguments["folder"] = self.source.folder
        value = self.called(entry.name, entry.make, arguments, at)
        resolved = {"type": entry.name} | {name: each.resolved for name, each in built.items()}
        if entry.name == "data":
            resolved["sha256"] = _checksum(value)
        return Built(value, resolved)

    def absent(self, parameter: Parameter, entry: Entry, at: KeyPath) -> Built:
        """The default of a parameter that is not given."""
        if parameter.required:
            raise self.wrong(at, f"needs {parameter.name} ({takes_in_words(parameter)}) for {entry.name}")
        if "horizon" in parameter.takes:
            horizon = float(self.horizon) if "number" in parameter.takes else self.horizon
            return Built(horizon, self.horizon)
        return Built(parameter.default, as_toml(parameter.default))

    def own(self, name: str, given: dict[str, Any], at: KeyPath, where: KeyPath, kinds: tuple[Any, ...]) -> Built:
        """What a module beside the study file has: a class is constructed with the keys, anything else is taken."""
        found = self.loaded(name, where)
        if callable(found) and (isinstance(found, type) or given):
            built = self.made(own_entry(name, found), given, at)
        elif given:
            raise self.wrong((*at, next(iter(given))), f"is a key too many: {name} is there already, and is not called")
        else:
            built = Built(found, {"type": name})
        needed = KINDS.get(kinds[0], ()) if len(kinds) == 1 else ()
        lacks = next((method for method in needed if not hasattr(built.value, method)), None)
        if lacks is not None:
            raise self.wrong(where, f"must be {_article(kinds)}, with {', '.join(needed)}: {name} has no {lacks}")
        return built

    def loaded(self, name: str, at: KeyPath) -> Any:
        """What a module beside the study file has under a name."""
        try:
            return load_own(self.source.folder, name)
        except ValueError as error:
            raise self.wrong(at, str(error)) from None

    def anything(self, value: Any, at: KeyPath) -> Built:
        """An argument of which nothing is known: as it is, or a component by its table."""
        if isinstance(value, dict) and "type" in value:
            return self.component(value, at, tuple(HEADINGS))
        return Built(value, value)

    def value(self, parameter: Parameter, value: Any, at: KeyPath) -> Built:
        """The argument that a key stands for."""
        takes, kinds = parameter.takes, parameter.kinds
        if "anything" in takes:
            return self.anything(value, at)
        if isinstance(value, bool):
            if "flag" in takes:
                return Built(value, value)
        elif isinstance(value, int | float) and takes & {"number", "integer", "array", "seed", "horizon"}:
            return self.number(parameter, value, at)
        elif isinstance(value, str) and "text" in takes:
            if parameter.choices and value not in parameter.choices:
                known = ", ".join(map(repr, parameter.choices))
                raise self.wrong(at, f"must be one of {known}, got {value!r}{meant(value, parameter.choices)}")
            return Built(value, value)
        elif isinstance(value, str) and "function" in takes:
            return self.function(value, at, kinds)
        elif isinstance(value, str | dict) and "component" in takes:
            return self.component(value, at, kinds)
        elif isinstance(value, list) and "components" in takes:
            several = [self.component(each, (*at, i), kinds) for i, each in enumerate(value)]
            return Built([each.value for each in several], [each.resolved for each in several])
        elif isinstance(value, list) and "array" in takes:
            return Built(self.array(value, at), value)
        elif isinstance(value, list) and "texts" in takes and all(isinstance(each, str) for each in value):
            return Built(value, value)
        if value is None and "nothing" in takes:
            return Built(None, None)
        hint = ""
        if isinstance(value, list):
            hint = "; a list of values, one learner for each, may only stand in a learner"
        raise self.wrong(at, f"must be {takes_in_words(parameter)}, got {check.shown(value)}{hint}")

    def number(self, parameter: Parameter, value: int | float, at: KeyPath) -> Built:
        """A number inside its limits."""
        takes = parameter.takes
        if math.isnan(self.as_float(value, at)):
            raise self.wrong(at, "must be a number, got nan")
        if parameter.limits.broken_by(value):
            raise self.wrong(at, f"must be {parameter.limits.words}, got {in_digits(value)}")
        if "number" in takes or takes == {"array"}:
            return Built(self.as_float(value, at), value)
        if not isinstance(value, int):
            raise self.wrong(at, f"must be {takes_in_words(parameter)}, got {value!r}")
        if "seed" in takes:
            if not 0 <= value < 2**32:
                raise self.wrong(at, f"must be from 0 to 2^32 - 1, got {value}")
            return Built(jax.random.key(value), value)
        return Built(value, value)

    def as_float(self, value: int | float, at: KeyPath) -> float:
        """A number of the file as a float."""
        try:
            return float(value)
        except OverflowError:
            raise self.wrong(at, "must be finite, got an integer that is too large") from None

    def array(self, value: Any, at: KeyPath) -> Any:
        """A list of numbers, or of lists of the same length, as an array."""
        if not value:
            raise self.wrong(at, "must hold at least one number, got none")
        rows = [isinstance(each, list) for each in value]
        if all(rows):
            made = [self.array(each, (*at, i)) for i, each in enumerate(value)]
            wrong = next((i for i, each in enumerate(made) if np.shape(each) != np.shape(made[0])), None)
            if wrong is not None:
                raise self.wrong((*at, wrong), f"must be as long as the first, {len(made[0])}, got {len(made[wrong])}")
            return np.array(made)
        for i, each in enumerate(value):
            if isinstance(each, bool) or not isinstance(each, int | float) or math.isnan(self.as_float(each, (*at, i))):
                raise self.wrong((*at, i), f"must be a number, got {check.shown(each)}")
        return np.array(value, float)

    def function(self, value: str, at: KeyPath, kinds: tuple[Any, ...]) -> Built:
        """A function, of the catalogue or the user's own, where one is asked for."""
        if ":" in value:
            return Built(self.loaded(value, at), value)
        entry = catalogue().get(value)
        if entry is not None and not isinstance(entry.make, type) and value not in fitting(kinds):
            return Built(entry.make, value)
        if kinds:
            return self.component(value, at, kinds)
        raise self.wrong(at, f"must be a function, written MODULE:NAME, got {value!r}")

    def called(self, name: str, make: Callable[..., Any], arguments: dict[str, Any], at: KeyPath) -> Any:
        """What a constructor makes; what it refuses is said of the key that it names."""
        try:
            return make(**arguments)
        except StudyFileError:
            raise
        except (ValueError, TypeError, OverflowError, OSError, ArithmeticError, MemoryError) as error:
            words = str(error) or type(error).__name__
            first = words.replace(":", " ").replace("[", " ").split(" ", 1)[0]
            if first in arguments:
                raise self.wrong((*at, first), words.removeprefix(first).removeprefix(":")) from error
            raise self.wrong(at, f"({name}): {words}") from error
        except Exception as error:  # of code of the user's
            raise self.wrong(at, f"({name}): {type(error).__name__}: {error}") from error

    def wrong(self, at: KeyPath, words: str) -> StudyFileError:
        """What is wrong, with its place."""
        return self.source.wrong(at, words)


def takes_in_words(parameter: Parameter) -> str:
    """What a parameter takes: "a number above 0", "an estimator or a number"."""
    if parameter.choices:
        return f"one of {', '.join(map(repr, parameter.choices))}"
    words = [_article(parameter.kinds)] if "component" in parameter.takes else []
    words += [SAID[each] for each in SAID if each in parameter.takes]
    limits = f" {parameter.limits.words}" if parameter.limits.words and parameter.takes & {"number", "integer"} else ""
    return (" or ".join(words) or "a number") + limits


def as_toml(value: Any) -> Any:
    """An object as the tables, numbers and texts of a study file; functions by their names."""
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, jax.Array | np.ndarray):
        return np.asarray(value).tolist()
    if isinstance(value, list | tuple) and not hasattr(value, "_fields"):
        return [as_toml(each) for each in value]
    if dataclasses.is_dataclass(value):
        fields = [each.name for each in dataclasses.fields(value) if each.init]
        return {"type": type(value).__name__} | {name: as_toml(getattr(value, name)) for name in fields}
    return getattr(value, "__name__", "the default")


def _checksum(stream: Any) -> str:
    """Of the rows of a data set."""
    from jaxonline.datasets import checksum

    return checksum(np.asarray(stream.X), np.asarray(stream.y))[:16]


def _noun(kinds: tuple[Any, ...]) -> str:
    names = [each.__name__ if isinstance(each, type) else each.strip("`") for each in kinds]
    return " or ".join(names) if len(names) <= 4 else "component"


def _article(kinds: tuple[Any, ...]) -> str:
    return _with_article(_noun(kinds))


def _with_article(noun: str) -> str:
    if noun in ("noise", "feedback"):
        return "a law of noise" if noun == "noise" else "a feedback"
    return f"an {noun}" if noun[0] in "aeioAEIO" else f"a {noun}"
