"""Checkpoints of a study: a folder with `study.json`, and a file for each finished block and for each saved state.

A file of numbers is an .npz archive. The comment of the archive is the SHA-256 of the study, of the place of the file
in the folder, and of its content. So a damaged file, and a file of another block or study, are never read as numbers.
One process writes a folder; every file is complete or absent.
"""

import dataclasses
import os
import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import numpy as np
from annotated_types import Interval, MinLen

from jaxonline.parameters import check
from jaxonline.parameters.errors import DamagedStoreWarning
from jaxonline.parameters.signatures import check_fields
from jaxonline.parameters.types import NonNegativeFloat, NonNegativeInt, Text
from jaxonline.store import files
from jaxonline.store.archives import Numbers, open_arrays, open_document, seal_arrays, seal_document, validate
from jaxonline.store.fingerprint import describe_inputs, fingerprint, hash_user_code

AXES = ("learner", "run", "round")
COMPARATOR_LOSS = "comparator_loss"
FIRST_ROUND_ARRAYS = ("first_nonfinite", "first_overflow", "first_out_of_range")  # [learner, run], 0 if there is none
FORMAT, DOCUMENT = "jaxonline study 2", "study.json"
BLOCKS, STATES = "blocks", "states"  # folders
_Size = Annotated[int, Interval(ge=1, le=2**50)]  # in a file
# the arrays of a study may take 1000 times the bytes of its blocks, or if that is more, 64 MiB
MAX_EMPTY, MIN_EMPTY_BYTES = 1000, 2**26


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
    learners: tuple[NonNegativeInt, NonNegativeInt]  # start and stop; (0, 1) if the arrays have no such axis
    width: _Size  # runs in a block; 1 if the arrays have no such axis
    axes: tuple[str, ...] = AXES

    @property
    def members(self) -> int:
        """The number of learners."""
        return self.learners[1] - self.learners[0]


class StoreLayout(NamedTuple):
    """The arrays in the store of a study: names of learners, largest number of runs, recorded rounds, and jobs."""

    learners: Sequence[str]
    runs: _Size
    rounds: Annotated[Sequence[_Size], MinLen(1)]
    jobs: Sequence[JobArrays]


# `study.json`; `study` is the hash of the inputs that the study had first, and seals the files
STUDY = {"format": str, "study": str, "about": dict[str, str], "layout": StoreLayout | None, "meta": dict[str, Any]}
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
        store = cls(folder, document["about"], layout=document["layout"], meta=document["meta"])
        store._study = document["study"]
        return store

    def __enter__(self) -> "Store":
        with ExitStack() as stack:
            stack.enter_context(files.locked(self.folder))
            files.remove_abandoned(self.folder, seconds=0.0, deep=True)
            self._is_writable = True
            self._join()
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *error: object) -> None:
        self._stack.close()

    def finished(self, job: JobArrays) -> set[int]:
        """Return the indices of a job's blocks that have a file."""
        names = {path.stem for path in self._path(BLOCKS, job, 0).parent.glob("*.npz")}
        return {int(name) for name in names if re.fullmatch("0|[1-9][0-9]{0,15}", name)}

    def read_block(self, job: JobArrays, block: int) -> Numbers | None:
        """Return the arrays of a finished block; None if absent, or (with a DamagedStoreWarning) damaged."""
        return self._read(self._path(BLOCKS, job, block), job)

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

        The arrays end with the last finished run. Entries are NaN (or -1) where no block is finished. An axis along
        which all values are equal has one entry. An array is absent if no block with it is finished. The arrays of
        first rounds have no axis of rounds.
        """
        layout, arrays, finished = self.layout, Numbers(), Numbers()
        blocks = [(job, block) for job in layout.jobs for block in sorted(self.finished(job))]
        runs = min(layout.runs, max(((block + 1) * job.width for job, block in blocks if "run" in job.axes), default=1))
        sizes = [self._path(BLOCKS, job, block).lstat().st_size for job, block in blocks]
        per_run = max((size / job.members / job.width for size, (job, _) in zip(sizes, blocks, strict=True)), default=0)
        names = {name for job in layout.jobs for name in job.outputs}
        if len(layout.learners) * runs * (per_run + len(names)) > max(MAX_EMPTY * sum(sizes), MIN_EMPTY_BYTES):
            raise files.DamagedStoreError(f"{self.folder}: must have more finished runs, or is damaged")
        for job in layout.jobs:
            shape = (len(layout.learners) if "learner" in job.axes else 1, runs if "run" in job.axes else 1)
            finished |= {name: np.zeros(shape, bool) for name in job.outputs if name not in finished}
        for job, block in blocks:
            learners, span = slice(*job.learners), slice(block * job.width, (block + 1) * job.width)
            for name, numbers in (self.read_block(job, block) or {}).items():
                missing = np.nan if numbers.dtype.kind == "f" else -1
                if name not in arrays:
                    arrays[name] = np.full((*finished[name].shape, *numbers.shape[2:]), missing, numbers.dtype)
                part = arrays[name][learners, span]
                if numbers.shape[2:] != part.shape[2:]:
                    raise files.DamagedStoreError(f"{self.folder}: must have blocks of one shape, or is damaged")
                part[...] = numbers[:, : part.shape[1]]
                finished[name][learners, span] = True
        return arrays, finished

    def _join(self) -> None:
        """Check that the folder belongs to this study, and write `study.json`; a damaged one is renamed."""
        try:
            theirs = _read_study(self.folder)
        except FileNotFoundError:
            theirs = None
        except files.DamagedStoreError as error:
            aside = files.set_aside(self.folder / DOCUMENT).name
            warnings.warn(f"{error}; it was renamed to {aside} and is written again", DamagedStoreWarning, stacklevel=4)
            theirs = None
        if theirs is not None:
            if theirs["about"] != self._about and not _adds_learners(theirs["about"], self._about):
                difference = _difference(theirs["about"], self._about)
                raise ValueError(f"checkpoint {self.folder} belongs to another study: {difference}")
            self._study = theirs["study"]
            if self.layout is not None:  # a study continues with any number of runs
                self.layout = self.layout._replace(runs=max(self.layout.runs, theirs["layout"].runs))
                theirs_played = validate(theirs["meta"], {"n_runs": int}, total=False).get("n_runs", 0)
                self.meta["n_runs"] = max(self.meta.get("n_runs", 0), theirs_played)
        document = {"format": FORMAT, "study": self._study, "about": self._about, "meta": self.meta}
        _write_study(self.folder, document | {"layout": self.layout and self.layout._asdict()})

    def _path(self, kind: str, job: JobArrays, block: int) -> Path:
        return files.check_inside(self.folder, self.folder / kind / job.name) / f"{block}.npz"

    def _seal(self, path: Path) -> str:
        labels = {job.name: job.label for job in self.layout.jobs} if self.layout else {}
        own = self._about.get(labels.get(path.parent.name, ""), "")  # hash of the job's own inputs
        return f"{self._study} {own} {path.relative_to(self.folder).as_posix()} "

    def _write(self, path: Path, arrays: Mapping[str, np.ndarray]) -> None:
        files.write_atomically(path, seal_arrays(arrays, self._seal(path)))

    def _read(self, path: Path, job: JobArrays = NAMED_ARRAYS) -> Numbers | None:
        try:
            numbers = open_arrays(files.read_file(path, self.folder), self._seal(path))
            if job != NAMED_ARRAYS:
                self._check_block(job, numbers)
            return numbers
        except FileNotFoundError:
            return None
        except files.DamagedStoreError:
            repair = f"; renamed to {files.set_aside(path).name} and computed again" if self._is_writable else ""
            problem = f"{path}: is damaged, or belongs to another block or study{repair}"
            warnings.warn(problem, DamagedStoreWarning, stacklevel=3)
            return None

    def _check_block(self, job: JobArrays, numbers: Numbers) -> None:
        """Check the names, types and first axes of the arrays of a job."""
        shape = job.members if "learner" in job.axes else 1, job.width if "run" in job.axes else 1
        for name, array in numbers.items():
            axes = shape if name in FIRST_ROUND_ARRAYS else (*shape, len(self.layout.rounds))
            if array.dtype.kind not in "fi" or array.shape[:3] != axes:
                raise files.DamagedStoreError(f"has the array {name} of another kind")
        if set(numbers) != set(job.outputs):
            raise files.DamagedStoreError("has other arrays")


def update_meta(folder: Path, meta: Mapping[str, Any]) -> None:
    """Change the metadata of a stored study."""
    with files.locked(folder):
        document = _read_study(folder)
        _write_study(folder, document | {"meta": document["meta"] | meta})


def _read_study(folder: Path) -> dict[str, Any]:
    path = folder / DOCUMENT
    content = files.read_file(path, folder)
    try:
        document = open_document(content)
        if document.get("format") != FORMAT:
            raise ValueError(f"{path}: was not written by this version of jaxonline; give another folder")
        document = validate(document, STUDY)
        if document["layout"] and not _is_possible(document["layout"]):
            raise files.DamagedStoreError("has an impossible layout")
    except files.DamagedStoreError as error:
        raise files.DamagedStoreError(f"{path}: is damaged; it {error}") from None
    return document


def _is_possible(layout: StoreLayout) -> bool:
    """Return whether all jobs have learners of the study, and an array has the same axes in all jobs."""
    axes = {name: job.axes for job in layout.jobs for name in job.outputs}
    return all(
        0 < job.members <= len(layout.learners) >= job.learners[1]
        and (job.axes == AXES or (job.outputs, job.learners) == ((COMPARATOR_LOSS,), (0, 1)))
        and all(axes[name] == job.axes for name in job.outputs)
        for job in layout.jobs
    )


def _write_study(folder: Path, document: Mapping[str, Any]) -> None:
    files.write_atomically(folder / DOCUMENT, seal_document(document))


def _adds_learners(theirs: Mapping[str, str], ours: Mapping[str, str]) -> bool:
    """Return whether our study is theirs with more learners at the end, whose code adds hashes to some names."""
    before, now = theirs.get("learners", ""), ours.get("learners", "")
    return now.startswith(f"{before[:-1]}, ") and all(
        ours.get(name) == value or name == "learners" or _is_part(value.split(), ours.get(name, "").split())
        for name, value in theirs.items()
    )


def _is_part(theirs: Sequence[str], ours: Sequence[str]) -> bool:
    """Return whether hashes are among other hashes."""
    return set(theirs) <= set(ours) and all(re.fullmatch("[0-9a-f]{16}", part) for part in ours)


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

    A study with more runs, or with more learners after the others, counts as the same study: it continues, and finished
    blocks stay. Each file has a digest. A damaged file is renamed, with a warning, and its block is computed again.
    Only one process at a time can use a folder.

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
        object.__setattr__(self, "folder", files.local_path(self.folder, "folder"))

    @classmethod
    def of(cls, checkpoint: "str | os.PathLike[str] | Checkpoint") -> "Checkpoint":
        """Convert the value of an argument `checkpoint` to a `Checkpoint`."""
        if isinstance(checkpoint, Checkpoint):
            return checkpoint
        check.instance("checkpoint", checkpoint, (str, os.PathLike), "a folder, or a Checkpoint")
        return cls(files.local_path(check.path("checkpoint", checkpoint), "checkpoint"))

    def __truediv__(self, name: str) -> "Checkpoint":
        """Return the checkpoint of a part of the study, which is a folder inside the folder of the study."""
        folder = Path(self.folder)
        return dataclasses.replace(self, folder=files.check_inside(folder, folder / name))

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
