"""The folder of a study, with its configuration, checkpoint and results."""

import contextlib
import dataclasses
import json
import shlex
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxonline.bounds.theorem import Bound
from jaxonline.parameters.errors import (
    ArgumentError,
    UnfinishedStudyWarning,
    to_one_line,
)
from jaxonline.results import Result
from jaxonline.results.report.tables import strict_json
from jaxonline.simulation.cluster import connect_workers
from jaxonline.simulation.metadata import versions
from jaxonline.store.checkpoints import DamagedStoreError, open_document, seal_document
from jaxonline.store.files import remove_abandoned, write_atomically
from jaxonline.store.output_paths import check_folder, output_file, write_text
from jaxonline.study.files.differences import find_differences, format_differences
from jaxonline.study.files.reporting import build_report
from jaxonline.study.files.study_file import StudyFile
from jaxonline.study.files.templates import EXAMPLES_FOLDER
from jaxonline.study.study import Context, Report

CONFIGURATION, CHECKPOINT, RESULT, NUMBERS = "configuration.json", "checkpoint", "result.npz", "numbers.json"
# a study with other values of these continues in the same folder, if its checkpoint allows
CHANGEABLE_KEYS = ("title", "runs", "block_size", "precision", "until", "rounds", "record_at", "spacing", "bounds")
OUTPUT_FILES = (
    CHECKPOINT,
    RESULT,
    "table.csv",
    NUMBERS,
    "figure.png",
    "figure-*.png",
    "report.html",
    "tables.tex",
)


class StudyFolder(NamedTuple):
    """The content of a study's folder."""

    folder: Path
    study: dict[str, Any]  # the resolved configuration
    versions: dict[str, str]  # of Python and the libraries
    file: Path  # the study file
    result: Result | None  # of the finished runs; None without any
    finished: bool
    bounds: dict[str, Any]  # values at the recorded rounds, by learner


def run_in_folder(study: StudyFile, out: str | Path, cluster: Any = None) -> tuple[Report, list[Path]]:
    """Run or continue a study in a folder (`cluster` as in `simulate`); return the report and the paths written.

    Raises ValueError if the folder belongs to another study or has other files that would be replaced, and OSError if
    the folder cannot be written or is used by another process.
    """
    folder, resolved = check_folder("out", out), _json_round_trip(study.resolved)
    configuration = _read_configuration(folder) if (folder / CONFIGURATION).exists() else None
    changed = find_differences(configuration["study"], resolved) if configuration else None
    conflicts = {key: change for key, change in (changed or {}).items() if key[0] not in CHANGEABLE_KEYS}
    if conflicts:
        problem = f"must be the folder of this study or a new one (got '{folder}' of another study)"
        raise ArgumentError("out", f"{problem}; {format_differences(conflicts)}")
    source = study.source.path.absolute()
    study_copy = _study_copy(folder, source)
    copies = [] if study_copy.resolve() == source.resolve() else [study_copy]
    _check_no_overwrite(folder, configuration, copies)
    study.check()
    remove_abandoned(folder)
    metadata = {"study": resolved, "versions": versions(), "file": str(source)}
    cluster_context = contextlib.nullcontext() if cluster is None else connect_workers(cluster)
    replaced = folder / CONFIGURATION, *copies
    with _restored_on_failure(*replaced), study.watch() as watch, cluster_context as workers:
        if changed is None or changed:  # first, since it identifies the study of the folder
            _write_configuration(folder, metadata | {"finished": False})
        for path in copies:
            write_text(path, study.source.text)
        report = study.run(Context(folder, folder / CHECKPOINT, progress=watch, cluster=workers))
    report = dataclasses.replace(report, page=_page_metadata(folder, resolved, study.source.path))
    written = [study_copy, folder / CONFIGURATION, *report.save(folder)]
    _write_configuration(folder, metadata | {"finished": True})
    return report, written


def _study_copy(folder: Path, file: Path) -> Path:
    return folder / f"study{file.suffix}"


def _check_no_overwrite(folder: Path, configuration: dict[str, Any] | None, copies: list[Path]) -> None:
    """Check that the study would replace no file that it has not written (and not its own source file)."""
    if configuration is None:
        conflicts = [*copies, *(path for name in OUTPUT_FILES for path in sorted(folder.glob(name)))]
    else:
        conflicts = [path for path in copies if path.resolve() == Path(configuration["file"]).resolve()]
    names = [path.name for path in conflicts if path.exists()]
    if names:
        problem = f"must be a new folder or that of a study (got '{folder}', with files that would be replaced)"
        raise ArgumentError("out", f"{problem}; {', '.join(names)}")


@contextlib.contextmanager
def _restored_on_failure(*files: Path) -> Iterator[None]:
    """Context manager: restore the previous files if the study inside the context fails."""
    before = {path: path.read_bytes() for path in files if path.exists()}
    try:
        yield
    except Exception:
        for path, content in before.items():
            write_atomically(path, content)
        raise


def _write_configuration(folder: Path, metadata: dict[str, Any]) -> None:
    with output_file(folder / CONFIGURATION) as path:
        write_atomically(path, seal_document(_json_round_trip(metadata)))


def _json_round_trip(configuration: Any) -> Any:
    return json.loads(strict_json(configuration))


def _read_configuration(folder: Path) -> dict[str, Any]:
    path = folder / CONFIGURATION
    try:
        return open_document(path.read_bytes())
    except DamagedStoreError as error:
        raise DamagedStoreError(f"{path}: is damaged; it {error}") from None
    except (FileNotFoundError, NotADirectoryError):
        raise ValueError(f"folder: must be a study folder (got '{folder}'); it has no {CONFIGURATION}") from None


def read_folder(folder: str | Path) -> StudyFolder:
    """Return the results of a study so far; ValueError if the folder is not a study's folder, or is damaged."""
    folder = Path(folder)
    about = _read_configuration(folder)
    finished = bool(about.get("finished")) and (folder / RESULT).exists()
    result = Result.load(folder / RESULT) if finished else _checkpoint_result(folder / CHECKPOINT)
    bounds = _read_bounds(folder) if finished else {}
    return StudyFolder(folder, about["study"], about.get("versions", {}), Path(about["file"]), result, finished, bounds)


def _checkpoint_result(checkpoint: Path) -> Result | None:
    """Return the finished runs of a checkpoint; after tuning, those of its last part (the study itself)."""
    for folder in (checkpoint, checkpoint / "best"):
        with warnings.catch_warnings(action="ignore", category=UnfinishedStudyWarning):
            try:
                result = Result.load(folder)
            except DamagedStoreError:
                raise
            except (OSError, ValueError):
                continue  # no checkpoint, no finished run, or the numbers of another part
        names = [name for name, n in zip(result.learners, count_finished_runs(result), strict=True) if n]
        return _without_unknown_regret(result.select(*names)) if names else None
    return None


def _without_unknown_regret(result: Result) -> Result:
    """Return the result without comparator loss if some runs lack it; the report then shows losses, not regret."""
    best = result.comparator_loss
    known = best is not None and not (np.isnan(best[np.isfinite(result.cumulative_loss)]).any())
    return result if known else dataclasses.replace(result, comparator_loss=None)


def _read_bounds(folder: Path) -> dict[str, Any]:
    with contextlib.suppress(OSError, ValueError, KeyError, TypeError, AttributeError):
        learners = json.loads((folder / NUMBERS).read_bytes())["learners"]
        return {name: numbers["bound"] for name, numbers in learners.items() if numbers.get("bound") is not None}
    return {}


def folder_report(study_folder: StudyFolder) -> Report | None:
    """Return the report of a study's folder; None if no run is finished."""
    if study_folder.result is None:
        return None
    bounds = {name: (_stored_bound(values), None) for name, values in study_folder.bounds.items()}
    report = build_report(study_folder.result, study_folder.study.get("title") or "", bounds)
    return dataclasses.replace(report, page=_page_metadata(study_folder.folder, study_folder.study, study_folder.file))


def _page_metadata(folder: Path, study: dict[str, Any], file: Path) -> dict[str, Any]:
    copy, here = _study_copy(folder, file), Path.cwd()
    text = copy.read_text(encoding="utf-8") if copy.exists() else json.dumps(study, indent=1)
    file = file if file.exists() else copy
    file = file.relative_to(here) if file.is_relative_to(here) else file
    places = [shlex.quote(str(path)) for path in (file.stem if file.parent == EXAMPLES_FOLDER else file, folder)]
    sizes = "".join(f" --{key} {study[key]}" for key in ("runs", "rounds", "seed") if study.get(key) is not None)
    commands = [f"jaxonline run {places[0]} --out {places[1]}{sizes}", f"jaxonline report {places[1]}"]
    return {"configuration": "\n".join([text.rstrip(), "", *(f"# {command}" for command in commands)])}


def _stored_bound(values: list[float | None]) -> Bound:
    """Return the bound with the stored values; it is unknown if their number is not that of the rounds."""
    numbers = np.array([np.nan if value is None else value for value in values])

    def curve(bound: Bound, rounds: np.ndarray) -> np.ndarray:
        return numbers if len(numbers) == len(rounds) else np.full(len(rounds), np.nan)

    return Bound(numbers, curve)


@contextlib.contextmanager
def print_short_warnings() -> Iterator[None]:
    """Context manager: print warnings without their source line."""

    def show(message: Any, category: Any, filename: str, lineno: int, file: Any = None, line: Any = None) -> None:
        import sys

        print(f"Warning: {to_one_line(str(message))}", file=sys.stderr, flush=True)

    with warnings.catch_warnings():
        warnings.showwarning = show
        yield


def format_progress(study_folder: StudyFolder) -> str:
    """Format the number of finished runs as text."""
    study, result, sizes = study_folder.study, study_folder.result, _format_sizes(study_folder.study)
    if result is None:
        return f"no run is finished yet ({sizes})"
    done = {name: int(n) for name, n in zip(result.learners, count_finished_runs(result), strict=True)}
    least, most = min(done.values()), max(done.values())
    words = f"{most:,} runs so far" if least == most else f"{least:,} to {most:,} runs of each learner so far"
    waiting = [name for name in study["learners"] if name not in done]
    return f"{words}, of {sizes}" + (f"; not started: {', '.join(waiting)}" if waiting else "")


def _format_sizes(study: dict[str, Any]) -> str:
    rule = study.get("precision") or study.get("until")
    wanted = f"at most {rule['most_runs']:,}" if rule else f"{study['runs']:,}"
    return f"{wanted} runs of {study['rounds']:,} rounds, {len(study['learners'])} learners"


def count_finished_runs(result: Result) -> Any:
    """Return the number of finished runs of each learner [L]."""
    return np.isfinite(result.cumulative_loss[:, :, -1]).sum(axis=1) + result.failed
