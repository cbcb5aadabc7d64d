"""Comparator: the Condorcet winner, the arm that beats every other arm."""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxonline.environments.preference_arms import Preferences
from jaxonline.losses.pairs import PairLoss
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import set_field, static, struct
from jaxonline.parameters.types import PyTree


@struct
class CondorcetWinner:
    """The pair (c, c) of the Condorcet winner c, which beats every other arm with a probability above 1/2.

    The game must use the loss `losses.PairLoss(c)`, which is the attribute `loss` of the comparator. The pair (c, c)
    has the loss 0, so the regret is the cumulative loss.

    Args:
        preferences: arm i beats arm j with probability `preferences[i, j]` [K, K]; the matrix and its transpose add up
            to 1. If no arm beats every other arm, a ValueError is raised.

    Example:
        >>> import jaxonline as jo
        >>> best = jo.CondorcetWinner([[0.5, 0.4], [0.6, 0.5]])
        >>> best.best_predictor, best.loss
        (1, PairLoss(winner=1))
    """

    preferences: Preferences
    winner: int = static(default=-1, init=False)

    label: ClassVar[str] = "the Condorcet winner"

    def __post_init__(self) -> None:
        values = check.concrete_array(self.preferences)
        if values is None:
            raise ArgumentError("preferences", "must be known here (computed outside jit)")
        beats_all = (values > 0.5).sum(axis=1) == len(values) - 1
        if not beats_all.any():
            raise ArgumentError("preferences", "must have a Condorcet winner, an arm that beats every other arm")
        set_field(self, "winner", int(beats_all.argmax()))

    @property
    def loss(self) -> PairLoss:
        """The loss of pairs of arms relative to the Condorcet winner."""
        return PairLoss(self.winner)

    @property
    def best_predictor(self) -> int:
        """The winner."""
        return self.winner

    def statistic(self, x: PyTree, y: Float[Array, "K K"]) -> Float[Array, ""]:
        """Return the loss of the pair (c, c) in one round; raises a ValueError if the outcome is no matrix of duels."""
        del x
        winner = jnp.full(2, self.winner, jnp.int32)
        return self.loss(winner, y)

    def best_loss(self, sums: Float[np.ndarray, "..."]) -> Float[np.ndarray, "..."]:
        """Return the cumulative loss of the pair (c, c), which is 0."""
        return np.asarray(sums)
