"""Lazy arrays of a study, for numbers that are too large for memory: the store is read when an array is indexed.

The lazy arrays of zarr and xarray read a deleted chunk as NaN, and do not notice if another study replaces the stored
study. The arrays of this module raise an error in both cases.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from jaxonline.store.documents import MARKER, STUDY, DamagedStoreError, digest_of, parse_attributes, store_format
from jaxonline.store.filesystem import Folder
from jaxonline.store.layout import AXES, FIRST_ROUND_ARRAYS, Blocks, StoreLayout, axes_of
from jaxonline.store.zarr_format import DOCUMENT, FILL_VALUES, ArraySpec, encode_name

MAX_BYTES_IN_MEMORY = 1 << 26  # of a study; a larger one stays in its store
PORTION_ENTRIES = 1 << 20  # numbers of a stored array to process at a time


def finished_rounds(blocks: Blocks, read: bool = True) -> dict[str, np.ndarray]:
    """Return the number of stored recorded rounds for each learner and run [L, R], by name of the array.

    If `read` is True, each block is compared with its record, and a damaged block counts as missing, with a
    DamagedStoreWarning. If `read` is False, all rounds are assumed to be stored.
    """
    layout = blocks.layout
    shape, known = (len(layout.learners), layout.runs), dict[str, np.ndarray]()
    for rows in layout.rows:
        alike = known.get(rows.outputs[0])  # arrays of one job share the counts
        counts = np.full(shape, 0 if read else len(layout.rounds), np.int32) if alike is None else alike
        known |= dict.fromkeys(rows.outputs, counts)
        for block in sorted(blocks.finished(rows)) if read else ():
            block_data = blocks.read(rows, block)
            if block_data is not None:
                counts[rows.part(block)] = layout.recorded(block_data.rounds)
    return known


class StoredArray(np.lib.mixins.NDArrayOperatorsMixin):
    """A lazy array [L, R, G, ...] or [L, R] in a store. Indexing, conversion and arithmetic return NumPy arrays.

    Indexing with integers and slices reads only the selected part. Reading raises OSError if the store is gone or was
    replaced, and ValueError if the numbers are damaged.

    Args:
        place: storage of the store.
        name: name of the array in the store.
        spec: specification of the stored array, which has some of the axes learner, run and round. Values are equal
            along an axis that the stored array does not have.
        known: number of stored recorded rounds of each learner and run [L, R]; entries of later rounds are NaN, or -1
            in integer arrays.
        runs: the runs of the store to include.
        rounds: positions of the recorded rounds to include.
        first: the content of the store's root document when the array was made.
        digests: the digests of the chunks by path in the store, if the store has them.
    """

    def __init__(
        self, place: Folder, name: str, spec: ArraySpec, known: np.ndarray, runs: np.ndarray,
        rounds: np.ndarray, first: bytes, digests: Mapping[str, str] | None = None,
    ):  # fmt: skip
        self._digests, self._place, self._name, self._spec, self._first = digests, place, name, spec, first
        self._known, self._runs, self._rounds = known, np.asarray(runs), np.asarray(rounds)
        self._learners = np.arange(len(known))
        self._axes = axes_of(name)
        more = tuple(n for dim, n in zip(spec.dims, spec.shape, strict=True) if dim not in AXES)
        self.shape = (*known.shape, len(self._rounds))[: len(self._axes)] + more
        self.dtype = np.dtype(spec.dtype)

    @property
    def ndim(self) -> int:
        """The number of axes."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """The size in bytes."""
        return math.prod(self.shape) * self.dtype.itemsize

    def is_there(self) -> bool:
        """Return whether the store still contains the numbers of this array."""
        return _still_contains(self._first, self._place.read(DOCUMENT))

    def is_same_along(self, axis: int) -> bool:
        """Return whether the numbers of this array are equal along an axis."""
        return self._axes[axis] not in self._spec.dims

    def select_part(
        self, learners: Any = slice(None), runs: Any = slice(None), rounds: Any = slice(None)
    ) -> "StoredArray":
        """Return the lazy array of some learners, runs and rounds, without reading numbers."""
        if not isinstance(learners, slice):
            learners = np.asarray(learners)
        selected = copy(self)
        selected._learners, selected._known = self._learners[learners], self._known[learners][:, runs]
        selected._runs, selected._rounds = self._runs[runs], self._rounds[rounds]
        selected.shape = (*selected._known.shape, len(selected._rounds))[: len(self._axes)] + self.shape[
            len(self._axes) :
        ]
        return selected

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<{self._name} {list(self.shape)} in {self._place.name}: read when indexed>"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("copy: a stored array cannot be read without a copy (got copy=False)")
        return np.asarray(self._read(*(np.arange(n) for n in self.shape[:3])), dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        given = (np.asarray(item) if isinstance(item, StoredArray) else item for item in inputs)
        return getattr(ufunc, method)(*given, **options)

    def __getitem__(self, index: Any) -> np.ndarray:
        at = index if isinstance(index, tuple) else (index,)
        at = at[:-1] if at and at[-1] is Ellipsis else at
        if not all(isinstance(index_entry, int | np.integer | slice) for index_entry in at) or len(at) > self.ndim:
            return np.asarray(self)[index]
        axes = (*at, *(slice(None),) * (self.ndim - len(at)))
        numbers = self._read(*(np.atleast_1d(np.arange(n)[i]) for n, i in zip(self.shape[:3], axes, strict=False)))
        dropped = tuple(0 if isinstance(i, int | np.integer) else slice(None) for i in axes[:3])
        return numbers[dropped][(*(slice(None) for i in dropped if i != 0), *axes[3:])]

    def _read(self, *at: np.ndarray) -> np.ndarray:
        """Read the numbers at positions of each axis, as a broadcast view if the numbers are equal along an axis."""
        learners, runs = at[:2]
        here = tuple(i for i, axis in enumerate(self._axes) if axis not in self._spec.dims)
        known = self._known[
            np.ix_(*(positions[:1] if i in here else positions for i, positions in enumerate((learners, runs))))
        ]
        rounds = self._rounds[at[2]] if len(at) > 2 else np.arange(1)
        where = {"learner": self._learners[learners], "run": self._runs[runs], "round": rounds}
        axes = [where.get(dim, np.arange(n)) for dim, n in zip(self._spec.dims, self._spec.shape, strict=True)]
        numbers = np.full([len(axis) for axis in axes], FILL_VALUES[self.dtype.kind], self.dtype)
        whole = known.size > 0 and known.min() > rounds.max(initial=0)
        for index, into, out_of in _chunks(axes, self._spec.chunks):
            if not whole:
                slices = dict(zip(self._spec.dims, into, strict=True))
                stored = known[slices.get("learner", slice(None))][:, slices.get("run", slice(None))]
                if (stored <= rounds[slices.get("round", slice(None))].min()).all():
                    continue
            numbers[_outer_index(into)] = self._chunk(index)[_outer_index(out_of)]
        self._check()  # after reading, since another process may replace the store at any moment
        numbers = np.expand_dims(numbers, here)
        if not whole:
            later = known[..., None] <= rounds
            numbers[later if len(at) > 2 else later[..., 0]] = FILL_VALUES[self.dtype.kind]
        return np.broadcast_to(numbers, (*map(len, at), *numbers.shape[len(at) :])) if here else numbers

    def _chunk(self, index: Sequence[int]) -> np.ndarray:
        path = f"{encode_name(self._name)}/{self._spec.key(index)}"
        content = self._place.read(path)
        if content is None:
            raise self._missing_error()
        try:
            if self._digests is not None and self._digests.get(path) != digest_of(content):
                raise ValueError("the digest does not match")
            return self._spec.decode(content)
        except ValueError as error:
            self._check()
            raise DamagedStoreError(f"{self._place.name}: is damaged; {self._name!r} has a wrong digest") from error

    def _check(self) -> None:
        if not self.is_there():
            raise self._missing_error()

    def _missing_error(self) -> FileNotFoundError:
        return FileNotFoundError(
            f"{self._name!r} is no longer in {self._place.name}: a result of more than {MAX_BYTES_IN_MEMORY >> 20} MB "
            "reads its numbers from its store, which was removed or replaced"
        )


def _still_contains(before: bytes, now: bytes | None) -> bool:
    """Return whether the root document `now` belongs to the study of the document `before`, perhaps continued."""
    if now == before:
        return True
    attributes = [parse_attributes(document or b"") or {} for document in (before, now)]
    if [store_format(own_attributes) for own_attributes in attributes] != [STUDY, STUDY]:
        return False
    (old, theirs), (new, ours) = (
        (own_attributes[MARKER]["study"], own_attributes[MARKER]["layout"]) for own_attributes in attributes
    )
    first = {"runs": 0, "asked": [], "rounds": ours["rounds"][: len(theirs["rounds"])]}
    return old == new and theirs | {"runs": 0, "asked": []} == ours | first


def _chunks(axes: Sequence[np.ndarray], sizes: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple, tuple]]:
    """Yield for each chunk with requested positions: its index, positions in the output, and positions in the chunk."""
    parts = []
    for positions, size in zip(axes, sizes, strict=True):
        chunk, order = positions // size, np.argsort(positions // size, kind="stable")
        indices, begins = np.unique(chunk[order], return_index=True)
        groups = zip(indices.tolist(), np.split(order, begins[1:]), strict=False)  # an empty array has one empty part
        parts.append([(i, _as_slice(entries), _as_slice(positions[entries] % size)) for i, entries in groups])
    for combination in itertools.product(*parts):
        index, into, out_of = zip(*combination, strict=True)
        yield index, into, out_of


def _as_slice(positions: np.ndarray) -> Any:
    """Return consecutive positions as a slice, which is faster to copy."""
    return slice(positions[0], positions[-1] + 1) if (np.diff(positions) == 1).all() else positions


def _outer_index(positions: Sequence[Any]) -> Any:
    if all(isinstance(part, slice) for part in positions):
        return tuple(positions)
    return np.ix_(*(np.r_[part] if isinstance(part, slice) else part for part in positions))


def study_arrays(
    blocks: Blocks, finished: Mapping[str, np.ndarray], runs: np.ndarray, recorded: np.ndarray | None = None
) -> dict[str, Any]:
    """Return the arrays of a study by name: in memory if they are small, otherwise as `StoredArray`.

    `finished` is the result of `finished_rounds`. `recorded` are the positions of the recorded rounds to include
    (default: all).
    """
    layout, place = blocks.layout, blocks.place
    rounds = np.arange(len(layout.rounds)) if recorded is None else recorded
    first = place.read(DOCUMENT) or b""
    return read_small_arrays({
        name: StoredArray(place, name, spec, finished[name][:, runs], runs, rounds, first)
        for name, spec in layout.outputs().items()
    })  # fmt: skip


def fit_in_memory(layout: StoreLayout, runs: int) -> bool:
    """Return whether the numbers of `runs` runs are small enough to be kept in memory."""
    run_arrays = sum(math.prod(axes) for axes in layout.measures.values()) + 1  # with the comparator loss
    return 8 * run_arrays * len(layout.learners) * runs * len(layout.rounds) <= MAX_BYTES_IN_MEMORY


def select_part(array: Any, learners: Any = slice(None), runs: Any = slice(None), rounds: Any = slice(None)) -> Any:
    """Select learners, runs and rounds, by position, of an array in memory or in a store."""
    if isinstance(array, StoredArray):
        return array.select_part(learners, runs, rounds)
    some = array[learners][:, runs]
    return some if some.ndim < 3 else some[:, :, rounds]


def read_small_arrays(
    arrays: Mapping[str, StoredArray], read: Callable[[str], np.ndarray] | None = None
) -> dict[str, Any]:
    """Read all arrays into memory if their total size is small, otherwise only the arrays without an axis of rounds."""
    few = sum(array.nbytes for array in arrays.values()) <= MAX_BYTES_IN_MEMORY
    whole = {name: few or name in FIRST_ROUND_ARRAYS for name in arrays}
    return {
        name: (np.asarray(array) if read is None else read(name)) if whole[name] else array
        for name, array in arrays.items()
    }


def working_slices(array: Any) -> list[tuple[slice, slice]]:
    """Return slices (learners, rounds) that divide an array [L, R, G, ...] into parts small enough for memory."""
    if not isinstance(array, StoredArray):
        return [(slice(None), slice(None))]
    n_rounds, run_entries = array.shape[2], math.prod(array.shape[1:2] + array.shape[3:])
    step = max(1, PORTION_ENTRIES // max(1, run_entries))
    return [
        (slice(i, i + 1), slice(g, min(g + step, n_rounds)))
        for i in range(len(array))
        for g in range(0, n_rounds, step)
    ]
