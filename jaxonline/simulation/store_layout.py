"""What a study tells its store: where its numbers go, and what decides them."""

from collections.abc import Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxonline.linalg.compensated import Compensated
from jaxonline.results.statistics.variance_reduction import CONTROL, HALF_DIFFERENCE
from jaxonline.simulation.runner import Job, Plan
from jaxonline.simulation.sweeps import Team
from jaxonline.store.layout import StoreLayout


def layout_of(
    teams: Sequence[Team], jobs: Sequence[Job], best: Sequence[Any], runs: int, measures: Mapping[str, Any]
) -> StoreLayout:
    """Where the numbers go.

    Args:
        teams: the learners.
        jobs: theirs.
        best: the rows of the comparator, where learners share it.
        runs: how many there are.
        measures: what is counted, by name.
    """
    names = [name for team in teams for name in team.members]
    first = jobs[0]
    axes = {name: _axes(measure, teams[0].record) for name, measure in measures.items()}
    axes |= {CONTROL: ()} if CONTROL in first.matchup.measures else {}
    axes |= {HALF_DIFFERENCE: ()} if first.matchup.antithetic else {}
    own = first.matchup.comparator is not None
    return StoreLayout.new(names, runs, first.plan.rounds.tolist(), axes, [*(job.rows for job in jobs), *best], own)


def what_decides(plan: Plan, device: str, learners: Sequence[str], jobs: Sequence[Job], **parts: Any) -> dict[str, Any]:
    """What decides the numbers, by name, the rounds aside: more of them change no number."""
    return {
        "key": str((jax.random.key_impl(plan.key), np.asarray(jax.random.key_data(plan.key)).tolist())),
        "block_size": plan.width, "device": device, "learners": str(list(learners)),
        **{job.rows.label: job.matchup.entrant for job in jobs}, **parts,
    }  # fmt: skip


def _axes(measure: Any, record: Any) -> tuple[int, ...]:
    """The further axes of what a measure reads."""
    read = jax.eval_shape(lambda: measure.read(measure.init(record)))
    return read.total.shape if isinstance(read, Compensated) else read.shape
