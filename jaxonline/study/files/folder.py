"""Where a study from a file is played: its checkpoint, what it found, and what it was, in one folder."""

import contextlib
import dataclasses
import json
import shlex
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxonline.parameters.errors import ArgumentError
from jaxonline.results import Result
from jaxonline.results.report.tables import strict_json
from jaxonline.simulation.cluster import connect_workers
from jaxonline.simulation.metadata import versions
from jaxonline.store.atomic_files import write_atomically
from jaxonline.store.lazy_arrays import working_slices
from jaxonline.store.output_paths import check_folder, output_file, write_text
from jaxonline.study.files.differences import find_differences, format_differences
from jaxonline.study.files.reporting import build_report
from jaxonline.study.files.study_file import StudyFile
from jaxonline.study.study import Context, Report

CONFIGURATION, CHECKPOINT, RESULT = "configuration.json", "checkpoint", "result.zarr"
# a study with others of these may go on in the same folder, as far as the checkpoint lets it
CHANGEABLE_KEYS = ("title", "runs", "block_size", "precision", "rounds", "record_at", "spacing", "bounds")
OUTPUT_FILES = (
    CHECKPOINT,
    RESULT,
    "table.csv",
    "numbers.json",
    "figure.png",
    "figure-*.png",
    "report.html",
    "tables.tex",
)


class StudyFolder(NamedTuple):
    """What is in a folder of a study.

    Attributes:
        folder: where it is.
        study: the resolved configuration.
        versions: of Python and the libraries.
        file: the study file that was played.
        result: the numbers, of the runs that are finished; None where there are none yet.
        finished: whether all of it was played.
        bounds: by learner, what was promised at the recorded rounds.
    """

    folder: Path
    study: dict[str, Any]
    versions: dict[str, str]
    file: Path
    result: Result | None
    finished: bool
    bounds: dict[str, Any]


def run_in_folder(study: StudyFile, out: str | Path, cluster: Any = None) -> tuple[Report, list[Path]]:
    """Play a study in a folder, or go on there, and write what it finds; `cluster` as in `simulate`.

    Returns:
        The report, and the files and folders written.

    Raises:
        ValueError: the folder is that of another study: what differs; or of none, and files in it have names of those
            that are to be written.
        OSError: something cannot be written; or another process is working in the folder.
    """
    folder, resolved = check_folder("out", out), _json_round_trip(study.resolved)
    there = _read_configuration(folder) if (folder / CONFIGURATION).exists() else None
    changed = find_differences(there["study"], resolved) if there else None
    other = {key: each for key, each in (changed or {}).items() if key[0] not in CHANGEABLE_KEYS}
    if other:
        words = f"must be the folder of this study or a new one (got '{folder}', of another)"
        raise ArgumentError("out", f"{words}; {format_differences(other)}")
    source = study.source.path.absolute()
    copy = _study_copy(folder, source)
    own = [] if copy.resolve() == source.resolve() else [copy]
    _check_no_overwrite(folder, there, own)
    study.check()
    about = {"study": resolved, "versions": versions(), "file": str(source)}
    playing = contextlib.nullcontext() if cluster is None else connect_workers(cluster)
    with _restored_on_failure(folder / CONFIGURATION, *own), study.watch() as watch, playing as workers:
        if changed is None or changed:  # first of all: it says whose folder it is
            _write_configuration(folder, about | {"finished": False})
        for path in own:
            write_text(path, study.source.text)
        report = study.run(Context(folder, folder / CHECKPOINT, progress=watch, cluster=workers))
    report = dataclasses.replace(report, page=_page_metadata(folder, resolved, study.source.path))
    written = [copy, folder / CONFIGURATION, *report.save(folder)]
    _write_configuration(folder, about | {"finished": True})
    return report, written


def _study_copy(folder: Path, file: Path) -> Path:
    """Where a study file is copied to."""
    return folder / f"study{file.suffix}"


def _check_no_overwrite(folder: Path, there: dict[str, Any] | None, own: list[Path]) -> None:
    """Check that no file of somebody else would be replaced: in a folder without a configuration, by anything; in that
    of a study which was played from a file in it, by a copy of another file.
    """
    if there is None:
        taken = [*own, *(path for name in OUTPUT_FILES for path in sorted(folder.glob(name)))]
    else:
        taken = [path for path in own if path.resolve() == Path(there["file"]).resolve()]
    names = [path.name for path in taken if path.exists()]
    if names:
        words = f"must be a new folder or that of a study (got '{folder}', with files that would be replaced)"
        raise ArgumentError("out", f"{words}; {', '.join(names)}")


@contextlib.contextmanager
def _restored_on_failure(*files: Path) -> Iterator[None]:
    """Where the study inside is refused, or fails, files that were there are as they were: what was found before is
    there, too.
    """
    before = {path: path.read_bytes() for path in files if path.exists()}
    try:
        yield
    except Exception:
        for path, content in before.items():
            write_atomically(path, content)
        raise


def _write_configuration(folder: Path, about: dict[str, Any]) -> None:
    with output_file(folder / CONFIGURATION) as path:
        write_atomically(path, strict_json(about).encode())


def _json_round_trip(configuration: Any) -> Any:
    """As it is when it comes back from a file."""
    return json.loads(strict_json(configuration))


def _read_configuration(folder: Path) -> dict[str, Any]:
    path = folder / CONFIGURATION
    try:
        found = json.loads(path.read_bytes())
        _format_sizes(found["study"])
        if isinstance(found.get("file"), str):
            return found
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(f"folder: must be the folder of a study (got '{folder}'); it has no {CONFIGURATION}") from None
    except (ValueError, LookupError, TypeError, AttributeError):
        pass
    raise ValueError(f"{path}: is damaged; it is not the configuration of a study")


def read_folder(folder: str | Path) -> StudyFolder:
    """What a study has found so far.

    Raises:
        ValueError: it is no folder of a study, or what is there is damaged.
    """
    folder = Path(folder)
    about = _read_configuration(folder)
    finished = bool(about.get("finished")) and (folder / RESULT).exists()
    result = Result.load(folder / RESULT) if finished else _checkpoint_result(folder / CHECKPOINT)
    bounds = _read_bounds(folder) if finished else {}
    return StudyFolder(folder, about["study"], about.get("versions", {}), Path(about["file"]), result, finished, bounds)


def _checkpoint_result(checkpoint: Path) -> Result | None:
    """The finished runs of a checkpoint; of one with parts, those of the last one, the study proper."""
    for place in (checkpoint, checkpoint / "best"):
        with contextlib.suppress(OSError, ValueError, KeyError, TypeError), warnings.catch_warnings(action="ignore"):
            found = Result.load(place)
            names = [name for name, n in zip(found.learners, count_finished_runs(found), strict=True) if n]
            return _without_unknown_regret(found.select(*names)) if names else None
    return None


def _without_unknown_regret(result: Result) -> Result:
    """Without the best in hindsight where it is not there yet for all runs: then losses are shown."""
    best = result.comparator_loss
    known = best is not None and not any(
        np.isnan(best[learners, :, rounds][np.isfinite(result.cumulative_loss[learners, :, rounds])]).any()
        for learners, rounds in working_slices(result.cumulative_loss)
    )
    return result if known else dataclasses.replace(result, comparator_loss=None)


def _read_bounds(folder: Path) -> dict[str, Any]:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        learners = json.loads((folder / "numbers.json").read_bytes())["learners"]
        return {name: each["bound"] for name, each in learners.items() if each.get("bound") is not None}
    return {}


def folder_report(found: StudyFolder) -> Report | None:
    """The report of what is in a folder, None where nothing is finished."""
    if found.result is None:
        return None
    bounds = {name: (_StoredBound(each), None) for name, each in found.bounds.items()}
    report = build_report(found.result, found.study.get("title") or "", bounds)
    return dataclasses.replace(report, page=_page_metadata(found.folder, found.study, found.file))


def _page_metadata(folder: Path, study: dict[str, Any], file: Path) -> dict[str, Any]:
    """What the page of a study says beside its results: the file it was made from, and how to do it again from here."""
    copy, here = _study_copy(folder, file), Path.cwd()
    text = copy.read_text(encoding="utf-8") if copy.exists() else json.dumps(study, indent=1)
    file = file if file.exists() else copy
    file = file.relative_to(here) if file.is_relative_to(here) else file
    places = [shlex.quote(str(each)) for each in (file, folder)]
    sizes = "".join(f" --{key} {study[key]}" for key in ("runs", "rounds", "seed") if study.get(key) is not None)
    commands = [f"jaxonline run {places[0]} --out {places[1]}{sizes}", f"jaxonline report {places[1]}"]
    return {"configuration": text, "commands": commands, "about": {"seed": study.get("seed")}}


class _StoredBound:
    """A bound as it was written."""

    def __init__(self, values: list[float | None]):
        self._values = [float("nan") if each is None else each for each in values]

    def at_rounds(self, rounds: Any) -> list[float]:
        return self._values if len(self._values) == len(rounds) else [float("nan")] * len(rounds)


@contextlib.contextmanager
def print_short_warnings() -> Iterator[None]:
    """What is warned of inside, without the line of code that it comes from."""

    def show(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
        import sys

        print(f"Warning: {' '.join(str(message).split())}", file=sys.stderr, flush=True)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def format_progress(found: StudyFolder) -> str:
    """How many runs are finished, of how many."""
    study, result, sizes = found.study, found.result, _format_sizes(found.study)
    if result is None:
        return f"no run is finished yet ({sizes})"
    done = {name: int(n) for name, n in zip(result.learners, count_finished_runs(result), strict=True)}
    least, most = min(done.values()), max(done.values())
    words = f"{most:,} runs so far" if least == most else f"{least:,} to {most:,} runs of each learner so far"
    waiting = [name for name in study["learners"] if name not in done]
    return f"{words}, of {sizes}" + (f"; not yet played: {', '.join(waiting)}" if waiting else "")


def _format_sizes(study: dict[str, Any]) -> str:
    precision = study.get("precision")
    wanted = f"at most {precision['most_runs']:,}" if precision else f"{study['runs']:,}"
    return f"{wanted} runs of {study['rounds']:,} rounds, {len(study['learners'])} learners"


def count_finished_runs(result: Result) -> Any:
    """The finished runs of each learner [L]."""
    return np.isfinite(result.cumulative_loss[:, :, -1]).sum(axis=1) + result.failed
