"""The smallest and the largest loss of a round, if the loss or the environment declares them."""

from typing import Any

import jax
import numpy as np

from jaxonline.game.traits import EnvironmentTraits, traits_of
from jaxonline.losses.actions import ArmLoss
from jaxonline.parameters import check


def loss_range(game: Any) -> tuple[float, float] | None:
    """Return the limits (low, high) of the loss of a round in a `Game`; None if they are unknown.

    A loss that always lies between two numbers declares them in its attribute `limits`. The loss of an arm lies between
    the smallest and the largest outcome, if the environment has the trait `outcomes`.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.game import loss_range
        >>> arms, noisy = jo.environments.BernoulliArms([0.2, 0.8]), jo.environments.GaussianArms([0.2, 0.8])
        >>> [loss_range(jo.Game(one, jo.Bandit(), loss=jo.losses.ArmLoss())) for one in (arms, noisy)]
        [(0.0, 1.0), None]
    """
    declared = getattr(game.loss, "limits", None)
    if declared is not None:
        return declared
    outcomes = traits_of(game.environment, EnvironmentTraits).outcomes
    if not isinstance(game.loss, ArmLoss) or outcomes is None or check.is_abstract(outcomes):
        return None
    leaves = [np.asarray(leaf) for leaf in jax.tree.leaves(outcomes)]
    return float(min(leaf.min() for leaf in leaves)), float(max(leaf.max() for leaf in leaves))
