"""Kernel perceptron: Aizerman, Braverman and Rozonoer (1964); Freund and Schapire (1999)."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.game.traits import LearnerTraits
from jaxonline.kernels import Kernel
from jaxonline.learners.kernels.supports import Supports, empty_supports
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count


class KernelPerceptronInfo(NamedTuple):
    """Diagnostics of one update: `mistake` (the score has the wrong sign or is 0), `overflow` (no room left)."""

    mistake: Bool[Array, ""]
    overflow: Bool[Array, ""]


@cites("aizerman1964theoretical", "freund1999large")
@struct
class KernelPerceptron(LearnerDefaults):
    """Kernel perceptron: w = sum of y_i k(x_i, .) over the mistakes. Labels are -1 or +1.

    As in `Perceptron` the move is the score w(x), and a score of 0 counts as a mistake. If k(x, x) <= r^2 and some u in
    the unit ball of the RKHS has y u(x) >= gamma in every round, the learner makes at most (r / gamma)^2 mistakes, so
    room for (r / gamma)^2 mistakes is enough. After a mistake without room the learner does not change, and sets
    `overflow` in its info.

    Args:
        kernel: a kernel (`jaxonline.kernels`).
        max_mistakes: largest number of mistakes.

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> X, y = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]), np.array([1.0, -1.0, -1.0, 1.0])
        >>> game = jo.Game(jo.environments.DataStream(X, y), jo.FullInformation(), loss=jo.losses.ZeroOne())
        >>> learner = jo.learners.KernelPerceptron(jo.kernels.Homogeneous(2), max_mistakes=8)  # exclusive or
        >>> jo.play(game, learner, jax.random.key(0), n_rounds=8)[1].info.mistake.tolist()
        [True, True, False, False, False, False, False, False]
    """

    kernel: Kernel
    max_mistakes: Count = static()

    @property
    def traits(self) -> LearnerTraits:
        """Declare how a user gets room for more mistakes."""
        room = f"it stores one point for each mistake and has room for {self.max_mistakes:,}"
        return LearnerTraits(capacity_hint=f"{room}: increase max_mistakes")

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Supports:
        """Return w = 0; instances must be vectors."""
        del key
        return empty_supports(self, self.max_mistakes, specs.instance)

    def predict(self, key: Key[Array, ""] | None, state: Supports, x: Float[Array, "d"]) -> Float[Array, ""]:
        """Predict the score w(x)."""
        del key
        return state.evaluate(self.kernel, x)

    def update(self, key: Key[Array, ""] | None, state: Supports, oracle: Any) -> tuple[Supports, KernelPerceptronInfo]:
        """Add y k(x, .) to w after a mistake, that is if y w(x) <= 0."""
        del key
        x, y = oracle.x, oracle.y
        score = state.evaluate(self.kernel, x)
        mistake = y * score <= 0.0
        capacity = jnp.where(mistake, self.max_mistakes, 0)  # with 0 nothing is stored
        state, full = state.add_point(x, y, score, self.kernel(x, x), None, capacity)
        return state, KernelPerceptronInfo(mistake, mistake & full)
