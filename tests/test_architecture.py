"""The shape of the package: imports point downwards, every public name is documented by an example that runs, files
are short, importing is light, and the README's Python works when pasted."""

import ast
import doctest
import importlib
import inspect
import os
import pkgutil
import re
import subprocess
import sys
import types
from collections.abc import Iterator
from pathlib import Path

import pytest

import jaxonline

PACKAGE = Path(jaxonline.__file__).parent
ROOT = PACKAGE.parent
MAX_LINES = 400

# From the ground up. A module may import from the layers below its own, and inside its own package. A new module is
# one word here.
LAYERS = [
    {"_check"},
    {
        "_capacity",
        "_checkpoint",
        "_ragged",
        "_sincos",
        "_struct",
        "_sums",
        "_tables",
        "_threads",
        "_triangular",
        "blocks",
        "progress",
    },
    {"_numbers", "_precision", "datasets", "growth"},
    {"_kernel", "_loss", "noise", "protocols"},
    {"kernels", "losses", "radial"},
    {"estimators", "game", "oracles"},
    {"bounds", "comparators", "dictionaries", "environments", "learners"},
    {"_segments", "aggregation", "experts", "result"},
    {"_passes", "_storage", "plotting"},
    {"_hindsight"},
    {"simulate"},
    {"verify"},
    {"study"},
    {"cli"},
]
FACADE = "the package"  # jaxonline/__init__.py: what users see; nobody inside imports from it
LEVELS = {name: level for level, names in enumerate(LAYERS) for name in names}
TOP_OF_FACADE = LEVELS["verify"]  # studies and the command line are loaded when used
LAZILY = {
    ("result", "plotting"),
    ("result", "_storage"),
}  # inside a function: methods that load their libraries when used


def sources() -> dict[tuple[str, ...], str]:
    """The code of every module by its path, () for the package itself."""
    parts = {path: path.relative_to(PACKAGE).with_suffix("").parts for path in sorted(PACKAGE.rglob("*.py"))}
    return {tuple(p for p in part if p != "__init__"): path.read_text() for path, part in parts.items()}


def imports(tree: ast.AST, modules: set[tuple[str, ...]]) -> Iterator[tuple[tuple[str, ...], ast.AST]]:
    """Modules of the package that are imported anywhere in the code, () for a name of the facade."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level:
            yield ("relative import",), node
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "jaxonline":
            base = tuple(node.module.split(".")[1:])
            for alias in node.names:
                yield ((*base, alias.name) if (*base, alias.name) in modules else base), node
        elif isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "jaxonline":
                    yield tuple(alias.name.split(".")[1:]), node


def violations(code: dict[tuple[str, ...], str], modules: set[tuple[str, ...]]) -> list[str]:
    """Imports that do not point downwards, and modules that have no layer."""
    found = []
    for module, text in code.items():
        name = module[0] if module else FACADE
        if name != FACADE and name not in LEVELS:
            found.append(f"{'.'.join(module)} has no layer: give it one in LAYERS")
            continue
        level = TOP_OF_FACADE + 1 if name == FACADE else LEVELS[name]
        tree = ast.parse(text)
        inside = {id(n) for f in ast.walk(tree) if isinstance(f, ast.FunctionDef) for n in ast.walk(f)}
        for target, node in imports(tree, modules):
            allowed = bool(target) and (LEVELS.get(target[0], len(LAYERS)) < level or target[0] == name)
            lazily = id(node) in inside and (name, target[0] if target else "") in LAZILY
            if not allowed and not lazily:
                found.append(f"{'.'.join(module) or FACADE} imports {'.'.join(target) or FACADE}")
    return found


def test_imports_point_downwards():
    code = sources()
    assert violations(code, set(code)) == []


@pytest.mark.parametrize(
    ("module", "text", "wrong"),
    [
        ("noise", "from jaxonline import _check", False),
        ("learners.boa", "from jaxonline.learners.step_sizes import Constant", False),
        ("study.quickstart", "from jaxonline import bounds, noise", False),
        ("result", "def plot():\n    from jaxonline.results.plotting import plot_result", False),
        ("result", "from jaxonline.results.plotting import plot_result", True),
        ("noise", "from jaxonline.simulation import simulate", True),
        ("noise", "def f():\n    import jaxonline.simulation", True),
        ("learners.boa", "from jaxonline.environments import DataStream", True),
        ("learners.boa", "from jaxonline import simulate", True),
        ("learners.boa", "from jaxonline import sweep", True),
        ("learners.boa", "import jaxonline as jo", True),
        ("learners.boa", "from . import step_sizes", True),
        ("learners.boa", "from jaxonline.nowhere import x", True),
        ("", "from jaxonline.cli import main", True),
        ("brand_new", "import numpy", True),
    ],
)
def test_the_direction_is_really_read(module, text, wrong):
    path = tuple(module.split(".")) if module else ()
    assert bool(violations({path: text}, set(sources()))) == wrong


def test_no_module_imports_itself_in_a_circle():
    code = sources()
    graph = {module: {t for t, _ in imports(ast.parse(text), set(code))} - {module} for module, text in code.items()}
    graph = {m: {t for t in ts if (m[:1] + t[:1]) not in {(a, b) for a, b in LAZILY}} for m, ts in graph.items()}
    done: set = set()
    while ready := [m for m in graph if m not in done and graph[m] & graph.keys() <= done]:
        done |= set(ready)
    assert sorted(".".join(m) for m in graph.keys() - done) == []


@pytest.mark.parametrize("path", sorted(PACKAGE.rglob("*.py")), ids=lambda path: str(path.relative_to(PACKAGE)))
def test_files_are_short(path):
    assert len(path.read_text().splitlines()) < MAX_LINES


# ---------------------------------------------------------------------------------------------------------------------
# Documentation

MODULES = ["jaxonline", *(m.name for m in pkgutil.walk_packages([str(PACKAGE)], "jaxonline."))]
PUBLIC = [name for name in MODULES if not any(part.startswith("_") for part in name.split("."))]


def public_names(module: types.ModuleType) -> dict[str, object]:
    """Functions and classes that a module defines, and what it offers in `__all__` wherever that is defined."""
    offered = set(getattr(module, "__all__", ()))
    return {
        name: value
        for name, value in vars(module).items()
        if (inspect.isclass(value) or inspect.isfunction(value))
        and ((not name.startswith("_") and value.__module__ == module.__name__) or name in offered)
    }


def is_command(module: types.ModuleType, value: object) -> bool:
    """A command of the command line: its docstring is the help that a user reads."""
    return any(command.callback is value for command in getattr(vars(module).get("app"), "registered_commands", ()))


def undocumented(module: types.ModuleType) -> list[str]:
    """What lacks a docstring, and what has one without an example."""
    found = [] if module.__doc__ else ["the module has no docstring"]
    for name, value in public_names(module).items():
        doc = value.__doc__ or ""
        generated = inspect.isclass(value) and doc.startswith((f"{name}(", "Create and return a new object"))
        if not doc or generated:
            found.append(f"{name} has no docstring")
        elif ">>> " not in doc and not is_command(module, value):
            found.append(f"{name} has no example")
        if inspect.isclass(value):
            for member, attribute in vars(value).items():
                callable_or_property = isinstance(attribute, types.FunctionType | property | classmethod | staticmethod)
                if member.startswith("_") or not callable_or_property or f"    {member}: " in doc:  # "Attributes:"
                    continue
                if not inspect.getdoc(getattr(value, member)):
                    found.append(f"{name}.{member} has no docstring")
    return found


@pytest.mark.parametrize("name", PUBLIC)
def test_every_public_name_is_documented_with_an_example(name):
    assert undocumented(importlib.import_module(name)) == []


@pytest.mark.parametrize(
    ("package", "methods"),
    [
        ("learners", {"init", "predict", "update"}),
        ("comparators", {"best_loss"}),
        ("comparators", {"best_losses"}),
        ("environments", {"init", "instance", "answer"}),
    ],
)
def test_a_package_offers_what_its_modules_make(package, methods):
    """Every learner in `jaxonline.learners`, and so on."""
    inside = [importlib.import_module(name) for name in PUBLIC if name.startswith(f"jaxonline.{package}.")]
    made = {name for module in inside for name, value in public_names(module).items() if methods <= set(dir(value))}
    assert made
    assert sorted(made - set(importlib.import_module(f"jaxonline.{package}").__all__)) == []


def test_every_feedback_is_offered():
    feedbacks = {name for name, value in public_names(jaxonline.feedback.oracles).items() if hasattr(value, "open")}
    assert {"NoisyCopies", "AdversarialCopies"} <= feedbacks
    assert sorted(feedbacks - set(jaxonline.__all__)) == []


def test_missing_documentation_is_seen():
    module = types.ModuleType("made_up")
    exec(
        "from typing import NamedTuple\n"
        "def silent(): pass\n"
        "def told(): 'Says what it does.'\n"
        "def shown():\n    '''Says it.\n\n    >>> 1\n    1\n    '''\n"
        "class Pair(NamedTuple):\n    a: int\n"
        "class Half:\n    '''>>> 1\n    1\n    '''\n    def method(self): pass\n    def _own(self): pass\n",
        vars(module),
    )
    for value in vars(module).values():
        if inspect.isclass(value) or inspect.isfunction(value):
            value.__module__ = "made_up"
    del module.NamedTuple
    assert undocumented(module) == [
        "the module has no docstring", "silent has no docstring", "told has no example", "Pair has no docstring",
        "Half.method has no docstring",
    ]  # fmt: skip


@pytest.mark.parametrize("name", MODULES)
def test_examples_run(name):
    """Under the strict promotion of all tests, with warnings as errors."""
    module = importlib.import_module(name)
    runner, report = doctest.DocTestRunner(verbose=False), []
    for test in doctest.DocTestFinder(exclude_empty=True).find(module, name):
        runner.run(test, out=report.append)
    assert runner.summarize(verbose=False).failed == 0, "".join(report)


# ---------------------------------------------------------------------------------------------------------------------
# Importing, and the README

HEAVY = {"matplotlib", "xarray", "zarr", "sklearn", "typer", "rich", "pydantic", "pandas"}


def run_python(code: str, folder: Path = ROOT) -> str:
    """Standard output of a fresh interpreter with one CPU device and jax's usual configuration."""
    environment = {key: value for key, value in os.environ.items() if key != "XLA_FLAGS"}
    environment["PYTHONPATH"] = str(ROOT)
    command = [sys.executable, "-W", "error", "-c", code]
    done = subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=300
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_importing_is_light():
    code = f"import jaxonline, sys; print(sorted({HEAVY!r} & set(sys.modules)))"
    assert run_python(code).strip() == "[]"


def test_a_simulation_needs_no_more_than_a_bare_jax_image():
    """Where what accelerators' images do not have cannot be imported at all."""
    absent = HEAVY - {"matplotlib"}
    code = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {absent!r}:
            raise ImportError(name + " is absent")
sys.meta_path.insert(0, Absent())
import numpy as np
import jaxonline as jo
game = jo.Game(jo.environments.DataStream(np.eye(2), np.ones(2)), jo.NoisyCopies(jo.noise.gaussian(0.1)))
learner = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=0.1, radius=1.0)
result = jo.simulate(game, learner, n_runs=2, n_rounds=4, comparator=jo.L2Ball(1.0), progress=True)
result.plot()
print(result.table()[0]["queries_per_round"])
"""
    assert run_python(code).strip() == "2.0"


def python_blocks(text: str) -> list[str]:
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


def test_the_python_of_the_readme_works_when_pasted(tmp_path):
    blocks = python_blocks((ROOT / "README.md").read_text())
    assert blocks, "the README shows Python"
    output = run_python("\n".join(blocks), tmp_path)
    assert "regret" in output
    written = set(re.findall(r"[\w/]+\.png", "\n".join(blocks)))
    assert {str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.png")} == written


def test_the_links_of_the_readme_lead_somewhere():
    text = (ROOT / "README.md").read_text()
    links = [link for link in re.findall(r"\]\(([^)#]+)\)", text) if "://" not in link]
    assert [link for link in links if not (ROOT / link).exists()] == []
