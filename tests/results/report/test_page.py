"""The page of a report: one file that loads nothing and runs nothing, in which all text is escaped."""

import re

import pytest
from made_results import NASTY, Tags, made_result
from matplotlib.figure import Figure

from jaxonline.results.report.tables import Interval, Table, Text, html_page
from jaxonline.study import Report

PNG = b"\x89PNG of a figure"
ROWS = [{"learner": name, "regret": float(i), "low": i - 1.0, "high": i + 1.0} for i, name in enumerate(NASTY)]
COLUMNS = Text("learner", NASTY[0]), Interval("regret", "regret\n(95 %)", "{:.1f}")


def full_page() -> str:
    """Every part there is, with words everywhere that would do harm as tags."""
    tables = [Table(NASTY[0], ROWS, COLUMNS, caption=NASTY[1])]
    return html_page(
        NASTY[0], sentences=NASTY, tables=tables, figures={NASTY[2]: PNG}, configuration="\n".join(NASTY)
    )  # fmt: skip


def test_the_page_has_every_part_and_loads_no_external_resource():
    page = full_page()
    tags = Tags(page)
    assert not {tag for tag, _ in tags.all} & {"script", "link", "iframe", "object", "base", "form", "a"}
    sources = [attributes["src"] for tag, attributes in tags.all if tag == "img"]
    assert [source[:22] for source in sources] == ["data:image/png;base64,"]
    assert all("alt" in attributes for tag, attributes in tags.all if tag == "img")
    assert not re.search(r"https?://|url\(|@import", page)
    counts = {tag: sum(name == tag for name, _ in tags.all) for tag in ("h1", "table", "img", "pre")}
    assert set(counts.values()) == {1}


def test_user_text_in_the_page_is_escaped():
    tags = Tags(full_page())
    assert not [attributes for _, attributes in tags.all if any(name.startswith("on") for name in attributes)]
    words = [" ".join(shown.split()) for shown in tags.words]
    for name in NASTY:
        assert " ".join(name.split()) in words or " ".join(name.split()).replace("\x1b", "�") in words


def test_an_empty_part_is_left_out():
    page = html_page("A title", sentences=["One sentence."])
    assert "Configuration" not in page
    assert "<table" not in page


def test_a_report_as_a_page(tmp_path):
    shown = Table("Regret, 5 %", ROWS, COLUMNS, caption="A caption.")
    drawn = []

    def draw():
        drawn.append(1)
        return Figure(figsize=(1, 1))

    page = {"configuration": "seed = 1"}
    figures = {"a figure": draw, "curves": lambda: made_result().plot()}
    report = Report({"table": shown}, figures, ["A sentence."], {"result": made_result()}, page=page)
    text = report.html()
    for words in ("<h1>Regret, 5 %</h1>", "A sentence.", "A caption.", "seed = 1"):
        assert words in text
    assert text.count('<img src="data:image/png;base64,iVBORw0KGgo') == 2
    drawn.clear()
    paths = report.save(tmp_path)
    assert paths[-1].read_text(encoding="utf-8") == text
    assert len(drawn) == 1, "once for its file and the page"


def test_results_are_saved_before_figures_are_drawn(tmp_path):
    def draw():
        raise RuntimeError("it cannot be drawn")

    report = Report({"table": Table("", ROWS, COLUMNS)}, {"a figure": draw}, results={"result": made_result()})
    with pytest.raises(RuntimeError, match="it cannot be drawn"):
        report.save(tmp_path)
    assert {"table.csv", "numbers.json"} <= {path.name for path in tmp_path.iterdir()}
