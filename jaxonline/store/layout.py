"""Layout of a study in its store: arrays labelled (learner, run, round), divided into blocks of runs.

A block of a job is stored as one chunk of each of the job's arrays, and a record with the number of rounds and a hash.
The record is written last. No two blocks share a file, so that any process can write any block at any time.
"""

import hashlib
import itertools
import json
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxonline.parameters.errors import DamagedStoreWarning
from jaxonline.store.filesystem import Folder
from jaxonline.store.zarr_format import STRING, ArraySpec, encode_name

AXES = ("learner", "run", "round")
COMPARATOR_LOSS = "comparator_loss"
FIRST_ROUND_ARRAYS = {
    "first_nonfinite": "the first round with a NaN or infinite loss, 0 where there is none, -1 where it was not played",
    "first_overflow": "the first round without storage, 0 where there is none, -1 where it was not played",
}
RECORDS_FOLDER, STATES_FOLDER = "blocks/finished", "blocks/states"
GROUPS = ("blocks", RECORDS_FOLDER, STATES_FOLDER)
RECORD_ENTRIES = ("rounds", "study", "sha256, 1", "sha256, 2", "sha256, 3", "sha256, 4")  # of a record
RECORD_SPEC = ArraySpec(("block", "entry"), (1, len(RECORD_ENTRIES)), (1, len(RECORD_ENTRIES)), "uint64")


class JobArrays(NamedTuple):
    """The arrays that a job computes, and their part of the study's arrays.

    `axes` are the axes of the arrays in the store. If learner, run or round is not among these axes, values are equal
    along it, and the arrays of a block have one entry along it.
    """

    name: str  # of its records
    label: str  # for messages
    outputs: tuple[str, ...]  # names of the arrays
    learners: tuple[int, int]  # start and stop; (0, 1) if the arrays have no such axis
    width: int  # runs in a block; 1 if the arrays have no such axis
    axes: tuple[str, ...] = AXES

    def blocks(self, runs: int) -> int:
        """Return the number of blocks of the job for a number of runs."""
        return -(-runs // self.width) if "run" in self.axes else 1

    def part(self, block: int) -> tuple[slice, slice]:
        """Return the learners and the runs of a block, as slices of the axes of the study."""
        runs = slice(block * self.width, (block + 1) * self.width)
        return slice(*self.learners) if "learner" in self.axes else slice(None), runs if "run" in self.axes else slice(
            None
        )


class StoreLayout(NamedTuple):
    """Description of the arrays in the store of a study: learners, runs, rounds, measures, jobs and chunks."""

    learners: tuple[str, ...]
    runs: int  # length of the run axis: the largest number requested so far
    rounds: tuple[int, ...]  # recorded rounds; the last one is the horizon
    asked: tuple[int, ...]  # rounds requested last
    measures: dict[str, tuple[int, ...]]  # further axes of the measures, by name
    rows: tuple[JobArrays, ...]  # of the jobs
    chunks: tuple[int, int, int]  # of learner, run and round; all arrays share those of learners and rounds

    @staticmethod
    def new(
        learners: Sequence[str], runs: int, rounds: Sequence[int], measures: Mapping[str, Sequence[int]],
        rows: Sequence[JobArrays],
    ) -> "StoreLayout":  # fmt: skip
        """Return the layout of a new study."""
        rounds = tuple(map(int, rounds))
        sizes = [stop - start for start, stop in (job.learners for job in rows if "learner" in job.axes)]
        axes = {name: tuple(shape) for name, shape in measures.items()}
        chunks = math.gcd(*sizes), int(runs), len(rounds)
        return StoreLayout(tuple(learners), int(runs), rounds, rounds, axes, tuple(rows), chunks)

    @staticmethod
    def of(metadata: Mapping[str, Any]) -> "StoreLayout":
        """Return the layout from the JSON of `to_json`; ValueError, LookupError or TypeError if it is malformed."""
        rows = tuple(
            JobArrays(name, label, tuple(outputs), (learners[0], learners[1]), int(width), tuple(axes))
            for name, label, outputs, learners, width, axes in metadata["rows"]
        )
        measures = {str(name): tuple(map(int, shape)) for name, shape in metadata["measures"].items()}
        lists = {name: tuple(metadata[name]) for name in ("learners", "rounds", "asked", "chunks")}
        return StoreLayout(runs=int(metadata["runs"]), measures=measures, rows=rows, **lists)

    def to_json(self) -> dict[str, Any]:
        """Return the fields of the layout as a dictionary for JSON."""
        return self._asdict()

    def extended(self, asked: "StoreLayout") -> "StoreLayout":
        """Return the layout with the runs and rounds of `asked`; ValueError if `asked` is another or shorter study."""
        if any(getattr(self, name) != getattr(asked, name) for name in ("learners", "measures", "rows")):
            raise ValueError("what is recorded")
        if asked.horizon < self.horizon:
            raise ValueError(f"n_rounds (was {self.horizon}, is {asked.horizon})")
        rounds = self.rounds
        if asked.horizon > self.horizon:
            rounds += tuple(t for t in asked.rounds if t > self.horizon)
        elif asked.asked != self.asked:
            raise ValueError(f"recorded rounds (was {list(self.asked)}, is {list(asked.asked)})")
        return self._replace(runs=max(self.runs, asked.runs), rounds=rounds, asked=asked.asked)

    @property
    def horizon(self) -> int:
        """The last round."""
        return self.rounds[-1]

    def recorded(self, rounds: int) -> int:
        """Return the number of recorded rounds up to round `rounds`."""
        return sum(t <= rounds for t in self.rounds)

    def outputs(self) -> dict[str, ArraySpec]:
        """Return the specifications of the arrays that jobs compute, by name."""
        sizes: dict[str, int] = dict(zip(AXES, (len(self.learners), self.runs, len(self.rounds)), strict=True))
        specs = {}
        for rows in self.rows:
            chunks = dict(zip(AXES, self.chunks, strict=True)) | {"run": rows.width}
            for name in rows.outputs:
                dims, further = [dim for dim in axes_of(name) if dim in rows.axes], self.measures.get(name, ())
                about = {"description": FIRST_ROUND_ARRAYS[name]} if name in FIRST_ROUND_ARRAYS else {}
                dtype = "int32" if about else "float64"
                specs[name] = ArraySpec(
                    (*dims, *(f"{name}, axis {axis}" for axis in range(len(further)))),
                    (*(sizes[dim] for dim in dims), *further), (*(chunks[dim] for dim in dims), *further), dtype, about,
                )  # fmt: skip
        return specs

    def specs(self) -> dict[str, ArraySpec]:
        """Return the specifications of coordinates and of the arrays that jobs compute, by name."""
        learners, runs, rounds = len(self.learners), self.runs, len(self.rounds)
        return {
            "run": ArraySpec(("run",), (runs,), self.chunks[1:2], "int64"),
            "round": ArraySpec(("round",), (rounds,), self.chunks[2:], "int64"),
            "learner": ArraySpec(("learner",), (learners,), (learners,), STRING),
            **self.outputs(),
        }

    def records(self) -> dict[str, ArraySpec]:
        """Return the specifications of the arrays of block records, by the name of the job."""
        return {
            rows.name: RECORD_SPEC._replace(
                shape=(rows.blocks(self.runs), len(RECORD_ENTRIES)),
                attributes={"of": rows.label, "entries": RECORD_ENTRIES},
            )
            for rows in self.rows
        }

    def tree(self) -> tuple[dict[str, ArraySpec], tuple[str, ...]]:
        """Return the specifications of all arrays in the store by path, and its groups; states are left out."""
        arrays = {encode_name(name): spec for name, spec in self.specs().items()}
        return arrays | {f"{RECORDS_FOLDER}/{name}": spec for name, spec in self.records().items()}, GROUPS

    def coordinates(self) -> dict[str, np.ndarray]:
        """Return the labels of learners, runs and rounds, padded to whole chunks; readers do not see the padding."""
        _, run, recorded = self.chunks
        rounds = np.full(-(-len(self.rounds) // recorded) * recorded, -1)
        rounds[: len(self.rounds)] = self.rounds
        return {
            "learner": np.array(self.learners, object), "run": np.arange(-(-self.runs // run) * run), "round": rounds,
        }  # fmt: skip


class FinishedBlock(NamedTuple):
    """The numbers of a finished block: number of rounds, and arrays by name [learners, runs, recorded rounds, ...]."""

    rounds: int
    arrays: dict[str, np.ndarray]


class Damaged(Exception):
    """A file of a block is damaged, or the numbers of a block do not match the hash in the block's record."""


class Blocks:
    """Reads and writes the blocks of a study with the input hash `study`; `repairs`: rename damaged blocks."""

    def __init__(self, place: Folder, study: str, layout: StoreLayout, repairs: bool):
        self.place, self.study, self.layout = place, study, layout
        self._repairs, self._specs = repairs, layout.outputs()

    def finished(self, rows: JobArrays) -> set[int]:
        """Return the indices of a job's blocks that have a record."""
        names = (name.split(".") for name in self.place.names(f"{RECORDS_FOLDER}/{rows.name}"))
        return {int(name[1]) for name in names if len(name) == 3 and name[0] == "c" and name[1].isdigit()}

    def describe_damage(self, rows: JobArrays, block: int) -> str | None:
        """Return what is damaged in a finished block, or None."""
        try:
            self._read(rows, block)
        except (Damaged, ValueError) as error:
            return str(error)
        return None

    def unrecorded(self, rows: JobArrays) -> list[int]:
        """Return the blocks of a job that have chunks but no record."""
        blocks = sorted(set(range(rows.blocks(self.layout.runs))) - self.finished(rows))
        names = {f"{folder}/{name}" for folder in map(encode_name, rows.outputs) for name in self.place.names(folder)}
        return [i for i in blocks if any(key in names for _, key, _ in self._chunks(rows, i, self.layout.horizon))]

    def read(self, rows: JobArrays, block: int) -> FinishedBlock | None:
        """Return a finished block; None if absent or (with a warning) damaged, ValueError if from another study."""
        try:
            return self._read(rows, block)
        except Damaged:
            keys = [_record_key(rows, block), *(key for _, key, _ in self._chunks(rows, block, self.layout.horizon))]
            aside = [name for name in map(self.place.set_aside, keys if self._repairs else []) if name]
            repair = f" and will be computed again; it was renamed to {', '.join(aside)}" if aside else ""
            warnings.warn(
                f"checkpoint {self.place.name}: block {block} of {rows.label!r} is damaged{repair}",
                DamagedStoreWarning, stacklevel=2,
            )  # fmt: skip
            return None

    def write(self, rows: JobArrays, block: int, finished: FinishedBlock) -> None:
        """Write the chunks of a block and, when the chunks are on the disk, the record of the block."""
        files = {}
        for name, key, part in self._chunks(rows, block, finished.rounds):
            files[key] = self._specs[name].encode(finished.arrays[name][part])
        self.place.write(files)
        record = [finished.rounds, int(self.study, 16), *self._digest(rows, block, finished)]
        self.place.write({_record_key(rows, block): RECORD_SPEC.encode(np.array([record], np.uint64))})

    def _read(self, rows: JobArrays, block: int) -> FinishedBlock | None:
        content = self.place.read(_record_key(rows, block))
        if content is None:
            return None
        record = _decode(RECORD_SPEC, _record_key(rows, block), content)[0].tolist()
        if record[1] != int(self.study, 16):
            raise ValueError(
                f"checkpoint: {self.place.name} contains a block of another study, block {block} of {rows.label!r}"
            )
        sizes = rows.learners[1] - rows.learners[0], rows.width, self.layout.recorded(record[0])
        arrays = {}
        for name in rows.outputs:
            shape = sizes[: len(axes_of(name))] + self.layout.measures.get(name, ())
            arrays[name] = np.empty(shape, self._specs[name].dtype)
        for name, key, part in self._chunks(rows, block, record[0]):
            chunk, into = _decode(self._specs[name], key, self.place.read(key)), arrays[name][part]
            into[...] = chunk[tuple(map(slice, into.shape))]
        finished = FinishedBlock(record[0], arrays)
        if record[2:] != self._digest(rows, block, finished):
            raise Damaged(f"block {block} of {rows.label!r}: the numbers do not match the digest in the record")
        return finished

    def _chunks(self, rows: JobArrays, block: int, rounds: int) -> Iterator[tuple[str, str, tuple[Any, ...]]]:
        """Yield for each chunk of a block: name of the array, key of the chunk, and part of the block's array in it."""
        recorded, (start, stop) = self.layout.recorded(rounds), rows.learners
        for name in rows.outputs:
            spec = self._specs[name]
            sizes, axes = dict(zip(spec.dims, spec.chunks, strict=True)), []
            for dim in axes_of(name):
                if dim not in rows.axes:
                    axes.append([((), 0)])
                elif dim == "learner":
                    n = sizes[dim]
                    axes.append(
                        [((i,), slice(i * n - start, (i + 1) * n - start)) for i in range(start // n, stop // n)]
                    )
                elif dim == "run":
                    axes.append([((block,), slice(None))])
                else:
                    n = sizes[dim]
                    axes.append([((i,), slice(i * n, min((i + 1) * n, recorded))) for i in range(-(-recorded // n))])
            further = (0,) * len(self.layout.measures.get(name, ()))
            for chunk in itertools.product(*axes):
                index = (*itertools.chain.from_iterable(at for at, _ in chunk), *further)
                yield name, f"{encode_name(name)}/{spec.key(index)}", tuple(part for _, part in chunk)

    def _digest(self, rows: JobArrays, block: int, finished: FinishedBlock) -> list[int]:
        """Return the SHA-256 hash of a block (study, job, index, rounds, numbers) as four integers."""
        rounds = self.layout.rounds[: self.layout.recorded(finished.rounds)]
        digest = hashlib.sha256(json.dumps([self.study, rows.name, block, finished.rounds, rounds]).encode())
        for name in rows.outputs:
            array = np.ascontiguousarray(finished.arrays[name], self._specs[name].dtype)
            digest.update(f"{name} {array.dtype} {array.shape}".encode() + array.tobytes())
        return np.frombuffer(digest.digest(), "<u8").tolist()


def axes_of(name: str) -> tuple[str, ...]:
    """Return the axes of a block's array: learner, run and, except for arrays of first rounds, round."""
    return AXES[:2] if name in FIRST_ROUND_ARRAYS else AXES


def _record_key(rows: JobArrays, block: int) -> str:
    return f"{RECORDS_FOLDER}/{rows.name}/{RECORD_SPEC.key((block, 0))}"


def _decode(spec: ArraySpec, key: str, content: bytes | None) -> np.ndarray:
    try:
        return spec.decode(content or b"")
    except ValueError as error:
        raise Damaged(f"{key}: {'is missing' if content is None else 'does not match its checksum'}") from error


def fingerprint(about: Mapping[str, str]) -> str:
    """Return the hash of a description of a study's inputs."""
    return hashlib.sha256(repr(sorted(about.items())).encode()).hexdigest()[:16]
