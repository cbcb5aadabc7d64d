"""The commands `python -m benchmarks.papers list` and `reproduce all`."""

import pytest
from rich.console import Console
from typer.testing import CliRunner

from benchmarks.papers import reproduce
from benchmarks.papers.__main__ import app
from benchmarks.papers.claims.registry import all_claims
from benchmarks.papers.commands import load_study
from benchmarks.papers.studies import QUICK, SOURCES, STUDIES
from jaxonline.study import Context, Report


def test_list_has_one_line_for_each_study_and_the_counts_of_claims():
    done = CliRunner().invoke(app, ["list"], env={"COLUMNS": "80"})
    assert done.exit_code == 0
    lines = done.output.splitlines()
    for name, source in SOURCES.items():
        (line,) = [line for line in lines if line.startswith(f"{name} ")]
        assert f"{source}: " in line
        assert line.endswith(load_study(STUDIES[name]).title)
    counts = [int(line.split()[0]) for line in lines if " claims, " in line]
    assert sum(counts) == sum(claim.paper[:1] in "ABCDE" for claim in all_claims() if claim.form != "control")


def test_every_study_has_a_source_and_a_quick_form():
    assert set(STUDIES) == set(SOURCES) == set(QUICK)
    for name, location in STUDIES.items():
        study = load_study(location)
        quick, whole = study(**QUICK[name]).model_dump(), study().model_dump()
        assert quick != whole, name


class Works:
    """A study with an empty report."""

    def __init__(self, **fields):
        self.fields = fields

    def run(self, context: Context) -> Report:
        return Report({}, sentences=[str(self.fields)])


class LacksData(Works):
    def run(self, context: Context) -> Report:
        raise OSError("the set cannot be fetched")


class Fails(Works):
    def run(self, context: Context) -> Report:
        raise ValueError("wrong")


@pytest.mark.parametrize(("last", "code"), [(Works, 0), (Fails, 1)])
def test_all_studies_run_if_data_are_missing_or_one_fails(last, code, monkeypatch, tmp_path, capsys):
    studies = {"first": last, "data": LacksData, "second": Works}
    monkeypatch.setattr(reproduce, "STUDIES", {name: name for name in studies})
    monkeypatch.setattr(reproduce, "QUICK", {name: {"runs": 2} for name in studies})
    monkeypatch.setattr(reproduce, "load_study", studies.get)
    assert reproduce.reproduce_all(tmp_path, True, 0, Console()) == code
    lines = capsys.readouterr().out.splitlines()
    outcomes = {line.split()[0]: line for line in lines if line.split()[:1] and line.split()[0] in studies}
    assert ("failed" if code else str(tmp_path / "first")) in outcomes["first"]
    assert "skipped:" in outcomes["data"]
    assert str(tmp_path / "second") in outcomes["second"]
    assert (tmp_path / "second" / "report.html").is_file()


def test_an_output_that_cannot_be_written_is_a_usage_error(tmp_path):
    (tmp_path / "file").write_text("")
    done = CliRunner().invoke(app, ["reproduce", "all", "--out", str(tmp_path / "file")])
    assert done.exit_code == 2
    assert "--out: " in done.output
