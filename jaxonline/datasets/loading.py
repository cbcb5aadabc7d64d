"""Loading a data set: by name or from a file, from the folders given, from the user's cache or from the network."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np

from jaxonline.datasets.catalogue import SOURCES, DataSet, Source, ar4, canonical_name
from jaxonline.datasets.fetch import Archive, OpenML, fetch_file, fetch_openml
from jaxonline.datasets.tables import SUFFIXES, n_columns, read_table, to_arrays
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.suggest import did_you_mean
from jaxonline.parameters.validation import validate_arguments


@validate_arguments
def load(
    name: str | Path,
    data: str | Path | Sequence[str | Path] | None = None,
    *,
    target: str | int | None = None,
    impute: Literal["mean", "median"] | None = None,
) -> DataSet:
    """Load a data set by name, or from a file.

    Args:
        name: "AR(4)", a set of the UCI repository (Airfoil, Concrete, Bias correction or Naval, in capitals or not; the
            result is called as it is spelled here), the path of a file, or the name (without ending) of a file in
            `data` (called as the file is). Files are .npz with X and y, .csv, or columns of text, with or without a
            header; columns of dates or words are left out, with a warning.
        data: folders and files in which to look, one or several, before the folder that the environment variable
            JAXONLINE_DATA names. A set of the UCI repository that is not there is fetched, verified, and kept in the
            user's cache. A file that is there must have its columns, and may have fewer rows.
        target: the column that is the target, by name or number; the last one by default. Files of columns only.
        impute: the number of each column that fills its gaps.

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
    check.instance("name", name, isinstance(name, str | Path), "the name of a set or the path of a file")
    if target is not None:
        good = isinstance(target, str | int | np.integer) and not isinstance(target, bool)
        check.instance("target", target, good, "the name or the number of a column")
    places = search_paths(data)
    key = canonical_name(str(name))
    if key == "AR(4)":
        return ar4()._replace(name=str(name))
    if key is not None:
        return DataSet(str(name), *_known(key, places, target, impute))
    path = Path(name)
    if not path.is_file():
        matches = [file for place in places for file in data_files(place) if file.stem.lower() == str(name).lower()]
        if not matches:
            where = ", ".join(map(str, [path.resolve(), *places]))
            known = f"must be a file (.npz, .csv, text) or one of AR(4), {', '.join(SOURCES)}"
            advice = (
                did_you_mean(str(name), ("AR(4)", *SOURCES)) or "; give the path of the file, or its folder as data"
            )
            raise ArgumentError("name", f"{known} (got {str(name)!r}, looked for in {where}){advice}")
        path = matches[0]
    return DataSet(path.stem, *to_arrays(path, read_table(path, target), impute))


def is_local(name: str | Path, data: str | Path | Sequence[str | Path] | None = None) -> bool:
    """Whether `load` finds a set without fetching it: in the folders given, or because it needs no file.

    Raises:
        ValueError: `data` names what does not exist.

    Example:
        >>> from jaxonline.datasets import is_local
        >>> is_local("AR(4)")
        True
    """
    source, places = SOURCES.get(canonical_name(str(name)) or ""), search_paths(data)
    return source is None or _local(source, places) is not None


def search_paths(data: str | Path | Sequence[str | Path] | None) -> list[Path]:
    """The folders and files given, and the folder that JAXONLINE_DATA names."""
    given = (
        [data] if isinstance(data, str | Path) else list(data or ()) if isinstance(data, Sequence | None) else [data]
    )
    for place in given:
        check.instance("data", place, isinstance(place, str | Path), "a folder, a file, or a list of them")
    places = [Path(place) for place in (*given, os.environ.get("JAXONLINE_DATA")) if place]
    for place in places:
        if not place.exists():
            raise ArgumentError("data", f"must name folders and files that exist (got '{place}')")
    return places


def data_files(place: Path) -> list[Path]:
    """The files of numbers in a folder, or the file itself."""
    inside = [place] if place.is_file() else [file for depth in ("*", "*/*", "*/*/*") for file in place.glob(depth)]
    return sorted(file for file in inside if file.suffix in SUFFIXES and file.is_file())


def _known(
    name: str, places: Sequence[Path], target: str | int | None, impute: str | None
) -> tuple[np.ndarray, np.ndarray]:
    """X and y of a set of the catalogue, from a local file or else from the network."""
    source = SOURCES[name]
    local = _local(source, places)
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
    if file.suffix != ".npz" and n_columns(file) == source.shape[1] + 1 + len(source.drop):  # as it comes from UCI
        drop, impute = source.drop, impute or source.impute
        target = source.target if target is None else target
    return to_arrays(file, read_table(file, target, drop), impute)


def _local(source: Source, places: Sequence[Path]) -> Path | None:
    """The file that is most likely the set's: by its own name, or else by its folder's; as at UCI, or else the largest.

    (A folder as unpacked from UCI's archive also holds descriptions.)
    """
    at_uci = Path(source.origin.member).name if isinstance(source.origin, Archive) else ""

    def rank(place: Path, file: Path) -> int:
        folders = "" if place.is_file() else str(file.relative_to(place).parent)
        named = [any(word in text.lower() for word in source.words) for text in (file.stem, folders, file.parent.name)]
        original = file.name == at_uci
        return 0 if named[0] else 1 if named[1] and original else 2 if named[1] else 3 if named[2] and original else 4

    ranked = [(rank(place, file), -file.stat().st_size, file) for place in places for file in data_files(place)]
    found = [entry for entry in ranked if entry[0] < 4]
    return min(found)[-1] if found else None
