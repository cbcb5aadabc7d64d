"""Data of the user's own as an environment: a file, a known set, or a set of OpenML."""

from pathlib import Path

import numpy as np

from jaxonline import datasets
from jaxonline._util import check
from jaxonline.datasets.fetch import fetch_by_name
from jaxonline.datasets.loading import IMPUTATIONS
from jaxonline.datasets.tables import cells_of, chosen_columns, complete, read_table
from jaxonline.environments import DataStream


def data_stream(
    folder: Path,
    file: str | None = None,
    set: str | None = None,
    openml: str | None = None,
    version: int | None = None,
    target: str | int | None = None,
    drop: list[str] = [],  # noqa: B006
    impute: str | None = None,
    positive: str | int | float | None = None,
    order: str = "shuffled",
    centre: bool = False,
    scale: bool = False,
) -> DataStream:
    """The rows of your own data, one a round, pass after pass: from a file, a known set, or any set of OpenML.

    Args:
        file: .csv, .parquet, .npz with X and y, or columns of text; relative to the folder of the study file.
        set: a known set instead: diabetes, AR(4), Airfoil, Concrete, Bias correction, Naval.
        openml: a set of OpenML instead, by its name; it is fetched once and kept.
        version: of the set of OpenML; the active one by default.
        target: the column that is predicted, by name or number; the last one, or OpenML's own, by default.
        drop: columns that are left out, by name. Columns of words and dates are left out anyhow.
        impute: "mean" or "median" to fill gaps column by column; by default a gap is an error.
        positive: for classification: the target that is +1; all others are -1.
        order: "shuffled" (anew for each pass and run), "iid" (drawn with replacement) or "file".
        centre: subtract from each column its mean.
        scale: divide each column by its standard deviation, and then all by the length of the longest row; without
            `positive`, subtract from the targets their mean, and divide them by the largest.

    Raises:
        ValueError: none of file, set and openml, or several; what cannot be read.
        OSError: a file that is not there, a set that cannot be fetched.
    """
    given = {name: each for name, each in (("file", file), ("set", set), ("openml", openml)) if each is not None}
    if len(given) != 1:
        raise ValueError(f"one of file, set and openml must be given, got {' and '.join(given) or 'none'}")
    if impute is not None:
        check.choice("impute", impute, IMPUTATIONS)
    label = None if positive is None else str(positive)
    if file is not None:
        path = folder / file
        if not path.is_file():
            raise FileNotFoundError(f"file: there is no file {str(path)!r}")
        X, y = complete(path, read_table(path, target, drop, label), impute)
    elif openml is not None:
        frame, own = fetch_by_name(openml, version)
        path = Path(openml)
        table = chosen_columns(path, cells_of(frame), own if target is None else target, drop, label)
        X, y = complete(path, table, impute)
    else:
        X, y = datasets.diabetes() if str(set).lower() == "diabetes" else datasets.load(str(set), folder)[1:]
        if label is not None:
            y = np.where(y == float(label), 1.0, -1.0)
    if centre:
        X = X - X.mean(axis=0)
    if scale:
        X, y = scaled_data(X, y, targets=positive is None)
    return DataStream(X, y, order)


def scaled_data(X: np.ndarray, y: np.ndarray, targets: bool) -> tuple[np.ndarray, np.ndarray]:
    """Columns of unit variance (constant ones as they are), rows of length 1 at most; targets of mean 0 in [-1, 1]."""
    deviations = X.std(axis=0)
    X = X / np.where(deviations > 0, deviations, 1.0)
    X = X / (np.linalg.norm(X, axis=1).max() or 1.0)
    if targets:
        y = y - y.mean()
        y = y / (np.abs(y).max() or 1.0)
    return X, y
