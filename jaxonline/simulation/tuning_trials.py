"""Settings that are tried: the learners they make, played together where they differ in numbers only."""

import dataclasses
import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from jaxonline.game import Entrant, Game, Learner
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.struct import replace, structure_of
from jaxonline.parameters.warning_classes import DivergedRunsWarning
from jaxonline.results import Result
from jaxonline.results.tuned import Setting, format_setting
from jaxonline.simulation.monte_carlo import simulate
from jaxonline.simulation.sweeps import sweep


def to_judge(result: Result, quantity: str) -> np.ndarray:
    """A quantity of learners at the horizon [L, R]: infinite in runs that failed, NaN in others that are left out.

    Raises:
        ValueError: it is a vector in each round.
    """
    values = result.values(quantity)
    if values.ndim > 3:
        raise ArgumentError("quantity", f"must be a number in each round (got {quantity!r}, which is a vector)")
    return np.where(result.first_nonfinite > 0, np.inf, values[:, :, -1])


def maker(learner: Any) -> Callable[[Setting], Any]:
    """What makes the learner of a setting."""
    if isinstance(learner, Entrant):
        make = maker(learner.learner)
        return lambda setting: Entrant(make(setting), learner.feedback)
    if isinstance(learner, Learner) and not isinstance(learner, type):
        return lambda setting: functools.reduce(_with_field, setting.items(), learner)
    if not callable(learner):
        check.instance("learner", learner, False, "a learner, or a function of the settings that makes one")

    def made(setting: Setting) -> Any:
        try:
            inspect.signature(learner).bind(**setting)
        except TypeError as error:
            raise ArgumentTypeError(
                "grid", f"must name the arguments of learner (got {', '.join(setting)}); {error}"
            ) from None
        return learner(**setting)

    return made


def _with_field(owner: Any, field: tuple[str, Any]) -> Any:
    """A struct with a field set, which may be one of its field: "step_size.eta"."""
    path, value = field
    name, _, inside = path.partition(".")
    fields = [each.name for each in dataclasses.fields(owner) if each.init] if dataclasses.is_dataclass(owner) else []
    check.choice(f"grid: a field of {type(owner).__name__}", name, fields)
    return replace(owner, **{name: _with_field(getattr(owner, name), (inside, value)) if inside else value})


class Tried:
    """The settings that were tried, their learners, and which of them are played as one program.

    Args:
        game: in which they are played.
        make: makes the learner of a setting.
        quantity: what is to be small.
        together: learners in one program at most.
    """

    def __init__(self, game: Game, make: Callable[[Setting], Any], quantity: str, together: int):
        self.game, self.make, self.quantity, self.together = game, make, quantity, together
        self.settings: list[Setting] = []
        self.learners: list[Any] = []
        self.kinds: list[_Kind] = []
        self.kind_of: list[_Kind] = []

    def add(self, setting: Setting) -> int:
        """One more setting; its position."""
        learner = self.make(setting)
        kind = next((each for each in self.kinds if each.fits(learner)), None)
        if kind is None:
            kind = _Kind(learner)
            self.kinds.append(kind)
        self.settings.append(dict(setting))
        self.learners.append(learner)
        self.kind_of.append(kind)
        return len(self.settings) - 1

    def play(self, some: Sequence[int], *, runs: range, **options: Any) -> np.ndarray:
        """`to_judge` of some settings [S, R] in some runs."""
        teams: dict[str, Any] = {}
        place: dict[int, str] = {}
        for kind in self.kinds:
            own = [i for i in some if self.kind_of[i] is kind]
            kind.members = kind.members or min(len(own), self.together)
            for start in range(0, len(own), kind.members or 1):
                part = own[start : start + kind.members]
                name = f"settings {1 + len(teams)}"
                labels = {i: f"{i}: {format_setting(self.settings[i])}" for i in part}
                place |= {i: f"{name}[{label}]" for i, label in labels.items()}
                members = {label: _alone(self.learners[i]) for i, label in labels.items()}
                for again in range(kind.members - len(part)):  # so that it is the same program
                    members[f"{part[-1]} again, {again}"] = _alone(self.learners[part[-1]])
                teams[name] = kind.entered(sweep(members))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DivergedRunsWarning)  # `Tuned` says so
            result = simulate(self.game, teams, runs=runs, **options)
        return to_judge(result.select(*(place[i] for i in some)), self.quantity)


class _Kind:
    """Learners that differ in numbers only, and see the rounds through one feedback: so many of them are a program."""

    def __init__(self, learner: Any):
        self.structure = structure_of(_alone(learner))
        self.feedback = learner.feedback if isinstance(learner, Entrant) else None
        self.members = 0  # until they are played

    def fits(self, learner: Any) -> bool:
        """Whether a learner is one of them."""
        feedback = learner.feedback if isinstance(learner, Entrant) else None
        return structure_of(_alone(learner)) == self.structure and _same(feedback, self.feedback)

    def entered(self, team: Any) -> Any:
        """Some of them with their feedback, if they have their own."""
        return team if self.feedback is None else Entrant(team, self.feedback)


def _alone(learner: Any) -> Any:
    return learner.learner if isinstance(learner, Entrant) else learner


def _same(first: Any, second: Any) -> bool:
    """Whether two pytrees are equal, numbers included."""
    leaves = zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=False)
    return structure_of(first) == structure_of(second) and all(np.array_equal(a, b) for a, b in leaves)
