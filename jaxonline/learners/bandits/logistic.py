"""Contextual bandits with logistic losses: Thompson sampling and upper confidence bounds with Gaussian beliefs."""

from typing import Any, Literal

import jax
from jaxtyping import Array, Float, Int, Key

from jaxonline.learners.bandits.contextual import RidgeBandit, RidgeState
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import NonNegative, Positive

# ---------------------------------------------------------------------------------------------------------------------
# A Gaussian belief about the weights of a logistic model, updated by one Newton step in each round.


class LogisticBandit(RidgeBandit):
    """Base class of logistic bandits: the mean loss of an arm is 1 / (1 + e^-<w, x_k>); losses are in [0, 1].

    The belief about w is N(w, P). In a round with the features x and the loss y of the arm pulled, the next belief is
    the Laplace approximation of the posterior, with one Newton step from w in place of the mode. With p = 1 / (1 +
    e^-<w, x>) it has the covariance P' = (P^-1 + p (1 - p) x x')^-1 and the mean w + P' x (y - p).
    """

    loss_range = (0.0, 1.0)
    loss_at_zero_reward = 1.0

    def _mean_and_weight(self, score: Float[Array, ""]) -> tuple[Any, Any]:
        """Return p and p (1 - p)."""
        p = jax.nn.sigmoid(score)
        return p, p * (1.0 - p)


@cites("chapelle2011empirical")
@struct
class LogisticThompson(LogisticBandit):
    """Thompson sampling with a logistic model: draws w~ from N(w, width^2 P), pulls the arm of the smallest <w~, x_k>.

    The mean loss of arm k is 1 / (1 + e^-<w, x_k>), and losses are in [0, 1]. After each round the belief N(w, P) is
    the Laplace approximation with one Newton step: with the probability p of the features x and the loss y, P' = (P^-1
    + p (1 - p) x x')^-1 and w' = w + P' x (y - p). Chapelle and Li (2011) also update a Laplace approximation, with a
    diagonal precision, and minimise in batches; their algorithm is not this one.

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

    The model and the update of w and P are those of `LogisticThompson`: an online Newton step with the curvature at w.
    Zhang, Yang, Jin, Xiao and Zhou (2016) have confidence regions from online Newton steps for a logit model; their
    constants are others, and their regret bound is not claimed for this update.

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
