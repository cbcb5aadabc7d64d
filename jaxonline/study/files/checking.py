"""Comparison of the files of a folder, and of the stores in the folder, with their digests."""

import os
from collections.abc import Iterator
from pathlib import Path

from jaxonline.store.atomic_files import TEMPORARY_SUFFIX
from jaxonline.store.checksums import CHECKSUMS, read_checksums
from jaxonline.store.documents import DamagedStoreError, is_sealed
from jaxonline.store.filesystem import Folder, local_path
from jaxonline.store.verification import CHANGED, changed_files, find_damage, is_store
from jaxonline.study.files.folder import CONFIGURATION


def check_parts(folder: str) -> list[tuple[str, list[str]]]:
    """Return the name of each study folder and store in a folder, with one line for each damaged or missing file."""
    return list(_check_local_parts(local_path(folder)))


def _check_local_parts(top: Path) -> Iterator[tuple[str, list[str]]]:
    """Yield each study folder and each store in a folder, with one line for each damaged file."""
    for name, folders, files in os.walk(top):
        if CONFIGURATION in files or CHECKSUMS in files:
            yield name, list(_check_files(Path(name), files))
        if is_store(Folder(Path(name))):
            yield name, find_damage(Folder(Path(name)))
        folders[:] = [folder for folder in folders if folder != "blocks" and not folder.endswith(TEMPORARY_SUFFIX)]


def _check_files(folder: Path, files: list[str]) -> Iterator[str]:
    if CONFIGURATION in files and not is_sealed((folder / CONFIGURATION).read_bytes()):
        yield f"{CONFIGURATION}: {CHANGED}"
    try:
        digests = read_checksums(folder)
    except DamagedStoreError:
        digests = {}
        yield f"{CHECKSUMS}: {CHANGED}"
    if digests is None:
        yield f"{CHECKSUMS}: is missing; an earlier version of jaxonline wrote the folder, or the file was deleted"
    yield from changed_files(Folder(folder), digests or {})
