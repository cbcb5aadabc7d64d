"""Data sets from the network, verified and kept in the user's cache: archives of the UCI repository through pooch,
sets of OpenML through scikit-learn. Both libraries are imported when something is fetched.
"""

import hashlib
import zipfile
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np


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
    """The file of the set `name`, fetched once.

    Raises:
        OSError: it cannot be fetched.
        ValueError: it is not the one expected; what was fetched is deleted.
    """
    import pooch

    pooch.get_logger().setLevel("WARNING")
    kept = _cache() / f"{name.lower().replace(' ', '-')}.zip"
    unzip = pooch.Unzip(members=[archive.member])
    try:
        files = pooch.retrieve(archive.url, archive.archive_hash, fname=kept.name, path=kept.parent, processor=unzip)
        if archive.member_hash is not None:
            kind, wanted = archive.member_hash.split(":")
            got = pooch.file_hash(files[0], alg=kind)
            if got != wanted:
                raise ValueError(f"the {kind} checksum of {archive.url} is {got}, expected {wanted}")
    except OSError as error:
        raise _unreachable(name, archive.url, error) from error
    except (ValueError, zipfile.BadZipFile) as error:
        kept.unlink(missing_ok=True)
        raise ValueError(f"{name}: {error}") from None
    return Path(files[0])


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
    X, y = np.asarray(bunch.data, float), np.asarray(bunch.target, float)
    got = f"sha256:{checksum(X, y)}"
    if got != source.numbers_hash:
        raise ValueError(f"{name}: the checksum of the numbers from OpenML is {got}, expected {source.numbers_hash}")
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


def _cache() -> Path:
    import pooch

    return Path(pooch.os_cache("jaxonline"))


def _unreachable(name: str, where: str, error: OSError) -> OSError:
    return OSError(
        f"{name} is in none of the folders given and cannot be fetched from {where} ({error}): fetch it elsewhere and "
        f"name its folder with data"
    )
