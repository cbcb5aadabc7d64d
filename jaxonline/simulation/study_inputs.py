"""Inputs that determine the numbers of a study, and the arrays of the study's store."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxonline.numerics.elementwise import Compensated
from jaxonline.simulation.jobs import Job, Plan
from jaxonline.simulation.sweeps import Team
from jaxonline.store.layout import COMPARATOR_LOSS, FIRST_ROUND_ARRAYS, JobArrays, StoreLayout


def outputs_of(measures: Mapping[str, Any], comparator: Any) -> tuple[str, ...]:
    """Return the names of the arrays that a learner's job computes."""
    return (*measures, *FIRST_ROUND_ARRAYS, *((COMPARATOR_LOSS,) if comparator is not None else ()))


def layout_of(
    teams: Sequence[Team], measures: Mapping[str, Any], rows: Sequence[JobArrays], plan: Plan, runs: int
) -> StoreLayout:
    """Return the store's layout, from the `rows` of all jobs, the `plan` of learners' jobs, and the number of runs."""
    axes = {name: _axes(measure, teams[0].record) for name, measure in measures.items()}
    names = [name for team in teams for name in team.members]
    return StoreLayout.new(names, runs, plan.rounds.tolist(), axes, rows)


def study_inputs(plan: Plan, device: str, learners: Sequence[str], jobs: Sequence[Job], **parts: Any) -> dict[str, Any]:
    """Return all inputs that determine the numbers, by name, without rounds, since more rounds change no number."""
    return {
        "key": str((jax.random.key_impl(plan.key), np.asarray(jax.random.key_data(plan.key)).tolist())),
        "block_size": plan.width, "device": device, "learners": str(list(learners)),
        **{job.rows.label: job.matchup.entrant for job in jobs}, **parts,
    }  # fmt: skip


def _axes(measure: Any, record: Any) -> tuple[int, ...]:
    """Return the shape of a measure's value."""
    read = jax.eval_shape(lambda: measure.read(measure.init(record)))
    return read.total.shape if isinstance(read, Compensated) else read.shape
