"""Contextual bandits with linear losses: LinUCB and Thompson sampling, with shared, disjoint and hybrid models."""

from typing import Any, Literal, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline import random
from jaxonline.game.roles import Specs
from jaxonline.learners.bandits.index_policies import ArmLearner, draw_order
from jaxonline.numerics.elementwise import Order, first_argmin
from jaxonline.numerics.triangular import product, transposed_times
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import NonNegative, Positive

# ---------------------------------------------------------------------------------------------------------------------
# Contexts: features of each arm [K, d], or one vector [d] that all arms share.


def feature_shape(specs: Specs, model: str) -> tuple[int, int]:
    """Return the numbers of arms and features, K and d; raise a ValueError if instances do not suit the model."""
    shape: Any = getattr(specs.instance, "shape", ())
    arms: Any = getattr(specs.outcome, "shape", ())
    if len(arms) == 1 and (shape[:-1] == arms or (len(shape) == 1 and model != "shared")) and shape[-1]:
        return arms[0], shape[-1]
    vectors = "" if model == "shared" else ", or a vector [d] for all arms,"
    problem = f"must be features [arms, d]{vectors} for outcomes of shape {arms} (got {specs.instance})"
    raise ArgumentError("instances", problem)


def features_of_arms(x: Float[Array, "..."], n_arms: int) -> Float[Array, "K d"]:
    """Return the features of all arms; a shared context [d] is that of each arm."""
    return jnp.broadcast_to(x, (n_arms, x.shape[-1]))


# ---------------------------------------------------------------------------------------------------------------------
# Online ridge regression on the features of the arms that were pulled, the state of linear bandits.


class Belief(NamedTuple):
    """Weights with mean and covariance: `root` is L with the covariance L L' [d, d], `w` is the mean [d]."""

    root: Float[Array, "d d"]
    w: Float[Array, "d"]


class RidgeState(NamedTuple):
    """State of linear bandits.

    Attributes:
        root: a square root L of P = (lambda I + sum of x x')^-1 over the arms pulled, P = L L' [d, d]; a matrix of each
            arm [K, d, d] unless the model is shared.
        w: P times the sum of loss x [d], or [K, d].
        order: the order of arms that are equal; None for that of the game.
        common: of a hybrid model, the covariance and the mean of the weights that arms have in common.
    """

    root: Float[Array, "*K d d"]
    w: Float[Array, "*K d"]
    order: Order | None
    common: Belief | None = None


class RidgeBandit(ArmLearner):
    """Base class of linear bandits. An instance is the features of the arms [K, d]; a subclass implements `predict`.

    In a game of rewards the learner observes minus the rewards, which are linear in the features without a constant.
    """

    width: NonNegative
    regularizer: Positive
    model: str

    loss_at_zero_reward = 0.0
    off_policy, restricts_arms = "loss", True

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> RidgeState:
        """Return P = I / lambda and w = 0; raise a ValueError if instances do not suit the model."""
        n_arms, d = feature_shape(specs, self.model)
        order = draw_order(self.ties, key, n_arms, dtype := specs.outcome.dtype)
        root = jnp.eye(d, dtype=dtype) / jnp.sqrt(jnp.asarray(self.regularizer, dtype))
        first = Belief(root, jnp.zeros(d, dtype))
        if self.model == "shared":
            return RidgeState(*first, order)
        roots, w = (jnp.broadcast_to(part, (n_arms, *part.shape)) for part in first)
        return RidgeState(roots, w, order, first if self.model == "hybrid" else None)

    def update(self, key: Key[Array, ""] | None, state: RidgeState, oracle: Any) -> tuple[RidgeState, tuple]:
        """Learn from the features and the loss of the arm pulled."""
        arm, is_shared = oracle.move, self.model == "shared"
        x = oracle.x[arm] if is_shared else features_of_arms(oracle.x, len(state.w))[arm]
        root, w = (state.root, state.w) if is_shared else (state.root[arm], state.w[arm])
        v = transposed_times(root, x)  # XLA computes it once
        residual, weight = self._residual_and_weight(oracle.loss(), jnp.sum(w * x), jnp.sum(v * v))
        root, direction, leverage = reweigh(root, x, weight)
        w = w + direction * residual
        if is_shared:
            return RidgeState(root, w, state.order), ()
        roots, weights, common = state.root.at[arm].set(root), state.w.at[arm].set(w), state.common
        if common is not None:  # its inverse covariance is lambda I + lambda sum_k (I - lambda P_k)
            scale = jnp.asarray(self.regularizer, w.dtype)
            root, _, _ = reweigh(common.root, direction, scale * scale / leverage)
            mean = product(root, product(scale * jnp.sum(weights, axis=0), root))
            common = Belief(root, mean)
        return RidgeState(roots, weights, state.order, common), ()

    def _residual_and_weight(self, loss: Array, score: Array, variance: Array) -> tuple[Any, Any]:
        """Return the loss minus its mean under the next w, and the weight of the round in the inverse of P.

        `score` and `variance` are <w, x> and x' P x before the round. The next w is w + residual P x.
        """
        return (loss - score) / (1.0 + variance), 1.0

    def _moments(self, state: RidgeState, x: Float[Array, "..."]) -> tuple[Array, Array, Array]:
        """Return mean and variance of the losses of the arms [K], and L_k' x_k [K, d].

        The moments of a hybrid model are those for common weights of 0.
        """
        if self.model == "shared":
            V, means = product(x, state.root), product(x, state.w)
        else:
            X = features_of_arms(x, len(state.w))
            V, means = transposed_times(state.root, X), jnp.sum(state.w * X, axis=1)
        return means, jnp.sum(V * V, axis=1), V

    def _optimistic(self, state: RidgeState, x: Float[Array, "..."]) -> Int[Array, ""]:
        """Return the arm with the smallest lower bound."""
        means, variances, V = self._moments(state, x)
        width, scale = (jnp.asarray(value, means.dtype) for value in (self.width, self.regularizer))
        if state.common is not None:
            pull = scale * along(state.root, V)
            means = means + product(pull, state.common.w)
            variances = variances + jnp.sum(product(pull, state.common.root) ** 2, axis=1)
        return first_argmin(means - width * jnp.sqrt(variances), state.order)

    def _drawn(self, key: Key[Array, ""], state: RidgeState, x: Float[Array, "..."]) -> Int[Array, ""]:
        """Return the arm with the smallest loss under drawn weights."""
        width, scale = (jnp.asarray(value, state.w.dtype) for value in (self.width, self.regularizer))
        if self.model == "shared":
            z = random.normal(key, state.w.shape, x.dtype)
            return first_argmin(product(x, state.w + width * along(state.root, z)), state.order)
        n_arms, d = state.w.shape
        means, variances, V = self._moments(state, x)
        z = random.normal(key, (n_arms if state.common is None else n_arms + d,), x.dtype)
        if state.common is not None:
            b = state.common.w + width * along(state.common.root, z[n_arms:])
            means = means + scale * jnp.sum(V * transposed_times(state.root, features_of_arms(b, n_arms)), axis=1)
        return first_argmin(means + width * jnp.sqrt(variances) * z[:n_arms], state.order)


def along(root: Float[Array, "*K d d"], v: Float[Array, "*K d"]) -> Float[Array, "*K d"]:
    """Return L v."""
    return product(root, v[..., None])[..., 0]


def reweigh(root: Float[Array, "d d"], x: Float[Array, "d"], weight: Any) -> tuple[Array, Array, Array]:
    """Return a square root of (P^-1 + weight x x')^-1, P x, and 1 + weight x' P x, from a root L of P (Potter).

    With v = L' x and s^2 = 1 + weight v'v, I - v v' weight / (s (s + 1)) is a square root of (I + weight v v')^-1.
    """
    v = transposed_times(root, x)
    direction, leverage = along(root, v), 1.0 + weight * jnp.sum(v * v)
    s = jnp.sqrt(leverage)
    gain = jnp.where(jnp.isfinite(s), weight / (s * (s + 1.0)), jnp.nan)  # no silent standstill
    return root - direction[:, None] * (gain * v)[None, :], direction, leverage


# ---------------------------------------------------------------------------------------------------------------------
# LinUCB: Li, Chu, Langford and Schapire (2010), Algorithms 1 (disjoint) and 2 (hybrid), and with shared parameters.


@cites("li2010contextual", "abbasi2011improved")
@struct
class LinUCB(RidgeBandit):
    """LinUCB policy for linear bandits: pulls the arm with the smallest <w, x_k> - width sqrt(x_k' P x_k).

    An instance is the matrix of the arms' features [K, d]. The matrix P = (regularizer I + sum of x x')^-1 and the
    weights w = P sum of loss x, with sums over the arms pulled, are those of online ridge regression (`VAW`). Each
    round updates a square root of P (Potter). In float32 the predictions drift by less than 1e-4 of their size, and P
    by less than 1e-4 in each direction, in 10^5 rounds with d = 5, lambda = 1 and features of length about 1; in a
    hybrid model with three arms both drift by less than 1e-3.

    This is the model "shared". In the model "disjoint" (Algorithm 1 of the paper) each arm has its own P_k and w_k,
    from the rounds in which it was pulled. In the model "hybrid" (Algorithm 2, with x_k as both kinds of features) the
    weights of arm k are b + u_k: b is common to all arms, and all u_k and b have the same regularizer. In these models
    an instance may also be one context [d] for all arms. A hybrid model needs one matrix for each arm and one matrix
    for b, since A_0 = lambda I + lambda sum_k (I - lambda P_k), and b + E[u_k | b] = w_k + lambda P_k b.

    Args:
        width: factor of the standard deviation (alpha in the paper); see Abbasi-Yadkori, Pal and Szepesvari (2011) for
            regret bounds.
        regularizer: lambda.
        model: "shared", "disjoint" or "hybrid".

    Example:
        >>> import jax, jaxonline as jo
        >>> environment = jo.environments.ContextualLinearArms([1.0, -1.0], n_arms=4, noise_std=0.1)
        >>> game = jo.Game(environment, jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> state, history = jo.play(game, jo.learners.LinUCB(width=0.5), jax.random.key(0), n_rounds=200)
        >>> [round(float(w)) for w in state.w]
        [1, -1]
    """

    width: NonNegative = 1.0
    regularizer: Positive = 1.0
    model: Literal["shared", "disjoint", "hybrid"] = static(default="shared")

    def predict(self, key: Key[Array, ""] | None, state: RidgeState, x: Float[Array, "..."]) -> Int[Array, ""]:
        """Return the arm with the smallest lower bound on its mean loss."""
        return self._optimistic(state, x)


# ---------------------------------------------------------------------------------------------------------------------
# Thompson sampling with linear losses: Agrawal and Goyal (2013), Algorithm 1.


@cites("agrawal2013thompson")
@struct
class LinThompson(RidgeBandit):
    """Thompson sampling for linear bandits: draws w~ from N(w, width^2 P), pulls the arm with the smallest <w~, x_k>.

    An instance is the matrix of the arms' features [K, d]. P and w are the matrix and the weights of online ridge
    regression, as in `LinUCB`. If the noise is Gaussian with the standard deviation `width` and the prior is N(0,
    width^2 / regularizer I), then N(w, width^2 P) is the posterior. The draw is w + width L z with P = L L' and a
    standard normal z. The state keeps L, to which each round adds a matrix of rank one (Potter), so a round takes
    O(d^2 + K d) operations.

    In the models "disjoint" and "hybrid" (see `LinUCB`) each arm has its own weights, and an instance may be one
    context [d] for all arms. Weights of different arms are independent (given the common weights of a hybrid model,
    which are drawn first), so the learner draws only the loss of each arm, from N(<w_k, x_k>, width^2 x_k' P_k x_k).

    Args:
        width: factor of the standard deviation of the draws (v in the paper).
        regularizer: lambda.
        model: "shared", "disjoint" or "hybrid".

    Example:
        >>> import jax, jaxonline as jo
        >>> environment = jo.environments.ContextualLinearArms([1.0, -1.0], n_arms=4, noise_std=0.1)
        >>> game = jo.Game(environment, jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> state, history = jo.play(game, jo.learners.LinThompson(width=0.1), jax.random.key(0), n_rounds=200)
        >>> [round(float(w)) for w in state.w]
        [1, -1]
    """

    width: NonNegative = 1.0
    regularizer: Positive = 1.0
    model: Literal["shared", "disjoint", "hybrid"] = static(default="shared")

    def predict(self, key: Key[Array, ""], state: RidgeState, x: Float[Array, "..."]) -> Int[Array, ""]:
        """Return the arm with the smallest loss <w~, x_k> under the drawn weights."""
        return self._drawn(key, state, x)
