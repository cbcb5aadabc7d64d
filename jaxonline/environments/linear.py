"""A linear model with random instances."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int, Key

from jaxonline import random
from jaxonline.parameters import check
from jaxonline.parameters.struct import set_field, static, struct

INSTANCES = ("gaussian", "sphere", "cube")


@struct
class LinearModel:
    """Targets <weights, x> + noise on independent instances, drawn afresh each round and run.

    Args:
        weights: the true predictor [d].
        noise_std: standard deviation of the Gaussian label noise that is part of the answer, at least 0.
        radius: |x| for "sphere", the half width of "cube", sqrt(E|x|^2) for "gaussian"; above 0.
        instances: the law of x, uniform on the "sphere", uniform on the "cube", or "gaussian" N(0, radius^2/d I).

    Raises:
        ValueError: for weights that are not a finite vector, a negative `noise_std` or a `radius` not above 0.

    Example:
        >>> import jax, jax.numpy as jnp, numpy as np
        >>> from jaxonline.environments import LinearModel
        >>> model = LinearModel(np.ones(4), instances="sphere")
        >>> x, state = model.instance(jax.random.key(0), model.init(jax.random.key(1)), jnp.int32(1))
        >>> y, state = model.answer(jax.random.key(2), state, jnp.int32(1), x, jnp.float32(0.0))
        >>> bool(jnp.isclose(y, x.sum(), atol=1e-6)), round(float(jnp.linalg.norm(x)), 5)
        (True, 1.0)
    """

    weights: Any  # [d], a jax array after construction
    noise_std: Float[ArrayLike, ""] = 0.0
    radius: Float[ArrayLike, ""] = 1.0
    instances: str = static(default="gaussian")

    def __post_init__(self):
        check.vector("weights", self.weights)
        check.not_negative("noise_std", self.noise_std)
        check.positive("radius", self.radius)
        check.choice("instances", self.instances, INSTANCES)
        dtype = jnp.result_type(float) if not isinstance(self.weights, jax.Array) else self.weights.dtype
        check.fits("weights", self.weights, dtype)
        set_field(self, "weights", jnp.asarray(self.weights, dtype))

    @property
    def oblivious(self) -> bool:
        """True: answers do not depend on predictions."""
        return True

    @property
    def deterministic(self) -> bool:
        """False: every run draws its own instances."""
        return False

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        """Shape [d] and dtype of an instance."""
        return jax.ShapeDtypeStruct(self.weights.shape, self.weights.dtype)

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """A scalar."""
        return jax.ShapeDtypeStruct((), self.instance_spec.dtype)

    def init(self, key: Key[Array, ""]) -> tuple[()]:
        """Nothing to remember."""
        del key
        return ()

    def instance(self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""]) -> tuple[Float[Array, "d"], tuple[()]]:
        """A fresh instance."""
        del t
        shape, dtype = self.weights.shape, self.weights.dtype
        radius = jnp.asarray(self.radius, dtype)
        if self.instances == "cube":
            return radius * random.uniform(key, shape, dtype, -1.0, 1.0), state
        z = random.normal(key, shape, dtype)
        size = jnp.linalg.norm(z) if self.instances == "sphere" else jnp.sqrt(jnp.asarray(shape[0], dtype))
        return z * (radius / size), state

    def answer(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""], x: Array, y_hat: Array
    ) -> tuple[Float[Array, ""], tuple[()]]:
        """<weights, x> + noise."""
        del y_hat
        noise = jnp.asarray(self.noise_std, x.dtype) * random.normal(key, (), x.dtype)
        return self.weights @ x + noise, state
