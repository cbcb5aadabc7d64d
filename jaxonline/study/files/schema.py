"""The JSON schema of study files, generated from the catalogue: what editors complete and check them by.

`python -m jaxonline.study.files.schema` writes `study.schema.json` beside this file; a test says when that is due.
"""

import importlib.metadata
import json
from typing import Any

from jaxonline.study.files import keys
from jaxonline.study.files.building import as_toml
from jaxonline.study.files.catalogue import HEADINGS, Entry, catalogue, fitting
from jaxonline.study.files.parameters import Limits, Parameter
from jaxonline.study.files.templates import SCHEMA, SEVERAL

OWN = {"type": "string", "pattern": r"^[A-Za-z_][\w.]*:[A-Za-z_]\w*$"}
ARRAY = {"type": "array", "minItems": 1, "items": {"anyOf": [{"type": "number"}, {"$ref": "#/$defs/numbers"}]}}
_LIMITS = {"gt": "exclusiveMinimum", "ge": "minimum", "lt": "exclusiveMaximum", "le": "maximum"}


def schema() -> dict[str, Any]:
    """The schema."""
    made = _Schema()
    top = {name: made.of(each) for name, each in keys.STUDY.items()}
    top["precision"] = made.table(keys.PRECISION)
    top["game"] = made.table(keys.GAME)
    top["record_at"] = {"anyOf": [_number("integer", Limits(ge=1)), _listed(_number("integer", Limits(ge=1)))]}
    top["learners"] = {"type": "object", "minProperties": 1, "additionalProperties": {"$ref": "#/$defs/a-learner"}}
    top["bounds"] = {"type": "object", "additionalProperties": made.component(("bound",), in_learner=False)}
    eta = _number("number", Limits(gt=0.0))
    best = made.table(keys.TUNE)
    best["properties"]["best_of"] = _listed(eta)
    top["tune"] = {
        "anyOf": [eta, best, {"type": "object", "additionalProperties": eta, "not": {"required": ["best_of"]}}]
    }
    for name, each in keys.STUDY.items():
        top[name] = {"allOf": [top[name]], "description": _sentence(each.words)}
    made.defs["numbers"] = ARRAY
    made.defs["a-learner"] = made.component(("learner",), in_learner=True)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$comment": f"optax {importlib.metadata.version('optax')}",  # which has optimizers and schedules
        "title": "A study of jaxonline",
        "description": "docs/study-files.md says what the keys mean; `jaxonline list NAME` what a type takes.",
        "type": "object",
        "additionalProperties": False,
        "required": [name for name, each in keys.STUDY.items() if each.required],
        "oneOf": [{"required": ["runs"]}, {"required": ["precision"]}],
        "properties": top,
        "$defs": made.defs,
    }


class _Schema:
    """Collects the definitions of the entries: twice where lists of values may stand in a learner."""

    def __init__(self) -> None:
        self.defs: dict[str, Any] = {}

    def table(self, parameters: dict[str, Parameter]) -> dict[str, Any]:
        """A table whose keys are known."""
        return {
            "type": "object", "additionalProperties": False,
            "properties": {name: self.of(each) for name, each in parameters.items()},
            "required": [name for name, each in parameters.items() if each.required],
        }  # fmt: skip

    def of(self, parameter: Parameter, in_learner: bool = False) -> dict[str, Any]:
        """What a parameter takes."""
        takes, several = parameter.takes, []
        if takes & {"anything"}:
            return {}
        for kind in ("number", "integer"):
            if kind in takes:
                several.append(_number(kind, parameter.limits))
        if "seed" in takes:
            several.append(_number("integer", Limits(ge=0, lt=2**32)))
        if "flag" in takes:
            several.append({"type": "boolean"})
        if "text" in takes:
            several.append({"enum": list(parameter.choices)} if parameter.choices else {"type": "string"})
        if "component" in takes:
            several.append(self.component(parameter.kinds, in_learner))
        if "function" in takes:
            several.append(OWN if not parameter.kinds else {"type": "string"})
        one_of_them = bool(takes & {"array", "components", "texts"})
        if in_learner and several and not one_of_them:
            several.append(_listed({"anyOf": list(several)}))
        if "array" in takes:
            several.append({"$ref": "#/$defs/numbers"})
        if "texts" in takes:
            several.append(_listed({"type": "string"}) | {"minItems": 0})
        if "components" in takes:
            several.append(_listed(self.component(parameter.kinds, False)) | {"minItems": 0})
        if "nothing" in takes:
            several.append({"type": "null"})
        found: dict[str, Any] = {"anyOf": several} if len(several) > 1 else dict(several[0]) if several else {}
        if "$ref" in found:  # beside which nothing else counts
            found = {"allOf": [found]}
        if parameter.words:
            found["description"] = _sentence(parameter.words)
        default = as_toml(parameter.default)
        if isinstance(default, bool | int | float | str) and default not in (float("inf"), "the default"):
            found["default"] = default
        return found

    def component(self, kinds: tuple[Any, ...], in_learner: bool) -> dict[str, Any]:
        """A component, defined once for what it may be."""
        entries = fitting(kinds)
        names = [each.__name__ if isinstance(each, type) else each.strip("`") for each in kinds]
        name = f"one-of-{'-or-'.join(names)}{SEVERAL if in_learner else ''}".replace(" ", "-")
        if name not in self.defs:
            self.defs[name] = {}  # what contains its own kind
            self.defs[name] = self.choice(entries, in_learner)
        return {"$ref": f"#/$defs/{name}"}

    def choice(self, entries: dict[str, Entry], in_learner: bool) -> dict[str, Any]:
        """The name of an entry that needs nothing, a table, or MODULE:NAME."""
        bare = [name for name, each in entries.items() if not any(p.required for p in each.parameters)]
        tables = [{"$ref": f"#/$defs/{self.define(each, in_learner)}"} for each in entries.values()]
        own = {"type": "object", "required": ["type"], "properties": {"type": OWN}}
        several: list[dict[str, Any]] = [{"enum": bare}] if bare else []
        return {"anyOf": [*several, OWN, *tables, own]}

    def define(self, entry: Entry, in_learner: bool) -> str:
        """The table of an entry, defined once; returns what it is called."""
        name = entry.name + (SEVERAL if in_learner else "")
        if name not in self.defs:
            self.defs[name] = {}  # what contains its own kind
            properties = {each.name: self.of(each, in_learner) for each in entry.parameters if not each.in_python_only}
            properties |= {each.name: OWN for each in entry.parameters if each.in_python_only}
            if in_learner and entry.kind == "learner":
                properties["feedback"] = self.component(("feedback",), False)
            required = [each.name for each in entry.parameters if each.required and each.name != "step_size"]
            self.defs[name] = {
                "type": "object", "description": entry.line, "additionalProperties": entry.open_ended,
                "required": ["type", *required], "properties": {"type": {"const": entry.name}, **properties},
            }  # fmt: skip
        return name


def _number(kind: str, limits: Limits) -> dict[str, Any]:
    return {"type": kind} | {_LIMITS[key]: value for key, value in limits._asdict().items() if value is not None}


def _listed(one: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "minItems": 1, "items": one}


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def schema_text() -> str:
    """The schema as its file has it."""
    assert set(HEADINGS) >= {each.kind for each in catalogue().values()}
    return json.dumps(schema(), ensure_ascii=False, separators=(",", ":")).replace('},"', '},\n"') + "\n"


if __name__ == "__main__":
    SCHEMA.write_text(schema_text(), encoding="utf-8")
