"""Kernel learners that store the instances themselves."""

import warnings
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Key

from jaxonline.estimators.gradients import PlugInEstimator
from jaxonline.estimators.surrogates import NoiseSurrogate
from jaxonline.feedback.noise import Noise, TwoPoints
from jaxonline.game.roles import Feedback, Learner, Specs
from jaxonline.kernels import Kernel
from jaxonline.learners.gradient.descent import EstimatorLearner, StepSize, zeros_like_vector
from jaxonline.numerics.ragged import batch_max
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Component, Convert, Positive, Rounds

# ---------------------------------------------------------------------------------------------------------------------
# Hypotheses in an RKHS, w = sum_i alpha_i k(x_i, .), stored in chunks; a round reads only the used chunks.
#
# The norm |w|^2 costs one row of kernel values a round: |w + a k(x, .)|^2 = |w|^2 + 2 a w(x) + a^2 k(x, x).


MIN_CHUNK_POINTS = 128
MAX_CHUNKS = 8


class Supports(NamedTuple):
    """State of a kernel learner: the hypothesis w = sum_i alpha_i k(x_i, .).

    `points` are the x_i in chunks of C columns, `alpha` are the coefficients of the points, `squared_norm` is |w|^2 in
    the RKHS, and `t` is the number of points. Unused entries are 0.
    """

    points: Float[Array, "chunks d C"]
    alpha: Float[Array, "chunks C"]
    squared_norm: Float[Array, ""]
    t: Int[Array, ""]

    def evaluate(self, kernel: Any, x: Float[Array, "d"]) -> Float[Array, ""]:
        """Return w(x) = sum_i alpha_i k(x_i, x). The kernel is a pytree and a function of two vectors."""
        size = self.alpha.shape[-1]
        n_chunks = batch_max((self.t + (size - 1)) // size)

        def add_chunk(i: Int[Array, ""], total: Float[Array, ""]) -> Float[Array, ""]:
            points, alpha = (jax.lax.dynamic_index_in_dim(a, i, keepdims=False) for a in (self.points, self.alpha))
            return total + jnp.sum(jax.vmap(kernel, in_axes=(1, None))(points, x) * alpha)

        return jax.lax.fori_loop(jnp.int32(0), n_chunks, add_chunk, jnp.zeros((), self.alpha.dtype))

    def add_point(
        self,
        x: Float[Array, "d"],
        alpha: Float[Array, ""],
        w_at_x: Float[Array, ""],
        square: Float[Array, ""],
        radius: Float[ArrayLike, ""] | None,
        capacity: Int[ArrayLike, ""],
    ) -> tuple["Supports", Bool[Array, ""]]:
        """Return w + alpha k(x, .), scaled back to the ball (NaN if |w|^2 overflows), and whether x had no room.

        `w_at_x` is w(x) before the update, `square` is k(x, x); `radius` None means no projection. With `capacity`
        points or more, w does not change.
        """
        full = self.t >= capacity
        alpha = jnp.where(full, jnp.zeros_like(alpha), alpha)
        squared_norm = self.squared_norm + 2 * alpha * w_at_x + alpha**2 * square
        n_chunks, _, size = self.points.shape
        # a point in the chunk after the last one is dropped
        chunk, column = jnp.where(full, n_chunks, self.t // size), self.t % size
        points = self.points.at[chunk, :, column].set(x, mode="drop")
        coefficients = self.alpha.at[chunk, column].set(alpha, mode="drop")
        if radius is not None:
            radius = jnp.asarray(radius, x.dtype)
            limit, tiny = radius**2, jnp.finfo(x.dtype).tiny
            is_outside = squared_norm > limit
            square = jnp.where(is_outside, jnp.where(jnp.isinf(squared_norm), jnp.nan, squared_norm), 1.0)
            share = jnp.where(is_outside, limit, 1.0) / square
            coefficients = coefficients * jnp.where(share >= tiny, jnp.sqrt(share), radius / jnp.sqrt(square))
            squared_norm = jnp.where(is_outside, limit, squared_norm)
        return Supports(points, coefficients, squared_norm, jnp.where(full, self.t, self.t + 1)), full


class SupportsInfo(NamedTuple):
    """Diagnostics of one update.

    `gradient_length` is the derivative of the loss in the prediction; after an `overflow` (no room) the learner has
    learned nothing.
    """

    gradient_length: Float[Array, ""]
    overflow: Bool[Array, ""]


def empty_supports(learner: Any, capacity: int, instance: jax.ShapeDtypeStruct) -> Supports:
    """Return w = 0, with room for `capacity` points; instances must be vectors."""
    size = MIN_CHUNK_POINTS * -(-capacity // (MIN_CHUNK_POINTS * MAX_CHUNKS))
    n_chunks = -(-capacity // size)
    points = jnp.zeros((n_chunks, *zeros_like_vector(learner, instance).shape, size), instance.dtype)
    alpha = jnp.zeros((n_chunks, size), instance.dtype)
    return Supports(points, alpha, jnp.zeros((), instance.dtype), jnp.int32(0))


class SupportsLearner(Learner):
    """Base class of learners with the state `Supports`, which have room for `n_rounds` points."""

    n_rounds: int

    @property
    def capacity_hint(self) -> str:  # type: ignore[override]
        """How to give the learner more storage."""
        return f"it stores one point for each round and has room for {self.n_rounds:,}: increase n_rounds"

    def overflow_probability(self, n_rounds: int) -> float:
        """Return 1 if `n_rounds` is larger than the capacity, else 0."""
        return float(n_rounds > self.n_rounds)


# ---------------------------------------------------------------------------------------------------------------------
# Kernel gradient descent (NORMA) on clean instances, or on noisy instances as if they were clean.


def _require_plug_in(estimator: Any, name: str) -> Any:
    return check.instance(name, estimator, PlugInEstimator, "FullGradient, NaiveCopy or MeanOfCopies")


@cites("kivinen2004online", "zinkevich2003online")
@struct
class KernelGradient(SupportsLearner, EstimatorLearner):
    """Kernel gradient descent (NORMA): w <- w - step l'(w(x)) k(x, .), projected on a ball of the RKHS.

    This learner is the baseline for learners that know the noise: Kivinen, Smola and Williamson (2004), with the
    projection of Zinkevich (2003). The estimator contains the loss and selects the instance to learn from:
    `FullGradient(loss)` selects the clean instance, `NaiveCopy(loss)` one noisy copy, and `MeanOfCopies(n, loss)` the
    mean of n noisy copies. Only `FullGradient` is unbiased: the mean of k(x~, .) over noisy copies is not k(x, .). A
    noisy label adds a bias for every loss but the squared loss.

    A round with t points computes two rows of t kernel values (one row for the clean instance). For a Gaussian kernel a
    row costs about t (2 d + 10) flops. After `n_rounds` points the learner stops learning and sets `overflow` in its
    info.

    Args:
        kernel: a kernel (`jaxonline.kernels`, `jaxonline.kernels.shift_invariant`).
        estimator: `FullGradient`, `NaiveCopy`, `MeanOfCopies`, or another `PlugInEstimator`.
        step_size: a number, `Constant.over_horizon(eta, T)`, `InverseSqrt(eta)`, or any optax schedule.
        n_rounds: largest number of rounds.
        radius: radius of the ball; None for no projection.

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> estimator = jo.estimators.MeanOfCopies(5)
        >>> learner = jo.learners.KernelGradient(jo.kernels.Gaussian(2.0), estimator, jo.InverseSqrt(0.3), n_rounds=20)
        >>> game = jo.Game(jo.environments.LinearModel(np.array([0.6, -0.8])), jo.NoisyCopies(jo.noise.gaussian(0.2)))
        >>> state, history = jo.play(game, learner, jax.random.key(0), n_rounds=20)
        >>> state.t.item(), history.queries[0].item(), history.info.overflow.any().item()
        (20, 5, False)
    """

    kernel: Kernel
    estimator: Annotated[Any, Component("estimator"), Convert(_require_plug_in)]
    step_size: StepSize
    n_rounds: Rounds = static()
    radius: Positive | None = None

    def init(self, key: Key[Array, ""], specs: Specs) -> Supports:
        """Return w = 0; instances must be vectors."""
        return empty_supports(self, self.n_rounds, specs.instance)

    def predict(self, key: Key[Array, ""], state: Supports, x: Float[Array, "d"]) -> Float[Array, ""]:
        """Predict w(x) = sum_i alpha_i k(x_i, x)."""
        return state.evaluate(self.kernel, x)

    def update(self, key: Key[Array, ""], state: Supports, oracle: Any) -> tuple[Supports, SupportsInfo]:
        """Add the point x with the coefficient alpha_t = -step l'(w(x)), and project w on the ball."""
        x, y = self.estimator.example(oracle)
        w_at_x = state.evaluate(self.kernel, x)
        gradient = self.estimator.loss.gradient(w_at_x, y)
        alpha = -self.step_size(state.t + 1, x.dtype) * gradient
        state, overflow = state.add_point(x, alpha, w_at_x, self.kernel(x, x), self.radius, self.n_rounds)
        return state, SupportsInfo(gradient, overflow)


# ---------------------------------------------------------------------------------------------------------------------
# Kernel learning under Gaussian noise of known covariance, from two noisy copies a round (squared loss).


@cites("cesabianchi2010learning")
@struct
class SurrogateKernel(SupportsLearner):
    """Surrogate kernel learner: gradient descent in the RKHS of the surrogate kernel k^.

    Source: Cesa-Bianchi et al. (2010b), Algorithm 2.

    Source: "Learning from noisy data under distributional assumptions" (NIPS workshop 2010), section 6. The gradient is
    unbiased if the noise is Gaussian with the covariance of the surrogate in every round, and biased for other noise.
    Other noise raises a ValueError at binding to a game; a distribution of your own gives a warning. Labels may have
    any noise of mean zero, since the gradient is linear in the label.

    Each round asks for two copies x~, x~' and a noisy label y~. The gradient length is g = 2 (w^(x~') - y~), with w^(x)
    = sum_i alpha_i k^(x~_i, x). The point x~_t gets alpha_t = -step g, and w^ is projected on the ball of radius W in
    the RKHS of k^. Predictions use the original kernel k: sum_i alpha_i k(x~_i, x). A round with t points computes 2 t
    values of k^ and t values of k: about 3 t (2 d + 10) flops for a Gaussian kernel, times the number of Gaussian
    kernels for a mixture. After `n_rounds` points the learner stops learning and sets `overflow` in its info.

    Args:
        surrogate: k^, with the original kernel and the covariance of the noise (`Surrogate`, `radial_surrogate`).
        step_size: a number, `Constant.over_horizon(eta, T)`, `InverseSqrt(eta)`, or any optax schedule.
        n_rounds: largest number of rounds.
        radius: W, radius of the ball; None for no projection.

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> surrogate = jo.estimators.Surrogate(jo.kernels.Gaussian(2.0), [0.2, 0.1])
        >>> learner = jo.learners.SurrogateKernel(surrogate, step_size=0.1, n_rounds=20, radius=3.0)
        >>> feedback = jo.NoisyCopies(jo.noise.gaussian([0.2, 0.1]))
        >>> game = jo.Game(jo.environments.LinearModel(np.array([0.6, -0.8])), feedback)
        >>> state, history = jo.play(game, learner, jax.random.key(0), n_rounds=20)
        >>> state.t.item(), history.queries[0].item(), history.info.overflow.any().item()
        (20, 2, False)
    """

    surrogate: NoiseSurrogate
    step_size: StepSize
    n_rounds: Rounds = static()
    radius: Positive | None = None

    def check_feedback(self, feedback: Feedback) -> None:
        """Raise a ValueError for noise that biases the learner, and warn of noise with an unknown distribution."""
        _check_noise(feedback, self.surrogate)

    def init(self, key: Key[Array, ""], specs: Specs) -> Supports:
        """Return w = 0; instances must be vectors of the surrogate's dimension."""
        instance = specs.instance
        if instance.shape != (self.surrogate.dimension,):
            problem = f"must be for instances of shape {instance.shape} (got dimension {self.surrogate.dimension})"
            raise ArgumentError("surrogate", problem)
        return empty_supports(self, self.n_rounds, instance)

    def predict(self, key: Key[Array, ""], state: Supports, x: Float[Array, "d"]) -> Float[Array, ""]:
        """Predict sum_i alpha_i k(x~_i, x), with the original kernel."""
        return state.evaluate(self.surrogate.kernel, self.surrogate.rotate(x))

    def update(self, key: Key[Array, ""], state: Supports, oracle: Any) -> tuple[Supports, SupportsInfo]:
        """Add the point x~ with the coefficient alpha_t = -step 2 (w^(x~') - y~), and project w^ on the ball."""
        x, x_other = (self.surrogate.rotate(oracle.copy(j)) for j in (0, 1))
        kernel = self.surrogate.in_eigenvectors(x.dtype)
        gradient = 2 * (state.evaluate(kernel, x_other) - oracle.label())
        alpha = -self.step_size(state.t + 1, x.dtype) * gradient
        square = kernel.at_zero()
        state, overflow = state.add_point(x, alpha, state.evaluate(kernel, x), square, self.radius, self.n_rounds)
        return state, SupportsInfo(gradient, overflow)


_MAX_RELATIVE_DIFFERENCE = 1e-5  # of equal covariances in float32, relative to the largest entry


def _check_noise(feedback: Feedback, surrogate: Any) -> None:
    """Raise a ValueError for other noise than that of the surrogate, and warn of noise with an unknown distribution."""
    if not feedback.makes_copies and feedback.noise is None:
        return
    noise, law = feedback.noise, surrogate.law
    is_other = isinstance(noise, TwoPoints) or (isinstance(noise, Noise) and noise.law != law)
    if noise is None or is_other:
        needed = f"must be {law.capitalize()} for SurrogateKernel with {type(surrogate).__name__}"
        if noise is None and feedback.max_copies is not None:
            advice = f"if their distribution is known, use Replicates(noise=jaxonline.noise.{law}(covariance))"
            raise ArgumentError("noise", f"{needed} (got measured copies without a distribution); {advice}")
        shown = "noise without a single distribution" if noise is None else repr(noise)
        raise ArgumentError("noise", f"{needed} (got {shown})")
    if not isinstance(noise, Noise):
        warnings.warn(
            f"noise: SurrogateKernel cannot check {noise!r}; it is biased unless the noise is {law.capitalize()} "
            "with the covariance of its surrogate",
            RuntimeWarning,
            stacklevel=3,
        )
        return
    expected, actual = check.concrete_array(surrogate.covariance), check.concrete_array(noise.covariance)
    if expected is None or actual is None:
        return
    expected, actual = (_as_matrix(a, len(surrogate.variances)) for a in (expected, actual))
    limit = _MAX_RELATIVE_DIFFERENCE * np.abs(expected).max()
    if expected.shape != actual.shape or np.abs(expected - actual).max() > limit:
        problem = f"must have the covariance {expected.tolist()} of the learner's surrogate (got {actual.tolist()})"
        raise ArgumentError("noise", problem)


def _as_matrix(covariance: np.ndarray, dimension: int) -> np.ndarray:
    """Return the matrix of a covariance given as a variance, variances or a matrix."""
    if covariance.ndim == 0:
        return float(covariance) * np.eye(dimension)
    return np.diag(covariance) if covariance.ndim == 1 else covariance
