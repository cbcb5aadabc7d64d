"""The halving algorithm: Barzdin and Freivalds (1972), Littlestone (1988); Cesa-Bianchi and Lugosi (2006), 2.1."""

from typing import Any, NamedTuple

import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Key

from jaxonline.game.defaults import LearnerDefaults
from jaxonline.game.protocols import Specs
from jaxonline.learners.experts.over_advice import n_experts
from jaxonline.learners.experts.votes import VoteInfo, vote, wrong
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct


class HalvingState(NamedTuple):
    """State of `Halving`.

    Attributes:
        consistent: which experts have not erred [K].
    """

    consistent: Bool[Array, "K"]


@cites("barzdin1972prediction", "littlestone1988learning", "cesabianchi2006prediction")
@struct
class Halving(LearnerDefaults):
    """The majority of the experts that have not erred. An instance is the vector of their predictions, -1 or +1.

    The move is the mean of their votes, from -1 to 1. A tie is 0, which has no sign and counts as a mistake
    (`losses.ZeroOne`), as a score of 0 of the perceptron does. Where one of K experts never errs there are at most
    log2 K mistakes: each removes at least half of the experts that are left. (The lecture removes those that err in
    rounds with a mistake only, which has the same bound.)

    Where all have erred it begins again with all of them. So if the best expert errs L times, there are at most
    L (floor(log2 K) + 1) + log2 K mistakes (`bounds.halving`).

    Example:
        >>> import jax, numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.learners import Halving
        >>> advice = np.array([[1.0, -1.0, -1.0], [1.0, 1.0, -1.0], [1.0, -1.0, 1.0]])
        >>> rows = jo.environments.DataStream(advice, np.ones(3))
        >>> game = jo.Game(rows, jo.FullInformation(), loss=jo.losses.ZeroOne())
        >>> state, history = jo.play(game, Halving(), jax.random.key(0), n_rounds=3)
        >>> history.info.mistake.tolist(), state.consistent.tolist()
        ([True, False, False], [True, False, False])
    """

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> HalvingState:
        """All experts, as many as the instance has entries.

        Raises:
            ValueError: instances are not vectors.
        """
        del key
        return HalvingState(jnp.ones(n_experts("instances", specs.instance), bool))

    def predict(self, key: Key[Array, ""] | None, state: HalvingState, x: Float[Array, "K"]) -> Float[Array, ""]:
        """The mean vote of the consistent experts."""
        del key
        return vote(state.consistent.astype(x.dtype), x)

    def update(self, key: Key[Array, ""] | None, state: HalvingState, oracle: Any) -> tuple[HalvingState, VoteInfo]:
        """Without those that err; all of them where none is left."""
        mistake = wrong(self.predict(key, state, oracle.x), oracle.y)
        left = state.consistent & ~wrong(oracle.x, oracle.y)
        return HalvingState(left | ~jnp.any(left)), VoteInfo(mistake)
