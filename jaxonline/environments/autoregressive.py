"""Autoregressive time series."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxonline import random
from jaxonline.environments.scalar_outcome import ScalarOutcome
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.numbers import JaxVector
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import NonNegative


@struct
class Autoregressive(ScalarOutcome):
    """Autoregressive series AR(p): y_t = sum_j coefficients[j] y_(t-1-j) + noise_std e_t; x_t is the last p values.

    The series starts from zeros; the innovations e_t are standard normal. Raises a ValueError if the series is not
    stationary (a root of the characteristic polynomial is on or outside the unit circle).

    Args:
        coefficients: weights of the lags [p], the most recent first. (The series of Rokhlin and Gurtovaya 2025 has
            [0.5, -0.3, 0.2, 0.1]; their Eq. 32 has the reversed order, which is another series: erratum E51.)
        noise_std: standard deviation of the innovations.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> series = jo.environments.Autoregressive([0.5, -0.3], noise_std=0.0)
        >>> x, state = series.instance(jax.random.key(0), jnp.array([1.0, 2.0]), jnp.int32(1))
        >>> y, state = series.answer(jax.random.key(0), state, jnp.int32(1), x, jnp.float32(0.0))
        >>> round(float(y), 6), [round(v, 6) for v in state.tolist()]  # newest first
        (-0.1, [-0.1, 1.0])
    """

    coefficients: JaxVector
    noise_std: NonNegative = 1.0

    def __post_init__(self) -> None:
        values = np.asarray(self.coefficients, float)
        largest = max(np.abs(np.roots(np.concatenate([[1.0], -values]))), default=0.0)
        if largest >= 1:
            raise ArgumentError(
                "coefficients", f"must make a stationary series (got a characteristic root of size {largest:g})"
            )

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(self.coefficients.shape, self.coefficients.dtype)

    def init(self, key: Key[Array, ""]) -> Float[Array, "p"]:
        """Return the p values before round 1: zeros."""
        del key
        return jnp.zeros(self.coefficients.shape, self.coefficients.dtype)

    def instance(self, key: Key[Array, ""], state: Array, t: Int[Array, ""]) -> tuple[Array, Array]:
        """Return the last p values, newest first."""
        del key, t
        return state, state

    def answer(
        self, key: Key[Array, ""], state: Array, t: Int[Array, ""], x: Array, y_hat: Array
    ) -> tuple[Float[Array, ""], Float[Array, "p"]]:
        """Draw the next value of the series."""
        del y_hat
        noise = random.normal(key, (), x.dtype)
        y = self.coefficients @ x + jnp.asarray(self.noise_std, x.dtype) * noise
        return y, jnp.concatenate([y[None], state[:-1]])
