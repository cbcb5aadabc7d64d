"""All studies of the papers, one after the other."""

import time
import traceback
from pathlib import Path
from typing import Any

from benchmarks.papers.commands import load_study
from benchmarks.papers.studies import QUICK, STUDIES
from jaxonline.study import Context


def reproduce_all(out: Path, quick: bool, seed: int, console: Any) -> int:
    """Run every study and write its report to the folder out/NAME; return the exit code, 1 if a study fails.

    A study whose data set cannot be loaded is skipped, and the others run.

    Args:
        out: folder of the reports.
        quick: whether to run the quick forms, `QUICK`.
        seed: seed of all random numbers.
        console: a console of the library rich, which prints one line for each study.
    """
    outcomes = []
    for name in STUDIES:
        began = time.perf_counter()
        try:
            outcome = _reproduce(name, out / name, quick, seed)
        except Exception:
            outcome = "failed"
            console.print(traceback.format_exc(), markup=False, highlight=False)
        outcomes.append(outcome)
        line = f"{name:24} {time.perf_counter() - began:7.1f} s  {outcome}"
        console.print(line, markup=False, highlight=False, soft_wrap=True)
    return int("failed" in outcomes)


def _reproduce(name: str, out: Path, quick: bool, seed: int) -> str:
    """Run a study and write its report; return what happened."""
    study = load_study(STUDIES[name])(**QUICK[name] if quick else {})
    try:
        report = study.run(Context(seed=seed))
    except OSError as error:  # of a data set
        return f"skipped: {error}"
    report.save(out)
    return f"{out} written"
