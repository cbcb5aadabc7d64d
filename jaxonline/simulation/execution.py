"""Computes the numbers of a study, in this process or on a cluster, and stores them in its checkpoint."""

import contextlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxonline.simulation.checking import SimulationOptions
from jaxonline.simulation.jobs import Numbers
from jaxonline.simulation.overflow import warn_of_likely_overflow
from jaxonline.simulation.planning import StudyPlan
from jaxonline.simulation.precompile import precompile_jobs
from jaxonline.simulation.progress import Reporter
from jaxonline.simulation.runner import play_job
from jaxonline.store.layout import COMPARATOR_LOSS, Blocks
from jaxonline.store.lazy_arrays import fit_in_memory


class ComputedStudy(NamedTuple):
    """The computed numbers of a study."""

    rounds: np.ndarray  # recorded rounds
    jobs: list[Numbers]  # numbers of each job; empty if they stay in the store
    solved: Numbers  # losses of a comparator that needs whole histories, for the requested runs
    stored: Blocks | None  # blocks of the store that hold the numbers; None if they are in memory


def run_study(options: SimulationOptions, study: StudyPlan, attributes: Mapping[str, Any]) -> ComputedStudy:
    """Compute those numbers of a study that its store lacks; `attributes` are stored beside the result's metadata."""
    store = contextlib.nullcontext()
    if options.checkpoint is not None:
        meta = {name: entry for name, entry in study.meta.items() if name != "devices"}  # these change no number
        store = options.checkpoint.open(study.inputs, study.layout, meta | dict(attributes))
    probabilities = study.meta["overflow_probability"]
    with store as store:
        if store is not None:
            study = study.with_rounds(store.blocks.layout.rounds)  # a study with a longer horizon keeps earlier rounds
        hold = store is None or fit_in_memory(store.blocks.layout, len(options.runs))
        with Reporter(options.progress, study.n_steps()) as reporter:
            for name, probability in probabilities.items():
                if probability > 0:
                    chance = f"out of storage with probability {probability:.2g}"
                    reporter.announce(f"{name}: {chance} in a run of {options.n_rounds:,} rounds")
            warn_of_likely_overflow(options.members, probabilities, options.n_rounds)
            if options.workers is not None and store is not None:
                jobs = options.workers.play(study.jobs, reporter, store, hold)
            else:
                jobs = [play_job(job, reporter, store, hold) for job in precompile_jobs(study.jobs, store)]
            solved = {COMPARATOR_LOSS: study.hindsight.best_losses(reporter, store)} if study.hindsight else {}
    in_memory = [numbers for numbers in jobs if numbers is not None]
    return ComputedStudy(study.jobs[0].plan.rounds, in_memory, solved, None if store is None or hold else store.blocks)
