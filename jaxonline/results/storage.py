"""Results as labelled data on disk: xarray and zarr, imported only when used."""

import json
import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    import xarray

    from jaxonline.results import Result


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
    return xarray.Dataset(variables, coordinates, {"jaxonline": json.dumps(about)})


def save(result: "Result", path: Path) -> Path:
    """Write the store beside its final place, then move it there: a store is whole or absent."""
    path.parent.mkdir(parents=True, exist_ok=True)
    unfinished = path.with_name(path.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    to_dataset(result).to_zarr(unfinished, mode="w", consolidated=False)
    shutil.rmtree(path, ignore_errors=True)
    unfinished.rename(path)
    return path


def load_result(path: Path) -> "Result":
    """Read what `save` wrote."""
    import xarray

    from jaxonline.results import Result

    if not path.exists():
        raise FileNotFoundError(f"there is no result at {path}")
    with xarray.open_zarr(path, consolidated=False) as dataset:
        arrays = {name: np.asarray(variable) for name, variable in dataset.variables.items()}
        about = json.loads(dataset.attrs["jaxonline"])
    return Result(
        learners=tuple(map(str, arrays["learner"])), runs=arrays["run"], rounds=arrays["round"],
        measures={name: arrays[name] for name in about["measures"]}, comparator_loss=arrays.get("comparator_loss"),
        first_nonfinite=arrays["first_nonfinite"], first_overflow=arrays["first_overflow"], meta=about["meta"],
    )  # fmt: skip
