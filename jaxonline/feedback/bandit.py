"""Bandit feedback: the learner observes only the loss of the arm that it pulled."""

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxonline.game.defaults import FeedbackDefaults
from jaxonline.game.protocols import Draw
from jaxonline.game.traits import FeedbackTraits
from jaxonline.parameters.errors import ArgumentTypeError
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import PyTree


class BanditOracle:
    """The oracle of a bandit: the learner's move, the context, and the loss of the pulled arm.

    Attributes:
        move: the learner's move, an arm or a `Draw`.
        x: the instance that the learner saw, the context of a contextual bandit.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.feedback import BanditOracle
        >>> round(float(BanditOracle((), jnp.int32(0), jnp.array([0.1, 0.9])).loss()), 1)
        0.1
    """

    def __init__(self, x: PyTree, move: PyTree, losses: Float[Array, "K"]):
        self.x = x
        self.move = move
        self._losses = losses
        self._asked = 0

    def loss(self) -> Float[Array, ""]:
        """Return the loss of the pulled arm; it costs one query, even if it is read repeatedly."""
        self._asked = 1
        return self._losses[self.move.arm if isinstance(self.move, Draw) else self.move]

    def queries(self) -> Int[Array, ""]:
        """Number of queries: 1 if the loss was read, else 0."""
        return jnp.int32(self._asked)


@struct
class Bandit(FeedbackDefaults):
    """Bandit feedback. Outcomes are vectors of the losses (not rewards) of all arms; moves are arms or `Draw`s.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> losses, arm = jnp.array([0.1, 0.9]), jnp.int32(1)
        >>> oracle = jo.Bandit().open(None, jnp.int32(1), (), losses, arm)
        >>> round(float(oracle.loss()), 1), oracle.queries().item()
        (0.9, 1)
    """

    traits: ClassVar[FeedbackTraits] = FeedbackTraits(reads_entries=True)

    def open(self, key: Any, t: Int[Array, ""], x: PyTree, y: Float[Array, "K"], y_hat: PyTree) -> BanditOracle:
        """Return the oracle of one round; raise a TypeError if outcomes are not vectors or moves are not arms."""
        del key, t
        arm = y_hat.arm if isinstance(y_hat, Draw) else y_hat
        if getattr(y, "ndim", None) != 1:
            raise ArgumentTypeError("outcomes", f"must be vectors of losses, one of each arm, for Bandit (got {y})")
        if getattr(arm, "shape", None) != () or not jnp.issubdtype(arm.dtype, jnp.integer):
            raise ArgumentTypeError("learner", f"must move with arms (integers) or Draws for Bandit (got {y_hat})")
        return BanditOracle(x, y_hat, y)
