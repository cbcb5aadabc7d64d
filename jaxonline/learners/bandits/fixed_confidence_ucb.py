"""UCB with a fixed confidence level for sub-Gaussian losses: Lattimore and Szepesvari (2020), Algorithm 3."""

from typing import Annotated, Any

import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from jaxonline.learners.bandits.tally import Tally, TallyPolicy
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Interval, Number, Positive, PositiveFloat, Rounds
from jaxonline.parameters.validation import validate_arguments


@cites("lattimore2020bandit")
@struct
class FixedConfidenceUCB(TallyPolicy):
    """UCB(delta) policy: pulls the arm with the smallest mean loss - std sqrt(2 ln(1 / delta) / n) after n pulls.

    The learner first pulls each of the K arms once; ties go to the first arm. Theorem 7.1 of the book assumes
    sub-Gaussian losses and delta = 1 / T^2 (`over_horizon`).

    Args:
        delta: probability with which a confidence bound may fail.
        std: sub-Gaussian parameter of the losses about their means.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.GaussianArms([2.0, 0.0], std=0.0), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> learner = jo.learners.FixedConfidenceUCB.over_horizon(n_rounds=12)
        >>> jo.play(game, learner, jax.random.key(0), n_rounds=12)[1].y_hat.tolist()
        [0, 1, 1, 1, 1, 1, 1, 1, 1, 0, 1, 1]
    """

    delta: Annotated[Number, Interval(gt=0, lt=1)]
    std: Positive = 1.0

    @classmethod
    @validate_arguments
    def over_horizon(cls, n_rounds: Rounds, std: PositiveFloat = 1.0) -> "FixedConfidenceUCB":
        """Set delta = 1 / T^2, as in Theorem 7.1; the horizon must be at least 2 (otherwise a ValueError)."""
        return cls(float(n_rounds) ** -2, std)

    def predict(self, key: Key[Array, ""] | None, state: Tally, x: Any) -> Int[Array, ""]:
        """Return the arm with the smallest lower confidence bound."""
        del key, x
        dtype = state.totals.dtype
        width = jnp.sqrt(-2.0 * jnp.log(jnp.asarray(self.delta, dtype)) / state.positive_pulls)
        return state.unpulled_or_argmin(state.means - jnp.asarray(self.std, dtype) * width)
