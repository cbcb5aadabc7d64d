"""Comparator: the best ordering of arms that are not available in every round."""

from typing import ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int

from jaxonline.game.masks import Available
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import PyTree

MAX_ARMS = 8


@cites("kleinberg2010sleeping")
@struct
class BestOrdering:
    """Best ordering of the arms: in each round, the first arm of the ordering that is available is pulled.

    The best ordering has the smallest cumulative loss in hindsight; dynamic programming over sets of arms finds it
    exactly (at most 8 arms). Under `game.PseudoRegret` with fixed mean losses the best ordering sorts the arms by their
    means. The loss of this ordering in a round is then the smallest mean of an available arm, which `BestOfEachRound`
    computes for any number of arms.

    Example:
        >>> import jaxonline as jo
        >>> arms = jo.environments.Sleeping(jo.environments.BernoulliArms([0.0, 0.5]), [[True, True], [False, True]])
        >>> game = jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss(), regret=jo.game.PseudoRegret())
        >>> result = jo.simulate(game, jo.learners.UCB1(), n_runs=1, n_rounds=10, record_at=1,
        ...                      comparator=jo.comparators.BestOrdering())
        >>> result.comparator_loss[0, 0, -1].item()
        2.5
    """

    label: ClassVar[str] = "the best ordering"
    uses_masks: ClassVar[bool] = True

    def statistic(self, x: PyTree, y: Float[Array, "K"]) -> Float[Array, "sets K"]:
        """Return, for each set and each arm k, the loss of k if arm k is available and no arm of the set is, else 0.

        Set number n contains arm k if bit k of n is 1. Raises a TypeError if the instance has no mask, or for more than
        8 arms.
        """
        if not isinstance(x, Available):
            raise TypeError("x: BestOrdering needs a mask (environments.Sleeping); use BestArm without masks")
        if y.shape[0] > MAX_ARMS:
            raise TypeError(f"y: BestOrdering needs at most {MAX_ARMS} arms (got {y.shape[0]}); use BestOfEachRound")
        blocked = jnp.any(_sets(y.shape[0]) & x.mask[None], axis=1)
        return jnp.where(x.mask[None] & ~blocked[:, None], y[None], 0.0)

    def best_loss(self, sums: Float[np.ndarray, "... sets K"]) -> Float[np.ndarray, "..."]:
        """Smallest cumulative loss of an ordering."""
        return _solve(np.asarray(sums))[0][-1]

    def best_predictor(self, sums: Float[np.ndarray, "... sets K"]) -> Int[np.ndarray, "... K"]:
        """Arms of the best ordering, from first to last."""
        _, last_arms = _solve(np.asarray(sums))
        arms, number = [], np.full(last_arms.shape[1:], len(last_arms) - 1)
        for _ in range(np.shape(sums)[-1]):
            arms.append(np.take_along_axis(last_arms, number[None], axis=0)[0])
            number = number - (1 << arms[-1])
        return np.stack(arms[::-1], axis=-1)


def _sets(n_arms: int) -> np.ndarray:
    """Return a table [2^K, K]: whether the set of each row contains the arm of each column."""
    return (np.arange(2**n_arms)[:, None] >> np.arange(n_arms)) % 2 == 1


def _solve(sums: Float[np.ndarray, "... sets K"]) -> tuple[np.ndarray, np.ndarray]:
    """Return, for each set of arms [2^K, ...], the smallest loss of its orderings and the best ordering's last arm."""
    sets = _sets(sums.shape[-1])
    losses, last_arms = np.zeros((len(sets), *sums.shape[:-2])), np.zeros((len(sets), *sums.shape[:-2]), int)
    for number in range(1, len(sets)):
        arms = np.flatnonzero(sets[number])
        options = np.stack([losses[number - (1 << k)] + sums[..., number - (1 << k), k] for k in arms])
        losses[number], last_arms[number] = options.min(axis=0), arms[options.argmin(axis=0)]
    return losses, last_arms
