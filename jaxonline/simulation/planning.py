"""A study from its options to its result: the jobs, the stored inputs, the computation, and the collected numbers."""

import contextlib
import functools
import platform
from collections.abc import Mapping, Sequence
from importlib import metadata
from itertools import accumulate
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxonline._xla.barriers import user_code
from jaxonline.game import Game, WithFeedback
from jaxonline.game.binding import loss_limits
from jaxonline.game.printing import describe_game
from jaxonline.game.roles import HindsightComparator
from jaxonline.losses.arms import ARM_LOSSES
from jaxonline.parameters.citations import method_names
from jaxonline.parameters.short_repr import short_repr
from jaxonline.parameters.struct import cast_leaves
from jaxonline.results import Result
from jaxonline.simulation.hindsight import Hindsight
from jaxonline.simulation.jobs import Job, Plan, play_job, precompile_jobs
from jaxonline.simulation.options import (
    SimulationOptions,
    overflow_probabilities,
    warn_of_divergence,
    warn_of_equal_runs,
    warn_of_likely_overflow,
    warn_of_overflow,
)
from jaxonline.simulation.progress import Reporter
from jaxonline.simulation.segments import Matchup, can_stop
from jaxonline.simulation.sweeps import Team
from jaxonline.store.checkpoints import AXES, COMPARATOR_LOSS, FIRST_ROUND_ARRAYS, JobArrays, Numbers, StoreLayout

# ---------------------------------------------------------------------------------------------------------------------
# Metadata of a study's result: texts that describe the game, the comparator and the learners.


PACKAGES = ("jaxonline", "jax", "jaxlib", "numpy", "optax")


def describe_study(game: Game, comparator: Any, learners: Any, teams: Sequence[Team]) -> dict[str, Any]:
    """Return texts for `Result.meta`: game, comparator, learners with their parameters, and versions."""
    given = list(learners.values()) if isinstance(learners, Mapping) else [learners]
    return {
        "game": describe_game(game),
        **({"rewards": True} if game.rewards else {}),
        "comparator": None if comparator is None else short_repr(comparator),
        **({} if comparator is None else {"regret_label": regret_label(game, comparator)}),
        "learners": {
            name: short_repr(learner)
            + (f" through {short_repr(item.feedback)}" if isinstance(item, WithFeedback) else "")
            for team, item in zip(teams, given, strict=True)
            for name, learner in team.members.items()
        },
        "methods": {
            "game": method_names(game),
            "learners": {
                name: method_names([learner, item.feedback] if isinstance(item, WithFeedback) else learner)
                for team, item in zip(teams, given, strict=True)
                for name, learner in team.members.items()
            },
        },
        "versions": dict(versions()),
    }


def regret_label(game: Game, comparator: Any) -> str:
    """Return the name of the regret that a study measures, for titles and axes.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.simulation.planning import regret_label
        >>> arms, loss = jo.environments.BernoulliArms([0.2, 0.8]), jo.losses.ArmLoss()
        >>> regret_label(jo.Game(arms, jo.Bandit(), loss=loss, pseudo=True), jo.BestArm())
        'pseudo-regret against the best arm (loss)'
        >>> regret_label(jo.Game(jo.environments.LinearModel([1.0]), jo.FullInformation()), jo.L2Ball(1.0))
        'regret against the best in hindsight'
    """
    best = getattr(comparator, "label", "the best")
    hindsight = "" if game.pseudo else " in hindsight"
    unit = "reward" if game.rewards else "loss" if isinstance(game.loss, ARM_LOSSES) else ""
    regret = "pseudo-regret" if game.pseudo else "regret"
    return f"{regret} against {best}{hindsight}{f' ({unit})' if unit else ''}"


@functools.cache
def versions() -> dict[str, str]:
    """Return the versions of Python and of the installed packages on which the numbers depend."""
    by_name = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            by_name[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return by_name


# ---------------------------------------------------------------------------------------------------------------------
# Inputs that determine the numbers of a study, and the arrays of the study's store.


def outputs_of(measures: Mapping[str, Any], comparator: Any) -> tuple[str, ...]:
    """Return the names of the arrays that a learner's job computes."""
    return (*measures, *FIRST_ROUND_ARRAYS, *((COMPARATOR_LOSS,) if comparator is not None else ()))


def study_inputs(plan: Plan, device: str, learners: Sequence[str], jobs: Sequence[Job], **parts: Any) -> dict[str, Any]:
    """Return all inputs that determine the numbers, by name; other learners change only "learners" and their own."""
    return {
        "key": str((jax.random.key_impl(plan.key), np.asarray(jax.random.key_data(plan.key)).tolist())),
        "n_rounds": str(plan.n_rounds), "recorded rounds": str(plan.rounds.tolist()),
        "block_size": str(plan.width), "device": device, "learners": str(list(learners)), **parts,
        **{job.rows.label: (job.matchup.entrant, job.matchup.game, job.matchup.comparator) for job in jobs},
    }  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# Plan of a study: its jobs, and the metadata of its store and of its result.


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
    first = (*shared, *jobs)[0].matchup
    inputs = study_inputs(
        plan, options.device_kind, list(options.members), jobs, game=first.game, measures=options.measures,
        comparator=(first.comparator, hindsight and hindsight.comparator),
    )  # fmt: skip
    rows = tuple(job.rows for job in (*jobs, *shared, hindsight) if job)
    layout = StoreLayout(tuple(options.members), options.last_run + 1, tuple(plan.rounds.tolist()), rows)
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
    limits = loss_limits(team.game.environment, next(iter(team.members.values())))
    matchup = Matchup(team.game, team.entrant, comparator, dict(measures), len(team.members), code, limits)
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


# ---------------------------------------------------------------------------------------------------------------------
# Computes the numbers of a study, in this process or on a cluster, and stores them in its checkpoint.


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


# ---------------------------------------------------------------------------------------------------------------------
# Makes the result of a study from the numbers of its jobs.


def collect_result(options: SimulationOptions, study: StudyPlan, computed: ComputedStudy) -> Result:
    """Make the result of the requested runs."""
    rounds, numbers = options.rounds, _numbers_of_runs(options, computed)
    result = Result(
        learners=tuple(options.members), runs=np.asarray(options.runs), rounds=rounds,
        comparator_loss=numbers.pop(COMPARATOR_LOSS, None),
        **{name: numbers.pop(name) for name in FIRST_ROUND_ARRAYS},  # type: ignore[arg-type]
        meta=study.meta,
        measures={name: numbers[name] for name in sorted(numbers)},
    )  # fmt: skip
    warn_of_overflow(options.members, result.overflowed, len(options.runs))
    limits = {
        name: team.entrant.feedback.max_copies
        for team in options.teams for name in team.members
    }  # fmt: skip
    warn_of_divergence(options.members, result.first_nonfinite, limits)
    if not options.game.deterministic:
        warn_of_equal_runs(options.members, result.cumulative_loss)
    return result


def _numbers_of_runs(options: SimulationOptions, computed: ComputedStudy) -> dict[str, np.ndarray]:
    """Return arrays [L, R, G, ...] of all learners: jobs are concatenated along L, and shared arrays are broadcast."""
    runs, width = np.asarray(options.runs), options.width
    positions = np.searchsorted(options.blocks, runs // width) * width + runs % width
    if (np.diff(positions) == 1).all():
        positions = slice(positions[0], positions[-1] + 1)  # a slice copies nothing

    def select(array: np.ndarray) -> np.ndarray:
        return array if array.shape[1] == 1 else array[:, positions]  # 1: one run, or equal in all runs

    names = dict.fromkeys(name for job in computed.jobs for name in job)
    # arrays are removed from the jobs one by one, so that they are not in memory twice
    numbers = {name: _join_learners([select(job.pop(name)) for job in computed.jobs if name in job]) for name in names}
    numbers |= {name: array[None] for name, array in computed.solved.items()}
    if COMPARATOR_LOSS in numbers:
        numbers[COMPARATOR_LOSS] = np.broadcast_to(numbers[COMPARATOR_LOSS], numbers["cumulative_loss"].shape)
    return numbers


def _join_learners(arrays: list[np.ndarray]) -> np.ndarray:
    """Concatenate arrays [L, R, ...] along the axis of learners; a single array is not copied."""
    return arrays[0] if len(arrays) == 1 else np.concatenate(arrays)
