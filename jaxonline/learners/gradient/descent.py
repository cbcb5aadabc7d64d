"""Gradient descent: step sizes; projected descent, AdaGrad, Newton steps, and descent that observes losses only."""

import inspect
from collections.abc import Callable
from typing import Annotated, Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
from annotated_types import Gt
from jaxtyping import Array, ArrayLike, Float, Int, Key

from jaxonline import random
from jaxonline.estimators.gradients import AnyEstimator, check_estimator
from jaxonline.game.roles import Feedback, Learner, Specs
from jaxonline.numerics.elementwise import compute_once, project_l2_ball
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import build_cached, intern_functions, set_field, static, struct
from jaxonline.parameters.types import Component, Convert, Positive, PyTree, Rounds, Takes

# ---------------------------------------------------------------------------------------------------------------------
# Step sizes: functions of the round t = 1, 2, ... whose value multiplies the optimiser's update.


@struct
class Constant:
    """Constant step size. `Constant.over_horizon(eta, n_rounds)` is eta / sqrt(T).

    Example:
        >>> from jaxonline.learners import Constant
        >>> Constant.over_horizon(2.0, n_rounds=100).value
        0.2
    """

    value: Positive

    @classmethod
    @validate_arguments
    def over_horizon(cls, eta: Positive, n_rounds: Rounds) -> "Constant":
        """Return the step size eta / sqrt(T) of the theorems, for a horizon known in advance."""
        return cls(float(eta / np.sqrt(n_rounds)))

    def __call__(self, t: Int[Array, ""], dtype: Any) -> Float[Array, ""]:
        """Return the step size of round t."""
        return jnp.asarray(self.value, dtype)


@struct
class InverseSqrt:
    """Step size eta / sqrt(t), for an unknown horizon.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.learners import InverseSqrt
        >>> InverseSqrt(2.0)(jnp.int32(100), jnp.float32).item()
        0.20000000298023224
    """

    eta: Positive

    def __call__(self, t: Int[Array, ""], dtype: Any) -> Float[Array, ""]:
        """Return the step size of round t."""
        return jnp.asarray(self.eta, dtype) / jnp.sqrt(t.astype(dtype))


@struct
class InverseTime:
    """Step size eta / t, for strongly convex losses: 1 / (lambda t) if the loss contains lambda |w|^2 / 2.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.learners import InverseTime
        >>> InverseTime(2.0)(jnp.int32(8), jnp.float32).item()
        0.25
    """

    eta: Positive

    def __call__(self, t: Int[Array, ""], dtype: Any) -> Float[Array, ""]:
        """Return the step size of round t."""
        return jnp.asarray(self.eta, dtype) / t.astype(dtype)


@struct
class Schedule:
    """An optax schedule times a scale: the step size of round t is scale * schedule(t - 1), since optax counts from 0.

    Args:
        schedule: any optax schedule, a function of the number of earlier updates.
        scale: a factor of the schedule that a sweep can vary.

    Example:
        >>> import jax.numpy as jnp, optax
        >>> from jaxonline.learners import Schedule
        >>> Schedule(optax.exponential_decay(0.1, 100, 0.5))(jnp.int32(101), jnp.float32).item()
        0.05000000074505806
    """

    schedule: Annotated[Callable[..., Any], Takes("the step count"), Component("schedule")] = static()
    scale: Positive = 1.0

    def __post_init__(self) -> None:
        try:
            with jax.numpy_dtype_promotion("standard"):  # optax divides counts by floats
                step = jax.eval_shape(self.schedule, jax.ShapeDtypeStruct((), jnp.int32))
        except (TypeError, ValueError) as error:
            problem = f"must be a function of the step count alone (got {check.quote(self.schedule)}); {error}"
            raise ArgumentTypeError("schedule", problem) from error
        if getattr(step, "shape", None) != ():
            raise ArgumentTypeError("schedule", f"must return a number (got the shape {getattr(step, 'shape', None)})")
        set_field(self, "schedule", intern_functions(self.schedule))

    def __call__(self, t: Int[Array, ""], dtype: Any) -> Float[Array, ""]:
        """Return the step size of round t."""
        return jnp.asarray(self.scale, dtype) * jnp.asarray(self.schedule(t - 1), dtype)


def as_step_size(step_size: Any, name: str = "step_size") -> Any:
    """Convert a number to `Constant` and a function (an optax schedule) to `Schedule`; return a step size unchanged."""
    if isinstance(step_size, Constant | InverseSqrt | InverseTime | Schedule):
        return step_size
    if callable(step_size) or isinstance(step_size, type):
        return Schedule(check.function(name, step_size, "the step count, or a number"))
    if isinstance(step_size, optax.GradientTransformation):
        raise ArgumentTypeError(name, "must be a number or a schedule (got an optax optimiser); pass it as optimizer=")
    return Constant(check.positive(name, step_size))


StepSize = Annotated[Any, Component("step size", "schedule", number=True), Gt(0), Convert(as_step_size)]
"""A step size, a number (becomes `Constant`) or an optax schedule (becomes `Schedule`)."""


# ---------------------------------------------------------------------------------------------------------------------
# Optimisers: optax transformations of the gradient.


def as_optimizer(optimizer: Any, name: str = "optimizer") -> optax.GradientTransformation:
    """Return the optax transformation, or what a given factory returns; equal transformations become one object."""
    transformation = build_cached(optimizer) if _is_factory(optimizer) else optimizer
    is_optax = isinstance(transformation, optax.GradientTransformation)
    check.instance(name, optimizer, is_optax, "an optax GradientTransformation, or a function that returns one")
    return intern_functions(transformation)


def _is_factory(value: Any) -> bool:
    """Whether a value is a function that can be called without arguments."""
    if not inspect.isroutine(value):
        return False
    parameters = inspect.signature(value).parameters.values()
    return all(p.default is not p.empty or p.kind in (p.VAR_POSITIONAL, p.VAR_KEYWORD) for p in parameters)


Optimizer = Annotated[Any, Component("optimizer"), Convert(as_optimizer)]
"""An optax transformation, or a function without arguments that returns one."""


# ---------------------------------------------------------------------------------------------------------------------
# What learners of vectors check, and what learners that step with an estimated gradient declare.


def zeros_like_vector(learner: Any, spec: jax.ShapeDtypeStruct, argument: str = "instance") -> Float[Array, "d"]:
    """Return zeros of the shape and dtype `spec`, or raise a ValueError if the shape is no vector's shape."""
    if len(spec.shape) != 1:
        raise ArgumentError(argument, f"must be a vector for {type(learner).__name__} (got shape {spec.shape})")
    return jnp.zeros(spec.shape, spec.dtype)


class EstimatorLearner(Learner):
    """Base class of learners with a field `estimator`, which estimates a gradient from the feedback."""

    estimator: Any

    @property
    def loss(self) -> Any:
        """The loss that the learner minimises."""
        return getattr(self.estimator, "loss", None)

    def check_feedback(self, feedback: Feedback) -> None:
        """Raise a ValueError for noise that the estimator does not suit."""
        check_estimator(self.estimator, feedback)


# ---------------------------------------------------------------------------------------------------------------------
# Online gradient descent (Zinkevich 2003) with the gradient estimators of Cesa-Bianchi et al. (2010a, b, c).


Hypothesis = Literal["last", "average"]
SGD = optax.sgd(1.0)


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
    optimizer: Optimizer = static(default=SGD)
    projection: Annotated[Callable[..., Any], Takes("(w, radius)"), Component("projection")] = static(
        default=project_l2_ball
    )
    hypothesis: Hypothesis = static(default="last")

    def init(self, key: Key[Array, ""], specs: Specs) -> GradientState:
        """Return w_1 = 0; instances must be vectors."""
        w = zeros_like_vector(self, specs.instance)
        return GradientState(w, jnp.int32(0), self.optimizer.init(w), w if self.hypothesis == "average" else None)

    def predict(self, key: Key[Array, ""], state: GradientState, x: Float[Array, "d"]) -> Float[Array, ""]:
        """Predict <w, x> with the last or the average hypothesis."""
        return (state.w if state.average is None else state.average) @ x

    def update(self, key: Key[Array, ""], state: GradientState, oracle: Any) -> tuple[GradientState, GradientInfo]:
        """Set w to the projection of w - step g."""
        t = state.t + 1
        gradient = self.estimator(key, state.w, oracle)
        direction, optimizer_state = self.optimizer.update(gradient, state.optimizer, state.w)
        w = state.w + self.step_size(t, state.w.dtype) * direction
        for before, after in zip(*map(jax.tree.leaves, (state.optimizer, optimizer_state)), strict=True):
            overflows = jnp.any(jnp.isfinite(before) & ~jnp.isfinite(after))  # steps divided by infinity would be 0
            w = jnp.where(overflows, jnp.nan, w)
        if self.radius is not None:
            w = self.projection(w, self.radius)
        average = None
        if state.average is not None:
            average = state.average + (w - state.average) / (t + 1).astype(w.dtype)
        return GradientState(w, t, optimizer_state, average), GradientInfo(jnp.linalg.norm(gradient))


# ---------------------------------------------------------------------------------------------------------------------
# AdaGrad with a step for each coordinate: Duchi, Hazan and Singer (2011).


def divide_by_root(updates: Any, state: Any, params: Any = None) -> tuple[Any, Any]:
    """Unlike `optax.scale_by_rss`, round alike in all programs: the squares are not fused into the sum."""
    squares = state + compute_once(jnp.square, updates)
    return -updates / jnp.sqrt(jnp.where(squares > 0.0, squares, 1.0)), squares


@cites("duchi2011adaptive")
@validate_arguments
def AdaGrad(estimator: AnyEstimator, step_size: StepSize, radius: Positive) -> GradientLearner:
    """AdaGrad: a linear predictor <w, x>, |w_i| <= radius, with steps g_i / root of the sum of the squares of g_i.

    Each coordinate has its own step, which adapts to the gradients so far: rare attributes keep large steps. With the
    step size sqrt(2) radius the regret to every w in the box is at most 2 sqrt(2) radius times the sum over the
    coordinates of the root of the sum of the squared gradients (`bounds.adagrad`). A coordinate without a gradient does
    not move. The learner is a `GradientLearner` with an optimizer like `optax.scale_by_rss`. For other sets than the
    box use `GradientLearner` with the optimizer `optax.adagrad(1.0)`.

    Args:
        estimator: `estimator(key, w, oracle)` estimates the gradient at w (`jaxonline.estimators`).
        step_size: factor of the steps, a step size as for `GradientLearner`.
        radius: half the width of the box.

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> game = jo.Game(jo.environments.DataStream(np.ones((1, 1)), np.ones(1)), jo.FullInformation())
        >>> learner = jo.learners.AdaGrad(jo.estimators.FullGradient(), step_size=0.5, radius=1.0)
        >>> jo.play(game, learner, jax.random.key(0), n_rounds=2)[1].y_hat.tolist()  # g = -2, the first step is 0.5
        [0.0, 0.5]
    """
    optimizer = optax.GradientTransformation(jnp.zeros_like, divide_by_root)  # type: ignore[arg-type]
    return GradientLearner(estimator, step_size, radius, optimizer=optimizer, projection=project_on_box)


def project_on_box(w: Float[Array, "d"], radius: Float[ArrayLike, ""]) -> Float[Array, "d"]:
    """Return the nearest point of the box |w_i| <= radius."""
    return jnp.clip(w, -jnp.asarray(radius, w.dtype), jnp.asarray(radius, w.dtype))


# ---------------------------------------------------------------------------------------------------------------------
# Online Newton step (ONS): Hazan, Agarwal and Kale (2007); Hazan (2016), section 4.3.


NEWTON_ITERATIONS = 40  # for the secular equation; they converge quadratically from below


class OnlineNewtonState(NamedTuple):
    """State of `OnlineNewtonStep`: the hypothesis `w` [d], and the matrix `A` = epsilon I + sum g g' [d, d]."""

    w: Float[Array, "d"]
    A: Float[Array, "d d"]


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

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> OnlineNewtonState:
        """Return w = 0 and A = epsilon I; instances must be vectors."""
        w = zeros_like_vector(self, specs.instance)
        return OnlineNewtonState(w, jnp.asarray(self.epsilon, w.dtype) * jnp.eye(len(w), dtype=w.dtype))

    def predict(self, key: Key[Array, ""] | None, state: OnlineNewtonState, x: Float[Array, "d"]) -> Float[Array, ""]:
        """Predict <w, x>."""
        return state.w @ x

    def update(
        self, key: Key[Array, ""] | None, state: OnlineNewtonState, oracle: Any
    ) -> tuple[OnlineNewtonState, GradientInfo]:
        """Add g g' to A, and set w to the projection of w - A^-1 g / gamma in the norm of A."""
        g = self.estimator(key, state.w, oracle)
        A = state.A + jnp.outer(g, g)
        values, vectors = jnp.linalg.eigh(A)
        gamma, radius = (jnp.asarray(number, g.dtype) for number in (self.gamma, self.radius))
        z = vectors.T @ state.w - (vectors.T @ g) / (values * gamma)  # in the coordinates of A's eigenvectors
        return OnlineNewtonState(vectors @ _project(z, values, radius), A), GradientInfo(jnp.linalg.norm(g))


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


# ---------------------------------------------------------------------------------------------------------------------
# Bandit gradient descent (FKM): Flaxman, Kalai and McMahan (2005).


class GradientBanditInfo(NamedTuple):
    """Diagnostics of one update: `gradient` is the one-point estimate [d]."""

    gradient: Float[Array, "d"]


@cites("flaxman2005online")
@struct
class GradientBandit(Learner):
    """Bandit gradient descent (FKM): play a point of the ball |w| <= radius, see its loss, and descend on an estimate.

    The move is w + delta u, where u is uniform on the unit sphere. The estimate g = (d / delta) loss(w + delta u) u has
    as its mean the gradient at w of the smoothed loss E loss(w + delta v), where v is uniform in the unit ball. The
    update is w <- w - step g, projected on the ball of radius `radius` - delta, so that all moves are in the ball. The
    learner ignores instances. The outcome is a vector [d], and the feedback `LossOfMove(loss)` gives the loss of a
    point.

    Args:
        delta: distance between the moves and w, below `radius` (see `bounds.gradient_bandit`).
        step_size: step size of the descent (see `bounds.gradient_bandit`).
        radius: radius of the ball.

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> loss = jo.losses.SquaredDistance()
        >>> rows = jo.environments.DataStream(None, np.array([[0.5, 0.0]]))
        >>> game = jo.Game(rows, jo.LossOfMove(loss), loss=loss)
        >>> learner = jo.learners.GradientBandit(delta=0.2, step_size=0.002, radius=1.0)
        >>> w, history = jo.play(game, learner, jax.random.key(0), n_rounds=2000)
        >>> bool(abs(w[0] - 0.5) < 0.2), bool(abs(w[1]) < 0.2)
        (True, True)
    """

    delta: Positive
    step_size: Positive
    radius: Positive = 1.0

    def __post_init__(self) -> None:
        delta, radius = check.concrete_array(self.delta), check.concrete_array(self.radius)
        if delta is not None and radius is not None and not (delta < radius).all():
            raise ArgumentError("delta", f"must be below the radius, {radius} (got {delta})")

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Float[Array, "d"]:
        """Return w = 0; outcomes must be vectors."""
        return zeros_like_vector(self, specs.outcome, "outcome")

    def predict(self, key: Key[Array, ""], state: Float[Array, "d"], x: Any) -> Float[Array, "d"]:
        """Play w + delta u for a uniform unit vector u."""
        u = random.normal(key, state.shape, state.dtype)
        return state + jnp.asarray(self.delta, state.dtype) * u / jnp.linalg.norm(u)

    def update(
        self, key: Key[Array, ""] | None, state: Float[Array, "d"], oracle: Any
    ) -> tuple[Float[Array, "d"], GradientBanditInfo]:
        """Set w to the projection of w - step (d / delta) loss u on the ball of radius `radius` - delta."""
        delta, step, radius = (jnp.asarray(number, state.dtype) for number in (self.delta, self.step_size, self.radius))
        u = (oracle.move - state) / delta
        gradient = (len(state) / delta) * oracle.loss() * u
        w = project_l2_ball(state - step * gradient, radius - delta)
        return w, GradientBanditInfo(gradient)
