"""KL-UCB for losses in [0, 1]: Garivier and Cappe (2011), Algorithm 1."""

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.bandits.tally import Tally, TallyPolicy
from jaxonline.linalg.kl_bounds import kl_lower_bound
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import NonNegative


@cites("garivier2011kl")
@struct
class KLUCB(TallyPolicy):
    """KL-UCB policy: pulls the arm with the smallest q <= mean such that n kl(mean, q) <= ln t + c ln ln t.

    kl is the divergence of Bernoulli distributions, n is the number of pulls of the arm, and t is the number of all
    pulls. The learner first pulls each of the K arms once; ties go to the first arm. The regret divided by ln T tends
    to the constant of Lai and Robbins (`bounds.lai_robbins`). Losses known before the game must lie in [0, 1]
    (otherwise a ValueError).

    Args:
        c: the factor of ln ln t. The theorem has c = 3; the authors recommend c = 0.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([1.0, 0.0]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> jo.play(game, jo.learners.KLUCB(), jax.random.key(0), n_rounds=7)[1].y_hat.tolist()
        [0, 1, 1, 1, 1, 1, 1]
    """

    c: NonNegative = 0.0

    traits: ClassVar[LearnerTraits] = LearnerTraits(loss_range=(0.0, 1.0))

    def predict(self, key: Key[Array, ""] | None, state: Tally, x: Any) -> Int[Array, ""]:
        """Return the arm with the smallest lower confidence bound q."""
        del key, x
        log_t = jnp.log(jnp.maximum(state.rounds, 1.0))
        budget = log_t + jnp.asarray(self.c, log_t.dtype) * jnp.log(jnp.maximum(log_t, 1.0))
        return state.unpulled_or_argmin(kl_lower_bound(jnp.clip(state.means, 0.0, 1.0), budget / state.positive_pulls))
