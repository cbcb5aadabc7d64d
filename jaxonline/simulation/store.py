"""Numbers of a study in a folder: one file a block, each with the study it belongs to and a checksum.

One process at a time works in a folder. A file is whole or absent, whenever the process is killed; one that was damaged
since is set aside with a warning, and its block is computed again.
"""

import errno
import hashlib
import io
import json
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np

from jaxonline._util.files import UNFINISHED, naming, set_aside, write_whole
from jaxonline.simulation.fingerprint import fingerprint

try:
    import fcntl
except ImportError:  # Windows
    fcntl = None

FORMAT = "jaxonline block 1"
BLOCK = ".block"


class Store:
    """An open folder of finished blocks, and of what blocks in progress have come to.

    Args:
        folder: made when absent.
        about: what decides the numbers (`fingerprint.describe`).
        every: seconds between two keepings of a block in progress, at least.

    Raises:
        ValueError: on entering, if the folder holds the blocks of another study.
        BlockingIOError: on entering, if another process is working in the folder.
        OSError: on entering, if nothing can be written there; the error names the path.
    """

    def __init__(self, folder: Path, about: Mapping[str, str], every: float):
        self.every = every
        self._folder, self._about, self._study = folder, dict(about), fingerprint(about)
        self._manifest = folder / "study.json"
        self._lock: IO[bytes] | None = None

    def __enter__(self) -> "Store":
        with naming(self._folder):
            self._folder.mkdir(parents=True, exist_ok=True)
        self._lock = _locked(self._folder)
        try:
            for leftover in self._folder.glob(f".*{UNFINISHED}"):  # of a process that was killed
                leftover.unlink()
            self._check_study()
            content = {"fingerprint": self._study, "about": self._about}
            write_whole(self._manifest, json.dumps(content, indent=1).encode())
        except BaseException:
            self._lock.close()
            raise
        return self

    def __exit__(self, *error: object) -> None:
        if self._lock is not None:
            self._lock.close()

    def read(self, name: str, block: int) -> dict[str, np.ndarray] | None:
        """The arrays of a block by name; None where it is absent or damaged."""
        path = self._path(name, block)
        if not path.exists():
            return None
        try:
            header, arrays = unpacked(path.read_bytes())
        except (ValueError, LookupError, TypeError, AttributeError, IsADirectoryError):
            header, arrays = None, {}
        if header is not None and header["study"] != self._study:
            raise ValueError(f"checkpoint {self._folder} holds a block of another study: {path.name}")
        if header is None or (header["name"], header["block"]) != (name, block):
            warnings.warn(
                f"checkpoint {self._folder}: block {block} of {name!r} is damaged, is computed again, and was set "
                f"aside as {set_aside(path).name}", RuntimeWarning, stacklevel=2,
            )  # fmt: skip
            return None
        return arrays

    def write(self, name: str, block: int, arrays: Mapping[str, np.ndarray]) -> None:
        """Keep a block."""
        header = {"format": FORMAT, "study": self._study, "name": name, "block": block}
        write_whole(self._path(name, block), packed(header, arrays))

    def remove(self, name: str, block: int) -> None:
        """Forget a block."""
        self._path(name, block).unlink(missing_ok=True)

    def _path(self, name: str, block: int) -> Path:
        return self._folder / f"{hashlib.sha256(name.encode()).hexdigest()[:12]}-{block}{BLOCK}"

    def _check_study(self) -> None:
        theirs = self._read_manifest()
        if theirs is not None and theirs != self._about:
            raise ValueError(f"checkpoint {self._folder} holds another study: {_difference(theirs, self._about)}")
        for path in sorted(self._folder.glob(f"*{BLOCK}")):
            if _study_of(path) not in (None, self._study):
                raise ValueError(f"checkpoint {self._folder} holds a block of another study: {path.name}")

    def _read_manifest(self) -> dict[str, str] | None:
        """What the folder says about its study; None where it says nothing that can be read."""
        if not self._manifest.exists():
            return None
        try:
            content = json.loads(self._manifest.read_bytes())
            if fingerprint(content["about"]) == content["fingerprint"]:
                return content["about"]
        except (ValueError, LookupError, TypeError, AttributeError, IsADirectoryError):
            pass
        warnings.warn(
            f"checkpoint {self._folder}: study.json is damaged, and was set aside as {set_aside(self._manifest).name}; "
            "the blocks say themselves which study they belong to", RuntimeWarning, stacklevel=2,
        )  # fmt: skip
        return None


def packed(header: Mapping[str, Any], arrays: Mapping[str, np.ndarray]) -> bytes:
    """A line that says what the arrays are, with a checksum of everything, and the arrays."""
    odd = {name: str(array.dtype) for name, array in arrays.items() if array.dtype.kind == "V"}  # as bfloat16
    plain = {name: array.view(f"u{array.dtype.itemsize}") if name in odd else array for name, array in arrays.items()}
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **plain)  # type: ignore[arg-type]
    payload, line = buffer.getvalue(), {**header, "dtypes": odd}
    return json.dumps({**line, "sha256": _checksum(line, payload)}).encode() + b"\n" + payload


def unpacked(content: bytes) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """What `packed` has packed.

    Raises:
        ValueError, LookupError, TypeError, AttributeError: it is damaged, or something else.
    """
    first, _, payload = content.partition(b"\n")
    header = json.loads(first)
    if header.pop("sha256") != _checksum(header, payload) or header["format"] != FORMAT:
        raise ValueError("the checksum is another one")
    with np.load(io.BytesIO(payload), allow_pickle=False) as arrays:
        found = dict(arrays)
    return header, found | {name: found[name].view(dtype) for name, dtype in header["dtypes"].items()}


def _checksum(header: Mapping[str, Any], payload: bytes) -> str:
    return hashlib.sha256(json.dumps(header, sort_keys=True).encode() + payload).hexdigest()


def _study_of(path: Path) -> str | None:
    """The study that a block belongs to, where it is not damaged."""
    try:
        with path.open("rb") as file:
            claimed = json.loads(file.readline())["study"]
        return unpacked(path.read_bytes())[0]["study"] if claimed else None
    except (ValueError, LookupError, TypeError, AttributeError, IsADirectoryError):
        return None


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
    return f"{shown}{' ...' if len(names) > 6 else ''}"


def _locked(folder: Path) -> IO[bytes]:
    """A file that is locked as long as it is open: the system unlocks it when the process ends, however it ends."""
    path = folder / "lock"
    with naming(path):
        file = path.open("ab")
    try:
        if fcntl is not None:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in (errno.EAGAIN, errno.EACCES):
            file.close()
            message = "another process is working on this checkpoint; wait for it, or give another folder"
            raise BlockingIOError(errno.EAGAIN, message, os.fspath(folder)) from None
        warnings.warn(
            f"checkpoint {folder} cannot be locked ({error.strerror}): see to it that one process works on it",
            RuntimeWarning, stacklevel=2,
        )  # fmt: skip
    return file
