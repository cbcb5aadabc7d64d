"""Files of results: one .npz file with the numbers, and a JSON text with names and metadata. Conversion to xarray."""

import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NotRequired

import numpy as np

from jaxonline.parameters.errors import ArgumentError, UnfinishedStudyWarning
from jaxonline.parameters.optional_packages import import_package
from jaxonline.results.quantities import REWARD_OF_LOSS, has_rewards, rounds_played
from jaxonline.results.statistics.intervals import SkewCorrected, interval_from_json
from jaxonline.store.archives import Numbers, open_arrays, read_json, seal_arrays, validate
from jaxonline.store.checkpoints import AXES, COMPARATOR_LOSS, FIRST_ROUND_ARRAYS, Store
from jaxonline.store.files import DamagedStoreError, local_path, read_file, remove_abandoned, write_atomically

if TYPE_CHECKING:
    import xarray

SUFFIX, ABOUT, MEASURE = ".npz", "about", "measure "  # names of arrays: the JSON text, and "measure cumulative_loss"
SEAL = "jaxonline result 1 "  # the kind of the file, a part of its digest


def to_xarray(result: Any) -> "xarray.Dataset":
    """Return the numbers of a result as an xarray Dataset with labels; rewards in place of losses for such arms."""
    xarray = import_package("xarray", "xarray")
    names = REWARD_OF_LOSS if has_rewards(result) else {}

    def shown(name: str, array: Any) -> tuple[str, Any]:
        return (names[name], rounds_played(result) - array) if name in names else (name, array)

    variables: dict = {name: (AXES[:2], getattr(result, name)) for name in FIRST_ROUND_ARRAYS}
    for stored, recorded in result.measures.items():
        name, array = shown(stored, recorded)
        entries = tuple(f"{name}, axis {axis}" for axis in range(array.ndim - 3))
        variables[name] = ((*AXES, *entries), array)
    if result.comparator_loss is not None:
        name, best = shown(COMPARATOR_LOSS, np.ascontiguousarray(result.comparator_loss))
        variables[name] = (AXES, best)
        variables["regret"] = (AXES, result.regret)
    learners = np.array(result.learners, dtype=object)  # zarr stores objects as strings of any length
    coordinates = {"learner": learners, "run": result.runs, "round": result.rounds}
    about = {"meta": result.meta, "measures": [names.get(name, name) for name in result.measures]}
    return xarray.Dataset(variables, coordinates, {"jaxonline": json.dumps(about)})


def save(result: Any, path: str | os.PathLike[str]) -> Path:
    """Write the file of a result, in place of an earlier one; see `Result.save`."""
    path = local_path(path)
    if path.suffix != SUFFIX:
        raise ArgumentError(
            "path",
            f"must end in .npz (got '{path}'); to_pandas(), to_markdown() and to_latex() write tables, plot(path) "
            "figures, to_xarray() netCDF and zarr",
        )
    if path.exists() and not path.is_symlink():  # a link is replaced, and its target stays
        try:
            _read(path)
        except (OSError, ValueError):
            raise FileExistsError(f"{path}: exists and is not a result of jaxonline, or is damaged") from None
    remove_abandoned(path.parent)
    about = {
        "learners": result.learners, "measures": list(result.measures), "interval": result.interval.to_json(),
        "meta": result.meta,
    }  # fmt: skip
    text = json.dumps(about, default=lambda number: number.tolist())
    arrays = {ABOUT: np.frombuffer(text.encode(), np.uint8), "runs": result.runs, "rounds": result.rounds}
    arrays |= {f"{MEASURE}{name}": array for name, array in result.measures.items()}
    arrays |= {name: getattr(result, name) for name in FIRST_ROUND_ARRAYS}
    if result.comparator_loss is not None:
        arrays[COMPARATOR_LOSS] = _without_copies(result.comparator_loss)
    return write_atomically(path, seal_arrays(arrays, SEAL))


_PAIR = tuple[str, str, str, int, float | None, float | None, float | None]
_RULE = {
    "quantity": str, "level": float, "margin": float, "rarest_event": float, "tests": str, "runs": int,
    "complete": bool, "saved": NotRequired[int], "pairs": NotRequired[list[_PAIR]],
}  # fmt: skip
_META = {  # the metadata that this package reads; `Result.meta` has more
    "n_runs": int, "rewards": bool, "pseudo": bool, "oblivious": bool | None, "comparator": str | None,
    "regret_label": str | None, "missing": dict[str, int], "interval": dict[str, Any], "decisions": _RULE,
    "precision": {"biased_mean": bool, "runs": int, "unseen_probability": float | None},
    "methods": {"game": list[str], "learners": dict[str, list[str]]},
}  # fmt: skip
_ABOUT = {"learners": tuple[str, ...], "measures": list[str], "interval": dict[str, Any], "meta": dict[str, Any]}


def load_as(make: Callable[..., Any], path: str | os.PathLike[str]) -> Any:
    """Make the `Result` that is stored at a path from its fields; see `load_result`."""
    path = local_path(path)
    fields = _read_study(path) if path.is_dir() else _read_saved(path)
    try:
        return make(**fields | {"interval": interval_from_json(fields["interval"])})
    except (ValueError, TypeError) as error:
        raise DamagedStoreError(f"{path}: is damaged; {error}") from None


def _read(path: Path) -> Numbers:
    content = read_file(path)
    try:
        return open_arrays(content, SEAL)
    except DamagedStoreError:
        raise DamagedStoreError(f"{path}: is damaged, or is not a result that Result.save wrote") from None


def _read_saved(path: Path) -> dict[str, Any]:
    arrays = _read(path)
    try:
        about = read_json(arrays.pop(ABOUT).tobytes(), _ABOUT)
        measures = {name: arrays[f"{MEASURE}{name}"] for name in about["measures"]}
        best = arrays.get(COMPARATOR_LOSS)
        best = None if best is None else np.broadcast_to(best, measures["cumulative_loss"].shape)
        plain = {name: arrays[name] for name in ("runs", "rounds", *FIRST_ROUND_ARRAYS)}
        if any(array.dtype.kind not in "fiub" for array in arrays.values()):
            raise ValueError("it has other arrays than numbers")
        validate(about["meta"], _META, total=False)
    except (ValueError, KeyError) as error:
        raise DamagedStoreError(f"{path}: is damaged; {error}") from None
    return about | plain | {"measures": measures, COMPARATOR_LOSS: best}


def _without_copies(array: np.ndarray) -> np.ndarray:
    """Return a broadcast array with one entry along each axis along which all entries are the same memory."""
    return array[tuple(slice(0, 1) if stride == 0 else slice(None) for stride in array.strides)]


def _read_study(folder: Path) -> dict[str, Any]:
    store = Store.read_only(folder)
    try:
        validate(store.meta, _META, total=False)
    except DamagedStoreError as error:
        raise DamagedStoreError(f"{folder}: is damaged; its metadata {error}") from None
    (arrays, finished), layout, meta = store.load_arrays(), store.layout, store.meta
    played = finished.get("cumulative_loss", np.zeros((len(layout.learners), 1), bool))
    runs = np.flatnonzero(played.any(axis=0))
    if not len(runs):
        raise ValueError(f"{folder}: is the store of a study without a finished run")
    left = layout.runs - played.sum(axis=1)  # the arrays end with the last finished run
    missing = {name: int(n) for name, n in zip(layout.learners, left, strict=True) if n}
    if COMPARATOR_LOSS in finished:
        judged = np.broadcast_to(finished[COMPARATOR_LOSS], played.shape).all(axis=0)
        best_name = REWARD_OF_LOSS[COMPARATOR_LOSS] if meta.get("rewards") else COMPARATOR_LOSS
        differs = any("run" in job.axes for job in layout.jobs if COMPARATOR_LOSS in job.outputs)
        left = int((~judged).sum()) + differs * (layout.runs - judged.size)
        missing |= {best_name: left} if left else {}
    if missing:
        counts = ", ".join(f"{n:,} of {name!r}" for name, n in missing.items())
        warnings.warn(
            f"{folder} is unfinished: of {layout.runs:,} runs, {counts} are missing",
            UnfinishedStudyWarning, stacklevel=4,
        )  # fmt: skip
        meta["missing"] = missing
    decisions = meta.get("decisions", {})
    if "pairs" in decisions:  # other runs were played at the same time as the last runs that were looked at
        runs = runs[runs < decisions["runs"]]
    numbers = {name: array if array.shape[1] < played.shape[1] else array[:, runs] for name, array in arrays.items()}
    best, firsts = numbers.pop(COMPARATOR_LOSS, None), {name: numbers.pop(name, None) for name in FIRST_ROUND_ARRAYS}
    return dict(
        learners=tuple(layout.learners), runs=runs, rounds=np.array(layout.rounds),
        measures=dict(sorted(numbers.items())),
        comparator_loss=None if best is None else np.broadcast_to(best, numbers["cumulative_loss"].shape), meta=meta,
        interval=meta.pop("interval", SkewCorrected().to_json()), **firsts,
    )  # fmt: skip
