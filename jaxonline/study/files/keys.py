"""The keys of a study file: annotations declare their types, docstrings describe them."""

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Annotated, Any, TypedDict

from jaxonline.game import Game
from jaxonline.parameters.signatures import Parameter
from jaxonline.parameters.types import Component, Ge, Gt, Interval, Seed, Vector
from jaxonline.simulation import Precision, UntilDecided
from jaxonline.simulation.blocks import MAX_BLOCK_SIZE
from jaxonline.simulation.recording import Spacing
from jaxonline.study.files.docstrings import documented_parameters
from jaxonline.study.tuning import TuningRuns

LARGEST_SIZE = 1_000_000_000  # runs, or rounds
Size = Annotated[int, Interval(ge=1, le=LARGEST_SIZE)]


@dataclasses.dataclass(kw_only=True)
class StudyKeys:
    """The keys of a study file.

    Args:
        title: title of the study.
        rounds: number of rounds of a run (the horizon).
        runs: number of runs of each learner; required unless precision or until is given.
        precision: precision of the intervals, instead of runs; the study runs until all intervals are this narrow.
        until: rule that decides about all pairs of learners, instead of runs; the study runs until all are decided.
        seed: seed of all random numbers.
        record_at: number of recorded rounds, or a list of the recorded rounds.
        spacing: spacing of the recorded rounds.
        game: the game, with environment, feedback, loss and pseudo.
        learners: learners by name, each with its type and parameters; a list of values makes several learners.
        comparator: comparator of the regret; without a comparator, losses are compared.
        bounds: regret bounds of theorems, by learner.
        measures: further quantities to record.
        tune: step sizes eta / sqrt(t) for learners without step_size: one eta, one eta for each learner, or the best of
            several etas (best_of).
        block_size: number of runs that are computed together; it changes the last bits of the numbers.
    """

    title: str = ""
    rounds: Size
    runs: Size | None = None
    precision: dict[str, Any] | None = None
    until: dict[str, Any] | None = None
    seed: Seed = 0
    record_at: Annotated[int | list[int], Ge(1)] = 40
    spacing: Spacing = "linear"
    game: dict[str, Any]
    learners: dict[str, Any]
    comparator: Annotated[Any, Component("comparator")] = None
    bounds: dict[str, Any] | None = None
    measures: Sequence[Annotated[Any, Component("measure")]] = ()
    tune: Annotated[float | dict[str, Any] | None, Gt(0)] = None
    block_size: Annotated[int, Interval(ge=1, le=MAX_BLOCK_SIZE)] | None = None


class KeyOverrides(TypedDict, total=False):
    """The keys of `StudyKeys` as keyword arguments, to replace values of a study file."""

    title: str
    rounds: int
    runs: int | None
    precision: Mapping[str, Any] | None
    until: Mapping[str, Any] | None
    seed: int
    record_at: int | list[int]
    spacing: Spacing
    game: Mapping[str, Any]
    learners: Mapping[str, Any]
    comparator: str | Mapping[str, Any] | None
    bounds: Mapping[str, Any] | None
    measures: Sequence[str | Mapping[str, Any]]
    tune: float | Mapping[str, Any] | None
    block_size: int | None


@dataclasses.dataclass
class MostRuns:
    """A key of the tables [precision] and [until], in addition to the keys of `Precision` and `UntilDecided`.

    Args:
        most_runs: the maximum number of runs.
    """

    most_runs: Annotated[int, Interval(ge=2, le=LARGEST_SIZE)] = 100_000


@dataclasses.dataclass
class TuneKeys:
    """The keys of the table [tune], if it has the key best_of.

    Args:
        best_of: the candidate values of eta.
        runs: the runs in which eta is chosen: separate pilot runs ("pilot"), the first third of the runs ("third"), or
            separate runs with successive halving ("halving").
    """

    best_of: Annotated[Vector, Gt(0)]
    runs: TuningRuns = "pilot"


def _keys(*makers: Callable[..., Any]) -> dict[str, Parameter]:
    """Return parameters by name, without the value None, which a file cannot contain."""
    parameters = (parameter for make in makers for parameter in documented_parameters(make))
    return {parameter.name: parameter._replace(takes=parameter.takes - {"nothing"}) for parameter in parameters}


STUDY, PRECISION, GAME, TUNE = _keys(StudyKeys), _keys(Precision, MostRuns), _keys(Game), _keys(TuneKeys)
UNTIL = {name: key for name, key in _keys(UntilDecided, MostRuns).items() if name != "interval"}  # Anytime()
SIZES = {"runs": None, "precision": (PRECISION, Precision), "until": (UNTIL, UntilDecided)}
"""The keys of which a study file has one: the number of runs, or a stopping rule with its keys and its class."""
