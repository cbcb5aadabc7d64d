"""KL-UCB for losses in [0, 1]: Garivier and Cappe (2011), Algorithm 1."""

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.bandits.tally import Tally, TallyPolicy
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import NonNegative

NEWTON_STEPS = 8  # enough for float64, from the start in `kl_lower_bound`


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


def kl_lower_bound(mean: Float[Array, "K"], budget: Float[Array, "K"]) -> Float[Array, "K"]:
    """Return the smallest q with kl(mean, q) <= budget, by Newton steps, for means in [0, 1].

    kl(mean, q) is the integral of (mean - s) / (s (1 - s)) over s from q to mean, so it is at least
    g^2 / (2 min(mean, 1/4)) for the gap g = mean - q, and at least mean ln(mean / q) - mean. These two lower bounds on
    kl give a start value below the solution. The Newton steps then increase to the solution, because kl is convex in q.
    Divergences are computed from the gaps mean - q, without the cancellation of nearly equal logarithms.
    """
    tiny = jnp.asarray(jnp.finfo(mean.dtype).tiny, mean.dtype)
    m = jnp.maximum(mean, tiny)
    rest = jnp.maximum(1.0 - m, tiny)
    nearest = m - jnp.sqrt(2.0 * budget * jnp.minimum(m, 0.25))
    start = jnp.maximum(jnp.maximum(nearest, m * jnp.exp(-1.0 - budget / m)), tiny)
    q = start
    for _ in range(NEWTON_STEPS):
        gap = m - q
        kl = m * _log1p(gap / q) - (1.0 - m) * _log1p(gap / rest)
        step = (kl - budget) * q * (1.0 - q) / jnp.maximum(gap, tiny)
        q = jnp.clip(q + step, start, m)
    return jnp.where(mean > 0.0, q, 0.0)


def _log1p(a: Float[Array, "K"]) -> Float[Array, "K"]:
    """Return ln(1 + a) for a >= 0 by operations that are vectorised on CPU; for small a as 2 artanh(a / (2 + a))."""
    small = a < 0.2
    y = jnp.where(small, a, 0.0) / (2.0 + jnp.where(small, a, 0.0))
    tail = jnp.zeros_like(a)
    for power in range(15, 0, -2):
        tail = 1.0 / power + y * y * tail
    return jnp.where(small, 2.0 * y * tail, jnp.log(1.0 + a))
