"""`python -m benchmarks.papers`: commands of studies, with a stub that computes nothing; fields; invalid commands."""

import json
from pathlib import Path
from typing import ClassVar, Literal

import pytest
from pydantic import Field
from rich.console import Console
from typer.testing import CliRunner

from benchmarks.papers import reproduce
from benchmarks.papers.__main__ import app
from benchmarks.papers.claims import registry
from benchmarks.papers.commands import load_study
from benchmarks.papers.studies import QUICK, SOURCES, STUDIES, multikernel
from benchmarks.papers.study import Names, Numbers, Study
from jaxonline.datasets import loading
from jaxonline.results.report.tables import Number, Table, Text
from jaxonline.study import Context, Report, study


class Stub(Study):
    title: ClassVar[str] = "What a stub makes of its fields."
    runs: int = Field(4, ge=2, description="Runs of each learner.")
    noises: Numbers = Field((0.1, 0.2), description="Noises.")
    only: Names = Field((), description="Learners.")
    kind: Literal["correct", "printed"] = Field("correct", description="Form.")
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
    monkeypatch.setitem(STUDIES, "stub", f"{__name__}:Stub")
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        return CliRunner().invoke(app, ["reproduce", "stub", *arguments], env={"COLUMNS": "200"})

    return run


def test_options_set_the_fields_of_a_study(call, tmp_path):
    done = call(
        "--runs", "7", "--noises", "0,0.3", "--noises", "1", "--only", "one copy, averaged", "--only", "two",
        "--kind", "printed", "--seed", "3", "--checkpoint", "kept", "--json", "[red]/all.json", "--out", "r[/z]",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    assert json.loads((tmp_path / "[red]" / "all.json").read_text())["table"][0] == {
        "runs": 7, "noises": [0.0, 0.3, 1.0], "only": ["one copy, averaged", "two"], "kind": "printed", "seed": 3,
        "checkpoint": "kept",
    }  # fmt: skip
    assert "A stub says [nothing].\nIt is �[31mred." in done.output
    assert (tmp_path / "r[" / "z]" / "report.html").is_file()


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


def test_every_study_has_a_source_and_a_small_size():
    assert set(STUDIES) == set(SOURCES) == set(QUICK)
    for name, location in STUDIES.items():
        load_study(location)()
        load_study(location)(**QUICK[name])


@pytest.mark.parametrize(("error", "code"), [(None, 0), (ValueError("wrong"), 1)])
def test_all_studies_run_if_data_are_missing_or_one_fails(error, code, monkeypatch, tmp_path, capsys):
    class Made:
        def __init__(self, error):
            self.error = error

        def run(self, context):
            if self.error is not None:
                raise self.error
            return Report({})

    errors = {"first": error, "data": OSError("the set cannot be fetched"), "second": None}
    monkeypatch.setattr(reproduce, "STUDIES", {name: name for name in errors})
    monkeypatch.setattr(reproduce, "QUICK", {name: {} for name in errors})
    monkeypatch.setattr(reproduce, "load_study", lambda name: lambda: Made(errors[name]))
    assert reproduce.reproduce_all(tmp_path, True, 0, Console()) == code
    assert "skipped:" in capsys.readouterr().out
    assert (tmp_path / "first" / "report.html").exists() == (error is None)
    assert (tmp_path / "second" / "report.html").is_file()


INVALID = {  # parts of the message by command line
    "variance": ["did you mean 'reproduce variance'?"],
    "verify --claim expnential": ["did you mean 'exponential'?"],
    "verify --json a.svg --figure a.svg/b.svg": ["--json", "got 'a.svg'"],
    "reproduce all --out file": ["--out"],
    "reproduce impossibility --seed 4294967296": ["--seed", "got 4294967296"],
    "reproduce impossibility --checkpoint file": ["--checkpoint", "got 'file'"],
    "reproduce impossibility --json here --out here/deep": ["--json", "got 'here'"],
    "reproduce impossibility --only two-copies": ["did you mean 'two copies'?"],
    "reproduce variance --ps 2,x": ["--ps"],
    "reproduce noisy-kernels --kernels nonsense": ["--kernels", "got 'nonsense'"],
    "reproduce gaussian-noise --data folder": ["--data", "got folder"],
    "reproduce multikernel --sets table.csv --target 9": ["table.csv has no column 9"],
    "reproduce attributes --pairs 3-3": ["--pairs"],
    "reproduce finite-time-bandits --distributions 1,4": ["--distributions", "got 4"],
}


@pytest.fixture
def unchanged_folder(tmp_path, monkeypatch):
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
    done = CliRunner().invoke(app, line.split(" "))
    assert done.exit_code == 2, done.output
    first, second = done.stderr.splitlines()
    assert first.startswith("Error: ")
    assert all(part in first for part in INVALID[line])
    assert second.startswith("Try 'python -m benchmarks.papers")
    assert second.endswith("--help'.")
