"""The store of a study: the study's inputs, its finished blocks, and the states of unfinished blocks.

The store is a valid zarr group at any moment. The root document of the store (`zarr.json`) contains all metadata that
readers need.
"""

import contextlib
import functools
import hashlib
import io
import json
import os
import re
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jaxonline.parameters.errors import DamagedStoreWarning
from jaxonline.store.atomic_files import DAMAGED_ARCHIVE_ERRORS
from jaxonline.store.documents import (
    DIGEST,
    MALFORMED_STORE_ERRORS,
    MARKER,
    NO_DIGEST,
    NUMBERS,
    RESULT,
    STUDY,
    DamagedStoreError,
    check_format,
    check_sealed,
    is_earlier,
    is_sealed,
    parse_attributes,
    seal,
    store_format,
)
from jaxonline.store.filesystem import Folder, folder_at
from jaxonline.store.layout import (
    RECORD_SPEC,
    RECORDS_FOLDER,
    STATES_FOLDER,
    Blocks,
    JobArrays,
    StoreLayout,
    fingerprint,
)
from jaxonline.store.zarr_format import (
    DOCUMENT,
    ArraySpec,
    decode_array,
    encode_array,
    encode_document,
    encode_name,
    group_document,
    plain_group,
)

DIGEST_BYTES = 32  # SHA-256, at the end of the file of a state


class Store:
    """An open store, as a context manager; its `layout` is the stored layout plus the requested runs and rounds.

    Args:
        place: the folder of the store; an absent folder is created.
        about: descriptions of the inputs that determine the numbers (`fingerprint.describe_inputs`).
        every: minimum number of seconds between two saved states of a block.
        layout: the arrays of a study; None if the store holds named arrays.
        meta: attributes of the study, which become the metadata of its result.
        keep_states: whether to keep the states of finished blocks, so that rounds can be added later.
        exclusive: whether this process locks and creates the store; False if another process holds the store open.

    Entering the context raises ValueError if the store belongs to another study or program, BlockingIOError if another
    process uses the folder, and OSError if the path cannot be written.
    """

    def __init__(
        self, place: Folder, about: Mapping[str, str], every: float, layout: StoreLayout | None = None,
        meta: Mapping[str, Any] | None = None, keep_states: bool = False, exclusive: bool = True,
    ):  # fmt: skip
        self.every, self.keep_states, self.layout = every, keep_states, layout
        self.place, self._about, self._study = place, dict(about), fingerprint(about)
        self._meta, self._exclusive, self._stack = dict(meta or {}), exclusive, contextlib.ExitStack()

    def __enter__(self) -> "Store":
        with contextlib.ExitStack() as stack:
            if self._exclusive:
                self._check_owner(parse_attributes(self.place.read(DOCUMENT) or b""))  # before creating anything
                stack.enter_context(self.place.lock())
            self._open()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def reopener(self) -> Callable[[], "Store"]:
        """Return a function, which can be pickled, that opens the store in another process while it is open here."""
        layout = self.blocks.layout
        return functools.partial(_join, self.place.address, dict(self._about), self.every, layout, self.keep_states)

    @property
    def blocks(self) -> Blocks:
        """The blocks of a study."""
        if self.layout is None:
            raise TypeError(f"{self.place.name} contains named arrays, not a study")
        return self._blocks

    def read_numbers(self) -> dict[str, np.ndarray] | None:
        """Return the arrays of a store of named arrays; None if they are absent, or (with a warning) damaged."""
        content = self.place.read(DOCUMENT)
        root = self._root()
        if content is None or root is None or "names" not in root[MARKER]:
            return None
        try:
            return named_arrays(self.place, content)
        except MALFORMED_STORE_ERRORS:
            self._warn("the numbers are damaged and will be computed again")
            return None

    def write_numbers(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Write named arrays, and then the root document, which describes them and contains their hash."""
        specs = {encode_name(name): ArraySpec.whole(name, array) for name, array in arrays.items()}
        self.place.write({
            f"{path}/{key}": content
            for (path, spec), array in zip(specs.items(), arrays.values(), strict=True)
            for key, content in encode_array(spec, array).items()
        })  # fmt: skip
        marker = self._marker(NUMBERS) | {"names": list(arrays), "sha256": _hash(self._study, arrays)}
        self.place.write({DOCUMENT: seal(group_document({MARKER: marker}, specs))})

    # -----------------------------------------------------------------------------------------------------------------
    # Blocks in progress

    def load_state(self, rows: JobArrays, block: int) -> tuple[int, dict[str, np.ndarray]] | None:
        """Return round and arrays of a block's last state; None if it has no state. bfloat16 is returned as bytes."""
        for rounds in sorted(self._states(rows).get(block, []), reverse=True):
            key = _state_key(rows, block, rounds)
            try:
                return rounds, self._unpack(key, self.place.read(key) or b"")
            except DAMAGED_ARCHIVE_ERRORS:
                self._warn(f"block {block} of {rows.label!r}, in progress, is damaged; continues from an earlier round")
                self.place.remove(key)
        return None

    def saved_round(self, rows: JobArrays, block: int) -> int:
        """Return the round of a block's last state; 0 without a state."""
        return max(self._states(rows).get(block, [0]))

    def blocks_in_progress(self, rows: JobArrays) -> set[int]:
        """Return the blocks of a job that have a state."""
        return set(self._states(rows))

    def save_state(self, rows: JobArrays, block: int, rounds: int, arrays: Mapping[str, np.ndarray]) -> None:
        """Save the state of a block in one file, which is complete or absent; then remove its earlier states."""
        file = io.BytesIO()
        np.savez(file, **arrays)  # type: ignore[arg-type]
        content = file.getvalue()
        key = _state_key(rows, block, rounds)
        self.place.write({key: content + state_digest(self._study, key, content)}, durable=False)
        self._remove_states(rows, block, keep=key)

    def delete_state(self, rows: JobArrays, block: int) -> None:
        """Remove all states of a block."""
        self._remove_states(rows, block)

    def _remove_states(self, rows: JobArrays, block: int, keep: str | None = None) -> None:
        for rounds in self._states(rows).get(block, []):
            if (key := _state_key(rows, block, rounds)) != keep:
                self.place.remove(key)

    def _states(self, rows: JobArrays) -> dict[int, list[int]]:
        rounds: dict[int, list[int]] = {}
        for name in self.place.names(STATES_FOLDER):
            if match := re.fullmatch(rf"{re.escape(rows.name)}, block (\d+), round (\d+)\.npz", name):
                rounds.setdefault(int(match[1]), []).append(int(match[2]))
        return rounds

    def _unpack(self, key: str, content: bytes) -> dict[str, np.ndarray]:
        if not is_state_intact(self._study, key, content):
            raise ValueError("a state is damaged, or of another block or study")
        with np.load(io.BytesIO(content[:-DIGEST_BYTES]), allow_pickle=False) as arrays:
            return dict(arrays)

    # -----------------------------------------------------------------------------------------------------------------
    # Opening

    def _open(self) -> None:
        root = self._root()
        if root is None:
            self._check_records()
        else:
            self._check(root)
        if self.layout is None:
            if root is None:
                self.place.write({DOCUMENT: seal(group_document({MARKER: self._marker(NUMBERS)}, {}))})
            return
        if root is not None:
            self.layout = self._extended(root[MARKER], self.layout)
            self._meta = self._merge_attributes(root, self._meta)
        elif not self._exclusive:
            raise ValueError(f"checkpoint {self.place.name} contains no study yet")
        self._blocks = Blocks(self.place, self._study, self.layout, repairs=self._exclusive)
        if self._exclusive:
            for files in (metadata_documents(self.layout), {DOCUMENT: self._document(self.layout)}):
                if new := {key: content for key, content in files.items() if self.place.read(key) != content}:
                    self.place.write(new)

    def _root(self) -> dict[str, Any] | None:
        """Return the attributes of the store; None if there are none. A damaged root document is renamed: also None."""
        content = self.place.read(DOCUMENT)
        if content is None:
            return None
        attributes = parse_attributes(content)
        self._check_owner(attributes)
        if attributes is not None and is_root_intact(content, attributes):
            return attributes
        if self._exclusive:
            aside = self.place.set_aside(DOCUMENT)
            self._warn(f"{DOCUMENT} is damaged and was renamed to {aside}; the block records identify the study")
        return None

    def _check_owner(self, attributes: Mapping[str, Any] | None) -> None:
        """Raise an error if the attributes show that the store belongs to another program or is a saved result."""
        if attributes is not None and MARKER not in attributes:
            raise ValueError(f"checkpoint {self.place.name} is a zarr store of another program; give another folder")
        if attributes is not None and store_format(attributes) == RESULT:
            raise ValueError(
                f"checkpoint {self.place.name} is a saved result, which cannot be continued; give another folder"
            )
        check_format(f"checkpoint {self.place.name}", attributes or {})

    def _check(self, root: Mapping[str, Any]) -> None:
        theirs = root[MARKER]
        if theirs["about"] != self._about:
            raise self._other(_difference(theirs["about"], self._about))
        if store_format(root) != (NUMBERS if self.layout is None else STUDY):
            raise self._other(f"its format, {theirs['format']!r}")

    def _extended(self, theirs: Mapping[str, Any], asked: StoreLayout) -> StoreLayout:
        try:
            return StoreLayout.of(theirs["layout"]).extended(asked)
        except ValueError as error:
            raise self._other(str(error)) from None

    def _check_records(self) -> None:
        """Check that no block belongs to another study, if the root document is missing."""
        for folder in self.place.names(RECORDS_FOLDER):
            for name in self.place.names(f"{RECORDS_FOLDER}/{folder}"):
                try:
                    record = RECORD_SPEC.decode(self.place.read(f"{RECORDS_FOLDER}/{folder}/{name}") or b"")
                except ValueError:
                    continue
                if int(record[0, 1]) != int(self._study, 16):
                    path = f"{RECORDS_FOLDER}/{folder}/{name}"
                    raise ValueError(f"checkpoint {self.place.name} contains a block of another study: {path}")

    @staticmethod
    def _merge_attributes(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
        """Merge attributes: `n_runs` and `n_rounds` never decrease; the outcome of a stopping rule is dropped."""
        grown = {name for name in ("n_runs", "n_rounds") if name in theirs and name in ours}
        most = {name: max(theirs[name], ours[name]) for name in grown}
        outcome = MARKER, "precision", "decisions", "interval"
        return {name: value for name, value in theirs.items() if name not in outcome} | dict(ours) | most

    def _other(self, difference: str) -> ValueError:
        return ValueError(f"checkpoint {self.place.name} belongs to another study: {difference}")

    def _warn(self, words: str) -> None:
        warnings.warn(f"checkpoint {self.place.name}: {words}", DamagedStoreWarning, stacklevel=3)

    # -----------------------------------------------------------------------------------------------------------------
    # Documents

    def _marker(self, kind: str) -> dict[str, Any]:
        return {"format": kind, DIGEST: NO_DIGEST, "study": self._study, "about": self._about}

    def _document(self, layout: StoreLayout) -> bytes:
        return seal(root_document(layout, self._meta | {MARKER: self._marker(STUDY) | {"layout": layout.to_json()}}))


def _join(where: str, about: dict[str, str], every: float, layout: StoreLayout, keep_states: bool) -> Store:
    return Store(folder_at(where), about, every, layout, None, keep_states, exclusive=False)


def update_attributes(where: str | os.PathLike[str], meta: Mapping[str, Any]) -> None:
    """Change attributes of a study."""
    place = folder_at(where)
    with place.lock():
        content = place.read(DOCUMENT) or b""
        check_sealed(f"{place.name}/{DOCUMENT}", content, earlier=False)
        root = json.loads(content)
        root["attributes"] |= meta
        root["attributes"][MARKER][DIGEST] = NO_DIGEST
        place.write({DOCUMENT: seal(encode_document(root))})


def metadata_documents(layout: StoreLayout) -> dict[str, bytes]:
    """Return the files of the coordinates, and all metadata documents except the root document."""
    arrays, groups = layout.tree()
    files = {f"{path}/{DOCUMENT}": plain_group() for path in groups}
    files |= {f"{path}/{DOCUMENT}": encode_document(spec.document()) for path, spec in arrays.items()}
    for name, labels in layout.coordinates().items():
        files |= {f"{name}/{key}": content for key, content in encode_array(arrays[name], labels).items()}
    return files


def root_document(layout: StoreLayout, attributes: Mapping[str, Any]) -> bytes:
    """Return the root document of a store, which contains all other metadata documents."""
    return group_document(attributes, *layout.tree())


def is_root_intact(content: bytes, attributes: Mapping[str, Any]) -> bool:
    """Return whether the root document of a study, or of named arrays, is complete and matches its digests."""
    try:
        marker, kind = attributes[MARKER], store_format(attributes)
        if kind == STUDY:
            StoreLayout.of(marker["layout"])
        sealed = is_sealed(content)
        intact = is_earlier(attributes) if sealed is None else sealed
        return intact and fingerprint(marker["about"]) == marker["study"] and kind in (STUDY, NUMBERS)
    except MALFORMED_STORE_ERRORS:
        return False


def named_arrays(place: Folder, root: bytes) -> dict[str, np.ndarray]:
    """Return the arrays of a store of named arrays; one of `MALFORMED_STORE_ERRORS` if one is damaged or absent."""
    document, arrays = json.loads(root), {}
    marker = document["attributes"][MARKER]
    for name in marker["names"]:
        folder = encode_name(name)
        spec = ArraySpec.of(document["consolidated_metadata"]["metadata"][folder])
        try:
            arrays[name] = decode_array(spec, lambda key, folder=folder: place.read(f"{folder}/{key}"))
        except ValueError as error:
            raise DamagedStoreError(f"{folder}: a chunk is missing or does not match its checksum") from error
    if marker["sha256"] != _hash(marker["study"], arrays):
        raise DamagedStoreError(f"{', '.join(arrays)}: the numbers do not match their digest")
    return arrays


def is_state_intact(study: str, key: str, content: bytes) -> bool:
    """Return whether the file `key` of a state matches its digest; earlier versions did not hash the key."""
    body, digest = content[:-DIGEST_BYTES], content[-DIGEST_BYTES:]
    return digest in (state_digest(study, key, body), state_digest(study, "", body))


def state_digest(study: str, key: str, content: bytes) -> bytes:
    """Return the SHA-256 of a state: the hash of the study, the file that it belongs to, and its content."""
    return hashlib.sha256(study.encode() + key.encode() + content).digest()


def _state_key(rows: JobArrays, block: int, rounds: int) -> str:
    return f"{STATES_FOLDER}/{rows.name}, block {block}, round {rounds}.npz"


def _hash(study: str, arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256(study.encode())
    for name, array in arrays.items():
        digest.update(f"{name} {array.dtype} {array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _difference(theirs: Mapping[str, str], ours: Mapping[str, str]) -> str:
    names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]

    def describe(name: str) -> str:
        was, now = theirs.get(name), ours.get(name)
        if was is None or now is None:
            return f"{name} ({'new' if was is None else 'removed'})"
        long = len(was) == len(now) == 16
        return name if long else f"{name} (was {was}, is {now})"

    shown = "; ".join(describe(name) for name in names[:6])
    advice = f": give block_size={theirs['block_size']} to continue" if names == ["block_size"] else ""
    return f"{shown}{' ...' if len(names) > 6 else ''}{advice}"
