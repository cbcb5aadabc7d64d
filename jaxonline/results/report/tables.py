"""Tables: rows of numbers, which are a pandas DataFrame, and the columns that people read; the page of a report.

Text is printed by the library rich, LaTeX by the Styler of pandas, and CSV by pandas.
"""

import base64
import html
import io
import json
import math
import re
import textwrap
import zlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from jaxonline.parameters.errors import replace_controls, to_one_line

if TYPE_CHECKING:
    import pandas
    import rich.console
    import rich.table

Row = Mapping[str, Any]
Form = str | Callable[[float], str]  # "{:.2f}", or a function
WIDTH = 100  # of printed tables, in characters
MAX_POWER, MIN_POWER = 7, -4  # other numbers have a power of ten
ROUNDING_ERROR = 1e-9  # relative; narrower intervals are rounding errors
MAX_ASYMMETRY = 0.2  # of an interval written as ±, relative to its half-width


# ---------------------------------------------------------------------------------------------------------------------
# Numbers and texts


def format_number(value: float, digits: int = 4) -> str:
    """Format a number with `digits` significant digits; an integer below 10^7 has all its digits.

    Example:
        >>> [format_number(number) for number in (20.4567, 2.0, 12345.6, 1.5e12, 0.00002, float("nan"))]
        ['20.46', '2', '12,346', '1.500e+12', '2.000e-05', '-']
    """
    value = float(value)
    if not math.isfinite(value):
        return "-" if math.isnan(value) else "∞" if value > 0 else "-∞"
    if value.is_integer() and abs(value) < 10**MAX_POWER:
        return f"{int(value):,}"
    power = _power(value, digits)
    if MIN_POWER <= power < MAX_POWER:
        return f"{value:,.{max(0, digits - 1 - power)}f}"
    return f"{value:.{digits - 1}e}"


def format_measurement(value: float, low: float, high: float) -> str:
    """Format a number and its interval to the second digit of the half-width; NaN stands for no interval.

    An interval that is much longer on one side is shown by its ends.

    Example:
        >>> [format_measurement(20.4567, *ends) for ends in [(20.1655, 20.7479), (19.9, 22.1), (np.nan, np.nan)]]
        ['20.46 ± 0.29', '20.5 [19.9, 22.1]', '20.46']
        >>> format_measurement(1.2345e12, 1.2314e12, 1.2376e12)
        '(1.2345 ± 0.0031)e+12'
    """
    value, half = float(value), (high - low) / 2
    if not math.isfinite(value) or math.isnan(half):
        return format_number(value)
    if not math.isfinite(half) or half <= ROUNDING_ERROR * abs(value):
        return f"{format_number(value)} ± {'0' if math.isfinite(half) else '∞'}"
    power = _power(max(abs(value), half), 2)
    scale, end = (1.0, "") if MIN_POWER <= power < MAX_POWER else (10.0**power, f"e{power:+03d}")
    form = f",.{max(0, 1 - _power(half / scale, 2))}f"
    words = f"{value / scale:{form}} ± {half / scale:{form}}"
    if abs(low + high - 2 * value) > MAX_ASYMMETRY * half:
        words = f"{value / scale:{form}} [{low / scale:{form}}, {high / scale:{form}}]"
    return f"({words}){end}" if end else words


def _power(value: float, digits: int) -> int:
    """Return the power of ten of a number after rounding to `digits` digits: -1 for 0.0999, which becomes 0.10."""
    return int(f"{abs(value):.{digits - 1}e}".partition("e")[2])


def shorten(words: str, most: int) -> str:
    """Return a text as one line of at most `most` characters; it leaves out the middle, since names differ at the end.

    Example:
        >>> shorten("gradient descent[0.125]", 12)
        'gradie….125]'
    """
    words = to_one_line(words)
    return words if len(words) <= most else f"{words[: most // 2]}…{words[len(words) - (most - 1) // 2 :]}"


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
    return None if isinstance(numbers, float) and not math.isfinite(numbers) else numbers


# ---------------------------------------------------------------------------------------------------------------------
# Columns


@dataclass(frozen=True)
class Text:
    """A column of text: it shows the entry `key` of each row below the heading `head` (by default the key)."""

    key: str
    head: str = ""
    numeric: ClassVar[bool] = False

    def show(self, row: Row) -> str:
        """Return the text of the cell in a row: "-" for None or NaN, "" for a missing entry."""
        value = row.get(self.key, "")
        return "-" if value is None or value != value else self._words(value, row) if self.key in row else ""

    def wanted(self, rows: Sequence[Row]) -> bool:
        """Return whether a table with the given rows shows the column."""
        return True

    def _words(self, value: Any, row: Row) -> str:
        return to_one_line(str(value))


@dataclass(frozen=True)
class Number(Text):
    """A column of numbers in the format `form`."""

    form: Form = "{:.6g}"
    numeric: ClassVar[bool] = True

    def _words(self, value: Any, row: Row) -> str:
        return _apply(self.form, value)


@dataclass(frozen=True)
class Interval(Number):
    """A column of numbers with intervals: "mean ± half-width", or "mean [low, high]" if `brackets` is True.

    Without a `form`, the numbers are rounded to the second significant digit of the half-width, and an interval that is
    much longer on one side has brackets. The ends of the interval are the entries `<key>_low` and `<key>_high` of a
    row, or else `low` and `high`.

    Example:
        >>> row = {"regret": 20.4567, "low": 20.17, "high": 20.75}
        >>> Interval("regret").show(row), Interval("regret", form="{:.1f}", brackets=True).show(row)
        ('20.46 ± 0.29', '20.5 [20.2, 20.8]')
    """

    form: Form = ""
    brackets: bool = False

    def _words(self, value: Any, row: Row) -> str:
        low, high = (row.get(f"{self.key}_{end}", row.get(end)) for end in ("low", "high"))
        if not self.form:
            return format_measurement(value, low, high)
        words = _apply(self.form, value)
        if None in (low, high) or low != low or high != high:  # as of a single run
            return words
        if self.brackets:
            return f"{words} [{_apply(self.form, low)}, {_apply(self.form, high)}]"
        return f"{words} ± {_apply(self.form, (high - low) / 2).removeprefix('+')}"


@dataclass(frozen=True)
class Count(Number):
    """A column of counts that should be 0; the table shows the column only if a count is not 0."""

    form: Form = "{:d}"

    def wanted(self, rows: Sequence[Row]) -> bool:
        """Return whether a count in one of the given rows is not 0."""
        return any(row.get(self.key) for row in rows)


@dataclass(frozen=True)
class Varying(Number):
    """A column of numbers that the table shows only if they differ between rows."""

    def wanted(self, rows: Sequence[Row]) -> bool:
        """Return whether two of the given rows show different numbers."""
        return len({self.show(row) for row in rows}) > 1


def _apply(form: Form, value: float) -> str:
    return form.format(value) if isinstance(form, str) else form(value)


EXCLUDED_RUNS_COLUMNS = (Count("failed", "failed\nruns"), Count("overflowed", "overflowed\nruns"))
REGRET_COLUMNS = (  # of the rows of `Result.table`
    Text("learner"),
    Varying("queries_per_round", "queries\n/round", format_number),
    Interval("regret", "regret\n(95 %)"),
    Number("regret_per_round", "regret\n/round", format_number),
    Number("bound", "theorem's\nbound", format_number),
    *EXCLUDED_RUNS_COLUMNS,
)


# ---------------------------------------------------------------------------------------------------------------------
# Tables


class Printed:
    """Base class of objects that are shown as their attribute `table`."""

    table: Any

    @property
    def _printed(self) -> "Table":
        return self.table

    def __repr__(self) -> str:
        return repr(self._printed)

    def _repr_html_(self) -> str:
        return self._printed._repr_html_()


@dataclass(frozen=True, repr=False)
class Table:
    """Rows of numbers and the columns that show them.

    A console of the library rich prints the table; `str` and notebooks show it, too.

    Attributes:
        title: title of the table.
        rows: a dictionary of numbers and texts for each row.
        columns: the visible columns; if empty, a column for each entry of the first row.
        group: key of an entry that forms groups; printed text has a line between rows that differ in this entry.
        caption: text below the table.
        strong: key of an entry; numbers with an interval are bold in rows where this entry is true (LaTeX, Markdown,
            HTML).

    Example:
        >>> rows = [{"learner": "a", "regret": 2.0, "low": 1.5, "high": 2.5, "bound": None}]
        >>> table = Table("Regret", rows, (Text("learner"), Interval("regret", "regret\\n(95 %)", "{:.1f}")))
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
    caption: str = ""
    strong: str = ""

    @property
    def frame(self) -> "pandas.DataFrame":
        """The numbers of all rows as a DataFrame, also those that no column shows."""
        import pandas

        return pandas.DataFrame(list(self.rows))

    @property
    def shown(self) -> list[Text]:
        """The visible columns, without counts that are all 0 and without `Varying` columns that are constant."""
        entries = dict(*self.rows[:1]).items()
        columns = self.columns or [Text(key) if isinstance(value, str) else Number(key) for key, value in entries]
        return [column for column in columns if column.wanted(self.rows)]

    def csv(self) -> str:
        """Return the DataFrame as CSV text; floats have 6 digits, and None becomes an empty cell."""
        return self.frame.to_csv(index=False, float_format="%.6g", lineterminator="\n") if self.rows else ""

    def text(self, width: int = WIDTH) -> str:
        """Return the table as text of about `width` columns, without title and caption; no number is cut."""
        from rich.console import Console
        from rich.measure import Measurement

        table = self._rich(box=None, padding=(0, 2, 0, 0))
        console = Console(file=io.StringIO(), color_system=None, force_terminal=False, force_jupyter=False)
        console.width = max(width, Measurement.get(console, console.options.update(max_width=10_000), table).minimum)
        console.print(table)
        return "\n".join(line.rstrip() for line in console.file.getvalue().splitlines())  # type: ignore[attr-defined]

    def markdown(self) -> str:
        """Return the table in GitHub's Markdown, without its title."""
        bold = [[f"**{cell}**" if strong else cell for cell, strong in line] for line in self._cells(_escape_markdown)]
        rule = ["---:" if column.numeric else "---" for column in self.shown]
        return "".join(f"| {' | '.join(line)} |\n" for line in [self._heads(_escape_markdown), rule, *bold])

    def latex(self, caption: str | None = None) -> str:
        r"""Return the table as a LaTeX tabular with booktabs rules; a caption adds a table environment around it.

        Formulas between dollar signs stay formulas, and other signs are escaped.
        """
        place = {} if caption is None else {"position_float": "centering", "caption": _escape_latex(caption)}
        kinds = "".join("r" if column.numeric else "l" for column in self.shown)
        words = self._styler("latex-math").to_latex(hrules=True, convert_css=True, column_format=kinds, **place)
        words = re.sub(r"^(?=[*\[])", "{}", words, flags=re.MULTILINE)  # else an option of the command before
        return words.replace("±", r"$\pm$").replace("∞", r"$\infty$")

    def html(self) -> str:
        """Return the table as HTML with its title; all text is escaped."""
        style = self._styler("html").set_caption(html.escape(to_one_line(self.title)))
        left = [not column.numeric for column in self.shown]
        style = style.set_properties(subset=style.columns[left], **{"text-align": "left"})  # type: ignore[arg-type]
        return style.to_html(table_uuid=f"{zlib.crc32(repr(self).encode()):x}")

    def __repr__(self) -> str:
        caption = textwrap.fill(to_one_line(self.caption), WIDTH)
        return "\n".join(filter(None, (to_one_line(self.title), self.text(), caption)))

    def _repr_html_(self) -> str:
        return self.html() + (f"<p>{html.escape(self.caption)}</p>" if self.caption else "")

    def __rich__(self) -> "rich.console.Group":
        from rich import box, console, text

        title, caption = (
            [text.Text(to_one_line(words), style)] if words else []
            for words, style in ((self.title, "table.title"), (self.caption, "table.caption"))
        )
        return console.Group(*title, self._rich(box=box.SIMPLE_HEAD, show_edge=False, pad_edge=False), *caption)

    def _rich(self, **frame: Any) -> "rich.table.Table":
        from rich import table, text

        printed = table.Table(**frame)
        lines = self._cells()
        for column, cells in zip(self.shown, zip(*lines, strict=True), strict=False):
            whole = column.numeric or max(len(cell) for cell, _ in cells) < 16
            head, justify = replace_controls(column.head or column.key), "right" if column.numeric else "left"
            printed.add_column(text.Text(head), justify=justify, no_wrap=whole)  # type: ignore[arg-type]
        for i, line in enumerate(lines):
            if self.group and i and self.rows[i].get(self.group) != self.rows[i - 1].get(self.group):
                printed.add_section()
            printed.add_row(*(text.Text(cell) for cell, _ in line))
        return printed

    def _heads(self, escaped: Callable[[str], str] = str) -> list[str]:
        return [escaped(to_one_line(column.head) or column.key) for column in self.shown]

    def _cells(self, escaped: Callable[[str], str] = str) -> list[list[tuple[str, bool]]]:
        """Return for each row the texts of its cells, and which cells are bold."""
        columns = [(column, isinstance(column, Interval)) for column in self.shown]
        return [
            [(escaped(column.show(row)), bool(bold and row.get(self.strong))) for column, bold in columns]
            for row in self.rows
        ]

    def _styler(self, escape: str) -> Any:
        """Return the texts of the cells as a pandas Styler."""
        import pandas

        heads = self._heads()
        heads = [f"{head}{' ' * heads[:i].count(head)}" for i, head in enumerate(heads)]  # pandas wants distinct heads
        lines = self._cells()
        frame = pandas.DataFrame([[cell for cell, _ in line] for line in lines], columns=heads)
        bold = [["font-weight: bold" if strong else "" for _, strong in line] for line in lines]
        style = frame.style.hide(axis="index").format(escape=escape).format_index(escape=escape, axis=1)
        return style.apply(lambda _: pandas.DataFrame(bold, frame.index, frame.columns), axis=None)  # type: ignore


def _escape_latex(words: str) -> str:
    """Return a text for LaTeX, with the rules of the Styler."""
    tabular = Table("", [{"text": words}], (Text("text"),)).latex()
    return tabular.splitlines()[4].removesuffix(r" \\")


def _escape_markdown(words: str) -> str:
    for sign in r"\`*_|[]":
        words = words.replace(sign, f"\\{sign}")
    return words.replace("<", "&lt;")


# ---------------------------------------------------------------------------------------------------------------------
# Pages

PAGE = """<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark }}
body {{ font: 16px/1.5 system-ui, sans-serif; max-width: 60em; margin: auto; padding: 1em }}
table {{ border-collapse: collapse; margin: 1em 0; display: block; overflow-x: auto }}
caption {{ text-align: left; font-weight: bold }}
th, td {{ padding: 0.3em 0.8em; border-bottom: 1px solid #8886; text-align: right }}
th:first-child, td:first-child {{ text-align: left }}
img {{ max-width: 100%; background: white }}
pre {{ overflow-x: auto; padding: 1em; border: 1px solid #8886 }}
</style>
<h1>{title}</h1>
{body}
</html>
"""


def html_page(
    title: str,
    *,
    sentences: Sequence[str] = (),
    tables: Sequence[Table] = (),
    figures: Mapping[str, bytes] | None = None,
    configuration: str = "",
) -> str:
    """Return a page with sentences, tables, figures (PNG bytes by name) and the configuration of the study as text.

    Example:
        >>> page = html_page("Steps & sizes", sentences=["One is enough."])
        >>> "<h1>Steps &amp; sizes</h1>" in page, "<script" in page
        (True, False)
    """
    body = [f"<p>{html.escape(sentence)}</p>" for sentence in sentences]
    body += [table._repr_html_() for table in tables]
    for name, image in (figures or {}).items():
        words = html.escape(name.replace("_", " ").replace("-", " "))
        source = f"data:image/png;base64,{base64.b64encode(image).decode()}"
        body.append(f'<figure><img src="{source}" alt="{words}"><figcaption>{words}</figcaption></figure>')
    if configuration.strip():
        body.append(f"<h2>Configuration</h2><pre>{html.escape(configuration.rstrip())}</pre>")
    return PAGE.format(title=html.escape(title), body="\n".join(body))
