"""Bandit feedback for any set of moves: the learner observes only the loss of its move."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxonline.game.defaults import FeedbackDefaults
from jaxonline.losses.base import AnyLoss
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import PyTree


class LossOfMoveOracle:
    """The oracle of a bandit with any moves: the learner's move, the instance that it saw, and the move's loss.

    Attributes:
        move: the learner's move.
        x: the instance that the learner saw.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.feedback import LossOfMoveOracle
        >>> float(LossOfMoveOracle((), jnp.float32(1.0), jnp.float32(4.0)).loss())
        4.0
    """

    def __init__(self, x: PyTree, move: PyTree, loss: Float[Array, ""]):
        self.x = x
        self.move = move
        self._loss = loss
        self._asked = 0

    def loss(self) -> Float[Array, ""]:
        """Return the loss of the move; it costs one query, even if it is read repeatedly."""
        self._asked = 1
        return self._loss

    def queries(self) -> Int[Array, ""]:
        """Number of queries: 1 if the loss was read, else 0."""
        return jnp.int32(self._asked)


@struct
class LossOfMove(FeedbackDefaults):
    """Feedback of bandit convex optimisation: the learner observes the loss at the point that it played.

    Args:
        loss: `loss(y_hat, y)`, usually the loss of the game. For arms use `Bandit` instead.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> feedback = jo.LossOfMove(jo.losses.SquaredDistance())
        >>> oracle = feedback.open(None, jnp.int32(1), (), jnp.array([1.0, 2.0]), jnp.zeros(2))
        >>> float(oracle.loss()), oracle.queries().item()
        (5.0, 1)
    """

    loss: AnyLoss

    def open(self, key: Any, t: Int[Array, ""], x: PyTree, y: PyTree, y_hat: PyTree) -> LossOfMoveOracle:
        """Return the oracle of one round."""
        del key, t
        return LossOfMoveOracle(x, y_hat, self.loss(y_hat, y))
