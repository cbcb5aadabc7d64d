"""Autoregressive time series: predict the next value from the last ones."""

from typing import ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxonline import random
from jaxonline.game.defaults import EnvironmentDefaults
from jaxonline.game.traits import EnvironmentTraits
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.numbers import JaxVector
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import NonNegative


@struct
class Autoregressive(EnvironmentDefaults):
    """Autoregressive series y_t = sum_j coefficients[j] y_(t-1-j) + noise_std e_t, with e_t standard normal.

    x_t holds the last p values. The series starts at zeros, and each run draws its own.

    Args:
        coefficients: the weights of the lags [p], the most recent first.
        noise_std: the standard deviation of the innovations.

    Raises:
        ValueError: the series is not stationary (a root of the characteristic polynomial is on or outside the unit
            circle).

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
    traits: ClassVar[EnvironmentTraits] = EnvironmentTraits(oblivious=True)

    def __post_init__(self):
        values = np.asarray(self.coefficients, float)
        largest = max(np.abs(np.roots(np.concatenate([[1.0], -values]))), default=0.0)
        if largest >= 1:
            raise ArgumentError(
                "coefficients", f"must make a stationary series (got a characteristic root of size {largest:g})"
            )

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        """Shape [p] and dtype of an instance."""
        return jax.ShapeDtypeStruct(self.coefficients.shape, self.coefficients.dtype)

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """A scalar."""
        return jax.ShapeDtypeStruct((), self.instance_spec.dtype)

    def init(self, key: Key[Array, ""]) -> Float[Array, "p"]:
        """The last p values, newest first: zeros."""
        del key
        return jnp.zeros(self.coefficients.shape, self.coefficients.dtype)

    def instance(self, key: Key[Array, ""], state: Array, t: Int[Array, ""]) -> tuple[Array, Array]:
        """The last p values, newest first."""
        del key, t
        return state, state

    def answer(
        self, key: Key[Array, ""], state: Array, t: Int[Array, ""], x: Array, y_hat: Array
    ) -> tuple[Float[Array, ""], Float[Array, "p"]]:
        """The next value of the series."""
        del y_hat
        noise = random.normal(key, (), x.dtype)
        y = self.coefficients @ x + jnp.asarray(self.noise_std, x.dtype) * noise
        return y, jnp.concatenate([y[None], state[:-1]])
