"""Environments that react to the moves of the learner."""

from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxonline.environments.arms import ScalarOutcome
from jaxonline.game.roles import Draw, Environment
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import CountFrom2, Gt, JaxVector, Number

# ---------------------------------------------------------------------------------------------------------------------
# Adversaries of linear regression that react to the sign of the prediction, by the label or by the next instance.


Size = Annotated[Number, Gt(0)]


@struct
class _OneInstance(ScalarOutcome):
    """Base of environments whose instances are a vector x, up to the sign."""

    x: JaxVector
    size: Size
    oblivious = False

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        """Shape [d] and dtype of x."""
        return jax.ShapeDtypeStruct(self.x.shape, self.x.dtype)  # type: ignore[union-attr]


def _sign(y_hat: Float[Array, ""], name: str) -> Float[Array, ""]:
    """Return -1 for a negative prediction, else 1."""
    if getattr(y_hat, "shape", None) != ():
        raise ArgumentTypeError("learner", f"must predict numbers for {name} (got {check.quote(y_hat)})")
    return jnp.where(y_hat < 0, -1.0, 1.0).astype(y_hat.dtype)


@cites("cesabianchi2010online")
@struct
class OppositeLabels(_OneInstance):
    """Adversarial labels of the opposite sign of the prediction: -`size` times its sign, for a constant instance.

    Gradient descent on noisy copies then has a regret above the theorems of Cesa-Bianchi et al. (2010a, b), whose
    proofs fix the best predictor beforehand (erratum E21): the signs of the predictions depend on the noise, and so
    does the best predictor in hindsight.

    Args:
        x: the instance [d].
        size: the absolute value of every label.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.OppositeLabels([0.3], size=2.0), jo.FullInformation())
        >>> learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)
        >>> history = jo.play(game, learner, jax.random.key(0), n_rounds=3)[1]
        >>> bool((history.y_hat * history.y <= 0).all())
        True
    """

    def instance(self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""]) -> tuple[Float[Array, "d"], tuple[()]]:
        """Return x."""
        return self.x, state  # type: ignore[return-value]

    def outcome(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""], x: Array, y_hat: Float[Array, ""]
    ) -> tuple[Float[Array, ""], tuple[()]]:
        """Return the label. Raises a TypeError if the prediction is no number."""
        return -jnp.asarray(self.size, x.dtype) * _sign(y_hat, "OppositeLabels"), state


@cites("cesabianchi2010online")
@struct
class OppositeInstances(_OneInstance):
    """Adversarial instances x or -x, for which the last hypothesis predicts a number below 0, and a constant label.

    The adversary chooses the instance before the prediction, from the predictions of earlier rounds. The learner is
    linear, so the sign of its prediction for x is known from the last round.

    Args:
        x: the instance up to its sign [d].
        size: the absolute value of every label.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.OppositeInstances([0.3], size=2.0), jo.FullInformation())
        >>> learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)
        >>> jax.numpy.sign(jo.play(game, learner, jax.random.key(0), n_rounds=3)[1].x[:, 0]).tolist()
        [-1.0, 1.0, 1.0]
    """

    def init(self, key: Key[Array, ""]) -> Float[Array, ""]:
        """Return the sign of x in round 1."""
        return -jnp.ones((), self.x.dtype)  # type: ignore[union-attr]

    def instance(
        self, key: Key[Array, ""], state: Float[Array, ""], t: Int[Array, ""]
    ) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        """Return x with the sign of the state."""
        return state * self.x, state

    def outcome(
        self, key: Key[Array, ""], state: Float[Array, ""], t: Int[Array, ""], x: Array, y_hat: Float[Array, ""]
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Return the label, and the sign of the next instance: minus that of the prediction for x."""
        sign_at_x = state * _sign(y_hat, "OppositeInstances")
        return jnp.asarray(self.size, x.dtype), -sign_at_x


# ---------------------------------------------------------------------------------------------------------------------
# Adversaries that see the learner's move: Littlestone and Warmuth 1994; Cesa-Bianchi, Lugosi 2006, section 4.1.


@cites("littlestone1994weighted", "cesabianchi2006prediction")
@struct
class ContraryLabels(ScalarOutcome):
    """Adversarial labels that contradict the prediction (-1 for the prediction 0): a deterministic learner always errs.

    The instance is the constant advice of K experts. One expert advises -1, another +1, and one of them is right in at
    least half of the rounds. So the regret is at least T/2 mistakes (the negative result of Park's lecture). This bound
    also holds for the regret against linear predictors, since a unit vector w can follow one expert.

    Args:
        advice: the advice of each expert [K]. Raises a ValueError unless `advice` contains -1 and +1.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.ContraryLabels(), jo.FullInformation(), loss=jo.losses.ZeroOne())
        >>> learner = jo.learners.WeightedMajority(0.5)
        >>> float(jo.play(game, learner, jax.random.key(0), n_rounds=20)[1].loss.sum())
        20.0
    """

    advice: JaxVector = (-1.0, 1.0)

    oblivious = False
    outcomes = np.array([-1.0, 1.0])

    def __post_init__(self) -> None:
        if not {-1.0, 1.0} <= set(np.asarray(self.advice).tolist()):
            raise ArgumentError("advice", f"must contain both -1 and +1 (got {check.quote(self.advice)})")

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(self.advice.shape, self.advice.dtype)  # type: ignore[union-attr]

    def instance(self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""]) -> tuple[Float[Array, "K"], tuple[()]]:
        """Return the advice of the experts."""
        return self.advice, state  # type: ignore[return-value]

    def outcome(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""], x: Array, y_hat: Float[Array, ""]
    ) -> tuple[Float[Array, ""], tuple[()]]:
        """Return +1 if the prediction is below 0, else -1. Raises a TypeError if the prediction is no number."""
        if getattr(y_hat, "shape", None) != ():
            raise ArgumentTypeError("learner", f"must predict numbers for ContraryLabels (got {check.quote(y_hat)})")
        return jnp.where(y_hat < 0, 1.0, -1.0).astype(x.dtype), state


@cites("littlestone1994weighted", "cesabianchi2006prediction")
@struct
class ContraryLosses(Environment):
    """Adversarial losses: 1 for the expert that the learner follows, 0 for all others.

    A learner that plays an arm loses 1 in every round. One of the K experts loses at most T/K in total, so the regret
    of a deterministic learner is at least T (1 - 1/K) >= T/2. If the move is a `Draw` or a vector of weights, the
    adversary sees the probabilities but not the drawn arm, and the expert with the largest probability has the loss 1.
    Against these losses the regret of `Hedge` and `DrawnExpert` stays below the learner's regret bound. A learner that
    draws an arm but plays no `Draw`, such as `FollowThePerturbedLeader`, reveals the arm to the adversary.

    Args:
        n_experts: the number K of experts.
        blind: whether the adversary sees only the moves of earlier rounds.

    Example:
        >>> import jax, jaxonline as jo
        >>> from jaxonline.learners import EWA, DrawnExpert, FollowTheLeader
        >>> game = jo.Game(jo.environments.ContraryLosses(2), jo.FullInformation(), loss=jo.losses.ArmLoss())
        >>> def total_loss(combiner):
        ...     return float(jo.play(game, DrawnExpert(combiner), jax.random.key(0), n_rounds=100)[1].loss.sum())
        >>> total_loss(FollowTheLeader()), total_loss(EWA(0.2)) < 70
        (100.0, True)
    """

    outcomes = np.array([0.0, 1.0])
    n_experts: CountFrom2 = static(default=2)
    blind: bool = static(default=False)

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype of an instance: an empty vector."""
        return jax.ShapeDtypeStruct((0,), jnp.result_type(float))

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype of an outcome: the losses of all experts [K]."""
        return jax.ShapeDtypeStruct((self.n_experts,), jnp.result_type(float))

    def init(self, key: Key[Array, ""]) -> Int[Array, ""]:
        """Return the state before round 1: the first expert, which has the loss 1 in round 1 if `blind` is true."""
        return jnp.int32(0)

    def instance(self, key: Key[Array, ""], state: Array, t: Int[Array, ""]) -> tuple[Array, Array]:
        """Return an empty vector."""
        return jnp.zeros((0,), self.instance_spec.dtype), state

    def outcome(
        self, key: Key[Array, ""], state: Array, t: Int[Array, ""], x: Array, y_hat: Any
    ) -> tuple[Float[Array, "K"], Array]:
        """Return the losses: 1 for the expert that the learner most probably follows (the first in a tie), else 0."""
        move = y_hat.probabilities if isinstance(y_hat, Draw) else y_hat
        followed = (jnp.argmax(move) if move.ndim else move).astype(jnp.int32)
        target = state if self.blind else followed
        return jax.nn.one_hot(target, self.n_experts, dtype=x.dtype), followed
