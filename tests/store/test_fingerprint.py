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
import optax
import pytest
from fresh_python import run_python
from registry import LEARNERS

import jaxonline as jo
from jaxonline.store import content
from jaxonline.store import fingerprint as module
from jaxonline.store.fingerprint import describe_inputs, fingerprint, hash_user_code

HELPERS = """
FACTOR = 2.0
UNUSED = 1
TABLE = {"a": 1.0}

def helper(x):
    return deeper(x) * FACTOR

def deeper(x):
    return x + 1.0
"""

STUDY = """
import functools

import jax
import jax.numpy as jnp
import numpy as np
import optax

import jaxonline as jo
import helpers_of_mine
from helpers_of_mine import helper

SCALE = 0.5
WEIGHTS = np.array([1.0, 2.0])
OPTIONS = {"power": 2}
UNUSED = 1


def spread(x):
    return SCALE * x


class Base:
    floor = 0.0

    def update(self, key, state, oracle):
        return state * 0.9, None


@jo.struct
class Learner(Base):
    step: float
    law: object = jo.static(default=None)

    def init(self, key, specs):
        return jnp.zeros(specs.instance.shape)

    def predict(self, key, state, x):
        return self._inner(state, x)

    def _inner(self, state, x):
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


def scaled(factor):
    def law(key, x, power=1.5):
        return factor * x**power
    return law


@jax.jit
def compiled_law(key, x):
    return x / 7.0


class Plain:
    def __init__(self, factor):
        self.factor = factor

    def __call__(self, key, x):
        return self.factor * x + OPTIONS["power"]


def by_attribute(key, x):
    return helpers_of_mine.helper(x)


def imports_inside(key, x):
    from helpers_of_mine import TABLE
    return x * TABLE["a"]


def part(key, x, factor):
    return x - factor


LAWS = [
    spread, helper, curved, scaled(0.125), compiled_law, Plain(0.375), Plain(0.625).__call__, by_attribute,
    imports_inside, functools.partial(part, factor=11.0), lambda key, x: x * 13.0, jax.vmap(lambda x: x + 17.0),
    optax.sgd(0.1875),
]
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


EDITS = {
    "an update": ("state * 0.9", "state * 0.8", "the code of Base.update"),
    "a class attribute": ("floor = 0.0", "floor = 0.1", None),
    "a global": ("SCALE = 0.5", "SCALE = 0.6", "the global SCALE of spread"),
    "a global array": ("[1.0, 2.0]", "[1.0, 2.5]", "the global WEIGHTS of Learner._inner"),
    "a global dictionary": ('{"power": 2}', '{"power": 3}', "the global OPTIONS of Plain.__call__"),
    "a nested function": ("z @ WEIGHTS", "-z @ WEIGHTS", "the code of Learner._inner"),
    "a property": ("return 0.25", "return 0.26", "the code of Learner.bias"),
    "a number": ("Learner(0.1", "Learner(0.2", None),
    "a derivative": ("3.0 * tangents", "4.0 * tangents", "the code of curved_jvp"),
    "what a function has closed over": ("scaled(0.125)", "scaled(0.126)", None),
    "a default": ("power=1.5", "power=1.6", None),
    "a compiled function": ("x / 7.0", "x / 8.0", "the code of compiled_law"),
    "an attribute": ("Plain(0.375)", "Plain(0.376)", None),
    "the object of a method": ("Plain(0.625)", "Plain(0.626)", None),
    "an argument of a partial": ("factor=11.0", "factor=12.0", None),
    "a lambda": ("x * 13.0", "x * 14.0", "the code of <lambda>"),
    "what is mapped": ("x + 17.0", "x + 18.0", "the code of <lambda>"),
    "inside optax": ("sgd(0.1875)", "sgd(0.1876)", None),
    "a function in another file": ("x + 1.0", "x + 2.0", "the code of deeper"),
    "a global in another file": ("FACTOR = 2.0", "FACTOR = 3.0", "the global FACTOR of helper"),
    "what is imported when called": ('{"a": 1.0}', '{"a": 2.0}', "TABLE of the module helpers_of_mine"),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_changes_the_fingerprint_and_is_named(written, name):
    before, after, told = EDITS[name]
    assert before in STUDY + HELPERS
    first = about(written())
    second = about(written(STUDY.replace(before, after), HELPERS.replace(before, after)))
    changed = {key for key in first | second if first.get(key) != second.get(key)}
    assert fingerprint(first) != fingerprint(second)
    assert "learner" in changed
    assert told is None or told in changed


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("UNUSED = 1", "UNUSED = 2"),
        ("\n\ndef spread", "\n\n# a remark\n\n\n\ndef unused():\n    return SCALE\n\n\ndef spread"),
        ("import functools\n", "import functools\nimport math\n"),
        ("def spread(x):\n", 'def spread(x):\n    """Scale."""\n    # why\n\n'),
        ("class Base:\n", 'class Base:\n    """A base."""\n\n'),
    ],
)
def test_irrelevant_changes_keep_the_fingerprint(written, before, after):
    first = about(written())
    assert about(written(STUDY.replace(before, after))) == first
    assert about(written(name="under_another_name")) == first


@pytest.mark.long
def test_another_process_has_the_same_fingerprint(written, tmp_path):
    first = about(written())
    code = (
        "from study_of_mine import learner\nfrom jaxonline.store.fingerprint import describe_inputs, fingerprint\n"
        "import jax\nprint(fingerprint(describe_inputs({'learner': learner, 'n_rounds': 5})))"
    )
    assert run_python(code, tmp_path).strip() == fingerprint(first)


def test_a_changed_global_changes_the_fingerprint(written):
    study = written()
    first = about(study)
    study.SCALE = 0.75
    assert about(study) != first
    assert hash_user_code({"learner": study.learner}) != hash_user_code({"learner": written().learner})


def test_a_file_edited_after_its_import_does_not_count(written, tmp_path):
    """The old code runs, and is what counts."""
    study = written()
    old = about(study)
    (tmp_path / "study_of_mine.py").write_text(STUDY.replace("state * 0.9", "state * 0.85"))
    assert about(study) == old
    assert about(written(STUDY.replace("state * 0.9", "state * 0.85"))) != old


def made(text):
    """A function that was never in a file."""
    space = {"SCALE": 2.0}
    exec(text, space)
    return space["law"]


def test_functions_without_a_file_are_compared():
    """As in a notebook."""
    one, other = made("def law(x):\n    return SCALE * x"), made("def law(x):\n    return SCALE + x")
    again = made("def law(x):\n\n    # remark\n    return SCALE * x")
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


@pytest.mark.parametrize("name", ["jax", "numpy", "optax"])
def test_versions_of_libraries_change_the_fingerprint(monkeypatch, name):
    first, version = describe_inputs({"a": 1}), module.importlib.metadata.version
    monkeypatch.setattr(module.importlib.metadata, "version", lambda each: "9.9" if each == name else version(each))
    assert {key for key in first if first[key] != describe_inputs({"a": 1})[key]} == {f"the version of {name}"}


def test_files_of_this_package_change_the_fingerprint(monkeypatch):
    first = describe_inputs({"a": 1})
    module.package_hash.cache_clear()
    read = module.Path.read_bytes
    monkeypatch.setattr(module.Path, "read_bytes", lambda path: read(path) + b"#" * (path.name == "blocks.py"))
    assert {key for key in first if first[key] != describe_inputs({"a": 1})[key]} == {"the code of jaxonline"}
    module.package_hash.cache_clear()


def test_float64_changes_the_fingerprint():
    first = describe_inputs({"a": 1})
    with jax.enable_x64(True):
        assert describe_inputs({"a": 1}) != first


# ---------------------------------------------------------------------------------------------------------------------
# Inputs that cannot be inspected

RNG = np.random.default_rng(0)
LOCK = threading.Lock()
FOLDER = Path(__file__).parent


def law_that_draws(key, x):
    return x + RNG.normal()


def law_that_draws_from_numpy(key, x):
    return x + np.random.normal()  # noqa: NPY002


def law_that_reads_a_file(key, x):
    with open("data.txt") as file:
        return x + float(file.read())


def law_that_reads_the_environment(key, x):
    return x + float(os.environ["SCALE"])


def law_that_reads_the_command_line(key, x):
    return x + float(sys.argv[1])


def law_that_reads_a_size(key, x):
    return x + FOLDER.stat().st_size


def law_with_a_global_norm(key, x):
    return x / optax.global_norm(x)


def law_that_computes_a_name(key, x):
    return x + globals()["SCALE"]


class Polynomial:
    """With methods that have the names of functions that read."""

    def eval(self, x):
        return 2 * x

    def open(self, x):
        return self.eval(x)


class Hidden:
    """One who holds something."""

    def __init__(self, thing):
        self.thing = thing


UNINSPECTABLE = {
    "a generator": (lambda: RNG, "numpy.random._generator.Generator"),
    "a generator that is global": (lambda: law_that_draws, r"Generator'> \(law, the global RNG of law_that_draws\)"),
    "a method of the legacy generator": (lambda: np.random.normal, "numpy.random.mtrand.RandomState"),
    "a draw of the legacy generator": (lambda: law_that_draws_from_numpy, "numpy.random.mtrand.RandomState"),
    "Python's generator": (lambda: random.Random(0), "random.Random"),
    "a file": (lambda: Hidden(sys.stderr.buffer), r"law, \.thing"),
    "a lock": (lambda: Hidden(LOCK), "_thread.lock"),
    "an iterator": (lambda: (i for i in range(3)), "generator"),
    "a device": (lambda: Hidden(jax.devices()[0]), "Device"),
    "memory": (lambda: memoryview(b"abc"), "memoryview"),
    "a file that a function reads": (
        lambda: law_that_reads_a_file,
        "what law_that_reads_a_file reads with open",
    ),
    "the environment": (
        lambda: law_that_reads_the_environment,
        "what law_that_reads_the_environment reads with os",
    ),
    "the command line": (
        lambda: law_that_reads_the_command_line,
        "what law_that_reads_the_command_line reads with sys",
    ),
    "a size": (lambda: law_that_reads_a_size, "what law_that_reads_a_size reads with FOLDER"),
    "a computed name": (lambda: law_that_computes_a_name, "what law_that_computes_a_name reads with globals"),
}


def test_a_name_that_begins_like_a_reader_is_accepted():
    describe_inputs({"law": law_with_a_global_norm, "polynomial": Polynomial()})  # as glob.glob, eval and open


@pytest.mark.parametrize("name", UNINSPECTABLE)
def test_inputs_that_cannot_be_inspected_raise_an_error_with_the_remedy(name):
    make, message = UNINSPECTABLE[name]
    with pytest.raises(TypeError, match=message) as error:
        describe_inputs({"law": make()})
    assert str(error.value).startswith("checkpoint: ")
    assert "jo.Checkpoint(folder, version='1')" in str(error.value)
    assert "\n" not in str(error.value)
    assert describe_inputs({"law": make()}, version="1") == describe_inputs({"law": make()}, version="1")


def test_a_version_replaces_the_code_but_not_the_numbers(written):
    first = written()
    second = written(STUDY.replace("state * 0.9", "state * 0.8").replace("SCALE = 0.5", "SCALE = 0.6"))
    assert describe_inputs({"a": first.learner}, "1") == describe_inputs({"a": second.learner}, "1")
    assert describe_inputs({"a": first.learner}, "1") != describe_inputs({"a": first.learner}, "2")
    for before, after in [("Learner(0.1", "Learner(0.2"), ("(0.125)", "(0.126)"), ("sgd(0.1875", "sgd(0.2")]:
        assert describe_inputs({"a": first.learner}, "1") != describe_inputs(
            {"a": written(STUDY.replace(before, after)).learner}, "1"
        )


def test_a_version_replaces_versions_of_libraries(monkeypatch):
    of_library, items = content.library_version, {"a": optax.adam(0.1), "b": np.sin}
    first, vouched = describe_inputs(items), describe_inputs(items, "1")

    def newer(name):
        found = of_library(name)
        return found and found.partition(" ")[0] + " 99.0"

    monkeypatch.setattr(content, "library_version", newer)
    assert describe_inputs(items) != first
    assert describe_inputs(items, "1") == vouched


def law_that_draws_from_jax(key, x):
    return np.float32(2.0) * jax.random.normal(key, x.shape)


def test_a_draw_of_jax_is_no_draw_of_numpy():
    """The names np, random and normal are in one function."""
    describe_inputs({"law": law_that_draws_from_jax})
