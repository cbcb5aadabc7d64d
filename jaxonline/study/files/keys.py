"""The keys of a study file: annotations say what each takes, docstrings what it means."""

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
        title: what the study is called.
        rounds: the horizon: rounds of a run.
        runs: runs of each learner; or say with precision how sure you want to be.
        precision: play until all intervals are so narrow; instead of runs.
        seed: of all randomness.
        record_at: at how many rounds it is recorded, or at which.
        spacing: of the recorded rounds.
        game: environment, feedback, loss and regret.
        learners: by name, each with its type and parameters; a list stands for several learners.
        comparator: for the regret; without it, losses are compared.
        bounds: by learner, what a theorem promises.
        measures: what else is counted.
        tune: step sizes eta / sqrt(t) for learners without a step_size: one eta, an eta for each, or best_of some.
        control_variates: take out of the losses what the noise did, where that is known exactly.
        antithetic: each run is the mean of two plays with opposite noise.
        block_size: runs that are computed together; another one changes the last bits.
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
    """A key beside those of `Precision`.

    Args:
        most_runs: the maximum number of runs.
    """

    most_runs: Annotated[int, Interval(ge=2, le=LARGEST_SIZE)] = 100_000


@dataclasses.dataclass
class TuneKeys:
    """The keys of [tune] when it chooses steps.

    Args:
        best_of: the etas that are tried.
        runs: which runs choose: pilot runs of their own, the first third, or as many of their own as the better steps
            need (halving).
    """

    best_of: Annotated[Vector, Gt(0)]
    runs: Literal[RUNS] = "pilot"  # type: ignore[valid-type]


def _keys(*makers: Callable[..., Any]) -> dict[str, Parameter]:
    """By name; a file leaves a key out instead of giving nothing."""
    given = (parameter for make in makers for parameter in documented_parameters(make))
    return {each.name: each._replace(takes=each.takes - {"nothing"}) for each in given}


STUDY, PRECISION, GAME, TUNE = _keys(StudyKeys), _keys(Precision, MostRuns), _keys(Game), _keys(TuneKeys)
