"""Regression with a drifting target: Herbster and Warmuth (2001), "Tracking the best linear predictor"."""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline import random
from jaxonline.environments.scalar_outcome import ScalarOutcome
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count, NonNegative


@cites("herbster2001tracking")
@struct
class DriftingModel(ScalarOutcome):
    """Linear model with drifting weights: y = <w_t, x> + noise, with w_t a random walk in the unit ball.

    Instances and w_1 are uniform on the unit sphere; w_(t+1) is w_t plus a Gaussian step, projected on the unit ball.
    No fixed predictor is good for long, so use a comparator that changes over time.

    Args:
        dimension: d.
        drift: root mean square length of a step of w_t; with 0 the weights are fixed.
        noise_std: standard deviation of the Gaussian label noise.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.DriftingModel(3, drift=0.05), jo.FullInformation())
        >>> learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5, radius=1.0)
        >>> bool(jo.play(game, learner, jax.random.key(0), n_rounds=200)[1].loss[50:].mean() < 0.05)
        True
    """

    dimension: Count = static()
    drift: NonNegative = 0.01
    noise_std: NonNegative = 0.0

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct((self.dimension,), jnp.result_type(float))

    def init(self, key: Key[Array, ""]) -> Float[Array, "d"]:
        """Draw the weights w_1; the state of round t is w_t."""
        return _draw_on_sphere(key, self.instance_spec)

    def instance(
        self, key: Key[Array, ""], state: Float[Array, "d"], t: Int[Array, ""]
    ) -> tuple[Float[Array, "d"], Float[Array, "d"]]:
        """Draw an instance."""
        del t
        return _draw_on_sphere(key, self.instance_spec), state

    def answer(
        self, key: Key[Array, ""], state: Float[Array, "d"], t: Int[Array, ""], x: Float[Array, "d"], y_hat: Array
    ) -> tuple[Float[Array, ""], Float[Array, "d"]]:
        """Return the label <w_t, x> + noise, and the next weights w_(t+1)."""
        del y_hat
        noise_key, step_key = jax.random.split(key)
        noise = random.normal(noise_key, (), x.dtype)
        y = state @ x + jnp.asarray(self.noise_std, x.dtype) * noise
        length = jnp.asarray(self.drift, x.dtype) / jnp.sqrt(jnp.asarray(self.dimension, x.dtype))
        moved = state + length * random.normal(step_key, x.shape, x.dtype)
        return y, moved / jnp.maximum(jnp.linalg.norm(moved), 1.0)


def _draw_on_sphere(key: Key[Array, ""], spec: jax.ShapeDtypeStruct) -> Float[Array, "d"]:
    z = random.normal(key, spec.shape, spec.dtype)
    return z / jnp.linalg.norm(z)
