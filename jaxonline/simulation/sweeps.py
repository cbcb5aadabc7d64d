"""Sweeps: learners that differ only in numbers and share one compiled program; a single learner is a sweep too."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple, TypeAlias

import jax

from jaxonline.game import Game, Learner, Round, WithFeedback, bind, check_assumptions
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import cast_leaves, stack, static, struct


@struct
class Sweep:
    """Learners that differ only in numbers, made by `jaxonline.sweep`; they share one compiled program and the noise.

    Attributes:
        labels: labels of the learners.
        learners: the learners.
    """

    labels: tuple[str, ...] = static()
    learners: tuple[Any, ...]


LearnerEntry: TypeAlias = Learner | WithFeedback | Sweep  # an entry of a study
LearnerEntries: TypeAlias = (
    LearnerEntry | Mapping[str, LearnerEntry] | Mapping[int, LearnerEntry] | Mapping[float, LearnerEntry]
)  # the argument `learners` of `simulate`


def sweep(learners: Mapping[Any, Learner] | Sequence[Learner]) -> Sweep:
    """Make a sweep over learners that differ only in numbers (step size, radius, ...) and share a compiled program.

    In a study a sweep named "sgd" with the labels 0.1 and 0.2 becomes the learners "sgd[0.1]" and "sgd[0.2]".

    Args:
        learners: learners by label, or a sequence of learners, which get the labels 0, 1, ...

    Raises:
        ValueError: there is no learner, or they differ in more than numbers (another estimator, another optimiser).

    Example:
        >>> import jaxonline as jo
        >>> etas = [0.01, 0.1, 1.0]
        >>> sweep = jo.sweep({eta: jo.GradientLearner(jo.estimators.TwoCopies(), step_size=eta) for eta in etas})
        >>> sweep.labels
        ('0.01', '0.1', '1.0')
    """
    if not isinstance(learners, Mapping):
        good = isinstance(learners, Sequence) and not isinstance(learners, str)
        check.instance("learners", learners, good, "a list of learners, or a dictionary of them")
    items = dict(learners if isinstance(learners, Mapping) else enumerate(learners))
    if not items:
        raise ArgumentError("learners", "must hold at least one learner (got none)")
    for label, item in items.items():
        check.instance(f"learners[{label!r}]", item, isinstance(item, Learner), LEARNER)
    stack(list(items.values()))  # raises an error if they differ in more than numbers
    return Sweep(check_unique_names("labels", map(str, items)), tuple(items.values()))


LEARNER = "a learner, whose class inherits from jo.Learner"


class Team(NamedTuple):
    """The learners of one entry of a study: a sweep, or a single learner."""

    name: str  # name of the entry
    members: dict[str, Any]  # learners by their names in the result
    entrant: WithFeedback  # learners stacked along a new leading axis, and their feedback, with arrays for all numbers
    game: Game  # the game, with arrays for all numbers
    record: Round  # shapes and dtypes of a `Round`


def as_team(game: Game, name: Any, item: Any, shapes_of: Callable[..., Any] = jax.eval_shape) -> Team:
    """Check that a learner, a `WithFeedback` or a sweep can play the game; raises the errors of `game.bind`."""
    name = str(name) if isinstance(name, str | int | float) else check.text("learners' name", name)
    check.instance("game", game, Game, "a Game")
    entrant = item if isinstance(item, WithFeedback) else WithFeedback(item, game.feedback)
    if isinstance(entrant.learner, Sweep):
        swept = entrant.learner
        members = {f"{name}[{label}]": learner for label, learner in zip(swept.labels, swept.learners, strict=True)}
    else:
        members = {name: entrant.learner}
    for member in members:
        check_name(member)
    for learner in list(members.values())[1:]:
        check_assumptions(game.environment, WithFeedback(learner, entrant.feedback))  # `bind` checks the first one
    first = next(iter(members))
    bound = bind(game, WithFeedback(members[first], entrant.feedback), first, shapes_of)
    cast = [cast_leaves(learner, game.dtype, f"learner {label!r}") for label, learner in members.items()]
    stacked = cast_leaves(stack(cast), game.dtype)
    return Team(name, members, WithFeedback(stacked, bound.entrant.feedback), bound.game, bound.record)


RESERVED_NAMES = ("best in hindsight", "comparator")


def check_name(name: str) -> None:
    """Check that a learner's name is not empty and not reserved."""
    if check.text("learners' name", name) in RESERVED_NAMES:
        raise ArgumentError("learners", f"must have another name (got {name!r}); it is reserved for the comparator")


def check_unique_names(argument: str, names: Iterable[str]) -> tuple[str, ...]:
    """Check that names are distinct, and return them."""
    names = tuple(names)
    repeated = sorted(name for name, times in Counter(names).items() if times > 1)
    if repeated:
        raise ArgumentError(argument, f"must have distinct names (got {repeated[0]!r} more than once)")
    return names
