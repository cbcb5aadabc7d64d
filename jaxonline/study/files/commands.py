"""The commands of study files: `run`, `show`, `report`, `diff`, `list`."""

import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from jaxonline.parameters.errors import ArgumentError, replace_controls
from jaxonline.store.output_paths import write_text
from jaxonline.study.files.differences import compare_results, differences_table, find_differences, format_differences
from jaxonline.study.files.folder import (
    StudyFolder,
    folder_report,
    format_progress,
    print_short_warnings,
    read_folder,
    run_in_folder,
)
from jaxonline.study.files.listing import describe_name, list_everything
from jaxonline.study.files.study_file import load_study_file
from jaxonline.study.study import Report, draw_png


def run_file(
    console: Any, file: str, out: str | None, overrides: dict[str, Any], workers: int | None, cluster: str | None
) -> None:
    """Run or continue the study of a file in a folder; print and write the report."""
    if workers is not None and cluster is not None:
        raise ArgumentError("cluster", f"must be left out beside workers (got {cluster!r})")
    if workers is not None and workers < 1:
        raise ArgumentError("workers", f"must be at least 1 (got {workers})")
    began = time.perf_counter()
    folder = out if out is not None else Path("results") / Path(file).stem
    with print_short_warnings():
        study = load_study_file(file, **{key: value for key, value in overrides.items() if value is not None})
        try:
            report, written = run_in_folder(study, folder, workers if cluster is None else cluster)
        except KeyboardInterrupt:
            line = f"Interrupted; finished runs are in {folder}. The same command continues."
            print(replace_controls(line), file=sys.stderr)
            raise
        report.show(console)
    paths = ", ".join(map(str, written))
    console.print(f"{paths} written; {time.perf_counter() - began:.1f} s in all", markup=False, highlight=False)


def show_folder(console: Any, folder: str) -> None:
    """Print the table of a study, finished or not, and draw its figures."""

    def show(study: StudyFolder, report: Report) -> list[Path]:
        report.show(console)
        paths = [study.folder / f"{name}.png" for name in report.figures]
        for path, draw in zip(paths, report.figures.values(), strict=True):
            path.write_bytes(draw_png(draw))
        return paths

    _write_from_report(console, folder, show, "drawn")


def report_folder(console: Any, folder: str) -> None:
    """Write the HTML page and the LaTeX tables of a study, finished or not."""

    def write(study: StudyFolder, report: Report) -> list[Path]:
        texts = {"report.html": report.html(), "tables.tex": report.latex()}
        return [write_text(study.folder / name, text) for name, text in texts.items()]

    _write_from_report(console, folder, write, "written")


def _write_from_report(console: Any, folder: str, make: Callable[[StudyFolder, Report], list[Path]], done: str) -> None:
    """Write files from the results so far; print the paths of the files and the progress of the study."""
    with print_short_warnings():
        study = read_folder(folder)
        report = folder_report(study)
        if report is None:
            console.print(f"{folder}: {format_progress(study)}.", markup=False, highlight=False)
            return
        paths = make(study, report)
    if not study.finished:
        console.print(f"Not finished: {format_progress(study)}.", markup=False, highlight=False)
    console.print(f"{', '.join(map(str, paths))} {done}", markup=False, highlight=False)


def diff_folders(console: Any, first: str, second: str) -> None:
    """Print the differences of two studies: configurations, versions, results."""
    with print_short_warnings():
        both = read_folder(first), read_folder(second)
    names = _short_names(first, second)
    configured = find_differences(both[0].study, both[1].study)
    if configured:
        console.print("Differences of the configurations:")
        console.print(differences_table(configured, *names))
    else:
        console.print("The configurations are equal.")
    versions = find_differences(both[0].versions, both[1].versions)
    if versions:
        console.print(f"Versions: {format_differences(versions)}", markup=False, highlight=False)
    _compare(console, both, names)


def _compare(console: Any, both: tuple[StudyFolder, StudyFolder], names: tuple[str, str]) -> None:
    for study in both:
        if study.result is None or not study.finished:
            line = f"{study.folder} is not finished: {format_progress(study)}."
            console.print(line, markup=False, highlight=False)
    if both[0].result is not None and both[1].result is not None:
        table, extra_lines = compare_results(both[0].result, both[1].result, (both[0].study, both[1].study), names)
        console.print(table)
        for line in extra_lines:
            console.print(line, markup=False, highlight=False)


def _short_names(first: str, second: str) -> tuple[str, str]:
    names = Path(first).name, Path(second).name
    return (str(first), str(second)) if names[0] == names[1] else names


def list_names(console: Any, name: str | None) -> None:
    """Print all names that a study file can use, or the parameters of one name."""
    for line in list_everything() if name is None else describe_name(name):
        console.print(line, markup=False, highlight=False)
