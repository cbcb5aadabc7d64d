"""Reading a table of numbers from a file: .npz with X and y, .csv with or without a header, columns of text, Parquet.

A table is a pandas DataFrame of float64, its target in the last column, NaN where a cell is empty. pandas is imported
when a file is read.
"""

import io
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxonline.parameters.check import quote
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.suggest import did_you_mean
from jaxonline.store.atomic_files import DAMAGED_ARCHIVE_ERRORS

if TYPE_CHECKING:
    import pandas as pd

MISSING = ("", "?", "na", "nan", "null", "none")
SUFFIXES = (".npz", ".csv", ".dat", ".txt", ".data", ".parquet")
_DATE = re.compile(r"\d+([-/.:])\d+\1\d+.*")
_DATE_OR_WORD = re.compile(rf"{_DATE.pattern}|.*[^\W\d_].*")
_QUOTED = re.compile(r'(?<![^\s,;])"[^"]*"')


def read_table(
    path: Path, target: str | int | None = None, drop: Sequence[str | int] = (), positive: str | None = None
) -> "pd.DataFrame":
    """Read a file; `target` is the name or the number of a column (-1, the last one, by default).

    Columns of dates or words are left out, with a warning. An .npz file has its targets as y. With `positive`, targets
    are 1 where they are that word or number, else -1.

    Raises:
        ValueError: there is no such column; a cell is no number; the first row is neither numbers nor names; the file
            is empty, damaged, or of another kind.
        OSError: it cannot be read.
    """
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{path}: must end in one of {', '.join(SUFFIXES)} (got {path.suffix!r})")
    if path.suffix == ".npz":
        table = _read_npz(path)
        if positive is not None:
            table["y"] = _classes(path, table["y"].map(str), positive)
        return table
    return select_columns(path, _read_cells(path), target, drop, positive)


def select_columns(
    path: Path, cells: "pd.DataFrame", target: str | int | None, drop: Sequence[str | int], positive: str | None = None
) -> "pd.DataFrame":
    """The columns of numbers among cells of text, and the target; `path` says whose they are."""
    import pandas as pd

    names = list(cells.columns)
    at = _column(path, names, -1 if target is None else target)
    dropped = {_column(path, names, column, "drop") for column in drop}
    numbers, words = [], []
    for j in [j for j in range(len(names)) if j != at and j not in dropped]:
        if _has_words_only(cells.iloc[:, j]):
            words.append(repr(names[j]))
        else:
            numbers.append(_numbers(path, cells.iloc[:, j]))
    if words:
        warnings.warn(f"{path}: dates or words instead of numbers in column {', '.join(words)}: left out", stacklevel=3)
    if not numbers:
        raise ValueError(f"{path}: must have a column of numbers besides the target (got none)")
    of_rows = cells.iloc[:, at]
    return pd.concat(
        [*numbers, _numbers(path, of_rows) if positive is None else _classes(path, of_rows, positive)], axis=1
    )


def text_cells(frame: "pd.DataFrame") -> "pd.DataFrame":
    """The cells of a frame as text, gaps empty."""
    plain: Any = frame.astype(object).map(lambda cell: int(cell) if isinstance(cell, bool | np.bool_) else cell)
    texts = plain.where(frame.notna(), "").map(str).apply(lambda column: column.str.strip())
    return texts.set_axis([str(name) for name in frame.columns], axis=1).reset_index(drop=True)


def _classes(path: Path, cells: Any, positive: str) -> "pd.Series":
    """1 where a cell is `positive`, as a word or as a number, else -1."""
    gaps = cells.str.lower().isin(MISSING)
    if gaps.any():
        raise ValueError(f"{path}: row {int(np.argmax(gaps)) + 1} has no target (column {cells.name!r})")
    if _is_filled(positive) and _is_number(positive):
        same = cells.map(lambda cell: _is_number(cell) and float(cell) == float(positive))
    else:
        same = cells == positive
    if same.all() or not same.any():
        some = ", ".join(map(repr, dict.fromkeys(cells.head(1000)))) if not same.any() else ""
        words = "all" if same.all() else "none"
        known = f"; there are {some[:100]}{did_you_mean(positive, list(cells.unique()))}" if some else ""
        has = f"{words} of the targets in {path} {'have' if same.all() else 'has'} it"
        raise ArgumentError("positive", f"must be a value of some targets (got {positive!r}); {has}{known}")
    return same.map({True: 1.0, False: -1.0})


def n_columns(path: Path) -> int:
    """The number of columns of a file of columns."""
    return _read_cells(path).shape[1]


def to_arrays(path: Path, table: "pd.DataFrame", impute: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """X and y without gaps: imputed column by column with "mean" or "median", or an error that names the cell."""
    values, names = table.to_numpy(float), list(table.columns)
    if np.isinf(values).any():
        raise ValueError(_first(path, names, np.isinf(values), "an infinite number", "correct it"))
    missing = np.isnan(values)
    if missing.any():
        if impute is None:
            advice = "ask for impute='mean' or 'median', or complete the file"
            raise ValueError(_first(path, names, missing, "no number", advice))
        empty = missing.all(axis=0)
        if empty.any():
            raise ValueError(f"{path}: column {names[int(np.argmax(empty))]!r} has no number at all")
        fill = {"mean": np.nanmean, "median": np.nanmedian}[impute](values, axis=0)
        values = np.where(missing, fill, values)
    return values[:, :-1], values[:, -1]


def _first(path: Path, names: Sequence[str], where: np.ndarray, what: str, advice: str) -> str:
    row, column = (int(i) for i in np.argwhere(where)[0])
    return (
        f"{path}: {what} in row {row + 1}, column {names[column]!r} ({int(where.sum())} such cells; rows are counted "
        f"from 1, without the header): {advice}"
    )


def read_arrays(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """The arrays X and y of an .npz file, whatever they hold."""
    with path.open("rb") as opened:
        try:
            with np.load(opened, allow_pickle=False) as file:
                names, arrays = file.files, {name: file[name] for name in ("X", "y") if name in file.files}
        except (*DAMAGED_ARCHIVE_ERRORS, TypeError, OSError) as error:  # TypeError: an .npy file, of one array
            raise ValueError(f"{path}: must be an .npz file that is not damaged ({error})") from None
    if len(arrays) < 2:
        raise ValueError(f"{path}: must hold the arrays X and y (got {', '.join(names) or 'none'})")
    return arrays["X"], arrays["y"]


def _read_npz(path: Path) -> "pd.DataFrame":
    import pandas as pd

    X, y = read_arrays(path)
    for name, array in (("X", X), ("y", y)):
        if not np.issubdtype(array.dtype, np.number) or np.issubdtype(array.dtype, np.complexfloating):
            raise ValueError(f"{path}: {name} must hold real numbers (got dtype {array.dtype})")
    y = y.reshape(-1) if y.ndim == 2 and y.shape[1] == 1 else y
    if X.ndim != 2 or y.ndim != 1 or len(X) != len(y) or X.size == 0:
        raise ValueError(f"{path}: X must be [n, d] and y [n] with n, d >= 1 (got {X.shape} and {y.shape})")
    return pd.DataFrame(np.column_stack([X, y]).astype(float), columns=[*map(str, range(X.shape[1])), "y"])


def _read_cells(path: Path) -> "pd.DataFrame":
    """The cells of a file as text without surrounding blanks, under the names of its header or 0, 1, 2, ..."""
    import pandas as pd

    if path.suffix == ".parquet":
        return text_cells(_read_parquet(path))
    try:
        text = path.read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        byte = f"the byte 0x{error.object[error.start]:02x} at {error.start}"
        raise ValueError(f"{path}: must be text in UTF-8 (got {byte}); save it as UTF-8") from None
    first = next((line for line in io.StringIO(text) if line.strip()), None)
    if first is None:
        raise ValueError(f"{path}: must have at least one row (got an empty file)")
    unquoted = _QUOTED.sub("", first)
    separator = next((mark for mark in (",", ";", "\t") if mark in unquoted), r"\s+")
    try:  # engine="python" tells an empty cell, "", from one that a short row lacks, NaN
        cells = pd.read_csv(
            io.StringIO(text), sep=separator, engine="python",
            header=None, dtype=str, keep_default_na=False, skipinitialspace=True,
        )  # fmt: skip
    except pd.errors.ParserError as error:
        lengths = r".*Expected (\d+) fields in line (\d+), saw (\d+).*"
        message = re.sub(lengths, r"line \2 has \3 cells, the first one has \1", str(error))
        raise ValueError(f"{path}: {message}") from None
    for j in range(cells.shape[1]):
        cells[j] = cells[j].str.strip()
    names, numbered = list(cells.iloc[0]), [str(j) for j in range(cells.shape[1])]
    # names of columns, also if they are mere numbers, as pandas writes them
    headed = not all(map(_is_number, names)) or (names == numbered and len(names) > 3)
    if headed:
        cells = cells.drop(index=0).set_axis(names, axis=1).reset_index(drop=True)
    else:
        cells.columns = numbered
    if cells.empty:
        raise ValueError(f"{path}: must have a row of numbers (got none)")
    short = np.flatnonzero(cells.iloc[:, -1].isna())
    if len(short):
        row, n_cells = short[0], cells.iloc[short[0]].notna().sum()
        raise ValueError(f"{path}: row {row + 1} must have {cells.shape[1]} cells, as the first one (got {n_cells})")
    if headed:
        _check_header(path, names, list(cells.iloc[0]))
    return cells


def _check_header(path: Path, names: Sequence[str], below: Sequence[str]) -> None:
    """Check that a first row that is taken for names is no row of data: none of them is a number or a date.

    Columns that pandas numbered may stand beside others, where there are many of them, or a word stands above a number.
    """
    odd = [name for name in names if _is_filled(name) and (_is_number(name) or _DATE.fullmatch(name))]
    pairs = zip(names, below, strict=True)
    above = any(name not in odd and _is_filled(cell) and _is_number(cell) for name, cell in pairs)
    if odd and not (odd == [str(j) for j in range(len(odd))] and (above or len(odd) > 3)):
        raise ValueError(
            f"{path}: the first row must be numbers or the names of columns (got {quote(names)}); if it is data, write "
            f"a row of names above it; if it is names, change {odd[0]!r}"
        )


def _read_parquet(path: Path) -> "pd.DataFrame":
    import pandas as pd

    try:
        frame = pd.read_parquet(path)
    except ImportError:
        raise ValueError(
            f"{path}: Parquet needs a package that is not installed; pip install 'jaxonline[parquet]'"
        ) from None
    except (ValueError, OSError) as error:
        if isinstance(error, FileNotFoundError | PermissionError):
            raise
        raise ValueError(f"{path}: cannot be read as Parquet ({error})") from None
    if frame.empty:
        raise ValueError(f"{path}: must have a row of numbers (got none)")
    return frame


def _column(path: Path, names: Sequence[str], wanted: str | int, argument: str = "target") -> int:
    if isinstance(wanted, str) and wanted in names:
        return list(names).index(wanted)
    try:
        at = int(wanted)
    except ValueError:
        hint = did_you_mean(wanted, names)
        known = f"its columns are {', '.join(names)}{hint}"
        raise ValueError(f"{argument}: {path} has no column {wanted!r}; {known}") from None
    if not -len(names) <= at < len(names):
        raise ValueError(f"{argument}: {path} has no column {at}; it has {len(names)} columns, counted from 0")
    return at % len(names)


def _numbers(path: Path, cells: "pd.Series") -> "pd.Series":
    """A column as float64 (each number as Python reads it), NaN for a gap, or an error that names the cell."""
    filled = cells.mask(cells.str.lower().isin(MISSING))
    try:
        return filled.astype(float)
    except ValueError:
        row = next(i for i, cell in enumerate(cells) if not _is_number(cell))
        raise ValueError(
            f"{path}: row {row + 1}, column {cells.name!r} must be a number (got {cells[row]!r})"
        ) from None


def _has_words_only(cells: "pd.Series") -> bool:
    """Whether all cells that are not empty hold a date or a word; "1,5", say, is neither."""
    filled = [cell for cell in cells if _is_filled(cell)]
    return bool(filled) and all(not _is_number(cell) and _DATE_OR_WORD.fullmatch(cell) for cell in filled)


def _is_filled(cell: str) -> bool:
    return cell.lower() not in MISSING


def _is_number(cell: str) -> bool:
    if not _is_filled(cell):
        return True
    try:
        float(cell)
    except ValueError:
        return False
    return True
