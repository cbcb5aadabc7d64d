"""Read a table of numbers from a file: .npz with X and y, .csv with or without a header, columns of text, Parquet.

A table is a pandas DataFrame of float64 with the target in its last column and NaN for empty cells.
"""

import io
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxonline.parameters.check import quote
from jaxonline.parameters.errors import ArgumentError, did_you_mean
from jaxonline.store.files import DAMAGED_ARCHIVE_ERRORS

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
    """Read a file; `target` is the name or number of a column (default: the last); the target of an .npz file is y.

    Columns of dates or words are left out with a warning. With `positive`, a target is 1 if it equals this word or
    number, else -1. Raises a ValueError that names the path, and the row and column of a bad cell.
    """
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{path}: must end in one of {', '.join(SUFFIXES)} (got {path.suffix!r})")
    if path.suffix == ".npz":
        table = _read_npz(path)
        if positive is not None:
            table["y"] = _binary_targets(path, table["y"].map(str), positive)
        return table
    return select_columns(path, _read_cells(path), target, drop, positive)


def select_columns(
    path: Path, cells: "pd.DataFrame", target: str | int | None, drop: Sequence[str | int], positive: str | None = None
) -> "pd.DataFrame":
    """Select the numeric columns and the target from cells of text; `path` is for error messages."""
    import pandas as pd

    names = list(cells.columns)
    target_index = _column_index(path, names, -1 if target is None else target)
    dropped = {_column_index(path, names, column, "drop") for column in drop}
    numbers, words = [], []
    for j in [j for j in range(len(names)) if j != target_index and j not in dropped]:
        if _has_words_only(cells.iloc[:, j]):
            words.append(repr(names[j]))
        else:
            numbers.append(_numbers(path, cells.iloc[:, j]))
    if words:
        warnings.warn(f"{path}: column {', '.join(words)} holds dates or words and is left out", stacklevel=3)
    if not numbers:
        raise ValueError(f"{path}: must have a numeric column besides the target (got none)")
    targets = cells.iloc[:, target_index]
    y = _numbers(path, targets) if positive is None else _binary_targets(path, targets, positive)
    return pd.concat([*numbers, y], axis=1)


def text_cells(frame: "pd.DataFrame") -> "pd.DataFrame":
    """Convert the cells of a frame to text; missing values become empty strings."""
    plain: Any = frame.astype(object).map(lambda cell: int(cell) if isinstance(cell, bool | np.bool_) else cell)
    texts = plain.where(frame.notna(), "").map(str).apply(lambda column: column.str.strip())
    return texts.set_axis([str(name) for name in frame.columns], axis=1).reset_index(drop=True)


def _binary_targets(path: Path, cells: Any, positive: str) -> "pd.Series":
    """Return 1 where a cell equals `positive`, as a word or as a number, else -1."""
    missing = cells.str.lower().isin(MISSING)
    if missing.any():
        raise ValueError(f"{path}: row {int(np.argmax(missing)) + 1} has no target (column {cells.name!r})")
    if _is_filled(positive) and _is_number(positive):
        same = cells.map(lambda cell: _is_number(cell) and float(cell) == float(positive))
    else:
        same = cells == positive
    if same.all() or not same.any():
        values = ", ".join(map(repr, dict.fromkeys(cells.head(1000)))) if not same.any() else ""
        share = "all targets" if same.all() else "no target"
        known = f"; there are {values[:100]}{did_you_mean(positive, list(cells.unique()))}" if values else ""
        reason = f"{share} in {path} {'have' if same.all() else 'has'} this value"
        raise ArgumentError("positive", f"must be a value of some targets (got {positive!r}); {reason}{known}")
    return same.map({True: 1.0, False: -1.0})


def n_columns(path: Path) -> int:
    """Number of columns of a text file."""
    return _read_cells(path).shape[1]


def to_arrays(path: Path, table: "pd.DataFrame", impute: str | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Convert a table to X and y; fill missing values with "mean" or "median" of the column, or raise an error."""
    values, names = table.to_numpy(float), list(table.columns)
    if np.isinf(values).any():
        raise ValueError(_describe_cells(path, names, np.isinf(values), "an infinite number", "correct it"))
    missing = np.isnan(values)
    if missing.any():
        if impute is None:
            advice = "give impute='mean' or 'median', or complete the file"
            raise ValueError(_describe_cells(path, names, missing, "no number", advice))
        empty = missing.all(axis=0)
        if empty.any():
            raise ValueError(f"{path}: column {names[int(np.argmax(empty))]!r} has no number")
        fill = {"mean": np.nanmean, "median": np.nanmedian}[impute](values, axis=0)
        values = np.where(missing, fill, values)
    return values[:, :-1], values[:, -1]


def _describe_cells(path: Path, names: Sequence[str], mask: np.ndarray, problem: str, advice: str) -> str:
    row, column = (int(i) for i in np.argwhere(mask)[0])
    return (
        f"{path}: {problem} in row {row + 1}, column {names[column]!r} ({int(mask.sum())} such cells; rows are counted "
        f"from 1, without the header); {advice}"
    )


def read_arrays(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read the arrays X and y of an .npz file."""
    with path.open("rb") as stream:
        try:
            with np.load(stream, allow_pickle=False) as file:
                names, arrays = file.files, {name: file[name] for name in ("X", "y") if name in file.files}
        except (*DAMAGED_ARCHIVE_ERRORS, TypeError, OSError) as error:  # TypeError: an .npy file
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
    """Read a file as stripped text cells; column names are those of its header or 0, 1, 2, ..."""
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
    try:  # engine="python" distinguishes an empty cell, "", from a missing cell of a short row, NaN
        cells = pd.read_csv(
            io.StringIO(text), sep=separator, engine="python",
            header=None, dtype=str, keep_default_na=False, skipinitialspace=True,
        )  # fmt: skip
    except pd.errors.ParserError as error:
        raise ValueError(f"{path}: the rows must have the same number of cells ({error})") from None
    for j in range(cells.shape[1]):
        cells[j] = cells[j].str.strip()
    names, numbered = list(cells.iloc[0]), [str(j) for j in range(cells.shape[1])]
    # The first row holds names, also if these are the numbers that pandas writes.
    has_header = not all(map(_is_number, names)) or (names == numbered and len(names) > 3)
    if has_header:
        cells = cells.drop(index=0).set_axis(names, axis=1).reset_index(drop=True)
    else:
        cells.columns = numbered
    if cells.empty:
        raise ValueError(f"{path}: must have a row of numbers (got none)")
    short = np.flatnonzero(cells.iloc[:, -1].isna())
    if len(short):
        row, n_cells = short[0], cells.iloc[short[0]].notna().sum()
        raise ValueError(f"{path}: row {row + 1} must have {cells.shape[1]} cells, as the first one (got {n_cells})")
    if has_header:
        _check_header(path, names, list(cells.iloc[0]))
    return cells


def _check_header(path: Path, names: Sequence[str], below: Sequence[str]) -> None:
    """Check that a header row is not a row of data: none of its names is a number or a date.

    Names 0, 1, 2, ... that pandas wrote are allowed if there are more than three, or if another name is a word above a
    number.
    """
    numeric = [name for name in names if _is_filled(name) and (_is_number(name) or _DATE.fullmatch(name))]
    pairs = zip(names, below, strict=True)
    word_above_number = any(name not in numeric and _is_filled(cell) and _is_number(cell) for name, cell in pairs)
    numbered = numeric == [str(j) for j in range(len(numeric))] and (word_above_number or len(numeric) > 3)
    if numeric and not numbered:
        raise ValueError(
            f"{path}: the first row must hold numbers or column names (got {quote(names)}); if it is data, add a row "
            f"of names above it; if it holds names, change {numeric[0]!r}"
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


def _column_index(path: Path, names: Sequence[str], column: str | int, argument: str = "target") -> int:
    if isinstance(column, str) and column in names:
        return list(names).index(column)
    try:
        index = int(column)
    except ValueError:
        known = f"its columns are {', '.join(names)}{did_you_mean(column, names)}"
        raise ValueError(f"{argument}: {path} has no column {column!r}; {known}") from None
    if not -len(names) <= index < len(names):
        raise ValueError(f"{argument}: {path} has no column {index}; it has {len(names)} columns, counted from 0")
    return index % len(names)


def _numbers(path: Path, cells: "pd.Series") -> "pd.Series":
    """Convert a column to float64 (as Python reads each number), NaN for a missing value; errors name the cell."""
    filled = cells.mask(cells.str.lower().isin(MISSING))
    try:
        return filled.astype(float)
    except ValueError:
        row = next(i for i, cell in enumerate(cells) if not _is_number(cell))
        raise ValueError(
            f"{path}: row {row + 1}, column {cells.name!r} must be a number (got {cells[row]!r})"
        ) from None


def _has_words_only(cells: "pd.Series") -> bool:
    """Whether all cells that are not empty hold a date or a word; "1,5", for example, is neither."""
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
