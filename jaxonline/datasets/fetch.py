"""Data sets from the network, verified and kept in the user's cache: archives of the UCI repository through pooch,
sets of OpenML through scikit-learn. Both libraries are imported when something is fetched.
"""

import hashlib
import io
import warnings
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from jaxonline.store.atomic_files import DAMAGED_ARCHIVE_ERRORS, write_atomically

if TYPE_CHECKING:
    import pandas as pd

_AGAIN = "delete it, and it is fetched again"


class Archive(NamedTuple):
    """A file in a zip archive. One of its two checksums is known, and verified whenever the file is used.

    Attributes:
        url: of the archive.
        member: the file in it.
        member_hash: "sha256:..." of the file.
        archive_hash: "md5:..." of the archive.
    """

    url: str
    member: str
    member_hash: str | None = None
    archive_hash: str | None = None


class OpenML(NamedTuple):
    """A set of OpenML, whose client verifies OpenML's own checksum.

    Attributes:
        number: of the set.
        numbers_hash: "sha256:..." of its numbers, as `checksum` makes it.
    """

    number: int
    numbers_hash: str


def fetch_file(name: str, archive: Archive) -> Path:
    """The file of the set `name`, fetched once, and verified whenever it is asked for.

    Raises:
        OSError: it cannot be fetched.
        ValueError: it is not the one expected. What was fetched just now is deleted; what was kept is named.
    """
    import pooch

    pooch.get_logger().setLevel("WARNING")
    kept = _cache() / f"{name.lower().replace(' ', '-')}.zip"
    was_there = kept.exists()
    try:
        if not was_there:
            pooch.retrieve(archive.url, archive.archive_hash, fname=kept.name, path=kept.parent)
        content = _verified(kept, archive)
    except OSError as error:
        raise _unreachable(name, archive.url, error) from error
    except DAMAGED_ARCHIVE_ERRORS as error:
        if was_there:
            raise ValueError(f"{name}: {error}; {kept} was damaged; {_AGAIN}") from None
        kept.unlink(missing_ok=True)
        raise ValueError(f"{name}: {error}") from None
    file = kept.with_name(f"{kept.name}.unzip") / archive.member
    if not file.is_file() or file.read_bytes() != content:
        if file.exists():
            warnings.warn(f"{name}: {file} was damaged; it is taken from {kept} again", RuntimeWarning, stacklevel=2)
        file.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(file, content)
    return file


def _verified(kept: Path, archive: Archive) -> bytes:
    """The file in an archive, whose checksum and that of the archive are the ones expected."""
    content = kept.read_bytes()
    if archive.archive_hash is not None:
        _check(f"the archive of {archive.url}", content, archive.archive_hash)
    with zipfile.ZipFile(io.BytesIO(content)) as opened:
        content = opened.read(archive.member)
    if archive.member_hash is not None:
        _check(archive.url, content, archive.member_hash)
    return content


def _check(what: str, content: bytes, wanted: str) -> None:
    kind, digits = wanted.split(":")
    got = hashlib.new(kind, content).hexdigest()
    if got != digits:
        raise ValueError(f"the {kind} checksum of {what} must be {digits} (got {got})")


def fetch_openml(name: str, source: OpenML) -> tuple[np.ndarray, np.ndarray]:
    """X and y of the set `name`.

    Raises:
        OSError: it cannot be fetched.
        ValueError: its numbers are not the ones expected.
    """
    import sklearn.datasets

    try:
        bunch: Any = sklearn.datasets.fetch_openml(
            data_id=source.number, as_frame=False, parser="liac-arff", data_home=str(_cache())
        )
    except OSError as error:
        raise _unreachable(name, f"OpenML, number {source.number}", error) from error
    except DAMAGED_ARCHIVE_ERRORS as error:
        raise ValueError(f"{name}: {error}; {_cache() / 'openml'} was damaged; {_AGAIN}") from None
    X, y = np.asarray(bunch.data, float), np.asarray(bunch.target, float)
    got = f"sha256:{checksum(X, y)}"
    if got != source.numbers_hash:
        raise ValueError(
            f"{name}: the checksum of the numbers from OpenML must be {source.numbers_hash} (got {got}); "
            f"{_cache() / 'openml'} was damaged; {_AGAIN}"
        )
    return X, y


def fetch_by_name(name: str, version: int | None = None) -> tuple["pd.DataFrame", str | None]:
    """Any set of OpenML, by its name: its columns, and the one that is its target, if it says so.

    Raises:
        OSError: it cannot be fetched.
        ValueError: there is none of that name, or it cannot be read.
    """
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
    """Sha256 of the numbers of a data set to seven digits, whatever file they came in: rows of (X, y) as float32.

    Example:
        >>> import numpy as np
        >>> from jaxonline.datasets import checksum
        >>> checksum(np.zeros((1, 1)), np.zeros(1))[:8]
        'af5570f5'
    """
    return hashlib.sha256(np.ascontiguousarray(np.column_stack([X, y]), "<f4").tobytes()).hexdigest()


def _cache() -> Path:
    import pooch

    return Path(pooch.os_cache("jaxonline"))


def _unreachable(name: str, where: str, error: OSError) -> OSError:
    return OSError(
        f"{name} is in none of the folders given and cannot be fetched from {where} ({error}): fetch it elsewhere and "
        f"name its folder with data"
    )
