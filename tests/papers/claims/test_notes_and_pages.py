"""The notes and places of the papers, and the pages made from them, say what the code says."""

import importlib.util
import re
from collections import Counter
from pathlib import Path

import pytest

import jaxonline
from benchmarks.papers.claims.notes import KINDS, NOTES, PAPERS, count_by_kind, find_note
from benchmarks.papers.claims.page import claims_page, notes_table, papers_page, stored_rows
from benchmarks.papers.claims.places import PLACES, claims_at, defining_file, named_tests, studies_of
from benchmarks.papers.claims.registry import all_claims
from benchmarks.papers.claims.report import as_text

ROOT = Path(jaxonline.__file__).parents[1]
FOLDER = ROOT / "benchmarks" / "papers"


def cells(line: str) -> list[str]:
    """The cells of a line of a Markdown table without escapes."""
    split = re.split(r"(?<!\\)\|", line)[1:-1]
    return [re.sub(r"\\(.)", r"\1", cell.strip()) for cell in split]


def test_notes_are_numbered_and_have_a_paper_and_a_class():
    assert [note.number for note in NOTES] == list(range(1, 63))
    assert all(note.paper in PAPERS and note.place and note.printed and note.right for note in NOTES)
    assert {note.kind for note in NOTES} == set(KINDS)
    assert sum(int(number) for number in re.findall(r"\d+", count_by_kind())) == len(NOTES)
    assert find_note(17).place == "Table 2"
    assert {number for number in range(1, 63) if find_note(number).kind == "remark"} >= {17, 22, 23, 34, 39}
    with pytest.raises(ValueError, match=r"number: .*got 63"):
        find_note(63)


def test_the_page_of_claims_has_every_row_and_every_note():
    row = {
        "claim": "a | b_1", "paper": "A, Lemma 1", "form": "printed", "method": "computation", "mathematics": True,
        "bias": 1.0, "half_width": 0.5, "detectable": None, "second_moment": None, "exact_second_moment": None,
        "second_moment_bound": None, "verdict": "biased", "expected": "biased",
    }  # fmt: skip
    page = claims_page([row])
    (line,) = (line for line in page.splitlines() if "Lemma 1 | printed" in line)
    assert cells(line) == [
        "a | b_1", "A, Lemma 1", "printed", "computation, mathematics", "+1 ± 0.5", "-", "**biased**",
    ]  # fmt: skip
    assert notes_table() in page
    assert all(str(paper) in page for paper in PAPERS.values())
    for line, note in zip(notes_table().splitlines()[2:], NOTES, strict=True):
        assert cells(line) == [
            f"E{note.number}", f"{note.paper}, {note.place}", note.kind, note.printed, note.right, note.note,
        ]  # fmt: skip


def test_stored_verdicts_are_the_expected_ones_of_all_claims():
    """Update them with `python -m benchmarks.papers verify --json benchmarks/papers/results/claims.json`."""
    stored = [(row["claim"], row["paper"], row["form"], row["verdict"]) for row in stored_rows()]
    assert stored == [(claim.name, claim.paper, claim.form, claim.expected) for claim in all_claims()]


def test_the_readme_counts_claims_and_notes():
    text = (FOLDER / "README.md").read_text()
    assert len(text.splitlines()) <= 60
    counted = re.findall(r"^\*\*.*?\*\* \(([A-E])\):.*?^(\d+) claims; notes: (.*?)\.$", text, re.MULTILINE | re.DOTALL)
    expected = []
    for letter in PAPERS:
        kinds = Counter(note.kind for note in NOTES if note.paper == letter)
        phrase = ", ".join(f"{kind} {kinds[kind]}" for kind in KINDS if kinds[kind])
        expected.append((letter, str(sum(claim.paper.startswith(letter) for claim in all_claims())), phrase))
    assert counted == expected


def test_the_paper_counts_the_notes_by_class():
    text = " ".join((ROOT / "docs/paper/paper.md").read_text().split())
    assert count_by_kind() in text
    assert not re.search(r"\b\d+ errata", text)


def test_every_claim_has_a_place_on_the_page_of_papers():
    found = [claim for letter, places in PLACES.items() for place in places for claim in claims_at(letter, place)]
    claims, page = [c for c in all_claims() if c.form != "control"], papers_page()
    assert sorted((c.name, c.form) for c in found) == sorted((c.name, c.form) for c in claims)
    assert all(as_text(claim.name) in page for claim in claims)


PARTS_OF_PAPERS = {  # every theorem, lemma, algorithm, example, figure, footnote and numbered equation of the papers
    "A": {
        "theorem": 5, "lemma": 6, "subroutine": 7, "algorithm": 1, "example": 4, "figure": 1, "eq.": 11, "footnote": 2,
        "appendix": "ABCDEF", "section": ["2", "3.1", "3.2", "3.3", "4.1", "4.2", "4.3", "5.1", "5.2", "5.3", "6"],
    },
    "B": {
        "theorem": 5, "lemma": 9, "algorithm": 2, "figure": 1, "eq.": 21, "footnote": 2, "appendix": "E",
        "section": ["2", "3", "3.1", "3.2", "4", "5", "6", "6.1"],
    },
    "C": {
        "theorem": 4, "lemma": 6, "algorithm": 2, "figure": 2, "eq.": 13, "footnote": 5,
        "remark": ["after Theorem 1", "after Theorem 2"], "section": ["2", "2.1", "2.2", "2.3", "3", "4", "5", "A.1"],
    },
    "D": {
        "theorem": 3, "lemma": 2, "table": 2, "figure": 2, "eq.": 34,
        "remark": ["after Theorem 3", "on complexity"], "section": ["2", "4"],
    },
    "E": {  # slides without numbered theorems: their titles
        "algorithm": 4, "": ["setup", "spam filtering", "regret", "negative result", "exponential weights",
                             "practical setup", "interesting materials"],
    },
}  # fmt: skip


@pytest.mark.parametrize("letter", "ABCDE")
def test_every_part_of_the_papers_has_a_row(letter):
    keys = {key for place in PLACES[letter] for key in place.keys}
    for kind, numbers in PARTS_OF_PAPERS[letter].items():
        numbers = range(1, numbers + 1) if isinstance(numbers, int) else numbers
        assert [f"{kind} {n}" for n in numbers if f"{kind} {n}".strip().lower() not in keys] == []


def test_every_row_has_a_claim_a_study_or_a_test_or_says_why_not():
    for letter, places in PLACES.items():
        for place in places:
            shown = bool(claims_at(letter, place) or studies_of(place) or place.tests)
            assert shown != bool(place.reason), place.where


def test_named_studies_and_tests_exist():
    for place in (place for places in PLACES.values() for place in places):
        assert all((ROOT / defining_file(name)).exists() for name in place.names)
        for file, function in named_tests(place):
            assert f"\ndef {function}(" in (ROOT / "tests" / file).read_text(), function


def test_defining_file_returns_the_file_of_a_name():
    assert defining_file("learners.NoisyKernel").parts[:2] == ("jaxonline", "learners")
    assert defining_file("losses") == Path("jaxonline/losses")
    assert defining_file("papers.studies.variance") == Path("benchmarks/papers/studies/variance.py")
    assert importlib.util.find_spec("benchmarks.papers.studies.variance") is not None
    with pytest.raises(AttributeError):
        defining_file("learners.Nobody")


@pytest.mark.parametrize("text", [claims_page(stored_rows()), papers_page()], ids=["claims", "papers"])
def test_links_have_targets(text):
    links = re.findall(r"\]\(([^)#]+)\)", text)
    inside = [link for link in links if "://" not in link and link not in ("claims.md", "papers.md")]
    assert inside
    assert [link for link in inside if not (FOLDER / "docs" / link).exists()] == []
