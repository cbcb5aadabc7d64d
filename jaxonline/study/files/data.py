"""Data sets as environments of study files: the user's file, or a known data set."""

from pathlib import Path
from typing import Annotated, Literal

import numpy as np

from jaxonline import datasets
from jaxonline.datasets.catalogue import SOURCES
from jaxonline.datasets.tables import read_table, to_arrays
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
    target: str | int | None = None,
    drop: list[str] = [],  # noqa: B006
    impute: Literal["mean", "median"] | None = None,
    positive: str | int | float | None = None,
    order: Literal["file", "shuffled", "iid"] = "shuffled",
    centre: bool = False,
    scale: bool = False,
) -> DataStream:
    """Data with one row per round, pass after pass: your own file, or a known data set.

    Args:
        folder: folder of the study file.
        file: path of a .csv or .parquet file, an .npz file with X and y, or a text file with columns; relative to the
            folder of the study file.
        set: name of a known data set instead of a file: diabetes, AR(4), Airfoil, Concrete, Bias correction, Naval.
        target: name or number of the predicted column; by default the last column.
        drop: names of columns to leave out. Columns of words or dates are always left out.
        impute: how to fill the missing values of each column; by default, missing values are an error.
        positive: for classification, the target value that becomes the label +1; all other target values become -1.
        order: order of the rows: "shuffled" (anew for each pass and run), "iid" (drawn with replacement) or "file".
        centre: whether to subtract the mean of each column.
        scale: whether to divide each column by its standard deviation, and then all columns by the length of the
            longest row. Without `positive`, the mean of the targets is also subtracted, and the targets are divided by
            their largest absolute value.

    Raises:
        ValueError: not exactly one of file and set is given; target, drop, impute or positive is given with a set; the
            set is unknown; the data cannot be read.
        OSError: the set cannot be downloaded.
    """
    if (file is None) == (set is None):
        raise ArgumentError("file", f"must be given, or else set (got {'none' if file is None else 'both'})")
    if set is not None:
        options = {"target": target, "drop": drop or None, "impute": impute, "positive": positive}
        for name, value in options.items():
            if value is not None:
                raise ArgumentError(name, f"must be left out beside set (got {check.quote(value)})")
        names = ("diabetes", "AR(4)", *SOURCES)
        if set.lower() != "diabetes" and datasets.canonical_name(set) is None:
            raise ArgumentError("set", f"must be one of {', '.join(names)} (got {set!r}){did_you_mean(set, names)}")
        X, y = datasets.load(set)[1:]
    else:
        path = folder / str(file)
        if not path.is_file():
            raise ArgumentError("file", f"must be an existing file (got {file!r}); there is no file {str(path)!r}")
        label = None if positive is None else str(positive)
        X, y = to_arrays(path, read_table(path, target, drop, label), impute)
    if centre:
        X = X - X.mean(axis=0)
    if scale:
        X, y = scaled_data(X, y, targets=positive is None)
    return DataStream(X, y, order)


def scaled_data(X: np.ndarray, y: np.ndarray, targets: bool) -> tuple[np.ndarray, np.ndarray]:
    """Scale columns to unit variance, then rows to length at most 1; if `targets`, scale y to mean 0 in [-1, 1]."""
    deviations = X.std(axis=0)
    X = X / np.where(deviations > 0, deviations, 1.0)
    X = X / (np.linalg.norm(X, axis=1).max() or 1.0)
    if targets:
        y = y - y.mean()
        y = y / (np.abs(y).max() or 1.0)
    return X, y
