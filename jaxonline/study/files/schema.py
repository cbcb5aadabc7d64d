"""The JSON schema of study files, for editors: pydantic's schema, where unions of components are references."""

import json
from pathlib import Path
from typing import Any

from jaxonline.parameters.signatures import Parameter
from jaxonline.store.output_paths import write_text
from jaxonline.study.files import keys
from jaxonline.study.files.catalogue import Entry, entries_of
from jaxonline.study.files.models import USER_NAME_PATTERN, model_of, names_of, table_model

GRID_SUFFIX = "--several"  # suffix of definitions in which a list gives several learners
USER_NAME = {"type": "string", "pattern": USER_NAME_PATTERN}
ARRAY_SCHEMA = {"type": "array", "minItems": 1, "items": {"anyOf": [{"type": "number"}, {"$ref": "#/$defs/numbers"}]}}
ETA_SCHEMA = {"type": "number", "exclusiveMinimum": 0}


SCHEMA_TITLE = "A study of jaxonline"


def write_schema(path: Path) -> Path:
    """Write the JSON schema of study files; FileExistsError if another file has that name."""
    if path.exists() and SCHEMA_TITLE not in path.read_text(encoding="utf-8", errors="replace"):
        raise FileExistsError(f"{path} exists and is not a schema of study files; give another name with --out")
    return write_text(path, schema_text())


def schema_text() -> str:
    """Return the schema as the text of its file."""
    return json.dumps(schema(), ensure_ascii=False, separators=(",", ":")).replace('},"', '},\n"') + "\n"


def schema() -> dict[str, Any]:
    """Return the schema."""
    defs = _Definitions()
    top = defs.table(keys.STUDY)
    tune = defs.table(keys.TUNE)
    tune["properties"]["best_of"] = _list_of(ETA_SCHEMA)
    etas = {"type": "object", "additionalProperties": ETA_SCHEMA, "not": {"required": ["best_of"]}}
    rounds = {"type": "integer", "minimum": 1}
    learner = defs.component(("learner",), GRID_SUFFIX)
    definitions = {
        "precision": defs.table(keys.PRECISION), "until": defs.table(keys.UNTIL), "game": defs.table(keys.GAME),
        "record_at": {"anyOf": [rounds, _list_of(rounds)]}, "tune": {"anyOf": [ETA_SCHEMA, tune, etas]},
        "learners": {"type": "object", "minProperties": 1, "additionalProperties": learner},
        "bounds": {"type": "object", "additionalProperties": defs.component(("bound",))},
    }  # fmt: skip
    for name, definition in definitions.items():
        top["properties"][name] = {"description": top["properties"][name]["description"], "allOf": [definition]}
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": SCHEMA_TITLE,
        "description": "docs/study-files.md describes the keys; `jaxonline list NAME` prints the parameters of a type.",
        **top,
        "oneOf": [{"required": [name]} for name in keys.SIZES],
        "$defs": defs.all,
    }


class _Definitions:
    """Collects schema definitions of components and kinds; parameters of a learner may also be lists of values."""

    def __init__(self) -> None:
        self.all: dict[str, Any] = {"numbers": ARRAY_SCHEMA}

    def table(self, parameters: dict[str, Parameter]) -> dict[str, Any]:
        return self.expand(table_model(parameters.values()).json_schema(), "")

    def expand(self, value: Any, several: str) -> Any:
        """Replace each kind of component in a pydantic schema by a reference to its definition."""
        if isinstance(value, list):
            return [self.expand(item, several) for item in value]
        if not isinstance(value, dict):
            return value
        if "kinds" in value:
            kinds = value["kinds"]
            reference = {"$ref": "#/$defs/numbers"} if kinds == "numbers" else self.component(tuple(kinds), several)
            rest = {key: item for key, item in value.items() if key != "kinds"}
            return rest | {"allOf": [reference]} if rest else reference
        return {"anyOf" if key == "oneOf" else key: self.expand(item, several) for key, item in value.items()
                if key != "title" or not isinstance(item, str)}  # fmt: skip

    def component(self, kinds: tuple[Any, ...], several: str = "") -> dict[str, Any]:
        name = f"one-of-{'-or-'.join(names_of(kinds))}{several}".replace(" ", "-")
        if name not in self.all:
            self.all[name] = {}  # a component may contain its own kind
            entries = entries_of(kinds)
            bare = [entry.name for entry in entries.values() if not any(p.required for p in entry.parameters)]
            tables = [self.entry(entry, several) for entry in entries.values()]
            user_table = {"type": "object", "required": ["type"], "properties": {"type": USER_NAME}}
            self.all[name] = {"anyOf": [*([{"enum": bare}] if bare else []), USER_NAME, *tables, user_table]}
        return {"$ref": f"#/$defs/{name}"}

    def entry(self, entry: Entry, several: str) -> dict[str, Any]:
        name = entry.name + several
        if name not in self.all:
            self.all[name] = {}
            parameters = {parameter.name: parameter for parameter in entry.parameters}
            table = model_of(entry).json_schema()
            table = self.expand(table, several) | {"description": entry.line}
            for key, parameter in parameters.items() if several else ():
                if not parameter.takes & {"array", "components", "texts", "anything"}:
                    one = table["properties"][key]
                    about = {k: one.pop(k) for k in ("description", "default") if k in one}
                    options = one["anyOf"] if set(one) == {"anyOf"} else [one]
                    table["properties"][key] = {"anyOf": [*options, _list_of(one)], **about}
            if several and entry.kind == "learner":
                table["properties"]["feedback"] = self.component(("feedback",))
            table["required"] = [key for key in table["required"] if key != "step_size"]
            self.all[name] = table
        return {"$ref": f"#/$defs/{name}"}


def _list_of(one: dict[str, Any]) -> dict[str, Any]:
    return {"type": "array", "minItems": 1, "items": one}
