"""The numbers of a study, computed here or by the workers of a cluster, and kept in its store."""

import contextlib
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from jaxonline.simulation.checking import SimulationOptions
from jaxonline.simulation.jobs import Numbers
from jaxonline.simulation.overflow import warn_of_likely_overflow
from jaxonline.simulation.planning import StudyPlan
from jaxonline.simulation.precompile import compiled_ahead
from jaxonline.simulation.progress import Reporter
from jaxonline.simulation.runner import play_job
from jaxonline.store.layout import COMPARATOR_LOSS, Blocks
from jaxonline.store.lazy_arrays import fit_in_memory


class Computed(NamedTuple):
    """What was computed.

    Attributes:
        rounds: those that were recorded.
        jobs: the numbers of each job; empty where they stay in the store.
        solved: the comparator's losses of the runs that were asked for, where it needs whole histories.
        stored: the blocks of the store in which the numbers stay; None where they are in memory.
    """

    rounds: np.ndarray
    jobs: list[Numbers]
    solved: Numbers
    stored: Blocks | None


def run_study(options: SimulationOptions, study: StudyPlan, attributes: Mapping[str, Any]) -> Computed:
    """Compute the numbers of a study; those that its store has are read from it.

    Args:
        options: of `simulate`.
        study: what is computed.
        attributes: of the store, beside those of the result.
    """
    store = contextlib.nullcontext()
    if options.checkpoint is not None:
        meta = {name: entry for name, entry in study.meta.items() if name != "devices"}  # which decide nothing
        store = options.checkpoint.open(study.inputs, study.layout, meta | dict(attributes))
    probabilities = study.meta["overflow_probability"]
    with store as store:
        if store is not None:
            study = study.recording(store.blocks.layout.rounds)  # more of them where the study got longer
        hold = store is None or fit_in_memory(store.blocks.layout, len(options.runs))
        with Reporter(options.progress, study.pieces()) as reporter:
            for name, probability in probabilities.items():
                if probability > 0:
                    chance = f"out of storage with probability {probability:.2g}"
                    reporter.say(f"{name}: {chance} in a run of {options.n_rounds:,} rounds")
            warn_of_likely_overflow(options.members, probabilities, options.n_rounds)
            if options.workers is not None and store is not None:
                jobs = options.workers.play(study.jobs, reporter, store, hold)
            else:
                jobs = [play_job(job, reporter, store, hold) for job in compiled_ahead(study.jobs, store)]
            solved = {COMPARATOR_LOSS: study.hindsight.best_losses(reporter, store)} if study.hindsight else {}
    held = [numbers for numbers in jobs if numbers is not None]
    return Computed(study.jobs[0].plan.rounds, held, solved, None if store is None or hold else store.blocks)
