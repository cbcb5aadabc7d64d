"""Linear model with random instances."""

from typing import Literal

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline import random
from jaxonline.environments.scalar_outcome import ScalarOutcome
from jaxonline.parameters.numbers import JaxVector
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import NonNegative, Positive


@struct
class LinearModel(ScalarOutcome):
    """Linear model: y = <weights, x> + Gaussian noise, with instances x drawn independently in each round.

    Args:
        weights: the true predictor [d].
        noise_std: standard deviation of the label noise.
        radius: size of x: |x| for "sphere", the half width of "cube", sqrt(E|x|^2) for "gaussian".
        instances: the distribution of x: uniform on the "sphere" or "cube", or "gaussian" N(0, radius^2/d I).

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> model = jo.environments.LinearModel([1.0, 1.0, 1.0, 1.0], instances="sphere")
        >>> x, state = model.instance(jax.random.key(0), (), jnp.int32(1))
        >>> y, state = model.answer(jax.random.key(2), state, jnp.int32(1), x, jnp.float32(0.0))
        >>> bool(jnp.isclose(y, x.sum(), atol=1e-6)), round(float(jnp.linalg.norm(x)), 5)
        (True, 1.0)
    """

    weights: JaxVector
    noise_std: NonNegative = 0.0
    radius: Positive = 1.0
    instances: Literal["gaussian", "sphere", "cube"] = static(default="gaussian")

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(self.weights.shape, self.weights.dtype)

    def instance(self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""]) -> tuple[Float[Array, "d"], tuple[()]]:
        """Draw an instance."""
        del t
        shape, dtype = self.weights.shape, self.weights.dtype
        radius = jnp.asarray(self.radius, dtype)
        if self.instances == "cube":
            return radius * random.uniform(key, shape, dtype, -1.0, 1.0), state
        z = random.normal(key, shape, dtype)
        length = jnp.linalg.norm(z) if self.instances == "sphere" else jnp.sqrt(jnp.asarray(shape[0], dtype))
        return z * (radius / length), state

    def answer(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""], x: Array, y_hat: Array
    ) -> tuple[Float[Array, ""], tuple[()]]:
        """Return the label <weights, x> + noise."""
        del y_hat
        noise = jnp.asarray(self.noise_std, x.dtype) * random.normal(key, (), x.dtype)
        return self.weights @ x + noise, state
