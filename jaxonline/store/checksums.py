"""The digests of the files in an output folder, in the document `checksums.json` with a digest of its own."""

import json
from collections.abc import Iterable
from pathlib import Path

from jaxonline.store.atomic_files import write_atomically
from jaxonline.store.documents import (
    DIGEST,
    MALFORMED_STORE_ERRORS,
    NO_DIGEST,
    DamagedStoreError,
    digest_of,
    is_sealed,
    seal,
)
from jaxonline.store.zarr_format import encode_document

CHECKSUMS = "checksums.json"


def write_checksums(folder: Path, paths: Iterable[Path]) -> None:
    """Write the digests of files in a folder, beside those of other files in the folder."""
    try:
        digests = read_checksums(folder) or {}
    except DamagedStoreError:
        digests = {}
    digests |= {path.relative_to(folder).as_posix(): digest_of(path.read_bytes()) for path in paths}
    write_atomically(folder / CHECKSUMS, seal(encode_document({DIGEST: NO_DIGEST, "sha256": digests})))


def read_checksums(folder: Path) -> dict[str, str] | None:
    """Return the digests of files in a folder by path; None if there are none, DamagedStoreError if damaged."""
    try:
        content = (folder / CHECKSUMS).read_bytes()
    except (FileNotFoundError, NotADirectoryError):
        return None
    try:
        if is_sealed(content):
            return dict(json.loads(content)["sha256"])
    except MALFORMED_STORE_ERRORS:
        pass
    raise DamagedStoreError(f"{folder / CHECKSUMS}: is damaged; it does not match its digest")
