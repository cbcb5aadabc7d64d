"""The online Newton step: Hazan, Agarwal and Kale (2007); Hazan (2016), section 4.3."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from jaxonline.estimators.gradients import AnyEstimator
from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.game.traits import LearnerTraits
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Positive

NEWTON_STEPS = 40  # of the secular equation, which converges quadratically from its left


class OnlineNewtonState(NamedTuple):
    """State of `OnlineNewtonStep`.

    Attributes:
        w: the hypothesis [d].
        A: epsilon I + the sum of g g' [d, d].
    """

    w: Float[Array, "d"]
    A: Float[Array, "d d"]


class OnlineNewtonInfo(NamedTuple):
    """Diagnostics of one update.

    Attributes:
        gradient_norm: Euclidean norm of the gradient.
    """

    gradient_norm: Float[Array, ""]


@cites("hazan2007logarithmic", "hazan2016introduction")
@struct
class OnlineNewtonStep(LearnerDefaults):
    """A linear predictor <w, x> that follows A^-1 g, A = epsilon I + sum g g', in the ball |w| <= radius.

    w' = w - A^-1 g / gamma, projected on the ball in the norm of A. For alpha-exp-concave losses, gradients of at most
    the norm G, gamma = min(1/(4 G D), alpha) / 2 and epsilon = 1/(gamma D)^2, D = 2 radius, the regret is at most
    5 (1/alpha + G D) d ln T (`bounds.online_newton_step`, which says gamma and epsilon). The squared loss is
    exp-concave where predictions and labels are bounded; the absolute loss is not. A round costs an eigendecomposition,
    about 20 d^3 flops.

    Args:
        estimator: `estimator(key, w, oracle)`, the gradient at w (`jaxonline.estimators`), `FullGradient(loss)`.
        gamma: the steps are A^-1 g / gamma.
        epsilon: of A, before round 1.
        radius: of the ball.

    Example:
        >>> import jax, numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.learners import OnlineNewtonStep
        >>> game = jo.Game(jo.environments.DataStream(np.ones((1, 1)), np.ones(1)), jo.FullInformation())
        >>> learner = OnlineNewtonStep(jo.estimators.FullGradient(), gamma=1.0, epsilon=4.0, radius=1.0)
        >>> jo.play(game, learner, jax.random.key(0), n_rounds=2)[1].y_hat.tolist()  # g = -2, A = 8
        [0.0, 0.25]
    """

    estimator: AnyEstimator
    gamma: Positive
    epsilon: Positive
    radius: Positive

    @property
    def traits(self) -> LearnerTraits:
        """The loss whose gradient is followed, where the estimator has one."""
        return LearnerTraits(loss=getattr(self.estimator, "loss", None))

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> OnlineNewtonState:
        """w = 0, A = epsilon I.

        Raises:
            ValueError: if instances are not vectors.
        """
        del key
        if len(specs.instance.shape) != 1:
            raise ArgumentError(
                "instances", f"must have one dimension for OnlineNewtonStep (got shape {specs.instance.shape})"
            )
        w = jnp.zeros(specs.instance.shape, specs.instance.dtype)
        return OnlineNewtonState(w, jnp.asarray(self.epsilon, w.dtype) * jnp.eye(len(w), dtype=w.dtype))

    def predict(self, key: Key[Array, ""] | None, state: OnlineNewtonState, x: Float[Array, "d"]) -> Float[Array, ""]:
        """<w, x>."""
        del key
        return state.w @ x

    def update(
        self, key: Key[Array, ""] | None, state: OnlineNewtonState, oracle: Any
    ) -> tuple[OnlineNewtonState, OnlineNewtonInfo]:
        """A += g g'; w = the projection of w - A^-1 g / gamma, in the norm of A."""
        g = self.estimator(key, state.w, oracle)
        A = state.A + jnp.outer(g, g)
        values, vectors = jnp.linalg.eigh(A)
        gamma, radius = (jnp.asarray(number, g.dtype) for number in (self.gamma, self.radius))
        z = vectors.T @ state.w - (vectors.T @ g) / (values * gamma)  # in the coordinates of A's eigenvectors
        return OnlineNewtonState(vectors @ _projected(z, values, radius), A), OnlineNewtonInfo(jnp.linalg.norm(g))


def _projected(z: Float[Array, "d"], values: Float[Array, "d"], radius: Float[Array, ""]) -> Float[Array, "d"]:
    """The v with |v| <= radius that minimises sum values (v - z)^2: v = values z / (values + mu), mu >= 0.

    Newton's method on 1 / |v(mu)| = 1 / radius climbs to the root from mu = 0.
    """

    def climb(_, mu):
        v = values * z / (values + mu)
        norm = jnp.linalg.norm(v)
        slope = jnp.sum(v * v / (values + mu))
        step = norm**2 / jnp.where(slope > 0, slope, 1.0) * (norm / radius - 1.0)
        return mu + jnp.where(slope > 0, jnp.maximum(step, 0.0), 0.0)

    mu = jax.lax.fori_loop(0, NEWTON_STEPS, climb, jnp.zeros_like(radius))
    v = values * z / (values + mu)
    return v * jnp.minimum(1.0, radius / jnp.maximum(jnp.linalg.norm(v), radius))
