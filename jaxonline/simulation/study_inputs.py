"""Inputs that determine the numbers of a study, and the arrays of the study's store."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxonline.simulation.jobs import Job, Plan
from jaxonline.store.checkpoints import COMPARATOR_LOSS, FIRST_ROUND_ARRAYS


def outputs_of(measures: Mapping[str, Any], comparator: Any) -> tuple[str, ...]:
    """Return the names of the arrays that a learner's job computes."""
    return (*measures, *FIRST_ROUND_ARRAYS, *((COMPARATOR_LOSS,) if comparator is not None else ()))


def study_inputs(plan: Plan, device: str, learners: Sequence[str], jobs: Sequence[Job], **parts: Any) -> dict[str, Any]:
    """Return all inputs that determine the numbers, by name."""
    return {
        "key": str((jax.random.key_impl(plan.key), np.asarray(jax.random.key_data(plan.key)).tolist())),
        "n_rounds": str(plan.n_rounds), "recorded rounds": str(plan.rounds.tolist()),
        "block_size": str(plan.width), "device": device, "learners": str(list(learners)),
        **{job.rows.label: job.matchup.entrant for job in jobs}, **parts,
    }  # fmt: skip
