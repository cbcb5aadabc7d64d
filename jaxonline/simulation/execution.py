"""Computes the numbers of a study, in this process or on a cluster, and stores them in its checkpoint."""

import contextlib
from collections.abc import Mapping
from typing import Any, NamedTuple

from jaxonline.simulation.checking import SimulationOptions
from jaxonline.simulation.overflow import warn_of_likely_overflow
from jaxonline.simulation.planning import StudyPlan
from jaxonline.simulation.precompile import precompile_jobs
from jaxonline.simulation.progress import Reporter
from jaxonline.simulation.runner import play_job
from jaxonline.store.checkpoints import COMPARATOR_LOSS, Numbers


class ComputedStudy(NamedTuple):
    """The computed numbers of a study."""

    jobs: list[Numbers]  # numbers of each job
    solved: Numbers  # losses of a comparator that needs whole histories, for the requested runs


def run_study(options: SimulationOptions, study: StudyPlan, attributes: Mapping[str, Any]) -> ComputedStudy:
    """Compute those numbers of a study that its store lacks; `attributes` are stored beside the result's metadata."""
    store = contextlib.nullcontext()
    if options.checkpoint is not None:
        meta = {name: entry for name, entry in study.meta.items() if name != "devices"}  # these change no number
        store = options.checkpoint.open(study.inputs, study.layout, meta | dict(attributes))
    probabilities = study.meta["overflow_probability"]
    with store as store, Reporter(options.progress, study.n_steps()) as reporter:
        for name, probability in probabilities.items():
            if probability > 0:
                chance = f"out of storage with probability {probability:.2g}"
                reporter.announce(f"{name}: {chance} in a run of {options.n_rounds:,} rounds")
        warn_of_likely_overflow(options.members, probabilities, options.n_rounds)
        if options.workers is not None:
            jobs = options.workers.play(study.jobs, reporter, store)
        else:
            jobs = [play_job(job, reporter, store) for job in precompile_jobs(study.jobs, store)]
        solved = {COMPARATOR_LOSS: study.hindsight.best_losses(reporter, store)} if study.hindsight else {}
    return ComputedStudy(jobs, solved)
