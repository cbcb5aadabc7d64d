"""One table for every output: rows of numbers, and columns that know how to show them.

A row is a dictionary. CSV and JSON hold the rows as they are; on a terminal, in Markdown and in LaTeX a table shows its
columns. `rich` is imported when a table is printed.
"""

import csv
import io
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from jaxonline._util import check
from jaxonline.results.reduction import CONTROL, HALF_DIFFERENCE

_Row = Mapping[str, Any]
Form = str | Callable[[float], str]  # of a number: "{:.2f}", or a function


@dataclass(frozen=True)
class Text:
    """A column of words: the row's entry `key`, under `head` (by default the key)."""

    key: str
    head: str = ""
    numeric: ClassVar[bool] = False
    style: ClassVar[str | None] = None

    def show(self, row: _Row) -> str:
        """The cell: "-" for what is not known, nothing where the row has no such entry."""
        if self.key not in row:
            return ""
        value = row[self.key]
        return "-" if value is None or value != value else self._words(value, row)

    def wanted(self, rows: Sequence[_Row]) -> bool:
        """Whether the column is shown."""
        return True

    def _words(self, value: Any, row: _Row) -> str:
        return str(value)


@dataclass(frozen=True)
class Number(Text):
    """A column of numbers, each shown by `form`."""

    form: Form = "{:.6g}"
    numeric: ClassVar[bool] = True

    def _words(self, value: Any, row: _Row) -> str:
        return _formed(self.form, value)


@dataclass(frozen=True)
class Interval(Number):
    """A number with its interval, "mean ± half the width", or "mean [low, high]" with brackets.

    The limits are the entries `<key>_low` and `<key>_high` of the row, or else `low` and `high`.

    Example:
        >>> from jaxonline.results.tables import Interval
        >>> row = {"regret": 20.46, "low": 20.17, "high": 20.75}
        >>> Interval("regret", form="{:.2f}").show(row), Interval("regret", form="{:.1f}", brackets=True).show(row)
        ('20.46 ± 0.29', '20.5 [20.2, 20.8]')
    """

    brackets: bool = False

    def _words(self, value: Any, row: _Row) -> str:
        low, high = limits(row, self.key)
        if self.brackets:
            return "{} [{}, {}]".format(*(_formed(self.form, each) for each in (value, low, high)))
        return f"{_formed(self.form, value)} ± {_formed(self.form, (high - low) / 2).removeprefix('+')}"


@dataclass(frozen=True)
class Count(Number):
    """What should be 0 everywhere: shown, in red, where it is not."""

    form: Form = "{:d}"
    style: ClassVar[str | None] = "red"

    def wanted(self, rows: Sequence[_Row]) -> bool:
        """Whether a row has any."""
        return any(row.get(self.key) for row in rows)


@dataclass(frozen=True)
class Known(Number):
    """A number that some studies measure: the column is shown where a row has it."""

    def wanted(self, rows: Sequence[_Row]) -> bool:
        """Whether a row has it."""
        return any(self.key in row for row in rows)


LEFT_OUT = (Count("failed", "failed\nruns"), Count("overflowed", "overflowed\nruns"))
REGRET = (  # of the rows of `Result.table`
    Text("learner"),
    Number("queries_per_round", "queries\n/round", "{:.2f}"),
    Interval("regret", "regret\n(95 %)", "{:.2f}"),
    Number("regret_per_round", "regret\n/round", "{:.5f}"),
    Number("bound", "theorem's\nbound", "{:,.0f}"),
    Known("variance_reduction", "variance\nreduction", "{:.3g}"),
    *LEFT_OUT,
)


def rows_at_the_horizon(result: Any, bounds: Mapping[str, float] | None, level: float) -> list[dict[str, Any]]:
    """The rows of `Result.table`, of that result."""
    for name, bound in check.keyed("bounds", bounds, result.learners).items():
        if not isinstance(bound, float | np.floating) or np.isnan(bound):  # infinity says that there is none
            check.number(f"bounds[{name!r}]", bound)
    regret, queries = result.mean("regret", level), result.mean("queries")
    horizon = int(result.rounds[-1])
    reduced = CONTROL in result.measures or HALF_DIFFERENCE in result.measures
    reduction = result.variance_reduction() if reduced else None
    return [
        {
            "learner": name,
            "queries_per_round": float(queries.mean[i, -1]) / horizon,
            "regret": float(regret.mean[i, -1]),
            "low": float(regret.low[i, -1]),
            "high": float(regret.high[i, -1]),
            "regret_per_round": float(regret.mean[i, -1]) / horizon,
            "bound": (bounds or {}).get(name),
            "failed": int(result.failed[i]),
            "overflowed": int(result.overflowed[i]),
        }
        | ({} if reduction is None else {"variance_reduction": float(reduction[i])})
        for i, name in enumerate(result.learners)
    ]


@dataclass(frozen=True)
class Table:
    r"""Rows, and the columns that are shown of them.

    Printed by a console of `rich`, it takes the roomiest of three frames that fits the console's width.

    Attributes:
        title: of the table.
        rows: dictionaries, in CSV with the keys of the first.
        columns: what is shown; all entries when empty.
        group: a key: a line between rows that differ in it.
        headed: the group's name stands above its rows.
        caption: below the table.

    Example:
        >>> from jaxonline.results.tables import Interval, Table, Text
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
    rows: Sequence[_Row]
    columns: Sequence[Text] = ()
    group: str = ""
    headed: bool = False
    caption: str = ""

    @property
    def shown(self) -> list[Text]:
        """The columns, less those of counts that are all 0."""
        columns = self.columns or [
            Text(k) if isinstance(v, str) else Number(k) for k, v in dict(*self.rows[:1]).items()
        ]
        return [column for column in columns if column.wanted(self.rows)]

    def csv(self) -> str:
        """The rows; floats have 6 digits, None is an empty cell."""
        text = io.StringIO()
        lines = csv.writer(text, lineterminator="\n")
        for row in self.rows[:1]:
            lines.writerow(row)
            lines.writerows(
                [f"{v:.6g}" if isinstance(v, float) else v for v in map(each.get, row)] for each in self.rows
            )
        return text.getvalue()

    def json(self) -> str:
        """The rows as strict JSON."""
        return strict_json(self.rows)

    def markdown(self) -> str:
        """The columns as a table of GitHub's Markdown, without the title."""
        lines = [self._heads(), ["---:" if column.numeric else "---" for column in self.shown]]
        for _, heading, cells in self._lines():
            lines += [[f"**{heading}**", *[""] * (len(cells) - 1)]] if heading else []
            lines.append(cells)
        escaped = ([cell.replace("|", r"\|") for cell in line] for line in lines)
        return "".join(f"| {' | '.join(line)} |\n" for line in escaped)

    def latex(self) -> str:
        """The columns as a tabular with the rules of booktabs, without the title."""
        heads = self._heads()
        lines = [" & ".join(map(_tex, heads)) + r" \\", r"\midrule"]
        for i, (first, heading, cells) in enumerate(self._lines()):
            lines += [r"\midrule"] if first and i else []
            lines += [rf"\multicolumn{{{len(heads)}}}{{l}}{{{_tex(heading)}}} \\"] if heading else []
            lines.append(" & ".join(map(_tex, cells)) + r" \\")
        kinds = "".join("r" if column.numeric else "l" for column in self.shown)
        return "\n".join([rf"\begin{{tabular}}{{{kinds}}}", r"\toprule", *lines, r"\bottomrule", r"\end{tabular}", ""])

    def _heads(self) -> list[str]:
        return [column.head.replace("\n", " ") or column.key for column in self.shown]

    def _lines(self) -> list[tuple[bool, str, list[str]]]:
        """For each row: whether a group begins, its name where that is to be shown, and the cells."""
        before, found = None, []
        for row in self.rows:
            group = row.get(self.group)
            first, before = group != before, group
            found.append((first, str(group) if first and self.headed else "", [c.show(row) for c in self.shown]))
        return found

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

        made = table.Table(
            title=self.title, title_justify="left", caption=self.caption or None, caption_justify="left", **frame
        )
        for column in self.shown:
            justify = "right" if column.numeric else "left"
            look = {"justify": justify, "no_wrap": column.numeric, "overflow": "fold", "style": column.style}
            made.add_column(column.head or column.key, **look)
        for first, heading, cells in self._lines():
            if first:
                made.add_section()
            if heading:
                made.add_row(text.Text(heading, style="bold"))
            indent = "  " if self.headed else ""
            made.add_row(text.Text(indent + cells[0]), *map(text.Text, cells[1:]))
        return made


def limits(row: _Row, key: str) -> tuple[float, float]:
    """The ends of the interval of an entry: `<key>_low` and `<key>_high`, or else `low` and `high`."""
    own = f"{key}_low" in row
    return (row[f"{key}_low"], row[f"{key}_high"]) if own else (row["low"], row["high"])


def across(rows: Sequence[_Row], down: str, labels: Sequence[str], value: str) -> list[dict[str, Any]]:
    """Rows that share an entry become one: `value` and its limits under the label of each.

    Args:
        rows: with the entries `down`, `value` and its limits.
        down: what the new rows share; they come in the order in which it is met.
        labels: of the rows, the names of the new entries.
        value: a key.

    Example:
        >>> from jaxonline.results.tables import across
        >>> rows = [{"learner": "a", "regret": noise + 1.0, "low": 0.0, "high": 3.0} for noise in (0, 1)]
        >>> across(rows, "learner", ["no noise", "noise"], "regret")[0]["noise"]
        2.0
    """
    found: dict[str, dict[str, Any]] = {}
    for row, label in zip(rows, labels, strict=True):
        low, high = limits(row, value)
        new = {label: row[value], f"{label}_low": low, f"{label}_high": high}
        found[row[down]] = found.get(row[down], {down: row[down]}) | new
    return list(found.values())


def strict_json(numbers: Any) -> str:
    """Numbers, arrays and containers of them as JSON; NaN and infinity become null.

    Example:
        >>> import numpy as np
        >>> from jaxonline.results.tables import strict_json
        >>> strict_json({"a": np.array([1, 2]), "b": float("nan")}).split()
        ['{', '"a":', '[', '1,', '2', '],', '"b":', 'null', '}']
    """
    return json.dumps(_finite(numbers), indent=1, allow_nan=False) + "\n"


def _finite(numbers: Any) -> Any:
    if isinstance(numbers, Mapping):
        return {str(key): _finite(value) for key, value in numbers.items()}
    if isinstance(numbers, (list, tuple)):
        return [_finite(value) for value in numbers]
    if isinstance(numbers, (np.ndarray, np.generic)):
        return _finite(numbers.tolist())
    return None if isinstance(numbers, float) and not np.isfinite(numbers) else numbers


def _formed(form: Form, value: float) -> str:
    return form.format(value) if isinstance(form, str) else form(value)


_TEX = str.maketrans({"\\": r"\textbackslash{}", "±": r"$\pm$"} | {sign: rf"\{sign}" for sign in "&%$#_{}"})


def _tex(words: str) -> str:
    return words.translate(_TEX)
