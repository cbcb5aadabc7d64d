"""One table for every output: the same cells on a terminal, in Markdown and in LaTeX, whole rows in CSV and JSON."""

import csv
import io
import json

import numpy as np
import pytest
from rich.console import Console

from jaxonline.results.report.tables import REGRET_COLUMNS, Count, Interval, Number, Table, Text, pivot, strict_json

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
    ["[red]", "1.00 ± 0.50", "1", ""],
]


def printed(table: Table, width: int) -> list[str]:
    out = io.StringIO()
    Console(file=out, width=width).print(table)
    return out.getvalue().splitlines()


def test_a_terminal_shows_the_cells():
    lines = printed(Table("the title", ROWS, COLUMNS), 100)
    assert lines[0].strip() == "the title"
    cells = [[part.strip() for part in line.strip("│").split("│")] for line in lines if line.startswith("│")]
    assert cells == CELLS


def test_a_narrow_terminal_gets_the_compact_frame():
    """Framed with room for it, framed without padding at the edges, or without a frame; words wrap, numbers do not."""
    table = Table("the title", ROWS, COLUMNS)
    widths = [max(map(len, map(str.rstrip, printed(table, width)))) for width in (100, 44, 42)]
    assert widths[0] > widths[1] > widths[2]
    assert "│" in "".join(printed(table, 44))
    assert "│" not in "".join(printed(table, 42))
    lines = printed(Table("", [{"words": "several words in a row", "number": 123456.0}], ()), 18)
    assert any("123456" in line for line in lines)
    assert not any("…" in line for line in lines)


def test_groups_have_lines_between_them_and_names_above_them():
    plain = printed(Table("", ROWS, COLUMNS, group="set"), 100)
    assert sum(line.startswith("├") for line in plain) == 1
    headed = printed(Table("", ROWS, COLUMNS, group="set", headed=True), 100)
    at = [i for i, line in enumerate(headed) if "A & B" in line or "C " in line]
    assert len(at) == 2
    assert headed[at[0] + 1].startswith("│   one | two")
    assert "**A & B**" in Table("", ROWS, COLUMNS, group="set", headed=True).markdown()
    assert r"{l}{A \& B}" in Table("", ROWS, COLUMNS, group="set", headed=True).latex()


def test_markdown_and_latex():
    table = Table("the title", ROWS, COLUMNS)
    lines = table.markdown().splitlines()
    assert lines[0] == "| learner | regret (95 %) | bound | failed runs |"
    assert lines[1] == "| --- | ---: | ---: | ---: |"
    assert lines[2] == r"| one \| two | 20.46 ± 0.29 | - | 0 |"
    tex = table.latex().splitlines()
    assert tex[0] == r"\begin{tabular}{lrrr}"
    assert tex[2] == r"learner & regret (95 \%) & bound & failed runs \\"
    assert tex[5] == r"a\_b & - & 2,000 & 2 \\"
    assert next(line for line in tex if "pm" in line) == r"one \textbar{} two & 20.46 $\pm$ 0.29 & - & 0 \\"


def test_csv_and_json_hold_the_rows():
    rows = [{"a": "x, y", "b": 1 / 3}, {"a": None, "b": 2}]
    assert Table("", rows, (Text("a"),)).csv() == 'a,b\n"x, y",0.333333\n,2\n'
    assert list(csv.DictReader(Table("", ROWS).csv().splitlines()))[1]["regret"] == "nan"
    assert json.loads(Table("", ROWS).json())[1]["regret"] is None
    assert Table("", []).csv() == ""


@pytest.mark.parametrize("label", ["=1+2", "+1", "-1", "@SUM(1)", "\t=1", "\n+1", " -1", "＝1", "＋1", "－1", "＠1"])
def test_a_spreadsheet_runs_no_label_of_a_csv_file(label):
    text = Table("", [{label: label, "loss": -1.5}]).csv()
    for row in csv.reader(io.StringIO(text)):
        assert row[0].startswith("'")
        assert row[0].removeprefix("'").strip("�\t\n ") == label.strip()
    assert row[1] == "-1.5"


def test_a_csv_file_has_no_control_characters_and_cannot_be_split_at_semicolons():
    text = Table("", [{"learner": "a;=1+2", "loss": 2.0}, {"learner": "\x1b[31mred\x9b\u202e", "loss": -1.0}]).csv()
    assert text == '"learner","loss"\n"a;=1+2","2"\n"�[31mred��","-1"\n'


def test_strict_json():
    numbers = {"a": np.array([1.0, np.inf]), "b": (np.int64(3), None, "text"), 5: True}
    assert json.loads(strict_json(numbers)) == {"a": [1.0, None], "b": [3, None, "text"], "5": True}


@pytest.mark.parametrize(
    ("column", "cell"),
    [
        (Interval("exponent", form="{:.1f}"), "0.5 ± 0.1"),  # limits of its own, else those of the row
        (Interval("regret", form="{:.0f}", brackets=True), "2 [1, 3]"),
        (Number("regret", form=lambda number: f"<{number}>"), "<2.0>"),
        (Number("unknown"), ""),
        (Text("nothing"), "-"),
    ],
)
def test_what_a_column_shows(column, cell):
    row = {"regret": 2.0, "low": 1.0, "high": 3.0, "exponent": 0.5, "exponent_low": 0.4, "exponent_high": 0.6}
    assert column.show(row | {"nothing": None}) == cell


@pytest.mark.parametrize("counts", [{}, {"failed": 1}, {"overflowed": 2}, {"failed": 1, "overflowed": 2}])
def test_runs_left_out_are_shown_where_there_are_any(counts):
    row = {"learner": "a", "failed": 0, "overflowed": 0} | counts
    shown = Table("", [row], REGRET_COLUMNS).shown
    assert [column.key for column in shown[5:]] == list(counts)


def test_pivot_puts_rows_side_by_side():
    rows = [
        {"learner": learner, "regret": float(i), "low": i - 0.5, "high": i + 0.5}
        for i, learner in enumerate(("a", "b", "b"))
    ]
    found = pivot(rows, "learner", ["0", "0", "1"], "regret")
    assert found == [
        {"learner": "a", "0": 0.0, "0_low": -0.5, "0_high": 0.5},
        {"learner": "b", "0": 1.0, "0_low": 0.5, "0_high": 1.5, "1": 2.0, "1_low": 1.5, "1_high": 2.5},
    ]
    assert [Interval("1", form="{:.0f}").show(row) for row in found] == ["", "2 ± 0"]


MARKED = "Steps [0.1, 1] and [bold], [/b] :smile:"


def test_terminal_tables_ignore_markup():
    """No markup and no emoji in titles, heads and captions, and nothing that moves the cursor anywhere."""
    columns = Text("learner", MARKED), Number("x", "a\x1b[31m\nb")
    rows = [{"group": "\x1b[2Jg", "learner": "a\x1b[31mRED\x07", "x": 1.0}]
    text = "\n".join(printed(Table(MARKED, rows, columns, group="group", headed=True, caption=f"{MARKED}\x07"), 120))
    assert text.count(MARKED) == 3
    assert not set(text) & {"\x1b", "\x07"}
    for words in ("�[2Jg", "a�[31mRED�", "a�[31m "):
        assert words in text


def test_a_row_of_latex_is_no_option_of_the_line_before():
    rows = [{"learner": name, "x": 1.0} for name in ("[0.1] step", "*best", "b [c]")]
    tex = Table("", rows, (Text("learner", "[head]"), Number("x"))).latex().splitlines()
    assert tex[2] == r"{}[head] & x \\"
    assert tex[4:7] == [r"{}[0.1] step & 1 \\", r"{}*best & 1 \\", r"b [c] & 1 \\"]


def test_decimals_are_as_many_as_the_interval_needs():
    """As always where they are enough, so also for what is 0 and for what is 0 but for the rounding of floats."""
    small = {"learner": "a", "queries_per_round": 2.0, "regret": 3.527e-4, "low": 3.443e-4, "high": 3.611e-4}
    small |= {"regret_per_round": 3.5e-9, "bound": 0.4}
    usual = {"learner": "b", "queries_per_round": 0.0, "regret": 123.45, "low": 122.25, "high": 124.65}
    usual |= {"regret_per_round": 0.12345, "bound": 2000.4}
    exact = usual | {"low": 123.45 - 1e-14, "high": 123.45 + 1e-14, "regret_per_round": 0.0, "bound": np.inf}
    one = small | {"low": np.nan, "high": np.nan}
    cells = [[column.show(row) for column in REGRET_COLUMNS[1:5]] for row in (small, usual, exact, one)]
    assert cells == [
        ["2.00", "0.0003527 ± 0.0000084", "3.500 × 10⁻⁹", "0.4000"], ["0.00", "123.45 ± 1.20", "0.12345", "2,000"],
        ["0.00", "123.45 ± 0.00", "0.00000", "inf"], ["2.00", "0.00", "3.500 × 10⁻⁹", "0.4000"],
    ]  # fmt: skip
