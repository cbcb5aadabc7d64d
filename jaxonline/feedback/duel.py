"""Duelling feedback: the learner plays a pair of arms and observes which of the two arms wins."""

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxonline.game.defaults import FeedbackDefaults
from jaxonline.game.traits import FeedbackTraits
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import PyTree


class DuelOracle:
    """Oracle of a duel: whether the first arm of the pair wins, the pair itself, and the context.

    Attributes:
        move: the pair that the learner played, a vector of two arms.
        x: the instance.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.feedback import DuelOracle
        >>> oracle = DuelOracle((), jnp.array([1, 0]), jnp.array([[0.5, 1.0], [0.0, 0.5]]))
        >>> oracle.first_wins().item(), oracle.queries().item()
        (0.0, 1)
    """

    def __init__(self, x: PyTree, move: Int[Array, "2"], duels: Float[Array, "K K"]):
        self.x = x
        self.move = move
        self._duels = duels
        self._n_queries = 0

    def first_wins(self) -> Float[Array, ""]:
        """Return 1 if the first arm wins, 0 if the second arm wins, 1/2 if both arms are equal; costs one query."""
        self._n_queries = 1
        return self._duels[self.move[0], self.move[1]]

    def queries(self) -> Int[Array, ""]:
        """Return the number of queries: 1 if the learner asked for the winner, else 0."""
        return jnp.int32(self._n_queries)


@struct
class Duel(FeedbackDefaults):
    """Duelling feedback: shows which arm of the pair wins; outcomes are duel matrices [K, K], moves are pairs of arms.

    Entry [i, j] of an outcome is 1 if arm i beats arm j, and 0 if arm j beats arm i. The diagonal is 1/2.

    Example:
        >>> import jax.numpy as jnp
        >>> import jaxonline as jo
        >>> duels, pair = jnp.array([[0.5, 1.0], [0.0, 0.5]]), jnp.array([0, 1])
        >>> jo.Duel().open(None, jnp.int32(1), (), duels, pair).first_wins().item()
        1.0
    """

    traits: ClassVar[FeedbackTraits] = FeedbackTraits(reads_entries=True)

    def open(self, key: Any, t: Int[Array, ""], x: PyTree, y: Float[Array, "K K"], y_hat: PyTree) -> DuelOracle:
        """Return the oracle of one round.

        Raises:
            TypeError: outcomes are not square matrices, or moves are not pairs of arms.
        """
        del key, t
        if getattr(y, "ndim", None) != 2 or y.shape[0] != y.shape[1]:
            raise TypeError(f"y: Duel needs square matrices of duels as outcomes (got {y})")
        if getattr(y_hat, "shape", None) != (2,) or not jnp.issubdtype(y_hat.dtype, jnp.integer):
            raise TypeError(f"y_hat: Duel needs pairs of arms, vectors of two integers, as moves (got {y_hat})")
        return DuelOracle(x, y_hat, y)
