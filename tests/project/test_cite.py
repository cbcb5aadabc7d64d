"""Citations: of methods in BibTeX, and of the package in CITATION.cff."""

import re
import tomllib

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

LETTERS = {
    "A": "cesabianchi2010online", "B": "cesabianchi2010learning", "C": "cesabianchi2010efficient",
    "D": "rokhlin2025random",
}  # fmt: skip
REQUIRED = {
    "article": {"author", "title", "journal", "volume", "pages", "year"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "incollection": {"author", "title", "booktitle", "publisher", "pages", "year"},
    "book": {"author", "title", "publisher", "year"},
    "misc": {"author", "title", "eprint", "archiveprefix", "year"},
}


def fields_of(entry: str) -> dict[str, str]:
    return dict(re.findall(r"^  (\w+) = \{(.*)\},?$", entry, re.MULTILINE))


def test_entries_have_the_required_fields_and_keys_of_author_and_year():
    for key, entry in entries().items():
        kind, own = re.match(r"@(\w+)\{([a-z0-9]+),\n", entry).groups()
        fields = fields_of(entry)
        assert (own, len(fields)) == (key, entry.count("\n") - 1)
        assert REQUIRED[kind] <= set(fields), key
        assert entry.count("{") == entry.count("}"), key
        assert entry.isascii(), key
        first = fields["author"].split(" and ")[0].split(",")[0].lower()
        name, year = re.fullmatch(r"([a-z]+?)(\d{4})[a-z]+", key).groups()
        assert year == fields["year"], key
        assert re.sub(r"[^a-z]", "", first).startswith(name), key
    assert {key for keys in METHODS.values() for key in keys} == set(entries())
    for letter, key in LETTERS.items():  # of the errata
        fields = fields_of(entries()[key])
        assert re.sub(r"[{}]", "", fields["title"]) == PAPERS[letter].title
        assert (f"https://arxiv.org/abs/{fields['eprint']}" if "eprint" in fields else "") == PAPERS[letter].link
        assert fields["year"] in PAPERS[letter].published


def test_every_learner_has_a_paper():
    for name, make in LEARNERS.items():
        learner = make().learner
        bibliography = jo.cite(learner)
        own = METHODS[type(learner).__name__]
        assert own, name
        assert set(own) <= set(bibliography.keys), name
        assert (bibliography.keys[0], bibliography.without) == ("jaxonline", ()), name
    offered = {
        name for name in exported_names(jo.learners) if {"init", "update"} <= set(dir(getattr(jo.learners, name)))
    }
    assert offered - set(METHODS) == {"Combiner", "IndexPolicy"}


@jo.struct
class Mine(jo.Learner):
    def init(self, key, specs):
        return 0.0

    def predict(self, key, state, x):
        return 0.0 * x[0]

    def update(self, key, state, oracle):
        return state, ()


def test_a_betting_interval_is_cited_alone_and_as_the_interval_of_a_result():
    betting, wanted = jo.intervals.Betting(0.0, 1.0), ("jaxonline", "waudbysmith2024estimating")
    measures = dict.fromkeys(("cumulative_loss", "queries"), np.zeros((1, 2, 1)))
    result = jo.Result(("a",), np.arange(2), np.array([1]), measures, interval=betting)
    assert jo.cite(betting).keys == jo.cite(result).keys == wanted
    with pytest.raises(ValueError, match=r"things: must .*got 'UCB11'.*'UCB1'"):
        jo.cite("UCB11")


@pytest.mark.long
def test_a_result_cites_the_papers_of_its_methods(tmp_path):
    """Few attributes with the l2 distribution, two copies, and a learner of the user."""
    game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.NoisyCopies(jo.noise.gaussian(0.1)))
    learners = {
        "few": jo.WithFeedback(jo.learners.AERR(2, step_size=0.1, radius=1.0), jo.Attributes(2)),
        "two": jo.GradientLearner(jo.estimators.TwoCopies(), step_size=0.1), "mine": Mine(),
    }  # fmt: skip
    with jax.numpy_dtype_promotion("standard"):  # for the projection of optax
        result = jo.simulate(game, learners, n_runs=2, n_rounds=4, record_at=[4])
    bibliography = jo.cite(result)
    used = {"zinkevich2003online", "cesabianchi2010learning", "cesabianchi2010efficient", "hazan2012linear"}
    assert set(bibliography.keys) == {"jaxonline"} | used
    assert bibliography.uses["zinkevich2003online"] == ("GradientLearner",)
    assert bibliography.without == ("Mine",)
    assert jo.cite(jo.load_result(result.save(tmp_path / "result.npz"))) == bibliography
    assert jo.cite(Standings({"game": result})) == bibliography
    assert jo.cite(result, jo.bounds.exp3).keys == ("jaxonline", *sorted(used | {"bubeck2012regret"}))
    written = bibliography.save(tmp_path / "of" / "mine.bib").read_text()
    assert written == f"{bibliography}\n"
    assert re.findall(r"^@\w+\{(\w+),$", written, re.MULTILINE)[1:] == sorted(used)


def test_the_entry_of_the_package_the_citation_file_and_the_project_agree():
    cff = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert {"message", "authors"} <= set(cff)
    assert cff["cff-version"] == "1.2.0"
    fields, project = fields_of(str(jo.cite())), tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert fields["title"].strip("{}") == cff["title"]
    assert fields["version"] == str(cff["version"]) == project["version"] == jo.__version__
    assert cff["keywords"] == project["keywords"]
