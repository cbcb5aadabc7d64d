"""Exponentiated gradient, which is mirror descent with the entropy: Kivinen and Warmuth (1997).

Nemirovski and Yudin (1983), Beck and Teboulle (2003); Shalev-Shwartz (2012), section 2.6.
"""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Key

from jaxonline._util import check
from jaxonline._util.struct import static, struct
from jaxonline.game.protocols import ForLoss, Specs
from jaxonline.learners.experts.weights import normalised


@struct
class ExponentiatedGradient:
    """A linear predictor <w, x> on the simplex, w_i <- w_i exp(-step g_i) / sum; with `signed`, on an l1 ball.

    The weights are `scale` times those of the simplex, or with `signed` (EG+-) differences of two halves of 2 d weights
    of sum `scale`: every |w|_1 <= scale. With gradients of |g|_inf <= G and step = sqrt(2 ln n / T) / (scale G)
    the regret to every such w is at most scale G sqrt(2 T ln n), n = d or 2 d (`bounds.exponentiated_gradient`): it
    grows with the logarithm of the dimension. The state holds their logarithms [n], up to a constant.

    Args:
        estimator: `estimator(key, w, oracle)`, an estimate of the gradient at w (`jaxonline.estimators`).
        step_size: above 0.
        scale: the l1 norm of the weights, above 0.
        signed: weights of any sign.

    Raises:
        ValueError: a number that is not above 0.
        TypeError: `estimator` is not a function.

    Example:
        >>> import jax, numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.learners import ExponentiatedGradient
        >>> game = jo.Game(jo.environments.DataStream(np.eye(2), np.array([1.0, 0.0])), jo.FullInformation())
        >>> learner = ExponentiatedGradient(jo.estimators.FullGradient(), step_size=0.5)
        >>> state, history = jo.play(game, learner, jax.random.key(0), n_rounds=100)
        >>> [f"{weight:.2f}" for weight in learner.w(state)]
        ['0.99', '0.01']
    """

    estimator: Any
    step_size: Float[ArrayLike, ""]
    scale: Float[ArrayLike, ""] = 1.0
    signed: bool = static(default=False)

    def __post_init__(self):
        check.function("estimator", self.estimator, "(key, w, oracle)")
        check.positive("step_size", self.step_size)
        check.positive("scale", self.scale)

    @property
    def loss(self) -> Any:
        """The loss whose gradient is estimated, None where the estimator does not say."""
        return self.estimator.loss if isinstance(self.estimator, ForLoss) else None

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Float[Array, "n"]:
        """Equal weights: w = scale / d, or 0 with `signed`.

        Raises:
            ValueError: if instances are not vectors.
        """
        del key
        if len(specs.instance.shape) != 1:
            raise ValueError(
                f"ExponentiatedGradient needs instances of one dimension, got shape {specs.instance.shape}"
            )
        return jnp.zeros(specs.instance.shape[0] * (2 if self.signed else 1), specs.instance.dtype)

    def predict(self, key: Key[Array, ""] | None, state: Float[Array, "n"], x: Float[Array, "d"]) -> Float[Array, ""]:
        """<w, x>."""
        del key
        return self.w(state) @ x

    def update(self, key: Key[Array, ""], state: Float[Array, "n"], oracle: Any) -> tuple[Float[Array, "n"], tuple]:
        """ln w -= step scale g, the gradient in the weights on the simplex; the largest logarithm stays 0."""
        g = self.estimator(key, self.w(state), oracle)
        step, scale = (jnp.asarray(number, g.dtype) for number in (self.step_size, self.scale))
        logarithms = state - step * scale * (jnp.concatenate([g, -g]) if self.signed else g)
        return logarithms - jnp.max(logarithms), ()

    def w(self, state: Float[Array, "n"]) -> Float[Array, "d"]:
        """The weights."""
        weights = jnp.asarray(self.scale, state.dtype) * normalised(state)
        return weights[: len(state) // 2] - weights[len(state) // 2 :] if self.signed else weights
