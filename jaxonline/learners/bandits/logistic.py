"""Contextual bandits with logistic losses: Thompson sampling and upper confidence bounds with Gaussian beliefs."""

from typing import Any, Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline.learners.bandits.contextual import RidgeBandit, RidgeState
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import NonNegative, Positive

# ---------------------------------------------------------------------------------------------------------------------
# A Gaussian belief about the weights of a logistic model: the Laplace approximation of each round's posterior.


class LogisticBandit(RidgeBandit):
    """Base class of logistic bandits: the mean loss of an arm is 1 / (1 + e^-<w, x_k>); losses are in [0, 1].

    The belief about w is N(w, P). After a round with the features x and the loss y of the arm pulled, the next belief
    is the Laplace approximation of the posterior of this round: its mean is the mode w' = w + P x (y - p), where p = 1
    / (1 + e^-<w', x>), and its covariance is P' = (P^-1 + p (1 - p) x x')^-1.
    """

    loss_range = (0.0, 1.0)
    loss_at_zero_reward = 1.0

    def _residual_and_weight(self, loss: Array, score: Array, variance: Array) -> tuple[Any, Any]:
        """Return y - p and p (1 - p) at the mode."""
        return residual_and_curvature(loss, score, variance)


def residual_and_curvature(
    y: Float[Array, ""], score: Float[Array, ""], variance: Float[Array, ""]
) -> tuple[Float[Array, ""], Float[Array, ""]]:
    """Return y - p and p (1 - p) for the solution p of p = sigmoid(score + variance (y - p)).

    The sides change so that p <= 1/2. Newton's method solves u = log sigmoid(c - variance e^u) for u = log p. The
    difference of both sides is convex and increasing, so the iterates decrease from an upper bound: with a = variance
    p, a e^a <= variance e^c, hence a <= max(c + log variance, 1). Five iterations reach float64.
    """
    sign = jnp.where(score + variance * (y - 0.5) > 0.0, -1.0, 1.0).astype(score.dtype)
    y = jnp.where(sign > 0.0, y, 1.0 - y)
    c, log = sign * score + variance * y, jnp.log(variance)
    u = jnp.minimum(jax.nn.log_sigmoid(jnp.minimum(c, 0.0)), jnp.log(jnp.maximum(c + log, 1.0)) - log)
    for _ in range(5):
        step = variance * jnp.exp(u)
        z = c - step
        u = u - (u - jax.nn.log_sigmoid(z)) / (1.0 + step * jax.nn.sigmoid(-z))
    p = jnp.exp(u)
    return sign * (y - p), p * (1.0 - p)


@cites("chapelle2011empirical")
@struct
class LogisticThompson(LogisticBandit):
    """Thompson sampling with a logistic model: draws w~ from N(w, width^2 P), pulls the arm of the smallest <w~, x_k>.

    The mean loss of arm k is 1 / (1 + e^-<w, x_k>), and losses are in [0, 1]. The belief N(w, P) is a
    sequential Laplace approximation: after a round with the features x and the loss y, w' = w + P x (y - p) is the mode
    of this round's posterior, with p = 1 / (1 + e^-<w', x>), and P' = (P^-1 + p (1 - p) x x')^-1 has the curvature
    there. The Laplace approximation of all rounds together is another one. The two are near if most probabilities are
    far from 0 and 1; with <w, x> of size 30 the variance of the belief is up to four times too small.
    Chapelle and Li (2011) also update a Laplace approximation, with a diagonal precision, and minimise in batches;
    their algorithm is not this one.

    In the model "disjoint" each arm has its own weights, and an instance may be one context [d] for all arms.

    Args:
        width: factor of the standard deviation of the draws.
        regularizer: lambda; the first belief is N(0, I / lambda).
        model: "shared" or "disjoint".

    Example:
        >>> import jax, jaxonline as jo
        >>> environment = jo.environments.ContextualLogisticArms([3.0, -3.0], n_arms=4)
        >>> game = jo.Game(environment, jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> state, history = jo.play(game, jo.learners.LogisticThompson(), jax.random.key(0), n_rounds=500)
        >>> [int(w > 0) for w in state.w]
        [1, 0]
    """

    width: NonNegative = 1.0
    regularizer: Positive = 1.0
    model: Literal["shared", "disjoint"] = static(default="shared")

    def predict(self, key: Key[Array, ""], state: RidgeState, x: Float[Array, "..."]) -> Int[Array, ""]:
        """Return the arm with the smallest loss under the drawn weights."""
        return self._drawn(key, state, x)


@cites("zhang2016online")
@struct
class LogisticUCB(LogisticBandit):
    """Logistic UCB policy: pulls the arm with the smallest <w, x_k> - width sqrt(x_k' P x_k).

    The model and the update of w and P, a sequential Laplace approximation, are those of `LogisticThompson`. Zhang,
    Yang, Jin, Xiao and Zhou (2016) have confidence regions from online Newton steps for a logit model; their update and
    their constants are others, and their regret bound is not claimed for this update.

    Args:
        width: factor of the standard deviation.
        regularizer: lambda; the first belief is N(0, I / lambda).
        model: "shared" or "disjoint".

    Example:
        >>> import jax, jaxonline as jo
        >>> environment = jo.environments.ContextualLogisticArms([3.0, -3.0], n_arms=4)
        >>> game = jo.Game(environment, jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> state, history = jo.play(game, jo.learners.LogisticUCB(), jax.random.key(0), n_rounds=500)
        >>> [int(w > 0) for w in state.w]
        [1, 0]
    """

    width: NonNegative = 1.0
    regularizer: Positive = 1.0
    model: Literal["shared", "disjoint"] = static(default="shared")

    def predict(self, key: Key[Array, ""] | None, state: RidgeState, x: Float[Array, "..."]) -> Int[Array, ""]:
        """Return the arm with the smallest lower bound on its mean loss."""
        return self._optimistic(state, x)
