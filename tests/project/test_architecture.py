"""The shape of the package: folders are layers and imports point downwards, no circles, one meaning a name, short
files, budgets of lines, a facade that is lazy and explicit, and an import that is light."""

import ast
import re
import tomllib
from collections import defaultdict
from collections.abc import Iterator
from operator import gt
from pathlib import Path

import pytest
from fresh_python import ROOT, run_python

import jaxonline
from benchmarks.size import Size, package_sizes

PACKAGE = Path(jaxonline.__file__).parent
MAX_LINES = 600
FACADE = "the package"  # jaxonline/__init__.py: what users see; nobody inside imports from it


def rooms_of_the_readme() -> list[str]:
    """The picture of the architecture, from the top down. It is the order: a room imports from the rooms below it."""
    section = (ROOT / "README.md").read_text().split("## The architecture")[1].split("\n## ")[0]
    lines = re.findall(r"^    (\w+(?:/|\.py)(?:, \w+(?:/|\.py))*) +", section, re.MULTILINE)
    return [re.sub(r"/|\.py", "", name) for line in lines for name in line.split(", ")]


ORDER = rooms_of_the_readme()


PARTS = {path: path.relative_to(PACKAGE).with_suffix("").parts for path in sorted(PACKAGE.rglob("*.py"))}
# the code of every module by its path, () for the package itself
CODE = {tuple(part for part in parts if part != "__init__"): path.read_text() for path, parts in PARTS.items()}


def imports(node: ast.AST, modules: set[tuple[str, ...]]) -> Iterator[tuple[str, ...]]:
    """Modules of the package that are imported, also inside functions; () for a name of the facade."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.ImportFrom) and child.level:
            yield ("relative import",)
        elif isinstance(child, ast.ImportFrom) and (child.module or "").split(".")[0] == "jaxonline":
            base = tuple(child.module.split(".")[1:])
            yield from ((*base, alias.name) if (*base, alias.name) in modules else base for alias in child.names)
        elif isinstance(child, ast.Import):
            names = [alias.name.split(".") for alias in child.names]
            yield from (tuple(name[1:]) for name in names if name[0] == "jaxonline")
        else:
            yield from imports(child, modules)


def violations(code: dict[tuple[str, ...], str], modules: set[tuple[str, ...]]) -> list[str]:
    found = []
    below = {room: set(ORDER[i + 1 :]) for i, room in enumerate(ORDER)} | {FACADE: set(ORDER) - {"__main__", "cli"}}
    for module, text in code.items():
        name = module[0] if module else FACADE
        for target in imports(ast.parse(text), modules):
            if not target or target[0] not in below.get(name, set()) | {name}:
                found.append(f"{'.'.join(module) or FACADE} imports {'.'.join(target) or FACADE}")
    return found


def test_the_folders_are_the_layers():
    entries = {path for path in PACKAGE.iterdir() if path.suffix == ".py" or (path / "__init__.py").exists()}
    assert sorted(ORDER) == sorted(path.stem for path in entries if path.name != "__init__.py")
    assert {path.name for path in entries if path.is_file()} == {"__init__.py", "__main__.py", "citing.py", "cli.py"}


def test_imports_point_downwards():
    assert violations(CODE, set(CODE)) == []


ALGORITHMS = {"learners", "estimators", "environments", "feedback", "game"}


def test_algorithms_do_not_import_compiler_workarounds():
    """They use `random` and `numerics`, which may."""
    assert set(ORDER) > ALGORITHMS
    for module, text in CODE.items():
        if module and module[0] in ALGORITHMS:
            assert "_xla" not in {name[0] for name in imports(ast.parse(text), set(CODE)) if name}, module


def test_pages_import_public_modules_only():
    folders = (ROOT / "docs", ROOT / "notebooks", ROOT / "benchmarks" / "papers")
    pages = [path for folder in folders for kind in ("*.md", "*.ipynb") for path in folder.rglob(kind)]
    pages += [ROOT / "README.md", ROOT / "CONTRIBUTING.md"]
    private = re.compile(r"(from|import) jaxonline\.(_|random\.)")
    assert private.search("from jaxonline.random.threefry import stack_draws")
    assert [page.name for page in pages if private.search(page.read_text())] == []


@pytest.mark.parametrize(
    ("module", "text", "wrong"),
    [
        ("feedback.noise", "from jaxonline.parameters import check", False),
        ("study.study", "from jaxonline import bounds, game", False),
        ("results.result", "def plot():\n    from jaxonline.results.report.curves import plot_result", False),
        ("results.result", "from jaxonline.simulation import simulate", True),
        ("feedback.noise", "def f():\n    import jaxonline.simulation", True),
        ("learners.boa", "from jaxonline import simulate", True), ("learners.boa", "import jaxonline as jo", True),
        ("learners.boa", "from . import step_sizes", True), ("", "from jaxonline.cli import main", True),
        ("brand_new", "from jaxonline.parameters import check", True),
    ],
)  # fmt: skip
def test_a_wrong_import_direction_is_detected(module, text, wrong):
    path = tuple(module.split(".")) if module else ()
    assert bool(violations({path: text}, set(CODE))) == wrong


def circle(code: dict[tuple[str, ...], str]) -> list[str]:
    """Modules that cannot be put in an order in which each imports only earlier ones, also inside functions."""
    graph = {module: set(imports(ast.parse(text), set(code))) - {module} for module, text in code.items()}
    done: set = set()
    while ready := [m for m in graph if m not in done and graph[m] & graph.keys() <= done]:
        done |= set(ready)
    return sorted(".".join(m) for m in graph.keys() - done)


def test_no_module_imports_itself_in_a_circle():
    assert circle(CODE) == []
    there = "from jaxonline.a import c"
    for back in ("if TYPE_CHECKING:\n    from jaxonline.a import b", "def draw():\n    from jaxonline.a import b"):
        assert circle({("a", "b"): there, ("a", "c"): back}) == ["a.b", "a.c"]
    assert circle({("a", "b"): there, ("a", "c"): "import jaxonline.parameters"}) == []


def test_files_are_short_and_no_package_is_larger_than_its_budget():
    """A budget in pyproject.toml is raised only in a commit of its own that says what the lines buy."""
    assert [module for module, text in CODE.items() if len(text.splitlines()) >= MAX_LINES] == []
    budgets = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["jaxonline"]["size"]
    papers = package_sizes(ROOT / "benchmarks" / "papers").values()
    sizes = package_sizes(PACKAGE) | {"papers": Size(*map(sum, zip(*papers, strict=True)))}
    assert sizes.keys() == budgets.keys(), "each package has a budget"
    large = [name for name, size in sizes.items() if any(map(gt, size, budgets[name]))]
    assert large == []


def test_lines_without_comments_and_docstrings_are_counted(tmp_path):
    (tmp_path / "a" / "b").mkdir(parents=True)
    (tmp_path / "a" / "__init__.py").write_text('"""Nothing."""\n')
    (tmp_path / "a" / "b" / "c.py").write_text("x = 1\n\n# a comment\ny = (\n    2\n)\n")
    (tmp_path / "d.py").write_text('def f():\n    """Text.\n\n    More."""\n    return """1\n\n"""  # counts\n')
    assert package_sizes(tmp_path) == {"a": Size(4, 2), "d": Size(3, 1)}


def test_public_names_are_unique_and_public_classes_are_in_public_modules():
    """Those of `random` have the names of `jax.random`."""
    homes, hidden = defaultdict(list), []
    for module, text in CODE.items():
        nodes = [node for node in ast.parse(text).body if isinstance(node, ast.ClassDef | ast.FunctionDef)]
        public = {node.name: type(node) for node in nodes if not node.name.startswith("_")}
        for name in public if module[:1] != ("random",) else ():
            homes[name].append(".".join(module))
        if any(part.startswith("_") for part in module[1:]) and ast.ClassDef in public.values():
            hidden.append(".".join(module))
    assert ({name: where for name, where in homes.items() if len(where) > 1}, hidden) == ({}, [])


def test_no_public_name_is_also_a_module():
    for room in {module[:-1] for module in CODE if len(module) > 1}:
        modules = {module[-1] for module in CODE if module[:-1] == room}
        lines = [node for node in ast.parse(CODE[room]).body if isinstance(node, ast.ImportFrom)]
        beside = [node for node in lines if node.module != ".".join(("jaxonline", *room))]  # not the module itself
        assert sorted({alias.name for node in beside for alias in node.names} & modules) == [], room


def test_the_public_names_exist():
    assert sorted(jaxonline.__all__) == dir(jaxonline)
    assert all(hasattr(jaxonline, name) for name in jaxonline.__all__)
    with pytest.raises(AttributeError, match="No jaxonline attribute nothing"):
        _ = jaxonline.nothing


HEAVY = {"matplotlib", "xarray", "zarr", "sklearn", "typer", "rich", "pydantic", "pandas", "pooch"}


@pytest.mark.long
def test_importing_is_fast_and_a_simulation_needs_only_jax():
    """The package imports no heavy packages, and games run and plot without those that accelerator images lack."""
    code = f"""
import sys
import jaxonline as jo
print(sorted({HEAVY!r} & set(sys.modules)))
class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.split(".")[0] in {HEAVY - {"matplotlib"}!r}:
            raise ImportError(name + " is absent")
sys.meta_path.insert(0, Absent())
import numpy as np
game = jo.Game(jo.environments.DataStream(np.eye(2), np.ones(2)), jo.NoisyCopies(jo.noise.gaussian(0.1)))
learner = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=0.1, radius=1.0)
result = jo.simulate(game, learner, n_runs=2, n_rounds=4, comparator=jo.L2Ball(1.0), progress=True)
result.plot()
print(result.table()[0]["queries_per_round"])
print(jo.datasets.ar4().X.shape)
"""
    assert run_python(code).splitlines() == ["[]", "2.0", "(5000, 4)"]
