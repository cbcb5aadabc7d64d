"""Makes the result of a study from the numbers of its jobs."""

import numpy as np

from jaxonline.results import Result
from jaxonline.simulation.checking import SimulationOptions
from jaxonline.simulation.execution import ComputedStudy
from jaxonline.simulation.overflow import warn_of_divergence, warn_of_overflow
from jaxonline.simulation.planning import StudyPlan
from jaxonline.store.checkpoints import COMPARATOR_LOSS


def collect_result(options: SimulationOptions, study: StudyPlan, computed: ComputedStudy) -> Result:
    """Make the result of the requested runs."""
    rounds, numbers = options.rounds, _numbers_of_runs(options, computed)
    result = Result(
        learners=tuple(options.members), runs=options.runs, rounds=rounds,
        comparator_loss=numbers.pop(COMPARATOR_LOSS, None),
        first_nonfinite=numbers.pop("first_nonfinite"), first_overflow=numbers.pop("first_overflow"), meta=study.meta,
        measures={name: numbers[name] for name in sorted(numbers)},
    )  # fmt: skip
    warn_of_overflow(options.members, result.overflowed, len(options.runs))
    limits = {
        name: team.entrant.feedback.max_copies
        for team in options.teams for name in team.members
    }  # fmt: skip
    warn_of_divergence(options.members, result.first_nonfinite, limits)
    return result


def _numbers_of_runs(options: SimulationOptions, computed: ComputedStudy) -> dict[str, np.ndarray]:
    """Return arrays [L, R, G, ...] of all learners: jobs are concatenated along L, and shared arrays are broadcast."""
    runs, width = options.runs, options.width
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
