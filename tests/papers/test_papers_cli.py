"""`python -m benchmarks.papers`: commands of studies, with a stub that computes nothing; invalid command lines."""

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import ClassVar, Literal

import pytest
from fresh_python import ROOT, run_python
from pydantic import Field
from typer.testing import CliRunner

from benchmarks.papers.__main__ import app
from benchmarks.papers.claims import registry
from benchmarks.papers.commands import load_study
from benchmarks.papers.studies import STUDIES, multikernel
from benchmarks.papers.study import Names, Numbers, Study
from benchmarks.suites import SuiteCommands
from benchmarks.suites import app as suites
from jaxonline.datasets import loading
from jaxonline.results.report.tables import Number, Table, Text
from jaxonline.study import Context, Report, study


class Stub(Study):
    """A study for tests."""

    title: ClassVar[str] = "What a stub makes of its fields."
    runs: int = Field(4, ge=2, description="Runs of each learner.")
    noise_variance: float = Field(0.5, gt=0, description="Of each measurement.")
    noises: Numbers = Field((0.1, 0.2), description="Noises.")
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
        "--runs", "7", "--noise-variance", "0.25", "--noises", "0,0.3", "--noises", "1", "--only", "one copy, averaged",
        "--only", "two", "--kind", "printed", "--forward", "--seed", "3", "--checkpoint", "kept",
        "--json", "deep/all.json", "--out", "here",
    )  # fmt: skip
    assert done.exit_code == 0, done.output
    row = json.loads((tmp_path / "deep" / "all.json").read_text())["table"][0]
    assert row == {
        "runs": 7, "noise_variance": 0.25, "noises": [0.0, 0.3, 1.0], "only": ["one copy, averaged", "two"],
        "kind": "printed", "forward": True, "seed": 3, "checkpoint": "kept",
    }  # fmt: skip
    assert (tmp_path / "here" / "table.csv").exists()
    assert "printed" in done.output
    assert "7.0" in done.output
    assert "A stub says [nothing].\nIt is �[31mred." in done.output
    assert "here/table.csv, here/numbers.json, here/report.html, deep/all.json written" in done.output


def test_paths_are_not_parsed_as_markup(call):
    done = call("--out", "r[/z]", "--json", "[red]all.json")
    assert done.exit_code == 0, done.output
    assert "r[/z]/table.csv, r[/z]/numbers.json, r[/z]/report.html, [red]all.json written" in done.output


def test_without_options_a_study_uses_its_defaults(call, tmp_path):
    assert call().exit_code == 0
    row = json.loads((tmp_path / "results" / "stub" / "numbers.json").read_text())["table"][0]
    assert row == {**Stub().model_dump(mode="json", exclude={"data", "fails"}), "seed": 0, "checkpoint": "None"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--runs", "1"], "--runs: must be at least 2 (got 1)"),
        (["--runs", "many"], "--runs: must be a valid integer, unable to parse string as an integer (got many)"),
        (["--noise-variance", "0"], "--noise-variance: must be above 0 (got 0)"),
        (["--kind", "other"], "--kind: must be 'correct' or 'printed' (got other)"),
        (["--seed", "-1"], "--seed: must be at least 0 (got -1)"),
        (["--out", "s3://bucket/y"], "--out: must be a path on this computer, not a URL (got 's3://bucket/y')"),
        (["--json", "s3://b/y"], "--json: must be a path on this computer, not a URL (got 's3://b/y')"),
        (["--data", "nowhere"], "nowhere is not there: fetch it"),
        (["--data", "\x1b[31mred\x9b\u202e"], "�[31mred�� is not there: fetch it"),
    ],
)
def test_errors_are_two_lines_and_exit_code_2(call, arguments, message):
    done = call(*arguments)
    assert done.exit_code == 2
    assert done.output == f"Error: {message}\nTry 'python -m benchmarks.papers reproduce stub --help'.\n"


def test_an_unknown_option_exits_with_code_2(call):
    assert call("--nonsense", "1").exit_code == 2


def test_the_help_shows_the_descriptions_of_fields(call):
    text = " ".join(call("--help").output.split())
    for words in (
        "What a stub makes", "Runs of each learner. (default 4, at least 2)", "(default 0.1,0.2)",
        "correct | printed, default correct",
    ):  # fmt: skip
        assert words in text
    assert "Raises:" not in text
    for option in ("--noise-variance", "--forward", "--out", "--json", "--seed", "--checkpoint"):
        assert option in text


def test_every_study_has_a_command():
    for group, program, names in ((["reproduce"], app, STUDIES), ([], suites, SuiteCommands.studies)):
        listed = CliRunner().invoke(program, [*group, "--help"]).output
        assert all(name in listed for name in names)
        for name in names:
            done = CliRunner().invoke(program, [*group, name, "--help"], env={"COLUMNS": "200"})
            assert done.exit_code == 0, done.output
            assert "--checkpoint" in done.output
        assert CliRunner().invoke(program, [*group, "nothing"]).exit_code == 2


@pytest.mark.parametrize("location", [*STUDIES.values(), *SuiteCommands.studies.values()])
def test_a_study_describes_itself(location):
    study = load_study(location)
    assert study.title.endswith(".")
    assert inspect.getdoc(study)
    assert all(field.description for field in study.model_fields.values())
    study()  # every field has a default


# ---------------------------------------------------------------------------------------------------------------------
# What goes wrong on the way


@pytest.mark.parametrize(
    ("fails", "code", "said"),
    [("memory", 2, "Error: no room\nTry"), ("stop", 130, ""), ("bug", 3, "Traceback")],
)
def test_exit_code_1_is_for_checks(call, fails, code, said):
    done = call("--fails", fails)
    assert done.exit_code == code
    assert done.stderr.startswith(said)


def test_a_full_disk_keeps_the_other_outputs(call, tmp_path):
    """The table is printed, and all that can be written is."""
    done = call("--json", "/dev/full", "--out", "here")
    assert done.exit_code == 2
    assert "What a stub makes" in done.stdout
    assert (tmp_path / "here" / "numbers.json").exists()
    words = "Error: [Errno 28] No space left on device: '/dev/full'"
    assert done.stderr == f"{words}\nTry 'python -m benchmarks.papers reproduce stub --help'.\n"


def test_an_unwritable_output_keeps_the_other_outputs(call, tmp_path):
    (tmp_path / "here" / "table.csv").mkdir(parents=True)
    done = call("--json", "all.json", "--out", "here")
    assert done.exit_code == 2
    assert "What a stub makes" in done.stdout
    assert "kind" in (tmp_path / "all.json").read_text()
    assert done.stderr.startswith("Error: [Errno 21] Is a directory: 'here/table.csv'")


def test_verify_reports_a_full_disk():
    done = CliRunner().invoke(app, ["verify", "--claim", "E18", "--json", "/dev/full"])
    assert done.exit_code == 2
    assert "2 of 2 claims as expected" in done.stdout
    assert done.stderr.startswith("Error: [Errno 28] No space left on device: '/dev/full'")


# ---------------------------------------------------------------------------------------------------------------------
# Programs


def program(*arguments, stdout=subprocess.PIPE, **variables):
    """`python -m benchmarks.papers` in a process of its own."""
    left_out = "COLUMNS", "FORCE_COLOR", "NO_COLOR", "XLA_FLAGS"
    environment = {key: value for key, value in os.environ.items() if key not in left_out}
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.papers", *arguments], stdout=stdout, stderr=subprocess.PIPE, text=True,
        check=False, timeout=120, env=environment | {"PYTHONPATH": str(ROOT)} | variables,
    )  # fmt: skip


@pytest.mark.parametrize("arguments", [["--help"], ["reproduce", "--help"], ["verify", "--help"]])
def test_slow_imports_are_deferred(arguments):
    code = f"""
import sys
from benchmarks.papers.__main__ import app
try:
    app({arguments})
except SystemExit as end:
    assert not end.code
heavy = {{"jax", "jaxlib", "matplotlib", "numpy", "optax", "pandas", "scipy", "sklearn", "xarray", "zarr"}}
print(sorted(heavy & set(sys.modules)))
"""
    assert run_python(code).splitlines()[-1] == "[]"


@pytest.mark.long
def test_study_help_does_not_import_plotting_and_data_packages():
    code = """
import sys
from benchmarks.papers.commands import load_study
from benchmarks.papers.studies import STUDIES
for location in STUDIES.values():
    load_study(location)
heavy = {"matplotlib.figure", "pandas", "scipy.stats", "sklearn", "xarray", "zarr"}
print(sorted(heavy & set(sys.modules)))
"""
    assert run_python(code).splitlines() == ["[]"]


@pytest.mark.long
def test_a_closed_pipe_does_not_stop_a_study(tmp_path):
    """As in `verify | head -1`: no traceback, all outputs, and the exit code of the checks."""
    read, write = os.pipe()
    os.close(read)
    with os.fdopen(write, "w") as closed:
        done = program("verify", "--claim", "E18", "--json", str(tmp_path / "rows.json"), stdout=closed)
        assert (done.returncode, done.stderr) == (0, "")
        assert len(json.loads((tmp_path / "rows.json").read_text())) == 2
        assert program("--help", stdout=closed).returncode == 0


@pytest.mark.long
def test_a_full_standard_output_is_an_error():
    with open("/dev/full", "w") as full:
        done = program("verify", "--claim", "E18", stdout=full)
    assert done.returncode == 2
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr


# ---------------------------------------------------------------------------------------------------------------------
# Invalid command lines: exit code 2 at once, and two lines on standard error that name the option

HUGE = str(10**18)
LONG = "x" * 300 + ".json"

# parts of the message by command line, separated by " ... "
ON_TOP = {
    "nonsense": "command: unknown name (got 'nonsense')",
    "variance": "did you mean 'reproduce variance'?",
    "reproduce variace": "did you mean 'reproduce variance'?",
    "reproduce --seed 1": "--seed",
    "reproduce impossibility more": "more",
    "verify E11": "E11",
}
VERIFY = {
    "--claim ": "--claim",
    "--claim E99": "--claim ... got 'E99'",
    "--claim expnential": "did you mean 'exponential'?",
    "--claim E11 --claims E11": "--claims",
    "--samples 0": "--samples ... got 0",
    "--samples 1": "--samples ... got 1",
    f"--samples {HUGE}": "--samples ... got 1000000000000000000",
    "--samples 1e6": "--samples",
    "--figure ": "--figure ... got ''",
    "--figure folder": "--figure ... got 'folder'",
    "--figure file/x.png": "--figure ... got 'file/x.png'",
    "--figure claims.nonsense": "--figure ... got 'claims.nonsense'",
    "--figure claims": "--figure",
    "--json a.svg --figure a.svg": "--json ... got 'a.svg'",
    "--json a.svg --figure a.svg/b.svg": "--json ... got 'a.svg'",
}
SEEDS = {
    "--seed -1": "--seed ... got -1",
    "--seed 4294967296": "--seed ... got 4294967296",
    "--seed 9223372036854775808": "--seed",
    "--seed many": "--seed",
    "--seed 1.5": "--seed",
    "--seed ": "--seed",
}
FILES = {
    "--json ": "--json ... got ''",
    "--json folder": "--json ... got 'folder'",
    "--json file/x.json": "--json ... got 'file/x.json'",
    "--json /proc/nowhere/x.json": "--json ... got '/proc/nowhere/x.json'",
    f"--json {LONG}": "--json",
}
FOLDERS = {
    "--out ": "--out ... got ''",
    "--out file": "--out ... got 'file'",
    "--out file/deep/er": "--out ... got 'file/deep/er'",
    "--out /proc/nowhere": "--out ... got '/proc/nowhere'",
    "--checkpoint ": "--checkpoint ... got ''",
    "--checkpoint file": "--checkpoint ... got 'file'",
    "--checkpoint /proc/nowhere": "--checkpoint",
    "--json here --out here": "--json ... got 'here'",
    "--json here --out here/deep": "--json ... got 'here'",
    "--json here --checkpoint here": "--json ... got 'here'",
}
FIELDS = {
    "reproduce variance": {
        "--ps 1": "--ps ... got 1",
        "--ps 2,x": "--ps",
        "--ps ,": "--ps",
        "--guess 0": "--guess",
        "--mean nan": "--mean",
        "--mean 100": "--mean",
        "--noise-variance 0": "--noise-variance",
    },
    "reproduce noisy-kernels": {
        "--kernels nonsense": "--kernels ... got 'nonsense'",
        "--losses sqared": "did you mean 'squared'?",
        "--ps 1.0": "--ps ... got 1.0",
        "--overheads -1": "--overheads ... got -1",
        "--overheads nan": "--overheads ... got nan",
        "--etas 0": "--etas ... got 0",
        "--etas ,": "--etas ... not 0",
        "--runs 3": "--runs ... got 3",
        f"--rounds {HUGE}": "--rounds",
        "--instances 1": "--instances ... got 1",
    },
    "reproduce gaussian-noise": {
        "--rounds 0": "--rounds ... got 0",
        "--rounds 200": "--rounds ... got 200",
        "--noises 0,0.8": "--noises ... got 0.8",
        "--noises -0.1": "--noises ... got -0.1",
        "--shown-noise 0.8": "--shown-noise ... got 0.8",
        "--only nobody": "--only",
        "--data nowhere": "--data ... got 'nowhere'",
        "--data folder": "--data ... got folder",
        "--sets Airfol": "did you mean 'Airfoil'?",
    },
    "reproduce radial-kernels": {
        "--c 5": "--c ... got 5",
        "--noise 0": "--noise ... got 0",
        "--rounds 63": "--rounds ... got 63",
        "--only nobody": "--only",
    },
    "reproduce impossibility": {
        "--radius 1": "--radius ... got 1",
        "--rounds 15": "--rounds ... got 15",
        "--only nobody": "--only",
        "--only two-copies": "did you mean 'two copies'?",
    },
    "reproduce multikernel": {
        "--sets nonsense": "--sets",
        "--sets AR(4),AR(4)": "--sets ... got 'AR(4)'",
        "--data nowhere": "--data ... got 'nowhere'",
        "--data folder": "--data ... got folder",
        "--seeds many": "--seeds",
        "--seeds 0": "--seeds",
        "--seeds 5-2": "--seeds",
        f"--seeds {HUGE}": "--seeds",
        "--seeds 4294967296,": "--seeds",
        "--sampler other": "--sampler ... got other",
        "--dtype float16": "--dtype",
        "--sets table.csv --target nonsense": "table.csv has no column 'nonsense'",
        "--sets table.csv --target 9": "table.csv has no column 9",
        "--sets file": "--sets",
    },
    "reproduce multikernel-rates": {
        "--rounds 256": "--rounds ... not 1",
        "--n-kernels 1": "--n-kernels ... got 1",
        "--rounds 256,256": "--rounds ... distinct",
        "--cost-kernels 4": "--cost-kernels ... not 1",
        "--rounds 256,8": "--rounds ... got 8",
        "--kernel nonsense": "--kernel ... got nonsense",
        "--draws 2": "--draws ... got 2",
    },
}
INVALID = {
    **ON_TOP,
    **{f"verify {options}": words for options, words in (VERIFY | SEEDS | FILES).items()},
    **{f"reproduce impossibility {options}": words for options, words in (SEEDS | FILES | FOLDERS).items()},
    **{f"{command} {options}": words for command, own in FIELDS.items() for options, words in own.items()},
}


class Worked(RuntimeError):
    """The work has started."""


@pytest.fixture
def unchanged_folder(tmp_path, monkeypatch):
    """A folder with a file, a folder and a table, that commands must not change."""

    def work(*arguments, **options):
        raise Worked

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
    """The command runs in this process; starting the work, or using the network, raises `Worked`: exit code 3."""
    done = CliRunner().invoke(app, line.split(" "))
    assert done.exit_code == 2, done.output
    first, second = done.stderr.splitlines()
    assert first.startswith("Error: ")
    assert all(part in first.lower() for part in INVALID[line].lower().split(" ... "))
    assert second.startswith("Try 'python -m benchmarks.papers")
    assert second.endswith("--help'.")
    assert "Traceback" not in done.output
