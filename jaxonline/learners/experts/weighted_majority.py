"""The weighted majority algorithm: Littlestone and Warmuth (1994); Cesa-Bianchi and Lugosi (2006), section 2.1."""

from typing import Annotated, Any

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.learners.experts.over_advice import n_experts
from jaxonline.learners.experts.votes import VoteInfo, vote, wrong
from jaxonline.learners.experts.weights import softmax_weights
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Interval, Number


@cites("littlestone1994weighted", "cesabianchi2006prediction")
@struct
class WeightedMajority(LearnerDefaults):
    """The vote of the experts with the weights beta^(their mistakes). An instance is the vector of their predictions.

    Predictions are -1 or +1, and so are labels. The move is the weighted mean of the votes; a tie is 0, which counts
    as a mistake. If the best of K experts errs L times, there are at most (L ln(1/beta) + ln K) / ln(2/(1 + beta))
    mistakes, whatever the sequence (`bounds.weighted_majority`): no deterministic learner can do better than 2 L, and
    one that draws its expert can (`DrawnExpert`).

    Args:
        beta: what a mistake multiplies a weight by (0 would be `Halving`).

    Example:
        >>> import jax, numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.learners import WeightedMajority
        >>> advice = np.array([[1.0, -1.0, -1.0], [1.0, 1.0, -1.0], [1.0, -1.0, -1.0]])
        >>> rows = jo.environments.DataStream(advice, np.ones(3))
        >>> game = jo.Game(rows, jo.FullInformation(), loss=jo.losses.ZeroOne())
        >>> state, history = jo.play(game, WeightedMajority(0.25), jax.random.key(0), n_rounds=3)
        >>> history.info.mistake.tolist(), state.tolist()
        ([True, False, False], [0, 2, 3])
    """

    beta: Annotated[Number, Interval(gt=0, lt=1)]

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Int[Array, "K"]:
        """No mistakes, of as many experts as the instance has entries; their numbers are the state.

        Raises:
            ValueError: instances are not vectors.
        """
        del key
        return jnp.zeros(n_experts("instances", specs.instance), jnp.int32)

    def predict(self, key: Key[Array, ""] | None, state: Int[Array, "K"], x: Float[Array, "K"]) -> Float[Array, ""]:
        """The weighted mean vote."""
        del key
        return vote(jnp.exp(self._log_weights(state, x.dtype)), x)

    def update(
        self, key: Key[Array, ""] | None, state: Int[Array, "K"], oracle: Any
    ) -> tuple[Int[Array, "K"], VoteInfo]:
        """One more mistake of those that err."""
        mistake = wrong(self.predict(key, state, oracle.x), oracle.y)
        return state + wrong(oracle.x, oracle.y).astype(state.dtype), VoteInfo(mistake)

    def weights(self, state: Int[Array, "K"]) -> Float[Array, "K"]:
        """The weights of the next round."""
        return softmax_weights(self._log_weights(state, jnp.result_type(float)))

    def _log_weights(self, mistakes: Int[Array, "K"], dtype: Any) -> Float[Array, "K"]:
        """Those of the best experts are 0, so that equal weights are equal to the last bit."""
        return (mistakes - jnp.min(mistakes)).astype(dtype) * jnp.log(jnp.asarray(self.beta, dtype))
