"""The kernel perceptron: Aizerman, Braverman and Rozonoer (1964); Freund and Schapire (1999)."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.game.traits import LearnerTraits
from jaxonline.kernels import Kernel
from jaxonline.learners.kernels.supports import Supports, no_points
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count


class KernelPerceptronInfo(NamedTuple):
    """Diagnostics of one update.

    Attributes:
        mistake: whether the score had the wrong sign, or none.
        overflow: True where there was a mistake, and no room for its instance.
    """

    mistake: Bool[Array, ""]
    overflow: Bool[Array, ""]


@cites("aizerman1964theoretical", "freund1999large")
@struct
class KernelPerceptron(LearnerDefaults):
    """The perceptron in the RKHS of a kernel: w = sum of y_i k(x_i, .) over its mistakes. Labels are -1 or +1.

    As in `Perceptron` the move is the score w(x), and a score of 0 counts as a mistake. With k(x, x) <= r^2 and a u of
    the unit ball of the RKHS with y u(x) >= gamma in every round there are at most (r / gamma)^2 mistakes, which is
    how much room is needed. A mistake for which there is no room is reported as `overflow`, and nothing is learned.

    Args:
        kernel: a kernel (`jaxonline.kernels`).
        max_mistakes: the largest number of mistakes.

    Example:
        >>> import jax, numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.learners import KernelPerceptron
        >>> X, y = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]]), np.array([1.0, -1.0, -1.0, 1.0])
        >>> game = jo.Game(jo.environments.DataStream(X, y), jo.FullInformation(), loss=jo.losses.ZeroOne())
        >>> learner = KernelPerceptron(jo.kernels.Homogeneous(2), max_mistakes=8)  # exclusive or
        >>> history = jo.play(game, learner, jax.random.key(0), n_rounds=8)[1]
        >>> history.info.mistake.tolist()
        [True, True, False, False, False, False, False, False]
    """

    kernel: Kernel
    max_mistakes: Count = static()

    @property
    def traits(self) -> LearnerTraits:
        """How to make room for more mistakes."""
        room = f"it stores one point a mistake and has room for {self.max_mistakes:,}"
        return LearnerTraits(capacity_hint=f"{room}: build it with a larger max_mistakes")

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Supports:
        """w = 0.

        Raises:
            ValueError: if instances are not vectors.
        """
        del key
        return no_points(self.max_mistakes, specs.instance)

    def predict(self, key: Key[Array, ""] | None, state: Supports, x: Float[Array, "d"]) -> Float[Array, ""]:
        """The score w(x)."""
        del key
        return state.at(self.kernel, x)

    def update(self, key: Key[Array, ""] | None, state: Supports, oracle: Any) -> tuple[Supports, KernelPerceptronInfo]:
        """w += y k(x, .) where y w(x) <= 0."""
        del key
        x, y = oracle.x, oracle.y
        score = state.at(self.kernel, x)
        mistake = y * score <= 0.0
        room = jnp.where(mistake, self.max_mistakes, 0)  # where there is none, nothing is stored
        state, full = state.with_point(x, y, score, self.kernel(x, x), None, room)
        return state, KernelPerceptronInfo(mistake, mistake & full)
