"""Online gradient descent in the RKHS of a kernel, on instances taken as they come: clean ones, or noisy ones as if
they were clean. It is what learners that know about the noise are compared with.

Kivinen, Smola and Williamson (2004), "Online learning with kernels", with Zinkevich's (2003) projection.
"""

from typing import Annotated, Any

from jaxtyping import Array, Float, Key

from jaxonline.estimators.gradients import PlugInEstimator
from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.game.traits import LearnerTraits
from jaxonline.kernels import Kernel
from jaxonline.learners.gradient.step_sizes import StepSize
from jaxonline.learners.kernels.supports import Supports, SupportsInfo, capacity_hint, no_points
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Component, Convert, Positive, Rounds


def _require_plug_in(estimator: Any, name: str) -> Any:
    return check.instance(name, estimator, PlugInEstimator, "FullGradient, NaiveCopy or MeanOfCopies")


@cites("kivinen2004online", "zinkevich2003online")
@struct
class KernelGradient(LearnerDefaults):
    """w <- w - step l'(w(x)) k(x, .), scaled back to the ball of a radius in the RKHS of any kernel, for any loss.

    The estimator brings the loss, and says which instance is taken for the true one: `FullGradient(loss)` the clean
    one, `NaiveCopy(loss)` one noisy copy, `MeanOfCopies(n, loss)` the mean of n. Under noise only the first is
    unbiased: the mean of k(x~, .) is not k(x, .). A noisy label is taken for the true one in the same way, which adds a
    bias for every loss but the squared.

    A round with t points costs one row of t kernels to predict and one to learn (they are one computation where the
    instance is the clean one): about t (2 d + 10) flops each for a Gaussian kernel. There is room for `n_rounds`
    points: more rounds are reported as `overflow` in the info, and nothing is learned in them.

    Args:
        kernel: a kernel (`jaxonline.kernels`, `jaxonline.kernels.radial`).
        estimator: `FullGradient`, `NaiveCopy`, `MeanOfCopies`, or another `PlugInEstimator`.
        step_size: a number, `Constant.over_horizon(eta, T)`, `InverseSqrt(eta)`, or any optax schedule.
        n_rounds: the largest number of rounds.
        radius: of the ball; None for no projection.

    Example:
        >>> import jax, numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.estimators import MeanOfCopies
        >>> from jaxonline.learners import KernelGradient
        >>> learner = KernelGradient(
        ...     jo.kernels.Gaussian(2.0), MeanOfCopies(5), step_size=jo.InverseSqrt(0.3), n_rounds=20, radius=3.0
        ... )
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
    def traits(self) -> LearnerTraits:
        """The loss of the estimator, and how to make room for more rounds."""
        return LearnerTraits(loss=self.estimator.loss, capacity_hint=capacity_hint(self.n_rounds))

    def overflow_probability(self, n_rounds: int) -> float:
        """1 where a run of `n_rounds` rounds needs more room than there is, else 0."""
        return float(n_rounds > self.n_rounds)

    def init(self, key: Key[Array, ""], specs: Specs) -> Supports:
        """w = 0 for instances of one dimension.

        Raises:
            ValueError: if instances are not vectors.
        """
        del key
        return no_points(self.n_rounds, specs.instance)

    def predict(self, key: Key[Array, ""], state: Supports, x: Float[Array, "d"]) -> Float[Array, ""]:
        """w(x) = sum_i alpha_i k(x_i, x)."""
        del key
        return state.at(self.kernel, x)

    def update(self, key: Key[Array, ""], state: Supports, oracle: Any) -> tuple[Supports, SupportsInfo]:
        """alpha_t = -step l'(w(x)) for the instance x, then the projection."""
        del key
        x, y = self.estimator.example(oracle)
        w_at_x = state.at(self.kernel, x)
        gradient = self.estimator.loss.gradient(w_at_x, y)
        alpha = -self.step_size(state.t + 1, x.dtype) * gradient
        state, overflow = state.with_point(x, alpha, w_at_x, self.kernel(x, x), self.radius, self.n_rounds)
        return state, SupportsInfo(gradient, overflow)
