"""Loss of a pair of arms that are compared; the outcome y is the matrix of the duels of all arms [K, K].

y[i, j] is 1 if arm i beats arm j and 0 otherwise, or the probability that arm i beats arm j; y + y' = 1, and the
diagonal is 1/2. A pair is a vector of two arms.
"""

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxonline.losses.lazy import LazyOutcome
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.numbers import as_floating
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import NonNegativeInt


@struct
class PairLoss:
    """Loss of a pair (i, j) of arms relative to the Condorcet winner c: (y[c, i] + y[c, j]) / 2 - 1/2.

    The loss of (c, c) is 0. The loss is linear in the outcome y, so `game.PseudoRegret` evaluates the loss at the
    probabilities P. The loss at P is the regret of a duel, (gap_i + gap_j) / 2 with gap_i = P[c, i] - 1/2, and the
    cumulative loss is the cumulative regret. With realised duels the mean of the loss is the regret of a duel. The loss
    is NaN for an arm outside 0 to K - 1.

    Args:
        winner: the Condorcet winner c, the arm that beats every other arm with a probability above 1/2
            (`comparators.CondorcetWinner` finds it).

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.losses import PairLoss
        >>> preferences = jnp.array([[0.5, 0.75, 1.0], [0.25, 0.5, 0.6], [0.0, 0.4, 0.5]])
        >>> [float(PairLoss(winner=0)(jnp.array(pair), preferences)) for pair in ([0, 0], [0, 1], [1, 2])]
        [0.0, 0.125, 0.375]
    """

    winner: NonNegativeInt = static()

    reads_entries: ClassVar[bool] = True  # a lazy outcome computes the two duels with the winner only

    def __call__(self, y_hat: Int[Array, "2"], y: Float[Array, "K K"]) -> Float[Array, ""]:
        """Return (y[c, i] + y[c, j]) / 2 - 1/2."""
        duels = y if isinstance(y, LazyOutcome) else as_floating(y)
        n_arms, losses = self._n_arms(duels), [as_floating(duels[jnp.int32(self.winner), arm]) for arm in y_hat]
        is_pair = jnp.all(jnp.stack([(arm >= 0) & (arm < n_arms) for arm in y_hat]))
        return jnp.where(is_pair, 0.5 * (losses[0] + losses[1]) - 0.5, jnp.nan)

    def gradient(self, y_hat: Int[Array, "2"], y: Float[Array, "K K"]) -> Float[Array, "K"]:
        """Return y[c] - 1/2, the gradient in the mean of the indicator vectors of the two arms, for any pair."""
        del y_hat
        y = as_floating(y)
        self._n_arms(y)
        return y[self.winner] - 0.5

    def _n_arms(self, y: Any) -> int:
        if getattr(y, "ndim", 0) != 2 or y.shape[0] != y.shape[1]:
            raise ArgumentError("y", f"must be a square matrix of duels (got {y})")
        if self.winner >= y.shape[0]:
            raise ArgumentError("winner", f"must be an arm, at most {y.shape[0] - 1} (got {self.winner})")
        return y.shape[0]
