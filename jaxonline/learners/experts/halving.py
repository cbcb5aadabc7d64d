"""The halving algorithm: Barzdin and Freivalds (1972), Littlestone (1988); Cesa-Bianchi and Lugosi (2006), 2.1."""

from typing import Any, NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.learners.experts.vectors import vector_length
from jaxonline.learners.experts.votes import VoteInfo, is_mistake, vote
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct


class HalvingState(NamedTuple):
    """State of `Halving`: whether each expert is consistent, that is has not been removed [K]."""

    consistent: Bool[Array, "K"]


@cites("barzdin1972prediction", "littlestone1988learning", "cesabianchi2006prediction")
@struct
class Halving(LearnerDefaults):
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

    def prediction_range(self, instances: Float[np.ndarray, "n d"] | None) -> tuple[float, float] | None:
        """Return -1 and 1, the limits of a mean of votes."""
        del instances
        return -1.0, 1.0

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> HalvingState:
        """Return the state in which no expert has made a mistake; raise a ValueError if instances are not vectors."""
        del key
        return HalvingState(jnp.ones(vector_length("instances", specs.instance), bool))

    def predict(self, key: Key[Array, ""] | None, state: HalvingState, x: Float[Array, "K"]) -> Float[Array, ""]:
        """Return the mean vote of the consistent experts."""
        del key
        return vote(state.consistent.astype(x.dtype), x)

    def update(self, key: Key[Array, ""] | None, state: HalvingState, oracle: Any) -> tuple[HalvingState, VoteInfo]:
        """Remove the experts that are wrong (if lazy, only after a mistake); restore all experts if none is left."""
        mistake = is_mistake(self.predict(key, state, oracle.x), oracle.y)
        wrong = is_mistake(oracle.x, oracle.y)
        left = state.consistent & ~(wrong & mistake if self.lazy else wrong)
        return HalvingState(left | ~jnp.any(left)), VoteInfo(mistake)
