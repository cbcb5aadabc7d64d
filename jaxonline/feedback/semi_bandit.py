"""Semi-bandit feedback: the learner observes the losses of the arms in the set that it played."""

from typing import Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Float, Int

from jaxonline.game.defaults import FeedbackDefaults
from jaxonline.game.traits import FeedbackTraits
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import PyTree


class SemiBanditOracle:
    """Oracle of a semi-bandit: the losses of the arms in the set, the set itself, and the context.

    Attributes:
        move: the set that the learner played, a vector of arms [m].
        x: the instance.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.feedback import SemiBanditOracle
        >>> oracle = SemiBanditOracle((), jnp.array([2, 0]), jnp.array([0.5, 0.25, 1.0]))
        >>> oracle.losses().tolist(), oracle.queries().item()
        ([1.0, 0.5], 2)
    """

    def __init__(self, x: PyTree, move: Int[Array, "m"], losses: Float[Array, "K"]):
        self.x = x
        self.move = move
        self._losses = losses
        self._n_queries = 0

    def losses(self) -> Float[Array, "m"]:
        """Return the losses of the arms in the set; it costs one query for each arm, however often it is called."""
        self._n_queries = len(self.move)
        return self._losses[self.move]

    def queries(self) -> Int[Array, ""]:
        """Return the number of queries: the number of arms if the losses were read, else 0."""
        return jnp.int32(self._n_queries)


@struct
class SemiBandit(FeedbackDefaults):
    """Semi-bandit feedback: shows the losses of a set of arms; outcomes are vectors of all losses, moves are sets.

    Example:
        >>> import jax.numpy as jnp
        >>> import jaxonline as jo
        >>> losses, arms = jnp.array([0.5, 0.25, 1.0]), jnp.array([1, 2])
        >>> jo.SemiBandit().open(None, jnp.int32(1), (), losses, arms).losses().tolist()
        [0.25, 1.0]
    """

    traits: ClassVar[FeedbackTraits] = FeedbackTraits(reads_entries=True)

    def open(self, key: Any, t: Int[Array, ""], x: PyTree, y: Float[Array, "K"], y_hat: PyTree) -> SemiBanditOracle:
        """Return the oracle of one round.

        Raises:
            TypeError: outcomes are not vectors, or moves are not sets of arms.
        """
        del key, t
        if getattr(y, "ndim", None) != 1:
            raise TypeError(f"y: SemiBandit needs vectors of losses as outcomes (got {y})")
        if getattr(y_hat, "ndim", None) != 1 or not jnp.issubdtype(y_hat.dtype, jnp.integer):
            raise TypeError(f"y_hat: SemiBandit needs sets of arms, vectors of integers, as moves (got {y_hat})")
        return SemiBanditOracle(x, y_hat, y)
