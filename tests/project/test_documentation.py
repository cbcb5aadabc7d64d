"""Docstrings, the examples in them, and README and CONTRIBUTING, all of which run (`test_documents`: other pages)."""

import doctest
import importlib
import inspect
import pkgutil
import re
import types
import typing

import pytest
from fresh_python import ROOT, run_python
from optional_packages import missing_packages, skip_reason
from tiers import some

import jaxonline
from jaxonline.parameters.citations import REFERENCES
from jaxonline.parameters.signatures import exported_names

MODULES = ["jaxonline", *(m.name for m in pkgutil.walk_packages(jaxonline.__path__, "jaxonline."))]
PUBLIC = [name for name in MODULES if not any(part.startswith("_") for part in name.split("."))]
# What these rooms offer is what a study is made of: every constructor has an example.
ROOMS_WITH_EXAMPLES = (
    "bounds", "comparators", "environments", "estimators", "feedback", "kernels", "learners", "losses",
)  # fmt: skip
ROLES = (jaxonline.Environment, jaxonline.Feedback, jaxonline.Learner)
OF_THE_FACADE = {id(getattr(jaxonline, name)) for name in jaxonline.__all__}


def offered_names(module: types.ModuleType) -> set[str]:
    """What a package exports, or a module declares in `__all__`."""
    return set(exported_names(module)) if hasattr(module, "__path__") or hasattr(module, "__all__") else set()


def public_names(module: types.ModuleType) -> dict[str, typing.Any]:
    """Functions and classes that a module defines, and what a package exports wherever that is defined."""
    offered = offered_names(module)
    return {
        name: value
        for name, value in vars(module).items()
        if (inspect.isclass(value) or inspect.isfunction(value))
        and ((not name.startswith("_") and value.__module__ == module.__name__) or name in offered)
    }


def is_protocol(value: typing.Any) -> bool:
    return getattr(value, "_is_protocol", False)


def needs_example(module: types.ModuleType, name: str, value: typing.Any) -> bool:
    """Whether a name is of the facade, or a constructor that one of the rooms offers.

    Tuples, protocols, abstract classes and helpers do with a sentence.
    """
    if id(value) in OF_THE_FACADE:
        return True
    room = module.__name__.split(".")[1] if "." in module.__name__ else ""
    plain = not inspect.isclass(value) or (
        not issubclass(value, tuple | Exception) and not inspect.isabstract(value)
        and not is_protocol(value)
    )  # fmt: skip
    return room in ROOMS_WITH_EXAMPLES and name in offered_names(module) and plain


def undocumented(module: types.ModuleType) -> list[str]:
    """What lacks a docstring, and what has one without the example that it needs.

    Attributes may be told of by the docstring of their class: under "Attributes:", or anywhere in that of a protocol.
    """
    found = [] if module.__doc__ else ["the module has no docstring"]
    for name, value in public_names(module).items():
        doc = value.__doc__ or ""
        generated = inspect.isclass(value) and doc.startswith((f"{name}(", "Create and return a new object"))
        if not doc or generated:
            found.append(f"{name} has no docstring")
        elif ">>> " not in doc and needs_example(module, name, value):
            found.append(f"{name} has no example")
        if inspect.isclass(value):
            for member, attribute in vars(value).items():
                kinds = types.FunctionType | classmethod | staticmethod | property
                told = f"    {member}: " in doc or (isinstance(attribute, property) and is_protocol(value))
                if member.startswith("_") or not isinstance(attribute, kinds) or told:
                    continue
                if not inspect.getdoc(getattr(value, member)):
                    found.append(f"{name}.{member} has no docstring")
    return found


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_documented(name):
    assert undocumented(importlib.import_module(name)) == []


def has_own(value: typing.Any, methods: set[str]) -> bool:
    """Whether a class has these methods, and does not only inherit them from the base class of its role."""
    base = [getattr(role, name, None) for role in ROLES for name in methods]
    return methods <= set(dir(value)) and not any(getattr(value, name) in base for name in methods - {"init"})


@pytest.mark.parametrize(
    ("package", "methods"),
    [
        ("learners", {"init", "predict", "update"}),
        ("comparators", {"best_loss"}),
        ("comparators", {"best_losses"}),
        ("environments", {"init", "instance", "outcome"}),
        ("feedback", {"open"}),
    ],
)
def test_subpackages_export_all_their_classes(package, methods):
    """Every learner in `jaxonline.learners`, and so on, where it is then documented with an example."""
    inside = [importlib.import_module(name) for name in PUBLIC if name.startswith(f"jaxonline.{package}.")]
    made = {name for module in inside for name, value in public_names(module).items() if has_own(value, methods)}
    assert made
    assert sorted(made - offered_names(importlib.import_module(f"jaxonline.{package}"))) == []


def test_every_feedback_is_exported():
    feedbacks = {name for name, value in public_names(jaxonline.feedback).items() if hasattr(value, "open")}
    assert {"NoisyCopies", "AdversarialCopies"} <= feedbacks
    assert sorted(feedbacks - set(jaxonline.__all__)) == []


def test_missing_documentation_is_detected():
    module = types.ModuleType("jaxonline.learners.made_up")
    exec(
        "from typing import NamedTuple, Protocol\n"
        "__all__ = ['told', 'shown', 'Like', 'Pair']\n"
        "def silent(): pass\n"
        "def helper(): 'Says what it does.'\n"
        "def told(): 'Says what it does.'\n"
        "def shown():\n    '''Says it.\n\n    >>> 1\n    1\n    '''\n"
        "class Pair(NamedTuple):\n    a: int\n"
        "class Triple(NamedTuple):\n    'Three.'\n    a: int\n"
        "class Like(Protocol):\n    'What is like it.'\n"
        "class Half:\n    '''>>> 1\n    1\n    '''\n    def method(self): pass\n    def _own(self): pass\n",
        vars(module),
    )
    for value in vars(module).values():
        if inspect.isclass(value) or inspect.isfunction(value):
            value.__module__ = module.__name__
    del module.NamedTuple, module.Protocol
    assert undocumented(module) == [
        "the module has no docstring", "silent has no docstring", "told has no example", "Pair has no docstring",
        "Half.method has no docstring",
    ]  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# Examples

# the examples of the other names of the facade compile programs of a second and more
SHORT_EXAMPLES = [
    name
    for name in jaxonline.__all__
    if name
    not in (
        "AdversarialCopies",
        "BanditEnv",
        "Live",
        "OnlineClassifier",
        "OnlineRegressor",
        "Precision",
        "Pulls",
        "Task",
        "UntilDecided",
        "bandit_game",
        "benchmark",
        "load_study_file",
        "play_env",
        "simulate",
        "tune",
    )
]


def examples_of(module: types.ModuleType) -> list[doctest.DocTest]:
    return doctest.DocTestFinder(exclude_empty=True).find(module, module.__name__)


def run_examples(tests: list[doctest.DocTest]) -> str:
    """What failed, under the strict promotion of all tests, with warnings as errors.

    If examples need a package that is missing, the others run, and the calling test is skipped.
    """
    runner, report, missing = doctest.DocTestRunner(verbose=False), [], set()
    for test in tests:
        packages = missing_packages("".join(example.source for example in test.examples))
        missing.update(packages)
        if not packages:
            runner.run(test, out=report.append)
    failed = "".join(report) if runner.summarize(verbose=False).failed else ""
    if missing and not failed:
        pytest.skip(skip_reason(sorted(missing)))
    return failed


@pytest.mark.parametrize("name", some(jaxonline.__all__, *SHORT_EXAMPLES))
def test_examples_of_the_facade_run(name):
    value = getattr(jaxonline, name)
    finder = doctest.DocTestFinder(exclude_empty=True, recurse=not isinstance(value, types.ModuleType))
    tests = finder.find(value, name, module=False, globs={})
    assert run_examples(tests) == ""


@pytest.mark.examples
@pytest.mark.parametrize("name", MODULES)
def test_all_examples_run(name):
    assert run_examples(examples_of(importlib.import_module(name))) == ""


# ---------------------------------------------------------------------------------------------------------------------
# README and CONTRIBUTING


def python_blocks(document: str) -> list[str]:
    text = (ROOT / document).read_text()
    blocks = re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)
    assert blocks, f"{document} shows Python"
    return blocks


def test_the_readme_has_at_most_150_lines():
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


@pytest.mark.long
def test_the_python_of_the_readme_works_when_pasted(tmp_path):
    code = "\n".join(python_blocks("README.md"))
    assert "regret" in run_python(code, tmp_path)
    written = set(re.findall(r"[\w/]+\.png", code))
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.png")} == written


@pytest.mark.long
def test_the_python_of_contributing_runs(tmp_path, monkeypatch):
    """From top to bottom: each block is a file that is added, and is used at once."""
    monkeypatch.chdir(tmp_path)
    names = {"__name__": "contributing"}
    for i, block in enumerate(python_blocks("CONTRIBUTING.md")):
        exec(compile(block, f"CONTRIBUTING.md, block {i + 1}", "exec"), names)
    assert REFERENCES.pop("NLMS") == ("nagumo1967learning",)  # other tests compare them with the bibliography
