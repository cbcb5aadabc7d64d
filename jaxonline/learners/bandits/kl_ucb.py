"""KL-UCB for losses in [0, 1]: Garivier and Cappe (2011), Algorithm 1."""

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.bandits.tally import Tally
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import NonNegative

NEWTON_STEPS = 8  # from where `kl_lower_bound` starts, enough for float64


@cites("garivier2011kl")
@struct
class KLUCB(LearnerDefaults):
    """Pulls the arm with the smallest q <= mean such that n kl(mean, q) <= ln t + c ln ln t.

    kl is the divergence of Bernoulli laws, n counts the pulls of the arm so far, t those of all. Each arm is pulled
    once at first; of several with the smallest q it is the first. The regret divided by ln T tends to the constant of
    Lai and Robbins (`bounds.lai_robbins`). Losses known beforehand are held to [0, 1].

    Args:
        c: the factor of ln ln t. The theorem has 3; 0 is the authors' advice.

    Example:
        >>> import jax
        >>> import jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([1.0, 0.0]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> jo.play(game, jo.learners.KLUCB(), jax.random.key(0), n_rounds=7)[1].y_hat.tolist()
        [0, 1, 1, 1, 1, 1, 1]
    """

    c: NonNegative = 0.0

    traits: ClassVar[LearnerTraits] = LearnerTraits(loss_range=(0.0, 1.0))

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Tally:
        """No pulls, the state.

        Raises:
            ValueError: outcomes are not vectors.
        """
        del key
        return Tally.empty(specs)

    def predict(self, key: Key[Array, ""] | None, state: Tally, x: Any) -> Int[Array, ""]:
        """The arm with the smallest q."""
        del key, x
        log_t = jnp.log(jnp.maximum(state.rounds, 1.0))
        budget = log_t + jnp.asarray(self.c, log_t.dtype) * jnp.log(jnp.maximum(log_t, 1.0))
        return state.smallest(kl_lower_bound(jnp.clip(state.means, 0.0, 1.0), budget / state.counts))

    def update(self, key: Key[Array, ""] | None, state: Tally, oracle: Any) -> tuple[Tally, tuple]:
        """One more pull."""
        del key
        return state.add(oracle.move, oracle.loss()), ()


def kl_lower_bound(mean: Float[Array, "K"], budget: Float[Array, "K"]) -> Float[Array, "K"]:
    """The smallest q with kl(mean, q) <= budget, by Newton steps; `mean` in [0, 1].

    kl(mean, q) = integral of (mean - s) / (s (1 - s)) over s from q to mean. So it is at least g^2 / (2 min(mean, 1/4))
    for the gap g = mean - q, and at least mean ln(mean / q) - mean: both give a q not above the one wanted. From there
    the steps rise to it without passing it, as kl is convex in q. Divergences are computed from gaps, without the
    cancellation of logarithms that are nearly equal.
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
    """ln(1 + a) for a >= 0, by array operations, which are vectorised on CPU: small ones as 2 artanh(a / (2 + a))."""
    small = a < 0.2
    y = jnp.where(small, a, 0.0) / (2.0 + jnp.where(small, a, 0.0))
    tail = jnp.zeros_like(a)
    for power in range(15, 0, -2):
        tail = 1.0 / power + y * y * tail
    return jnp.where(small, 2.0 * y * tail, jnp.log(1.0 + a))
