"""The keys of a study file: annotations declare their types, docstrings describe them."""

import dataclasses
from collections.abc import Callable, Sequence
from typing import Annotated, Any, Literal

from jaxonline.game import Game
from jaxonline.parameters.signatures import Parameter
from jaxonline.parameters.types import Component, Ge, Gt, Interval, Seed, Vector
from jaxonline.simulation import Precision
from jaxonline.simulation.recording import SPACINGS
from jaxonline.study.files.docstrings import documented_parameters
from jaxonline.study.tuning import RUNS

LARGEST_SIZE = 1_000_000_000  # runs, or rounds
Size = Annotated[int, Interval(ge=1, le=LARGEST_SIZE)]


@dataclasses.dataclass(kw_only=True)
class StudyKeys:
    """The keys of a study file.

    Args:
        title: title of the study.
        rounds: number of rounds of a run (the horizon).
        runs: number of runs of each learner; required unless precision is given.
        precision: run until all intervals are this narrow, instead of runs.
        seed: seed of all random numbers.
        record_at: number of recorded rounds, or a list of them.
        spacing: spacing of the recorded rounds.
        game: environment, feedback, loss and regret.
        learners: learners by name, each with its type and parameters; a list gives several learners.
        comparator: comparator of the regret; without a comparator, losses are compared.
        bounds: regret bounds of theorems, by learner.
        measures: further quantities to record.
        tune: step sizes eta / sqrt(t) for learners without step_size: one eta, one eta for each learner, or the best of
            several (best_of).
        control_variates: subtract the exactly known effect of the noise from the losses.
        antithetic: each run is the mean of two runs with opposite noise.
        block_size: number of runs computed together; it changes the last bits.
    """

    title: str = ""
    rounds: Size
    runs: Size | None = None
    precision: dict | None = None
    seed: Seed = 0
    record_at: Annotated[int | list[int], Ge(1)] = 40
    spacing: Literal[SPACINGS] = "linear"  # type: ignore[valid-type]
    game: dict
    learners: dict
    comparator: Annotated[Any, Component("comparator")] = None
    bounds: dict | None = None
    measures: Sequence[Annotated[Any, Component("measure")]] = ()
    tune: Annotated[float | dict | None, Gt(0)] = None
    control_variates: bool = False
    antithetic: bool = False
    block_size: Size | None = None


@dataclasses.dataclass
class MostRuns:
    """A key in addition to those of `Precision`.

    Args:
        most_runs: the maximum number of runs.
    """

    most_runs: Annotated[int, Interval(ge=2, le=LARGEST_SIZE)] = 100_000


@dataclasses.dataclass
class TuneKeys:
    """The keys of [tune] with best_of.

    Args:
        best_of: the etas to try.
        runs: the runs that choose eta: separate pilot runs, the first third of the runs, or successive halving in
            separate runs (halving).
    """

    best_of: Annotated[Vector, Gt(0)]
    runs: Literal[RUNS] = "pilot"  # type: ignore[valid-type]


def _keys(*makers: Callable[..., Any]) -> dict[str, Parameter]:
    """Return parameters by name; a file cannot set None."""
    parameters = (parameter for make in makers for parameter in documented_parameters(make))
    return {parameter.name: parameter._replace(takes=parameter.takes - {"nothing"}) for parameter in parameters}


STUDY, PRECISION, GAME, TUNE = _keys(StudyKeys), _keys(Precision, MostRuns), _keys(Game), _keys(TuneKeys)
