"""The command line is made from the studies' fields: options, help, errors; with a stub study that plays nothing."""

import json
from pathlib import Path
from typing import ClassVar, Literal

import pytest
from pydantic import Field
from typer.testing import CliRunner

from jaxonline.cli import app
from jaxonline.results.tables import Number, Table, Text
from jaxonline.study import Context, Report, Study
from jaxonline.study.ready import STUDIES
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

    def run(self, context: Context) -> Report:
        if self.data is not None:
            raise FileNotFoundError(f"{self.data} is not there:\nfetch it")
        row = self.model_dump(exclude={"data"}) | {"seed": context.seed, "checkpoint": str(context.checkpoint)}
        table = Table(self.title, [row], (Text("kind"), Number("runs", form="{:.1f}")))
        return Report({"table": table}, sentences=["A stub says [nothing]."])


@pytest.fixture
def call(monkeypatch, tmp_path):
    """The command line, with the stub among the studies."""
    monkeypatch.setitem(STUDIES, "stub", f"{__name__}:Stub")
    monkeypatch.chdir(tmp_path)

    def run(*arguments):
        return CliRunner().invoke(app, ["reproduce", "stub", *arguments], env={"COLUMNS": "200"})

    return run


def test_options_are_fields(call, tmp_path):
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
    assert "A stub says [nothing]." in done.output
    assert "here/table.csv, here/numbers.json, deep/all.json written" in done.output


def test_without_options_the_defaults_are_played(call, tmp_path):
    assert call().exit_code == 0
    row = json.loads((tmp_path / "results" / "stub" / "numbers.json").read_text())["table"][0]
    assert row == {**Stub().model_dump(mode="json", exclude={"data"}), "seed": 0, "checkpoint": "None"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--runs", "1"], "--runs must be at least 2, got 1"),
        (["--runs", "many"], "--runs must be a valid integer, got many"),
        (["--noise-variance", "0"], "--noise-variance must be above 0, got 0"),
        (["--kind", "other"], "--kind must be 'correct' or 'printed', got other"),
        (["--seed", "-1"], "--seed must be at least 0, got -1"),
        (["--data", "nowhere"], "nowhere is not there: fetch it"),
    ],
)
def test_errors_are_two_lines_and_exit_code_2(call, arguments, message):
    done = call(*arguments)
    assert done.exit_code == 2
    assert done.output == f"Error: {message}\nTry 'jaxonline reproduce stub --help'.\n"


def test_an_option_that_is_not_there(call):
    assert call("--nonsense", "1").exit_code == 2


def test_the_help_says_what_the_fields_say(call):
    text = " ".join(call("--help").output.split())
    for words in ("What a stub makes", "Runs of each learner. (default 4, at least 2)", "(default 0.1,0.2)"):
        assert words in text
    for option in ("--noise-variance", "--forward", "--out", "--json", "--seed", "--checkpoint"):
        assert option in text


def test_every_study_has_a_command():
    listed = CliRunner().invoke(app, ["reproduce", "--help"]).output
    assert all(name in listed for name in STUDIES if name != "quickstart")
    for name in STUDIES:
        command = [name] if name == "quickstart" else ["reproduce", name]
        done = CliRunner().invoke(app, [*command, "--help"], env={"COLUMNS": "200"})
        assert done.exit_code == 0, done.output
        assert "--checkpoint" in done.output
    assert "quickstart" in CliRunner().invoke(app, ["--help"]).output
    assert CliRunner().invoke(app, ["reproduce", "nothing"]).exit_code == 2
