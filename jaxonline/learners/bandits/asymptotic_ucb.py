"""Asymptotically optimal UCB for sub-Gaussian losses: Lattimore and Szepesvari (2020), Algorithm 6."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from jaxonline.learners.bandits.tally import Tally, TallyPolicy
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Positive


@cites("lattimore2020bandit")
@struct
class AsymptoticUCB(TallyPolicy):
    """Asymptotically optimal UCB policy: pulls the arm with the smallest mean loss - std sqrt(2 ln f(t) / n).

    Here f(t) = 1 + t (ln t)^2, n is the number of pulls of the arm, and t is the round. The learner first pulls each of
    the K arms once; ties go to the first arm. By Theorem 8.1 of the book the regret divided by ln T tends to at most
    the sum of 2 std^2 / gap over the worse arms, which is optimal for Gaussian losses. It needs no horizon.

    Args:
        std: sub-Gaussian parameter of the losses about their means.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.GaussianArms([2.0, 0.0], std=0.0), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> jo.play(game, jo.learners.AsymptoticUCB(), jax.random.key(0), n_rounds=12)[1].y_hat.tolist()
        [0, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0]
    """

    std: Positive = 1.0

    def predict(self, key: Key[Array, ""] | None, state: Tally, x: Any) -> Int[Array, ""]:
        """Return the arm with the smallest lower confidence bound."""
        del key, x
        t = state.rounds + 1.0
        width = jnp.sqrt(2.0 * jnp.log1p(t * jnp.log(t) ** 2) / state.positive_pulls)
        return state.unpulled_or_argmin(state.means - jnp.asarray(self.std, t.dtype) * width)
