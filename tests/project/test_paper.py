"""The paper for the Journal of Open Source Software: metadata, sections, length, citations, and measured speeds."""

import json
import re
import statistics

import pytest
import yaml
from fresh_python import ROOT

FOLDER = ROOT / "docs" / "paper"
_, HEAD, BODY = (FOLDER / "paper.md").read_text(encoding="utf-8").split("---\n", 2)
SECTIONS = [
    "Summary", "Statement of need", "State of the field", "Software design", "Research impact statement",
    "AI usage disclosure", "Acknowledgements", "References",
]  # fmt: skip


def test_the_metadata_are_those_of_the_citation_file():
    paper, citation = yaml.safe_load(HEAD), yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert paper["title"] == citation["title"]
    assert [author["name"] for author in paper["authors"]] == [author["name"] for author in citation["authors"]]
    assert set(paper["tags"]) == {"Python", "JAX", *citation["keywords"]} - {"jax"}
    assert {author["affiliation"] for author in paper["authors"]} == {each["index"] for each in paper["affiliations"]}
    assert re.fullmatch(r"\d{1,2} [A-Z][a-z]+ \d{4}", paper["date"])


def test_the_paper_has_the_sections_and_the_length_that_the_journal_requires():
    assert re.findall(r"^# (.*)$", BODY, re.MULTILINE) == SECTIONS
    assert 750 <= len(BODY.split()) <= 1750


def test_citations_are_in_the_bibliography():
    entries = re.findall(r"^@\w+\{(\w+),", (FOLDER / yaml.safe_load(HEAD)["bibliography"]).read_text(), re.MULTILINE)
    assert sorted(set(re.findall(r"@(\w+)", BODY))) == sorted(entries)


@pytest.mark.parametrize(
    ("row", "workload"),
    [
        ("EXP3, 10 arms", "bandits, EXP3"),
        ("UCB1, 10 arms", "bandits, UCB1"),
        ("Thompson sampling, 10 arms", "bandits, Thompson"),
        ("gradient descent, 20 dimensions", "online gradient"),
    ],
)
def test_speeds_are_those_of_the_shipped_benchmarks(row, workload):
    """Up to a quarter, by which measurements differ from hour to hour."""
    (printed,) = re.findall(rf"^\| {row} \| (.*) \| (.*) \|$", BODY, re.MULTILINE)
    workloads = json.loads((ROOT / "benchmarks/results/two-cores.json").read_text())["workloads"]
    (rates,) = [each["rates"] for each in workloads if each["title"].startswith(workload)]
    for speed, other in zip(printed, ("river", "numba, parallel"), strict=True):
        ratio = statistics.median(a / b for a, b in zip(rates["jaxonline"], rates[other], strict=True))
        assert float(speed) == pytest.approx(ratio, rel=0.25)
