"""Perceptron: Rosenblatt (1958), with the mistake bound of Novikoff (1962)."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.learners.vectors import zeros_like_vector
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct


class PerceptronInfo(NamedTuple):
    """Diagnostics of one update: `mistake` is True if the score has the wrong sign or is 0."""

    mistake: Bool[Array, ""]


@cites("rosenblatt1958perceptron", "novikoff1962convergence")
@struct
class Perceptron(LearnerDefaults):
    """Perceptron: predict by the sign of the score <w, x>, and add y x to w after a mistake. Labels are -1 or +1.

    The move is the score. A score of 0 counts as a mistake, as in round 1, where w = 0. If |x| <= r and some unit
    vector u has y <u, x> >= gamma in every round, the learner makes at most (r / gamma)^2 mistakes. The state is a
    vector [d], 0 before round 1; a subclass may map the state to other weights (`w`).

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> X, y = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]), np.array([1.0, -1.0, 1.0])
        >>> game = jo.Game(jo.environments.DataStream(X, y), jo.FullInformation())
        >>> state, history = jo.play(game, jo.learners.Perceptron(), jax.random.key(0), n_rounds=6)
        >>> state.tolist(), history.info.mistake.tolist()
        ([2.0, -1.0], [True, True, True, False, True, False])
    """

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Float[Array, "d"]:
        """Return zeros; instances must be vectors."""
        del key
        return zeros_like_vector(self, specs.instance)

    def predict(self, key: Key[Array, ""] | None, state: Float[Array, "d"], x: Float[Array, "d"]) -> Float[Array, ""]:
        """Predict the score <w, x>."""
        del key
        return self.w(state) @ x

    def update(
        self, key: Key[Array, ""] | None, state: Float[Array, "d"], oracle: Any
    ) -> tuple[Float[Array, "d"], Any]:
        """Add y x to the state after a mistake, that is if y score <= 0."""
        mistake = oracle.y * self.predict(key, state, oracle.x) <= 0.0
        return jnp.where(mistake, state + oracle.y * oracle.x, state), PerceptronInfo(mistake)

    def w(self, state: Float[Array, "d"]) -> Float[Array, "d"]:
        """Return the weights w."""
        return state
