"""Learners that differ in numbers only, played as one program; a single learner is a sweep of one."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import jax

from jaxonline.game import Entrant, Game, Learner, Round, bind, check_assumptions
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import cast_leaves, stack, static, struct


@struct
class Sweep:
    """Learners that differ in numbers only: one program, and the noise is drawn once for all of them.

    Made by `jaxonline.sweep`.

    Attributes:
        labels: of the learners.
        learners: as they were given.
    """

    labels: tuple[str, ...] = static()
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
    if not isinstance(learners, Mapping):
        good = isinstance(learners, Sequence) and not isinstance(learners, str)
        check.instance("learners", learners, good, "a list of learners, or a dictionary of them")
    items = dict(learners if isinstance(learners, Mapping) else enumerate(learners))
    if not items:
        raise ArgumentError("learners", "must hold at least one learner (got none)")
    for label, item in items.items():
        wanted = "a learner, with init, predict and update"
        check.instance(f"learners[{label!r}]", item, isinstance(item, Learner), wanted)
    stack(list(items.values()))  # raises where they differ in more than numbers
    return Sweep(distinct("labels", map(str, items)), tuple(items.values()))


class Team(NamedTuple):
    """The learners of one entry of a study: those of a sweep, or a single one.

    Attributes:
        name: of the entry.
        members: the learners by their names in the result.
        entrant: the learners stacked along a new leading axis, and their feedback; every number an array.
        game: the game, likewise.
        record: shapes and dtypes of a `Round` of theirs.
    """

    name: str
    members: dict[str, Any]
    entrant: Entrant
    game: Game
    record: Round


def as_team(game: Game, name: Any, item: Any, shapes_of: Callable[..., Any] = jax.eval_shape) -> Team:
    """A learner, an `Entrant` or a sweep of a study, checked against the game; `shapes_of` as for `game.bind`.

    Raises:
        TypeError, ValueError: what cannot play the game (`game.bind`).
    """
    name = str(name) if isinstance(name, str | int | float) else check.text("learners' name", name)
    check.instance("game", game, Game, "a Game")
    entrant = item if isinstance(item, Entrant) else Entrant(item, game.feedback)
    if isinstance(entrant.learner, Sweep):
        swept = entrant.learner
        members = {f"{name}[{label}]": each for label, each in zip(swept.labels, swept.learners, strict=True)}
    else:
        members = {name: entrant.learner}
    for member in members:
        check_name(member)
    for each in list(members.values())[1:]:
        check_assumptions(game.environment, Entrant(each, entrant.feedback))  # `bind` looks at the first one
    first = next(iter(members))
    bound = bind(game, Entrant(members[first], entrant.feedback), first, shapes_of)
    cast = [cast_leaves(each, game.dtype, f"learner {label!r}") for label, each in members.items()]
    stacked = cast_leaves(stack(cast), game.dtype)
    return Team(name, members, Entrant(stacked, bound.entrant.feedback), bound.game, bound.record)


RESERVED = ("best in hindsight", "comparator")


def check_name(name: str) -> None:
    """Check that a learner's name is not empty, and not one that the simulator has for something else."""
    if check.text("learners' name", name) in RESERVED:
        raise ArgumentError(
            "learners", f"must have another name (got {name!r}); the simulator uses it for the comparator"
        )


def distinct(what: str, names: Iterable[str]) -> tuple[str, ...]:
    """Names, checked to be distinct."""
    names = tuple(names)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ArgumentError(what, f"must have distinct names (got {twice[0]!r} more than once)")
    return names
