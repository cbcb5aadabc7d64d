"""Raker: online gradient descent in every kernel's feature space, combined by exponential weights.

Shen, Chen and Giannakis (2019); the settings are those of the experiments of Rokhlin and Gurtovaya (2025).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline.estimators.dictionary import AnyDictionary
from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.learners.experts.weights import softmax_weights
from jaxonline.learners.gradient.step_sizes import InverseSqrt, StepSize
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import NonNegative


class RakerState(NamedTuple):
    """State of `Raker`.

    Attributes:
        theta: weights of each kernel's features [N, p].
        log_weights: of the kernels [N].
        t: the number of rounds played.
    """

    theta: Float[Array, "N p"]
    log_weights: Float[Array, "N"]
    t: Int[Array, ""]


@cites("shen2019random", "rokhlin2025random")
@struct
class Raker(LearnerDefaults):
    """Gradient descent for each kernel, and the mean of the kernels weighted by exp(-sum step loss).

    Args:
        dictionary: a pytree that maps an instance to features [N, p] (a `Dictionary`).
        step_size: of theta and of the weights.
        penalty: lambda of the regularised losses (f - y)^2 + lambda |theta|^2.

    Example:
        >>> import jax, numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.estimators.dictionary import Dictionary
        >>> from jaxonline.learners import Raker
        >>> raker = Raker(Dictionary(np.zeros((2, 1, 1))), penalty=0.0)  # features (0, 1) for any instance
        >>> game = jo.Game(jo.environments.DataStream(np.ones((2, 1)), np.ones(2)), jo.FullInformation())
        >>> [f"{prediction:.2f}" for prediction in jo.play(game, raker, jax.random.key(0), n_rounds=2)[1].y_hat]
        ['0.00', '0.20']
    """

    dictionary: AnyDictionary
    step_size: StepSize = InverseSqrt(0.1)
    penalty: NonNegative = 1e-3

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> RakerState:
        """theta = 0, equal weights."""
        del key
        z = jax.eval_shape(self.dictionary, specs.instance)
        return RakerState(jnp.zeros(z.shape, z.dtype), jnp.zeros(z.shape[0], z.dtype), jnp.int32(0))

    def predict(self, key: Key[Array, ""] | None, state: RakerState, x: Float[Array, "d"]) -> Float[Array, ""]:
        """The weighted mean of the kernels' predictions."""
        del key
        return self.weights(state) @ jnp.sum(state.theta * self.dictionary(x), axis=1)

    def update(self, key: Key[Array, ""] | None, state: RakerState, oracle: Any) -> tuple[RakerState, tuple]:
        """theta -= step (2 (f - y) z + 2 lambda theta); ln w -= step ((f - y)^2 + lambda |theta|^2)."""
        del key
        z, t = self.dictionary(oracle.x), state.t + 1
        step, penalty = self.step_size(t, z.dtype), jnp.asarray(self.penalty, z.dtype)
        residuals = jnp.sum(state.theta * z, axis=1) - oracle.y
        theta = state.theta - step * (2.0 * residuals[:, None] * z + 2.0 * penalty * state.theta)
        losses = residuals**2 + penalty * jnp.sum(theta**2, axis=1)
        return RakerState(theta, state.log_weights - step * losses, t), ()

    def weights(self, state: RakerState) -> Float[Array, "N"]:
        """The weights of the kernels."""
        return softmax_weights(state.log_weights)
