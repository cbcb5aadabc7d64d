"""The generated pages docs/claims.md and docs/papers.md say what the code says."""

import importlib.util
import re
from pathlib import Path

import pytest

import jaxonline
from benchmarks.papers.claims import errata
from benchmarks.papers.claims.erratum import KINDS
from benchmarks.papers.claims.page import claims_page
from benchmarks.papers.claims.papers import PLACES, claims_at, defining_file, named_tests, papers_page, studies_of
from benchmarks.papers.claims.registry import all_claims
from benchmarks.papers.claims.report import as_text, markdown_errata
from benchmarks.papers.studies import STUDIES

ROOT = Path(jaxonline.__file__).parents[1]
CLAIMS = (ROOT / "docs" / "claims.md").read_text()
PAPERS = (ROOT / "docs" / "papers.md").read_text()
FILES = ["docs/claims.md", "docs/papers.md"]


def cells(line: str) -> list[str]:
    """The cells of a line of a Markdown table without escapes."""
    split = re.split(r"(?<!\\)\|", line)[1:-1]
    return [re.sub(r"\\(.)", r"\1", cell.strip()) for cell in split]


def test_claims_md_has_every_claim_with_its_verdict():
    table = CLAIMS.split("| claim | paper |")[1].split("\n\n")[0].splitlines()[2:]
    shown = [(claim, paper, form, verdict.strip("*")) for claim, paper, form, *_, verdict in map(cells, table)]
    assert shown == [(claim.name, claim.paper, claim.form, claim.expected) for claim in all_claims()]


def test_claims_md_equals_the_generated_page_outside_the_table():
    before, after = CLAIMS.split("| claim | paper |")
    written_before, written_after = claims_page([]).split("| claim | paper |")
    assert before == written_before
    assert after.endswith(written_after.split("|\n\n")[1])
    assert markdown_errata() in CLAIMS
    assert errata.legend() in CLAIMS


def test_errata_are_numbered_and_have_a_paper():
    assert [one.number for one in errata.ERRATA] == list(range(1, 63))
    assert all(one.paper in errata.PAPERS and one.place and one.printed and one.right for one in errata.ERRATA)
    assert errata.erratum(17).place == "Table 2"
    assert str(errata.erratum(8)).startswith("E8 (formula). A, Algorithm 1. Printed: ")
    with pytest.raises(ValueError, match=r"number: .*got 63"):
        errata.erratum(63)
    for line, one in zip(markdown_errata().splitlines()[2:], errata.ERRATA, strict=True):
        assert cells(line) == [
            f"E{one.number}", f"{one.paper}, {one.place}", one.kind, one.printed, one.right, one.note,
        ]  # fmt: skip


@pytest.mark.parametrize("file", ["docs/CHANGELOG.md", "docs/paper/paper.md"])
def test_pages_count_the_notes_by_class(file):
    text = " ".join((ROOT / file).read_text().split())
    assert errata.count_by_kind() in text
    assert not re.search(r"\b\d+ errata", text)


def test_every_note_has_a_class():
    assert {one.kind for one in errata.ERRATA} == set(KINDS)
    counts = [int(number) for number in re.findall(r"\d+", errata.count_by_kind())]
    assert sum(counts) == len(errata.ERRATA)


def test_papers_md_equals_the_generated_page():
    """Update it with `python -m benchmarks.papers.claims.papers > docs/papers.md`."""
    assert papers_page() == PAPERS


def test_every_claim_has_a_place_in_papers_md():
    found = [claim for letter, places in PLACES.items() for place in places for claim in claims_at(letter, place)]
    claims = [c for c in all_claims() if c.form != "control"]
    assert sorted((c.name, c.form) for c in found) == sorted((c.name, c.form) for c in claims)
    assert all(as_text(claim.name) in PAPERS for claim in claims)


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
    keys = {key.strip().lower() for place in PLACES[letter] for key in place.where.split(",")}
    for kind, numbers in PARTS_OF_PAPERS[letter].items():
        numbers = range(1, numbers + 1) if isinstance(numbers, int) else numbers
        assert [f"{kind} {n}" for n in numbers if f"{kind} {n}".strip().lower() not in keys] == []


STUDY_MODULES = {location.partition(":")[0] for location in STUDIES.values()}


def is_study(name: str) -> bool:
    """Whether a name is the module of a study, or something in a module of a study's figures or theory."""
    module = f"benchmarks.{name}"
    while importlib.util.find_spec(module.rpartition(".")[0]).submodule_search_locations is None:
        module = module.rpartition(".")[0]
    return module in STUDY_MODULES or module.endswith(("_figures", "_theory"))


def test_every_row_has_a_claim_a_study_or_a_test_or_says_why_not():
    for letter in PLACES:
        for place in PLACES[letter]:
            studies = [name for name in studies_of(place) if is_study(name)]
            shown = bool(claims_at(letter, place) or studies or place.tests)
            assert shown != bool(place.reason), place.where


def test_named_studies_and_tests_exist():
    """Helpers of a study are no study."""
    places = [place for letter in PLACES for place in PLACES[letter]]
    for place in places:
        assert all((ROOT / defining_file(name)).exists() for name in studies_of(place))
        for file, function in named_tests(place):
            assert f"\ndef {function}(" in (ROOT / "tests" / file).read_text(), function
    assert is_study("papers.studies.variance")
    assert is_study("papers.studies.multikernel_figures.running")
    assert not is_study("papers.studies.multikernel_runs.scaled")


def test_defining_file_returns_the_file_of_a_name():
    assert defining_file("learners.NoisyKernel") == Path("jaxonline/learners/kernels/noisy_kernel.py")
    assert defining_file("losses") == Path("jaxonline/losses")
    assert (
        defining_file("kernels.radial.Cauchy") == defining_file("kernels.radial") == Path("jaxonline/kernels/radial.py")
    )
    with pytest.raises(AttributeError):
        defining_file("learners.Nobody")


@pytest.mark.parametrize("file", FILES)
def test_links_have_targets(file):
    links = re.findall(r"\]\(([^)#]+)\)", (ROOT / file).read_text())
    inside = [link for link in links if "://" not in link]
    assert inside
    assert [link for link in inside if not (ROOT / "docs" / link).exists()] == []
