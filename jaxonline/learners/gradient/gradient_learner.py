"""Online gradient descent (Zinkevich 2003) with the gradient estimators of papers A, B and C."""

from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple

import jax.numpy as jnp
import numpy as np
import optax
from jaxtyping import Array, Float, Int, Key

from jaxonline.estimators.gradients import AnyEstimator
from jaxonline.game.protocols import Specs
from jaxonline.learners.gradient.estimator_learner import EstimatorLearner
from jaxonline.learners.gradient.optimizers import Optimizer
from jaxonline.learners.gradient.step_sizes import StepSize
from jaxonline.learners.vectors import linear_range, zeros_like_vector
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Component, Positive, PyTree, Takes

Hypothesis = Literal["last", "average"]
_SGD = optax.sgd(1.0)
NORMS = {optax.projections.projection_l2_ball: 2.0, optax.projections.projection_l1_ball: 1.0}  # of their balls


class GradientState(NamedTuple):
    """State of `GradientLearner`.

    `w` is the last hypothesis; `average` is the mean of w_1, ..., w_t, or None if the learner predicts with the last
    hypothesis.
    """

    w: Float[Array, "d"]
    t: Int[Array, ""]
    optimizer: PyTree
    average: Float[Array, "d"] | None


class GradientInfo(NamedTuple):
    """Diagnostics of one update: `gradient_norm` is the Euclidean norm of the estimated gradient."""

    gradient_norm: Float[Array, ""]


@cites("zinkevich2003online")
@struct
class GradientLearner(EstimatorLearner):
    """Online gradient descent for a linear predictor <w, x>: w <- projection of w - step g, g an estimated gradient.

    Learners that differ only in numeric parameters share one compiled program. Numbers inside an optax transformation
    or schedule are constants of the compiled program. Equal transformations, such as `optax.adam(1.0)` built twice, are
    recognised as equal unless they contain lists, dictionaries or functions that are not optax's; build such
    transformations once and reuse them.

    Args:
        estimator: `estimator(key, w, oracle)` estimates the gradient at w (`jaxonline.estimators`).
        step_size: a number, `Constant.over_horizon(eta, T)`, `InverseSqrt(eta)`, or any optax schedule. The step size
            multiplies the optimiser's update.
        radius: radius of the projection (l2 ball by default); None for no projection.
        optimizer: an optax transformation with learning rate 1, gradient descent by default. To pickle a transformation
            of your own, pass a function without arguments that returns the transformation and stands at the top level
            of a module.
        projection: a function (w, radius) -> w, as in `optax.projections`.
        hypothesis: "last" predicts with w_t, "average" with the mean of w_1, ..., w_t.

    Example:
        >>> import optax
        >>> import jaxonline as jo
        >>> plain = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=0.01, radius=1.0)
        >>> adam = jo.GradientLearner(
        ...     jo.estimators.TwoCopies(), step_size=optax.cosine_decay_schedule(0.1, 1000), optimizer=optax.adam(1.0)
        ... )
        >>> sparse = jo.GradientLearner(
        ...     jo.estimators.TwoCopies(), step_size=jo.InverseSqrt(0.1), radius=1.0,
        ...     projection=optax.projections.projection_l1_ball,
        ... )
    """

    estimator: AnyEstimator
    step_size: StepSize
    radius: Positive | None = None
    optimizer: Optimizer = static(default=_SGD)
    projection: Annotated[Callable[..., Any], Takes("(w, radius)"), Component("projection")] = static(
        default=optax.projections.projection_l2_ball
    )
    hypothesis: Hypothesis = static(default="last")

    def prediction_range(self, instances: Float[np.ndarray, "n d"] | None) -> tuple[float, float] | None:
        """Return the limits of <w, x> in the ball; None without a projection, and for a projection of your own."""
        order = NORMS.get(self.projection)
        return None if order is None else linear_range(instances, self.radius, order)

    def init(self, key: Key[Array, ""], specs: Specs) -> GradientState:
        """Return w_1 = 0; instances must be vectors."""
        del key
        w = zeros_like_vector(self, specs.instance)
        return GradientState(w, jnp.int32(0), self.optimizer.init(w), w if self.hypothesis == "average" else None)

    def predict(self, key: Key[Array, ""], state: GradientState, x: Float[Array, "d"]) -> Float[Array, ""]:
        """Predict <w, x> with the last or the average hypothesis."""
        del key
        return (state.w if state.average is None else state.average) @ x

    def update(self, key: Key[Array, ""], state: GradientState, oracle: Any) -> tuple[GradientState, GradientInfo]:
        """Set w to the projection of w - step g."""
        t = state.t + 1
        gradient = self.estimator(key, state.w, oracle)
        direction, optimizer_state = self.optimizer.update(gradient, state.optimizer, state.w)
        w = state.w + self.step_size(t, state.w.dtype) * direction
        if self.radius is not None:
            w = self.projection(w, self.radius)
        average = None
        if state.average is not None:
            average = state.average + (w - state.average) / (t + 1).astype(w.dtype)
        return GradientState(w, t, optimizer_state, average), GradientInfo(jnp.linalg.norm(gradient))
