"""Verification of a store: each file is compared with its digest, or with the metadata that determine the file."""

import json
import re
from collections.abc import Iterator, Mapping
from typing import Any

from jaxonline.store.blocks import (
    MALFORMED_STORE_ERRORS,
    is_root_intact,
    is_state_intact,
    metadata_documents,
    named_arrays,
)
from jaxonline.store.documents import (
    MARKER,
    NUMBERS,
    RESULT,
    STUDY,
    digest_of,
    is_earlier,
    is_sealed,
    parse_attributes,
    store_format,
)
from jaxonline.store.filesystem import Folder
from jaxonline.store.layout import STATES_FOLDER, Blocks, StoreLayout
from jaxonline.store.zarr_format import DOCUMENT

MISSING, CHANGED = "is missing", "does not match its digest"


def is_store(place: Folder) -> bool:
    """Return whether a folder is a store of jaxonline, perhaps with a damaged or missing root document."""
    content, names = place.read(DOCUMENT), place.names()
    if content is not None and parse_attributes(content) is not None:
        return MARKER in (parse_attributes(content) or {}) or is_sealed(content) is not None
    if any(re.fullmatch(r"c(\.\d+)*", name) and place.read(name) for name in names):
        return False  # chunks: the folder of an array
    return content is not None or place.read("blocks/lock") is not None or any(_is_array(place, name) for name in names)


def find_damage(place: Folder) -> list[str]:
    """Return one line for each damaged or missing file of a store: the path of the file, and what is wrong."""
    content = place.read(DOCUMENT)
    if content is None:
        return [f"{DOCUMENT}: {MISSING}"]
    attributes = parse_attributes(content)
    kind = None if attributes is None else store_format(attributes)
    if attributes is None or is_sealed(content) is False:
        return [f"{DOCUMENT}: {CHANGED}"]
    if kind not in (RESULT, STUDY, NUMBERS):
        return [f"{DOCUMENT}: is not the root document of a store that this version of jaxonline reads"]
    if is_earlier(attributes):
        return [f"{DOCUMENT}: has no digest, because an earlier version wrote it; this store cannot be verified"]
    if is_sealed(content) is None or (kind != RESULT and not is_root_intact(content, attributes)):
        return [f"{DOCUMENT}: {CHANGED}"]
    marker = attributes[MARKER]
    if kind == RESULT:
        return changed_files(place, marker["sha256"])
    if kind == STUDY:
        return list(_study_damage(place, marker))
    try:
        named_arrays(place, content) if "names" in marker else None
    except MALFORMED_STORE_ERRORS as error:
        return [str(error)]
    return []


def changed_files(place: Folder, digests: Mapping[str, str]) -> list[str]:
    """Return one line for each file that is missing or does not match its digest."""
    contents = ((path, place.read(path)) for path in digests)
    return [
        f"{path}: {MISSING if content is None else CHANGED}"
        for path, content in contents
        if content is None or digest_of(content) != digests[path]
    ]


def _is_array(place: Folder, name: str) -> bool:
    try:
        return json.loads(place.read(f"{name}/{DOCUMENT}") or b"")["node_type"] == "array"
    except MALFORMED_STORE_ERRORS:
        return False


def _study_damage(place: Folder, marker: Mapping[str, Any]) -> Iterator[str]:
    layout, study = StoreLayout.of(marker["layout"]), marker["study"]
    yield from changed_files(place, {path: digest_of(of) for path, of in metadata_documents(layout).items()})
    blocks = Blocks(place, study, layout, repairs=False)
    for rows in layout.rows:
        for block in sorted(blocks.finished(rows)):
            damage = blocks.describe_damage(rows, block)
            if damage is not None:
                yield damage
        for block in blocks.unrecorded(rows):
            reason = "it is being written, or the record was deleted"
            yield f"block {block} of {rows.label!r}: has numbers but no record; {reason}"
    for name in place.names(STATES_FOLDER):
        key = f"{STATES_FOLDER}/{name}"
        if name.endswith(".npz") and not is_state_intact(study, key, place.read(key) or b""):
            yield f"{key}: {CHANGED}"
