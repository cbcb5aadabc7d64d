"""Feedback on the move: full information, on request, bandits, sets, duels, and the loss of the move."""

from typing import Any

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from jaxonline.game.roles import Draw, Feedback, Oracle
from jaxonline.losses.base import AnyLoss
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentTypeError
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import PyTree


class MoveOracle(Oracle):
    """Base class of oracles that know the instance and the learner's move, and answer one question about the outcome.

    Attributes:
        x: the instance that the learner saw.
        move: the learner's move.
    """

    def __init__(self, x: PyTree, move: PyTree, y: PyTree):
        self.x = x
        self.move = move
        self._y = y
        self._queries: Any = 0

    def queries(self) -> Int[Array, ""]:
        """Number of queries: 0 before the question; asking again is free."""
        return jnp.int32(self._queries)


# ---------------------------------------------------------------------------------------------------------------------
# Full information: the learner observes the instance and the outcome.


class FullOracle(Oracle):
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
class FullInformation(Feedback):
    """Full information: the learner observes the clean instance and the target.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.feedback import FullInformation
        >>> oracle = FullInformation().open(jax.random.key(0), jnp.int32(1), jnp.ones(2), jnp.float32(3.0), 0.0)
        >>> oracle.x.tolist()
        [1.0, 1.0]
    """

    def open(
        self, key: Key[Array, ""], t: Int[Array, ""], x: Array, y: Array, y_hat: Any, state: PyTree = ()
    ) -> FullOracle:
        """Return the oracle of one round."""
        return FullOracle(x, y)


# ---------------------------------------------------------------------------------------------------------------------
# Feedback that shows the outcome only on request: the learner must ask for it, and pays one query.


class OnRequestOracle(MoveOracle):
    """The oracle of an outcome on request: the instance is free, the outcome costs a query.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.feedback import OnRequestOracle
        >>> oracle = OnRequestOracle((), (), jnp.float32(5.0))
        >>> float(oracle.outcome(jnp.bool_(False))), oracle.queries().item()
        (0.0, 0)
    """

    def outcome(self, ask: Bool[Array, ""]) -> Array:
        """Return the outcome if `ask` is true, else zeros.

        Asking costs one query, even if the outcome is read repeatedly.
        """
        self._queries = jnp.maximum(self._queries, ask.astype(jnp.int32))
        return jnp.where(ask, self._y, jnp.zeros_like(self._y))


@struct
class OnRequest(Feedback):
    """Feedback of label-efficient prediction: the outcome costs a query, and the learner need not ask for it.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> oracle = jo.OnRequest().open(None, jnp.int32(1), (), jnp.array([0.0, 1.0]), ())
        >>> oracle.outcome(jnp.bool_(True)).tolist(), oracle.queries().item()
        ([0.0, 1.0], 1)
    """

    def open(
        self, key: Any, t: Int[Array, ""], x: PyTree, y: Array, y_hat: PyTree, state: PyTree = ()
    ) -> OnRequestOracle:
        """Return the oracle of one round."""
        return OnRequestOracle(x, y_hat, y)


# ---------------------------------------------------------------------------------------------------------------------
# Bandit feedback: the learner observes only the loss of the arm that it pulled.


class BanditOracle(MoveOracle):
    """The oracle of a bandit: it holds the move and the context, and tells the loss of the pulled arm only.

    Attributes:
        move: the learner's move, an arm or a `Draw`.
        x: the instance that the learner saw, the context of a contextual bandit.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.feedback import BanditOracle
        >>> round(float(BanditOracle((), jnp.int32(0), jnp.array([0.1, 0.9])).loss()), 1)
        0.1
    """

    def loss(self) -> Float[Array, ""]:
        """Return the loss of the pulled arm; it costs one query, even if it is read repeatedly."""
        self._queries = 1
        return self._y[self.move.arm if isinstance(self.move, Draw) else self.move]


@struct
class Bandit(Feedback):
    """Bandit feedback. Outcomes are vectors of the losses (not rewards) of all arms; moves are arms or `Draw`s.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> losses, arm = jnp.array([0.1, 0.9]), jnp.int32(1)
        >>> oracle = jo.Bandit().open(None, jnp.int32(1), (), losses, arm)
        >>> round(float(oracle.loss()), 1), oracle.queries().item()
        (0.9, 1)
    """

    reads_entries = True

    def open(
        self, key: Any, t: Int[Array, ""], x: PyTree, y: Float[Array, "K"], y_hat: PyTree, state: PyTree = ()
    ) -> BanditOracle:
        """Return the oracle of one round; raise a TypeError if outcomes are not vectors or moves are not arms."""
        arm = y_hat.arm if isinstance(y_hat, Draw) else y_hat
        if getattr(y, "ndim", None) != 1:
            raise ArgumentTypeError("outcomes", f"must be vectors of losses of arms for Bandit (got {check.quote(y)})")
        if isinstance(arm, int):
            arm = y_hat = jnp.int32(check.count("learner", arm, ge=0, le=y.shape[0] - 1))
        if getattr(arm, "shape", None) != () or not jnp.issubdtype(arm.dtype, jnp.integer):
            problem = f"must move with arms, which are integers, or Draws for Bandit (got {check.quote(y_hat)})"
            raise ArgumentTypeError("learner", problem)
        return BanditOracle(x, y_hat, y)


# ---------------------------------------------------------------------------------------------------------------------
# Bandit feedback for any set of moves: the learner observes only the loss of its move.


class LossOfMoveOracle(MoveOracle):
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

    def loss(self) -> Float[Array, ""]:
        """Return the loss of the move; it costs one query, even if it is read repeatedly."""
        self._queries = 1
        return self._y


@struct
class LossOfMove(Feedback):
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

    def open(
        self, key: Any, t: Int[Array, ""], x: PyTree, y: PyTree, y_hat: PyTree, state: PyTree = ()
    ) -> LossOfMoveOracle:
        """Return the oracle of one round."""
        return LossOfMoveOracle(x, y_hat, self.loss(y_hat, y))


# ---------------------------------------------------------------------------------------------------------------------
# Semi-bandit feedback: the learner observes the losses of the arms in the set that it played.


class SemiBanditOracle(MoveOracle):
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

    def losses(self) -> Float[Array, "m"]:
        """Return the losses of the arms in the set; it costs one query for each arm, however often it is called."""
        self._queries = len(self.move)
        return self._y[self.move]


@struct
class SemiBandit(Feedback):
    """Semi-bandit feedback: shows the losses of a set of arms; outcomes are vectors of all losses, moves are sets.

    Example:
        >>> import jax.numpy as jnp
        >>> import jaxonline as jo
        >>> losses, arms = jnp.array([0.5, 0.25, 1.0]), jnp.array([1, 2])
        >>> jo.SemiBandit().open(None, jnp.int32(1), (), losses, arms).losses().tolist()
        [0.25, 1.0]
    """

    reads_entries = True

    def open(
        self, key: Any, t: Int[Array, ""], x: PyTree, y: Float[Array, "K"], y_hat: PyTree, state: PyTree = ()
    ) -> SemiBanditOracle:
        """Return the oracle of one round.

        Raises:
            TypeError: outcomes are not vectors, or moves are not sets of arms.
        """
        if getattr(y, "ndim", None) != 1:
            raise TypeError(f"y: SemiBandit needs vectors of losses as outcomes (got {check.quote(y)})")
        if getattr(y_hat, "ndim", None) != 1 or not jnp.issubdtype(y_hat.dtype, jnp.integer):
            raise TypeError(f"y_hat: SemiBandit needs sets of arms (integers) as moves (got {check.quote(y_hat)})")
        return SemiBanditOracle(x, y_hat, y)


# ---------------------------------------------------------------------------------------------------------------------
# Duelling feedback: the learner plays a pair of arms and observes which of the two arms wins.


class DuelOracle(MoveOracle):
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

    def first_wins(self) -> Float[Array, ""]:
        """Return 1 if the first arm wins, 0 if the second arm wins, 1/2 if both arms are equal; costs one query."""
        self._queries = 1
        return self._y[self.move[0], self.move[1]]


@struct
class Duel(Feedback):
    """Duelling feedback: shows which arm of the pair wins; outcomes are duel matrices [K, K], moves are pairs of arms.

    Entry [i, j] of an outcome is 1 if arm i beats arm j, and 0 if arm j beats arm i. The diagonal is 1/2.

    Example:
        >>> import jax.numpy as jnp
        >>> import jaxonline as jo
        >>> duels, pair = jnp.array([[0.5, 1.0], [0.0, 0.5]]), jnp.array([0, 1])
        >>> jo.Duel().open(None, jnp.int32(1), (), duels, pair).first_wins().item()
        1.0
    """

    reads_entries = True

    def open(
        self, key: Any, t: Int[Array, ""], x: PyTree, y: Float[Array, "K K"], y_hat: PyTree, state: PyTree = ()
    ) -> DuelOracle:
        """Return the oracle of one round.

        Raises:
            TypeError: outcomes are not square matrices, or moves are not pairs of arms.
        """
        if getattr(y, "ndim", None) != 2 or y.shape[0] != y.shape[1]:
            raise TypeError(f"y: Duel needs square matrices of duels as outcomes (got {check.quote(y)})")
        if getattr(y_hat, "shape", None) != (2,) or not jnp.issubdtype(y_hat.dtype, jnp.integer):
            raise TypeError(f"y_hat: Duel needs pairs of arms (integers) as moves (got {check.quote(y_hat)})")
        return DuelOracle(x, y_hat, y)
