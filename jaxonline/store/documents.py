"""JSON documents with a digest of their own bytes, and the attributes of jaxonline's stores.

A document has the entry `DIGEST`: the SHA-256 of all bytes of the document, with zeros in place of the digest. So every
changed byte is noticed when the document is read.
"""

import hashlib
import json
import re
import warnings
from collections.abc import Mapping
from typing import Any

from jaxonline.parameters.errors import DamagedStoreWarning

MARKER = "jaxonline"  # an attribute of our stores
STUDY, NUMBERS, RESULT = "jaxonline study 3", "jaxonline numbers 2", "jaxonline result 2"
# formats of earlier versions, whose documents have no digest; they are read as the formats of today
EARLIER_FORMATS = {"jaxonline study 2": STUDY, "jaxonline numbers 1": NUMBERS, "jaxonline result 1": RESULT}
MALFORMED_STORE_ERRORS = (ValueError, LookupError, TypeError, AttributeError)
DIGEST, NO_DIGEST = "document_sha256", "0" * 64


class DamagedStoreError(ValueError):
    """A file of a store or of a study's folder is damaged or absent."""


def digest_of(content: bytes) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal."""
    return hashlib.sha256(content).hexdigest()


def seal(document: bytes) -> bytes:
    """Write the digest of a JSON document into the document, which must contain the entry `DIGEST: NO_DIGEST`."""
    return document.replace(_entry(NO_DIGEST), _entry(digest_of(document)), 1)


def is_sealed(document: bytes) -> bool | None:
    """Return whether a JSON document matches its digest; None if it has no digest."""
    digests = re.findall(_entry("([0-9a-f]{64})"), document)
    if not digests:
        return None
    return any(digest_of(document.replace(_entry(d.decode()), _entry(NO_DIGEST), 1)) == d.decode() for d in digests)


def check_sealed(name: str, document: bytes, earlier: bool) -> None:
    """Check the digest of the document called `name`.

    Raises DamagedStoreError if the digest does not match, or if it is absent and the document is not of an `earlier`
    version of jaxonline, which wrote no digests. Then an absent digest gives a DamagedStoreWarning.
    """
    intact = is_sealed(document)
    if intact is None and earlier:
        warnings.warn(
            f"{name}: has no digest, because an earlier version of jaxonline wrote it; damage cannot be noticed",
            DamagedStoreWarning, stacklevel=4,
        )  # fmt: skip
    elif not intact:
        raise DamagedStoreError(f"{name}: is damaged; it does not match its digest")


def parse_attributes(content: bytes) -> dict[str, Any] | None:
    """Return the attributes in a zarr document; None if the content is not a zarr document."""
    try:
        root = json.loads(content)
        attributes = root.get("attributes", {})
        return attributes if root["zarr_format"] == 3 and isinstance(attributes, dict) else None
    except MALFORMED_STORE_ERRORS:
        return None


def store_format(attributes: Mapping[str, Any]) -> Any:
    """Return the format of a store from its attributes; None for a store that jaxonline did not write.

    An earlier format that this version reads counts as today's format.
    """
    marker = attributes.get(MARKER)
    kind = marker.get("format") if isinstance(marker, Mapping) else None
    return EARLIER_FORMATS.get(kind, kind) if isinstance(kind, str) else kind


def is_earlier(attributes: Mapping[str, Any]) -> bool:
    """Return whether an earlier version of jaxonline wrote the store, in a format without digests."""
    return attributes[MARKER]["format"] in EARLIER_FORMATS


def check_format(name: str, attributes: Mapping[str, Any]) -> None:
    """Raise ValueError if the store has a format of another version of jaxonline that this version cannot read."""
    kind = str(store_format(attributes))
    if re.fullmatch(r"jaxonline (study|numbers|result) \d+", kind) and kind not in (STUDY, NUMBERS, RESULT):
        version = attributes.get("versions", {}).get("jaxonline", "another version")
        raise ValueError(
            f"{name}: was written by jaxonline {version} in the format {kind!r}, which this version cannot read; "
            "give another folder, or use the version that wrote it"
        )


def _entry(digest: str) -> bytes:
    return f'"{DIGEST}": "{digest}"'.encode()
