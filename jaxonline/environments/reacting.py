"""Adversaries of linear regression that react to the sign of the prediction, by the label or by the next instance."""

from typing import Annotated, ClassVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline.environments.scalar_outcome import ScalarOutcome
from jaxonline.game.traits import EnvironmentTraits
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentTypeError
from jaxonline.parameters.numbers import JaxVector
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Gt, Number

Size = Annotated[Number, Gt(0)]


@struct
class _OneInstance(ScalarOutcome):
    """Base of environments whose instances are a vector x, up to the sign."""

    x: JaxVector
    size: Size
    traits: ClassVar[EnvironmentTraits] = EnvironmentTraits()

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        """Shape [d] and dtype of x."""
        return jax.ShapeDtypeStruct(self.x.shape, self.x.dtype)  # type: ignore[union-attr]


def _sign(y_hat: Float[Array, ""], name: str) -> Float[Array, ""]:
    """Return -1 for a negative prediction, else 1."""
    if getattr(y_hat, "shape", None) != ():
        raise ArgumentTypeError("learner", f"must predict numbers for {name} (got {y_hat})")
    return jnp.where(y_hat < 0, -1.0, 1.0).astype(y_hat.dtype)


@cites("cesabianchi2010online")
@struct
class OppositeLabels(_OneInstance):
    """Adversarial labels of the opposite sign of the prediction: -`size` times its sign, for a constant instance.

    Gradient descent on noisy copies then has a regret above the theorems of papers A and B, whose proofs fix the best
    predictor beforehand (erratum E21): the signs of the predictions depend on the noise, and so does the best predictor
    in hindsight.

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
        del key, t
        return self.x, state  # type: ignore[return-value]

    def answer(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""], x: Array, y_hat: Float[Array, ""]
    ) -> tuple[Float[Array, ""], tuple[()]]:
        """Return the label. Raises a TypeError if the prediction is no number."""
        del key, t
        return -jnp.asarray(self.size, x.dtype) * _sign(y_hat, "OppositeLabels"), state


@cites("cesabianchi2010online")
@struct
class OppositeInstances(_OneInstance):
    """Adversarial instances x or -x, for which the last hypothesis predicts a number below 0, and a constant label.

    The adversary chooses the instance before the prediction, from the predictions of earlier rounds. The learner is
    linear, so the sign of its prediction for x is known from the last round.

    Args:
        x: the instance up to its sign [d].
        size: the label of every round.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.OppositeInstances([0.3], size=2.0), jo.FullInformation())
        >>> learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)
        >>> jax.numpy.sign(jo.play(game, learner, jax.random.key(0), n_rounds=3)[1].x[:, 0]).tolist()
        [-1.0, 1.0, 1.0]
    """

    def init(self, key: Key[Array, ""]) -> Float[Array, ""]:
        """Return the sign of x in round 1."""
        del key
        return -jnp.ones((), self.x.dtype)  # type: ignore[union-attr]

    def instance(
        self, key: Key[Array, ""], state: Float[Array, ""], t: Int[Array, ""]
    ) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        """Return x with the sign of the state."""
        del key, t
        return state * self.x, state

    def answer(
        self, key: Key[Array, ""], state: Float[Array, ""], t: Int[Array, ""], x: Array, y_hat: Float[Array, ""]
    ) -> tuple[Float[Array, ""], Float[Array, ""]]:
        """Return the label, and the sign of the next instance: minus that of the prediction for x."""
        del key, t
        sign_at_x = state * _sign(y_hat, "OppositeInstances")
        return jnp.asarray(self.size, x.dtype), -sign_at_x
