"""How linear classifiers begin: with a vector of zeros."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.parameters.errors import ArgumentError


class FromZeros(LearnerDefaults):
    """The state is a vector of the size of the instances, 0 before round 1."""

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Float[Array, "d"]:
        """Zeros.

        Raises:
            ValueError: if instances are not vectors.
        """
        del key
        shape = specs.instance.shape
        if len(shape) != 1:
            raise ArgumentError("instances", f"must have one dimension for {type(self).__name__} (got shape {shape})")
        return jnp.zeros(shape, specs.instance.dtype)
