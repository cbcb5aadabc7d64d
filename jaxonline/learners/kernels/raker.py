"""Raker: Shen, Chen and Giannakis (2019); defaults as in the experiments of Rokhlin and Gurtovaya (2025)."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline.estimators.dictionary import AnyDictionary
from jaxonline.game.roles import Learner, Specs
from jaxonline.learners.experts.weights import softmax_weights
from jaxonline.learners.gradient.step_sizes import InverseSqrt, StepSize
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import NonNegative


class RakerState(NamedTuple):
    """State of `Raker`: weights `theta` of the features, `log_weights` of the kernels, number of rounds `t`."""

    theta: Float[Array, "N p"]
    log_weights: Float[Array, "N"]
    t: Int[Array, ""]


@cites("shen2019random", "rokhlin2025random")
@struct
class Raker(Learner):
    """Raker: gradient descent for each kernel, and the mean of the kernels weighted by exp(-sum step loss).

    Args:
        dictionary: a pytree that maps an instance to features [N, p] (a `Dictionary`).
        step_size: step size of theta and of the weights.
        penalty: lambda of the regularised losses (f - y)^2 + lambda |theta|^2.

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> from jaxonline.estimators.dictionary import Dictionary
        >>> raker = jo.learners.Raker(Dictionary(np.zeros((2, 1, 1))), penalty=0.0)  # features (0, 1) for any instance
        >>> game = jo.Game(jo.environments.DataStream(np.ones((2, 1)), np.ones(2)), jo.FullInformation())
        >>> [f"{prediction:.2f}" for prediction in jo.play(game, raker, jax.random.key(0), n_rounds=2)[1].y_hat]
        ['0.00', '0.20']
    """

    dictionary: AnyDictionary
    step_size: StepSize = InverseSqrt(0.1)
    penalty: NonNegative = 1e-3

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> RakerState:
        """Return theta = 0 and equal weights."""
        z = jax.eval_shape(self.dictionary, specs.instance)
        return RakerState(jnp.zeros(z.shape, z.dtype), jnp.zeros(z.shape[0], z.dtype), jnp.int32(0))

    def predict(self, key: Key[Array, ""] | None, state: RakerState, x: Float[Array, "d"]) -> Float[Array, ""]:
        """Predict the weighted mean of the kernels' predictions."""
        return self.weights(state) @ jnp.sum(state.theta * self.dictionary(x), axis=1)

    def update(self, key: Key[Array, ""] | None, state: RakerState, oracle: Any) -> tuple[RakerState, tuple[()]]:
        """Update theta -= step (2 (f - y) z + 2 lambda theta); ln w -= step ((f - y)^2 + lambda |theta|^2)."""
        z, t = self.dictionary(oracle.x), state.t + 1
        steps = jnp.full(len(z), self.step_size(t, z.dtype))
        theta, losses = descend_each_kernel(state.theta, z, oracle.y, steps, self.penalty)
        return RakerState(theta, state.log_weights - steps * losses, t), ()

    def weights(self, state: RakerState) -> Float[Array, "N"]:
        """Return the weights of the kernels."""
        return softmax_weights(state.log_weights)


def descend_each_kernel(
    theta: Float[Array, "N p"], z: Float[Array, "N p"], y: Float[Array, ""], steps: Float[Array, "N"], penalty: Any
) -> tuple[Float[Array, "N p"], Float[Array, "N"]]:
    """Make a gradient step for every kernel; return the next theta, and the regularised loss of every kernel."""
    residuals, penalty = jnp.sum(theta * z, axis=1) - y, jnp.asarray(penalty, z.dtype)
    theta = theta - steps[:, None] * (2.0 * residuals[:, None] * z + 2.0 * penalty * theta)
    return theta, residuals**2 + penalty * jnp.sum(theta**2, axis=1)
