"""The documentation site: it builds without a warning, every link in it leads somewhere, and it needs no other host."""

import re
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
LOADS = {
    "script": "src",
    "img": "src",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "object": "data",
}


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


def test_links_to_verdicts_and_places_lead_to_their_pages(site, pages):
    folder = site / "benchmarks" / "papers"
    assert {"docs/claims.html", "docs/papers.html"} <= set(pages[folder / "README.html"].links)


def test_formulas_and_outputs_of_notebooks_are_shown(site):
    text = (site / "notebooks" / "classical_games.html").read_text()
    assert text.count("<math") > 15
    assert "MathJax" not in text
    assert text.count('<img alt="') >= 8


GUIDES = (
    "games", "which-learner", "bandits", "noisy-data", "reading-a-result", "verifying", "study-files",
    "troubleshooting", "store", "clusters", "live", "many-games", "bounds", "how-it-works", "other-libraries",
    "policies",
)  # fmt: skip


def test_the_first_level_of_the_navigation_is_a_list_of_questions(site):
    text = (site / "docs" / "bandits.html").read_text()
    titles = re.findall(r'<li class="toctree-l1[^"]*"><a [^>]*>([^<]*)</a>', text)
    assert titles == [
        "Start", "Which game do I have?", "Which learner?", "Bandits in ten minutes", "Noisy data in ten minutes",
        "Your data, your learner", "Reading a result", "Study files", "Verifying an estimator", "Many machines",
        "How do I ...?", "Troubleshooting", "API", "Gallery", "Papers", "How it works", "Performance",
        "Contributing", "Changes and policies",
    ]  # fmt: skip


def test_tables_scroll_in_a_box_and_those_of_guides_have_captions(site, pages):
    for path in pages:
        text = path.read_text()
        assert len(re.findall('<table class="[^"]*docutils', text)) == text.count('<div class="table-wrapper'), path
    for name in GUIDES:
        text = (site / "docs" / f"{name}.html").read_text()
        assert text.count("<caption>") == text.count('<table class="docutils') > 0, name


def test_code_of_the_guides_fits_beside_the_navigation():
    """In a column of 50em, a line of code has about 97 letters (docs/site/static/style.css)."""
    answers = ("how-do-i-games", "how-do-i-figures", "how-do-i-runs", "own-csv", "tuning")
    for name in (*GUIDES, *answers):
        text = (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
        for code in re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL):
            assert max(map(len, code.splitlines())) <= 80, name


def contrast(first: str, second: str) -> float:
    """The contrast of two colours, #rrggbb or #rgb, as WCAG 2 defines it."""

    def luminance(colour):
        colour = "#" + "".join(2 * digit for digit in colour[1:]) if len(colour) == 4 else colour
        parts = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    dark, light = sorted((luminance(first), luminance(second)))
    return (light + 0.05) / (dark + 0.05)


def test_contrast_of_known_colours():
    """The numbers of https://webaim.org/resources/contrastchecker."""
    assert contrast("#000000", "#ffffff") == pytest.approx(21)
    assert contrast("#ffffff", "#777777") == pytest.approx(4.48, abs=0.005)


@pytest.mark.parametrize("theme", ["", r'body\[data-theme="dark"\] '], ids=["light", "dark"])
def test_code_can_be_read(site, theme):
    """WCAG 2 (AA) requires a contrast of 4.5. Spaces (w) have no ink, and the pages show no invalid code (err)."""
    text = (site / "_static" / "pygments.css").read_text()
    (background,) = re.findall(rf"^{theme}\.highlight {{ background: (#\w+)", text, re.MULTILINE)
    colours = dict(re.findall(rf"^{theme}\.highlight \.(\w+) {{ color: (#\w+)", text, re.MULTILINE))
    assert len(colours) > 50
    ratios = {name: contrast(background, colour) for name, colour in colours.items() if name not in ("w", "err")}
    assert min(ratios.values()) >= 4.5, ratios


def test_code_in_tables_breaks_between_words(site):
    """A browser may break a name at `<wbr>`; the text of the page does not change."""
    text = (site / "docs" / "other-libraries.html").read_text()
    assert "jo.Online<wbr>Regressor</span>" in text
    assert "learner__<wbr>step_<wbr>size__<wbr>eta</span>" in text
    plain = text.replace("<wbr>", "")
    assert plain.count("jo.OnlineRegressor</span>") > text.count("jo.OnlineRegressor</span>") > 0


@pytest.fixture
def own_modules(monkeypatch):
    """The modules of docs/site."""
    monkeypatch.syspath_prepend(OWN)
    yield
    for name in [name for name, module in sys.modules.items() if str(getattr(module, "__file__", "")).startswith(OWN)]:
        del sys.modules[name]


def test_a_third_level_of_the_contents_is_an_error(own_modules):
    from staging import toctrees

    assert "Guide </docs/guide>" in toctrees("* [Start](index)\n* [Guide](docs/guide)\n")["index"]
    with pytest.raises(ValueError, match="Deep is on a third level"):
        toctrees("* [A](a)\n  * [B](b)\n    * [Deep](c)\n")


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


# ---------------------------------------------------------------------------------------------------------------------
# The search: questions of the issue trackers of other libraries, as a user would type them

GAMES, FIGURES, RUNS = "docs/how-do-i-games", "docs/how-do-i-figures", "docs/how-do-i-runs"
QUESTIONS = {
    "regret against parameter": (FIGURES, "SMPyBandits#149: plots of regret with respect to a parameter"),
    "histogram of regrets": (FIGURES, "SMPyBandits#82: histogram showing the distribution of regrets"),
    "sliding window": (GAMES, "SMPyBandits#151: SW-UCB for non-stationary bandits"),
    "non-stationary bandits": ("docs/bandits", "SMPyBandits#146: arms whose distributions change"),
    "reward range": ("docs/bandits", "SMPyBandits#13: rewards outside [0, 1]"),
    "save result": (FIGURES, "SMPyBandits#20: storing the simulation data"),
    "definition of regret": (GAMES, "SMPyBandits#156: where is regret computed, and how do I change it?"),
    "doubling trick": (GAMES, "SMPyBandits#146: without knowing the horizon"),
    "cold start": (GAMES, "mabwiser#64: how to deal with cold start"),
    "new arm": (GAMES, "mabwiser#47: arms are added and removed"),
    "custom policy": (GAMES, "mabwiser#93: an own policy"),
    "contextual Thompson sampling": ("docs/which-learner", "mabwiser#67: does Thompson sampling use the context?"),
    "how many runs": (RUNS, "rlberry#159: were enough simulations used to distinguish the agents?"),
    "several seeds": (RUNS, "rlberry#466: seeds of a comparison"),
    "save trained learner": (RUNS, "rlberry#463: how to save and load an agent"),
    "conformal prediction": (GAMES, "river#1100: conformal predictions"),
    "hyperparameter tuning": ("docs/tuning", "river#1352: which library tunes hyperparameters?"),
    "gpu": (RUNS, "river#361: GPU or multiprocessing support"),
    "classification dataset bandit": (GAMES, "river#1373: turn any labelled data set into a bandit"),
    "reproduce same numbers parallel": (RUNS, "optuna#3045: results differ with more than one job"),
    "nan": (RUNS, "optuna#2727: the objective returns NaN"),
    "out of memory": (RUNS, "optuna#3050: memory increases during a study"),
    "resume interrupted study": (RUNS, "optuna#5097: resume a study after a failure"),
    "ask and tell": ("docs/tuning", "optuna#2422: the ask-and-tell interface"),
}
WORDS = {  # single words that users type, and a guide
    "reward": "docs/bandits",
    "policy": GAMES,
    "arm": "docs/bandits",
    "delayed": GAMES,
    "calibration": GAMES,
    "conformal": GAMES,
    "cite": RUNS,
    "histogram": FIGURES,
    "plot": FIGURES,
    "latex table": FIGURES,
    "early stopping": RUNS,
    "confidence interval": "docs/reading-a-result",
}


def test_the_search_answers_questions_of_other_trackers(site):
    wanted = {query: page for query, (page, _) in QUESTIONS.items()} | WORDS
    found = {query: first_pages(results) for query, results in search(site, wanted).items()}
    assert {query: found[query] for query, page in wanted.items() if page not in found[query]} == {}


def test_the_search_finds_names_of_the_api(site):
    for name, results in search(site, ["UCB1", "L2Ball", "simulate"]).items():
        assert any(page.startswith("api/") for page in first_pages(results, 2)), name


def test_the_search_shows_guides_before_internals(site):
    internal = ("api/", "benchmarks/", "docs/CHANGELOG")
    for word, results in search(site, WORDS).items():
        assert not first_pages(results, 1)[0].startswith(internal), word
