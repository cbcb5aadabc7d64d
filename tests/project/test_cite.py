"""Citations: of methods in BibTeX, of the package in CITATION.cff, and in the paper for a journal."""

import json
import re
import statistics
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

KEYS_BY_LETTER = {
    "A": "cesabianchi2010online",
    "B": "cesabianchi2010learning",
    "C": "cesabianchi2010efficient",
    "D": "rokhlin2025random",
}
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
    """A learner without a paper."""

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
    assert written == f"{bibliography}\n" == f"{bibliography!r}\n"
    *cited, last = written.rstrip().split("\n\n")
    assert "Mine" in last
    assert [parse_entry(re.sub("^%.*\n", "", each))[1] for each in cited[1:]] == sorted(used)


def test_unknown_names_raise_errors():
    with pytest.raises(ValueError, match=r"things: must .*got 'UCB11'.*'UCB1'"):
        jo.cite("UCB11")


CFF = yaml.safe_load((ROOT / "CITATION.cff").read_text())
FOLDER = ROOT / "docs" / "paper"
_, HEAD, BODY = (FOLDER / "paper.md").read_text(encoding="utf-8").split("---\n", 2)


def test_the_entry_of_the_package_the_citation_file_and_the_project_agree():
    assert {"message", "authors"} <= set(CFF)
    assert CFF["cff-version"] == "1.2.0"
    entry, project = str(jo.cite()), tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert re.search(r"title = \{(.*)\}", entry)[1] == CFF["title"]
    version = re.search(r"version = \{(.*)\}", entry)[1]
    assert version == str(CFF["version"]) == project["version"] == jo.__version__
    assert CFF["keywords"] == project["keywords"]


def test_the_metadata_of_the_paper_are_those_of_the_citation_file():
    paper = yaml.safe_load(HEAD)
    assert paper["title"] == CFF["title"]
    assert [author["name"] for author in paper["authors"]] == [author["name"] for author in CFF["authors"]]
    assert set(paper["tags"]) == {"Python", "JAX", *CFF["keywords"]} - {"jax"}
    assert {author["affiliation"] for author in paper["authors"]} == {each["index"] for each in paper["affiliations"]}
    assert 750 <= len(BODY.split()) <= 1750, "as the journal requires"
    cited = re.findall(r"^@\w+\{(\w+),", (FOLDER / paper["bibliography"]).read_text(), re.MULTILINE)
    assert sorted(set(re.findall(r"@(\w+)", BODY))) == sorted(cited)


@pytest.mark.parametrize(
    ("row", "workload"),
    [
        ("EXP3, 10 arms", "bandits, EXP3"), ("UCB1, 10 arms", "bandits, UCB1"),
        ("Thompson sampling, 10 arms", "bandits, Thompson"),
        ("gradient descent, 20 dimensions", "online gradient"),
    ],
)  # fmt: skip
def test_speeds_of_the_paper_are_those_of_the_shipped_benchmarks(row, workload):
    """Up to a quarter, by which measurements differ from hour to hour."""
    (printed,) = re.findall(rf"^\| {row} \| (.*) \| (.*) \|$", BODY, re.MULTILINE)
    workloads = json.loads((ROOT / "benchmarks/results/two-cores.json").read_text())["workloads"]
    (rates,) = [each["rates"] for each in workloads if each["title"].startswith(workload)]
    for speed, other in zip(printed, ("river", "numba, parallel"), strict=True):
        ratio = statistics.median(a / b for a, b in zip(rates["jaxonline"], rates[other], strict=True))
        assert float(speed) == pytest.approx(ratio, rel=0.25)
