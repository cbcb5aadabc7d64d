"""Kernel learning under Gaussian noise of known covariance, from two noisy copies a round (squared loss)."""

from typing import Any

import numpy as np
from jaxtyping import Array, Float, Key

from jaxonline.estimators.noise_surrogates import NoiseSurrogate
from jaxonline.game.roles import Feedback, Learner, Specs
from jaxonline.learners.checks import check_known_noise
from jaxonline.learners.gradient.step_sizes import StepSize
from jaxonline.learners.kernels.supports import Supports, SupportsInfo, capacity_hint, empty_supports
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Positive, Rounds


@cites("cesabianchi2010learning")
@struct
class SurrogateKernel(Learner):
    """Surrogate kernel learner (paper B, Algorithm 2): gradient descent in the RKHS of the surrogate kernel k^.

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

    @property
    def capacity_hint(self) -> str:
        """How to give the learner more storage."""
        return capacity_hint(self.n_rounds)

    def overflow_probability(self, n_rounds: int) -> float:
        """Return 1 if `n_rounds` is larger than the capacity, else 0."""
        return float(n_rounds > self.n_rounds)

    def check_feedback(self, feedback: Feedback) -> None:
        """Raise a ValueError for noise that biases the learner, and warn of noise with an unknown distribution."""
        surrogate, dimension = self.surrogate, np.shape(self.surrogate.variances)[0]
        check_known_noise(feedback, self, "surrogate", surrogate.law, surrogate.covariance, dimension)

    def init(self, key: Key[Array, ""], specs: Specs) -> Supports:
        """Return w = 0; instances must be vectors of the surrogate's dimension."""
        instance = specs.instance
        if instance.shape != (self.surrogate.dimension,):
            raise ArgumentError(
                "surrogate",
                f"must be for instances of shape {instance.shape} (got dimension {self.surrogate.dimension})",
            )
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
