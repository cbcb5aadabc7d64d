"""Passive-aggressive classifiers: Crammer, Dekel, Keshet, Shalev-Shwartz and Singer (2006)."""

from typing import Any, Literal, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from jaxonline.learners.linear.perceptron import Perceptron
from jaxonline.losses import Hinge
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentTypeError
from jaxonline.parameters.struct import set_field, static, struct
from jaxonline.parameters.types import Positive


class PassiveAggressiveInfo(NamedTuple):
    """Diagnostics of one update: `mistake` (score of the wrong sign or 0) and `hinge_loss`, max(1 - y <w, x>, 0)."""

    mistake: Bool[Array, ""]
    hinge_loss: Float[Array, ""]


@cites("crammer2006online")
@struct
class PassiveAggressive(Perceptron):
    """Passive-aggressive classifier (PA, PA-I, PA-II). Labels are -1 or +1.

    The update is w += tau y x, with the hinge loss l = max(1 - y <w, x>, 0). The step tau is l / |x|^2 (PA), min(C, l /
    |x|^2) (PA-I) or l / (|x|^2 + 1 / (2 C)) (PA-II). In PA the new w is the nearest vector with a margin of 1; in PA-I
    and PA-II it is a step towards this vector. The move is the score <w, x>; a score of 0 counts as a mistake.
    scikit-learn's `PassiveAggressiveClassifier` is PA-I with loss="hinge", and PA-II with loss="squared_hinge".

    Args:
        variant: the formula of tau.
        C: aggressiveness; PA ignores C, PA-I and PA-II require it.

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> game = jo.Game(jo.environments.DataStream(2.0 * np.eye(2), np.array([1.0, -1.0])), jo.FullInformation())
        >>> learner = jo.learners.PassiveAggressive("PA-I", C=0.125)
        >>> jo.play(game, learner, jax.random.key(0), n_rounds=4)[0].tolist()
        [0.5, -0.5]
    """

    variant: Literal["PA", "PA-I", "PA-II"] = static(default="PA-I")
    C: Positive | None = 1.0

    def __post_init__(self) -> None:
        if self.variant == "PA":
            set_field(self, "C", None)
        elif self.C is None:
            raise ArgumentTypeError("C", f"must be a number above 0 for {self.variant} (got None)")

    def update(
        self, key: Key[Array, ""] | None, state: Float[Array, "d"], oracle: Any
    ) -> tuple[Float[Array, "d"], PassiveAggressiveInfo]:
        """Add tau y x to w."""
        del key
        x, y = oracle.x, oracle.y
        score, square = state @ x, x @ x
        loss, C = Hinge()(score, y), None if self.C is None else jnp.asarray(self.C, x.dtype)
        weight = square + 1.0 / (2.0 * C) if C is not None and self.variant == "PA-II" else square
        tau = loss / jnp.where(weight > 0.0, weight, 1.0)
        if C is not None and self.variant == "PA-I":
            tau = jnp.minimum(C, tau)
        return state + tau * y * x, PassiveAggressiveInfo(y * score <= 0.0, loss)
