"""Full information: the learner observes the instance and the outcome."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from jaxonline.game.defaults import FeedbackDefaults
from jaxonline.parameters.struct import struct


class FullOracle:
    """Oracle of full information, which shows the clean instance and the target.

    Attributes:
        x: the clean instance.
        y: the target.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.feedback import FullOracle
        >>> FullOracle(jnp.ones(2), jnp.float32(3.0)).y.item()
        3.0
    """

    def __init__(self, x: Array, y: Array):
        self.x = x
        self.y = y

    def queries(self) -> Int[Array, ""]:
        """Number of queries: 1 for the clean instance, even if it is read repeatedly."""
        return jnp.int32(1)


@struct
class FullInformation(FeedbackDefaults):
    """Full information: the learner observes the clean instance and the target.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.feedback import FullInformation
        >>> oracle = FullInformation().open(jax.random.key(0), jnp.int32(1), jnp.ones(2), jnp.float32(3.0), 0.0)
        >>> oracle.x.tolist()
        [1.0, 1.0]
    """

    def open(self, key: Key[Array, ""], t: Int[Array, ""], x: Array, y: Array, y_hat: Any) -> FullOracle:
        """Return the oracle of one round."""
        del key, t, y_hat
        return FullOracle(x, y)
