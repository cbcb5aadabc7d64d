"""Fetch data sets, verify them and cache them per user. pooch and scikit-learn are imported when a set is fetched."""

import hashlib
import io
import warnings
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxonline.parameters import check
from jaxonline.store.files import DAMAGED_ARCHIVE_ERRORS, write_atomically

if TYPE_CHECKING:
    import pandas as pd

_REFETCH_ADVICE = "delete it, and it is fetched again"


class Archive(NamedTuple):
    """A file in a zip archive of the UCI repository; every use verifies the checksum of the file or the archive."""

    url: str
    member: str  # path of the file in the archive
    member_hash: str | None = None  # "sha256:..." of the file
    archive_hash: str | None = None  # "md5:..." of the archive


class OpenML(NamedTuple):
    """A data set of OpenML; OpenML's client verifies OpenML's checksum, and `fetch_openml` verifies `numbers_hash`."""

    number: int  # identifier of the set
    numbers_hash: str  # "sha256:..." of its numbers (`checksum`)


def fetch_file(name: str, archive: Archive) -> Path:
    """Return the path of the file of set `name`; fetch it once and verify it on every call.

    Raises:
        OSError: the file cannot be fetched.
        ValueError: the checksum is wrong. A newly fetched file is deleted; the error names a file from the cache.
    """
    import pooch

    pooch.get_logger().setLevel("WARNING")
    zip_path = _cache() / f"{name.lower().replace(' ', '-')}.zip"
    was_cached = zip_path.exists()
    try:
        if not was_cached:
            pooch.retrieve(archive.url, archive.archive_hash, fname=zip_path.name, path=zip_path.parent)
        content = _read_verified(zip_path, archive)
    except OSError as error:
        raise _unreachable(name, archive.url, error) from error
    except DAMAGED_ARCHIVE_ERRORS as error:
        if was_cached:
            raise ValueError(f"{name}: {error}; {zip_path} was damaged; {_REFETCH_ADVICE}") from None
        zip_path.unlink(missing_ok=True)
        raise ValueError(f"{name}: {error}") from None
    file = zip_path.with_name(f"{zip_path.name}.unzip") / archive.member
    if not file.is_file() or file.read_bytes() != content:
        if file.exists():
            warnings.warn(
                f"{name}: {file} was damaged; it is extracted from {zip_path} again", RuntimeWarning, stacklevel=2
            )
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, content)
    return file


def _read_verified(zip_path: Path, archive: Archive) -> bytes:
    content = zip_path.read_bytes()
    if archive.archive_hash is not None:
        _verify_checksum(f"the archive of {archive.url}", content, archive.archive_hash)
    with zipfile.ZipFile(io.BytesIO(content)) as zip_file:
        content = zip_file.read(archive.member)
    if archive.member_hash is not None:
        _verify_checksum(archive.url, content, archive.member_hash)
    return content


def _verify_checksum(label: str, content: bytes, expected: str) -> None:
    kind, digits = expected.split(":")
    actual = hashlib.new(kind, content).hexdigest()
    if actual != digits:
        raise ValueError(f"the {kind} checksum of {label} must be {digits} (got {actual})")


def fetch_openml(name: str, source: OpenML) -> tuple[np.ndarray, np.ndarray]:
    """Fetch X and y of set `name` from OpenML; raise a ValueError if the checksum of the numbers is wrong."""
    import sklearn.datasets

    try:
        bunch: Any = sklearn.datasets.fetch_openml(
            data_id=source.number, as_frame=False, parser="liac-arff", data_home=str(_cache())
        )
    except OSError as error:
        raise _unreachable(name, f"OpenML, number {source.number}", error) from error
    except DAMAGED_ARCHIVE_ERRORS as error:
        raise ValueError(f"{name}: {error}; {_cache() / 'openml'} was damaged; {_REFETCH_ADVICE}") from None
    X, y = np.asarray(bunch.data, float), np.asarray(bunch.target, float)
    actual = f"sha256:{checksum(X, y)}"
    if actual != source.numbers_hash:
        raise ValueError(
            f"{name}: the checksum of the numbers from OpenML must be {source.numbers_hash} (got {actual}); "
            f"{_cache() / 'openml'} was damaged; {_REFETCH_ADVICE}"
        )
    return X, y


def fetch_by_name(name: str, version: int | None = None) -> tuple["pd.DataFrame", str | None]:
    """Fetch any OpenML set by name; return its columns, and the name of its target column or None."""
    import sklearn.datasets

    try:
        bunch: Any = sklearn.datasets.fetch_openml(
            name=name, version="active" if version is None else version, as_frame=True, parser="liac-arff",
            data_home=str(_cache()),
        )  # fmt: skip
    except OSError as error:
        raise OSError(f"openml: the set {name!r} cannot be fetched ({error})") from error
    except DAMAGED_ARCHIVE_ERRORS as error:
        raise ValueError(f"openml: the set {name!r} cannot be read ({error})") from None
    targets = list(bunch.target_names or [])
    return bunch.frame, targets[0] if len(targets) == 1 else None


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


def _cache() -> Path:
    import pooch

    return Path(pooch.os_cache("jaxonline"))


def _unreachable(name: str, origin: str, error: OSError) -> OSError:
    return OSError(
        f"{name} is in none of the given folders and cannot be fetched from {origin} ({error}); download it elsewhere "
        "and give its folder as data"
    )
