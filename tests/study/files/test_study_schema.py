"""The JSON schema of study files: written by commands, true of the examples, and as strict as a schema can be."""

import copy
import json
import re
import tomllib

import jsonschema
import pytest
from study_files import BANDITS, COPIES, DATA
from typer.testing import CliRunner

from jaxonline.cli import app
from jaxonline.study.files import keys
from jaxonline.study.files.catalogue import catalogue
from jaxonline.study.files.schema import GRID_SUFFIX, schema_text
from jaxonline.study.files.templates import EXAMPLES, example_path, write_study_template

SCHEMA = json.loads(schema_text())


def test_commands_write_the_schema(tmp_path):
    done = CliRunner().invoke(app, ["schema"])
    assert (done.exit_code, json.loads(done.stdout)) == (0, SCHEMA)
    assert CliRunner().invoke(app, ["schema", "--out", str(tmp_path / "own.json")]).exit_code == 0
    write_study_template("bandits", str(tmp_path / "bandits.toml"))
    write_study_template("experts", str(tmp_path / "experts.toml"))  # the same schema again
    for name in ("own.json", "study.schema.json"):
        assert json.loads((tmp_path / name).read_text()) == SCHEMA
    first = (tmp_path / "bandits.toml").read_text().splitlines()[0]
    assert first == "#:schema study.schema.json"  # a path from the file's folder
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "study.schema.json").write_text("{}")
    with pytest.raises(FileExistsError, match="not a schema of study files"):
        write_study_template("bandits", str(tmp_path / "other" / "bandits.toml"))
    assert not (tmp_path / "other" / "bandits.toml").exists()


def test_the_schema_has_every_key_and_name():
    assert set(SCHEMA["properties"]) == set(keys.STUDY)
    assert sorted(SCHEMA["required"]) == ["game", "learners", "rounds"]
    names = {
        name.removesuffix(GRID_SUFFIX) for name, each in SCHEMA["$defs"].items() if "type" in each.get("properties", {})
    }
    assert names <= set(catalogue())
    unreachable = {name for name in catalogue() if name not in names}
    assert unreachable == {"AttributePairs", "StudentCoordinates"} & unreachable
    learner = SCHEMA["$defs"]["GradientLearner" + GRID_SUFFIX]["properties"]
    assert learner["radius"]["anyOf"][0] == {"type": "number", "exclusiveMinimum": 0}
    assert learner["hypothesis"]["default"] == "last"
    references = [part.split('"')[0] for part in json.dumps(SCHEMA).split('"#/$defs/')[1:]]
    assert set(references) <= set(SCHEMA["$defs"])
    assert all(re.fullmatch(r"[\w.-]+", name) for name in SCHEMA["$defs"])  # what a reference need not escape


@pytest.fixture(scope="module")
def validator():
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    return jsonschema.Draft7Validator(SCHEMA)


@pytest.mark.parametrize("name", EXAMPLES)
def test_examples_satisfy_the_schema(validator, name):
    text = example_path(name).read_text()
    assert text.startswith("#:schema ")
    assert list(validator.iter_errors(tomllib.loads(text))) == []


DECIDED = {name: value for name, value in BANDITS.items() if name != "runs"} | {"until": {"margin": 0.5}}


@pytest.mark.parametrize("table", [BANDITS, COPIES, DATA, DECIDED], ids=["bandits", "copies", "data", "decided"])
def test_valid_files_satisfy_the_schema(validator, table):
    assert list(validator.iter_errors(table)) == []


BAD = [
    (BANDITS, ("rounds",), 0), (BANDITS, ("rounds",), "many"), (BANDITS, ("rnds",), 5), (BANDITS, ("rounds",), None),
    (BANDITS, ("precision",), {"half_width": 0.1}), (BANDITS, ("until",), {"margin": 0.1}), (DECIDED, ("until",), {}),
    (BANDITS, ("game", "loss"), "ArmLos"), (BANDITS, ("seed",), -1),
    (BANDITS, ("game", "loss"), "L2Ball"), (BANDITS, ("game", "environment", "means"), "x"),
    (BANDITS, ("game", "environment", "mens"), [0.1]), (BANDITS, ("game", "environment", "means"), None),
    (BANDITS, ("learners",), {}), (BANDITS, ("learners", "greedy", "epsilon"), []), (BANDITS, ("spacing",), "lin"),
    (BANDITS, ("learners", "greedy", "epsilon"), [-1]), (BANDITS, ("learners", "greedy", "epsilon"), "x"),
    (BANDITS, ("learners", "EXP3", "n_arms"), 2.5), (BANDITS, ("comparator",), "BestArn"),
    (COPIES, ("learners", "clean", "estimator"), "TwoCopy"), (COPIES, ("learners", "clean", "radius"), 0),
    (COPIES, ("tune",), -0.5), (COPIES, ("precision", "half_width"), 0), (COPIES, ("tune", "runs"), "all"),
    (DATA, ("game", "environment", "order"), "sorted"), (DATA, ("learners", "mine", "type"), "mine.Mine"),
    (DATA, ("learners", "adam", "step_size", "eta"), [0.1, -0.1]),
]  # fmt: skip


@pytest.mark.parametrize(("table", "at", "value"), BAD, ids=lambda each: str(each)[:30])
def test_invalid_files_violate_the_schema(validator, table, at, value):
    table = copy.deepcopy(table)
    inner = table
    for key in at[:-1]:
        inner = inner[key]
    if value is None:
        del inner[at[-1]]
    else:
        inner[at[-1]] = value
    assert not validator.is_valid(table)
