"""The JSON schema of study files: up to date, true of the examples, and as strict as a schema can be."""

import copy
import json
import re
import tomllib

import jsonschema
import pytest
from study_files import BANDITS, COPIES, DATA

from jaxonline.study.files import keys
from jaxonline.study.files.catalogue import catalogue
from jaxonline.study.files.schema import schema_text
from jaxonline.study.files.templates import EXAMPLES, SCHEMA, SEVERAL, example_text, names_in_schema

SHIPPED = json.loads(SCHEMA.read_text(encoding="utf-8"))


def test_it_is_up_to_date():
    """If not: python -m jaxonline.study.files.schema. With another optax, optimizers and schedules may be others."""
    made = json.loads(schema_text())
    if made["$comment"] == SHIPPED["$comment"]:
        assert SCHEMA.read_text(encoding="utf-8") == schema_text()
    ours = {name for name, each in catalogue().items() if each.room != "optax"}
    assert made["properties"] == SHIPPED["properties"]
    for name, table in made["$defs"].items():
        assert name.removesuffix(SEVERAL) not in ours or table == SHIPPED["$defs"][name]


def test_it_has_every_key_and_every_name_that_a_file_can_reach():
    assert set(SHIPPED["properties"]) == set(keys.STUDY)
    assert SHIPPED["required"] == ["rounds", "game", "learners"]
    names = names_in_schema()
    assert set(names) <= set(catalogue())
    unreachable = {name for name in catalogue() if name not in names}
    assert unreachable == {"AttributePairs", "PolynomialSequenceEstimator", "PolynomialSequenceEstimator.for_sequence",
                           "StudentCoordinates", "bernstein", "chebyshev"} & unreachable  # fmt: skip
    learner = SHIPPED["$defs"]["GradientLearner" + SEVERAL]["properties"]
    assert learner["radius"]["anyOf"][0] == {"type": "number", "exclusiveMinimum": 0.0}
    assert learner["hypothesis"]["default"] == "last"
    references = [part.split('"')[0] for part in json.dumps(SHIPPED).split('"#/$defs/')[1:]]
    assert set(references) <= set(SHIPPED["$defs"])
    assert all(re.fullmatch(r"[\w.-]+", name) for name in SHIPPED["$defs"])  # what a reference need not escape


@pytest.fixture(scope="module")
def validator():
    jsonschema.Draft7Validator.check_schema(SHIPPED)
    return jsonschema.Draft7Validator(SHIPPED)


@pytest.mark.parametrize("name", EXAMPLES)
def test_the_examples_are_valid(validator, name):
    text = example_text(name)
    assert text.startswith("#:schema ")
    assert list(validator.iter_errors(tomllib.loads(text))) == []


@pytest.mark.parametrize("table", [BANDITS, COPIES, DATA], ids=["bandits", "copies", "data"])
def test_good_files_are_valid(validator, table):
    assert list(validator.iter_errors(table)) == []


BAD = [
    (BANDITS, ("rounds",), 0), (BANDITS, ("rounds",), "many"), (BANDITS, ("rnds",), 5), (BANDITS, ("rounds",), None),
    (BANDITS, ("precision",), {"half_width": 0.1}), (BANDITS, ("game", "loss"), "ArmLos"), (BANDITS, ("seed",), -1),
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
def test_what_is_refused_is_invalid(validator, table, at, value):
    table = copy.deepcopy(table)
    inner = table
    for key in at[:-1]:
        inner = inner[key]
    if value is None:
        del inner[at[-1]]
    else:
        inner[at[-1]] = value
    assert not validator.is_valid(table)
