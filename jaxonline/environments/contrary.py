"""Adversaries that always contradict the learner: linear regret for every deterministic learner.

Littlestone and Warmuth (1994); Cesa-Bianchi and Lugosi (2006), section 4.1.
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
    """Labels that contradict the prediction (-1 for 0): every deterministic learner errs in each round.

    The instance is the same in every round: the constant advice of experts. Two experts with -1 and +1 are among them,
    one of which is right in at least half of the rounds, so the regret in mistakes is at least T/2. (A linear predictor
    <w, x> with a unit vector w repeats an expert.)

    Args:
        advice: of the experts [K], including -1 and +1.

    Raises:
        ValueError: -1 or +1 is missing.

    Example:
        >>> import jaxonline as jo
        >>> game = jo.Game(jo.environments.ContraryLabels(), jo.FullInformation(), loss=jo.losses.ZeroOne())
        >>> float(jo.play(game, jo.learners.WeightedMajority(0.5), key=0, n_rounds=20)[1].loss.sum())
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
        """The state before round 1: empty."""
        del key
        return ()

    def instance(self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""]) -> tuple[Float[Array, "K"], tuple[()]]:
        """The advice."""
        del key, t
        return self.advice, state  # type: ignore[return-value]

    def answer(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""], x: Array, y_hat: Float[Array, ""]
    ) -> tuple[Float[Array, ""], tuple[()]]:
        """+1 if the prediction is below 0, else -1; raises TypeError for predictions that are not numbers."""
        del key, t
        if getattr(y_hat, "shape", None) != ():
            raise ArgumentTypeError("learner", f"must predict numbers for ContraryLabels (got {y_hat})")
        return jnp.where(y_hat < 0, 1.0, -1.0).astype(x.dtype), state


@cites("littlestone1994weighted", "cesabianchi2006prediction")
@struct
class ContraryLosses(EnvironmentDefaults):
    """Losses of 1 for the expert that the learner follows, 0 for the others: a learner that plays an arm loses 1.

    One of K experts loses at most T/K, so the regret of a deterministic learner is at least T (1 - 1/K). The adversary
    knows the learner but not its random draws: it sees the probabilities of a `Draw` or the weights, and gives the loss
    1 to the largest; then the regret of `Hedge` and `DrawnExpert` satisfies its bound. A learner whose move is a drawn
    arm without probabilities, such as `FollowThePerturbedLeader`, reveals its draw; with `blind` the adversary uses the
    previous move.

    Args:
        n_experts: K.
        blind: whether the adversary sees only the moves of earlier rounds.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.learners import EWA, DrawnExpert, FollowTheLeader
        >>> game = jo.Game(jo.environments.ContraryLosses(2), jo.FullInformation(), loss=jo.losses.ArmLoss())
        >>> def total_loss(combiner):
        ...     return float(jo.play(game, DrawnExpert(combiner), key=0, n_rounds=100)[1].loss.sum())
        >>> total_loss(FollowTheLeader()), total_loss(EWA(0.2)) < 70
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
        """The followed expert before round 1: the first."""
        del key
        return jnp.int32(0)

    def instance(self, key: Key[Array, ""], state: Array, t: Int[Array, ""]) -> tuple[Array, Array]:
        """An empty vector."""
        del key, t
        return jnp.zeros((0,), self.instance_spec.dtype), state

    def answer(
        self, key: Key[Array, ""], state: Array, t: Int[Array, ""], x: Array, y_hat: Any
    ) -> tuple[Float[Array, "K"], Array]:
        """1 for the expert that is most probably followed (the first of several), else 0."""
        del key, t
        move = y_hat.probabilities if isinstance(y_hat, Draw) else y_hat
        followed = (jnp.argmax(move) if move.ndim else move).astype(jnp.int32)
        opposed = state if self.blind else followed
        return jax.nn.one_hot(opposed, self.n_experts, dtype=x.dtype), followed
