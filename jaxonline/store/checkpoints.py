"""Checkpoints of a study: a folder with `study.json`, and a file for each finished block and for each saved state.

A file of numbers is an .npz archive. The comment of the archive is the SHA-256 of the study, of the place of the file
in the folder, and of its content. So a damaged file, and a file of another block or study, are never read as numbers.
One process writes a folder; every file is complete or absent.
"""

import dataclasses
import hashlib
import io
import json
import os
import warnings
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxonline.parameters import check
from jaxonline.parameters.errors import DamagedStoreWarning
from jaxonline.parameters.signatures import check_fields
from jaxonline.parameters.types import NonNegativeFloat, Text
from jaxonline.store.files import locked, remove_abandoned, set_aside, write_atomically
from jaxonline.store.fingerprint import describe_inputs, fingerprint, hash_user_code
from jaxonline.store.output_paths import local_path

AXES = ("learner", "run", "round")
COMPARATOR_LOSS = "comparator_loss"
FIRST_ROUND_ARRAYS = ("first_nonfinite", "first_overflow")  # [learner, run], 0 if there is no such round
FORMAT, DOCUMENT = "jaxonline study 1", "study.json"
BLOCKS, STATES = "blocks", "states"  # folders
DIGEST, NO_DIGEST = "sha256", "0" * 64

Numbers = dict[str, Any]  # arrays by name


class DamagedStoreError(ValueError):
    """A file that jaxonline wrote is damaged."""


# ---------------------------------------------------------------------------------------------------------------------
# Sealed files


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
    with np.load(io.BytesIO(content), allow_pickle=False) as arrays:
        return {name: arrays[name] for name in arrays.files}


def seal_document(document: Mapping[str, Any]) -> bytes:
    """Return a JSON document with the SHA-256 of its bytes, in which zeros stand in place of the digest."""
    text = json.dumps(
        {DIGEST: NO_DIGEST, **document}, indent=1, ensure_ascii=False, default=lambda number: number.tolist()
    ).encode()
    return text.replace(NO_DIGEST.encode(), _digest(text), 1)


def open_document(content: bytes) -> dict[str, Any]:
    """Return a sealed JSON document, without its digest; DamagedStoreError if a byte differs."""
    try:
        document = json.loads(content)
        digest = document.pop(DIGEST).encode()
        if digest == _digest(content.replace(digest, NO_DIGEST.encode(), 1)):
            return document
    except (ValueError, LookupError, TypeError, AttributeError):
        pass
    raise DamagedStoreError("does not match its digest")


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


# ---------------------------------------------------------------------------------------------------------------------
# Layout


class JobArrays(NamedTuple):
    """The arrays that a job computes, and their part of the study's arrays.

    `axes` are the axes along which values may differ. If learner or run is not among them, the arrays of a block have
    one entry along this axis.
    """

    name: str  # of its folder
    label: str  # for messages
    outputs: tuple[str, ...]  # names of the arrays
    learners: tuple[int, int]  # start and stop; (0, 1) if the arrays have no such axis
    width: int  # runs in a block; 1 if the arrays have no such axis
    axes: tuple[str, ...] = AXES


class StoreLayout(NamedTuple):
    """The arrays in the store of a study: names of learners, largest number of runs, recorded rounds, and jobs."""

    learners: Sequence[str]
    runs: int
    rounds: Sequence[int]
    jobs: Sequence[Any]  # `JobArrays`, or their fields if the layout was read from a file


NAMED_ARRAYS = JobArrays("numbers", "numbers", (), (0, 1), 1, ())  # the job of `Checkpoint.compute_once`


# ---------------------------------------------------------------------------------------------------------------------
# The store


class Store:
    """The store of a study. As a context manager, it locks the folder for writing.

    Args:
        folder: the folder; an absent folder is created.
        about: descriptions of the inputs that determine the numbers (`fingerprint.describe_inputs`).
        every: minimum number of seconds between two saved states of a block.
        layout: the arrays of the study; None for the store of `Checkpoint.compute_once`.
        meta: metadata of the study's result.

    Entering the context raises ValueError if the folder belongs to another study, BlockingIOError if another process
    uses the folder, and OSError if the folder cannot be written.
    """

    def __init__(
        self, folder: Path, about: Mapping[str, str], every: float = 30.0, layout: Any = None, meta: Mapping = {}
    ):
        self.folder, self.every, self.layout, self.meta = folder, every, layout, dict(meta)
        self._about, self._study, self._stack = dict(about), fingerprint(about), ExitStack()
        self._is_writable = False

    @classmethod
    def read_only(cls, folder: Path) -> "Store":
        """Return the store in a folder, for reading.

        Raises:
            FileNotFoundError: the folder has no `study.json`.
            ValueError: `study.json` is damaged (DamagedStoreError), or not that of a study of this version.
        """
        document = _read_study(folder)
        if document["layout"] is None:
            raise ValueError(f"{folder}: has named arrays (Checkpoint.compute_once), and no study")
        return cls(folder, document["about"], layout=StoreLayout(**document["layout"]), meta=document["meta"])

    def __enter__(self) -> "Store":
        with ExitStack() as stack:
            stack.enter_context(locked(self.folder))
            remove_abandoned(self.folder, seconds=0.0)
            self._is_writable = True
            self._join()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def finished(self, job: JobArrays) -> set[int]:
        """Return the indices of a job's blocks that have a file."""
        return {int(path.stem) for path in (self.folder / BLOCKS / job.name).glob("*.npz") if path.stem.isdigit()}

    def read_block(self, job: JobArrays, block: int) -> Numbers | None:
        """Return the arrays of a finished block; None if absent, or (with a DamagedStoreWarning) damaged."""
        return self._read(self._path(BLOCKS, job, block))

    def write_block(self, job: JobArrays, block: int, numbers: Mapping[str, np.ndarray]) -> None:
        """Write a finished block, and remove its saved state."""
        self._write(self._path(BLOCKS, job, block), numbers)
        self.delete_state(job, block)

    def load_state(self, job: JobArrays, block: int) -> Numbers | None:
        """Return the saved state of an unfinished block; None if absent, or (with a DamagedStoreWarning) damaged."""
        return self._read(self._path(STATES, job, block))

    def save_state(self, job: JobArrays, block: int, arrays: Mapping[str, np.ndarray]) -> None:
        """Save the state of an unfinished block in place of its earlier state."""
        self._write(self._path(STATES, job, block), arrays)

    def delete_state(self, job: JobArrays, block: int) -> None:
        """Remove the saved state of a block."""
        self._path(STATES, job, block).unlink(missing_ok=True)

    def load_arrays(self) -> tuple[Numbers, Numbers]:
        """Return the arrays of a study [learners, runs, rounds, ...], and what is finished of each [learners, runs].

        Entries are NaN (or -1) where no block is finished. An axis along which all values are equal has one entry. An
        array is absent if no block with it is finished. The arrays of first rounds have no axis of rounds.
        """
        layout, arrays, finished = self.layout, Numbers(), Numbers()
        for job in (JobArrays(*job) for job in layout.jobs):
            sizes = (len(layout.learners) if "learner" in job.axes else 1, layout.runs if "run" in job.axes else 1)
            finished |= {name: np.zeros(sizes, bool) for name in job.outputs if name not in finished}
            for block in sorted(self.finished(job)):
                learners, runs = slice(*job.learners), slice(block * job.width, (block + 1) * job.width)
                for name, numbers in (self.read_block(job, block) or {}).items():
                    missing = np.nan if numbers.dtype.kind == "f" else -1
                    if name not in arrays:
                        arrays[name] = np.full((*sizes, *numbers.shape[2:]), missing, numbers.dtype)
                    part = arrays[name][learners, runs]
                    part[...] = numbers[:, : part.shape[1]]
                    finished[name][learners, runs] = True
        return arrays, finished

    def _join(self) -> None:
        """Check that the folder belongs to this study, and write `study.json`; a damaged one is renamed."""
        try:
            theirs = _read_study(self.folder)
        except FileNotFoundError:
            theirs = None
        except DamagedStoreError as error:
            aside = set_aside(self.folder / DOCUMENT).name
            warnings.warn(f"{error}; it was renamed to {aside} and is written again", DamagedStoreWarning, stacklevel=4)
            theirs = None
        if theirs is not None:
            if theirs["about"] != self._about:
                difference = _difference(theirs["about"], self._about)
                raise ValueError(f"checkpoint {self.folder} belongs to another study: {difference}")
            if self.layout is not None:  # a study continues with any number of runs
                self.layout = self.layout._replace(runs=max(self.layout.runs, theirs["layout"]["runs"]))
                self.meta["n_runs"] = max(self.meta.get("n_runs", 0), theirs["meta"].get("n_runs", 0))
        layout = self.layout and self.layout._asdict()
        _write_study(self.folder, {"format": FORMAT, "about": self._about, "layout": layout, "meta": self.meta})

    def _path(self, kind: str, job: JobArrays, block: int) -> Path:
        return self.folder / kind / job.name / f"{block}.npz"

    def _seal(self, path: Path) -> str:
        return f"{self._study} {path.relative_to(self.folder).as_posix()} "

    def _write(self, path: Path, arrays: Mapping[str, np.ndarray]) -> None:
        write_atomically(path, seal_arrays(arrays, self._seal(path)))

    def _read(self, path: Path) -> Numbers | None:
        try:
            return open_arrays(path.read_bytes(), self._seal(path))
        except FileNotFoundError:
            return None
        except (DamagedStoreError, IsADirectoryError):
            repair = f"; it was renamed to {set_aside(path).name} and is computed again" if self._is_writable else ""
            problem = f"{path}: is damaged, or belongs to another block or study{repair}"
            warnings.warn(problem, DamagedStoreWarning, stacklevel=3)
            return None


def update_meta(folder: Path, meta: Mapping[str, Any]) -> None:
    """Change the metadata of a stored study."""
    with locked(folder):
        document = _read_study(folder)
        _write_study(folder, document | {"meta": document["meta"] | meta})


def _read_study(folder: Path) -> dict[str, Any]:
    path = folder / DOCUMENT
    try:
        document = open_document(path.read_bytes())
    except (DamagedStoreError, IsADirectoryError):
        raise DamagedStoreError(f"{path}: is damaged; it does not match its digest") from None
    if document.get("format") != FORMAT:
        raise ValueError(f"{path}: was not written by this version of jaxonline; give another folder")
    return document


def _write_study(folder: Path, document: Mapping[str, Any]) -> None:
    write_atomically(folder / DOCUMENT, seal_document(document))


def _difference(theirs: Mapping[str, str], ours: Mapping[str, str]) -> str:
    """Describe how the inputs of two studies differ."""
    names = [name for name in {**ours, **theirs} if ours.get(name) != theirs.get(name)]

    def describe(name: str) -> str:
        was, now = theirs.get(name), ours.get(name)
        if was is None or now is None:
            return f"{name} ({'new' if was is None else 'removed'})"
        is_hash = len(was) == len(now) == 16
        return name if is_hash or len(was + now) > 120 else f"{name} (was {was}, is {now})"

    shown = "; ".join(describe(name) for name in names[:6])
    return f"{shown}{' ...' if len(names) > 6 else ''}"


# ---------------------------------------------------------------------------------------------------------------------
# The argument `checkpoint`


@dataclasses.dataclass(frozen=True)
class Checkpoint:
    """The folder where a study stores its computed numbers. A `checkpoint=` argument also accepts a path.

    `jo.load_result` reads the finished runs of a checkpoint at any moment, also while the study runs.

    A checkpoint belongs to one study. Before a checkpoint is used, the stored inputs that determine the numbers are
    compared with the new inputs: all numbers, the code of your functions and classes, the globals that your code
    reads, versions of libraries, and the kind of device. A different study raises an error that names the difference.
    Some inputs cannot be inspected (a random generator, or a file that a function opens). For such inputs give a
    `version`, and change the version whenever you change the code: then the version and the numbers are compared, but
    not the code.

    A study with more runs counts as the same study: it continues, and finished blocks stay. Each file has a digest. A
    damaged file is renamed, with a warning, and its block is computed again. Only one process at a time can use a
    folder.

    Args:
        folder: a path; an absent folder is created.
        version: your name for this version of the study.
        every: number of seconds between two saved states of an unfinished block.

    Raises:
        TypeError: `folder` is not a path.
        ValueError: `folder` is empty or a URL.

    Example:
        >>> import tempfile
        >>> import numpy as np
        >>> import jaxonline as jo
        >>> game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
        >>> learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     checkpoint = jo.Checkpoint(folder, version="1", every=60.0)
        ...     sizes = {"n_rounds": 6, "block_size": 2, "checkpoint": checkpoint}
        ...     first, longer = (jo.simulate(game, learner, n_runs=n, **sizes) for n in (2, 4))
        >>> len(longer.runs), bool((first.cumulative_loss == longer.cumulative_loss[:, :2]).all())
        (4, True)
    """

    folder: str | os.PathLike[str]
    version: Text | None = None
    every: NonNegativeFloat = 30.0

    def __post_init__(self) -> None:
        check.path("folder", self.folder)
        check_fields(self)
        object.__setattr__(self, "folder", local_path(self.folder, "folder"))

    @classmethod
    def of(cls, checkpoint: "str | os.PathLike[str] | Checkpoint") -> "Checkpoint":
        """Convert the value of an argument `checkpoint` to a `Checkpoint`."""
        if isinstance(checkpoint, Checkpoint):
            return checkpoint
        check.instance("checkpoint", checkpoint, (str, os.PathLike), "a folder, or a Checkpoint")
        return cls(local_path(check.path("checkpoint", checkpoint), "checkpoint"))

    def __truediv__(self, name: str) -> "Checkpoint":
        """Return the checkpoint of a part of the study, which is a folder inside the folder of the study."""
        return dataclasses.replace(self, folder=Path(self.folder) / name)

    def block_size(self) -> int | None:
        """Return the block size of the study in the folder, or None if there is no readable study."""
        try:
            return int(_read_study(Path(self.folder))["about"]["block_size"])
        except (OSError, ValueError, KeyError):
            return None

    def refresh_code(self, items: Mapping[str, Any]) -> str:
        """Clear the user's caches in `items`, and return the version with a hash of the user's code ("" for no code).

        Caches are those of `functools.lru_cache` and `functools.cached_property`: they may hold values that older code
        computed. Raises a TypeError if code cannot be inspected and there is no version.
        """
        code = hash_user_code(items, strict=self.version is None, clear_caches=True)
        return code if self.version is None else f"{self.version} {code}"

    def open(self, study: Mapping[str, Any], layout: StoreLayout | None = None, meta: Mapping[str, Any] = {}) -> Store:
        """Return the store of the checkpoint, which is a context manager.

        Raises a TypeError if an input cannot be inspected and needs a `version`.

        Args:
            study: all inputs that decide the numbers, by name.
            layout: layout of the arrays; None for a store of named arrays.
            meta: metadata of the result.
        """
        return Store(Path(self.folder), describe_inputs(study, self.version), float(self.every), layout, meta)

    def compute_once(self, inputs: Any, compute: Callable[[], dict[str, np.ndarray]]) -> dict[str, np.ndarray]:
        """Return the arrays of `compute`, or the arrays that the checkpoint stores for the same inputs."""
        with self.open({"inputs": inputs}) as store:
            numbers = store.read_block(NAMED_ARRAYS, 0)
            if numbers is None:
                numbers = compute()
                store.write_block(NAMED_ARRAYS, 0, numbers)
        return numbers
