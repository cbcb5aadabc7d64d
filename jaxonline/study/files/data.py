"""Data sets as environments of study files: the user's file, a known data set, or a data set of OpenML."""

from pathlib import Path
from typing import Annotated, Literal

import numpy as np

from jaxonline import datasets
from jaxonline.datasets.catalogue import SOURCES
from jaxonline.datasets.fetch import Archive, fetch_by_name
from jaxonline.datasets.tables import SUFFIXES, read_table, select_columns, text_cells, to_arrays
from jaxonline.environments import DataStream
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, did_you_mean
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.types import PythonOnly


@validate_arguments
def data_stream(
    folder: Annotated[Path, PythonOnly()],
    file: str | None = None,
    set: str | None = None,
    openml: str | None = None,
    version: int | None = None,
    target: str | int | None = None,
    drop: list[str] = [],  # noqa: B006
    impute: Literal["mean", "median"] | None = None,
    positive: str | int | float | None = None,
    order: Literal["file", "shuffled", "iid"] = "shuffled",
    centre: bool = False,
    scale: bool = False,
) -> DataStream:
    """Data with one row per round, pass after pass: your own file, a known data set, or an OpenML data set.

    Args:
        folder: folder of the study file.
        file: path of a .csv or .parquet file, an .npz file with X and y, or a text file with columns; relative to the
            folder of the study file.
        set: name of a known data set instead of a file: diabetes, AR(4), Airfoil, Concrete, Bias correction, Naval.
        openml: name of an OpenML data set instead of a file; it is downloaded once.
        version: version of the OpenML data set; by default the active version.
        target: name or number of the predicted column; by default the last column, or the target that OpenML names.
        drop: names of columns to leave out. Columns of words or dates are always left out.
        impute: how to fill the missing values of each column; by default, missing values are an error.
        positive: for classification, the target value that becomes the label +1; all other target values become -1.
        order: order of the rows: "shuffled" (anew for each pass and run), "iid" (drawn with replacement) or "file".
        centre: whether to subtract the mean of each column.
        scale: whether to divide each column by its standard deviation, and then all columns by the length of the
            longest row. Without `positive`, the mean of the targets is also subtracted, and the targets are divided by
            their largest absolute value.

    Raises:
        ValueError: not exactly one of file, set and openml is given; a key does not belong to the given one; the set is
            unknown; the data cannot be read.
        OSError: the file does not exist, or the set cannot be downloaded.
    """
    given = {name: source for name, source in (("file", file), ("set", set), ("openml", openml)) if source is not None}
    if len(given) != 1:
        raise ValueError(
            f"file: exactly one of file, set and openml must be given (got {' and '.join(given) or 'none'})"
        )
    column_options = {"target": target, "drop": drop or None, "impute": impute} if set is not None else {}
    for name, option in (column_options | ({"version": version} if openml is None else {})).items():
        if option is not None:
            raise ArgumentError(name, f"must be left out beside {next(iter(given))} (got {check.quote(option)})")
    label = None if positive is None else str(positive)
    if file is not None:
        path = folder / file
        if not path.is_file():
            raise ArgumentError("file", f"must be an existing file (got {file!r}); there is no file {str(path)!r}")
        X, y = to_arrays(path, read_table(path, target, drop, label), impute)
    elif openml is not None:
        frame, own_target = fetch_by_name(openml, version)
        path = Path(openml)
        table = select_columns(path, text_cells(frame), own_target if target is None else target, drop, label)
        X, y = to_arrays(path, table, impute)
    else:
        X, y = _known_set(str(set), folder)
        if label is not None:
            y = _classes(str(set), y, label)
    if centre:
        X = X - X.mean(axis=0)
    if scale:
        X, y = scaled_data(X, y, targets=positive is None)
    return DataStream(X, y, order)


def _known_set(name: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Return X and y of a known set; a file in the folder with the set's (published) name has priority."""
    if name.lower() == "diabetes":
        return datasets.diabetes()
    key = datasets.canonical_name(name)
    if key is None:
        sets = ("diabetes", "AR(4)", *SOURCES)
        raise ArgumentError("set", f"must be one of {', '.join(sets)} (got {name!r}){did_you_mean(name, sets)}")
    origin = SOURCES[key].origin if key in SOURCES else None
    published = Path(origin.member).name if isinstance(origin, Archive) else ""
    files = (file for file in sorted(folder.iterdir()) if file.suffix in SUFFIXES and file.is_file())
    matches = [file for file in files if datasets.canonical_name(file.stem) == key or file.name == published]
    return datasets.load(name, matches)[1:]


def _classes(name: str, y: np.ndarray, positive: str) -> np.ndarray:
    import pandas as pd

    cells = text_cells(pd.DataFrame({"row": np.arange(len(y)), "target": y}))
    return to_arrays(Path(name), select_columns(Path(name), cells, None, (), positive))[1]


def scaled_data(X: np.ndarray, y: np.ndarray, targets: bool) -> tuple[np.ndarray, np.ndarray]:
    """Scale columns to unit variance, then rows to length at most 1; if `targets`, scale y to mean 0 in [-1, 1]."""
    deviations = X.std(axis=0)
    X = X / np.where(deviations > 0, deviations, 1.0)
    X = X / (np.linalg.norm(X, axis=1).max() or 1.0)
    if targets:
        y = y - y.mean()
        y = y / (np.abs(y).max() or 1.0)
    return X, y
