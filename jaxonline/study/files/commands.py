"""The commands of study files: `run`, `show`, `list`."""

import dataclasses
import shlex
import sys
import time
import warnings
from contextlib import nullcontext
from pathlib import Path
from typing import Any

import numpy as np

from jaxonline.parameters.errors import ArgumentError, UnfinishedStudyWarning, did_you_mean, replace_controls
from jaxonline.results import Result
from jaxonline.simulation.cluster import connect_workers
from jaxonline.store.archives import read_json
from jaxonline.store.files import DamagedStoreError, check_folder, check_inside, read_file, write_atomically
from jaxonline.study.files.catalogue import catalogue, describe_entry, describe_kind
from jaxonline.study.files.study_file import StudyKeys, load_study_file, study_report
from jaxonline.study.files.templates import EXAMPLES
from jaxonline.study.study import Context, Report, draw_png

CHECKPOINT, RESULT, NUMBERS, COPY = "checkpoint", "result.npz", "numbers.json", "study.toml"
_LEARNERS = dict[str, dict[str, list[float | None] | None]]  # the type of an entry in NUMBERS
OUTPUTS = (RESULT, NUMBERS, COPY, "table.csv", "figure.png", "report.html")


def run_file(console: Any, file: str, out: str | None, overrides: dict[str, Any], cluster: int | str | None) -> None:
    """Run or continue the study of a file in a folder; print and write the report.

    Raises:
        ValueError: the file is invalid, the folder belongs to another study or has other files that would be replaced.
        OSError: the folder cannot be written, or another process uses it.
    """
    began = time.perf_counter()
    given = {key: value for key, value in overrides.items() if value is not None}
    study = load_study_file(file, **given)
    folder = check_folder("out", Path("results") / study.source.path.stem if out is None else out)
    own = study.source.path.resolve()
    taken = [name for name in OUTPUTS if (folder / name).exists() and (folder / name).resolve() != own]
    if taken and not (folder / CHECKPOINT).exists():
        problem = f"must be a new folder or that of a study (got '{folder}', with files that would be replaced)"
        raise ArgumentError("out", f"{problem}; {', '.join(taken)}")
    check_inside(folder, folder / CHECKPOINT)
    try:
        with nullcontext() if cluster is None else connect_workers(cluster) as workers:
            report = study.run(Context(folder / CHECKPOINT, progress=True, cluster=workers))
    except KeyboardInterrupt:
        line = f"Interrupted; finished runs are in {folder}. The same command continues."
        print(replace_controls(line), file=sys.stderr)
        raise
    options = "".join(f" --{key} {value}" for key, value in given.items())
    command = f"jaxonline run {shlex.quote(file)} --out {shlex.quote(str(folder))}{options}"
    report = dataclasses.replace(report, page={"configuration": f"{command}\n\n{study.source.text}"})
    report.show(console)
    written = report.save(folder)
    if (folder / COPY).resolve() != own:
        written.insert(0, write_atomically(folder / COPY, study.source.text))
    console.print(f"{', '.join(map(str, written))} written", markup=False, highlight=False)
    console.print(f"{time.perf_counter() - began:.1f} s in all", markup=False, highlight=False)


def show_folder(console: Any, folder: str) -> None:
    """Print the table of a study, finished or not, and draw its figures."""
    report = folder_report(Path(folder))
    report.show(console)
    paths = [write_atomically(Path(folder) / f"{name}.png", draw_png(draw)) for name, draw in report.figures.items()]
    console.print(f"{', '.join(map(str, paths))} drawn", markup=False, highlight=False)


def folder_report(folder: Path) -> Report:
    """Return the report of a study's folder; ValueError if there is no finished run."""
    if (folder / RESULT).exists():
        result = Result.load(check_inside(folder, folder / RESULT))
        return study_report(result, *_title_and_bounds(folder, len(result.rounds)))
    for place in (folder / CHECKPOINT / "best", folder / CHECKPOINT):
        if place.exists():
            check_inside(folder, place)
            with warnings.catch_warnings(action="ignore", category=UnfinishedStudyWarning):
                return study_report(_finished_runs(Result.load(place)), "Not finished", {})
    raise ArgumentError("folder", f"must be the folder of a study (got '{folder}')")


def _title_and_bounds(folder: Path, n_rounds: int) -> tuple[str, dict[str, np.ndarray]]:
    content = read_file(folder / NUMBERS, folder)
    try:
        numbers = read_json(content, {"title": str, "learners": _LEARNERS})
    except DamagedStoreError as error:
        raise DamagedStoreError(f"{folder / NUMBERS}: is damaged; {error}") from None
    bounds = {name: np.array(entry.get("bound") or [], float) for name, entry in numbers["learners"].items()}
    return numbers["title"], {name: bound for name, bound in bounds.items() if len(bound) == n_rounds}


def _finished_runs(result: Result) -> Result:
    """Return the learners with finished runs, without comparator if it is unknown in some of these runs."""
    finished = np.isfinite(result.cumulative_loss[:, :, -1])
    names = [name for name, runs in zip(result.learners, finished, strict=True) if runs.any()]
    if not names:
        raise ValueError("no run is finished yet")
    best = result.comparator_loss
    known = best is not None and np.isfinite(best[finished]).all()
    return (result if known else dataclasses.replace(result, comparator_loss=None)).select(*names)


def list_names(console: Any, name: str | None) -> None:
    """Print all names that a study file can use, the names of a kind, or the parameters of one name."""
    names = catalogue()
    kinds = list(dict.fromkeys(entry.kind for entry in names.values()))
    if name is None:
        lines = [line for kind in kinds for line in (*describe_kind(kind), "")]
        lines.append(f"Shipped studies (jaxonline run NAME): {', '.join(EXAMPLES)}")
        lines.append("Parameters of one name: jaxonline list NAME. Keys of a study file: jaxonline list study")
    elif name == "study":
        lines = [
            "Keys of a study file",
            *(f"  {key}: {field.description}" for key, field in StudyKeys.model_fields.items()),
        ]
    elif name in kinds:
        lines = describe_kind(name)
    elif name in names:
        lines = describe_entry(names[name])
    else:
        suggestion = did_you_mean(name, (*names, *kinds, "study"))
        raise ArgumentError("name", f"must be a name or a kind that `jaxonline list` prints (got {name!r}){suggestion}")
    for line in lines:
        console.print(line, markup=False, highlight=False)
