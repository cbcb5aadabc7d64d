"""Columns of a table: a column states which entry of a row it shows, and in which format."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

from jaxonline.results.report.formats import ROUNDING_ERROR, format_fixed, format_measurement, format_number

Row = Mapping[str, Any]
Form = str | Callable[[float], str]  # "{:.2f}", or a function


@dataclass(frozen=True)
class Text:
    """A column of text: it shows the entry `key` of each row below the heading `head` (by default the key)."""

    key: str
    head: str = ""
    numeric: ClassVar[bool] = False
    style: ClassVar[str | None] = None

    def show(self, row: Row) -> str:
        """Return the text of the cell in a row: "-" for None or NaN, "" for a missing entry."""
        if self.key not in row:
            return ""
        value = row[self.key]
        return "-" if value is None or value != value else self._words(value, row)

    def wanted(self, rows: Sequence[Row]) -> bool:
        """Return whether a table with the given rows shows the column."""
        return True

    def _words(self, value: Any, row: Row) -> str:
        return str(value)


@dataclass(frozen=True)
class Number(Text):
    """A column of numbers in the format `form`."""

    form: Form = "{:.6g}"
    numeric: ClassVar[bool] = True

    def _words(self, value: Any, row: Row) -> str:
        return _apply_format(self.form, value)


@dataclass(frozen=True)
class Interval(Number):
    """A column of numbers with intervals: "mean ± half-width", or "mean [low, high]" if `brackets` is True.

    Example:
        >>> row = {"regret": 20.46, "low": 20.17, "high": 20.75}
        >>> Interval("regret", form="{:.2f}").show(row), Interval("regret", form="{:.1f}", brackets=True).show(row)
        ('20.46 ± 0.29', '20.5 [20.2, 20.8]')
    """

    brackets: bool = False

    def _words(self, value: Any, row: Row) -> str:
        low, high = interval_ends(row, self.key)
        if low != low or high != high:  # a single run has no interval
            return _apply_format(self.form, value)
        if self.brackets:
            return "{} [{}, {}]".format(*(_apply_format(self.form, number) for number in (value, low, high)))
        return f"{_apply_format(self.form, value)} ± {_apply_format(self.form, (high - low) / 2).removeprefix('+')}"


@dataclass(frozen=True)
class Fixed(Interval):
    """A column of numbers with intervals in the fixed decimals of `form`; like `Measured` if that is too coarse.

    Example:
        >>> rows = {"regret": 20.46, "low": 20.17, "high": 20.75}, {"regret": 3.5e-4, "low": 3.4e-4, "high": 3.6e-4}
        >>> [Fixed("regret", form="{:.2f}").show(row) for row in rows]
        ['20.46 ± 0.29', '0.000350 ± 0.000010']
    """

    form: str = "{:.2f}"

    def _words(self, value: Any, row: Row) -> str:
        low, high = interval_ends(row, self.key)
        half = (high - low) / 2
        if half > ROUNDING_ERROR * abs(value) and format_fixed(self.form, half) != self.form.format(half):
            return format_measurement(value, half)
        return super()._words(value, row)


@dataclass(frozen=True)
class Measured(Interval):
    """A column of numbers with intervals, both rounded to the second significant digit of the half-width.

    Example:
        >>> Measured("regret").show({"regret": 20461.3, "low": 20171.0, "high": 20751.6})
        '20,461 ± 290'
    """

    form: Form = format_number

    def _words(self, value: Any, row: Row) -> str:
        low, high = interval_ends(row, self.key)
        return format_measurement(value, (high - low) / 2)


@dataclass(frozen=True)
class Count(Number):
    """A column of counts that should be 0; the table shows the column, in red, only if a count is not 0."""

    form: Form = "{:d}"
    style: ClassVar[str | None] = "red"

    def wanted(self, rows: Sequence[Row]) -> bool:
        """Return whether a count in one of the given rows is not 0."""
        return any(row.get(self.key) for row in rows)


@dataclass(frozen=True)
class OptionalNumber(Number):
    """A column of a number that only some studies measure; the table shows the column if a row has the number."""

    def wanted(self, rows: Sequence[Row]) -> bool:
        """Return whether at least one row has the number."""
        return any(self.key in row for row in rows)


def interval_ends(row: Row, key: str) -> tuple[float, float]:
    """Return the ends of an entry's interval: the entries `<key>_low` and `<key>_high`, or else `low` and `high`."""
    own = f"{key}_low" in row
    return (row[f"{key}_low"], row[f"{key}_high"]) if own else (row["low"], row["high"])


def _apply_format(form: Form, value: float) -> str:
    return form.format(value) if isinstance(form, str) else form(value)
