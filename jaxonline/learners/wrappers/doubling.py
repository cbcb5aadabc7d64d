"""Doubling trick: Auer, Cesa-Bianchi, Freund and Schapire (1995); Cesa-Bianchi and Lugosi (2006), section 2.3."""

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline.game.roles import Learner, LearnerWrapper, Specs
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import PyTree, Takes


class DoublingState(NamedTuple):
    """State of `Doubling`.

    `learner` is the current learner's state, `start` is a learner's state before round 1. The current phase has
    `horizon` rounds, and `played` of them are over.
    """

    learner: PyTree
    start: PyTree
    played: Int[Array, ""]
    horizon: Int[Array, ""]


@cites("auer1995gambling", "cesabianchi2006prediction")
@struct
class Doubling(LearnerWrapper):
    """Doubling trick for an unknown horizon: start learners for 1, 2, 4, ... rounds, in one compiled program.

    If the learner for T rounds has a regret of at most c sqrt(T), the regret of `Doubling` is at most
    c sqrt(T) sqrt(2)/(sqrt(2) - 1) after every number of rounds (`bounds.doubling`).

    Args:
        learner_for: `learner_for(T)` returns the learner for a horizon T. T is a float unknown at compilation, so the
            function computes with `jax.numpy`, and no array shape may depend on T. Define `learner_for` only once,
            since two functions need two compiled programs. All learners start from the initial state of the first
            learner.

    Example:
        >>> import jax, jax.numpy as jnp, numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.learners import EWA, Doubling, Hedge
        >>> def hedge(n_rounds):
        ...     return Hedge(EWA(jnp.sqrt(8.0 * np.log(2.0) / n_rounds)))
        >>> losses = jo.environments.DataStream(None, np.tile([1.0, 0.0], (7, 1)))
        >>> game = jo.Game(losses, jo.FullInformation(), loss=jo.losses.ExpectedLoss())
        >>> state, history = jo.play(game, Doubling(hedge), jax.random.key(0), n_rounds=7)
        >>> [f"{weight:.2f}" for weight in history.y_hat[:, 0]]  # phases start in rounds 1, 2 and 4
        ['0.50', '0.50', '0.16', '0.50', '0.24', '0.09', '0.03']
    """

    learner_for: Annotated[Callable[..., Any], Takes("the number of rounds")] = static()

    def __post_init__(self) -> None:
        check.instance("learner_for(1.0)", self.learner, Learner, "a learner, whose class inherits from jo.Learner")

    @property
    def learner(self) -> Any:  # type: ignore[override]
        """Return the first learner, for one round; learners for other horizons have the same facts."""
        return self.learner_for(1.0)

    def overflow_probability(self, n_rounds: int) -> float | None:
        """Return the sum of the phases' overflow probabilities, at most 1; each phase starts with empty storage."""
        lengths = [2**phase for phase in range((n_rounds + 1).bit_length() - 1)]
        lengths.append(n_rounds - sum(lengths))
        probabilities = [super(Doubling, self).overflow_probability(length) for length in lengths if length]
        return None if None in probabilities else min(1.0, sum(probabilities))  # type: ignore[arg-type]

    def weights(self, state: DoublingState) -> Float[Array, "K"]:
        """Return the weights of the current learner."""
        return self._current_learner(state).weights(state.learner)

    def init(self, key: Key[Array, ""], specs: Specs) -> DoublingState:
        """Return the state of the first learner."""
        start = self.learner.init(key, specs)
        return DoublingState(start, start, jnp.int32(0), jnp.int32(1))

    def predict(self, key: Key[Array, ""], state: DoublingState, x: PyTree) -> PyTree:
        """Return the move of the current learner."""
        return self._current_learner(state).predict(key, state.learner, x)

    def update(self, key: Key[Array, ""], state: DoublingState, oracle: Any) -> tuple[DoublingState, PyTree]:
        """Update the current learner; after the learner's last round the next phase starts."""
        learner, info = self._current_learner(state).update(key, state.learner, oracle)
        is_last = state.played + 1 >= state.horizon
        learner = jax.tree.map(lambda new, old: jnp.where(is_last, new, old), state.start, learner)
        played = jnp.where(is_last, 0, state.played + 1)
        return DoublingState(learner, state.start, played, jnp.where(is_last, 2, 1) * state.horizon), info

    def _current_learner(self, state: DoublingState) -> Any:
        return self.learner_for(state.horizon.astype(jnp.result_type(float)))
