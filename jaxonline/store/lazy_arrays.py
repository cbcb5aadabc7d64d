"""Arrays of a study that are too large for memory: they stay in its store, and are read when they are indexed.

They are not lazy arrays of zarr or xarray, which read a chunk that was deleted as NaN, and do not notice that another
study was put in the place of the first; here both are errors.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from typing import Any

import numpy as np

from jaxonline.store.blocks import MARKER, STUDY, parse_attributes, store_format
from jaxonline.store.filesystem import Bucket, Folder
from jaxonline.store.layout import AXES, FIRST_ROUND_ARRAYS, Blocks, StoreLayout, axes_of
from jaxonline.store.zarr_format import DOCUMENT, FILL_VALUES, ArraySpec, encode_name

MAX_BYTES_IN_MEMORY = 1 << 26  # of the numbers of a study; more than that stay in its store
PORTION_ENTRIES = 1 << 20  # numbers of a stored array that are worked on at a time


def finished_rounds(blocks: Blocks, read: bool = True) -> dict[str, np.ndarray]:
    """How many of the recorded rounds are in a store, by the name of an array: [L, N], of each learner and run.

    Args:
        blocks: of the study.
        read: whether each block is read and compared with its record; where not, all of them are there.

    Warns:
        DamagedStoreWarning: a block is damaged, and counts as missing.
    """
    layout = blocks.layout
    shape, known = (len(layout.learners), layout.runs), dict[str, np.ndarray]()
    for rows in layout.rows:
        alike = known.get(rows.outputs[0])  # arrays with the same outputs share one
        counts = np.full(shape, 0 if read else len(layout.rounds), np.int32) if alike is None else alike
        known |= dict.fromkeys(rows.outputs, counts)
        for block in sorted(blocks.finished(rows)) if read else ():
            kept = blocks.read(rows, block)
            if kept is not None:
                counts[rows.part(block)] = layout.recorded(kept.rounds)
    return known


class StoredArray(np.lib.mixins.NDArrayOperatorsMixin):
    """An array [L, R, G, ...] (or [L, R]) in a store: NumPy's as soon as it is indexed, converted or computed with.

    Of indices that are integers and slices only that part is read.

    Args:
        place: of the store.
        name: of the array there.
        spec: what is there, with some of the axes learner, run and round; it is the same along those that it lacks.
        known: how many recorded rounds are there [L, R]; the others are NaN, or -1.
        runs: which runs of those in the store.
        rounds: which recorded rounds, by position.
        first: the first document of the store.

    Raises:
        OSError: when numbers are read, and the store is gone, or another one is in its place.
        ValueError: when numbers are read, and they are damaged.
    """

    def __init__(
        self, place: Folder | Bucket, name: str, spec: ArraySpec, known: np.ndarray, runs: np.ndarray,
        rounds: np.ndarray, first: bytes,
    ):  # fmt: skip
        self._place, self._name, self._spec, self._first = place, name, spec, first
        self._known, self._runs, self._rounds = known, np.asarray(runs), np.asarray(rounds)
        self._learners, self._zero = np.arange(len(known)), ()
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
        """The bytes of all numbers."""
        return math.prod(self.shape) * self.dtype.itemsize

    def is_there(self) -> bool:
        """Whether the numbers are still in the store, and no others in their place."""
        return _goes_on(self._first, self._place.read(DOCUMENT))

    def is_same_along(self, axis: int) -> bool:
        """Whether the numbers are the same for all positions on an axis."""
        return self._axes[axis] not in self._spec.dims

    def select_part(
        self, learners: Any = slice(None), runs: Any = slice(None), rounds: Any = slice(None)
    ) -> "StoredArray":
        """The array of some learners, runs and rounds, still in the store."""
        if not isinstance(learners, slice):
            learners = np.asarray(learners)
        found = copy(self)
        found._learners, found._known = self._learners[learners], self._known[learners][:, runs]
        found._runs, found._rounds = self._runs[runs], self._rounds[rounds]
        found.shape = (*found._known.shape, len(found._rounds))[: len(self._axes)] + self.shape[len(self._axes) :]
        return found

    def with_zeros(self, learners: Sequence[int]) -> "StoredArray":
        """0 for some learners, by position, wherever anything is known."""
        found = copy(self)
        found._zero = tuple(self._learners[list(learners)])
        return found

    def __len__(self) -> int:
        return self.shape[0]

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[i] for i in range(len(self)))

    def __repr__(self) -> str:
        return f"<{self._name} {list(self.shape)} in {self._place.name}: it is read when it is indexed>"

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        if copy is False:
            raise ValueError("copy: must not be False for a stored array, which is copied when it is read")
        return np.asarray(self._read(*(np.arange(n) for n in self.shape[:3])), dtype)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        given = (np.asarray(each) if isinstance(each, StoredArray) else each for each in inputs)
        return getattr(ufunc, method)(*given, **options)

    def __getitem__(self, index: Any) -> np.ndarray:
        at = index if isinstance(index, tuple) else (index,)
        at = at[:-1] if at and at[-1] is Ellipsis else at
        if not all(isinstance(each, int | np.integer | slice) for each in at) or len(at) > self.ndim:
            return np.asarray(self)[index]
        axes = (*at, *(slice(None),) * (self.ndim - len(at)))
        found = self._read(*(np.atleast_1d(np.arange(n)[i]) for n, i in zip(self.shape[:3], axes, strict=False)))
        kept = tuple(0 if isinstance(i, int | np.integer) else slice(None) for i in axes[:3])
        return found[kept][(*(slice(None) for i in kept if i != 0), *axes[3:])]

    def _read(self, *at: np.ndarray) -> np.ndarray:
        """The numbers at these positions of the axes, chunk after chunk; a view where they are the same along one."""
        learners, runs = at[:2]
        here = tuple(i for i, axis in enumerate(self._axes) if axis not in self._spec.dims)
        known = self._known[np.ix_(*(own[:1] if i in here else own for i, own in enumerate((learners, runs))))]
        rounds = self._rounds[at[2]] if len(at) > 2 else np.arange(1)
        where = {"learner": self._learners[learners], "run": self._runs[runs], "round": rounds}
        axes = [where.get(dim, np.arange(n)) for dim, n in zip(self._spec.dims, self._spec.shape, strict=True)]
        found = np.full([len(axis) for axis in axes], FILL_VALUES[self.dtype.kind], self.dtype)
        whole = known.size > 0 and known.min() > rounds.max(initial=0)
        for index, into, out_of in _chunks(axes, self._spec.chunks):
            if not whole:
                slices = dict(zip(self._spec.dims, into, strict=True))
                there = known[slices.get("learner", slice(None))][:, slices.get("run", slice(None))]
                if (there <= rounds[slices.get("round", slice(None))].min()).all():
                    continue
            found[_open(into)] = self._chunk(index)[_open(out_of)]
        self._check()  # when all is read: whoever replaces the store does so at any moment
        found = np.expand_dims(found, here)
        if self._zero:
            found[np.isin(where["learner"], self._zero)] = 0
        if not whole:
            later = known[..., None] <= rounds
            found[later if len(at) > 2 else later[..., 0]] = FILL_VALUES[self.dtype.kind]
        return np.broadcast_to(found, (*map(len, at), *found.shape[len(at) :])) if here else found

    def _chunk(self, index: Sequence[int]) -> np.ndarray:
        content = self._place.read(f"{encode_name(self._name)}/{self._spec.key(index)}")
        if content is None:
            raise self._gone()
        try:
            return self._spec.decode(content)
        except ValueError as error:
            self._check()
            raise ValueError(f"{self._place.name}: {self._name!r} is damaged") from error

    def _check(self) -> None:
        if not self.is_there():
            raise self._gone()

    def _gone(self) -> FileNotFoundError:
        return FileNotFoundError(
            f"{self._name!r} is not in {self._place.name} any more: a result of more than {MAX_BYTES_IN_MEMORY >> 20} "
            "MB of numbers reads them from its store when they are asked for, and that was removed, or another one was "
            "put there"
        )


def _goes_on(before: bytes, now: bytes | None) -> bool:
    """Whether a store has what it had, by its first documents: the same, or the study has got longer."""
    if now == before:
        return True
    found = [parse_attributes(each or b"") or {} for each in (before, now)]
    if [store_format(each) for each in found] != [STUDY, STUDY]:
        return False
    (old, theirs), (new, ours) = ((each[MARKER]["study"], each[MARKER]["layout"]) for each in found)
    first = {"runs": 0, "asked": [], "rounds": ours["rounds"][: len(theirs["rounds"])]}
    return old == new and theirs | {"runs": 0, "asked": []} == ours | first


def _chunks(axes: Sequence[np.ndarray], sizes: Sequence[int]) -> Iterator[tuple[tuple[int, ...], tuple, tuple]]:
    """The chunks in which positions are: the index of each, where its entries go, and where they are in it."""
    parts = []
    for positions, size in zip(axes, sizes, strict=True):
        chunk, order = positions // size, np.argsort(positions // size, kind="stable")
        found, begins = np.unique(chunk[order], return_index=True)
        groups = zip(found.tolist(), np.split(order, begins[1:]), strict=False)  # of nothing there is one empty part
        parts.append([(i, _in_a_row(own), _in_a_row(positions[own] % size)) for i, own in groups])
    for each in itertools.product(*parts):
        index, into, out_of = zip(*each, strict=True)
        yield index, into, out_of


def _in_a_row(positions: np.ndarray) -> Any:
    """Positions as a slice where they follow one another: that copies less."""
    return slice(positions[0], positions[-1] + 1) if (np.diff(positions) == 1).all() else positions


def _open(positions: Sequence[Any]) -> Any:
    """An index of all combinations of slices and arrays of positions."""
    if all(isinstance(each, slice) for each in positions):
        return tuple(positions)
    return np.ix_(*(np.r_[each] if isinstance(each, slice) else each for each in positions))


def study_arrays(
    blocks: Blocks, finished: Mapping[str, np.ndarray], runs: np.ndarray, recorded: np.ndarray | None = None
) -> dict[str, Any]:
    """The numbers of a study by name: in memory where they are few, otherwise in the store.

    Args:
        blocks: of the study.
        finished: how many rounds of them are there (`finished_rounds`).
        runs: those that are asked for.
        recorded: recorded rounds that are asked for, by position; all by default.
    """
    layout, place = blocks.layout, blocks.place
    rounds = np.arange(len(layout.rounds)) if recorded is None else recorded
    first = place.read(DOCUMENT) or b""
    return read_small_arrays({
        name: StoredArray(place, name, spec, finished[name][:, runs], runs, rounds, first)
        for name, spec in layout.outputs().items()
    })  # fmt: skip


def fit_in_memory(layout: StoreLayout, runs: int) -> bool:
    """Whether the numbers of so many runs of a study are held in memory."""
    each = sum(math.prod(axes) for axes in layout.measures.values()) + 1  # and the comparator's
    return 8 * each * len(layout.learners) * runs * len(layout.rounds) <= MAX_BYTES_IN_MEMORY


def select_part(array: Any, learners: Any = slice(None), runs: Any = slice(None), rounds: Any = slice(None)) -> Any:
    """Some learners, runs and rounds, by position, of an array in memory or in a store, which stays there."""
    if isinstance(array, StoredArray):
        return array.select_part(learners, runs, rounds)
    some = array[learners][:, runs]
    return some if some.ndim < 3 else some[:, :, rounds]


def read_small_arrays(
    arrays: Mapping[str, StoredArray], read: Callable[[str], np.ndarray] | None = None
) -> dict[str, Any]:
    """The arrays, read into memory (by `read`, from their names) where they are few; what has no rounds always is."""
    few = sum(array.nbytes for array in arrays.values()) <= MAX_BYTES_IN_MEMORY
    whole = {name: few or name in FIRST_ROUND_ARRAYS for name in arrays}
    return {
        name: (np.asarray(array) if read is None else read(name)) if whole[name] else array
        for name, array in arrays.items()
    }


def zero_nonfinite_controls(controls: Any, known: np.ndarray) -> tuple[Any, list[int]]:
    """Control variates [L, R, G], 0 wherever they are known for learners with one [L, R] that is not finite.

    Returns:
        The control variates, and the positions of those learners.
    """
    bad = [i for i, (own, there) in enumerate(zip(controls, known, strict=True)) if not np.isfinite(own[there]).all()]
    if isinstance(controls, StoredArray):
        return controls.with_zeros(bad), bad
    found = controls.copy() if bad else controls
    for i in bad:
        found[i, known[i]] = 0.0
    return found, bad


def working_slices(array: Any) -> list[tuple[slice, slice]]:
    """Learners and rounds of an array [L, R, G, ...] that are worked on at a time: all of one in memory."""
    if not isinstance(array, StoredArray):
        return [(slice(None), slice(None))]
    n_rounds, each = array.shape[2], math.prod(array.shape[1:2] + array.shape[3:])
    step = max(1, PORTION_ENTRIES // max(1, each))
    return [
        (slice(i, i + 1), slice(g, min(g + step, n_rounds)))
        for i in range(len(array))
        for g in range(0, n_rounds, step)
    ]
