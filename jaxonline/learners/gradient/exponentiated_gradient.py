"""Exponentiated gradient (mirror descent with the entropy), EG and EG+-."""

from jaxtyping import Array, Float, Key

from jaxonline.estimators.gradients import AnyEstimator
from jaxonline.learners.gradient.mirror_descent import SGD, MirrorDescent, MirrorState
from jaxonline.learners.gradient.mirror_maps import Entropy
from jaxonline.learners.gradient.optimizers import Optimizer
from jaxonline.learners.gradient.step_sizes import StepSize
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Positive


@cites("kivinen1997exponentiated", "nemirovski1983problem", "beck2003mirror", "shalevshwartz2012online")
@struct
class ExponentiatedGradient(MirrorDescent):
    """Exponentiated gradient: predict <w, x> with w on the simplex, w_i <- w_i exp(-step g_i) / sum; EG+- if `signed`.

    The weights are `scale` times a point of the simplex. If `signed`, the weights are the differences between the two
    halves of 2 d numbers with sum `scale`, so w can be any vector with |w|_1 <= scale. With gradients of |g|_inf <= G
    and step = sqrt(2 ln n / T) / (scale G) the regret is at most scale G sqrt(2 T ln n), with n = d or 2 d
    (`bounds.exponentiated_gradient`). This bound grows only with the logarithm of the dimension. With decreasing step
    sizes the regret may be linear in T. See Shalev-Shwartz (2012), section 2.6. The learner is mirror descent with the
    map `Entropy(scale, signed)` (`MirrorLearner`).

    Args:
        estimator: `estimator(key, w, oracle)` estimates the gradient at w (`jaxonline.estimators`).
        step_size: a number, `Constant.over_horizon(eta, T)`, `InverseSqrt(eta)`, or any optax schedule.
        scale: l1 norm of the weights.
        signed: whether weights may be negative.
        optimizer: an optax transformation with learning rate 1 that maps the gradient [n] on the simplex to the change
            of the logarithms; gradient descent by default.

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> game = jo.Game(jo.environments.DataStream(np.eye(2), np.array([1.0, 0.0])), jo.FullInformation())
        >>> learner = jo.learners.ExponentiatedGradient(jo.estimators.FullGradient(), step_size=0.5)
        >>> state, history = jo.play(game, learner, jax.random.key(0), n_rounds=100)
        >>> [f"{weight:.2f}" for weight in learner.w(state)]
        ['0.99', '0.01']
    """

    estimator: AnyEstimator
    step_size: StepSize
    scale: Positive = 1.0
    signed: bool = static(default=False)
    optimizer: Optimizer = static(default=SGD)

    def get_map(self) -> Entropy:
        """Return the entropy."""
        return Entropy(self.scale, self.signed)

    def predict(self, key: Key[Array, ""] | None, state: MirrorState, x: Float[Array, "d"]) -> Float[Array, ""]:
        """Predict <w, x>."""
        del key
        return self.w(state) @ x
