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

from jaxonline.parameters.warning_classes import DamagedStoreWarning
from jaxonline.store.atomic_files import DAMAGED_ARCHIVE_ERRORS
from jaxonline.store.filesystem import Bucket, Folder, storage_at
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

MARKER = "jaxonline"  # an attribute of our stores
STUDY, NUMBERS, RESULT = "jaxonline study 2", "jaxonline numbers 1", "jaxonline result 1"
DIGEST_BYTES = 32  # SHA-256, at the end of the file of a state
MALFORMED_STORE_ERRORS = (ValueError, LookupError, TypeError, AttributeError)


class Store:
    """An open store, as a context manager; its `layout` is the stored layout plus the requested runs and rounds.

    Args:
        place: the folder or URL of the store; an absent folder is created.
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
        self, place: Folder | Bucket, about: Mapping[str, str], every: float, layout: StoreLayout | None = None,
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
            documents = json.loads(content)["consolidated_metadata"]["metadata"]
            arrays = {}
            for name in root[MARKER]["names"]:
                folder = encode_name(name)
                arrays[name] = decode_array(
                    ArraySpec.of(documents[folder]),
                    lambda key, folder=folder: self.place.read(f"{folder}/{key}"),
                )
            if root[MARKER]["sha256"] == _hash(self._study, arrays):
                return arrays
        except MALFORMED_STORE_ERRORS:
            pass
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
        self.place.write({DOCUMENT: group_document({MARKER: marker}, specs)})

    # -----------------------------------------------------------------------------------------------------------------
    # Blocks in progress

    def load_state(self, rows: JobArrays, block: int) -> tuple[int, dict[str, np.ndarray]] | None:
        """Return round and arrays of a block's last state; None if it has no state. bfloat16 is returned as bytes."""
        for rounds in sorted(self._states(rows).get(block, []), reverse=True):
            key = _state_key(rows, block, rounds)
            try:
                return rounds, self._unpack(self.place.read(key) or b"")
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
        self.place.write({key: content + self._digest(content)}, durable=False)
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

    def _unpack(self, content: bytes) -> dict[str, np.ndarray]:
        body, digest = content[:-DIGEST_BYTES], content[-DIGEST_BYTES:]
        if digest != self._digest(body):
            raise ValueError("a state is damaged, or of another study")
        with np.load(io.BytesIO(body), allow_pickle=False) as arrays:
            return dict(arrays)

    def _digest(self, content: bytes) -> bytes:
        return hashlib.sha256(self._study.encode() + content).digest()

    # -----------------------------------------------------------------------------------------------------------------
    # Opening

    def _open(self) -> None:
        root = self._root()
        if root is None:
            self._check_records()
        else:
            self._check(root[MARKER])
        if self.layout is None:
            if root is None:
                self.place.write({DOCUMENT: group_document({MARKER: self._marker(NUMBERS)}, {})})
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
        if attributes is not None and _is_intact(attributes[MARKER]):
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

    def _check(self, theirs: Mapping[str, Any]) -> None:
        if theirs["about"] != self._about:
            raise self._other(_difference(theirs["about"], self._about))
        if theirs["format"] != (NUMBERS if self.layout is None else STUDY):
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
        return {"format": kind, "study": self._study, "about": self._about}

    def _document(self, layout: StoreLayout) -> bytes:
        return root_document(layout, self._meta | {MARKER: self._marker(STUDY) | {"layout": layout.to_json()}})


def _join(where: str, about: dict[str, str], every: float, layout: StoreLayout, keep_states: bool) -> Store:
    return Store(storage_at(where, reached=True), about, every, layout, None, keep_states, exclusive=False)


def update_attributes(where: str | os.PathLike[str], meta: Mapping[str, Any]) -> None:
    """Change attributes of a study."""
    place = storage_at(where)
    with place.lock():
        root = json.loads(place.read(DOCUMENT) or b"")
        root["attributes"] |= meta
        place.write({DOCUMENT: encode_document(root)})


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


def parse_attributes(content: bytes) -> dict[str, Any] | None:
    """Return the attributes in a zarr document; None if the content is not a zarr document."""
    try:
        root = json.loads(content)
        attributes = root.get("attributes", {})
        return attributes if root["zarr_format"] == 3 and isinstance(attributes, dict) else None
    except MALFORMED_STORE_ERRORS:
        return None


def store_format(attributes: Mapping[str, Any]) -> Any:
    """Return the format of a store from its attributes; None for a store that jaxonline did not write."""
    marker = attributes.get(MARKER)
    return marker.get("format") if isinstance(marker, Mapping) else None


def check_format(name: str, attributes: Mapping[str, Any]) -> None:
    """Raise ValueError if the store has a format of another version of jaxonline that this version cannot read."""
    kind = str(store_format(attributes))
    if re.fullmatch(r"jaxonline (study|numbers|result) \d+", kind) and kind not in (STUDY, NUMBERS, RESULT):
        version = attributes.get("versions", {}).get("jaxonline", "another version")
        raise ValueError(
            f"{name}: was written by jaxonline {version} in the format {kind!r}, which this version cannot read; "
            "give another folder, or use the version that wrote it"
        )


def _is_intact(marker: Any) -> bool:
    """Return whether the root document is complete and matches its hash."""
    try:
        if marker["format"] == STUDY:
            StoreLayout.of(marker["layout"])
        return fingerprint(marker["about"]) == marker["study"] and marker["format"] in (STUDY, NUMBERS)
    except MALFORMED_STORE_ERRORS:
        return False


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
