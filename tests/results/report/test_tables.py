"""Tables as text, Markdown, LaTeX, HTML, DataFrame and CSV; the page of a report; escaped texts."""

import csv
import io
import json
import re

import numpy as np
import pytest
from made_results import NASTY, Tags, made_result
from matplotlib.figure import Figure
from rich.console import Console

from jaxonline.results import Result
from jaxonline.results.report.tables import (
    Count,
    Interval,
    Number,
    Table,
    Text,
    format_measurement,
    format_number,
    html_page,
)
from jaxonline.study import Report

ROWS = [
    {"set": "A & B", "learner": "one | two", "regret": 20.46, "low": 20.17, "high": 20.75, "bound": None, "failed": 0},
    {"set": "A & B", "learner": "a_b", "regret": np.nan, "low": np.nan, "high": np.nan, "bound": 2e3, "failed": 2},
    {"set": "C", "learner": "[red]", "regret": 1.0, "low": 0.5, "high": 1.5, "bound": 1.0},
]
COLUMNS = (
    Text("learner"),
    Interval("regret", "regret\n(95 %)", "{:.2f}"),
    Number("bound", form="{:,.0f}"),
    Count("failed", "failed\nruns"),
)
CELLS = [
    ["one | two", "20.46 ± 0.29", "-", "0"],
    ["a_b", "-", "2,000", "2"],
    ["[red]", "1.00 ± 0.50", "1"],
]


def printed(table: Table, width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width).print(table)
    return out.getvalue().splitlines()


def test_text_shows_the_cells():
    table = Table("the title", ROWS, COLUMNS)
    for lines in (table.text().splitlines(), printed(table, 100)):
        found = [re.split(r"\s{2,}", line.strip()) for line in lines]
        assert all(cells in found for cells in CELLS)


def test_a_narrow_table_cuts_no_number():
    table = Table("", [{"words": "several words in a row", "number": 123456.0}])
    assert any("123456" in line for line in printed(table, 20))
    assert "123456" in table.text(8)


def test_markdown_and_latex():
    table = Table("the title", ROWS, COLUMNS)
    lines = table.markdown().splitlines()
    assert lines[:3] == [
        "| learner | regret (95 %) | bound | failed runs |", "| --- | ---: | ---: | ---: |",
        r"| one \| two | 20.46 ± 0.29 | - | 0 |",
    ]  # fmt: skip
    tex = table.latex().splitlines()
    assert tex[0] == r"\begin{tabular}{lrrr}"
    assert r"learner & regret (95 \%) & bound & failed runs \\" in tex
    assert r"a\_b & - & 2,000 & 2 \\" in tex
    assert r"one | two & 20.46 $\pm$ 0.29 & - & 0 \\" in tex
    assert r"{}[red] & 1.00 $\pm$ 0.50 & 1 &  \\" in tex, "no option of the line before"
    assert r"\caption{5 \% of \_, $\eta_t$}" in table.latex(r"5 % of _, $\eta_t$")


def test_constant_queries_are_left_out_unless_a_column_is_asked_for():
    result = made_result(2)
    head = "learner & regret against the best in hindsight (95 \\%) & regret /round"
    assert f"{head} \\\\" in result.to_latex()
    chosen = result.to_latex(caption="5 % of them", columns=["failed", "queries_per_round", "learner"]).splitlines()
    assert chosen[2:6] == [r"\caption{5 \% of them}", r"\begin{tabular}{rrl}", r"\toprule", chosen[5]]
    assert chosen[5] == r"failed runs & queries /round & learner \\"
    assert result.to_markdown(columns=["learner"]).splitlines()[0] == "| learner |"
    result.measures["queries"] = result.queries * np.array([1.0, 2.0])[:, None, None]
    assert "learner & queries /round & regret" in result.to_latex()
    assert "queries" in repr(result).splitlines()[1]
    for columns, words in ((["lerner"], "did you mean 'learner'"), ([], "must have at least one column")):
        with pytest.raises(ValueError, match=f"columns: .*{words}"):
            result.to_latex(columns=columns)


def test_the_frame_and_csv_hold_the_numbers():
    rows = [{"a": "x, y", "b": 1 / 3}, {"a": None, "b": 2}]
    assert Table("", rows, (Text("a"),)).csv() == 'a,b\n"x, y",0.333333\n,2\n'
    assert Table("", []).csv() == ""
    frame = Table("", ROWS, COLUMNS).frame
    assert frame["low"].tolist()[::2] == [20.17, 0.5]
    assert [row["learner"] for row in csv.DictReader(Table("", ROWS).csv().splitlines())] == list(frame["learner"])


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        (Interval("exponent", form="{:.1f}"), "0.5 ± 0.1"),  # limits of its own, else those of the row
        (Interval("regret", form="{:.0f}", brackets=True), "2 [1, 3]"),
        (Interval("regret"), "2.0 ± 1.0"),
        (Number("regret", form=lambda number: f"<{number}>"), "<2.0>"),
        (Number("unknown"), ""),
        (Text("nothing"), "-"),
    ],
)
def test_cells_of_columns(column, cell):
    row = {"regret": 2.0, "low": 1.0, "high": 3.0, "exponent": 0.5, "exponent_low": 0.4, "exponent_high": 0.6}
    assert column.show(row | {"nothing": None}) == cell


@pytest.mark.parametrize(
    ("value", "words"),
    [
        (-0.0, "0"), (-3.0, "-3"), (1234567.0, "1,234,567"), (20.4567, "20.46"), (0.000123456, "0.0001235"),
        (0.0000123456, "1.235e-05"), (9999999.7, "1.000e+07"), (9.99996, "10.00"), (np.nan, "-"), (-np.inf, "-∞"),
    ],
)  # fmt: skip
def test_format_number(value, words):
    assert format_number(value) == words


@pytest.mark.parametrize(
    ("value", "half", "words"),
    [
        (20.4567, 0.2912, "20.46 ± 0.29"), (20461.3, 290.4, "20,461 ± 290"), (0.5, 0.0996, "0.50 ± 0.10"),
        (-1.234, 0.5, "-1.23 ± 0.50"), (1.0, 25.0, "1 ± 25"), (0.0, 0.0012, "0.0000 ± 0.0012"),
        (87.6, 7e-10, "87.60 ± 0"), (87.6, 7e-6, "87.6000000 ± 0.0000070"),
        (1.2345e12, 3.1e9, "(1.2345 ± 0.0031)e+12"), (1.2e-6, 3.0e-8, "(1.200 ± 0.030)e-06"),
        (2.5, 0.0, "2.500 ± 0"), (2.5, np.nan, "2.500"), (np.nan, np.nan, "-"), (3.0, 1e-13, "3 ± 0"),
        (2.0, np.inf, "2 ± ∞"), (20461.37, 0.02, "20,461.370 ± 0.020"), (100000.9, 0.05, "100,000.900 ± 0.050"),
    ],
)  # fmt: skip
def test_format_measurement(value, half, words):
    assert format_measurement(value, value - half, value + half) == words


def test_an_interval_that_is_longer_on_one_side_is_shown_by_its_ends():
    assert format_measurement(20.0, 19.05, 21.05) == "20.0 ± 1.0"  # a tenth of the half-width
    assert format_measurement(20.0, 19.2, 21.2) == "20.0 [19.2, 21.2]"
    assert format_measurement(2.0e12, 1.9e12, 2.4e12) == "(2.00 [1.90, 2.40])e+12"


@pytest.mark.parametrize("words", NASTY)
def test_texts_are_escaped(words):
    """HTML has no tags of a text; LaTeX has no special characters but in formulas; Markdown has whole cells."""
    table = Table(words, [{"a": words, "b": 1.0}], (Text("a", words), Number("b")))
    page = Tags(table.html())
    assert not {tag for tag, _ in page.all} - {"style", "table", "caption", "thead", "tbody", "tr", "th", "td"}
    one_line = " ".join(words.split()).replace("\x1b", "�")
    assert sum(one_line == " ".join(shown.split()) for shown in page.words) == 3
    cell = table.latex().splitlines()[4].removesuffix(r" & 1 \\")
    plain = re.sub(
        r"\\space\b|\\textasciitilde\b|\\textasciicircum\b|\\textbackslash\b|\\[&%$#_{}]|\$[^$]*\$", "", cell
    )
    assert not re.search(r"[&%#_~^\\$]", plain)
    assert re.sub(r"\\.", "", table.markdown().splitlines()[2]).count("|") == 3


def test_terminal_text_has_no_control_characters_and_no_markup():
    marked = "Steps [0.1, 1] and [bold], [/b] :smile:"
    columns = Text("learner", marked), Number("x", "a\x1b[31m\nb")
    table = Table(marked, [{"learner": "a\x1b[31mRED\x07", "x": 1.0}], columns, caption=f"{marked}\x07")
    for text in ("\n".join(printed(table, 120)), repr(table)):
        assert text.count(marked) == 3
        assert not set(text) & {"\x1b", "\x07"}


NASTY_ROWS = [{"learner": name, "regret": float(i), "low": i - 1.0, "high": i + 1.0} for i, name in enumerate(NASTY)]
NASTY_COLUMNS = Text("learner", NASTY[0]), Interval("regret", "regret\n(95 %)", "{:.1f}")


def test_the_page_has_every_part_escapes_texts_and_loads_nothing():
    tables = [Table(NASTY[0], NASTY_ROWS, NASTY_COLUMNS, caption=NASTY[1])]
    figures = {NASTY[2]: b"\x89PNG of a figure"}
    page = html_page(NASTY[0], sentences=NASTY, tables=tables, figures=figures, configuration="\n".join(NASTY))
    tags = Tags(page)
    assert not {tag for tag, _ in tags.all} & {"script", "link", "iframe", "object", "base", "form", "a"}
    sources = [attributes["src"] for tag, attributes in tags.all if tag == "img"]
    assert [source[:22] for source in sources] == ["data:image/png;base64,"]
    assert all("alt" in attributes for tag, attributes in tags.all if tag == "img")
    assert not re.search(r"https?://|url\(|@import", page)
    counts = {tag: sum(name == tag for name, _ in tags.all) for tag in ("h1", "table", "img", "pre")}
    assert set(counts.values()) == {1}
    assert not [attributes for _, attributes in tags.all if any(name.startswith("on") for name in attributes)]
    words = [" ".join(shown.split()) for shown in tags.words]
    for name in NASTY:
        assert " ".join(name.split()) in words or " ".join(name.split()).replace("\x1b", "�") in words


def test_a_report_on_disk_and_as_a_page(tmp_path):
    shown, drawn = Table("Regret, 5 %", NASTY_ROWS, NASTY_COLUMNS, caption="A caption."), []

    def draw():
        drawn.append(1)
        return Figure(figsize=(1, 1))

    results = {"result": made_result(), "results/noise 0.1, long": made_result()}
    figures = {"figure": draw, "curves": lambda: made_result().plot()}
    report = Report({"table": shown}, figures, ["A sentence."], results, page={"configuration": "seed = 1"})
    text = report.html()
    for words in ("<h1>Regret, 5 %</h1>", "A sentence.", "A caption.", "seed = 1"):
        assert words in text
    assert text.count('<img src="data:image/png;base64,iVBORw0KGgo') == 2
    drawn.clear()
    paths = report.save(tmp_path / "new" / "folder")
    names = ["table.csv", "numbers.json", "figure.png", "curves.png", "result.npz", "results", "report.html"]
    assert [path.name for path in paths] == names
    assert paths[-1].read_text(encoding="utf-8") == text
    assert len(drawn) == 1, "once for its file and the page"
    loaded = Result.load(tmp_path / "new" / "folder" / "results" / "noise-0.1-long.npz")
    np.testing.assert_array_equal(loaded.regret, made_result().regret)
    numbers = Report(
        {"table": Table("", [{"a": np.array([1.0, np.inf]), "b": np.nan, "c": (np.int64(3), None)}])}
    ).json()
    assert json.loads(numbers) == {"table": [{"a": [1.0, None], "b": None, "c": [3, None]}]}


def test_results_are_saved_before_figures_are_drawn(tmp_path):
    def draw():
        raise RuntimeError("it cannot be drawn")

    report = Report(
        {"table": Table("", NASTY_ROWS, NASTY_COLUMNS)}, {"a figure": draw}, results={"result": made_result()}
    )
    with pytest.raises(RuntimeError, match="it cannot be drawn"):
        report.save(tmp_path)
    assert {"table.csv", "numbers.json"} <= {path.name for path in tmp_path.iterdir()}
