"""Contextual bandits with linear losses."""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline import random
from jaxonline.game.defaults import EnvironmentDefaults
from jaxonline.game.traits import EnvironmentTraits
from jaxonline.parameters.numbers import JaxVector
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count, NonNegative, Positive


@struct
class ContextualLinearArms(EnvironmentDefaults):
    """Linear contextual bandit: arm k has features x_k and the loss <weights, x_k> + noise_std z, z standard normal.

    An instance is the matrix of features [K, d]. The rows x_k are uniform on a sphere; the rows and the noise are
    independent.

    Args:
        weights: the true parameter [d].
        n_arms: K.
        noise_std: standard deviation of the noise of the losses.
        radius: length of the feature vectors.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> arms = jo.environments.ContextualLinearArms([1.0, -1.0], n_arms=3)
        >>> x, state = arms.instance(jax.random.key(0), (), jnp.int32(1))
        >>> losses, _ = arms.answer(jax.random.key(1), state, jnp.int32(1), x, jnp.int32(0))
        >>> x.shape, bool(jnp.allclose(losses, x[:, 0] - x[:, 1]))
        ((3, 2), True)
    """

    weights: JaxVector
    n_arms: Count = static()
    noise_std: NonNegative = 0.0
    radius: Positive = 1.0
    traits: ClassVar[EnvironmentTraits] = EnvironmentTraits(oblivious=True)

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype of an instance: the features of all arms [K, d]."""
        return jax.ShapeDtypeStruct((self.n_arms, *self.weights.shape), self.weights.dtype)

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype of an outcome: the losses of all arms [K]."""
        return jax.ShapeDtypeStruct((self.n_arms,), self.weights.dtype)

    def init(self, key: Key[Array, ""]) -> tuple[()]:
        """Return no state."""
        del key
        return ()

    def instance(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""]
    ) -> tuple[Float[Array, "K d"], tuple[()]]:
        """Draw the features of all arms."""
        del t
        z = random.normal(key, self.instance_spec.shape, self.weights.dtype)
        return z * (jnp.asarray(self.radius, z.dtype) / jnp.linalg.norm(z, axis=1, keepdims=True)), state

    def answer(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""], x: Float[Array, "K d"], y_hat: Any
    ) -> tuple[Float[Array, "K"], tuple[()]]:
        """Draw the losses of all arms."""
        del t, y_hat
        noise = random.normal(key, (self.n_arms,), x.dtype)
        return x @ self.weights + jnp.asarray(self.noise_std, x.dtype) * noise, state

    def expected_outcome(self, state: tuple[()], t: Int[Array, ""], x: Float[Array, "K d"], y: Any) -> Array:
        del state, t, y
        return x @ self.weights
