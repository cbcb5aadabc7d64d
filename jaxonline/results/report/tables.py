"""Tables: CSV and JSON contain all entries of the rows; text, Markdown, LaTeX and HTML show the visible columns."""

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from jaxonline.parameters import check
from jaxonline.results.report.columns import Count, Fixed, Interval, Number, Row, Text, interval_ends
from jaxonline.results.report.formats import (
    escape_csv,
    escape_html,
    escape_markdown,
    escape_tex,
    format_fixed,
    replace_controls,
    shorten,
    terminal_width,
    to_one_line,
    wrap_for_notebook,
)
from jaxonline.results.report.formulas import formulas_to_text

EXCLUDED_RUNS_COLUMNS = (Count("failed", "failed\nruns"), Count("overflowed", "overflowed\nruns"))
REGRET_COLUMNS = (  # of the rows of `Result.table`
    Text("learner"),
    Number("queries_per_round", "queries\n/round", partial(format_fixed, "{:.2f}")),
    Fixed("regret", "regret\n(95 %)", "{:.2f}"),
    Number("regret_per_round", "regret\n/round", partial(format_fixed, "{:.5f}")),
    Number("bound", "theorem's\nbound", partial(format_fixed, "{:,.0f}")),
    *EXCLUDED_RUNS_COLUMNS,
)


def bounds_at_horizon(bounds: Mapping[str, Any] | None, learners: Sequence[str]) -> dict[str, Any]:
    """Return the bounds by learner as numbers; a bound is a number or a `Bound`. Infinity means that there is none."""
    given = check.dictionary("bounds", bounds, learners)
    numbers = {name: getattr(bound, "value", bound) for name, bound in given.items()}
    for name, bound in numbers.items():
        if not isinstance(bound, float | np.floating) or np.isnan(bound):
            check.number(f"bounds[{name!r}]", bound)
    return numbers


def horizon_rows(result: Any, bounds: Mapping[str, float] | None, level: float, interval: Any) -> list[dict[str, Any]]:
    """Return the rows of `Result.table`."""
    numbers = bounds_at_horizon(bounds, result.learners)
    regret, queries = result.mean("regret", level, interval), result.mean("queries")
    horizon = int(result.rounds[-1])
    return [
        {
            "learner": name,
            "queries_per_round": float(queries.mean[i, -1]) / horizon,
            "regret": float(regret.mean[i, -1]),
            "low": float(regret.low[i, -1]),
            "high": float(regret.high[i, -1]),
            "regret_per_round": float(regret.mean[i, -1]) / horizon,
            "bound": numbers.get(name),
            "failed": int(result.failed[i]),
            "overflowed": int(result.overflowed[i]),
        }
        for i, name in enumerate(result.learners)
    ]


@dataclass(frozen=True, repr=False)
class Table:
    r"""Rows of numbers and the columns that show them.

    A console of the library `rich` prints the table in the widest of three frames that fits the console.

    Attributes:
        title: title of the table.
        rows: dictionaries; the columns of a CSV file are the keys of the first row.
        columns: the visible columns; if empty, a column for each entry of the first row.
        group: key of an entry that forms groups; a line separates consecutive rows that differ in this entry.
        headed: whether the name of each group is written above its rows.
        caption: text below the table.
        strong: key of an entry; numbers with an interval are bold in rows where this entry is true (LaTeX, Markdown,
            HTML).

    Example:
        >>> rows = [{"learner": "a", "regret": 2.0, "low": 1.5, "high": 2.5, "bound": None}]
        >>> table = Table("Regret", rows, (Text("learner"), Interval("regret", "regret\n(95 %)", "{:.1f}")))
        >>> print(table.markdown())
        | learner | regret (95 %) |
        | --- | ---: |
        | a | 2.0 ± 0.5 |
        <BLANKLINE>
        >>> print(table.csv())
        learner,regret,low,high,bound
        a,2,1.5,2.5,
        <BLANKLINE>
    """

    title: str
    rows: Sequence[Row]
    columns: Sequence[Text] = ()
    group: str = ""
    headed: bool = False
    caption: str = ""
    strong: str = ""

    @property
    def shown(self) -> list[Text]:
        """The visible columns, without columns of counts that are all 0."""
        columns = self.columns or [
            Text(k) if isinstance(v, str) else Number(k) for k, v in dict(*self.rows[:1]).items()
        ]
        return [column for column in columns if column.wanted(self.rows)]

    def csv(self) -> str:
        """Return the rows as CSV text; floats have 6 digits, and None becomes an empty cell.

        No spreadsheet runs a text as a formula: a text that begins with =, +, - or @ gets an apostrophe in front, and
        control characters are replaced.
        """
        keys = list(dict(*self.rows[:1]))
        cells = [keys, *(map(row.get, keys) for row in self.rows)] if keys else []
        lines = [[_csv_cell(value) for value in line] for line in cells]
        # some spreadsheets split a line at semicolons, but not inside quotation marks
        split = any(isinstance(cell, str) and ";" in cell for line in lines for cell in line)
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n", quoting=csv.QUOTE_ALL if split else csv.QUOTE_MINIMAL)
        writer.writerows(lines)
        return text.getvalue()

    def json(self) -> str:
        """Return the rows as JSON text, with null for NaN and infinity."""
        return strict_json(self.rows)

    def markdown(self) -> str:
        """Return the table in GitHub's Markdown, without its title."""
        lines = [self._heads(escape_markdown), ["---:" if column.numeric else "---" for column in self.shown]]
        for _, heading, cells, strong in self._plain_lines(escape_markdown):
            lines += [[f"**{heading}**", *[""] * (len(cells) - 1)]] if heading else []
            lines.append([f"**{cell}**" if bold else cell for cell, bold in zip(cells, strong, strict=True)])
        return "".join(f"| {' | '.join(line)} |\n" for line in lines)

    def latex(self) -> str:
        """Return the table as a LaTeX tabular with booktabs rules, without its title."""
        heads = self._heads(escape_tex)
        lines = [_tex_row(heads), r"\midrule"]
        for i, (first, heading, cells, strong) in enumerate(self._lines(escape_tex)):
            lines += [r"\midrule"] if first and i else []
            lines += [rf"\multicolumn{{{len(heads)}}}{{l}}{{{heading}}} \\"] if heading else []
            numeric = [column.numeric for column in self.shown]
            cells = [_MINUS.sub("$-$", cell) if own else cell for cell, own in zip(cells, numeric, strict=True)]
            bold = (rf"\textbf{{\boldmath {cell}}}" if own else cell for cell, own in zip(cells, strong, strict=True))
            lines.append(_tex_row(bold))
        kinds = "".join("r" if column.numeric else "l" for column in self.shown)
        return "\n".join([rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", *lines, r"\bottomrule", r"\end{tabular}", ""])

    def floating(self) -> str:
        """Return a LaTeX table environment with the tabular, the title as its caption, and the caption as a note."""
        below = f"\\\\[2pt]\n{{\\footnotesize {escape_tex(self.caption)}}}\n" if self.caption else ""
        title = f"\\caption{{{escape_tex(self.title)}}}\n" if self.title else ""
        return f"\\begin{{table}}\n\\centering\n{title}{self.latex()}{below}\\end{{table}}\n"

    def html(self) -> str:
        """Return the table as HTML with its title; a numeric cell has its sort key in the attribute `data-value`."""
        lines = ["<table>", f"<caption>{escape_html(self.title)}</caption>", "<thead><tr>"]
        for column, head in zip(self.shown, self._heads(escape_html), strict=True):
            head = head.replace(" %", "&nbsp;%")
            lines.append(f'<th scope="col"{_NUMERIC * column.numeric}>{head}</th>')
        lines += ["</tr></thead>", "<tbody>"]
        for i, (row, (first, heading, cells, strong)) in enumerate(
            zip(self.rows, self._plain_lines(escape_html), strict=True)
        ):
            lines += ["</tbody>", "<tbody>"] if first and i else []
            if heading:
                lines.append(f'<tr class="group"><th scope="rowgroup" colspan="{len(cells)}">{heading}</th></tr>')
            lines.append("<tr>")
            for at, (column, cell, bold) in enumerate(zip(self.shown, cells, strong, strict=True)):
                words, tag = f"<strong>{cell}</strong>" if bold else cell, "td" if at else "th"
                lines.append(f"<{tag}{_SCOPE * (not at)}{_sort_attributes(column, row)}>{words}</{tag}>")
            lines.append("</tr>")
        return "\n".join([*lines, "</tbody>", "</table>", ""])

    def __repr__(self) -> str:
        title, caption = (formulas_to_text(to_one_line(words)) for words in (self.title, self.caption))
        return "\n".join(filter(None, (title, self.text(), caption)))

    def _repr_html_(self) -> str:
        caption = f"<p>{escape_html(self.caption)}</p>" if self.caption else ""
        return wrap_for_notebook(f"{self.html()}{caption}")

    def text(self, width: int = 100) -> str:
        """Return the table as text of at most `width` columns, with texts shortened and the last columns left out."""
        shown = self.shown
        heads = [(column.head or column.key).split("\n") for column in shown]
        height = max(map(len, heads), default=0)
        lines = [[*[""] * (height - len(head)), *head] for head in heads]
        for _, _, cells, _ in self._plain_lines(to_one_line):
            for line, cell in zip(lines, cells, strict=True):
                line.append(cell)
        for line, column in zip(lines, shown, strict=True):
            if not column.numeric:
                line[:] = [shorten(cell, max(width // 3, 8)) for cell in line]
        widths = [max(map(terminal_width, line)) for line in lines]
        while sum(widths) + 2 * (len(widths) - 1) > width and len(widths) > 1:
            lines, widths, shown = lines[:-1], widths[:-1], shown[:-1]
        text_lines = []
        for cells in zip(*lines, strict=True):
            pads = [" " * (own - terminal_width(cell)) for own, cell in zip(widths, cells, strict=True)]
            each = zip(cells, pads, shown, strict=True)
            text_lines.append(
                "  ".join(pad + cell if column.numeric else cell + pad for cell, pad, column in each).rstrip()
            )
        return "\n".join(text_lines)

    def _heads(self, escaped: Callable[[str], str] = str) -> list[str]:
        return [escaped(column.head.replace("\n", " ") or column.key) for column in self.shown]

    def _plain_lines(self, escaped: Callable[[str], str]) -> list[tuple[bool, str, list[str], list[bool]]]:
        """Return `_lines` with plain letters in place of formulas."""
        return self._lines(lambda words: escaped(formulas_to_text(words)))

    def _lines(self, escaped: Callable[[str], str] = str) -> list[tuple[bool, str, list[str], list[bool]]]:
        """Return for each row: whether a group begins, the group's heading, the cells, and which cells are bold."""
        before, lines = None, []
        for row in self.rows:
            group = row.get(self.group)
            first, before = group != before, group
            heading = escaped(str(group)) if first and self.headed else ""
            strong = [bool(row.get(self.strong)) and isinstance(column, Interval) for column in self.shown]
            lines.append((first, heading, [escaped(column.show(row)) for column in self.shown], strong))
        return lines

    def __rich_console__(self, console: Any, options: Any) -> Any:
        from rich import box

        compact = {"box": box.SIMPLE_HEAD, "show_edge": False, "padding": (0, 1, 0, 0)}
        for frame in ({}, {"pad_edge": False}, compact):
            table = self._framed(frame)
            if console.measure(table, options=options.update(max_width=1000)).maximum <= options.max_width:
                break
        yield table

    def _framed(self, frame: Mapping[str, Any]) -> Any:
        from rich import table, text

        framed = table.Table(
            title=text.Text(replace_controls(self.title), "table.title"), title_justify="left",
            caption=text.Text(replace_controls(self.caption), "table.caption") if self.caption else None,
            caption_justify="left", **frame,
        )  # fmt: skip
        for column in self.shown:
            justify = "right" if column.numeric else "left"
            options = {"justify": justify, "no_wrap": column.numeric, "overflow": "fold", "style": column.style}
            framed.add_column(text.Text(replace_controls(column.head or column.key)), **options)
        for first, heading, cells, _ in self._plain_lines(replace_controls):
            if first:
                framed.add_section()
            if heading:
                framed.add_row(text.Text(heading, style="bold"))
            indent = "  " if self.headed else ""
            framed.add_row(text.Text(indent + cells[0]), *map(text.Text, cells[1:]))
        return framed


def pivot(rows: Sequence[Row], down: str, labels: Sequence[str], value: str) -> list[dict[str, Any]]:
    """Merge rows with equal entries `down`; the `value` of each row, with its limits, gets the row's label as its key.

    Example:
        >>> rows = [{"learner": "a", "regret": noise + 1.0, "low": 0.0, "high": 3.0} for noise in (0, 1)]
        >>> pivot(rows, "learner", ["no noise", "noise"], "regret")[0]["noise"]
        2.0
    """
    merged: dict[str, dict[str, Any]] = {}
    for row, label in zip(rows, labels, strict=True):
        low, high = interval_ends(row, value)
        new = {label: row[value], f"{label}_low": low, f"{label}_high": high}
        merged[row[down]] = merged.get(row[down], {down: row[down]}) | new
    return list(merged.values())


def _csv_cell(value: Any) -> Any:
    if isinstance(value, str):
        return escape_csv(value)
    return f"{value:.6g}" if isinstance(value, float) else value


def strict_json(numbers: Any) -> str:
    """Return numbers, arrays and containers as JSON text; NaN and infinity become null.

    Example:
        >>> strict_json({"a": np.array([1, 2]), "b": float("nan")}).split()
        ['{', '"a":', '[', '1,', '2', '],', '"b":', 'null', '}']
    """
    return json.dumps(_replace_nonfinite(numbers), indent=1, allow_nan=False) + "\n"


def _replace_nonfinite(numbers: Any) -> Any:
    if isinstance(numbers, Mapping):
        return {str(key): _replace_nonfinite(value) for key, value in numbers.items()}
    if isinstance(numbers, (list, tuple)):
        return [_replace_nonfinite(value) for value in numbers]
    if isinstance(numbers, (np.ndarray, np.generic)):
        return _replace_nonfinite(numbers.tolist())
    return None if isinstance(numbers, float) and not np.isfinite(numbers) else numbers


_MINUS = re.compile(r"(?<![\w.])-(?=[\d$])")


def _tex_row(cells: Iterable[str]) -> str:
    """Return a LaTeX table row; it starts with {} if the command before would read the first cell as an option."""
    row = " & ".join(cells) + r" \\"
    return "{}" + row if row.startswith(("[", "*")) else row


_NUMERIC, _SCOPE = ' class="number"', ' scope="row"'


def _sort_attributes(column: Text, row: Row) -> str:
    """Return the HTML attributes of a cell; a known number has its sort key in `data-value`."""
    if not column.numeric:
        return ""
    value = row.get(column.key)
    if isinstance(value, int | float | np.number) and value == value:
        number = f"{float(value):.12g}".replace("inf", "Infinity")  # the name in JavaScript
        return f'{_NUMERIC} data-value="{number}"'
    return _NUMERIC
