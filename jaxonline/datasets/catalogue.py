"""The catalogue of named data sets. scikit-learn is imported only for the sets that need it."""

from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

from jaxonline.datasets.fetch import Archive, OpenML
from jaxonline.parameters import check

SUFFIXES = (".npz", ".csv", ".dat", ".txt", ".data", ".parquet")  # of files that can be read
UCI = "https://archive.ics.uci.edu/static/public"


class DataSet(NamedTuple):
    """A data set: its instances and targets in the order of the file.

    Attributes:
        name: the requested name, or the name of the file.
        X: instances [n, d], float64.
        y: targets [n], float64.
        names: the d names of the columns of X.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    names: tuple[str, ...] = ()


class Source(NamedTuple):
    """Origin and file format of a set of the UCI repository."""

    words: tuple[str, ...]  # a local file matches if its name or its folder's name contains one of them
    shape: tuple[int, int]  # of X
    origin: Archive | OpenML
    target: int = -1  # column
    drop: tuple[int, ...] = ()  # columns that are not features
    impute: str | None = None  # default imputation of missing values


SOURCES = {
    "Airfoil": Source(("airfoil",), (1503, 5), Archive(
        f"{UCI}/291/airfoil+self+noise.zip", "airfoil_self_noise.dat",
        member_hash="74c75fd71783f1e6b71f8a622b993dc592897a97cd689c5090a07147a1b097b3",
    )),
    "Concrete": Source(("concrete",), (1030, 8), OpenML(
        44959, "9fc4c3dc20438434f430d97fc5d86ebc45c7e3a68abb7b6a985bdca7a309691e"
    )),
    # As in the published experiments: mean imputation; the target is tomorrow's minimum; station, date, today's maximum
    # and tomorrow's maximum are dropped (today's by accident: the imputer drops the dates, then columns 0 and 1 go).
    "Bias correction": Source(("bias",), (7752, 20), Archive(
        f"{UCI}/514/bias+correction+of+numerical+prediction+model+temperature+forecast.zip",
        "Bias_correction_ucl.csv", archive_hash="md5:3deee56d461a2686887c4ae38fe3ccf3",
    ), drop=(0, 1, 2, -2), impute="mean"),
    # As in the published experiments: the target is the first column, the lever's position.
    "Naval": Source(("naval", "cbm"), (11934, 17), Archive(
        f"{UCI}/316/condition+based+maintenance+of+naval+propulsion+plants.zip", "UCI CBM Dataset/data.txt",
        member_hash="de0ea69da1efaab8b9655ffed828547d10dd68c1fb8c6e0163e6a988def393a6",
    ), target=0),
}  # fmt: skip
DIABETES = ("age", "sex", "bmi", "bp", *(f"s{j}" for j in range(1, 7)))  # as in scikit-learn
ALIASES = {"ar4": "AR(4)", "bias": "Bias correction", "bias-correction": "Bias correction"}


def canonical_name(name: str) -> str | None:
    """Return the canonical spelling of a known set, "AR(4)" or a key of `SOURCES`, and None for other names.

    Example:
        >>> from jaxonline.datasets import canonical_name
        >>> canonical_name("airfoil"), canonical_name("Bias"), canonical_name("mine")
        ('Airfoil', 'Bias correction', None)
    """
    check.instance("name", name, str, "the name of a set")
    spellings = {key.lower(): key for key in ("AR(4)", *SOURCES)} | ALIASES
    return spellings.get(name.lower())


def diabetes() -> tuple[np.ndarray, np.ndarray]:
    """Load scikit-learn's diabetes data: X [442, 10], centred and of length 1 per column, and y [442], both float64.

    Example:
        >>> from jaxonline.datasets import diabetes
        >>> X, y = diabetes()
        >>> X.shape, y.shape
        ((442, 10), (442,))
    """
    folder = Path(*find_spec("sklearn").submodule_search_locations) / "datasets" / "data"  # type: ignore[union-attr]
    # read the two small files directly: importing scikit-learn would also import pandas
    X, y = (np.loadtxt(folder / f"diabetes_{part}.csv.gz") for part in ("data_raw", "target"))
    return (X - X.mean(axis=0)) / X.std(axis=0) / np.sqrt(len(X)), y


def ar4(n_rounds: int = 5000, seed: int = 41) -> DataSet:
    """The published AR(4) series y_t = .5 y_(t-1) - .3 y_(t-2) + .2 y_(t-3) + .1 y_(t-4) + e_t after four zeros.

    The innovations are normal numbers of NumPy's legacy generator, as published. An instance holds the four previous
    values, oldest first. (Rokhlin and Gurtovaya 2025, Eq. 32, lists the lags in the reversed order: erratum E51.)

    Raises:
        ValueError: `n_rounds` below 1.

    Example:
        >>> from jaxonline.datasets import ar4
        >>> name, X, y, names = ar4()
        >>> name, X.shape, bool((X[5, 3] == y[4]) and (X[5, 0] == y[1]))
        ('AR(4)', (5000, 4), True)
        >>> names
        ('lag 4', 'lag 3', 'lag 2', 'lag 1')
    """
    n = check.count("n_rounds", n_rounds) + 4
    noise = np.random.RandomState(check.count("seed", seed, ge=0)).randn(n)
    series = np.zeros(n)
    for t in range(4, n):
        series[t] = 0.5 * series[t - 1] - 0.3 * series[t - 2] + 0.2 * series[t - 3] + 0.1 * series[t - 4] + noise[t]
    X = np.stack([series[lag : n - 4 + lag] for lag in range(4)], axis=1)
    return DataSet("AR(4)", X, series[4:], tuple(f"lag {lag}" for lag in (4, 3, 2, 1)))
