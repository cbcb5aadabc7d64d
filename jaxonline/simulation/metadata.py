"""What a result says of how it was made."""

import functools
import platform
from collections.abc import Mapping, Sequence
from importlib import metadata
from typing import Any

from jaxonline.game import Entrant, Game
from jaxonline.parameters.short_repr import short_repr
from jaxonline.simulation.sweeps import Team

PACKAGES = ("jaxonline", "jax", "jaxlib", "numpy", "optax")


def in_words(game: Game, comparator: Any, learners: Any, teams: Sequence[Team]) -> dict[str, Any]:
    """Game, comparator, learners with their parameters, and versions: entries of `Result.meta`."""
    given = list(learners.values()) if isinstance(learners, Mapping) else [learners]
    return {
        "game": short_repr(game),
        "comparator": None if comparator is None else short_repr(comparator),
        "learners": {
            name: short_repr(learner) + (f" through {short_repr(item.feedback)}" if isinstance(item, Entrant) else "")
            for team, item in zip(teams, given, strict=True)
            for name, learner in team.members.items()
        },
        "versions": dict(versions()),
    }


@functools.cache
def versions() -> dict[str, str]:
    """Of Python and of the packages that decide the numbers, those that are installed."""
    found = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            continue
    return found
