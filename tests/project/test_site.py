"""The documentation site: it builds without a warning, every link in it leads somewhere, and it needs no other host."""

import sys
import types
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote, urldefrag, urlsplit

import pytest
from fresh_python import ROOT, run_commands
from site_search import first_pages, search

import jaxonline

pytestmark = pytest.mark.long
OWN = str(ROOT / "docs" / "site")
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
    before = sources()
    run_commands(f"python docs/site {out}", ROOT)
    assert sources() == before
    return out


def sources() -> set[Path]:
    """The files with sources of pages, without Python's caches."""
    folders = (ROOT / "docs", ROOT / "benchmarks" / "papers")
    return {path for folder in folders for path in folder.rglob("*") if "__pycache__" not in path.parts}


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


def test_links_of_the_site_have_targets(pages):
    assert len(pages) > 60
    assert list(dead(pages)) == []


def test_a_dead_link_is_detected(tmp_path):
    page = tmp_path / "page.html"
    page.write_text(
        '<a href="other.html">x</a> <a id="here" href="#here">x</a> <a href="#there">x</a> <img src="x.png">'
    )
    found = ["page.html: other.html", "page.html: #there (no such place)", "page.html: x.png"]
    assert list(dead({page: Page(page.read_text())})) == found


def test_no_page_needs_the_network(site, pages):
    assert [load for page in pages.values() for load in page.loads if urlsplit(load).scheme not in ("", "data")] == []
    styles = "".join(path.read_text() for path in site.rglob("*.css"))
    assert "url(http" not in styles.replace("'", "").replace('"', "")
    assert "@import" not in styles


def test_every_name_of_the_facade_is_documented(site, pages):
    anchors = set().union(*(page.anchors for path, page in pages.items() if path.parent.name == "api"))
    index = (site / "api" / "index.html").read_text().replace("<wbr>", "")
    for name in jaxonline.__all__:
        value = getattr(jaxonline, name)
        if isinstance(value, types.ModuleType):
            assert f"module-{value.__name__}" in anchors
        else:
            assert f">{name}<" in index
            assert any(anchor.endswith(f".{name}") for anchor in anchors), name


@pytest.fixture
def own_modules(monkeypatch):
    """The modules of docs/site."""
    monkeypatch.syspath_prepend(OWN)
    yield
    for name in [name for name, module in sys.modules.items() if str(getattr(module, "__file__", "")).startswith(OWN)]:
        del sys.modules[name]


def test_the_api_has_only_public_names(own_modules):
    import api

    names = set(api.full_names().values())
    assert {"jaxonline.learners.UCB1", "jaxonline.feedback.noise.gaussian", "jaxonline.simulation.simulate"} <= names
    assert "jaxonline.parameters.check.number" not in names


def test_a_broken_link_is_an_error(tmp_path):
    """In pages as they are put together; without it, the whole site is what builds."""
    (tmp_path / "pages").mkdir()
    (tmp_path / "pages" / "index.md").write_text("# Bad\n\n[nowhere](nowhere.md)\n")
    code = f"""
import runpy, sys
from pathlib import Path
sys.path.insert(0, "docs/site")
print(runpy.run_path("docs/site/__main__.py")["render"](Path("{tmp_path}/pages"), Path("{tmp_path}/out")))
"""
    assert run_commands(f"python -c '{code}' 2>&1", ROOT).split()[-1] == "1"


BANDITS, GAMES, FIGURES, RUNS = "docs/bandits", "docs/how-do-i-games", "docs/how-do-i-figures", "docs/how-do-i-runs"
QUESTIONS = {  # of the issue trackers of SMPyBandits, mabwiser, rlberry, river and optuna
    "regret against parameter": FIGURES, "histogram of regrets": FIGURES, "sliding window": GAMES,
    "non-stationary bandits": BANDITS, "reward range": BANDITS, "save result": FIGURES, "definition of regret": GAMES,
    "doubling trick": GAMES, "cold start": GAMES, "new arm": GAMES, "custom policy": GAMES,
    "contextual Thompson sampling": "docs/which-learner", "how many runs": RUNS, "several seeds": RUNS,
    "save trained learner": RUNS, "conformal prediction": GAMES, "hyperparameter tuning": "docs/tuning", "gpu": RUNS,
    "classification dataset bandit": GAMES, "reproduce same numbers parallel": RUNS, "nan": RUNS,
    "out of memory": RUNS, "resume interrupted study": RUNS, "ask and tell": "docs/tuning",
}  # fmt: skip
WORDS = {  # single words that users type, and a guide
    "reward": BANDITS, "policy": GAMES, "arm": BANDITS, "delayed": GAMES, "calibration": GAMES, "conformal": GAMES,
    "cite": RUNS, "histogram": FIGURES, "plot": FIGURES, "latex table": FIGURES, "early stopping": RUNS,
    "confidence interval": "docs/reading-a-result",
}  # fmt: skip


def test_the_search_answers_questions_of_other_trackers(site):
    """Guides are before internals, and names of the API lead to the API."""
    wanted, names = QUESTIONS | WORDS, ("UCB1", "L2Ball", "simulate")
    found = {query: first_pages(results) for query, results in search(site, [*wanted, *names]).items()}
    assert {query: found[query] for query, page in wanted.items() if page not in found[query]} == {}
    assert [name for name in names if not any(page.startswith("api/") for page in found[name][:2])] == []
    assert [word for word in WORDS if found[word][0].startswith(("api/", "benchmarks/", "docs/CHANGELOG"))] == []
