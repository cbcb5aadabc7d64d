"""Arrays in the zarr format (version 3): one JSON document for each array, one file for each chunk.

Any zarr reader opens these files. This module encodes the files itself, because a study must control the order of
writes and know when each file is on the disk. The writers of zarr-python do not offer this (zarr-python's files were
not even atomic before its pull request 3412). Chunks are uncompressed numbers with a CRC32C checksum.
"""

import itertools
import json
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxonline.parameters.errors import ArgumentTypeError

DOCUMENT = "zarr.json"  # the file that describes an array or a group
CHECKSUM_BYTES = 4
STRING = "string"
FILL_VALUES = {"f": np.nan, "c": complex(np.nan, np.nan), "i": -1, "u": 0, "b": False}  # by kind of dtype
_JSON_FILL_VALUES = FILL_VALUES | {"f": "NaN", "c": ["NaN", "NaN"]}  # as JSON


class ArraySpec(NamedTuple):
    """Specification of a zarr array. Entries of a missing chunk have the value in `FILL_VALUES` for their dtype."""

    dims: tuple[str, ...]  # names of the axes
    shape: tuple[int, ...]  # readers do not see entries of chunks beyond it
    chunks: tuple[int, ...]  # chunk size along each axis
    dtype: str  # name of the NumPy dtype; "string" for texts
    attributes: Mapping[str, Any] = {}  # of the user

    @staticmethod
    def whole(name: str, array: np.ndarray) -> "ArraySpec":
        """Return the specification of an array in one chunk; bfloat16, unknown to NumPy, is stored as integers."""
        array, attributes = np.asarray(array), {}
        if array.dtype.kind == "V":
            attributes, array = {"dtype": str(array.dtype)}, array.view(f"u{array.dtype.itemsize}")
        if array.dtype.kind not in FILL_VALUES:
            raise ArgumentTypeError(name, f"must be an array of numbers (got dtype {array.dtype})")
        dims = tuple(f"{name}, axis {axis}" for axis in range(array.ndim))
        return ArraySpec(dims, array.shape, tuple(max(n, 1) for n in array.shape), array.dtype.name, attributes)

    @staticmethod
    def of(document: Mapping[str, Any]) -> "ArraySpec":
        """Return the specification from a JSON document; LookupError or TypeError if it is malformed."""
        shape, chunks = document["shape"], document["chunk_grid"]["configuration"]["chunk_shape"]
        dims, kind = tuple(document["dimension_names"]), document["data_type"]
        return ArraySpec(dims, tuple(map(int, shape)), tuple(map(int, chunks)), kind, document["attributes"])

    def key(self, index: Sequence[int]) -> str:
        """Return the file name of a chunk."""
        return ".".join(["c", *map(str, index)])

    def document(self) -> dict[str, Any]:
        """Return the JSON document of the array."""
        text = self.dtype == STRING
        codec = {"name": "vlen-utf8"} if text else {"name": "bytes", "configuration": {"endian": "little"}}
        return {
            "zarr_format": 3, "node_type": "array", "shape": list(self.shape), "data_type": self.dtype,
            "chunk_grid": {"name": "regular", "configuration": {"chunk_shape": list(self.chunks)}},
            "chunk_key_encoding": {"name": "default", "configuration": {"separator": "."}},
            "fill_value": "" if text else _JSON_FILL_VALUES[np.dtype(self.dtype).kind],
            "codecs": [codec, {"name": "crc32c"}], "attributes": dict(self.attributes),
            "dimension_names": list(self.dims), "storage_transformers": [],
        }  # fmt: skip

    def empty(self) -> np.ndarray:
        """Return the array whose chunks are all missing: every entry is the fill value."""
        return np.full(self.shape, FILL_VALUES[np.dtype(self.dtype).kind], self.dtype)

    def encode(self, chunk: np.ndarray) -> bytes:
        """Return the file content of a chunk; a chunk at the end of an axis may be shorter."""
        if self.dtype == STRING:
            texts = [text.encode() for text in chunk.ravel().tolist()]
            content = len(texts).to_bytes(4, "little") + b"".join(len(t).to_bytes(4, "little") + t for t in texts)
            return content + _checksum(content)
        if chunk.shape != self.chunks:
            whole = self._replace(shape=self.chunks).empty()
            whole[tuple(map(slice, chunk.shape))] = chunk
            chunk = whole
        content = np.ascontiguousarray(chunk, np.dtype(self.dtype).newbyteorder("<")).tobytes()
        return content + _checksum(content)

    def decode(self, content: bytes) -> np.ndarray:
        """Return the numbers of a chunk; raises ValueError if its content is damaged."""
        body = content[:-CHECKSUM_BYTES]
        kind = np.dtype(self.dtype).newbyteorder("<")
        if len(body) != kind.itemsize * math.prod(self.chunks) or not is_intact(content):
            raise ValueError("the checksum does not match")
        return np.frombuffer(body, kind).astype(self.dtype).reshape(self.chunks)


def is_intact(content: bytes) -> bool:
    """Return whether the content of a chunk matches its checksum."""
    return _checksum(content[:-CHECKSUM_BYTES]) == content[-CHECKSUM_BYTES:]


def encode_array(spec: ArraySpec, array: np.ndarray) -> dict[str, bytes]:
    """Return the contents of an array's chunk files, by file name."""
    return dict(encode_chunks(spec, np.asarray(array)))


def encode_chunks(spec: ArraySpec, array: Any) -> Iterator[tuple[str, bytes]]:
    """Yield names and contents of an array's chunk files; each step reads only the part of the array in one chunk."""
    array = array.view(spec.dtype) if "dtype" in spec.attributes else array
    counts = (-(-n // size) for n, size in zip(array.shape, spec.chunks, strict=True))
    for index in itertools.product(*map(range, counts)):
        part = tuple(slice(i * size, (i + 1) * size) for i, size in zip(index, spec.chunks, strict=True))
        yield spec.key(index), spec.encode(array[(*part, ...)])


def decode_array(spec: ArraySpec, read: Callable[[str], bytes | None]) -> np.ndarray:
    """Read an array; `read` returns the file of a name. Raises ValueError if a file is damaged or absent."""
    array = np.empty(spec.shape, spec.dtype)
    for index in itertools.product(*(range(-(-n // size)) for n, size in zip(spec.shape, spec.chunks, strict=True))):
        part = tuple(slice(i * size, (i + 1) * size) for i, size in zip(index, spec.chunks, strict=True))
        into = array[(*part, ...)]
        into[...] = spec.decode(read(spec.key(index)) or b"")[tuple(map(slice, into.shape))]
    return array.view(spec.attributes["dtype"]) if "dtype" in spec.attributes else array


def group_document(attributes: Mapping[str, Any], arrays: Mapping[str, ArraySpec], groups: Sequence[str] = ()) -> bytes:
    """Return the root document of a zarr group: attributes, and documents of all arrays and groups in it, by path."""
    nodes = {path: _group({}) for path in groups} | {path: spec.document() for path, spec in arrays.items()}
    below = {"kind": "inline", "must_understand": False, "metadata": nodes}
    return encode_document(_group(attributes) | {"consolidated_metadata": below})


def plain_group() -> bytes:
    """Return the document of a group inside the root group."""
    return encode_document(_group({}))


def encode_document(content: Mapping[str, Any]) -> bytes:
    """Encode a document as JSON; NumPy numbers become numbers."""
    return json.dumps(content, indent=1, ensure_ascii=False, default=lambda number: number.tolist()).encode()


def encode_name(name: str) -> str:
    """Encode a name so that it is a single segment of a path."""
    name = name.replace("%", "%25").replace("/", "%2F")
    return name if name.strip(".") else name.replace(".", "%2E")


def _group(attributes: Mapping[str, Any]) -> dict[str, Any]:
    return {"zarr_format": 3, "node_type": "group", "attributes": dict(attributes)}


def _checksum(content: bytes) -> bytes:
    """Return the CRC32C checksum of a content, least significant byte first."""
    try:
        from google_crc32c import value
    except ImportError:  # some accelerator images lack the package
        return _slow_checksum(content)
    return value(content).to_bytes(CHECKSUM_BYTES, "little")


def _slow_checksum(content: bytes) -> bytes:
    table, crc = [], 0xFFFFFFFF
    for entry in range(256):
        for _ in range(8):
            entry = entry >> 1 ^ 0x82F63B78 * (entry & 1)
        table.append(entry)
    for byte in content:
        crc = table[(crc ^ byte) & 0xFF] ^ crc >> 8
    return (crc ^ 0xFFFFFFFF).to_bytes(CHECKSUM_BYTES, "little")
