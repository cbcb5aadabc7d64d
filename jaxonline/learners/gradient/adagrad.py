"""AdaGrad with a step for each coordinate: Duchi, Hazan and Singer (2011)."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from jaxonline.estimators.gradients import AnyEstimator
from jaxonline.game.protocols import Specs
from jaxonline.learners.gradient.estimator_learner import EstimatorLearner
from jaxonline.learners.gradient.gradient_learner import GradientInfo
from jaxonline.learners.vectors import linear_range, zeros_like_vector
from jaxonline.linalg.programs import compute_once
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Positive


class AdaGradState(NamedTuple):
    """State of `AdaGrad`: the hypothesis `w` [d], and the sums of the squared gradients of each coordinate [d]."""

    w: Float[Array, "d"]
    squares: Float[Array, "d"]


@cites("duchi2011adaptive")
@struct
class AdaGrad(EstimatorLearner):
    """AdaGrad: a linear predictor <w, x>, |w_i| <= radius, with steps g_i / root of the sum of the squares of g_i.

    Each coordinate has its own step, which adapts to the gradients so far: rare attributes keep large steps. With the
    step size sqrt(2) radius the regret to every w in the box is at most 2 sqrt(2) radius times the sum over the
    coordinates of the root of the sum of the squared gradients (`bounds.adagrad`). A coordinate without a gradient does
    not move. For other sets than the box use `GradientLearner` with the optimizer `optax.adagrad(1.0)`.

    Args:
        estimator: `estimator(key, w, oracle)` estimates the gradient at w (`jaxonline.estimators`).
        step_size: factor of the steps.
        radius: half the width of the box.

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> game = jo.Game(jo.environments.DataStream(np.ones((1, 1)), np.ones(1)), jo.FullInformation())
        >>> learner = jo.learners.AdaGrad(jo.estimators.FullGradient(), step_size=0.5, radius=1.0)
        >>> jo.play(game, learner, jax.random.key(0), n_rounds=2)[1].y_hat.tolist()  # g = -2, the first step is 0.5
        [0.0, 0.5]
    """

    estimator: AnyEstimator
    step_size: Positive
    radius: Positive

    def prediction_range(self, instances: Float[np.ndarray, "n d"] | None) -> tuple[float, float] | None:
        """Return the limits of <w, x> in the box."""
        return linear_range(instances, self.radius, np.inf)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> AdaGradState:
        """Return w = 0 and no squares; instances must be vectors."""
        del key
        zeros = zeros_like_vector(self, specs.instance)
        return AdaGradState(zeros, zeros)

    def predict(self, key: Key[Array, ""] | None, state: AdaGradState, x: Float[Array, "d"]) -> Float[Array, ""]:
        """Predict <w, x>."""
        del key
        return state.w @ x

    def update(self, key: Key[Array, ""] | None, state: AdaGradState, oracle: Any) -> tuple[AdaGradState, GradientInfo]:
        """Add the squares of g, and clip w - step g / root(squares) to the box."""
        g = self.estimator(key, state.w, oracle)
        step, radius = jnp.asarray(self.step_size, g.dtype), jnp.asarray(self.radius, g.dtype)
        squares = state.squares + compute_once(jnp.square, g)  # all programs round alike
        w = state.w - step * g / jnp.sqrt(jnp.where(squares > 0, squares, 1.0))
        return AdaGradState(jnp.clip(w, -radius, radius), squares), GradientInfo(jnp.linalg.norm(g))
