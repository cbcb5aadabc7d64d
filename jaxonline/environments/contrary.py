"""The adversary that looks at the move: it forces a mistake in every round on a learner that draws nothing.

Littlestone and Warmuth (1994); Cesa-Bianchi and Lugosi (2006), section 4.1; the lecture's negative result.
"""

from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxonline.game.defaults import EnvironmentDefaults
from jaxonline.game.protocols import Draw
from jaxonline.game.traits import EnvironmentTraits
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.numbers import JaxVector
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import CountFrom2


@cites("littlestone1994weighted", "cesabianchi2006prediction")
@struct
class ContraryLabels(EnvironmentDefaults):
    """The label is the sign that the prediction has not, -1 where it is 0: every deterministic learner errs always.

    The instance is the same in every round: the advice of experts that always say the same. Two of them say -1 and +1,
    and one of the two is right in at least half of the rounds. So the regret, in mistakes, is at least T/2. (A linear
    predictor <w, x> can say what an expert says: w is a unit vector.)

    Args:
        advice: what the experts say [K], -1 and +1 among it.

    Raises:
        ValueError: no expert says -1, or none +1.

    Example:
        >>> import jax
        >>> import jaxonline as jo
        >>> game = jo.Game(jo.environments.ContraryLabels(), jo.FullInformation(), loss=jo.losses.ZeroOne())
        >>> learner = jo.learners.WeightedMajority(0.5)
        >>> float(jo.play(game, learner, jax.random.key(0), n_rounds=20)[1].loss.sum())
        20.0
    """

    advice: JaxVector = (-1.0, 1.0)
    traits: ClassVar[EnvironmentTraits] = EnvironmentTraits(outcomes=np.array([-1.0, 1.0]))

    def __post_init__(self):
        if not {-1.0, 1.0} <= set(np.asarray(self.advice).tolist()):
            raise ArgumentError("advice", f"must have both -1 and +1 among it (got {check.quote(self.advice)})")

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        """The advice of all experts."""
        return jax.ShapeDtypeStruct(self.advice.shape, self.advice.dtype)  # type: ignore[union-attr]

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """A label."""
        return jax.ShapeDtypeStruct((), self.instance_spec.dtype)

    def init(self, key: Key[Array, ""]) -> tuple[()]:
        """Nothing to remember."""
        del key
        return ()

    def instance(self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""]) -> tuple[Float[Array, "K"], tuple[()]]:
        """The advice."""
        del key, t
        return self.advice, state  # type: ignore[return-value]

    def answer(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""], x: Array, y_hat: Float[Array, ""]
    ) -> tuple[Float[Array, ""], tuple[()]]:
        """+1 where the prediction is below 0, else -1.

        Raises:
            TypeError: predictions are no numbers.
        """
        del key, t
        if getattr(y_hat, "shape", None) != ():
            raise ArgumentTypeError("learner", f"must predict numbers for ContraryLabels (got {y_hat})")
        return jnp.where(y_hat < 0, 1.0, -1.0).astype(x.dtype), state


@cites("littlestone1994weighted", "cesabianchi2006prediction")
@struct
class ContraryLosses(EnvironmentDefaults):
    """The expert that is followed has the loss 1, all others have 0: a learner that plays an arm loses 1 every round.

    One of K experts loses at most T/K, so that the regret of a deterministic learner is at least T (1 - 1/K), T/2 or
    more. The adversary knows the learner, and not its coins: of a `Draw` and of a vector of weights it sees the
    probabilities, and the expert with the largest has the loss 1. There the regret of `Hedge` and of `DrawnExpert`
    keeps to its bound. A learner that draws an arm and plays only that, as `FollowThePerturbedLeader` does, shows its
    coin; with `blind` the adversary answers to the move of the round before.

    Args:
        n_experts: K.
        blind: whether it has seen the moves of earlier rounds only.

    Example:
        >>> import jax
        >>> import jaxonline as jo
        >>> from jaxonline.learners import EWA, DrawnExpert, FollowTheLeader
        >>> game = jo.Game(jo.environments.ContraryLosses(2), jo.FullInformation(), loss=jo.losses.ArmLoss())
        >>> def lost(combiner):
        ...     return float(jo.play(game, DrawnExpert(combiner), jax.random.key(0), n_rounds=100)[1].loss.sum())
        >>> lost(FollowTheLeader()), lost(EWA(0.2)) < 70
        (100.0, True)
    """

    n_experts: CountFrom2 = static(default=2)
    blind: bool = static(default=False)

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        """An empty vector."""
        return jax.ShapeDtypeStruct((0,), jnp.result_type(float))

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """The losses of all experts [K]."""
        return jax.ShapeDtypeStruct((self.n_experts,), jnp.result_type(float))

    def init(self, key: Key[Array, ""]) -> Int[Array, ""]:
        """The expert that it is against: the first."""
        del key
        return jnp.int32(0)

    def instance(self, key: Key[Array, ""], state: Array, t: Int[Array, ""]) -> tuple[Array, Array]:
        """Nothing to see."""
        del key, t
        return jnp.zeros((0,), self.instance_spec.dtype), state

    def answer(
        self, key: Key[Array, ""], state: Array, t: Int[Array, ""], x: Array, y_hat: Any
    ) -> tuple[Float[Array, "K"], Array]:
        """1 for the expert that is, or most probably is, followed; the first of several."""
        del key, t
        move = y_hat.probabilities if isinstance(y_hat, Draw) else y_hat
        followed = (jnp.argmax(move) if move.ndim else move).astype(jnp.int32)
        against = state if self.blind else followed
        return jax.nn.one_hot(against, self.n_experts, dtype=x.dtype), followed
