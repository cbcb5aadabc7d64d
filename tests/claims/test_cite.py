"""What to cite: every learner has a paper, the entries are sound BibTeX, and docstrings name the same papers."""

import inspect
import re

import jax
import numpy as np
import pytest
import yaml
from fresh_python import ROOT
from registry import LEARNERS

import jaxonline as jo
from jaxonline.claims.errata import PAPERS
from jaxonline.claims.references import METHODS, OF_LETTER, entries
from jaxonline.results import Standings

ROOMS = ("learners", "estimators", "environments", "bounds")
REQUIRED = {
    "article": {"author", "title", "journal", "volume", "pages", "year"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "incollection": {"author", "title", "booktitle", "publisher", "pages", "year"},
    "book": {"author", "title", "publisher", "year"},
    "misc": {"author", "title", "eprint", "archiveprefix", "year"},
}


def parsed(entry: str) -> tuple[str, str, dict[str, str]]:
    """Kind, key and fields of an entry of one field a line."""
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


def home(name: str):
    """The class or function of a method."""
    name = {"law=l2": "AttributeGradient"}.get(name, name)
    return next(getattr(getattr(jo, room), name) for room in ROOMS if hasattr(getattr(jo, room), name))


# ---------------------------------------------------------------------------------------------------------------------
# The entries


def test_entries_are_sound():
    for key, entry in entries().items():
        kind, own, fields = parsed(entry)
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
    text = (ROOT / "jaxonline/claims/references.bib").read_text()
    keys = re.findall(r"^@\w+\{(\w+),$", text, re.MULTILINE)
    assert keys == sorted(set(keys)) == list(entries())
    assert {key for keys in METHODS.values() for key in keys} == set(keys)


def test_the_papers_behind_the_package_are_those_of_the_errata():
    for letter, key in OF_LETTER.items():
        _, _, fields = parsed(entries()[key])
        assert re.sub(r"[{}]", "", fields["title"]) == PAPERS[letter].title
        assert (f"https://arxiv.org/abs/{fields['eprint']}" if "eprint" in fields else "") == PAPERS[letter].link
        assert fields["year"] in PAPERS[letter].published


# ---------------------------------------------------------------------------------------------------------------------
# Which method is of which paper


def test_every_learner_of_the_registry_has_a_paper():
    for name, make in LEARNERS.items():
        learner = make().learner
        own = METHODS[type(learner).__name__]
        found = jo.cite(learner)
        assert found.keys[0] == "jaxonline", name
        assert own, name
        assert set(own) <= set(found.keys), name
        assert found.without == (), name


def test_every_learner_and_combiner_that_is_offered_has_a_paper():
    made = {
        name
        for name in jo.learners.__all__
        if {"init", "update"} <= set(dir(getattr(jo.learners, name))) and name != "Combiner"
    }
    assert sorted(made - set(METHODS)) == []


REMARKS = {"EWA": {"2025"}}  # its docstring speaks of a misprint of paper D
YEAR = r"\b(1[89]\d\d|20[0-2]\d)\b(?=[),:;.]|, \d)"


def test_docstrings_name_the_same_papers():
    """The year of each reference, or its letter, is in the module; and the module's docstring has no other years."""
    letters = {key: letter for letter, key in OF_LETTER.items()}
    years = {key: parsed(entry)[2]["year"] for key, entry in entries().items()}
    modules = {name: inspect.getmodule(home(name)) for name in METHODS}
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
    assert OF_LETTER["D"] not in jo.cite(jo.learners.EXP3.over_horizon(2, 100)).keys
    assert OF_LETTER["D"] in jo.cite(jo.learners.MultiKernel).keys


@pytest.fixture(scope="module")
def result():
    """Of few attributes by the l2 law, two copies, and a learner of the user's own."""

    @jo.struct
    class Mine:
        def init(self, key, specs):
            return 0.0

        def predict(self, key, state, x):
            return 0.0 * x[0]

        def update(self, key, state, oracle):
            return state, ()

    game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.NoisyCopies(jo.noise.gaussian(0.1)))
    learners = {
        "few": jo.Entrant(jo.learners.aerr(2, step_size=0.1, radius=1.0), jo.Attributes(2)),
        "two": jo.GradientLearner(jo.estimators.TwoCopies(), step_size=0.1), "mine": Mine(),
    }  # fmt: skip
    with jax.numpy_dtype_promotion("standard"):  # for the projection of optax
        return jo.simulate(game, learners, n_runs=2, n_rounds=4, record_at=[4])


@pytest.mark.long
def test_a_result_is_cited_by_what_it_used(result, tmp_path):
    found = jo.cite(result)
    used = {"zinkevich2003online", "cesabianchi2010learning", "cesabianchi2010efficient", "hazan2012linear"}
    assert set(found.keys) == {"jaxonline"} | used
    assert found.uses["zinkevich2003online"] == ("GradientLearner",)
    assert found.without == ("Mine",)
    assert jo.cite(jo.load_result(result.save(tmp_path / "kept"))) == found
    assert jo.cite(Standings({"game": result})) == found
    assert jo.cite(result, jo.bounds.exp3).keys == ("jaxonline", *sorted(used | {"bubeck2012regret"}))
    written = found.save(tmp_path / "of" / "mine.bib").read_text()
    assert written == f"{found}\n" == f"{found!r}\n"
    *cited, last = written.rstrip().split("\n\n")
    assert last == "% no paper is known of: Mine"
    assert [parsed(re.sub("^%.*\n", "", each))[1] for each in cited[1:]] == sorted(used)


def test_the_package_and_its_citation_file_say_the_same():
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


def test_the_file_of_citations_is_of_its_format():
    found = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"cff-version", "message", "title", "authors"} <= set(found)
    assert found["cff-version"] == "1.2.0"


def test_what_cannot_be_cited():
    with pytest.raises(TypeError, match=r"things: .*got 3"):
        jo.cite(3)
    with pytest.raises(ValueError, match=r"things: .*got 'UCB2'.; did you mean 'UCB1'"):
        jo.cite("UCB2")
