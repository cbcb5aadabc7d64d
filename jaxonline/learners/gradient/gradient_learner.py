"""Online gradient descent with an estimated gradient: an estimator x an optax transformation x a projection.

Zinkevich (2003) with the estimators of papers A, B and C: w' = w - step g, then w <- projection of w'.
"""

from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple

import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, Key, PyTree

from jaxonline.estimators.gradients import AnyEstimator
from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.gradient.optimizers import Optimizer
from jaxonline.learners.gradient.step_sizes import StepSize
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Component, Positive, Takes

Hypothesis = Literal["last", "average"]
_SGD = optax.sgd(1.0)


class GradientState(NamedTuple):
    """State of `GradientLearner`.

    Attributes:
        w: the last hypothesis [d].
        t: the number of updates made.
        optimizer: the state of the optax transformation.
        average: the mean of the hypotheses w_1, ..., w_t that were played [d]; None unless it is the hypothesis used.
    """

    w: Float[Array, "d"]
    t: Int[Array, ""]
    optimizer: PyTree
    average: Float[Array, "d"] | None


class GradientInfo(NamedTuple):
    """Diagnostics of one update.

    Attributes:
        gradient_norm: Euclidean norm of the estimated gradient.
    """

    gradient_norm: Float[Array, ""]


@cites("zinkevich2003online")
@struct
class GradientLearner(LearnerDefaults):
    """A linear predictor <w, x> that follows estimated gradients.

    Learners that differ in numbers only are one compiled program. The numbers inside of an optax transformation or
    schedule are part of the program; equal ones, such as `optax.adam(1.0)` built twice, are recognised as equal unless
    they hold lists, dictionaries or functions that are not optax's: build those once, and use them again.

    Args:
        estimator: `estimator(key, w, oracle)`, an estimate of the gradient at w (`jaxonline.estimators`).
        step_size: a number, `Constant.over_horizon(eta, T)`, `InverseSqrt(eta)`, or any optax schedule. It
            multiplies the optimiser's update.
        radius: the projection's radius (l2 ball by default); None for no projection.
        optimizer: an optax transformation with learning rate 1, plain gradient descent by default. A transformation
            that is not made by optax alone can be pickled if it is given as a function that returns it, without
            arguments, defined at the top level of a module.
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
    projection: Annotated[Callable, Takes("(w, radius)"), Component("projection")] = static(
        default=optax.projections.projection_l2_ball
    )
    hypothesis: Hypothesis = static(default="last")

    @property
    def traits(self) -> LearnerTraits:
        """The loss whose gradient is estimated, where the estimator has one."""
        return LearnerTraits(loss=getattr(self.estimator, "loss", None))

    def init(self, key: Key[Array, ""], specs: Specs) -> GradientState:
        """w_1 = 0 for instances of one dimension.

        Raises:
            ValueError: if instances are not vectors.
        """
        del key
        if len(specs.instance.shape) != 1:
            raise ArgumentError(
                "instances", f"must have one dimension for GradientLearner (got shape {specs.instance.shape})"
            )
        w = jnp.zeros(specs.instance.shape, specs.instance.dtype)
        return GradientState(w, jnp.int32(0), self.optimizer.init(w), w if self.hypothesis == "average" else None)

    def predict(self, key: Key[Array, ""], state: GradientState, x: Float[Array, "d"]) -> Float[Array, ""]:
        """<w, x> with the last or the averaged hypothesis."""
        del key
        return (state.w if state.average is None else state.average) @ x

    def update(self, key: Key[Array, ""], state: GradientState, oracle: Any) -> tuple[GradientState, GradientInfo]:
        """w' = w - step g; w <- projection of w'."""
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
