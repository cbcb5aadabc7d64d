"""Kernel gradient descent (NORMA) on clean instances, or on noisy instances as if they were clean."""

from typing import Annotated, Any

from jaxtyping import Array, Float, Key

from jaxonline.estimators.gradients import PlugInEstimator
from jaxonline.game.roles import Learner, Specs
from jaxonline.kernels import Kernel
from jaxonline.learners.gradient.step_sizes import StepSize
from jaxonline.learners.kernels.supports import Supports, SupportsInfo, capacity_hint, empty_supports
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Component, Convert, Positive, Rounds


def _require_plug_in(estimator: Any, name: str) -> Any:
    return check.instance(name, estimator, PlugInEstimator, "FullGradient, NaiveCopy or MeanOfCopies")


@cites("kivinen2004online", "zinkevich2003online")
@struct
class KernelGradient(Learner):
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
        kernel: a kernel (`jaxonline.kernels`, `jaxonline.kernels.radial`).
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

    @property
    def loss(self) -> Any:
        """The loss that the learner minimises."""
        return self.estimator.loss

    @property
    def capacity_hint(self) -> str:
        """How to give the learner more storage."""
        return capacity_hint(self.n_rounds)

    def overflow_probability(self, n_rounds: int) -> float:
        """Return 1 if `n_rounds` is larger than the capacity, else 0."""
        return float(n_rounds > self.n_rounds)

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
