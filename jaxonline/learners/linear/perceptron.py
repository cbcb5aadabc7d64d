"""The perceptron: Rosenblatt (1958); its bound is Novikoff's (1962)."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from jaxonline.learners.linear.from_zeros import FromZeros
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct


class PerceptronInfo(NamedTuple):
    """Diagnostics of one update.

    Attributes:
        mistake: whether the score had the wrong sign, or none.
    """

    mistake: Bool[Array, ""]


@cites("rosenblatt1958perceptron", "novikoff1962convergence")
@struct
class Perceptron(FromZeros):
    """Predicts by the sign of the score <w, x>, and adds y x to w where that is wrong. Labels are -1 or +1.

    The move is the score. A score of 0 has no sign and counts as a mistake, as in the first round, where w = 0.
    Where |x| <= r and some unit vector u has y <u, x> >= gamma in every round there are at most (r / gamma)^2 mistakes.

    Example:
        >>> import jax, numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.learners import Perceptron
        >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([1.0, -1.0, 1.0])
        >>> game = jo.Game(jo.environments.DataStream(X, y), jo.FullInformation())
        >>> state, history = jo.play(game, Perceptron(), jax.random.key(0), n_rounds=6)
        >>> state.tolist(), history.info.mistake.tolist()
        ([2.0, -1.0], [True, True, True, False, True, False])
    """

    def predict(self, key: Key[Array, ""] | None, state: Float[Array, "d"], x: Float[Array, "d"]) -> Float[Array, ""]:
        """The score <w, x>."""
        del key
        return state @ x

    def update(
        self, key: Key[Array, ""] | None, state: Float[Array, "d"], oracle: Any
    ) -> tuple[Float[Array, "d"], PerceptronInfo]:
        """w += y x where y <w, x> <= 0."""
        del key
        mistake = oracle.y * (state @ oracle.x) <= 0.0
        return jnp.where(mistake, state + oracle.y * oracle.x, state), PerceptronInfo(mistake)
