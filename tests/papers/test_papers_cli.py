"""`python -m benchmarks.papers`: commands of studies, with a stub that computes nothing; fields; invalid commands."""

import inspect
import json
from pathlib import Path
from typing import ClassVar, Literal

import pytest
from fresh_python import run_python
from pydantic import Field
from rich.console import Console
from typer.testing import CliRunner

from benchmarks.papers import reproduce
from benchmarks.papers.__main__ import app
from benchmarks.papers.claims import registry
from benchmarks.papers.claims.registry import all_claims
from benchmarks.papers.commands import load_study
from benchmarks.papers.studies import QUICK, SOURCES, STUDIES, multikernel
from benchmarks.papers.study import Names, Numbers, Study, Words, select_by_name
from benchmarks.suites import SuiteCommands
from jaxonline.datasets import loading
from jaxonline.results.report.tables import Number, Table, Text
from jaxonline.study import Context, Report, study


class Stub(Study):
    """A study for tests."""

    title: ClassVar[str] = "What a stub makes of its fields."
    runs: int = Field(4, ge=2, description="Runs of each learner.")
    noises: Numbers = Field((0.1, 0.2), description="Noises.")
    sets: Words = Field((), description="Sets.")
    only: Names = Field((), description="Learners.")
    kind: Literal["correct", "printed"] = Field("correct", description="Form.")
    forward: bool = Field(False, description="The other way.")
    data: Path | None = Field(None, description="A folder.")
    fails: str = Field("", description="What happens when it is played.")

    def run(self, context: Context) -> Report:
        if self.fails:
            raise {"memory": MemoryError("no room"), "stop": KeyboardInterrupt(), "bug": RuntimeError("oh")}[self.fails]
        if self.data is not None:
            raise FileNotFoundError(f"{self.data} is not there:\nfetch it")
        row = self.model_dump(exclude={"data", "fails"}) | {"seed": context.seed, "checkpoint": str(context.checkpoint)}
        table = Table(self.title, [row], (Text("kind"), Number("runs", form="{:.1f}")))
        return Report({"table": table}, sentences=["A stub says [nothing].", "It is \x1b[31mred."])


@pytest.fixture
def call(monkeypatch, tmp_path):
    """The command line, with the stub among the studies."""
    monkeypatch.setitem(STUDIES, "stub", f"{__name__}:Stub")
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        return CliRunner().invoke(app, ["reproduce", "stub", *arguments], env={"COLUMNS": "200"})

    return run


def test_options_set_the_fields_of_a_study(call, tmp_path):
    done = call(
        "--runs", "7", "--noises", "0,0.3", "--noises", "1", "--only", "one copy, averaged", "--only", "two", "--sets",
        "a, b", "--kind", "printed", "--forward", "--seed", "3", "--checkpoint", "kept", "--json", "[red]/all.json",
        "--out", "r[/z]",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "[red]" / "all.json").read_text())["table"][0] == {
        "runs": 7, "noises": [0.0, 0.3, 1.0], "only": ["one copy, averaged", "two"], "sets": ["a", "b"],
        "kind": "printed", "forward": True, "seed": 3, "checkpoint": "kept",
    }  # fmt: skip
    assert "7.0" in done.output
    assert "A stub says [nothing].\nIt is �[31mred." in done.output
    assert "r[/z]/table.csv, r[/z]/numbers.json, r[/z]/report.html, [red]/all.json written" in done.output


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["--runs", "1"], 2, "Error: --runs: must be at least 2 (got 1)\nTry"),
        (["--data", "\x1b[31mred\x9b\u202e"], 2, "Error: �[31mred�� is not there: fetch it\nTry"),
        (["--fails", "memory"], 2, "Error: no room\nTry"),
        (["--fails", "stop"], 130, ""),
        (["--fails", "bug"], 3, "Traceback"),
        (["--json", "here/table.csv/a", "--out", "here"], 2, "Error: [Errno 17] File exists: 'here/table.csv/a'\nTry"),
    ],
)
def test_exit_code_1_is_for_checks(call, tmp_path, arguments, code, message):
    done = call(*arguments)
    assert done.exit_code == code
    assert done.stderr.startswith(message)
    if "here" in arguments:  # the other outputs are written
        assert "What a stub makes" in done.stdout
        assert (tmp_path / "here" / "numbers.json").exists()


@pytest.mark.parametrize("location", [*STUDIES.values(), *SuiteCommands.studies.values()])
def test_a_study_describes_itself(location):
    study = load_study(location)
    assert study.title.endswith(".")
    assert inspect.getdoc(study)
    assert all(field.description for field in study.model_fields.values())
    study()  # every field has a default


# ---------------------------------------------------------------------------------------------------------------------
# All studies


def test_list_has_one_line_for_each_study_and_the_counts_of_claims():
    done = CliRunner().invoke(app, ["list"], env={"COLUMNS": "80"})
    assert done.exit_code == 0
    lines = done.output.splitlines()
    assert set(STUDIES) == set(SOURCES) == set(QUICK)
    for name, source in SOURCES.items():
        assert f"{name:24} {source}: {load_study(STUDIES[name]).title}" in lines
        load_study(STUDIES[name])(**QUICK[name])
    counts = [int(line.split()[0]) for line in lines if " claims, " in line]
    assert sum(counts) == sum(claim.paper[:1] in "ABCDE" for claim in all_claims() if claim.form != "control")


@pytest.mark.parametrize(("error", "code"), [(None, 0), (ValueError("wrong"), 1)])
def test_all_studies_run_if_data_are_missing_or_one_fails(error, code, monkeypatch, tmp_path, capsys):
    def make(error):
        def run(self, context):
            if error is not None:
                raise error
            return Report({})

        return type("Made", (), {"run": run, "__init__": lambda self, **fields: None})

    studies = {"first": make(error), "data": make(OSError("the set cannot be fetched")), "second": make(None)}
    monkeypatch.setattr(reproduce, "STUDIES", {name: name for name in studies})
    monkeypatch.setattr(reproduce, "QUICK", {name: {"runs": 2} for name in studies})
    monkeypatch.setattr(reproduce, "load_study", studies.get)
    assert reproduce.reproduce_all(tmp_path, True, 0, Console()) == code
    lines = capsys.readouterr().out.splitlines()
    outcomes = {line.split()[0]: line for line in lines if line.split()[:1] and line.split()[0] in studies}
    assert ("failed" if code else str(tmp_path / "first")) in outcomes["first"]
    assert "skipped:" in outcomes["data"]
    assert (tmp_path / "second" / "report.html").is_file()


def test_slow_imports_are_deferred():
    code = """
import sys
from benchmarks.papers.__main__ import app
try:
    app(["verify", "--help"])
except SystemExit as end:
    assert not end.code
heavy = {"jax", "jaxlib", "matplotlib", "numpy", "optax", "pandas", "scipy", "sklearn", "xarray", "zarr"}
print(sorted(heavy & set(sys.modules)))
"""
    assert run_python(code).splitlines()[-1] == "[]"


# ---------------------------------------------------------------------------------------------------------------------
# Fields, and invalid command lines: exit code 2 at once, and two lines on standard error that name the option


def test_select_by_name_returns_the_named_entries():
    known = {"a": 1, "b": 2, "one, two": 3}
    assert select_by_name("only", (), known) == known
    assert select_by_name("only", ("b",), known) == {"b": 2}
    assert list(select_by_name("only", ("b,a",), known)) == ["a", "b"]
    assert list(select_by_name("only", ("one, two", "a"), known)) == ["a", "one, two"]
    with pytest.raises(ValueError, match=r"only: .*got 'c'"):
        select_by_name("only", ("a,c",), known)


# parts of the message by command line, separated by " ... "
INVALID = {
    "variance": "did you mean 'reproduce variance'?",
    "reproduce impossibility more": "more",
    "verify --claim expnential": "did you mean 'exponential'?",
    "verify --samples 1": "--samples ... got 1",
    "verify --json a.svg --figure a.svg/b.svg": "--json ... got 'a.svg'",
    "reproduce all --out file": "--out",
    "reproduce impossibility --seed 4294967296": "--seed ... got 4294967296",
    "reproduce impossibility --json file/x.json": "--json ... got 'file/x.json'",
    "reproduce impossibility --out ": "--out ... got ''",
    "reproduce impossibility --checkpoint file": "--checkpoint ... got 'file'",
    "reproduce impossibility --json here --out here/deep": "--json ... got 'here'",
    "reproduce impossibility --radius 1": "--radius ... got 1",
    "reproduce impossibility --rounds 15": "--rounds ... got 15",
    "reproduce impossibility --only two-copies": "did you mean 'two copies'?",
    "reproduce variance --ps 2,x": "--ps",
    "reproduce variance --guess 0": "--guess",
    "reproduce variance --nonsense 1": "--nonsense",
    "reproduce noisy-kernels --kernels nonsense": "--kernels ... got 'nonsense'",
    "reproduce noisy-kernels --etas 0": "--etas ... got 0",
    "reproduce gaussian-noise --rounds 200": "--rounds ... got 200",
    "reproduce gaussian-noise --data folder": "--data ... got folder",
    "reproduce radial-kernels --c 5": "--c ... got 5",
    "reproduce multikernel --sets AR(4),AR(4)": "--sets ... got 'AR(4)'",
    "reproduce multikernel --seeds 5-2": "--seeds",
    "reproduce multikernel --sets table.csv --target 9": "table.csv has no column 9",
    "reproduce multikernel-rates --rounds 256,256": "--rounds ... distinct",
    "reproduce attributes --attributes 3": "--attributes ... got 3",
    "reproduce attributes --pairs 3-3": "--pairs",
    "reproduce finite-time-bandits --distributions 1,4": "--distributions ... got 4",
}


@pytest.fixture
def unchanged_folder(tmp_path, monkeypatch):
    """A folder with a file, a folder and a table, that commands must not change."""

    def work(*arguments, **options):
        raise RuntimeError("the work has started")

    places = (study, "simulate"), (registry, "run_parallel"), (multikernel, "run_set")
    for module, name in (*places, (loading, "fetch_file"), (loading, "fetch_openml")):
        monkeypatch.setattr(module, name, work)
    monkeypatch.delenv("JAXONLINE_DATA", raising=False)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "file").write_text("kept")
    (tmp_path / "folder").mkdir()
    (tmp_path / "table.csv").write_text("a,b\n1,2\n3,4\n")
    before = sorted(tmp_path.rglob("*"))
    yield
    assert sorted(tmp_path.rglob("*")) == before
    assert (tmp_path / "file").read_text() == "kept"


@pytest.mark.parametrize("line", INVALID)
def test_an_invalid_command_prints_two_lines(line, unchanged_folder):
    """The command runs in this process; starting the work, or using the network, has the exit code 3."""
    done = CliRunner().invoke(app, line.split(" "))
    assert done.exit_code == 2, done.output
    first, second = done.stderr.splitlines()
    assert first.startswith("Error: ")
    assert all(part in first.lower() for part in INVALID[line].lower().split(" ... "))
    assert second.startswith("Try 'python -m benchmarks.papers")
    assert second.endswith("--help'.")
