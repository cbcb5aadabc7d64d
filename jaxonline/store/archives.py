"""Files of arrays (.npz) and of JSON with a digest. What is read is checked before memory is allocated for it.

The digest of a file finds damage, but anybody can compute it. So readers also check shapes, types and sizes.
"""

import hashlib
import io
import json
import math
import zipfile
from collections.abc import Mapping
from typing import Any, BinaryIO

import numpy as np
from typing_extensions import TypedDict

from jaxonline.store.files import DamagedStoreError

DIGEST, NO_DIGEST = "sha256", "0" * 64
MAX_COMPRESSION, MIN_UNPACKED_BYTES = 100, 2**24  # a compressed archive may unpack to the larger of both limits

Numbers = dict[str, Any]  # arrays by name


def read_archive(file: BinaryIO, compressed: bool = False) -> Numbers:
    """Return the arrays of an .npz file without objects; memory is allocated only for numbers that the file holds.

    Args:
        file: a binary stream.
        compressed: whether the file may be compressed, at most MAX_COMPRESSION times.

    Raises:
        DamagedStoreError: the file is damaged, or unpacks to more than that.
    """
    try:
        most = file.seek(0, io.SEEK_END)
        most = max(most * MAX_COMPRESSION, MIN_UNPACKED_BYTES) if compressed else most
        with zipfile.ZipFile(file) as archive:
            members = archive.infolist()
            n_bytes = sum(member.file_size for member in members)
            kinds = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)[: 1 + compressed]
            if n_bytes > most or any(member.compress_type not in kinds for member in members):
                raise ValueError(f"it would unpack to {n_bytes:,} bytes, or is compressed in an unknown way")
            arrays = {member.filename.removesuffix(".npy"): _read_array(archive, member) for member in members}
            if len(arrays) < len(members):
                raise ValueError("it has two arrays with the same name")
            return arrays
    except Exception as error:  # a damaged archive may raise any error
        raise DamagedStoreError(f"is not an .npz file of arrays, or is damaged ({error})") from None


def _read_array(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> np.ndarray:
    readers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    with archive.open(member) as stream:
        shape, _, dtype = readers[np.lib.format.read_magic(stream)](stream)
        n_bytes = math.prod(shape) * dtype.itemsize
        if dtype.hasobject or dtype.itemsize == 0 or n_bytes != member.file_size - stream.tell():
            raise ValueError(f"{member.filename} does not hold {list(shape)} numbers of type {dtype}")
    with archive.open(member) as stream:
        return np.lib.format.read_array(stream, allow_pickle=False)


def seal_arrays(arrays: Mapping[str, np.ndarray], seal: str = "") -> bytes:
    """Return the content of an .npz file, whose comment is the SHA-256 of the text `seal` and of the content."""
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        for name, array in arrays.items():
            with archive.open(f"{name}.npy", "w", force_zip64=True) as member:
                np.lib.format.write_array(member, np.asarray(array), allow_pickle=False)
    content = buffer.getvalue()[:-2] + len(NO_DIGEST).to_bytes(2, "little")  # the last entry: the comment's length
    return content + _digest(seal.encode() + content)


def open_arrays(content: bytes, seal: str = "") -> Numbers:
    """Return the arrays of `seal_arrays`; DamagedStoreError if a byte differs, or `seal` is another text."""
    size = len(NO_DIGEST)
    if _digest(seal.encode() + content[:-size]) != content[-size:]:
        raise DamagedStoreError("does not match its digest")
    return read_archive(io.BytesIO(content))


def seal_document(document: Mapping[str, Any]) -> bytes:
    """Return a JSON document with the SHA-256 of its bytes, in which zeros stand in place of the digest."""
    text = json.dumps(
        {DIGEST: NO_DIGEST, **document}, indent=1, ensure_ascii=False, default=lambda number: number.tolist()
    ).encode()
    return text.replace(NO_DIGEST.encode(), _digest(text), 1)


def open_document(content: bytes) -> dict[str, Any]:
    """Return a sealed JSON document, without its digest; DamagedStoreError if a byte differs."""
    document = read_json(content, dict[str, Any])
    digest = str(document.pop(DIGEST, "")).encode(errors="replace")
    if len(digest) != len(NO_DIGEST) or digest != _digest(content.replace(digest, NO_DIGEST.encode(), 1)):
        raise DamagedStoreError("does not match its digest")
    return document


def read_json(content: bytes, kind: Any) -> Any:
    """Return a JSON document, converted to a type; DamagedStoreError if it has another form."""
    try:
        return validate(json.loads(content), kind)
    except (ValueError, RecursionError):
        raise DamagedStoreError("is not JSON of the expected form") from None


def validate(value: Any, kind: Any, total: bool = True) -> Any:
    """Return a value from a file, converted to a type as by pydantic; DamagedStoreError if it has another form.

    Args:
        value: what `json.loads` returned.
        kind: a type, or a dictionary of types by the names of entries; the result has these entries only.
        total: whether all entries of this dictionary must be there.
    """
    from pydantic import TypeAdapter, ValidationError

    try:
        return TypeAdapter(_as_type(kind, total)).validate_python(value)
    except (ValidationError, RecursionError):
        raise DamagedStoreError("does not have the expected form") from None


def _as_type(kind: Any, total: bool = True) -> Any:
    if not isinstance(kind, dict):
        return kind
    return TypedDict("Entries", {name: _as_type(entry) for name, entry in kind.items()}, total=total)  # type: ignore


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()
