"""Real data sets and files of data. scikit-learn is imported when a set that needs it is loaded."""

import hashlib
import io
import os
import urllib.error
import urllib.request
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxonline._util import check
from jaxonline.datasets.tables import SUFFIXES, complete, n_columns, read_table

UCI = "https://archive.ics.uci.edu/static/public"


class DataSet(NamedTuple):
    """Instances and targets, in the order of the file.

    Attributes:
        name: what the set is called: as it was asked for, or its file's name.
        X: instances [n, d], float64.
        y: targets [n], float64.

    Example:
        >>> from jaxonline.datasets import DataSet
        >>> DataSet._fields
        ('name', 'X', 'y')
    """

    name: str
    X: np.ndarray
    y: np.ndarray


class Source(NamedTuple):
    """Where a set of the UCI repository comes from, and how its file is read.

    Attributes:
        words: a local file is recognised by one of these in its name or its folder's name.
        shape: rows and columns of X.
        target: column of the target.
        drop: columns that are not of the instance.
        impute: how gaps are filled unless something else is asked for.
        archive: a zip archive at UCI, or None.
        member: the file in it.
        checksum: "sha256:..." of that file, or "md5:..." of the archive.
        openml: the number of the set at OpenML, whose client verifies OpenML's checksum, or None.

    Example:
        >>> from jaxonline.datasets import SOURCES
        >>> SOURCES["Airfoil"].shape
        (1503, 5)
    """

    words: tuple[str, ...]
    shape: tuple[int, int]
    target: int = -1
    drop: tuple[int, ...] = ()
    impute: str | None = None
    archive: str | None = None
    member: str = ""
    checksum: str = ""
    openml: int | None = None


SOURCES = {
    "Airfoil": Source(
        ("airfoil",), (1503, 5), archive=f"{UCI}/291/airfoil+self+noise.zip", member="airfoil_self_noise.dat",
        checksum="sha256:74c75fd71783f1e6b71f8a622b993dc592897a97cd689c5090a07147a1b097b3",
    ),
    "Concrete": Source(
        ("concrete",), (1030, 8), openml=44959,
        # of the numbers, see `checksum`
        checksum="sha256:9fc4c3dc20438434f430d97fc5d86ebc45c7e3a68abb7b6a985bdca7a309691e",
    ),
    # as in the published experiments: mean imputation; tomorrow's minimum is the target, station, date, today's maximum
    # and tomorrow's are left out (today's by accident: an imputer drops the dates, and columns 0 and 1 go after that)
    "Bias correction": Source(
        ("bias",), (7752, 20), drop=(0, 1, 2, -2), impute="mean",
        archive=f"{UCI}/514/bias+correction+of+numerical+prediction+model+temperature+forecast.zip",
        member="Bias_correction_ucl.csv", checksum="md5:3deee56d461a2686887c4ae38fe3ccf3",
    ),
    # as in the published experiments: the first column, the lever's position, is the target
    "Naval": Source(
        ("naval", "cbm"), (11934, 17), target=0,
        archive=f"{UCI}/316/condition+based+maintenance+of+naval+propulsion+plants.zip",
        member="UCI CBM Dataset/data.txt",
        checksum="sha256:de0ea69da1efaab8b9655ffed828547d10dd68c1fb8c6e0163e6a988def393a6",
    ),
}  # fmt: skip
IMPUTATIONS = ("mean", "median")
ALIASES = {"ar4": "AR(4)", "bias": "Bias correction", "bias-correction": "Bias correction"}


def diabetes() -> tuple[np.ndarray, np.ndarray]:
    """Scikit-learn's diabetes data: ten measurements of 442 patients and the progression of the disease.

    Returns:
        X [442, 10] and y [442], float64, measurements centred.

    Example:
        >>> from jaxonline.datasets import diabetes
        >>> X, y = diabetes()
        >>> X.shape, y.shape
        ((442, 10), (442,))
    """
    from sklearn.datasets import load_diabetes

    X, y = load_diabetes(return_X_y=True)
    return np.asarray(X, float), np.asarray(y, float)


def ar4(n_rounds: int = 5000, seed: int = 41) -> DataSet:
    """The published AR(4) series: y_t = .5 y_(t-1) - .3 y_(t-2) + .2 y_(t-3) + .1 y_(t-4) + e_t after four zeros.

    Innovations are normal numbers of NumPy's legacy generator, as published. An instance holds the four previous
    values, oldest first. (Rokhlin and Gurtovaya 2025, Eq. 32, lists the lags in the reversed order.)

    Raises:
        ValueError: `n_rounds` below 1.

    Example:
        >>> from jaxonline.datasets import ar4
        >>> name, X, y = ar4()
        >>> name, X.shape, bool((X[5, 3] == y[4]) and (X[5, 0] == y[1]))
        ('AR(4)', (5000, 4), True)
    """
    n = check.count("n_rounds", n_rounds) + 4
    noise = np.random.RandomState(seed).randn(n)
    series = np.zeros(n)
    for t in range(4, n):
        series[t] = 0.5 * series[t - 1] - 0.3 * series[t - 2] + 0.2 * series[t - 3] + 0.1 * series[t - 4] + noise[t]
    return DataSet("AR(4)", np.stack([series[lag : n - 4 + lag] for lag in range(4)], axis=1), series[4:])


def load(
    name: str | Path,
    data: str | Path | Sequence[str | Path] | None = None,
    *,
    target: str | int | None = None,
    impute: str | None = None,
) -> DataSet:
    """Load a data set by name, or from a file.

    Args:
        name: "AR(4)", a set of the UCI repository (a key of `SOURCES`, in capitals or not; the result is called as it
            is spelled here), the path of a file, or the name (without ending) of a file in `data` (called as the file
            is). Files are .npz with X and y, .csv, or columns of text, with or without a header; columns of dates or
            words are left out, with a warning.
        data: folders and files in which to look, one or several, before the folder that the environment variable
            JAXONLINE_DATA names. A set of the UCI repository that is not there is fetched, verified, and kept in the
            user's cache.
        target: the column that is the target, by name or number; the last one by default. Files of columns only.
        impute: "mean" or "median" to fill gaps column by column.

    Raises:
        ValueError: there is no such set; a cell is empty (named by row and column) and no imputation is asked for; a
            file cannot be read as numbers; a checksum or shape is not the one expected.
        OSError: a set cannot be fetched.

    Example:
        >>> import pathlib, tempfile
        >>> from jaxonline.datasets import load
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder) / "tiny.csv"
        ...     _ = file.write_text("a,b,label\\n1,2,3\\n4,,6\\n")
        ...     tiny = load("tiny", folder, target="label", impute="mean")
        >>> tiny.name, tiny.X.tolist(), tiny.y.tolist()
        ('tiny', [[1.0, 2.0], [4.0, 2.0]], [3.0, 6.0])
    """
    if impute is not None:
        check.choice("impute", impute, IMPUTATIONS)
    places = _places(data)
    key = known_as(str(name))
    if key == "AR(4)":
        return ar4()._replace(name=str(name))
    if key is not None:
        return DataSet(str(name), *_known(key, places, target, impute))
    path = Path(name)
    if not path.is_file():
        matches = [file for place in places for file in _files(place) if file.stem.lower() == str(name).lower()]
        if not matches:
            where = ", ".join(map(str, places)) or "nowhere: give data or set JAXONLINE_DATA"
            raise ValueError(
                f"there is no data set {str(name)!r}: known are AR(4), {', '.join(SOURCES)}, and files "
                f"(.npz with X and y, .csv, text); looked in {where}"
            )
        path = matches[0]
    return DataSet(path.stem, *complete(read_table(path, target), impute))


def known_as(name: str) -> str | None:
    """The usual spelling of a known set: "AR(4)" or a key of `SOURCES`; None for other names.

    Example:
        >>> from jaxonline.datasets import known_as
        >>> known_as("airfoil"), known_as("Bias"), known_as("mine")
        ('Airfoil', 'Bias correction', None)
    """
    usual = {key.lower(): key for key in ("AR(4)", *SOURCES)} | ALIASES
    return usual.get(name.lower())


def _places(data: str | Path | Sequence[str | Path] | None) -> list[Path]:
    given = [data] if isinstance(data, str | Path) else list(data or ())
    places = [Path(place) for place in (*given, os.environ.get("JAXONLINE_DATA")) if place]
    for place in places:
        if not place.exists():
            raise ValueError(f"data must name folders and files that exist, got '{place}'")
    return places


def _files(place: Path) -> list[Path]:
    inside = [place] if place.is_file() else [file for depth in ("*", "*/*", "*/*/*") for file in place.glob(depth)]
    return sorted(file for file in inside if file.suffix in SUFFIXES and file.is_file())


def _known(
    name: str, places: Sequence[Path], target: str | int | None, impute: str | None
) -> tuple[np.ndarray, np.ndarray]:
    source = SOURCES[name]
    local = _local(source, places)
    if local is None and source.openml is not None:
        return _openml(name, source)
    file = local or _fetch(name, source)
    drop = ()
    if file.suffix != ".npz" and n_columns(file) == source.shape[1] + 1 + len(source.drop):  # as it comes from UCI
        drop, impute = source.drop, impute or source.impute
        target = source.target if target is None else target
    X, y = complete(read_table(file, target, drop), impute)
    if local is None and X.shape != source.shape:
        raise ValueError(f"{name} must have the shape {source.shape}, got {X.shape} from {file}")
    return X, y


def _local(source: Source, places: Sequence[Path]) -> Path | None:
    """The file that is most likely the set's: by its own name, or else by its folder's; as at UCI, or else the largest.

    (A folder as unpacked from UCI's archive also holds descriptions.)
    """

    def rank(place: Path, file: Path) -> int:
        folders = "" if place.is_file() else str(file.relative_to(place).parent)
        named = [any(word in text.lower() for word in source.words) for text in (file.stem, folders, file.parent.name)]
        original = file.name == Path(source.member).name
        return 0 if named[0] else 1 if named[1] and original else 2 if named[1] else 3 if named[2] and original else 4

    ranked = [(rank(place, file), -file.stat().st_size, file) for place in places for file in _files(place)]
    found = [entry for entry in ranked if entry[0] < 4]
    return min(found)[-1] if found else None


def _cache() -> Path:
    home = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return Path(home) / "jaxonline"


def _fetch(name: str, source: Source) -> Path:
    """The file of a set from UCI's archive, kept in the cache; verified before it is kept and whenever it is used."""
    kept = _cache() / name.lower().replace(" ", "-") / Path(source.member).name
    kind, _, wanted = source.checksum.partition(":")
    if kept.is_file() and kind == "sha256" and hashlib.sha256(kept.read_bytes()).hexdigest() == wanted:
        return kept
    if kept.is_file() and kind == "md5":
        return kept
    assert source.archive is not None
    try:
        with urllib.request.urlopen(source.archive, timeout=60) as response:
            archive = response.read()
    except (urllib.error.URLError, TimeoutError) as error:
        raise OSError(
            f"{name} is in none of the folders given and cannot be fetched from {source.archive} ({error}): "
            f"fetch it elsewhere and name its folder with data"
        ) from error
    content = zipfile.ZipFile(io.BytesIO(archive)).read(source.member)
    got = hashlib.sha256(content).hexdigest() if kind == "sha256" else hashlib.md5(archive).hexdigest()
    if got != wanted:
        raise ValueError(f"{name}: the {kind} checksum of {source.archive} is {got}, expected {wanted}")
    kept.parent.mkdir(parents=True, exist_ok=True)
    kept.write_bytes(content)
    return kept


def _openml(name: str, source: Source) -> tuple[np.ndarray, np.ndarray]:
    from sklearn.datasets import fetch_openml

    try:
        bunch: Any = fetch_openml(data_id=source.openml, as_frame=False, parser="liac-arff", data_home=str(_cache()))
    except OSError as error:
        raise OSError(
            f"{name} is in none of the folders given and cannot be fetched from OpenML, number {source.openml} "
            f"({error}): fetch it elsewhere and name its folder with data"
        ) from error
    X, y = np.asarray(bunch.data, float), np.asarray(bunch.target, float)
    got = f"sha256:{checksum(X, y)}"
    if got != source.checksum:
        raise ValueError(f"{name}: the checksum of the numbers from OpenML is {got}, expected {source.checksum}")
    return X, y


def checksum(X: np.ndarray, y: np.ndarray) -> str:
    """Sha256 of the numbers of a data set to seven digits, whatever file they came in: rows of (X, y) as float32.

    Example:
        >>> import numpy as np
        >>> from jaxonline.datasets import checksum
        >>> checksum(np.zeros((1, 1)), np.zeros(1))[:8]
        'af5570f5'
    """
    return hashlib.sha256(np.ascontiguousarray(np.column_stack([X, y]), "<f4").tobytes()).hexdigest()
