"""Read a table of numbers from a file: .npz with X and y, .csv with or without a header, columns of text, Parquet.

A table is a pandas DataFrame of float64 with the target in its last column and NaN for empty cells.
"""

import io
import re
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from jaxonline.datasets.catalogue import SUFFIXES as SUFFIXES
from jaxonline.parameters.check import quote
from jaxonline.parameters.errors import ArgumentError, did_you_mean
from jaxonline.store.archives import MAX_COMPRESSION, MIN_UNPACKED_BYTES, read_archive
from jaxonline.store.files import DamagedStoreError

MISSING = ("", "?", "na", "nan", "null", "none")
_DATE = re.compile(r"\d+([-/.:])\d+\1\d+.*")
_DATE_OR_WORD = re.compile(rf"{_DATE.pattern}|.*[^\W\d_].*", re.DOTALL)
_NO_NAME = re.compile(r"(Unnamed: \d+)?")  # as pandas names a column without a name
_QUOTED_CELL = re.compile(r'(?<![^,;\t \n])"(?:[^"]|"")*"')  # may have separators and line breaks
MAX_CATEGORIES = 100  # of a column
_HEADER_SIGNS = 1_000_000  # of a text, among which the separator is looked for


def read_table(path: Path, target: str | int | None = None, **options: Any) -> pd.DataFrame:
    """Read a file; `options` are the other arguments of `select_columns`; the target of an .npz file is y."""
    cells, is_arrays = read_cells(path), path.suffix == ".npz"
    if is_arrays and not any(options.values()):
        return cells
    return select_columns(path, cells, "y" if is_arrays else target, **options)


def read_cells(path: Path, content: bytes | None = None) -> pd.DataFrame:
    """Read a file as columns of numbers (.npz), or of stripped text with the names of the header or 0, 1, 2, ...

    Args:
        path: the path, for its ending and for messages.
        content: the content of a text file; if it is given, no file is opened.
    """
    if path.suffix not in SUFFIXES:
        raise ValueError(f"{path}: must end in one of {', '.join(SUFFIXES)} (got {path.suffix!r})")
    if path.suffix == ".npz":
        X, y = read_arrays(path)
        return pd.DataFrame(np.column_stack([X, y]).astype(float), columns=[*map(str, range(X.shape[1])), "y"])
    try:
        if path.suffix == ".parquet":
            _check_parquet_size(path)
            cells = text_cells(pd.read_parquet(path))
        else:
            cells = _read_text((path.read_bytes() if content is None else content).decode("utf-8-sig"))
    except ImportError as error:
        raise ValueError(f"{path}: {error}; pip install 'jaxonline[parquet]'") from None
    except ValueError as error:  # of pandas, or of bytes that are not UTF-8
        raise ValueError(f"{path}: {error}") from None
    if cells.empty:
        raise ValueError(f"{path}: must have a row of numbers (got none)")
    return _check_names(path, cells)


def _check_names(path: Path, table: pd.DataFrame) -> pd.DataFrame:
    for name in table.columns[table.columns.duplicated()]:
        raise ValueError(f"{path}: must have another name for each column (got {name!r} more than once)")
    return table


def _check_parquet_size(path: Path) -> None:
    from pyarrow import parquet

    metadata, most = parquet.read_metadata(path), max(path.stat().st_size * MAX_COMPRESSION, MIN_UNPACKED_BYTES)
    n_bytes = 8 * metadata.num_rows * metadata.num_columns
    if n_bytes > most:
        raise ValueError(f"must unpack to at most {most:,} bytes (got {n_bytes:,}); write it as .npz or .csv")


def read_arrays(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Read the arrays X [n, d] and y [n] of an .npz file, real numbers of any dtype.

    Raises:
        ValueError: the file is damaged, or does not hold these arrays.
    """
    try:
        with path.open("rb") as file:
            arrays = read_archive(file, compressed=True)
    except DamagedStoreError as error:
        raise ValueError(f"{path}: must be an .npz file that is not damaged; it {error}") from None
    X, y = (np.asarray(arrays.get(name)) for name in ("X", "y"))
    y = y.reshape(-1) if y.ndim == 2 and y.shape[1] == 1 else y
    is_real = all(array.dtype.kind in "fiu" for array in (X, y))
    if not is_real or X.ndim != 2 or X.size == 0 or y.shape != X.shape[:1]:
        names = ", ".join(f"{name}: {array.dtype}{list(array.shape)}" for name, array in arrays.items())
        raise ValueError(f"{path}: must hold real numbers X [n, d] and y [n] with n, d >= 1 (got {names or 'nothing'})")
    return X, y


def text_cells(frame: pd.DataFrame) -> pd.DataFrame:
    """Convert the cells of a frame to text; missing values become empty strings."""
    cells = frame.astype(object).to_numpy().copy()
    cells[frame.isna().to_numpy()] = ""
    texts = [str(int(cell) if isinstance(cell, bool | np.bool_) else cell) for cell in cells.ravel()]
    return _stripped(texts, [str(name).strip() for name in frame.columns])


def _stripped(texts: Sequence[str], names: list[str]) -> pd.DataFrame:
    """Return the cells of all rows, one after the other, as a table."""
    cells = np.empty(len(texts), object)
    cells[:] = [text.strip() for text in texts]
    return pd.DataFrame(cells.reshape(-1, len(names)), columns=names)


def _read_text(text: str) -> pd.DataFrame:
    first = next(filter(None, map(str.strip, _QUOTED_CELL.sub("", text[:_HEADER_SIGNS]).splitlines())), "")
    separator = max((",", ";", "\t"), key=first.count) if re.search("[,;\t]", first) else r"\s+"
    # engine="python" distinguishes an empty cell, "", from a missing cell of a short row, NaN
    cells = pd.read_csv(
        io.StringIO(text), sep=separator, engine="python",
        header=None, dtype=str, keep_default_na=False, skipinitialspace=True,
    ).to_numpy(object)  # fmt: skip
    names = [name.strip() for name in cells[0]]
    numbered = names[1:] if names[0] == "" else names  # as pandas writes a header, with or without an index
    has_header = _has_words(names) or (numbered == [str(j) for j in range(len(numbered))] and len(numbered) > 3)
    rows = cells[int(has_header) :]
    for row in np.flatnonzero(pd.isna(rows[:, -1])):
        n_cells = (~pd.isna(rows[row])).sum()
        raise ValueError(f"row {row + 1} must have {len(names)} cells, as the first one (got {n_cells})")
    return _stripped(rows.ravel().tolist(), names if has_header else list(map(str, range(len(names)))))


def _has_words(names: list[str]) -> bool:
    """Whether the first row has column names.

    Raises:
        ValueError: it has words beside numbers or dates, as a row of data.
    """
    filled = [name for name in names if name.lower() not in MISSING]
    is_number = _parse(pd.Series(filled, dtype=object)).notna()
    numbers = {name for name, good in zip(filled, is_number, strict=True) if good}
    odd = [name for name in filled if name in numbers or _DATE.fullmatch(name)]
    if odd and not is_number.all():
        raise ValueError(
            f"the first row must hold numbers or column names (got {quote(names)}); if it is data, add a row of names "
            f"above it; if it holds names, change {odd[0]!r}"
        )
    return not is_number.all()


def select_columns(
    path: Path,
    cells: pd.DataFrame,
    target: str | int | None,
    drop: Sequence[str | int] = (),
    one_hot: Sequence[str | int] | str = (),
    positive: str | None = None,
) -> pd.DataFrame:
    """Select the features and the target from columns of numbers or text; `path` is for error messages.

    Args:
        path: the path of the file.
        cells: the columns.
        target: name or number of the target column (default: the last).
        drop: names or numbers of columns to leave out.
        one_hot: names or indices of the categorical columns, or "auto" for all columns that contain text.
        positive: a target is 1 if it equals this word or number, else -1.

    Raises:
        ValueError: a column is unknown or has words or dates; a cell is no number. It names the row and column.
    """
    names = list(cells.columns)
    target_index = _column_index(path, names, -1 if target is None else target, "target")
    if target is None and _NO_NAME.fullmatch(names[target_index]):
        raise ArgumentError("target", f"must be given, since the last column of {path} has no name (got None)")
    flat = pd.Series(cells.to_numpy(object).ravel()).map(str)
    gaps = flat.str.lower().isin(MISSING)
    texts, missing, bad = (part.to_numpy().reshape(cells.shape) for part in (flat, gaps, _parse(flat).isna() & ~gaps))
    dropped = {_column_index(path, names, column, "drop") for column in drop}
    coded = {_column_index(path, names, column, "one_hot") for column in one_hot if one_hot != "auto"}
    for argument, columns in (("drop", dropped & {target_index}), ("one_hot", coded & (dropped | {target_index}))):
        for j in columns:
            raise ArgumentError(argument, f"must not name the target or a dropped column (got {names[j]!r})")
    left = [j for j in range(len(names)) if j not in dropped | coded | {target_index}]
    no_name = [j for j in left if _NO_NAME.fullmatch(names[j])]
    if no_name:
        problem = "(from 0) has no name, as an index, and is left out"
        warnings.warn(f"{path}: column {str(no_name)[1:-1]} {problem}", stacklevel=3)
    filled = {j: texts[~missing[:, j], j] for j in left if j not in no_name and (bad | missing)[:, j].all()}
    words = [j for j, column in filled.items() if len(column) and all(map(_DATE_OR_WORD.fullmatch, column))]
    if one_hot == "auto":
        coded = {j for j in words if not all(map(_DATE.fullmatch, filled[j]))}
    words = [names[j] for j in words if j not in coded]
    if words:
        values = ", ".join(map(repr, list(dict.fromkeys(filled[names.index(words[0])]))[:3]))
        also = f"; so do {quote(words[1:])}" if words[1:] else ""
        cure = "list it in drop, or in one_hot for a column of zeros and ones for each value"
        raise ValueError(f"{path}: column {words[0]!r} holds words or dates, such as {values}{also}; {cure}")
    numeric = [j for j in left if j not in no_name and j not in coded]
    if not numeric and not coded:
        raise ValueError(f"{path}: must have a numeric column besides the target (got none)")
    numeric += [target_index] if positive is None else []
    for column, row in np.argwhere(bad[:, numeric].T):
        j = numeric[column]
        cure = "for classes, give positive" if j == target_index else "correct it, or use drop or one_hot"
        where = f"{path}: row {row + 1}, column {names[j]!r}"
        raise ValueError(f"{where} must be a number (got {texts[row, j]!r}); {cure}")
    numbers = np.where(missing, "nan", texts)[:, numeric].astype(float)  # as Python reads each number
    table = pd.DataFrame(numbers, columns=[names[j] for j in numeric])
    columns = [_one_hot(path, names[j], pd.Series(texts[:, j]).mask(missing[:, j])) for j in sorted(coded)]
    if positive is None:
        table = pd.concat([table.iloc[:, :-1], *columns, table.iloc[:, -1]], axis=1) if columns else table
    else:
        targets = pd.Series(texts[:, target_index], name=names[target_index])
        table = pd.concat([table, *columns, _binary_targets(path, targets, positive)], axis=1)
    return _check_names(path, table)


def _one_hot(path: Path, name: str, cells: pd.Series) -> pd.DataFrame:
    """Return a column of zeros and ones for each category, in sorted order; NaN where the category is missing."""
    numbers = _parse(cells)
    is_number = bool((numbers.notna() | cells.isna()).all())  # 1 and 1.0 are the same category
    table = pd.get_dummies(numbers if is_number else cells, dtype=float)
    if table.shape[1] > MAX_CATEGORIES:
        problem = f"column {name!r} must have at most {MAX_CATEGORIES} categories (got {table.shape[1]})"
        raise ArgumentError("one_hot", f"{problem} in {path}; list it in drop, or merge categories")
    table.columns = [f"{name}={value:.15g}" if is_number else f"{name}={value}" for value in table.columns]
    return table.mask(cells.isna())


def _column_index(path: Path, names: list[str], column: str | int, argument: str) -> int:
    try:
        return names.index(column) if column in names else range(len(names))[int(column)]  # type: ignore[arg-type]
    except (ValueError, IndexError):
        known = f"its {len(names)} columns are {', '.join(names)}{did_you_mean(column, names)}"
        name = column if str(column).lstrip("-").isdigit() else repr(column)
        raise ArgumentError(argument, f"{path} has no column {name}; {known}") from None


def _parse(cells: Any) -> Any:
    return pd.to_numeric(cells, errors="coerce")


def _binary_targets(path: Path, cells: pd.Series, positive: str) -> pd.Series:
    """Return 1 where a cell equals `positive`, as a word or as a number, else -1."""
    for row in np.flatnonzero(cells.str.lower().isin(MISSING)):
        raise ValueError(f"{path}: row {row + 1} has no target (column {cells.name!r})")
    same = (cells == positive) | (_parse(cells) == _parse(positive))
    if same.all() or not same.any():
        values = list(dict.fromkeys(cells))
        known = f"{path} has the values {', '.join(map(repr, values))[:100]}{did_you_mean(positive, values)}"
        raise ArgumentError("positive", f"must be a value of some targets (got {positive!r}); {known}")
    return same.map({True: 1.0, False: -1.0})


def to_arrays(
    path: Path, table: pd.DataFrame, impute: str | None = None
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Convert a table to X, y and the names of the columns of X.

    Missing values are filled with "mean" or "median" of the column, or raise a ValueError.
    """
    values, names = table.to_numpy(float), tuple(map(str, table.columns))
    if impute is not None:
        with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # of an empty column
            fill = {"mean": np.nanmean, "median": np.nanmedian}[impute](values, axis=0)
        values = np.where(np.isnan(values), fill, values)
    for row, column in np.argwhere(~np.isfinite(values)):
        raise ValueError(
            f"{path}: row {row + 1}, column {names[column]!r} must be finite (got {values[row, column]}; the "
            "header does not count as a row); give impute='mean' or 'median' to fill empty cells, or correct the file"
        )
    return values[:, :-1], values[:, -1], names[:-1]
