"""Docstrings, and the examples in them, all of which run."""

import doctest
import importlib
import inspect
import pkgutil
import types
import typing

import pytest
from optional_packages import missing_packages, skip_reason

import jaxonline
from jaxonline.parameters.signatures import exported_names

MODULES = ["jaxonline", *(m.name for m in pkgutil.walk_packages(jaxonline.__path__, "jaxonline."))]
PUBLIC = [name for name in MODULES if not any(part.startswith("_") for part in name.split("."))]
# every constructor in these packages has an example
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
    """Names of the facade, and constructors in some packages, but neither tuples, protocols nor abstract classes."""
    room = (*module.__name__.split("."), "")[1]
    excluded = inspect.isclass(value) and (
        issubclass(value, tuple | Exception) or inspect.isabstract(value) or is_protocol(value)
    )
    return id(value) in OF_THE_FACADE or (
        room in ROOMS_WITH_EXAMPLES and name in offered_names(module) and not excluded
    )


def undocumented(module: types.ModuleType) -> list[str]:
    """What lacks a docstring, and what has one without the example that it needs.

    The docstring of a class may describe attributes: under "Attributes:", or anywhere in that of a protocol.
    """
    found = [] if module.__doc__ else ["the module has no docstring"]
    for name, value in public_names(module).items():
        doc = value.__doc__ or ""
        generated = inspect.isclass(value) and doc.startswith((f"{name}(", "Create and return a new object"))
        if not doc or generated:
            found.append(f"{name} has no docstring")
        elif ">>> " not in doc and needs_example(module, name, value):
            found.append(f"{name} has no example")
        for member, attribute in vars(value).items() if inspect.isclass(value) else ():
            kinds = types.FunctionType | classmethod | staticmethod | property
            described = f"    {member}: " in doc or (isinstance(attribute, property) and is_protocol(value))
            if isinstance(attribute, kinds) and not member.startswith("_") and not described:
                found += [] if inspect.getdoc(getattr(value, member)) else [f"{name}.{member} has no docstring"]
    return found


def test_every_public_name_is_documented():
    assert {name: wrong for name in PUBLIC if (wrong := undocumented(importlib.import_module(name)))} == {}


def has_own(value: typing.Any, methods: set[str]) -> bool:
    """Whether a class has these methods, and does not only inherit them from the base class of its role."""
    base = [getattr(role, name, None) for role in ROLES for name in methods]
    return methods <= set(dir(value)) and not any(getattr(value, name) in base for name in methods - {"init"})


@pytest.mark.parametrize(
    ("package", "methods"),
    [
        ("learners", {"init", "predict", "update"}), ("comparators", {"best_loss"}), ("comparators", {"best_losses"}),
        ("environments", {"init", "instance", "outcome"}), ("feedback", {"open"}),
    ],
)  # fmt: skip
def test_subpackages_export_all_their_classes(package, methods):
    inside = [importlib.import_module(name) for name in PUBLIC if name.startswith(f"jaxonline.{package}.")]
    made = {name for module in inside for name, value in public_names(module).items() if has_own(value, methods)}
    assert made
    assert sorted(made - offered_names(importlib.import_module(f"jaxonline.{package}"))) == []
    assert package != "feedback" or sorted(made - set(jaxonline.__all__)) == []


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


@pytest.mark.examples
@pytest.mark.parametrize("name", MODULES)
def test_all_examples_run(name):
    module = importlib.import_module(name)
    assert run_examples(doctest.DocTestFinder(exclude_empty=True).find(module, name)) == ""
