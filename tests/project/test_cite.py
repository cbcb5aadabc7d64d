"""Citations: every learner has a paper, the entries are valid BibTeX, and docstrings name the same papers."""

import inspect
import re

import jax
import numpy as np
import pytest
import yaml
from fresh_python import ROOT
from registry import LEARNERS

import jaxonline as jo
from benchmarks.papers.claims.notes import PAPERS
from benchmarks.papers.estimators import kernels_under_noise  # noqa: F401  (cites a paper)
from jaxonline.citing import METHODS, entries
from jaxonline.parameters.signatures import exported_names
from jaxonline.results import Standings

KEYS_BY_LETTER = {
    "A": "cesabianchi2010online",
    "B": "cesabianchi2010learning",
    "C": "cesabianchi2010efficient",
    "D": "rokhlin2025random",
}
ROOMS = ("learners", "estimators", "kernels", "environments", "bounds", "comparators")
REQUIRED = {
    "article": {"author", "title", "journal", "volume", "pages", "year"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "incollection": {"author", "title", "booktitle", "publisher", "pages", "year"},
    "book": {"author", "title", "publisher", "year"},
    "misc": {"author", "title", "eprint", "archiveprefix", "year"},
}


def parse_entry(entry: str) -> tuple[str, str, dict[str, str]]:
    """Kind, key and fields of an entry with one field per line."""
    head, *lines, last = entry.splitlines()
    kind, key = re.fullmatch(r"@(\w+)\{([a-z0-9]+),", head).groups()
    assert last == "}"
    fields = {}
    for i, line in enumerate(lines):
        name, value, comma = re.fullmatch(r"  (\w+) = \{(.*)\}(,?)", line).groups()
        assert bool(comma) == (i < len(lines) - 1), line
        assert name not in fields, line
        assert value.count("{") == value.count("}"), line
        fields[name] = value
    return kind, key, fields


def find_method(name: str):
    """Return the class or function of a method."""
    name = {"law=l2": "AttributeGradient"}.get(name, name)
    places = [*(getattr(jo, room) for room in ROOMS), jo.intervals]
    return next((getattr(place, name) for place in places if hasattr(place, name)), None)


# ---------------------------------------------------------------------------------------------------------------------
# The entries


def test_entries_have_the_required_fields():
    for key, entry in entries().items():
        kind, own, fields = parse_entry(entry)
        assert own == key
        assert REQUIRED[kind] <= set(fields), key
        assert "doi" not in fields, key
        assert entry.isascii(), key
        first = fields["author"].split(" and ")[0].split(",")[0].lower()
        name, year = re.fullmatch(r"([a-z]+?)(\d{4})[a-z]+", key).groups()
        assert year == fields["year"], key
        assert re.sub(r"[^a-z]", "", first).startswith(name), key
        if "pages" in fields:
            start, end = map(int, fields["pages"].split("--"))
            assert start < end, key


def test_keys_are_distinct_and_in_order():
    text = (ROOT / "jaxonline/references.bib").read_text()
    keys = re.findall(r"^@\w+\{(\w+),$", text, re.MULTILINE)
    assert keys == sorted(set(keys)) == list(entries())
    assert {key for keys in METHODS.values() for key in keys} == set(keys)


def test_papers_with_letters_are_those_of_the_errata():
    for letter, key in KEYS_BY_LETTER.items():
        _, _, fields = parse_entry(entries()[key])
        assert re.sub(r"[{}]", "", fields["title"]) == PAPERS[letter].title
        assert (f"https://arxiv.org/abs/{fields['eprint']}" if "eprint" in fields else "") == PAPERS[letter].link
        assert fields["year"] in PAPERS[letter].published


# ---------------------------------------------------------------------------------------------------------------------
# Papers of methods


def test_every_learner_of_the_registry_has_a_paper():
    for name, make in LEARNERS.items():
        learner = make().learner
        own = METHODS[type(learner).__name__]
        bibliography = jo.cite(learner)
        assert bibliography.keys[0] == "jaxonline", name
        assert own, name
        assert set(own) <= set(bibliography.keys), name
        assert bibliography.without == (), name


def test_every_learner_and_combiner_that_is_offered_has_a_paper():
    made = {
        name
        for name in exported_names(jo.learners)
        if {"init", "update"} <= set(dir(getattr(jo.learners, name))) and name not in ("Combiner", "IndexPolicy")
    }
    assert sorted(made - set(METHODS)) == []


REMARKS = {"EWA": {"2025"}}  # its docstring mentions a misprint of paper D
YEAR = r"\b(1[89]\d\d|20[0-2]\d)\b(?=[),:;.]|, \d)"


def test_docstrings_name_the_same_papers():
    """The module has the year or letter of each reference, and its docstring has no other years."""
    letters = {key: letter for letter, key in KEYS_BY_LETTER.items()}
    years = {key: parse_entry(entry)[2]["year"] for key, entry in entries().items()}
    modules = {name: inspect.getmodule(find_method(name)) for name in METHODS if find_method(name)}
    for name, module in modules.items():
        text = inspect.getsource(module)
        for key in METHODS[name]:
            lettered = key in letters and re.search(rf"\bpapers? ([A-D](,| and) )*{letters[key]}\b", text)
            assert lettered or years[key] in text, (name, key)
        cited = {years[key] for other, its in modules.items() if its is module for key in METHODS[other]}
        assert set(re.findall(YEAR, module.__doc__)) <= cited | REMARKS.get(name, set()), module.__name__


# ---------------------------------------------------------------------------------------------------------------------
# Citing


def test_learners_of_other_papers_are_not_cited_for_paper_d():
    assert KEYS_BY_LETTER["D"] not in jo.cite(jo.learners.EXP3.over_horizon(2, 100)).keys
    assert KEYS_BY_LETTER["D"] in jo.cite(jo.learners.MultiKernel).keys


@pytest.fixture(scope="module")
def result():
    """A result of few attributes with the l2 distribution, two copies, and a user-defined learner."""

    @jo.struct
    class Mine(jo.Learner):
        def init(self, key, specs):
            return 0.0

        def predict(self, key, state, x):
            return 0.0 * x[0]

        def update(self, key, state, oracle):
            return state, ()

    game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.NoisyCopies(jo.noise.gaussian(0.1)))
    learners = {
        "few": jo.WithFeedback(jo.learners.AERR(2, step_size=0.1, radius=1.0), jo.Attributes(2)),
        "two": jo.GradientLearner(jo.estimators.TwoCopies(), step_size=0.1), "mine": Mine(),
    }  # fmt: skip
    with jax.numpy_dtype_promotion("standard"):  # for the projection of optax
        return jo.simulate(game, learners, n_runs=2, n_rounds=4, record_at=[4])


def test_a_betting_interval_is_cited_alone_and_as_the_interval_of_a_result():
    betting, wanted = jo.intervals.Betting(0.0, 1.0), ("jaxonline", "waudbysmith2024estimating")
    measures = dict.fromkeys(("cumulative_loss", "queries"), np.zeros((1, 2, 1)))
    result = jo.Result(("a",), np.arange(2), np.array([1]), measures, interval=betting)
    assert jo.cite(betting).keys == jo.cite(result).keys == wanted


@pytest.mark.long
def test_a_result_cites_the_papers_of_its_methods(result, tmp_path):
    bibliography = jo.cite(result)
    used = {"zinkevich2003online", "cesabianchi2010learning", "cesabianchi2010efficient", "hazan2012linear"}
    assert set(bibliography.keys) == {"jaxonline"} | used
    assert bibliography.uses["zinkevich2003online"] == ("GradientLearner",)
    assert bibliography.without == ("Mine",)
    assert jo.cite(jo.load_result(result.save(tmp_path / "result.npz"))) == bibliography
    assert jo.cite(Standings({"game": result})) == bibliography
    assert jo.cite(result, jo.bounds.exp3).keys == ("jaxonline", *sorted(used | {"bubeck2012regret"}))
    written = bibliography.save(tmp_path / "of" / "mine.bib").read_text()
    assert written == f"{bibliography}\n" == f"{bibliography!r}\n"
    *cited, last = written.rstrip().split("\n\n")
    assert last == "% no paper is known of: Mine"
    assert [parse_entry(re.sub("^%.*\n", "", each))[1] for each in cited[1:]] == sorted(used)


def test_the_entry_of_the_package_equals_its_citation_file():
    entry = str(jo.cite())
    cff = (ROOT / "CITATION.cff").read_text()
    project = (ROOT / "pyproject.toml").read_text()
    assert re.search(r"title = \{(.*)\}", entry)[1] == re.search(r'^title: "(.*)"$', cff, re.MULTILINE)[1]
    versions = [
        re.search(r"version = \{(.*)\}", entry)[1], re.search(r"^version: (.*)$", cff, re.MULTILINE)[1],
        re.search(r'^version = "(.*)"$', project, re.MULTILINE)[1], jo.__version__,
    ]  # fmt: skip
    assert len(set(versions)) == 1
    keywords = re.findall(r"^  - (.*)$", cff.split("keywords:")[1], re.MULTILINE)
    assert keywords == re.findall('"(.*?)"', re.search(r"^keywords = (.*)$", project, re.MULTILINE)[1])


def test_the_citation_file_has_the_required_fields():
    bibliography = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(bibliography)
    assert bibliography["cff-version"] == "1.2.0"


def test_unknown_things_raise_errors():
    with pytest.raises(TypeError, match=r"things: must .*got 3"):
        jo.cite(3)
    with pytest.raises(ValueError, match=r"things: must .*got 'UCB11'.*'UCB1'"):
        jo.cite("UCB11")
