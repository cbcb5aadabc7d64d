"""Load a data set by name or from a file: from given folders, the user's cache or the network."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from jaxonline.datasets.catalogue import DIABETES, SOURCES, SUFFIXES, DataSet, Source, ar4, canonical_name, diabetes
from jaxonline.datasets.fetch import Archive, OpenML, fetch_file, fetch_openml
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, did_you_mean
from jaxonline.parameters.signatures import validate_arguments


@validate_arguments
def load(
    name: str | Path,
    data: str | Path | Sequence[str | Path] | None = None,
    *,
    target: str | int | None = None,
    drop: Sequence[str] | Sequence[str | int] = (),
    one_hot: Sequence[str] | Sequence[str | int] | Literal["auto"] = (),
    impute: Literal["mean", "median"] | None = None,
    positive: str | float | None = None,
    centre: bool = False,
    scale: bool = False,
) -> DataSet:
    """Load a data set by name or from a file.

    Args:
        name: "diabetes" (`datasets.diabetes`), "AR(4)", a set of the UCI repository (Airfoil, Concrete, Bias correction
            or Naval, in any case), the path of a file, or the name without ending of a file in `data`. Files are .npz
            with X and y, .csv, .parquet, or columns of text, with or without a header. Columns without a name (an
            index) are left out with a warning.
        data: folders and files to search before the folder of the environment variable JAXONLINE_DATA. A set of the UCI
            repository that is in none of them is fetched, verified and cached. A local file of such a set may have
            fewer rows.
        target: name or number of the target column, for files of columns; the last one by default.
        drop: names or numbers of columns to leave out. Known sets have no `drop`, `one_hot` and `positive`.
        one_hot: names or indices of the categorical columns, or "auto" for all columns that contain text. Each of the
            at most 100 categories of a column becomes a column of zeros and ones, such as "city=Paris", at the end.
        impute: fill missing values with this statistic of their column, and a missing category with the statistic of
            each of its columns.
        positive: for classification, the target that becomes the label +1; all other targets become -1.
        centre: whether to subtract the mean of each column of X.
        scale: whether to divide each column by its standard deviation, and then all columns by the length of the
            longest row. Without `positive`, the mean of the targets is also subtracted, and the targets are divided by
            their largest absolute value.

    Raises:
        ValueError: the name is unknown; a column of words or dates is in neither `drop` nor `one_hot`; a column has
            more than 100 categories; a cell is empty (named by row and column) without `impute`; a file cannot be read
            as numbers; a checksum or shape is wrong.
        OSError: a set cannot be fetched.
        ModuleNotFoundError: a set must be fetched, and pooch is not installed (`pip install 'jaxonline[data]'`).

    Example:
        >>> import pathlib, tempfile
        >>> from jaxonline.datasets import load
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder) / "tiny.csv"
        ...     _ = file.write_text("id,size,city,price\\n1,20,Rome,3\\n2,,Paris,6\\n")
        ...     tiny = load("tiny", folder, target="price", drop=["id"], one_hot=["city"], impute="mean")
        >>> tiny.names
        ('size', 'city=Paris', 'city=Rome')
        >>> tiny.X.tolist(), tiny.y.tolist()
        ([[20.0, 0.0, 1.0], [20.0, 1.0, 0.0]], [3.0, 6.0])
    """
    known = canonical_name(str(check.path("name", name)))
    if target is not None:
        check.instance("target", target, _is_column(target), "the name or the number of a column")
    for argument, columns in {"drop": drop, "one_hot": one_hot}.items():
        is_list = isinstance(columns, Sequence) and not isinstance(columns, str) and all(map(_is_column, columns))
        is_auto = argument == "one_hot" and isinstance(columns, str) and columns == "auto"
        check.instance(argument, columns, is_list or is_auto, "a list of names or numbers of columns")
    if positive is not None:
        check.instance("positive", positive, str | int | float | np.number, "a target")
    options = {"drop": drop, "one_hot": one_hot, "positive": None if positive is None else str(positive)}
    found, X, y, names = _load_unscaled(name, known, search_paths(data), target, impute, options)
    if centre:
        X = np.where(X.min(axis=0) == X.max(axis=0), 0.0, X - X.mean(axis=0))  # exact for constant columns
    if scale:
        X, y = scaled_data(X, y, targets=positive is None)
    return DataSet(found, X, y, names)


def _is_column(column: Any) -> bool:
    return isinstance(column, str | int | np.integer) and not isinstance(column, bool)


def scaled_data(X: np.ndarray, y: np.ndarray, targets: bool) -> tuple[np.ndarray, np.ndarray]:
    """Scale columns to unit variance, then rows to length at most 1; if `targets`, scale y to mean 0 in [-1, 1]."""
    is_constant, columns = X.min(axis=0) == X.max(axis=0), _without_overflow(X, axis=0)
    deviations = np.where(is_constant, 0.0, columns.std(axis=0))
    X = _without_overflow(np.where(deviations > 0, columns / np.where(deviations > 0, deviations, 1.0), X))
    X = X / (np.linalg.norm(X, axis=1).max() or 1.0)
    if targets:
        y = _without_overflow(y)
        y = y - y.mean()
        y = y / (np.abs(y).max() or 1.0)
    return X, y


def _without_overflow(array: np.ndarray, axis: int | None = None) -> np.ndarray:
    """Divide by powers of 2, which changes no digit, such that the largest entry is below 1: squares are finite."""
    _, exponents = np.frexp(np.abs(array).max(axis=axis))
    return np.ldexp(array, -exponents)


def is_local(name: str | Path, data: str | Path | Sequence[str | Path] | None = None) -> bool:
    """Whether `load` finds a set without fetching it: in the given folders, or because it needs no file.

    Example:
        >>> from jaxonline.datasets import is_local
        >>> is_local("AR(4)")
        True
    """
    source, paths = SOURCES.get(canonical_name(str(check.path("name", name))) or ""), search_paths(data)
    return source is None or _local_file(source, paths) is not None


def search_paths(data: str | Path | Sequence[str | Path] | None) -> list[Path]:
    """Return the given folders and files and the folder of JAXONLINE_DATA."""
    given = [] if data is None else [data] if isinstance(data, str | Path) else check.sequence("data", data, "folder")
    paths = [Path(check.path("data", path)) for path in given]
    paths += [Path(folder) for folder in [os.environ.get("JAXONLINE_DATA")] if folder]
    for path in paths:
        if not path.exists():
            raise ArgumentError("data", f"must name folders and files that exist (got '{path}')")
    return paths


def data_files(path: Path) -> list[Path]:
    """List the data files in a folder (three levels deep), or the file itself."""
    files = [path] if path.is_file() else [file for depth in ("*", "*/*", "*/*/*") for file in path.glob(depth)]
    return sorted(file for file in files if file.suffix in SUFFIXES and file.is_file())


def _load_unscaled(
    name: str | Path,
    known: str | None,
    paths: list[Path],
    target: str | int | None,
    impute: str | None,
    options: dict[str, Any],
) -> DataSet:
    path, is_diabetes = Path(name), str(name).lower() == "diabetes"
    for argument, value in options.items():
        if value and (known or is_diabetes):
            raise ArgumentError(argument, f"must be left out for the known set {name} (got {value!r})")
    if known == "AR(4)":
        return ar4()._replace(name=str(name))
    if known is not None:
        return DataSet(str(name), *_load_known(known, paths, target, impute))
    if not path.is_file():
        matches = [file for folder in paths for file in data_files(folder) if file.stem.lower() == str(name).lower()]
        if not matches and is_diabetes:
            return DataSet(str(name), *diabetes(), DIABETES)
        if not matches:
            sets = ("diabetes", "AR(4)", *SOURCES)
            searched = ", ".join(map(str, [path.resolve(), *paths]))
            problem = f"must be a file or one of {', '.join(sets)} (got {str(name)!r}, searched {searched})"
            advice = did_you_mean(str(name), sets) or "; give the path of the file, or its folder as data"
            raise ArgumentError("name", problem + advice)
        path = matches[0]
    from jaxonline.datasets.tables import read_table, to_arrays

    return DataSet(path.stem, *to_arrays(path, read_table(path, target, **options), impute))


def _load_known(
    name: str, paths: Sequence[Path], target: str | int | None, impute: str | None
) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    from jaxonline.datasets.tables import read_cells, select_columns, to_arrays

    source, drop, content = SOURCES[name], (), None
    local = file = _local_file(source, paths)
    if file is None:
        try:
            if isinstance(source.origin, OpenML):
                return fetch_openml(name, source.origin)
            file, content = Path(source.origin.member), fetch_file(name, source.origin)
        except OSError as error:
            origin, advice = source.origin[0], "download it elsewhere and give its folder as data"
            problem = f"is in none of the given folders and cannot be fetched from {origin} ({error})"
            raise OSError(f"{name}: {problem}; {advice}") from error
    cells = read_cells(file, content)
    if file.suffix == ".npz":
        target = "y"
    elif cells.shape[1] == source.shape[1] + 1 + len(source.drop):  # the original file of UCI
        drop, impute, target = source.drop, impute or source.impute, source.target if target is None else target
    X, y, names = to_arrays(file, select_columns(file, cells, target, drop), impute)
    if X.shape != source.shape and (local is None or X.shape[1] != source.shape[1] or len(X) > source.shape[0]):
        raise ArgumentError(name, f"must have the shape {source.shape} or fewer rows (got {X.shape} from {file})")
    return X, y, names


def _local_file(source: Source, paths: Sequence[Path]) -> Path | None:
    """Return the best local file of a set, with a word of the set in its name or in those of its folders, or None."""
    original = Path(source.origin.member).name if isinstance(source.origin, Archive) else ""

    def names_set(*names: Any) -> bool:
        return any(word in str(name).lower() for word in source.words for name in names)

    found = [(path, file) for path in paths for file in data_files(path)]
    files = [file for path, file in found if names_set(file.name, file.parent.name, file.relative_to(path))]
    ranks = [(not names_set(file.stem), file.name != original, -file.stat().st_size, file) for file in files]
    return min(ranks)[-1] if ranks else None


MNIST_SHAPE = 70_000, 784


def mnist(data: str | Path | Sequence[str | Path] | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Load MNIST: X [70000, 784], the pixels, and y [70000], the digits, both uint8, 60,000 training images first.

    Args:
        data: folders and files to search before the folder of JAXONLINE_DATA. A match is an .npz file with X and y that
            has "mnist" in its name or is itself one of these paths. Without a match the set is fetched from OpenML.

    Raises:
        ValueError: the file does not hold MNIST.
        OSError: there is no file, and OpenML cannot be reached.
    """
    from jaxonline.datasets.tables import read_arrays

    files = [(path, file) for path in search_paths(data) for file in data_files(path) if file.suffix == ".npz"]
    matches = [file for path, file in files if "mnist" in file.stem.lower() or file == path]
    if matches:
        X, y = read_arrays(matches[0])
    else:
        import sklearn.datasets

        # version 1 of "mnist_784"
        X, y = sklearn.datasets.fetch_openml(data_id=554, return_X_y=True, as_frame=False, parser="liac-arff")
    if X.shape != MNIST_SHAPE or X.min() < 0 or X.max() > 255 or set(map(int, y)) != set(range(10)):
        needed = f"must be X {MNIST_SHAPE} of pixels from 0 to 255 and y of digits"
        raise ValueError(f"MNIST: {needed} (got {X.shape} from {matches[0] if matches else 'OpenML'})")
    return X.astype(np.uint8), y.astype(np.uint8)
