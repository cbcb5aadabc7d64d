"""Votes of experts with two labels: halving, and weighted majority."""

from typing import Annotated, Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from jaxonline.game.roles import Learner, Specs
from jaxonline.learners.experts.weights import softmax_weights, vector_length
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Interval, Number

# ---------------------------------------------------------------------------------------------------------------------
# Weighted votes of experts that predict the classes -1 and +1; an instance is the vector of these predictions.


class VoteInfo(NamedTuple):
    """Diagnostics of one update: whether the vote has the wrong sign or is 0."""

    mistake: Bool[Array, ""]


def vote(weights: Float[Array, "K"], advice: Float[Array, "K"]) -> Float[Array, ""]:
    """Return the weighted mean of the signs, in [-1, 1]; equal weights of both signs give exactly 0."""
    positive, negative = (jnp.sum(jnp.where(side, weights, 0.0)) for side in (advice > 0, advice < 0))
    return (positive - negative) / jnp.sum(weights)


def is_mistake(advice: Float[Array, "..."], y: Float[Array, ""]) -> Bool[Array, "..."]:
    """Return whether the sign of the advice differs from the sign of the label; an advice of 0 is a mistake."""
    return y * advice <= 0.0


# ---------------------------------------------------------------------------------------------------------------------
# The halving algorithm: Barzdin and Freivalds (1972), Littlestone (1988); Cesa-Bianchi and Lugosi (2006), 2.1.


class HalvingState(NamedTuple):
    """State of `Halving`: whether each expert is consistent, that is has not been removed [K]."""

    consistent: Bool[Array, "K"]


@cites("barzdin1972prediction", "littlestone1988learning", "cesabianchi2006prediction")
@struct
class Halving(Learner):
    """Halving algorithm: majority vote of the experts that have made no mistake.

    An instance is the vector of the predictions, -1 or +1. The move is the mean vote in [-1, 1]. A tie is 0, which
    counts as a mistake (`losses.ZeroOne`). If one of K experts makes no mistake, the learner makes at most log2 K
    mistakes, because each mistake removes at least half of the experts. When no expert is left, the learner restores
    all experts. If the best expert makes L mistakes, the learner makes at most L (floor(log2 K) + 1) + log2 K
    (`bounds.halving`). The bounds hold for both kinds of updates.

    Args:
        lazy: whether only rounds in which the learner is wrong remove experts, as printed in the lecture (paper E,
            Algorithm 1); otherwise every round removes the experts that are wrong.

    Example:
        >>> import jax, jaxonline as jo, numpy as np
        >>> rows = jo.environments.DataStream(np.array([[1.0, -1, -1], [1, 1, -1], [1, -1, 1]]), np.ones(3))
        >>> game = jo.Game(rows, jo.FullInformation(), loss=jo.losses.ZeroOne())
        >>> state, history = jo.play(game, jo.learners.Halving(), jax.random.key(0), n_rounds=3)
        >>> history.info.mistake.tolist(), state.consistent.tolist()
        ([True, False, False], [True, False, False])
    """

    lazy: bool = static(default=False)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> HalvingState:
        """Return the state in which no expert has made a mistake; raise a ValueError if instances are not vectors."""
        return HalvingState(jnp.ones(vector_length("instances", specs.instance), bool))

    def predict(self, key: Key[Array, ""] | None, state: HalvingState, x: Float[Array, "K"]) -> Float[Array, ""]:
        """Return the mean vote of the consistent experts."""
        return vote(state.consistent.astype(x.dtype), x)

    def update(self, key: Key[Array, ""] | None, state: HalvingState, oracle: Any) -> tuple[HalvingState, VoteInfo]:
        """Remove the experts that are wrong (if lazy, only after a mistake); restore all experts if none is left."""
        mistake = is_mistake(self.predict(key, state, oracle.x), oracle.y)
        wrong = is_mistake(oracle.x, oracle.y)
        left = state.consistent & ~(wrong & mistake if self.lazy else wrong)
        return HalvingState(left | ~jnp.any(left)), VoteInfo(mistake)


# ---------------------------------------------------------------------------------------------------------------------
# The weighted majority algorithm: Littlestone and Warmuth (1994); Cesa-Bianchi and Lugosi (2006), section 2.1.


@cites("littlestone1994weighted", "cesabianchi2006prediction")
@struct
class WeightedMajority(Learner):
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

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Int[Array, "K"]:
        """Return the numbers of mistakes, all 0; raise a ValueError if instances are not vectors."""
        return jnp.zeros(vector_length("instances", specs.instance), jnp.int32)

    def predict(self, key: Key[Array, ""] | None, state: Int[Array, "K"], x: Float[Array, "K"]) -> Float[Array, ""]:
        """Return the weighted mean vote."""
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
