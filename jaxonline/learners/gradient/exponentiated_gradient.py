"""Exponentiated gradient (mirror descent with the entropy), EG and EG+-."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import optax
from jaxtyping import Array, Float, Int, Key, PyTree

from jaxonline.estimators.gradients import AnyEstimator
from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.experts.weights import softmax_weights
from jaxonline.learners.gradient.optimizers import Optimizer
from jaxonline.learners.gradient.step_sizes import StepSize
from jaxonline.learners.vectors import zeros_like_vector
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Positive

_SGD = optax.sgd(1.0)


class ExponentiatedState(NamedTuple):
    """State of `ExponentiatedGradient`: `logarithms` of the n = d or 2 d weights on the simplex, up to a constant."""

    logarithms: Float[Array, "n"]
    t: Int[Array, ""]
    optimizer: PyTree


@cites("kivinen1997exponentiated", "nemirovski1983problem", "beck2003mirror", "shalevshwartz2012online")
@struct
class ExponentiatedGradient(LearnerDefaults):
    """Exponentiated gradient: predict <w, x> with w on the simplex, w_i <- w_i exp(-step g_i) / sum; EG+- if `signed`.

    The weights are `scale` times a point of the simplex. If `signed`, the weights are the differences between the two
    halves of 2 d numbers with sum `scale`, so w can be any vector with |w|_1 <= scale. With gradients of |g|_inf <= G
    and step = sqrt(2 ln n / T) / (scale G) the regret is at most scale G sqrt(2 T ln n), with n = d or 2 d
    (`bounds.exponentiated_gradient`). This bound grows only with the logarithm of the dimension. With decreasing step
    sizes the regret may be linear in T. See Shalev-Shwartz (2012), section 2.6.

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
    optimizer: Optimizer = static(default=_SGD)

    @property
    def traits(self) -> LearnerTraits:
        """Declare the loss of the estimator, if the estimator has a loss."""
        return LearnerTraits(loss=getattr(self.estimator, "loss", None))

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> ExponentiatedState:
        """Return equal weights: w = scale / d, or 0 if `signed`; instances must be vectors."""
        del key
        zeros = jnp.tile(zeros_like_vector(self, specs.instance), 2 if self.signed else 1)
        return ExponentiatedState(zeros, jnp.int32(0), self.optimizer.init(zeros))

    def predict(self, key: Key[Array, ""] | None, state: ExponentiatedState, x: Float[Array, "d"]) -> Float[Array, ""]:
        """Predict <w, x>."""
        del key
        return self.w(state) @ x

    def update(self, key: Key[Array, ""], state: ExponentiatedState, oracle: Any) -> tuple[ExponentiatedState, tuple]:
        """Subtract step scale g from ln w, g the gradient in the simplex weights; shift the largest logarithm to 0."""
        t = state.t + 1
        g = self.estimator(key, self.w(state), oracle)
        g = jnp.asarray(self.scale, g.dtype) * (jnp.concatenate([g, -g]) if self.signed else g)
        direction, optimizer_state = self.optimizer.update(g, state.optimizer, state.logarithms)
        logarithms = state.logarithms + self.step_size(t, g.dtype) * direction
        return ExponentiatedState(logarithms - jnp.max(logarithms), t, optimizer_state), ()

    def w(self, state: ExponentiatedState) -> Float[Array, "d"]:
        """Return the weights w."""
        logarithms = state.logarithms
        weights, half = jnp.asarray(self.scale, logarithms.dtype) * softmax_weights(logarithms), len(logarithms) // 2
        return weights[:half] - weights[half:] if self.signed else weights
