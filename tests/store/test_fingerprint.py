"""What decides the numbers of a study: an edit that changes them is seen, one that does not is none, and what cannot be
seen is refused. Nothing is played here."""

import importlib.util
import os
import random
import sys
import threading
from pathlib import Path

import jax
import numpy as np
import pytest
from registry import LEARNERS

import jaxonline as jo
from jaxonline.store import fingerprint as module
from jaxonline.store.fingerprint import describe_inputs, fingerprint, hash_user_code

HELPERS = """
FACTOR = 2.0

def helper(x):
    return deeper(x) * FACTOR

def deeper(x):
    return x + 1.0
"""

STUDY = """
import jax
import numpy as np
import optax
import jaxonline as jo
from helpers_of_mine import helper

SCALE = 0.5
WEIGHTS = np.array([1.0, 2.0])
UNUSED = 1

def spread(x):
    return SCALE * x

class Base:
    def update(self, key, state, oracle):
        return state * 0.9, None

@jo.struct
class Learner(Base):
    step: float
    law: object = jo.static(default=None)

    def predict(self, key, state, x):
        def nested(z):
            return z @ WEIGHTS
        return nested(state) + self.bias

    @property
    def bias(self):
        return 0.25

@jax.custom_jvp
def curved(x):
    return x

@curved.defjvp
def curved_jvp(primals, tangents):
    return primals[0], 3.0 * tangents[0]

LAWS = [spread, helper, curved, lambda key, x: x * 13.0, optax.sgd(0.1875)]
learner = Learner(0.1, law=tuple(LAWS))
"""


@pytest.fixture
def written(tmp_path, monkeypatch):
    """The study of a text, and another text of helpers, as a user writes them in two files and imports them."""
    monkeypatch.setattr(sys, "dont_write_bytecode", True)
    names = []

    def load(study=STUDY, helpers=HELPERS, name="study_of_mine"):
        for each, text in (("helpers_of_mine", helpers), (name, study)):
            path = tmp_path / f"{each}.py"
            path.write_text(text)
            spec = importlib.util.spec_from_file_location(each, path)
            sys.modules[each] = importlib.util.module_from_spec(spec)
            spec.loader.exec_module(sys.modules[each])
            names.append(each)
        return sys.modules[name]

    yield load
    for name in names:
        sys.modules.pop(name, None)


def about(study) -> dict[str, str]:
    return describe_inputs({"learner": study.learner, "n_rounds": 5})


EDITS = {  # tests/drills/test_stale_edits.py has other kinds of edits, and does not look at the names
    "an update": ("state * 0.9", "state * 0.8", "the code of Base.update"),
    "a global": ("SCALE = 0.5", "SCALE = 0.6", "the global SCALE of spread"),
    "a global array": ("[1.0, 2.0]", "[1.0, 2.5]", "the global WEIGHTS of Learner.predict"),
    "a nested function": ("z @ WEIGHTS", "-z @ WEIGHTS", "the code of Learner.predict"),
    "a property": ("return 0.25", "return 0.26", "the code of Learner.bias"),
    "a number": ("Learner(0.1", "Learner(0.2", "learner"),
    "a derivative": ("3.0 * tangents", "4.0 * tangents", "the code of curved_jvp"),
    "a lambda": ("x * 13.0", "x * 14.0", "the code of <lambda>"),
    "inside optax": ("sgd(0.1875)", "sgd(0.1876)", "learner"),
    "a function in another file": ("x + 1.0", "x + 2.0", "the code of deeper"),
    "a global in another file": ("FACTOR = 2.0", "FACTOR = 3.0", "the global FACTOR of helper"),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_changes_the_fingerprint_and_is_named(written, name):
    before, after, told = EDITS[name]
    assert before in STUDY + HELPERS
    first = about(written())
    second = about(written(STUDY.replace(before, after), HELPERS.replace(before, after)))
    changed = {key for key in first | second if first.get(key) != second.get(key)}
    assert fingerprint(first) != fingerprint(second)
    assert {"learner", told} <= changed


def test_irrelevant_changes_keep_the_fingerprint(written):
    """Comments and docstrings are in tests/drills/test_stale_edits.py."""
    first = about(written())
    for before, after in (
        ("UNUSED = 1", "UNUSED = 2"), ("import optax\n", "import math\nimport optax\n"),
        ("\ndef spread", "\n# a remark\n\n\ndef unused():\n    return SCALE\n\ndef spread"),
    ):  # fmt: skip
        assert about(written(STUDY.replace(before, after))) == first
    assert about(written(name="under_another_name")) == first


def test_a_file_edited_after_its_import_does_not_count(written, tmp_path):
    """The old code runs, and is what counts; a global that is changed afterwards counts."""
    study = written()
    old = about(study)
    (tmp_path / "study_of_mine.py").write_text(STUDY.replace("state * 0.9", "state * 0.85"))
    assert about(study) == old
    study.SCALE = 0.75
    assert about(study) != old
    assert hash_user_code({"learner": study.learner}) != hash_user_code({"learner": written().learner})


def test_functions_without_a_file_are_compared():
    """As in a notebook."""

    def law_of(text):
        space = {"SCALE": 2.0}
        exec(text, space)
        return space["law"]

    one, other = law_of("def law(x):\n    return SCALE * x"), law_of("def law(x):\n    return SCALE + x")
    again = law_of("def law(x):\n\n    # remark\n    return SCALE * x")
    hashes = [fingerprint(describe_inputs({"law": law})) for law in (one, other, again, jax.jit(one))]
    assert len(set(hashes)) == 3
    assert hashes[0] == hashes[2]
    again.__globals__["SCALE"] = 3.0
    assert fingerprint(describe_inputs({"law": again})) != hashes[0]


def test_numbers_and_structure_change_the_fingerprint():
    """Values, dtypes, shapes and keys; not whether it is the same object twice."""
    one = np.arange(3.0)
    items = [
        1, 1.0, True, "1", None, (1,), [1], {"a": 1}, {"b": 1}, one, one.astype(np.float32), one[None], one + 1e-15,
        jax.random.key(0), jax.random.key(1), {1, 2}, np.ma.masked_array(one, [0, 1, 0]),
        jax.ShapeDtypeStruct((3,), int), jo.L2Ball(1.0), jo.L2Ball(2.0), np.sin, np.cos,
        jo.GradientLearner(jo.estimators.TwoCopies(), step_size=0.1),
    ]  # fmt: skip
    found = [fingerprint(describe_inputs({"item": item})) for item in items]
    assert len(set(found)) == len(items)
    assert describe_inputs({"item": [one, one]}) == describe_inputs({"item": [one, one.copy()]})
    itself: list = []
    itself.append(itself)
    assert describe_inputs({"item": itself})


@pytest.mark.parametrize("name", LEARNERS)
def test_every_component_of_the_package_can_be_inspected(name):
    entry = LEARNERS[name]()
    first, second = (describe_inputs({"learner": entry.learner, "feedback": entry.feedback}) for _ in range(2))
    assert first == second
    holds_code = name in ("doubling", "known covariance, as printed", "OMKL-GF")  # functions, benchmarks
    assert (hash_user_code({"learner": entry.learner}) != "") == holds_code, "and holds no code of a user"


def test_versions_of_libraries_and_files_of_this_package_change_the_fingerprint(monkeypatch):
    first, version = describe_inputs({"a": 1}), module.importlib.metadata.version
    for name in ("jax", "numpy", "optax"):
        newer = lambda each, name=name: "9.9" if each == name else version(each)  # noqa: E731
        monkeypatch.setattr(module.importlib.metadata, "version", newer)
        assert {key for key in first if first[key] != describe_inputs({"a": 1})[key]} == {f"the version of {name}"}
    monkeypatch.undo()
    module.package_hash.cache_clear()
    read = module.Path.read_bytes
    monkeypatch.setattr(module.Path, "read_bytes", lambda path: read(path) + b"#" * (path.name == "blocks.py"))
    assert {key for key in first if first[key] != describe_inputs({"a": 1})[key]} == {"the code of jaxonline"}
    module.package_hash.cache_clear()


def test_float64_changes_the_fingerprint():
    first = describe_inputs({"a": 1})
    with jax.enable_x64(True):
        assert describe_inputs({"a": 1}) != first


RNG = np.random.default_rng(0)
LOCK = threading.Lock()
FOLDER = Path(__file__).parent


class Hidden:
    """One who holds something."""

    def __init__(self, thing):
        self.thing = thing


def law_that_draws(key, x):
    return x + RNG.normal()


UNINSPECTABLE = {
    "a generator": (RNG, "numpy.random._generator.Generator"),
    "a generator that is global": (law_that_draws, r"Generator'> \(law, the global RNG of law_that_draws\)"),
    "a method of the legacy generator": (np.random.normal, "numpy.random.mtrand.RandomState"),
    "a draw of the legacy generator": (lambda key, x: x + np.random.normal(), "numpy.random.mtrand.RandomState"),  # noqa: NPY002
    "Python's generator": (random.Random(0), "random.Random"),
    "a file": (Hidden(sys.stderr.buffer), r"law, \.thing"),
    "a lock": (Hidden(LOCK), "_thread.lock"),
    "an iterator": ((i for i in range(3)), "generator"),
    "a file of a function": (lambda key, x: x + float(open("data.txt").read()), "what <lambda> reads with open"),  # noqa: SIM115
    "the environment": (lambda key, x: x + float(os.environ["SCALE"]), "what <lambda> reads with os"),
    "a size": (lambda key, x: x + FOLDER.stat().st_size, "what <lambda> reads with FOLDER"),
    "a computed name": (lambda key, x: x + globals()["SCALE"], "what <lambda> reads with globals"),
}  # fmt: skip


def test_names_that_look_like_draws_are_accepted():
    """The names np, random and normal in one function."""
    describe_inputs({"draw": lambda key: np.float32(2.0) * jax.random.normal(key)})


@pytest.mark.parametrize("name", UNINSPECTABLE)
def test_inputs_that_cannot_be_inspected_raise_an_error_with_the_remedy(name):
    law, message = UNINSPECTABLE[name]
    with pytest.raises(TypeError, match=message) as error:
        describe_inputs({"law": law})
    assert str(error.value).startswith("checkpoint: ")
    assert "jo.Checkpoint(folder, version='1')" in str(error.value)
    assert "\n" not in str(error.value)
    assert describe_inputs({"law": law}, version="1") == describe_inputs({"law": law}, version="1")


def test_a_version_replaces_the_code_but_not_the_numbers(written):
    first = written()
    second = written(STUDY.replace("state * 0.9", "state * 0.8").replace("SCALE = 0.5", "SCALE = 0.6"))
    assert describe_inputs({"a": first.learner}, "1") == describe_inputs({"a": second.learner}, "1")
    assert describe_inputs({"a": first.learner}, "1") != describe_inputs({"a": first.learner}, "2")
    for before, after in [("Learner(0.1", "Learner(0.2"), ("sgd(0.1875", "sgd(0.2")]:
        assert describe_inputs({"a": first.learner}, "1") != describe_inputs(
            {"a": written(STUDY.replace(before, after)).learner}, "1"
        )
