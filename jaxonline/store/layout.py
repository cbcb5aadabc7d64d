"""How the numbers of a study lie in its store: arrays labelled (learner, run, round), and blocks of runs in them.

A block of a job is a chunk of each of its arrays, and a record of its own, written last, that says how many rounds were
played and what the numbers are. So blocks are written in any order, by whomever: no two of them share a file.
"""

import hashlib
import itertools
import json
import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxonline.store.filesystem import Bucket, Folder
from jaxonline.store.zarr_format import STRING, ArraySpec, node

CUBE = ("learner", "run", "round")
BEST = "comparator_loss"
FIRSTS = {
    "first_nonfinite": "the first round with a NaN or infinite loss, 0 where there is none, -1 where it was not played",
    "first_overflow": "the first round without storage, 0 where there is none, -1 where it was not played",
}
FINISHED, STATES = "blocks/finished", "blocks/states"
GROUPS = ("blocks", FINISHED, STATES)
ENTRIES = ("rounds", "study", "sha256, 1", "sha256, 2", "sha256, 3", "sha256, 4")  # of a record
RECORDS = ArraySpec(("block", "entry"), (1, len(ENTRIES)), (1, len(ENTRIES)), "uint64")


class Rows(NamedTuple):
    """Whose numbers a job makes, and how many runs a block of them has.

    Attributes:
        name: of its records.
        label: for people.
        learners: the first of its learners, and the first after them; None for numbers that all learners share.
        width: runs of a block; 0 where one block stands for all runs.
    """

    name: str
    label: str
    learners: tuple[int, int] | None
    width: int


class StoreLayout(NamedTuple):
    """What the store of a study holds.

    Attributes:
        learners: names.
        runs: how many there are on their axis: up to the last one that was asked for.
        rounds: recorded rounds; the last one is the horizon.
        asked: the rounds that were asked for last.
        measures: their further axes, by name.
        rows: of the jobs.
        own_best: whether each learner has a comparator's loss of its own.
        chunks: of the axes (learner, run, round) of coordinates; of all arrays those of learners and rounds.
    """

    learners: tuple[str, ...]
    runs: int
    rounds: tuple[int, ...]
    asked: tuple[int, ...]
    measures: dict[str, tuple[int, ...]]
    rows: tuple[Rows, ...]
    own_best: bool
    chunks: tuple[int, int, int]

    @staticmethod
    def new(
        learners: Sequence[str], runs: int, rounds: Sequence[int], measures: Mapping[str, Sequence[int]],
        rows: Sequence[Rows], own_best: bool,
    ) -> "StoreLayout":  # fmt: skip
        """Of a study that begins."""
        rounds, teams = tuple(map(int, rounds)), [each.learners for each in rows if each.learners]
        sizes = [stop - start for start, stop in teams]
        axes = {name: tuple(shape) for name, shape in measures.items()}
        chunks = math.gcd(*sizes), int(runs), len(rounds)
        return StoreLayout(tuple(learners), int(runs), rounds, rounds, axes, tuple(rows), own_best, chunks)

    @staticmethod
    def of(told: Mapping[str, Any]) -> "StoreLayout":
        """What `told` has told, read from JSON.

        Raises:
            ValueError, LookupError, TypeError: it is something else.
        """
        rows = tuple(Rows(name, label, at and (at[0], at[1]), width) for name, label, at, width in told["rows"])
        measures = {str(name): tuple(map(int, shape)) for name, shape in told["measures"].items()}
        lists = {name: tuple(told[name]) for name in ("learners", "rounds", "asked", "chunks")}
        return StoreLayout(runs=int(told["runs"]), measures=measures, rows=rows, own_best=told["own_best"], **lists)

    def told(self) -> dict[str, Any]:
        """For JSON."""
        return self._asdict()

    def extended(self, asked: "StoreLayout") -> "StoreLayout":
        """This one with the runs and rounds of another one that it lacks; what was recorded stays.

        Raises:
            ValueError: it is not the same study, only longer; says what differs.
        """
        same = "learners", "measures", "rows", "own_best"
        if any(getattr(self, name) != getattr(asked, name) for name in same):
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
        """How many of the recorded rounds are among the first rounds of a run."""
        return sum(t <= rounds for t in self.rounds)

    def names(self, rows: Rows) -> list[str]:
        """The arrays of a job."""
        if rows.learners is None:
            return [BEST]
        return [*self.measures, *FIRSTS, *([BEST] if self.own_best else [])]

    def specs(self) -> dict[str, ArraySpec]:
        """The arrays by name."""
        sizes: dict[str, int] = dict(zip(CUBE, (len(self.learners), self.runs, len(self.rounds)), strict=True))
        chunks: dict[str, int] = dict(zip(CUBE, self.chunks, strict=True))

        def array(dims: Sequence[str], width: int, dtype: str = "float64", **attributes: Any) -> ArraySpec:
            own = chunks | {"run": width}
            shape, chunk = (tuple(of[dim] for dim in dims) for of in (sizes, own))
            return ArraySpec(tuple(dims), shape, chunk, dtype, attributes)

        width = next(rows.width for rows in self.rows if rows.learners)
        found = {name: ArraySpec((name,), (sizes[name],), (chunks[name],), "int64") for name in ("run", "round")}
        found["learner"] = ArraySpec(("learner",), (sizes["learner"],), (sizes["learner"],), STRING)
        for name, axes in self.measures.items():
            cube, more = array(CUBE, width), tuple(f"{name}, axis {axis}" for axis in range(len(axes)))
            found[name] = ArraySpec(cube.dims + more, cube.shape + axes, cube.chunks + axes, cube.dtype)
        found |= {name: array(CUBE[:2], width, "int32", description=words) for name, words in FIRSTS.items()}
        if self.own_best:
            found[BEST] = array(CUBE, width)
        for rows in self.rows:
            if rows.learners is None:
                found[BEST] = array(CUBE[1:] if rows.width else CUBE[2:], rows.width)
        return found

    def records(self) -> dict[str, ArraySpec]:
        """The arrays of records, by the names of their jobs."""
        return {
            rows.name: RECORDS._replace(
                shape=(-(-self.runs // rows.width) if rows.width else 1, len(ENTRIES)),
                attributes={"of": rows.label, "entries": ENTRIES},
            )
            for rows in self.rows
        }

    def tree(self) -> tuple[dict[str, ArraySpec], tuple[str, ...]]:
        """All arrays and groups of the store by path, but for blocks in progress."""
        arrays = {node(name): spec for name, spec in self.specs().items()}
        return arrays | {f"{FINISHED}/{name}": spec for name, spec in self.records().items()}, GROUPS

    def coordinates(self) -> dict[str, np.ndarray]:
        """The labels, in whole chunks: runs that follow are in them, and not seen."""
        _, run, recorded = self.chunks
        rounds = np.full(-(-len(self.rounds) // recorded) * recorded, -1)
        rounds[: len(self.rounds)] = self.rounds
        return {
            "learner": np.array(self.learners, object), "run": np.arange(-(-self.runs // run) * run), "round": rounds,
        }  # fmt: skip


class Kept(NamedTuple):
    """A finished block: how many rounds were played, and its arrays by name [learners, runs, recorded rounds, ...]."""

    rounds: int
    arrays: dict[str, np.ndarray]


class Damaged(Exception):
    """A block is not what its record says."""


class Blocks:
    """The blocks of a study, read and written.

    Args:
        place: where they are.
        study: the hash of what decides their numbers.
        layout: what is where.
        repairs: whether damaged blocks are set aside.
    """

    def __init__(self, place: Folder | Bucket, study: str, layout: StoreLayout, repairs: bool):
        self.place, self.study, self.layout = place, study, layout
        self._repairs, self._specs = repairs, layout.specs()

    def finished(self, rows: Rows) -> set[int]:
        """The blocks of a job that have a record."""
        names = (name.split(".") for name in self.place.names(f"{FINISHED}/{rows.name}"))
        return {int(name[1]) for name in names if len(name) == 3 and name[0] == "c" and name[1].isdigit()}

    def read(self, rows: Rows, block: int) -> Kept | None:
        """A finished block; None where it is absent or, with a warning, damaged.

        Raises:
            ValueError: it belongs to another study.
        """
        try:
            return self._read(rows, block)
        except Damaged:
            keys = [_record(rows, block), *(key for _, key, _ in self._chunks(rows, block, self.layout.horizon))]
            aside = [name for name in map(self.place.set_aside, keys if self._repairs else []) if name]
            what = f", is computed again, and was set aside as {', '.join(aside)}" if aside else ""
            warnings.warn(
                f"checkpoint {self.place.name}: block {block} of {rows.label!r} is damaged{what}",
                RuntimeWarning, stacklevel=2,
            )  # fmt: skip
            return None

    def write(self, rows: Rows, block: int, kept: Kept) -> None:
        """Keep a block: its chunks, and when they are on the disk its record."""
        files = {}
        for name, key, part in self._chunks(rows, block, kept.rounds):
            files[key] = self._specs[name].encode(kept.arrays[name][part])
        self.place.write(files)
        record = [kept.rounds, int(self.study, 16), *self._digest(rows, block, kept)]
        self.place.write({_record(rows, block): RECORDS.encode(np.array([record], np.uint64))})

    def _read(self, rows: Rows, block: int) -> Kept | None:
        content = self.place.read(_record(rows, block))
        if content is None:
            return None
        record = _decoded(RECORDS, content)[0].tolist()
        if record[1] != int(self.study, 16):
            raise ValueError(
                f"checkpoint {self.place.name} holds a block of another study: block {block} of {rows.label!r}"
            )
        start, stop = rows.learners or (0, 0)
        sizes = {"learner": stop - start, "run": rows.width, "round": self.layout.recorded(record[0])}
        arrays = {}
        for name in self.layout.names(rows):
            spec = self._specs[name]
            shape = [sizes.get(dim, n) for dim, n in zip(spec.dims, spec.shape, strict=True)]
            arrays[name] = np.empty(shape, spec.dtype)
        for name, key, part in self._chunks(rows, block, record[0]):
            chunk, into = _decoded(self._specs[name], self.place.read(key)), arrays[name][part]
            into[...] = chunk[tuple(map(slice, into.shape))]
        kept = Kept(record[0], arrays)
        if record[2:] != self._digest(rows, block, kept):
            raise Damaged
        return kept

    def _chunks(self, rows: Rows, block: int, rounds: int) -> Iterator[tuple[str, str, tuple[slice, ...]]]:
        """Of each chunk of a block: the array, the key, and the part of the block's array that is in it."""
        recorded = self.layout.recorded(rounds)
        for name in self.layout.names(rows):
            spec, axes = self._specs[name], []
            for dim, size in zip(spec.dims, spec.chunks, strict=True):
                if dim == "learner":
                    start, stop = rows.learners or (0, 0)
                    axes.append([(i, slice(i * size - start, (i + 1) * size - start))
                                 for i in range(start // size, stop // size)])  # fmt: skip
                elif dim == "round":
                    axes.append([(i, slice(i * size, min((i + 1) * size, recorded)))
                                 for i in range(-(-recorded // size))])  # fmt: skip
                else:
                    axes.append([(block if dim == "run" else 0, slice(None))])
            for index in itertools.product(*axes):
                key = f"{node(name)}/{spec.key([at for at, _ in index])}"
                yield name, key, tuple(part for _, part in index)

    def _digest(self, rows: Rows, block: int, kept: Kept) -> list[int]:
        """SHA-256 of what a block is and of its numbers, as four integers."""
        rounds = self.layout.rounds[: self.layout.recorded(kept.rounds)]
        digest = hashlib.sha256(json.dumps([self.study, rows.name, block, kept.rounds, rounds]).encode())
        for name in self.layout.names(rows):
            array = np.ascontiguousarray(kept.arrays[name], self._specs[name].dtype)
            digest.update(f"{name} {array.dtype} {array.shape}".encode() + array.tobytes())
        return np.frombuffer(digest.digest(), "<u8").tolist()


def _record(rows: Rows, block: int) -> str:
    """The key of a block's record."""
    return f"{FINISHED}/{rows.name}/{RECORDS.key((block, 0))}"


def _decoded(spec: ArraySpec, content: bytes | None) -> np.ndarray:
    try:
        return spec.decode(content or b"")
    except ValueError as error:
        raise Damaged from error


def fingerprint(about: Mapping[str, str]) -> str:
    """A hash of a description."""
    return hashlib.sha256(repr(sorted(about.items())).encode()).hexdigest()[:16]
