"""Online Newton step (ONS): Hazan, Agarwal and Kale (2007); Hazan (2016), section 4.3."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from jaxonline.estimators.gradients import AnyEstimator
from jaxonline.game.protocols import Specs
from jaxonline.learners.gradient.estimator_learner import EstimatorLearner
from jaxonline.learners.vectors import linear_range, zeros_like_vector
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Positive

NEWTON_ITERATIONS = 40  # for the secular equation; they converge quadratically from below


class OnlineNewtonState(NamedTuple):
    """State of `OnlineNewtonStep`: the hypothesis `w` [d], and the matrix `A` = epsilon I + sum g g' [d, d]."""

    w: Float[Array, "d"]
    A: Float[Array, "d d"]


class OnlineNewtonInfo(NamedTuple):
    """Diagnostics of one update: `gradient_norm` is the Euclidean norm of the gradient."""

    gradient_norm: Float[Array, ""]


@cites("hazan2007logarithmic", "hazan2016introduction")
@struct
class OnlineNewtonStep(EstimatorLearner):
    """Online Newton step (ONS): a linear predictor <w, x>, |w| <= radius, with steps A^-1 g / gamma.

    The matrix A is epsilon I + sum g g'. The point w - A^-1 g / gamma is projected on the ball in the norm of A. Let
    the losses be alpha-exp-concave with gradients |g| <= G, and let D = 2 radius. With gamma = min(1/(4 G D), alpha) /
    2 and epsilon = 1/(gamma D)^2 the regret is at most 5 (1/alpha + G D) d ln T. `bounds.online_newton_step` computes
    this bound, gamma and epsilon. The squared loss is exp-concave if predictions and labels are bounded; the absolute
    loss is not exp-concave. A round costs an eigendecomposition, about 20 d^3 flops.

    Args:
        estimator: `estimator(key, w, oracle)` returns the gradient at w (`jaxonline.estimators`), such as
            `FullGradient(loss)`.
        gamma: the steps are A^-1 g / gamma.
        epsilon: A is epsilon I before round 1.
        radius: radius of the ball.

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> game = jo.Game(jo.environments.DataStream(np.ones((1, 1)), np.ones(1)), jo.FullInformation())
        >>> learner = jo.learners.OnlineNewtonStep(jo.estimators.FullGradient(), gamma=1.0, epsilon=4.0, radius=1.0)
        >>> jo.play(game, learner, jax.random.key(0), n_rounds=2)[1].y_hat.tolist()  # g = -2, A = 8
        [0.0, 0.25]
    """

    estimator: AnyEstimator
    gamma: Positive
    epsilon: Positive
    radius: Positive

    def prediction_range(self, instances: Float[np.ndarray, "n d"] | None) -> tuple[float, float] | None:
        """Return the limits of <w, x> in the ball."""
        return linear_range(instances, self.radius, 2.0)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> OnlineNewtonState:
        """Return w = 0 and A = epsilon I; instances must be vectors."""
        del key
        w = zeros_like_vector(self, specs.instance)
        return OnlineNewtonState(w, jnp.asarray(self.epsilon, w.dtype) * jnp.eye(len(w), dtype=w.dtype))

    def predict(self, key: Key[Array, ""] | None, state: OnlineNewtonState, x: Float[Array, "d"]) -> Float[Array, ""]:
        """Predict <w, x>."""
        del key
        return state.w @ x

    def update(
        self, key: Key[Array, ""] | None, state: OnlineNewtonState, oracle: Any
    ) -> tuple[OnlineNewtonState, OnlineNewtonInfo]:
        """Add g g' to A, and set w to the projection of w - A^-1 g / gamma in the norm of A."""
        g = self.estimator(key, state.w, oracle)
        A = state.A + jnp.outer(g, g)
        values, vectors = jnp.linalg.eigh(A)
        gamma, radius = (jnp.asarray(number, g.dtype) for number in (self.gamma, self.radius))
        z = vectors.T @ state.w - (vectors.T @ g) / (values * gamma)  # in the coordinates of A's eigenvectors
        return OnlineNewtonState(vectors @ _project(z, values, radius), A), OnlineNewtonInfo(jnp.linalg.norm(g))


def _project(z: Float[Array, "d"], values: Float[Array, "d"], radius: Float[Array, ""]) -> Float[Array, "d"]:
    """Return the v with |v| <= radius that minimises sum values (v - z)^2: v = values z / (values + mu), mu >= 0.

    Newton's method on 1 / |v(mu)| = 1 / radius increases mu from 0 to the root.
    """

    def iterate(_, mu):
        v = values * z / (values + mu)
        norm = jnp.linalg.norm(v)
        slope = jnp.sum(v * v / (values + mu))
        step = norm**2 / jnp.where(slope > 0, slope, 1.0) * (norm / radius - 1.0)
        return mu + jnp.where(slope > 0, jnp.maximum(step, 0.0), 0.0)

    mu = jax.lax.fori_loop(0, NEWTON_ITERATIONS, iterate, jnp.zeros_like(radius))
    v = values * z / (values + mu)
    return v * jnp.minimum(1.0, radius / jnp.maximum(jnp.linalg.norm(v), radius))
