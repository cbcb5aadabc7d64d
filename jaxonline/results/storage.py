"""Results as labelled data on disk: xarray and zarr, imported only when used."""

import glob
import json
import os
import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxonline._util.files import UNFINISHED, naming, sync, unfinished

if TYPE_CHECKING:
    import xarray

    from jaxonline.results import Result

MARKER = "jaxonline"  # an attribute of the root: what has it is a store of ours
ROOT = "zarr.json"  # the file that describes a node of a zarr store
NEW, OLD = "new", "old"  # stores beside their place


def to_dataset(result: "Result") -> "xarray.Dataset":
    """The numbers of a result, labelled."""
    import xarray

    cube = ("learner", "run", "round")
    variables: dict = {
        "first_nonfinite": (cube[:2], result.first_nonfinite),
        "first_overflow": (cube[:2], result.first_overflow),
    }
    for name, array in result.measures.items():
        entries = tuple(f"{name}, axis {axis}" for axis in range(array.ndim - 3))
        variables[name] = ((*cube, *entries), array)
    if result.comparator_loss is not None:
        variables["comparator_loss"] = (cube, np.ascontiguousarray(result.comparator_loss))
        variables["regret"] = (cube, result.regret)
    names = np.array(result.learners, dtype=object)  # zarr keeps objects as strings of any length
    coordinates = {"learner": names, "run": result.runs, "round": result.rounds}
    about = {"meta": result.meta, "measures": list(result.measures)}
    return xarray.Dataset(variables, coordinates, {MARKER: json.dumps(about)})


def save(result: "Result", path: Path) -> Path:
    """Write the store beside its place, then move it there: if this is killed, the old or the new one is whole."""
    if path.name in ("", ".."):
        raise ValueError(f"path must end in the name of a store, got '{path}'")
    place = path.resolve() if path.is_symlink() else path
    if os.path.lexists(path) and not (place.exists() and _is_ours(place)):
        raise FileExistsError(f"{path} exists and is no result of jaxonline: it is not replaced, give another path")
    with naming(path):
        place.parent.mkdir(parents=True, exist_ok=True)
        beside = unfinished(place)
        beside.mkdir()
    try:
        with naming(path):
            to_dataset(result).to_zarr(beside / NEW, mode="w", consolidated=False, zarr_format=3)
            for part in (*(beside / NEW).rglob("*"), beside / NEW, beside):
                sync(part)
            _move(beside, place)
    finally:
        if place.exists() or not (beside / OLD).exists():  # else it holds the only one
            shutil.rmtree(beside, ignore_errors=True)
    return path


def _move(beside: Path, place: Path) -> None:
    """The new store to its place, the old one out of it."""
    had_one = place.exists()
    if had_one:
        os.rename(place, beside / OLD)
    try:
        os.rename(beside / NEW, place)
    except OSError:
        if had_one:
            os.rename(beside / OLD, place)
        raise
    sync(place.parent)


def _is_ours(path: Path) -> bool:
    """Whether a folder is a result, the whole of it: nothing was put in beside the arrays."""
    return _marker(path) is not None and all(part.name == ROOT or (part / ROOT).is_file() for part in path.iterdir())


def _marker(path: Path) -> dict[str, Any] | None:
    """What `to_dataset` says about a result, read from the store without opening it; None where it says nothing."""
    try:
        about = json.loads(json.loads((path / ROOT).read_text(encoding="utf-8"))["attributes"][MARKER])
    except (OSError, ValueError, LookupError, TypeError):
        return None
    return about if isinstance(about, dict) and {"meta", "measures"} <= about.keys() else None


def load_result(path: Path) -> "Result":
    """Read what `save` wrote."""
    import xarray

    from jaxonline.results import Result

    if not path.exists():
        kept = sorted(path.parent.glob(f".{glob.escape(path.name)}.*{UNFINISHED}/{OLD}"))
        hint = f"; saving was interrupted, and the one before is in {kept[0]}" if kept else ""
        raise FileNotFoundError(f"there is no result at {path}{hint}")
    about = _marker(path)
    if about is None:
        raise ValueError(f"{path} is no result of jaxonline, as Result.save writes them")
    with xarray.open_zarr(path, consolidated=False) as dataset:
        arrays = {name: np.asarray(variable) for name, variable in dataset.variables.items()}
    return Result(
        learners=tuple(map(str, arrays["learner"])), runs=arrays["run"], rounds=arrays["round"],
        measures={name: arrays[name] for name in about["measures"]}, comparator_loss=arrays.get("comparator_loss"),
        first_nonfinite=arrays["first_nonfinite"], first_overflow=arrays["first_overflow"], meta=about["meta"],
    )  # fmt: skip
