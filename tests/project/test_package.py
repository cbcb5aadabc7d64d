"""What is published: wheel and sdist, their contents and metadata, an install of the wheel in an empty environment,
and type checking of a user's code against it. Needs a package index, as `make` does."""

import dataclasses
import importlib
import inspect
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from fresh_python import ROOT
from pages import blocks, is_shown_in, shown

NEEDED = {".typed", ".pyi", ".bib", ".toml", ".csv", ".txt"}  # endings of what is read at run time
DATA = ["jaxonline/study/examples/my_data.csv"]  # goes with the study file own-data.toml


def run(*command: object, folder: Path | None = None) -> str:
    """Standard output of a program that does not see this source tree."""
    hidden = ("PYTHONPATH", "VIRTUAL_ENV", "XLA_FLAGS")
    environment = {key: value for key, value in os.environ.items() if key not in hidden}
    done = subprocess.run(
        [str(each) for each in command], cwd=folder, env=environment, capture_output=True, text=True, check=False,
        timeout=900,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
README = [code for _, code in blocks("README.md")]


@pytest.fixture(scope="module")
def built(tmp_path_factory) -> Path:
    """The folder of the sdist, and of the wheel that is built from it."""
    folder = tmp_path_factory.mktemp("dist")
    run(sys.executable, "-m", "uv", "build", "--quiet", "--out-dir", folder, ROOT)
    return folder


@pytest.fixture(scope="module")
def wheel(built) -> Path:
    (found,) = built.glob("*.whl")
    return found


@pytest.fixture(scope="module")
def installed(wheel, tmp_path_factory) -> Path:
    """The programs of an environment in which only the wheel was asked for."""
    folder = tmp_path_factory.mktemp("environment") / "venv"
    run(sys.executable, "-m", "uv", "venv", "--quiet", "--python", sys.executable, folder)
    run(sys.executable, "-m", "uv", "pip", "install", "--quiet", "--python", folder / "bin" / "python", wheel)
    return folder / "bin"


def sources() -> set[str]:
    """The files of the package, of which git knows or will know."""
    listed = run("git", "ls-files", "--cached", "--others", "--exclude-standard", "jaxonline", folder=ROOT)
    return {path for path in listed.splitlines() if (ROOT / path).exists()}


@pytest.mark.long
def test_wheel_and_sdist_contain_only_the_package(built, wheel):
    names = set(zipfile.ZipFile(wheel).namelist())
    about = {name for name in names if name.split("/")[0].endswith(".dist-info")}
    assert names - about == sources()
    assert {Path(name).suffix for name in names - about if not name.endswith(".py")} == NEEDED
    assert [name for name in names if name.endswith((".csv", ".npz", ".parquet", ".png", ".ipynb"))] == DATA
    assert {Path(name).name for name in about} == {"METADATA", "WHEEL", "RECORD", "entry_points.txt", "LICENSE"}
    assert wheel.stat().st_size < 2_000_000
    assert "PASSED" in run(sys.executable, "-m", "twine", "--no-color", "check", "--strict", *built.glob("jaxonline-*"))
    (path,) = built.glob("*.tar.gz")
    with tarfile.open(path) as file:
        names = {name.partition("/")[2] for name in file.getnames()}
    beside = {"pyproject.toml", "README.md", "LICENSE", "CITATION.cff", "PKG-INFO", ".gitignore"}
    assert names == sources() | beside


def test_versions_of_python_are_the_same_everywhere():
    """In the metadata, the workflow and the policies; the lowest versions of libraries are in the policies."""
    pythons = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", name)]
    assert pythons == ["3.11", "3.12", "3.13"]
    assert PROJECT["requires-python"] == f">={pythons[0]}"
    ci = (ROOT / ".github/workflows/ci.yml").read_text()
    assert re.search(r"python: \[(.*)\]", ci)[1] == ", ".join(f'"{each}"' for each in pythons)
    page = (ROOT / "docs/policies.md").read_text()
    rows = dict(re.findall(r"^\| (Python|jax|numpy) \| (.*) \|$", page, re.MULTILINE))
    lowest = dict(each.split(">=") for each in PROJECT["dependencies"] if re.match(r"(jax|numpy)>=", each))
    assert rows == {"Python": ", ".join(pythons)} | {name: f"{low} and later" for name, low in lowest.items()}


def test_the_workflow_calls_targets_of_make():
    ci = yaml.safe_load((ROOT / ".github/workflows/ci.yml").read_text())
    steps = [step["run"] for job in ci["jobs"].values() for step in job["steps"] if "run" in step]
    make, called = (ROOT / "Makefile").read_text(), {step.split()[1] for step in steps}
    assert called == {"lint", "test", "test-all", "test-lowest", "docs"}
    assert not [name for name in called if not re.search(rf"^([\w .-]* )?{name}( [\w .-]*)?:", make, re.MULTILINE)]


@pytest.mark.parametrize(
    ("tag", "heading", "right"),
    [
        ("v1.2.3", "## [1.2.3] - 2026-01-02", True), ("v1.2.4", "## [1.2.4] - 2026-01-02", False),
        ("v1.2.3", "## [Unreleased]", False), ("v1.2.3", "## [1x2.3] - 2026-01-02", False),
    ],
)  # fmt: skip
def test_the_release_workflow_extracts_the_readme_and_compares_tag_and_changelog(tag, heading, right, tmp_path):
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]
    commands = {step["name"]: step["run"] for step in jobs["build"]["steps"] if "run" in step}
    extract, compare = (next(run for name, run in commands.items() if word in name) for word in ("Extract", "The tag"))
    environment = os.environ | {"RUNNER_TEMP": str(tmp_path), "GITHUB_REF_NAME": tag}
    subprocess.run(["bash", "-e", "-c", extract], cwd=ROOT, env=environment, check=True)
    assert (tmp_path / "twenty_lines.py").read_text() == README[0]
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "CHANGELOG.md").write_text(f"# Changelog\n\n{heading}\n")
    (tmp_path / "pyproject.toml").write_text('[project]\nversion = "1.2.3"\n')
    done = subprocess.run(["bash", "-e", "-c", compare], cwd=tmp_path, env=environment, check=False)
    assert (done.returncode == 0) == right


@pytest.mark.long
def test_the_wheel_works_in_an_empty_environment(installed, tmp_path):
    """From outside of the source tree: every file that is read at run time is there."""
    where = run(installed / "python", "-c", "import jaxonline; print(jaxonline.__file__)", folder=tmp_path)
    assert installed.parent in Path(where.strip()).parents
    assert run(installed / "jaxonline", "--version", folder=tmp_path).startswith(f"jaxonline {PROJECT['version']}, ")
    words = run(installed / "jaxonline", "quickstart", "--runs", 2, "--rounds", 442, "--out", "q", folder=tmp_path)
    assert "two noisy copies" in words
    assert "<style>" in (tmp_path / "q" / "report.html").read_text()
    run(installed / "jaxonline", "new", "own-data", folder=tmp_path)
    run(installed / "jaxonline", "run", "own-data.toml", "--runs", 2, "--rounds", 20, folder=tmp_path)
    code = 'import jaxonline as jo\nprint(jo.cite(jo.load_result("q/result.npz")).keys)'
    assert "cesabianchi2010learning" in run(installed / "python", "-W", "error", "-c", code, folder=tmp_path)
    assert "UCB1" in run(installed / "jaxonline", "list", "UCB1", folder=tmp_path)
    printed = run(installed / "python", "-W", "error", "-c", README[0], folder=tmp_path)
    assert is_shown_in(shown("README.md")[0], printed), printed
    assert (tmp_path / "regret.png").stat().st_size > 10_000


# ---------------------------------------------------------------------------------------------------------------------
# Types

USER_CODE = Path(__file__).with_name("user_code")  # scripts of a user


def checked(installed: Path, file: Path) -> list[str]:
    """What pyright has to say of a user's file, in an environment that has the wheel."""
    command = [sys.executable, "-m", "pyright", "--pythonpath", str(installed / "python"), file.name]
    environment = os.environ | {"PYRIGHT_PYTHON_IGNORE_WARNINGS": "1"}  # of newer versions of it
    done = subprocess.run(
        command, cwd=file.parent, env=environment, capture_output=True, text=True, check=False, timeout=600
    )
    *said, last = done.stdout.splitlines()
    assert re.fullmatch(r"\d+ errors?, 0 warnings, 0 informations ?", last), done.stdout + done.stderr
    assert (done.returncode == 0) == last.startswith("0 errors")
    return said


@pytest.mark.long
def test_a_type_checker_accepts_the_readme_and_rejects_a_misspelt_name(installed, tmp_path):
    user = tmp_path / "user.py"
    user.write_text("\n".join(README))
    assert checked(installed, user) == []
    user.write_text("import jaxonline as jo\nprint(jo.simulat)\n")
    assert "(reportAttributeAccessIssue)" in "".join(checked(installed, user))


@pytest.mark.long
def test_a_script_of_a_user_runs_and_passes_a_strict_type_checker_which_reports_wrong_lines(installed, tmp_path):
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    script, wrong = (Path(shutil.copy(USER_CODE / name, tmp_path)) for name in ("own_study.py", "wrong.py"))
    assert not re.search(r"# *(type: *ignore|pyright)", script.read_text())
    assert checked(installed, script) == []
    assert run(installed / "python", script, tmp_path, folder=tmp_path)
    lines = enumerate(wrong.read_text().splitlines(), start=1)
    expected = [(number, line.rpartition("  # ")[2]) for number, line in lines if "  # report" in line]
    said = "\n".join(checked(installed, wrong))
    errors = re.findall(r":(\d+):\d+ - error: .*?\((report\w+)\)", said, re.DOTALL)
    assert len(expected) == 33
    assert [(int(line), rule) for line, rule in errors] == expected


REQUIRED = {  # a class of one of the packages with these methods is of the kind
    "Learner": ("init", "predict", "update"), "Environment": ("init", "instance", "outcome"),
    "Feedback": ("open", "observe"), "Comparator": ("statistic", "best_loss"), "HindsightComparator": ("best_losses",),
    "Measure": ("init", "add", "read"),
}  # fmt: skip


def components(package: str) -> Iterator[tuple[str, str]]:
    """The dataclasses of a package, as `package.Name`, with the kind whose methods they have."""
    for name, value in inspect.getmembers(importlib.import_module(package), dataclasses.is_dataclass):
        kinds = [kind for kind, methods in REQUIRED.items() if all(hasattr(value, method) for method in methods)]
        if kinds and isinstance(value, type):
            yield f"{package}.{name}", kinds[0]


@pytest.mark.long
def test_all_components_satisfy_their_protocols_for_a_type_checker(installed, tmp_path):
    names = ("learners", "environments", "feedback", "comparators", "simulation.measures")
    packages = [f"jaxonline.{name}" for name in names]
    listed = [component for package in packages for component in components(package)]
    assert len(listed) > 90
    assert {kind for _, kind in listed} == set(REQUIRED)
    imports = [f"import {package}" for package in packages]
    functions = [f"def f{i}(value: {name}) -> p.{kind}:\n    return value\n" for i, (name, kind) in enumerate(listed)]
    script = tmp_path / "components.py"
    script.write_text("\n".join([*imports, "from jaxonline.game import roles as p\n", *functions]))
    (tmp_path / "pyrightconfig.json").write_text('{"typeCheckingMode": "strict"}')
    assert checked(installed, script) == []
