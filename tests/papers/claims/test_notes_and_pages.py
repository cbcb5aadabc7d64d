"""The notes and places of the papers, and the pages made from them, say what the code says."""

import re
from pathlib import Path

import pytest

import jaxonline
from benchmarks.papers.claims.notes import KINDS, NOTES, PAPERS, count_by_kind, find_note
from benchmarks.papers.claims.page import papers_page, stored_rows
from benchmarks.papers.claims.places import PLACES, claims_at, defining_file, named_tests, studies_of
from benchmarks.papers.claims.registry import all_claims
from benchmarks.papers.claims.report import as_text

ROOT = Path(jaxonline.__file__).parents[1]


def test_notes_are_numbered_and_have_a_paper_and_a_class():
    assert [note.number for note in NOTES] == list(range(1, 63))
    assert all(note.paper in PAPERS and note.place and note.printed and note.right for note in NOTES)
    assert {note.kind for note in NOTES} == set(KINDS)
    assert sum(int(number) for number in re.findall(r"\d+", count_by_kind())) == len(NOTES)
    assert find_note(17).place == "Table 2"
    with pytest.raises(ValueError, match=r"number: .*got 63"):
        find_note(63)


def test_stored_verdicts_are_the_expected_ones_of_all_claims():
    """Update them with `python -m benchmarks.papers verify --json benchmarks/papers/results/claims.json`."""
    stored = [(row["claim"], row["paper"], row["form"], row["verdict"]) for row in stored_rows()]
    assert stored == [(claim.name, claim.paper, claim.form, claim.expected) for claim in all_claims()]


def test_every_claim_has_a_place_on_the_page_of_papers():
    found = [claim for letter, places in PLACES.items() for place in places for claim in claims_at(letter, place)]
    claims, page = [c for c in all_claims() if c.form != "control"], papers_page()
    assert sorted((c.name, c.form) for c in found) == sorted((c.name, c.form) for c in claims)
    assert all(as_text(claim.name) in page for claim in claims)


def test_the_page_has_a_row_for_every_part_of_the_papers():
    """Theorems, lemmas, algorithms, examples, figures, footnotes, numbered equations and sections."""
    keys = {letter: {key for place in places for key in place.keys} for letter, places in PLACES.items()}
    assert {letter: len(names) for letter, names in keys.items()} == {"A": 57, "B": 52, "C": 44, "D": 47, "E": 22}
    assert {"theorem 5", "lemma 6", "eq. 11", "appendix f"} <= keys["A"]


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
