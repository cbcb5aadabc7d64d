"""Load a data set by name or from a file: from given folders, the user's cache or the network."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from jaxonline.datasets.catalogue import SOURCES, SUFFIXES, DataSet, Source, ar4, canonical_name, diabetes
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
    impute: Literal["mean", "median"] | None = None,
) -> DataSet:
    """Load a data set by name or from a file.

    Args:
        name: "diabetes" (`datasets.diabetes`), "AR(4)", a set of the UCI repository (Airfoil, Concrete, Bias correction
            or Naval, in any case), the path of a file, or the name without ending of a file in `data`. Files are .npz
            with X and y, .csv, or columns of text, with or without a header; columns of dates or words are left out
            with a warning.
        data: folders and files to search before the folder of the environment variable JAXONLINE_DATA. A set of the UCI
            repository that is in none of them is fetched, verified and cached. A local file of such a set may have
            fewer rows.
        target: name or number of the target column, for files of columns; the last one by default.
        impute: fill missing values with this statistic of their column.

    Raises:
        ValueError: the name is unknown; a cell is empty (named by row and column) without `impute`; a file cannot be
            read as numbers; a checksum or shape is wrong.
        OSError: a set cannot be fetched.
        ModuleNotFoundError: a set must be fetched, and pooch is not installed (`pip install 'jaxonline[data]'`).

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
    from jaxonline.datasets.tables import read_table, to_arrays

    known = canonical_name(str(check.path("name", name)))
    if target is not None:
        good = isinstance(target, str | int | np.integer) and not isinstance(target, bool)
        check.instance("target", target, good, "the name or the number of a column")
    paths, path = search_paths(data), Path(name)
    if known == "AR(4)":
        return ar4()._replace(name=str(name))
    if known is not None:
        return DataSet(str(name), *_load_known(known, paths, target, impute))
    if not path.is_file():
        matches = [file for folder in paths for file in data_files(folder) if file.stem.lower() == str(name).lower()]
        if not matches and str(name).lower() == "diabetes":
            return DataSet(str(name), *diabetes())
        if not matches:
            sets = ("diabetes", "AR(4)", *SOURCES)
            searched = ", ".join(map(str, [path.resolve(), *paths]))
            problem = f"must be a file or one of {', '.join(sets)} (got {str(name)!r}, searched {searched})"
            advice = did_you_mean(str(name), sets) or "; give the path of the file, or its folder as data"
            raise ArgumentError("name", problem + advice)
        path = matches[0]
    return DataSet(path.stem, *to_arrays(path, read_table(path, target), impute))


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


def _load_known(
    name: str, paths: Sequence[Path], target: str | int | None, impute: str | None
) -> tuple[np.ndarray, np.ndarray]:
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
    X, y = to_arrays(file, select_columns(file, cells, target, drop), impute)
    if X.shape != source.shape and (local is None or X.shape[1] != source.shape[1] or len(X) > source.shape[0]):
        raise ArgumentError(name, f"must have the shape {source.shape} or fewer rows (got {X.shape} from {file})")
    return X, y


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
