"""Regression with a moving target: Herbster and Warmuth (2001), "Tracking the best linear predictor"."""

from typing import ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline import random
from jaxonline.game.defaults import EnvironmentDefaults
from jaxonline.game.traits import EnvironmentTraits
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count, NonNegative


@cites("herbster2001tracking")
@struct
class DriftingModel(EnvironmentDefaults):
    """Drifting linear model: targets <w_t, x> + noise, with w_t a random walk in the unit ball.

    x is uniform on the sphere, as w_1; w_(t+1) is w_t plus a Gaussian step of root mean square length `drift`, scaled
    back into the ball. No fixed predictor stays good, so use comparators that also change.

    Args:
        dimension: d.
        drift: the size of a step of the weights; 0 gives a linear model.
        noise_std: the standard deviation of the Gaussian label noise.

    Example:
        >>> import jaxonline as jo
        >>> game = jo.Game(jo.environments.DriftingModel(3, drift=0.05), jo.FullInformation())
        >>> learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5, radius=1.0)
        >>> bool(jo.play(game, learner, key=0, n_rounds=200)[1].loss[50:].mean() < 0.05)
        True
    """

    dimension: Count = static()
    drift: NonNegative = 0.01
    noise_std: NonNegative = 0.0
    traits: ClassVar[EnvironmentTraits] = EnvironmentTraits(oblivious=True)

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        """Shape [d] and dtype of an instance."""
        return jax.ShapeDtypeStruct((self.dimension,), jnp.result_type(float))

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """A scalar."""
        return jax.ShapeDtypeStruct((), self.instance_spec.dtype)

    def init(self, key: Key[Array, ""]) -> Float[Array, "d"]:
        """w_1, the state."""
        return _draw_on_sphere(key, self.instance_spec)

    def instance(
        self, key: Key[Array, ""], state: Float[Array, "d"], t: Int[Array, ""]
    ) -> tuple[Float[Array, "d"], Float[Array, "d"]]:
        """A new instance."""
        del t
        return _draw_on_sphere(key, self.instance_spec), state

    def answer(
        self, key: Key[Array, ""], state: Float[Array, "d"], t: Int[Array, ""], x: Float[Array, "d"], y_hat: Array
    ) -> tuple[Float[Array, ""], Float[Array, "d"]]:
        """<w_t, x> + noise, and w_(t+1)."""
        del y_hat
        noise_key, step_key = jax.random.split(key)
        noise = random.normal(noise_key, (), x.dtype)
        y = state @ x + jnp.asarray(self.noise_std, x.dtype) * noise
        length = jnp.asarray(self.drift, x.dtype) / jnp.sqrt(jnp.asarray(self.dimension, x.dtype))
        w = state + length * random.normal(step_key, x.shape, x.dtype)
        return y, w / jnp.maximum(jnp.linalg.norm(w), 1.0)


def _draw_on_sphere(key: Key[Array, ""], spec: jax.ShapeDtypeStruct) -> Float[Array, "d"]:
    z = random.normal(key, spec.shape, spec.dtype)
    return z / jnp.linalg.norm(z)
