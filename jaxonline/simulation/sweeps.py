"""Learners that differ in numbers only, played as one program; a single learner is a sweep of one."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

from jaxonline._util.struct import cast_leaves, stack
from jaxonline.game import Entrant, Game, bind, check_feedback


class Sweep(NamedTuple):
    """Learners that differ in numbers only: one program, and the noise is drawn once for all of them.

    Made by `jaxonline.sweep`.

    Attributes:
        labels: of the learners.
        learners: as they were given.
    """

    labels: tuple[str, ...]
    learners: tuple[Any, ...]


def sweep(learners: Mapping[Any, Any] | Sequence[Any]) -> Sweep:
    """Learners that differ in numbers only (step size, radius, ...), to be played as one compiled program.

    In a study a sweep named "sgd" with the labels 0.1 and 0.2 becomes the learners "sgd[0.1]" and "sgd[0.2]".

    Args:
        learners: learners by label, or a sequence, labelled 0, 1, ...

    Raises:
        ValueError: if there is none, or if they differ in more than numbers (another estimator, another optimiser).

    Example:
        >>> import jaxonline as jo
        >>> etas = [0.01, 0.1, 1.0]
        >>> sweep = jo.sweep({eta: jo.GradientLearner(jo.estimators.TwoCopies(), step_size=eta) for eta in etas})
        >>> sweep.labels
        ('0.01', '0.1', '1.0')
    """
    items = dict(learners if isinstance(learners, Mapping) else enumerate(learners))
    if not items:
        raise ValueError("learners of a sweep must be at least one, got none")
    stack(list(items.values()))  # raises where they differ in more than numbers
    return Sweep(distinct("labels", map(str, items)), tuple(items.values()))


class Team(NamedTuple):
    """The learners of one entry of a study: those of a sweep, or a single one.

    Attributes:
        name: of the entry.
        members: the learners by their names in the result.
        entrant: the learners stacked along a new leading axis, and their feedback; every number an array.
        game: the game, likewise.
    """

    name: str
    members: dict[str, Any]
    entrant: Entrant
    game: Game


def as_team(game: Game, name: Any, item: Any) -> Team:
    """A learner, an `Entrant` or a sweep of a study, checked against the game.

    Raises:
        TypeError, ValueError: what cannot play the game (`game.bind`).
    """
    entrant = item if isinstance(item, Entrant) else Entrant(item, game.feedback)
    if isinstance(entrant.learner, Sweep):
        members = {f"{name}[{label}]": each for label, each in zip(*entrant.learner, strict=True)}
    else:
        members = {str(name): entrant.learner}
    for each in list(members.values())[1:]:
        check_feedback(each, entrant.feedback)  # `bind` looks at the first one
    bound = bind(game, Entrant(next(iter(members.values())), entrant.feedback))
    stacked = cast_leaves(stack([cast_leaves(each, game.dtype) for each in members.values()]), game.dtype)
    return Team(str(name), members, Entrant(stacked, bound.entrant.feedback), bound.game)


def distinct(what: str, names: Iterable[str]) -> tuple[str, ...]:
    """Names, checked to be distinct."""
    names = tuple(names)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{what} must have distinct names, got {twice[0]!r} more than once")
    return names
