"""Metadata of a study's result: texts that describe the game, the comparator and the learners."""

import functools
import platform
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

from jaxonline.game import Game, WithFeedback
from jaxonline.game.printing import describe_game
from jaxonline.losses.arms import ARM_LOSSES
from jaxonline.parameters.citations import method_names
from jaxonline.parameters.short_repr import short_repr
from jaxonline.simulation.sweeps import Team

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
        >>> from jaxonline.simulation.metadata import regret_label
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
