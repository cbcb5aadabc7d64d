"""The outcome on request: a learner that wants to know it must ask, and pays for it."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, PyTree

from jaxonline.game.defaults import FeedbackDefaults
from jaxonline.parameters.struct import struct


class OnRequestOracle:
    """The oracle of a label that costs a query: the instance is free, the outcome is answered where it is asked for.

    Attributes:
        x: the instance.
        move: what the learner played.

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
        """The outcome where `ask` is true, zeros elsewhere. One query, however often it is asked for."""
        self._asked = self._asked | ask
        return jnp.where(ask, self._y, jnp.zeros_like(self._y))

    def queries(self) -> Int[Array, ""]:
        """One if the outcome was asked for, else none."""
        return self._asked.astype(jnp.int32)


@struct
class OnRequest(FeedbackDefaults):
    """The feedback of label-efficient prediction: the outcome costs a query, and may be left unasked.

    Example:
        >>> import jax.numpy as jnp
        >>> import jaxonline as jo
        >>> oracle = jo.OnRequest().open(None, jnp.int32(1), (), jnp.array([0.0, 1.0]), ())
        >>> oracle.outcome(jnp.bool_(True)).tolist(), oracle.queries().item()
        ([0.0, 1.0], 1)
    """

    def open(self, key: Any, t: Int[Array, ""], x: PyTree, y: Array, y_hat: PyTree) -> OnRequestOracle:
        """The oracle of one round."""
        del key, t
        return OnRequestOracle(x, y, y_hat)
