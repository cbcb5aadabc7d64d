"""The weighted majority algorithm: Littlestone and Warmuth (1994); Cesa-Bianchi and Lugosi (2006), section 2.1."""

from typing import Annotated, Any

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.learners.experts.vectors import vector_length
from jaxonline.learners.experts.votes import VoteInfo, is_mistake, vote
from jaxonline.learners.experts.weights import softmax_weights
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Interval, Number


@cites("littlestone1994weighted", "cesabianchi2006prediction")
@struct
class WeightedMajority(LearnerDefaults):
    """Weighted majority algorithm: vote of the experts, where an expert with m mistakes has the weight beta^m.

    An instance is the vector of the predictions; predictions and labels are -1 or +1. The move is the weighted mean of
    the votes; a tie is 0, which counts as a mistake. If the best of K experts makes L mistakes, the learner makes at
    most (L ln(1/beta) + ln K) / ln(2/(1 + beta)) on every sequence (`bounds.weighted_majority`). No deterministic
    learner has a bound below 2 L; a randomised learner has such a bound (`DrawnExpert`).

    Args:
        beta: factor of an expert's weight after a mistake (the factor 0 would give `Halving`).

    Example:
        >>> import jax, jaxonline as jo, numpy as np
        >>> rows = jo.environments.DataStream(np.array([[1.0, -1, -1], [1, 1, -1], [1, -1, -1]]), np.ones(3))
        >>> game = jo.Game(rows, jo.FullInformation(), loss=jo.losses.ZeroOne())
        >>> state, history = jo.play(game, jo.learners.WeightedMajority(0.25), jax.random.key(0), n_rounds=3)
        >>> history.info.mistake.tolist(), state.tolist()
        ([True, False, False], [0, 2, 3])
    """

    beta: Annotated[Number, Interval(gt=0, lt=1)]

    def prediction_range(self, instances: Float[np.ndarray, "n d"] | None) -> tuple[float, float] | None:
        """Return -1 and 1, the limits of a mean of votes."""
        del instances
        return -1.0, 1.0

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Int[Array, "K"]:
        """Return the numbers of mistakes, all 0; raise a ValueError if instances are not vectors."""
        del key
        return jnp.zeros(vector_length("instances", specs.instance), jnp.int32)

    def predict(self, key: Key[Array, ""] | None, state: Int[Array, "K"], x: Float[Array, "K"]) -> Float[Array, ""]:
        """Return the weighted mean vote."""
        del key
        return vote(jnp.exp(self._log_weights(state, x.dtype)), x)

    def update(
        self, key: Key[Array, ""] | None, state: Int[Array, "K"], oracle: Any
    ) -> tuple[Int[Array, "K"], VoteInfo]:
        """Count a mistake for each expert that is wrong."""
        mistake = is_mistake(self.predict(key, state, oracle.x), oracle.y)
        return state + is_mistake(oracle.x, oracle.y).astype(state.dtype), VoteInfo(mistake)

    def weights(self, state: Int[Array, "K"]) -> Float[Array, "K"]:
        """Return the weights of the next round."""
        return softmax_weights(self._log_weights(state, jnp.result_type(float)))

    def _log_weights(self, mistakes: Int[Array, "K"], dtype: Any) -> Float[Array, "K"]:
        """Return log weights relative to the best expert, so that equal weights are bit-identical."""
        return (mistakes - jnp.min(mistakes)).astype(dtype) * jnp.log(jnp.asarray(self.beta, dtype))
