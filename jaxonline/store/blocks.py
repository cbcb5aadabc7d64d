"""The store of a study, open for one process: what it belongs to, its blocks, and what blocks in progress have come to.

The folder (or what is at a URL) is a zarr group, whole at any moment; its first document says all that readers need.
"""

import contextlib
import functools
import hashlib
import json
import math
import os
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jaxonline.store.filesystem import Bucket, Folder, place_of
from jaxonline.store.layout import FINISHED, RECORDS, STATES, Blocks, Rows, StoreLayout, fingerprint
from jaxonline.store.zarr_format import (
    DOCUMENT,
    ArraySpec,
    decode_whole,
    document,
    encode_whole,
    group,
    node,
    plain_group,
)

MARKER = "jaxonline"  # an attribute: what has it is ours
STUDY, NUMBERS, RESULT = "jaxonline study 1", "jaxonline numbers 1", "jaxonline result 1"
SLOTS = ("a", "b")  # a state is kept in the one that holds the older one
STRANGE = (ValueError, LookupError, TypeError, AttributeError)


class Store:
    """An open store.

    Args:
        place: made when absent.
        about: what decides the numbers (`fingerprint.describe`).
        every: seconds between two keepings of a block in progress, at least.
        layout: of a study; None for a store of numbers with names.
        meta: attributes of the study.
        keep_states: whether the states of finished blocks stay, from which more rounds can be played.
        alone: whether the store is locked and made; where not, another process has it open, and hands out blocks.

    Attributes:
        layout: of what is there, with the runs and rounds that were asked for.

    Raises:
        ValueError: on entering, if there is another study, or something else.
        BlockingIOError: on entering, if another process is working in the folder.
        OSError: on entering, if nothing can be written there; the error names the path.
    """

    def __init__(
        self, place: Folder | Bucket, about: Mapping[str, str], every: float, layout: StoreLayout | None = None,
        meta: Mapping[str, Any] | None = None, keep_states: bool = False, alone: bool = True,
    ):  # fmt: skip
        self.every, self.keep_states, self.layout = every, keep_states, layout
        self.place, self._about, self._study = place, dict(about), fingerprint(about)
        self._meta, self._alone, self._held = dict(meta or {}), alone, contextlib.ExitStack()

    def __enter__(self) -> "Store":
        with contextlib.ExitStack() as stack:
            if self._alone:
                self._refuse(attributes_in(self.place.read(DOCUMENT) or b""))  # before anything is made there
                stack.enter_context(self.place.held())
            self._open()
            self._held = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._held.close()

    def joined(self) -> Callable[[], "Store"]:
        """What opens it in another process, while it is open in this one; can be pickled."""
        layout = self.blocks.layout
        return functools.partial(_join, self.place.address, dict(self._about), self.every, layout, self.keep_states)

    @property
    def blocks(self) -> Blocks:
        """The blocks of a study."""
        if self.layout is None:
            raise TypeError(f"{self.place.name} keeps numbers, and no study")
        return self._blocks

    def read_numbers(self) -> dict[str, np.ndarray] | None:
        """The arrays of a store of numbers by name; None where they are absent or, with a warning, damaged."""
        root = self._root()
        if root is None or "names" not in root[MARKER]:
            return None
        try:
            return self._read_arrays("", root[MARKER])
        except ValueError:
            self._warn("its numbers are damaged, and are computed again")
            return None

    def write_numbers(self, arrays: Mapping[str, np.ndarray]) -> None:
        """Keep arrays by name."""
        self._write_arrays("", arrays, self._marker(NUMBERS))

    # -----------------------------------------------------------------------------------------------------------------
    # Blocks in progress

    def state(self, rows: Rows, block: int) -> tuple[int, dict[str, np.ndarray]] | None:
        """The round to which a block in progress has come, and arrays by name; None where nothing is kept."""
        markers = self._markers(rows, block)
        for path in sorted(markers, key=lambda path: -markers[path]["round"]):
            try:
                packed = self._read_arrays(path, markers[path])
                return markers[path]["round"], _unpacked(packed, markers[path]["leaves"])
            except STRANGE:
                self._warn(f"block {block} of {rows.label!r}, in progress, is damaged; it goes on from earlier rounds")
                self._drop(path)
        return None

    def states(self, rows: Rows) -> set[int]:
        """The blocks of a job of which a state is kept."""
        start = f"{rows.name}, block "
        names = (name.removeprefix(start) for name in self.place.names(STATES) if name.startswith(start))
        return {int(name.partition(",")[0]) for name in names}

    def keep_state(self, rows: Rows, block: int, rounds: int, arrays: Mapping[str, np.ndarray]) -> None:
        """Keep a block in progress."""
        markers = self._markers(rows, block)
        free = next((path for path in self._slots(rows, block) if path not in markers), None)
        free = free or min(markers, key=lambda path: markers[path]["round"])
        self._drop(free)
        leaves = {name: [str(array.dtype), array.shape] for name, array in arrays.items()}
        marker = {"format": STATES, "study": self._study, "round": rounds, "leaves": leaves}
        self._write_arrays(free, _packed(arrays), marker, durable=False)
        for path in markers:
            if path != free:
                self._drop(path)

    def forget_state(self, rows: Rows, block: int) -> None:
        """A block is not in progress any more."""
        for path in self._slots(rows, block):
            self._drop(path)

    def _slots(self, rows: Rows, block: int) -> list[str]:
        return [f"{STATES}/{rows.name}, block {block}, {slot}" for slot in SLOTS]

    def _drop(self, path: str) -> None:
        """First the document without which the rest is nothing."""
        self.place.remove(f"{path}/{DOCUMENT}")
        self.place.remove(path)

    def _markers(self, rows: Rows, block: int) -> dict[str, dict[str, Any]]:
        """By path, what the states of a block say of themselves; none that are not whole, or of another study."""
        found = {}
        for path in self._slots(rows, block):
            with contextlib.suppress(*STRANGE):
                marker = json.loads(self.place.read(f"{path}/{DOCUMENT}") or b"")["attributes"][MARKER]
                if marker["study"] == self._study and marker["round"] >= 0:
                    found[path] = marker
        return found

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
                self.place.write({DOCUMENT: group({MARKER: self._marker(NUMBERS)}, {})})
            return
        if root is not None:
            self.layout = self._extended(root[MARKER], self.layout)
            self._meta = self._joined(root, self._meta)
        elif not self._alone:
            raise ValueError(f"checkpoint {self.place.name} holds no study yet")
        self._blocks = Blocks(self.place, self._study, self.layout, repairs=self._alone)
        if self._alone:
            for files in (documents(self.layout), {DOCUMENT: self._document(self.layout)}):
                if new := {key: content for key, content in files.items() if self.place.read(key) != content}:
                    self.place.write(new)

    def _root(self) -> dict[str, Any] | None:
        """The attributes of the store; None where there is none yet, or where they are damaged and were set aside."""
        content = self.place.read(DOCUMENT)
        if content is None:
            return None
        attributes = attributes_in(content)
        self._refuse(attributes)
        if attributes is not None and _is_whole(attributes[MARKER]):
            return attributes
        if self._alone:
            aside = self.place.set_aside(DOCUMENT)
            told = "the blocks say themselves which study they belong to"
            self._warn(f"{DOCUMENT} is damaged, and was set aside as {aside}; {told}")
        return None

    def _refuse(self, attributes: Mapping[str, Any] | None) -> None:
        """What is no study's."""
        if attributes is not None and MARKER not in attributes:
            raise ValueError(f"checkpoint {self.place.name} is a zarr store of something else")
        if attributes is not None and format_of(attributes) == RESULT:
            raise ValueError(f"checkpoint {self.place.name} is a result that was saved, and no study to go on with")

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
        """Where the first document is not there, no block may be of another study."""
        for folder in self.place.names(FINISHED):
            for name in self.place.names(f"{FINISHED}/{folder}"):
                try:
                    record = RECORDS.decode(self.place.read(f"{FINISHED}/{folder}/{name}") or b"")
                except ValueError:
                    continue
                if int(record[0, 1]) != int(self._study, 16):
                    raise ValueError(
                        f"checkpoint {self.place.name} holds a block of another study: {FINISHED}/{folder}/{name}"
                    )

    @staticmethod
    def _joined(theirs: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
        """Attributes, of which the numbers of runs and rounds do not shrink; how many runs there are was chosen by
        looking where it is now."""
        grown = {name for name in ("n_runs", "n_rounds") if name in theirs and name in ours}
        most = {name: max(theirs[name], ours[name]) for name in grown}
        return {name: of for name, of in theirs.items() if name not in (MARKER, "precision")} | dict(ours) | most

    def _other(self, difference: str) -> ValueError:
        return ValueError(f"checkpoint {self.place.name} holds another study: {difference}")

    def _warn(self, words: str) -> None:
        warnings.warn(f"checkpoint {self.place.name}: {words}", RuntimeWarning, stacklevel=3)

    # -----------------------------------------------------------------------------------------------------------------
    # Documents, and arrays by name

    def _marker(self, kind: str) -> dict[str, Any]:
        return {"format": kind, "study": self._study, "about": self._about}

    def _document(self, layout: StoreLayout) -> bytes:
        return first_document(layout, self._meta | {MARKER: self._marker(STUDY) | {"layout": layout.told()}})

    def _write_arrays(
        self, path: str, arrays: Mapping[str, np.ndarray], marker: Mapping[str, Any], durable: bool = True
    ) -> None:
        """Arrays in a group, whose document is written last: it describes them, and holds their hash."""
        specs = {name: ArraySpec.whole(name, array) for name, array in arrays.items()}
        start = f"{path}/" if path else ""
        files = {
            f"{start}{node(name)}/{key}": content
            for name, array in arrays.items()
            for key, content in encode_whole(specs[name], array).items()
        }
        self.place.write(files, durable)
        marker = {**marker, "names": list(arrays), "sha256": _hash(self._study, arrays)}
        below = {node(name): spec for name, spec in specs.items()}
        self.place.write({f"{start}{DOCUMENT}": group({MARKER: marker}, below)}, durable)

    def _read_arrays(self, path: str, marker: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """What `_write_arrays` has written.

        Raises:
            ValueError: it is damaged.
        """
        start, arrays = f"{path}/" if path else "", {}
        try:
            documents = json.loads(self.place.read(f"{start}{DOCUMENT}") or b"")["consolidated_metadata"]["metadata"]
            for name in marker["names"]:
                folder = f"{start}{node(name)}"
                spec = ArraySpec.of(documents[node(name)])
                arrays[name] = decode_whole(spec, lambda key, folder=folder: self.place.read(f"{folder}/{key}"))
            good = marker["sha256"] == _hash(self._study, arrays)
        except STRANGE as error:
            raise ValueError("an array is damaged") from error
        if not good:
            raise ValueError("an array is another one")
        return arrays


def _join(where: str, about: dict[str, str], every: float, layout: StoreLayout, keep_states: bool) -> Store:
    return Store(place_of(where), about, every, layout, None, keep_states, alone=False)


def note(where: str | os.PathLike[str], meta: Mapping[str, Any]) -> None:
    """Change attributes of a study."""
    place = place_of(where)
    with place.held():
        root = json.loads(place.read(DOCUMENT) or b"")
        root["attributes"] |= meta
        place.write({DOCUMENT: document(root)})


def documents(layout: StoreLayout) -> dict[str, bytes]:
    """The documents of all groups and arrays but the first one, and the coordinates."""
    arrays, groups = layout.tree()
    files = {f"{path}/{DOCUMENT}": plain_group() for path in groups}
    files |= {f"{path}/{DOCUMENT}": document(spec.document()) for path, spec in arrays.items()}
    for name, labels in layout.coordinates().items():
        files |= {f"{name}/{key}": content for key, content in encode_whole(arrays[name], labels).items()}
    return files


def first_document(layout: StoreLayout, attributes: Mapping[str, Any]) -> bytes:
    """The document of the store, which tells of all others."""
    return group(attributes, *layout.tree())


def attributes_in(content: bytes) -> dict[str, Any] | None:
    """The attributes in a document of zarr; None where it is none."""
    try:
        root = json.loads(content)
        found = root.get("attributes", {})
        return found if root["zarr_format"] == 3 and isinstance(found, dict) else None
    except STRANGE:
        return None


def format_of(attributes: Mapping[str, Any]) -> Any:
    """What kind of store of ours the attributes are of; None where they are of none."""
    marker = attributes.get(MARKER)
    return marker.get("format") if isinstance(marker, Mapping) else None


def _is_whole(marker: Any) -> bool:
    """Whether the first document says what it is, and whose."""
    try:
        if marker["format"] == STUDY:
            StoreLayout.of(marker["layout"])
        return fingerprint(marker["about"]) == marker["study"] and marker["format"] in (STUDY, NUMBERS)
    except STRANGE:
        return False


def _packed(arrays: Mapping[str, np.ndarray]) -> dict[str, np.ndarray]:
    """The bytes of many small arrays in a single one."""
    return {"bytes": np.frombuffer(b"".join(array.tobytes() for array in arrays.values()), np.uint8)}


def _unpacked(packed: Mapping[str, np.ndarray], leaves: Mapping[str, Any]) -> dict[str, np.ndarray]:
    found, start = {}, 0
    for name, (kind, shape) in leaves.items():
        end = start + np.dtype(kind).itemsize * math.prod(shape)
        found[name] = packed["bytes"][start:end].view(kind).reshape(shape)
        start = end
    return found


def _hash(study: str, arrays: Mapping[str, np.ndarray]) -> str:
    digest = hashlib.sha256(study.encode())
    for name, array in arrays.items():
        digest.update(f"{name} {array.dtype} {array.shape}".encode() + np.ascontiguousarray(array).tobytes())
    return digest.hexdigest()


def _difference(theirs: Mapping[str, str], ours: Mapping[str, str]) -> str:
    """What two descriptions of studies do not have in common, the most telling first."""
    names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]

    def told(name: str) -> str:
        was, now = theirs.get(name), ours.get(name)
        if was is None or now is None:
            return f"{name} ({'new' if was is None else 'no more'})"
        long = len(was) == len(now) == 16
        return name if long else f"{name} (was {was}, is {now})"

    shown = "; ".join(told(name) for name in names[:6])
    advice = f": give block_size={theirs['block_size']} to go on" if names == ["block_size"] else ""
    return f"{shown}{' ...' if len(names) > 6 else ''}{advice}"
