"""Fetch data sets, verify them and cache them per user. pooch and scikit-learn are imported when a set is fetched."""

import hashlib
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxonline.parameters import check


class Archive(NamedTuple):
    """A file in a zip archive of the UCI repository; every use verifies the checksum of the file or the archive."""

    url: str
    member: str  # path of the file in the archive
    member_hash: str | None = None  # SHA-256 of the file
    archive_hash: str | None = None  # "md5:..." of the archive


class OpenML(NamedTuple):
    """A data set of OpenML; `fetch_openml` verifies `numbers_hash`."""

    number: int  # identifier of the set
    numbers_hash: str  # SHA-256 of its numbers (`checksum`)


def fetch_file(name: str, archive: Archive) -> bytes:
    """Return the content of the file of set `name`; fetch its archive once, and verify it on every call.

    Raises:
        ModuleNotFoundError: pooch is not installed.
        OSError: the archive cannot be fetched.
        ValueError: the archive or the file is damaged; the archive is deleted.
    """
    try:
        import pooch
    except ModuleNotFoundError as error:
        install = "pip install 'jaxonline[data]', or download the set and give its folder as data"
        raise ModuleNotFoundError(f"{name}: pooch, which fetches the set, is not installed; {install}") from error
    pooch.get_logger().setLevel("WARNING")
    path = Path(pooch.os_cache("jaxonline")) / f"{name.lower().replace(' ', '-')}.zip"
    pooch.retrieve(archive.url, archive.archive_hash, fname=path.name, path=path.parent)
    try:
        with zipfile.ZipFile(path) as zip_file:
            content = zip_file.read(archive.member)
        digest = hashlib.sha256(content).hexdigest()
        if archive.member_hash not in (None, digest):
            raise ValueError(f"the checksum of {archive.member} must be {archive.member_hash} (got {digest})")
    except Exception as error:  # a damaged archive may raise any error
        path.unlink(missing_ok=True)
        raise ValueError(f"{name}: {error}; {path} was damaged and is deleted; the next call fetches it") from None
    return content


def fetch_openml(name: str, source: OpenML) -> tuple[np.ndarray, np.ndarray, tuple[str, ...]]:
    """Fetch X, y and the names of the columns of set `name` from OpenML.

    Raises:
        OSError: the set cannot be fetched.
        ValueError: the checksum of the numbers is wrong.
    """
    import sklearn.datasets

    bunch: Any = sklearn.datasets.fetch_openml(data_id=source.number, as_frame=False, parser="liac-arff")
    X, y = np.asarray(bunch.data, float), np.asarray(bunch.target, float)
    if checksum(X, y) != source.numbers_hash:
        problem = f"the checksum of the numbers from OpenML must be {source.numbers_hash} (got {checksum(X, y)})"
        raise ValueError(f"{name}: {problem}; delete the folder openml in scikit-learn's get_data_home()")
    return X, y, tuple(bunch.feature_names)


def checksum(X: np.ndarray, y: np.ndarray) -> str:
    """Sha256 of the numbers (X, y) of a data set as float32 rows, whatever the file format.

    Example:
        >>> import numpy as np
        >>> from jaxonline.datasets import checksum
        >>> checksum(np.zeros((1, 1)), np.zeros(1))[:8]
        'af5570f5'
    """
    X, y = check.rows("X", X, "y", y)
    return hashlib.sha256(np.ascontiguousarray(np.column_stack([X, y]), "<f4").tobytes()).hexdigest()
