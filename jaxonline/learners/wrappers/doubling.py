"""The doubling trick: a learner for a known horizon plays without knowing it.

Auer, Cesa-Bianchi, Freund and Schapire (1995); Cesa-Bianchi and Lugosi (2006), section 2.3.
"""

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key, PyTree

from jaxonline.game.defaults import ForwardsToLearner
from jaxonline.game.protocols import Learner, Specs
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Takes


class DoublingState(NamedTuple):
    """State of `Doubling`.

    Attributes:
        learner: of the learner of the present phase.
        start: of a learner before round 1.
        played: rounds of the present phase.
        horizon: rounds that it has, 1, 2, 4, ...
    """

    learner: PyTree
    start: PyTree
    played: Int[Array, ""]
    horizon: Int[Array, ""]


@cites("auer1995gambling", "cesabianchi2006prediction")
@struct
class Doubling(ForwardsToLearner):
    """A learner made for 1 round, then one for 2, then for 4, ... each beginning anew, in one compiled program.

    If the learner for T rounds has a regret of at most c sqrt(T), this one's is at most c sqrt(T) sqrt(2)/(sqrt(2) - 1)
    after every number of rounds (`bounds.doubling`).

    Args:
        learner_for: `learner_for(T)` makes the learner for a horizon, from a float that is not known when the program
            is compiled: so it computes with `jax.numpy`, and the horizon is in numbers, not in shapes. Built once, as
            two functions are two programs. All learners begin in the state of the first.

    Raises:
        TypeError: `learner_for` is not a function, or makes no learners.

    Example:
        >>> import jax, jax.numpy as jnp, numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.learners import EWA, Doubling, Hedge
        >>> def hedge(n_rounds):
        ...     return Hedge(EWA(jnp.sqrt(8.0 * np.log(2.0) / n_rounds)))
        >>> losses = jo.environments.DataStream(None, np.tile([1.0, 0.0], (7, 1)))
        >>> game = jo.Game(losses, jo.FullInformation(), loss=jo.losses.ExpectedLoss())
        >>> state, history = jo.play(game, Doubling(hedge), jax.random.key(0), n_rounds=7)
        >>> [f"{weight:.2f}" for weight in history.y_hat[:, 0]]  # it begins anew in rounds 1, 2 and 4
        ['0.50', '0.50', '0.16', '0.50', '0.24', '0.09', '0.03']
    """

    learner_for: Annotated[Callable, Takes("the number of rounds")] = static()

    def __post_init__(self):
        made = self.learner_for(1.0)
        check.instance("learner_for(1.0)", made, isinstance(made, Learner), "a learner, with init, predict and update")

    @property
    def learner(self) -> Any:  # type: ignore[override]
        """The first learner, for one round. Those for other horizons have the same traits."""
        return self.learner_for(1.0)

    def overflow_probability(self, n_rounds: int) -> float | None:
        """The sum over the phases, each of which begins with empty storage; at most 1."""
        lengths = [2**phase for phase in range((n_rounds + 1).bit_length() - 1)]
        lengths.append(n_rounds - sum(lengths))
        risks = [super(Doubling, self).overflow_probability(length) for length in lengths if length]
        return None if None in risks else min(1.0, sum(risks))  # type: ignore[arg-type]

    def weights(self, state: DoublingState) -> Float[Array, "K"]:
        """The weights of the present learner."""
        return self._present(state).weights(state.learner)

    def init(self, key: Key[Array, ""], specs: Specs) -> DoublingState:
        """The first learner's state."""
        start = self.learner.init(key, specs)
        return DoublingState(start, start, jnp.int32(0), jnp.int32(1))

    def predict(self, key: Key[Array, ""], state: DoublingState, x: PyTree) -> PyTree:
        """The move of the present learner."""
        return self._present(state).predict(key, state.learner, x)

    def update(self, key: Key[Array, ""], state: DoublingState, oracle: Any) -> tuple[DoublingState, PyTree]:
        """The update of the present learner; after its last round the next one begins."""
        learner, info = self._present(state).update(key, state.learner, oracle)
        over = state.played + 1 >= state.horizon
        learner = jax.tree.map(lambda new, old: jnp.where(over, new, old), state.start, learner)
        played = jnp.where(over, 0, state.played + 1)
        return DoublingState(learner, state.start, played, jnp.where(over, 2, 1) * state.horizon), info

    def _present(self, state: DoublingState) -> Any:
        return self.learner_for(state.horizon.astype(jnp.result_type(float)))
