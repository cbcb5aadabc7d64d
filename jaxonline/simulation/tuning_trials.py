"""Trials of a hyperparameter search: settings and their learners, in groups that share a compiled program."""

import functools
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import numpy as np

from jaxonline.game import Game, Learner, WithFeedback
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError, DivergedRunsWarning
from jaxonline.parameters.struct import replace_at, structure_of
from jaxonline.results import Result
from jaxonline.results.quantities import REWARD_OF_LOSS, has_rewards
from jaxonline.results.tuned import Setting, format_setting
from jaxonline.simulation.monte_carlo import simulate
from jaxonline.simulation.sweeps import sweep


def horizon_values(result: Result, quantity: str) -> np.ndarray:
    """Return a scalar quantity at the horizon [L, R]: infinite in diverged runs, NaN in overflowed runs.

    For arms with rewards, a loss is the horizon minus the reward, also in a run that stopped before the horizon.
    """
    values = result.values(quantity)
    if has_rewards(result) and quantity in REWARD_OF_LOSS:
        values = result.rounds - result.values(REWARD_OF_LOSS[quantity])
    if values.ndim > 3:
        raise ArgumentError("quantity", f"must be a number in each round (got {quantity!r}, which is a vector)")
    return np.where(result.first_nonfinite > 0, np.inf, values[:, :, -1])


def learner_factory(learner: Any) -> Callable[[Setting], Any]:
    """Return a function that makes the learner of a setting."""
    if isinstance(learner, WithFeedback):
        make = learner_factory(learner.learner)
        return lambda setting: WithFeedback(make(setting), learner.feedback)
    if isinstance(learner, Learner) and not isinstance(learner, type):
        return lambda setting: functools.reduce(_set_field, setting.items(), learner)
    if not callable(learner):
        check.instance("learner", learner, False, "a learner, or a function of the settings that makes one")

    def make_learner(setting: Setting) -> Any:
        try:
            inspect.signature(learner).bind(**setting)
        except TypeError as error:
            raise ArgumentTypeError(
                "grid", f"must have the arguments of the learner function as names (got {', '.join(setting)}); {error}"
            ) from None
        return learner(**setting)

    return make_learner


def _set_field(learner: Any, field: tuple[str, Any]) -> Any:
    return replace_at(learner, *field, name="grid")


class Trials:
    """The settings of a search, their learners, and groups of at most `together` learners that share a program."""

    def __init__(self, game: Game, make: Callable[[Setting], Any], quantity: str, together: int):
        self.game, self.make, self.quantity, self.together = game, make, quantity, together
        self.settings: list[Setting] = []
        self.learners: list[Any] = []
        self.kinds: list[_LearnerKind] = []
        self.kind_of: list[_LearnerKind] = []

    def add(self, setting: Setting) -> int:
        """Add a setting and return its index."""
        learner = self.make(setting)
        kind = next((kind for kind in self.kinds if kind.fits(learner)), None)
        if kind is None:
            kind = _LearnerKind(learner)
            self.kinds.append(kind)
        self.settings.append(dict(setting))
        self.learners.append(learner)
        self.kind_of.append(kind)
        return len(self.settings) - 1

    def play(self, indices: Sequence[int], *, runs: range, **options: Any) -> np.ndarray:
        """Simulate settings and return their `horizon_values` [S, R]."""
        teams: dict[str, Any] = {}
        names: dict[int, str] = {}
        for kind in self.kinds:
            own = [i for i in indices if self.kind_of[i] is kind]
            kind.members = kind.members or min(len(own), self.together)
            for start in range(0, len(own), kind.members or 1):
                batch = own[start : start + kind.members]
                name = f"settings {1 + len(teams)}"
                labels = {i: f"{i}: {format_setting(self.settings[i])}" for i in batch}
                names |= {i: f"{name}[{label}]" for i, label in labels.items()}
                members = {label: _bare_learner(self.learners[i]) for i, label in labels.items()}
                for copy in range(kind.members - len(batch)):  # padding, so that all batches share a program
                    members[f"{batch[-1]} again, {copy}"] = _bare_learner(self.learners[batch[-1]])
                teams[name] = kind.with_feedback(sweep(members))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", DivergedRunsWarning)  # `Tuned` reports these runs
            result = simulate(self.game, teams, runs=runs, **options)
        return horizon_values(result.select(*(names[i] for i in indices)), self.quantity)


class _LearnerKind:
    """A group of learners that share a program: they differ only in numbers, and have the same feedback."""

    def __init__(self, learner: Any):
        self.structure = structure_of(_bare_learner(learner))
        self.feedback = learner.feedback if isinstance(learner, WithFeedback) else None
        self.members = 0  # learners per program, set when they are first played

    def fits(self, learner: Any) -> bool:
        """Return whether a learner belongs to the group."""
        feedback = learner.feedback if isinstance(learner, WithFeedback) else None
        return structure_of(_bare_learner(learner)) == self.structure and _are_equal(feedback, self.feedback)

    def with_feedback(self, team: Any) -> Any:
        """Return the learners as a `WithFeedback` with the group's feedback if the group has its own feedback."""
        return team if self.feedback is None else WithFeedback(team, self.feedback)


def _bare_learner(learner: Any) -> Any:
    return learner.learner if isinstance(learner, WithFeedback) else learner


def _are_equal(first: Any, second: Any) -> bool:
    """Return whether two pytrees are equal in structure and in all numbers."""
    leaves = zip(jax.tree.leaves(first), jax.tree.leaves(second), strict=False)
    return structure_of(first) == structure_of(second) and all(np.array_equal(a, b) for a, b in leaves)
