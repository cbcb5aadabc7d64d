"""Load a data set by name or from a file: from given folders, the user's cache or the network."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np

from jaxonline.datasets.catalogue import SOURCES, DataSet, Source, ar4, canonical_name, diabetes
from jaxonline.datasets.fetch import Archive, OpenML, fetch_file, fetch_openml
from jaxonline.datasets.tables import SUFFIXES, n_columns, read_table, to_arrays
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
    _check_name(name)
    if target is not None:
        good = isinstance(target, str | int | np.integer) and not isinstance(target, bool)
        check.instance("target", target, good, "the name or the number of a column")
    paths = search_paths(data)
    key = canonical_name(str(name))
    if key == "AR(4)":
        return ar4()._replace(name=str(name))
    if key is not None:
        return DataSet(str(name), *_load_known(key, paths, target, impute))
    path = Path(name)
    if not path.is_file():
        matches = [file for folder in paths for file in data_files(folder) if file.stem.lower() == str(name).lower()]
        if not matches and str(name).lower() == "diabetes":
            return DataSet(str(name), *diabetes())
        if not matches:
            searched = ", ".join(map(str, [path.resolve(), *paths]))
            known = f"must be a file (.npz, .csv, text) or one of diabetes, AR(4), {', '.join(SOURCES)}"
            advice = (
                did_you_mean(str(name), ("diabetes", "AR(4)", *SOURCES))
                or "; give the path of the file, or its folder as data"
            )
            raise ArgumentError("name", f"{known} (got {str(name)!r}, searched {searched}){advice}")
        path = matches[0]
    return DataSet(path.stem, *to_arrays(path, read_table(path, target), impute))


def _check_name(name: Any) -> None:
    check.instance("name", name, (str, Path), "the name of a set or the path of a file")


def is_local(name: str | Path, data: str | Path | Sequence[str | Path] | None = None) -> bool:
    """Whether `load` finds a set without fetching it: in the given folders, or because it needs no file.

    Example:
        >>> from jaxonline.datasets import is_local
        >>> is_local("AR(4)")
        True
    """
    _check_name(name)
    source, paths = SOURCES.get(canonical_name(str(name)) or ""), search_paths(data)
    return source is None or _local_file(source, paths) is not None


def search_paths(data: str | Path | Sequence[str | Path] | None) -> list[Path]:
    """Return the given folders and files and the folder of JAXONLINE_DATA."""
    given = (
        [data] if isinstance(data, str | Path) else list(data or ()) if isinstance(data, Sequence | None) else [data]
    )
    for path in given:
        check.instance("data", path, isinstance(path, str | Path), "a folder, a file, or a list of them")
    paths = [Path(path) for path in (*given, os.environ.get("JAXONLINE_DATA")) if path]
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
    source = SOURCES[name]
    local = _local_file(source, paths)
    if local is None and isinstance(source.origin, OpenML):
        return fetch_openml(name, source.origin)
    file = fetch_file(name, source.origin) if local is None else local  # type: ignore[arg-type]
    X, y = _read(source, file, target, impute)
    if X.shape != source.shape and (local is None or X.shape[1] != source.shape[1] or len(X) > source.shape[0]):
        rows = "" if local is None else " or fewer rows"
        raise ArgumentError(name, f"must have the shape {source.shape}{rows} (got {X.shape} from {file})")
    return X, y


def _read(source: Source, file: Path, target: str | int | None, impute: str | None) -> tuple[np.ndarray, np.ndarray]:
    drop: tuple[int, ...] = ()
    if file.suffix != ".npz" and n_columns(file) == source.shape[1] + 1 + len(source.drop):  # the original file of UCI
        drop, impute = source.drop, impute or source.impute
        target = source.target if target is None else target
    return to_arrays(file, read_table(file, target, drop), impute)


def _local_file(source: Source, paths: Sequence[Path]) -> Path | None:
    """Return the best local file of a set or None; names, folders, the original name at UCI and sizes rank files."""
    original_name = Path(source.origin.member).name if isinstance(source.origin, Archive) else ""

    def rank(path: Path, file: Path) -> int:
        folders = "" if path.is_file() else str(file.relative_to(path).parent)
        named = [any(word in text.lower() for word in source.words) for text in (file.stem, folders, file.parent.name)]
        original = file.name == original_name
        return 0 if named[0] else 1 if named[1] and original else 2 if named[1] else 3 if named[2] and original else 4

    ranked = [(rank(path, file), -file.stat().st_size, file) for path in paths for file in data_files(path)]
    matches = [entry for entry in ranked if entry[0] < 4]
    return min(matches)[-1] if matches else None
