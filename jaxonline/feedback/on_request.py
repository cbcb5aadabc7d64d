"""Feedback that shows the outcome only on request: the learner must ask for it, and pays one query."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int

from jaxonline.game.defaults import FeedbackDefaults
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import PyTree


class OnRequestOracle:
    """The oracle of an outcome on request: the instance is free, the outcome costs a query.

    Attributes:
        x: the instance.
        move: the learner's move.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.feedback import OnRequestOracle
        >>> oracle = OnRequestOracle((), jnp.float32(5.0), ())
        >>> float(oracle.outcome(jnp.bool_(False))), oracle.queries().item()
        (0.0, 0)
    """

    def __init__(self, x: PyTree, y: Array, move: PyTree):
        self.x = x
        self.move = move
        self._y = y
        self._asked = jnp.bool_(False)

    def outcome(self, ask: Bool[Array, ""]) -> Array:
        """Return the outcome if `ask` is true, else zeros.

        Asking costs one query, even if the outcome is read repeatedly.
        """
        self._asked = self._asked | ask
        return jnp.where(ask, self._y, jnp.zeros_like(self._y))

    def queries(self) -> Int[Array, ""]:
        """Number of queries: 1 if the outcome was requested, else 0."""
        return self._asked.astype(jnp.int32)


@struct
class OnRequest(FeedbackDefaults):
    """Feedback of label-efficient prediction: the outcome costs a query, and the learner need not ask for it.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> oracle = jo.OnRequest().open(None, jnp.int32(1), (), jnp.array([0.0, 1.0]), ())
        >>> oracle.outcome(jnp.bool_(True)).tolist(), oracle.queries().item()
        ([0.0, 1.0], 1)
    """

    def open(self, key: Any, t: Int[Array, ""], x: PyTree, y: Array, y_hat: PyTree) -> OnRequestOracle:
        """Return the oracle of one round."""
        del key, t
        return OnRequestOracle(x, y, y_hat)
