"""The command line is made from the studies' fields: options, help, errors; with a stub study that plays nothing."""

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

from jaxonline.cli import app
from jaxonline.results.report.tables import Number, Table, Text
from jaxonline.study import Context, Report, Study
from jaxonline.study.ready import STUDY_GROUPS, study_commands
from jaxonline.study.study import Names, Numbers


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
    monkeypatch.setitem(STUDY_GROUPS["reproduce"], "stub", f"{__name__}:Stub")
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
        (["--runs", "many"], "--runs: must be a valid integer (got many)"),
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
    for group, studies in STUDY_GROUPS.items():
        listed = CliRunner().invoke(app, [*group.split(), "--help"]).output
        assert all(name in listed for name in studies)
    for command in study_commands().values():
        done = CliRunner().invoke(app, [*command.split(), "--help"], env={"COLUMNS": "200"})
        assert done.exit_code == 0, done.output
        assert "--checkpoint" in done.output
    assert CliRunner().invoke(app, ["reproduce", "nothing"]).exit_code == 2


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
    words = "Error: /dev/full: cannot be written (No space left on device)"
    assert done.stderr == f"{words}\nTry 'python -m benchmarks.papers reproduce stub --help'.\n"


def test_an_unwritable_output_keeps_the_other_outputs(call, tmp_path):
    (tmp_path / "here" / "table.csv").mkdir(parents=True)
    done = call("--json", "all.json", "--out", "here")
    assert done.exit_code == 2
    assert "What a stub makes" in done.stdout
    assert "kind" in (tmp_path / "all.json").read_text()
    assert done.stderr.startswith("Error: here/table.csv: cannot be written (Is a directory)")


def test_verify_reports_a_full_disk():
    done = CliRunner().invoke(app, ["verify", "--claim", "E18", "--json", "/dev/full"])
    assert done.exit_code == 2
    assert "2 of 2 claims as expected" in done.stdout
    assert done.stderr.startswith("Error: /dev/full: cannot be written (No space left on device)")


# ---------------------------------------------------------------------------------------------------------------------
# Programs


def program(*arguments, stdout=subprocess.PIPE, **variables):
    """`python -m jaxonline` in a process of its own."""
    left_out = "COLUMNS", "FORCE_COLOR", "NO_COLOR", "XLA_FLAGS"
    environment = {key: value for key, value in os.environ.items() if key not in left_out}
    return subprocess.run(
        [sys.executable, "-m", "jaxonline", *arguments], stdout=stdout, stderr=subprocess.PIPE, text=True, check=False,
        timeout=120, env=environment | {"PYTHONPATH": str(ROOT)} | variables,
    )  # fmt: skip


@pytest.mark.parametrize("arguments", [["--help"], ["reproduce", "--help"], ["verify", "--help"], ["--version"]])
def test_slow_imports_are_deferred(arguments):
    code = f"""
import sys
from jaxonline.cli import app
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
from jaxonline.study.ready import load_study, study_commands
for name in study_commands():
    load_study(name)
heavy = {"matplotlib.figure", "pandas", "scipy.stats", "sklearn", "xarray", "zarr"}
print(sorted(heavy & set(sys.modules)))
"""
    assert run_python(code).splitlines() == ["[]"]


def test_version_prints_package_and_python_versions():
    done = program("--version")
    assert done.returncode == 0, done.stderr
    jaxonline, jax, python = done.stdout.strip().split(", ")
    assert [each.split()[0] for each in (jaxonline, jax, python)] == ["jaxonline", "jax", "Python"]
    assert python.split()[1] == sys.version.split()[0]


def test_the_script_is_the_module():
    script = Path(sys.executable).with_name("jaxonline")
    done = subprocess.run(
        [script, "--help"], capture_output=True, text=True, check=True, env=os.environ | {"PYTHONPATH": str(ROOT)}
    )
    asked = program("--help", **{key: value for key, value in os.environ.items() if key == "COLUMNS"})
    assert done.stdout == asked.stdout
    assert "Exit codes: 0" in done.stdout


@pytest.mark.long
def test_output_in_a_pipe_has_no_colour():
    for arguments in (["--help"], ["verify", "--claim", "E18"], ["nonsense"]):
        done = program(*arguments, TERM="xterm-256color")
        assert "\x1b" not in done.stdout + done.stderr


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
