"""Reading a table of numbers from a file: .npz with X and y, .csv with or without a header, columns of text."""

import csv
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

MISSING = ("", "?", "na", "nan", "null", "none")
SUFFIXES = (".npz", ".csv", ".dat", ".txt", ".data")
_DATE_OR_WORD = re.compile(r"\d+([-/.:])\d+\1\d+.*|.*[^\W\d_].*")


class Table(NamedTuple):
    """Numbers with the names of their columns; NaN where a cell is empty."""

    X: np.ndarray
    y: np.ndarray
    columns: tuple[str, ...]
    target: str
    file: Path


def read_table(path: Path, target: str | int | None = None, drop: Sequence[str | int] = ()) -> Table:
    """Read a file; `target` is the name or the number of a column (-1, the last one, by default).

    Columns of dates or words are left out, with a warning. An .npz file has its targets as y.
    """
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{path}: the ending must be one of {', '.join(SUFFIXES)}")
    if path.suffix == ".npz":
        return _read_npz(path)
    rows = _cells(path)
    numbered = [str(j) for j in range(len(rows[0]))]
    # names of columns, also if they are mere numbers, as pandas gives them
    headed = not all(map(_is_number, rows[0])) or (rows[0] == numbered and len(numbered) > 3)
    names = rows.pop(0) if headed else numbered
    if not rows:
        raise ValueError(f"{path}: there is no row of numbers")
    for i, row in enumerate(rows):
        if len(row) != len(names):
            raise ValueError(f"{path}: row {i + 1} has {len(row)} cells, the first one has {len(names)}")
    at = _column(path, names, -1 if target is None else target)
    dropped = {_column(path, names, column) for column in drop}
    words = {j for j in range(len(names)) if j != at and j not in dropped and _has_words_only([row[j] for row in rows])}
    if words:
        left_out = ", ".join(repr(names[j]) for j in sorted(words))
        warnings.warn(f"{path}: dates or words instead of numbers in column {left_out}: left out", stacklevel=3)
    kept = [j for j in range(len(names)) if j != at and j not in dropped | words]
    if not kept:
        raise ValueError(f"{path}: there is no column of numbers besides the target")
    values = np.array([[_number(path, i, names[j], row[j]) for j in (*kept, at)] for i, row in enumerate(rows)])
    return Table(values[:, :-1], values[:, -1], tuple(names[j] for j in kept), names[at], path)


def n_columns(path: Path) -> int:
    """The number of cells in the first row of a file of columns."""
    return len(_cells(path)[0])


def complete(table: Table, impute: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """X and y without gaps: imputed column by column with "mean" or "median", or an error that names the cell."""
    values = np.column_stack([table.X, table.y]).astype(float)
    names = (*table.columns, table.target)
    if np.isinf(values).any():
        raise ValueError(_gaps(table, names, np.isinf(values), "an infinite number", "correct it"))
    missing = np.isnan(values)
    if missing.any():
        if impute is None:
            advice = "ask for impute='mean' or 'median', or complete the file"
            raise ValueError(_gaps(table, names, missing, "no number", advice))
        empty = missing.all(axis=0)
        if empty.any():
            raise ValueError(f"{table.file}: column {names[int(np.argmax(empty))]!r} has no number at all")
        fill = {"mean": np.nanmean, "median": np.nanmedian}[impute](values, axis=0)
        values = np.where(missing, fill, values)
    return values[:, :-1], values[:, -1]


def _gaps(table: Table, names: Sequence[str], where: np.ndarray, what: str, advice: str) -> str:
    row, column = (int(i) for i in np.argwhere(where)[0])
    return (
        f"{table.file}: {what} in row {row + 1}, column {names[column]!r} ({int(where.sum())} such cells; rows are "
        f"counted from 1, without the header): {advice}"
    )


def _read_npz(path: Path) -> Table:
    with np.load(path, allow_pickle=False) as file:
        if not {"X", "y"} <= set(file.files):
            raise ValueError(f"{path} must hold the arrays X and y, got {', '.join(file.files) or 'none'}")
        X, y = file["X"], file["y"]
    for name, array in (("X", X), ("y", y)):
        if not np.issubdtype(array.dtype, np.number) or np.issubdtype(array.dtype, np.complexfloating):
            raise ValueError(f"{path}: {name} must hold real numbers, got dtype {array.dtype}")
    y = y.reshape(-1) if y.ndim == 2 and y.shape[1] == 1 else y
    if X.ndim != 2 or y.ndim != 1 or len(X) != len(y) or X.size == 0:
        raise ValueError(f"{path}: X must be [n, d] and y [n] with n, d >= 1, got {X.shape} and {y.shape}")
    return Table(X.astype(float), y.astype(float), tuple(map(str, range(X.shape[1]))), "y", path)


def _cells(path: Path) -> list[list[str]]:
    text = path.read_text(encoding="utf-8-sig")
    lines = [line for line in text.splitlines() if line.strip()]
    if not lines:
        raise ValueError(f"{path} is empty")
    delimiter = next((mark for mark in (",", ";", "\t") if mark in lines[0]), None)
    if delimiter is None:
        return [line.split() for line in lines]
    return [[cell.strip() for cell in row] for row in csv.reader(lines, delimiter=delimiter)]


def _column(path: Path, names: Sequence[str], wanted: str | int) -> int:
    if isinstance(wanted, str) and wanted in names:
        return list(names).index(wanted)
    try:
        at = int(wanted)
    except ValueError:
        raise ValueError(f"{path} has no column {wanted!r}; its columns are {', '.join(names)}") from None
    if not -len(names) <= at < len(names):
        raise ValueError(f"{path} has no column {at}; it has {len(names)} columns, counted from 0")
    return at % len(names)


def _has_words_only(cells: Sequence[str]) -> bool:
    """Whether all cells that are not empty hold a date or a word; "1,5", say, is neither."""
    filled = [cell for cell in cells if cell.lower() not in MISSING]
    return bool(filled) and not any(map(_is_number, filled)) and all(map(_DATE_OR_WORD.fullmatch, filled))


def _is_number(cell: str) -> bool:
    if cell.lower() in MISSING:
        return True
    try:
        float(cell)
    except ValueError:
        return False
    return True


def _number(path: Path, row: int, column: str, cell: str) -> float:
    if cell.lower() in MISSING:
        return np.nan
    try:
        return float(cell)
    except ValueError:
        raise ValueError(f"{path}: row {row + 1}, column {column!r} must be a number, got {cell!r}") from None
