"""Plan of a study: its jobs, and the metadata of its store and of its result."""

from collections.abc import Mapping
from itertools import accumulate
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxonline._xla.barriers import user_code
from jaxonline.game import Game
from jaxonline.game.roles import HindsightComparator
from jaxonline.parameters.struct import cast_leaves
from jaxonline.simulation.checking import SimulationOptions
from jaxonline.simulation.hindsight import Hindsight
from jaxonline.simulation.jobs import Job, Plan
from jaxonline.simulation.metadata import describe_study
from jaxonline.simulation.overflow import overflow_probabilities
from jaxonline.simulation.segments import Matchup, can_stop
from jaxonline.simulation.study_inputs import outputs_of, study_inputs
from jaxonline.simulation.sweeps import Team
from jaxonline.store.checkpoints import AXES, COMPARATOR_LOSS, JobArrays, StoreLayout


class StudyPlan(NamedTuple):
    """The plan of a study: its jobs, its inputs, the layout of its store, and the metadata of its result."""

    jobs: tuple[Job, ...]  # jobs; a shared comparator comes first, so that an unfinished study has regrets
    hindsight: Hindsight | None  # solver of a comparator that needs whole histories, or None
    inputs: dict[str, Any]  # everything that decides the numbers, by name
    layout: StoreLayout  # arrays of the store
    meta: dict[str, Any]  # metadata of the result

    def n_steps(self) -> int:
        """Return the number of steps that the progress report counts."""
        return sum(job.plan.n_steps() for job in self.jobs) + (self.hindsight.n_steps() if self.hindsight else 0)


def plan_study(options: SimulationOptions) -> StudyPlan:
    """Plan a study."""
    game, comparator, teams = options.game, options.comparator, options.teams
    plan = Plan(options.key, options.n_rounds, options.rounds, options.width, options.mesh, options.blocks)
    summed = None if isinstance(comparator, HindsightComparator) else comparator
    code = user_code.value
    hindsight = None
    if isinstance(comparator, HindsightComparator):
        hindsight = Hindsight(game, comparator, plan, options.runs, code)
    # the comparator of a run that has stopped is judged on the rounds before: it belongs to the learner
    is_shared = summed is not None and game.oblivious and not any(can_stop(team.record) for team in teams)
    own = None if is_shared else summed
    ends = accumulate(len(team.members) for team in teams)
    jobs = [
        _job_of(team, own, options.measures, plan, code, end) for team, end in zip(teams, ends, strict=True)
    ]  # fmt: skip
    shared = [_comparator_job(game, summed, plan, code)] if is_shared else []
    matchups = [job.matchup for job in (*jobs, *shared)]
    inputs = study_inputs(
        plan, options.device_kind, list(options.members), jobs,
        game=[matchup.game for matchup in matchups], measures=options.measures,
        comparator=([matchup.comparator for matchup in matchups], hindsight and hindsight.comparator),
    )  # fmt: skip
    rows = tuple(job.rows for job in (*jobs, *shared, hindsight) if job)
    layout = StoreLayout(tuple(options.members), int(options.runs.max()) + 1, tuple(plan.rounds.tolist()), rows)
    return StudyPlan((*shared, *jobs), hindsight, inputs, layout, _meta_of(options))


def _meta_of(options: SimulationOptions) -> dict[str, Any]:
    """Return the metadata of the result."""
    return {
        **describe_study(options.game, options.comparator, options.learners, options.teams),
        "n_runs": options.n_runs, "n_rounds": options.n_rounds, "block_size": options.width,
        "pseudo": options.game.pseudo, "oblivious": options.game.oblivious,
        "devices": options.mesh.devices.size,
        "device_kind": options.device_kind, "dtype": str(options.game.dtype),
        "key": np.asarray(jax.random.key_data(options.key)).tolist(), "jax": jax.__version__,
        "overflow_probability": overflow_probabilities(options.members, options.n_rounds),
    }  # fmt: skip


def _job_of(team: Team, comparator: Any, measures: Mapping[str, Any], plan: Plan, code: str, end: int) -> Job:
    """Return the job of a team with its measures and its own comparator (None if the learners share a comparator)."""
    comparator = cast_leaves(comparator, team.game.dtype)
    matchup = Matchup(team.game, team.entrant, comparator, dict(measures), len(team.members), code)
    start, outputs = end - len(team.members), outputs_of(measures, comparator)
    rows = JobArrays(f"learner {start}", f"learner {team.name}", outputs, (start, end), plan.width)
    return Job(team.name, rows, matchup, plan)


def _comparator_job(game: Game, comparator: Any, plan: Plan, code: str) -> Job:
    """Return the job of the comparator that learners share: it plays only the environment; one run if all are equal."""
    matchup = cast_leaves(Matchup(game, None, comparator, {}, code=code), game.dtype)
    plan = plan.single_run() if game.deterministic else plan
    rows = JobArrays(
        "comparator", "comparator", (COMPARATOR_LOSS,), (0, 1), plan.width, AXES[2:] if game.deterministic else AXES[1:]
    )
    return Job("best in hindsight", rows, matchup, plan)
