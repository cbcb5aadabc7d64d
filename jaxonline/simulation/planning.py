"""The plan of a study: its jobs, and what its store and its result are told of it."""

from collections.abc import Mapping, Sequence
from itertools import accumulate
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxonline.game import Entrant, Game
from jaxonline.game.protocols import HindsightComparator
from jaxonline.parameters.struct import cast_leaves
from jaxonline.simulation.checking import SimulationOptions
from jaxonline.simulation.controls import with_controls
from jaxonline.simulation.hindsight import Hindsight
from jaxonline.simulation.jobs import Job, Plan
from jaxonline.simulation.metadata import in_words
from jaxonline.simulation.overflow import overflow_probabilities
from jaxonline.simulation.segments import Matchup
from jaxonline.simulation.study_inputs import layout_of, outputs_of, study_inputs
from jaxonline.simulation.sweeps import Team
from jaxonline.store.layout import AXES, COMPARATOR_LOSS, JobArrays, StoreLayout


class StudyPlan(NamedTuple):
    """What is to be computed.

    Attributes:
        jobs: first that of the comparator, where learners share it, so that an unfinished study has regrets.
        hindsight: the comparator, where it needs whole histories, or None.
        inputs: what decides the numbers, by name.
        layout: where the numbers go in a store.
        meta: of the result.
    """

    jobs: tuple[Job, ...]
    hindsight: Hindsight | None
    inputs: dict[str, Any]
    layout: StoreLayout
    meta: dict[str, Any]

    def recording(self, rounds: Sequence[int]) -> "StudyPlan":
        """The same with other recorded rounds."""
        hindsight = self.hindsight and self.hindsight.recording(rounds)
        return self._replace(jobs=tuple(job.recording(rounds) for job in self.jobs), hindsight=hindsight)

    def pieces(self) -> int:
        """Pieces of work, of which progress is reported."""
        return sum(job.plan.pieces() for job in self.jobs) + (self.hindsight.pieces() if self.hindsight else 0)


def plan_study(options: SimulationOptions) -> StudyPlan:
    """What is computed for a study."""
    game, comparator, teams = options.game, options.comparator, options.teams
    plan = Plan(options.key, options.n_rounds, options.rounds, options.width, options.mesh, options.blocks)
    summed = None if isinstance(comparator, HindsightComparator) else comparator
    decisive = {"game": game, "learners": options.learners, "comparator": summed, "measures": options.measures}
    code = "" if options.checkpoint is None else options.checkpoint.code(decisive)
    hindsight = None
    if isinstance(comparator, HindsightComparator):
        hindsight = Hindsight(game, comparator, plan, options.runs, code)
    is_shared = summed is not None and game.oblivious
    own = None if is_shared else summed
    counted = with_controls(teams) if options.control_variates else [(team.entrant, {}) for team in teams]
    ends = accumulate(len(team.members) for team in teams)
    jobs = [
        _job_of(team, entrant, own, options.measures | control, plan, options.antithetic, code, end)
        for team, (entrant, control), end in zip(teams, counted, ends, strict=True)
    ]  # fmt: skip
    shared = [_comparator_job(game, summed, plan, code)] if is_shared else []
    matchups = [job.matchup for job in (*jobs, *shared)]
    antithetic = {"antithetic": True} if options.antithetic else {}
    inputs = study_inputs(
        plan, options.device_kind, list(options.members), jobs, **antithetic,
        game=[matchup.game for matchup in matchups], measures=options.measures,
        comparator=([matchup.comparator for matchup in matchups], hindsight and hindsight.comparator),
    )  # fmt: skip
    rows = [part.rows for part in (*jobs, *shared, hindsight) if part]
    layout = layout_of(teams, options.measures, rows, plan, int(options.runs.max()) + 1)
    return StudyPlan((*shared, *jobs), hindsight, inputs, layout, _meta_of(options) | antithetic)


def _meta_of(options: SimulationOptions) -> dict[str, Any]:
    """What the result says of how it was made."""
    return {
        **in_words(options.game, options.comparator, options.learners, options.teams),
        "n_runs": options.n_runs, "n_rounds": options.n_rounds, "block_size": options.width,
        "regret": type(options.game.regret).__name__, "devices": options.mesh.devices.size,
        "device_kind": options.device_kind, "dtype": str(options.game.dtype),
        "key": np.asarray(jax.random.key_data(options.key)).tolist(), "jax": jax.__version__,
        "overflow_probability": overflow_probabilities(options.members, options.n_rounds),
        **({"control_variates": True} if options.control_variates else {}),
    }  # fmt: skip


def _job_of(
    team: Team, entrant: Entrant, comparator: Any, measures: Mapping[str, Any], plan: Plan, antithetic: bool, code: str,
    end: int,
) -> Job:  # fmt: skip
    """A team with its measures and, where the environment listens to it, with the comparator of its own game."""
    comparator = cast_leaves(comparator, team.game.dtype)
    matchup = Matchup(team.game, entrant, comparator, dict(measures), len(team.members), antithetic, code)
    start, outputs = end - len(team.members), outputs_of(measures, antithetic, comparator)
    rows = JobArrays(f"learner {start}", f"learner {team.name}", outputs, (start, end), plan.width)
    return Job(team.name, rows, matchup, plan)


def _comparator_job(game: Game, comparator: Any, plan: Plan, code: str) -> Job:
    """The environment alone, for the comparator that all learners share; one run shows what all runs see, if all do."""
    matchup = cast_leaves(Matchup(game, None, comparator, {}, code=code), game.dtype)
    plan = plan.of_one_run() if game.deterministic else plan
    rows = JobArrays(
        "comparator", "comparator", (COMPARATOR_LOSS,), (0, 1), plan.width, AXES[2:] if game.deterministic else AXES[1:]
    )
    return Job("best in hindsight", rows, matchup, plan)
