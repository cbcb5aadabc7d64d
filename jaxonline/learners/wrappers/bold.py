"""Black-box online learning with delays (BOLD): Joulani, Gyorgy and Szepesvari (2013), Algorithm 1."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Float, Int, Key

from jaxonline.game.defaults import ForwardsToLearner, LearnerDefaults, method_of
from jaxonline.game.protocols import Specs
from jaxonline.game.traits import FeedbackTraits
from jaxonline.learners.wrappers.update_on_arrival import AnyLearner, arrival_key, empty_info, with_overflow
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import NonNegativeInt, PyTree


class BOLDState(NamedTuple):
    """State of `BOLD`.

    Attributes:
        copies: the states of the copies of the base learner [n, ...].
        waiting: whether each copy waits for an answer [n].
        of_round: entry s mod n is the copy that moved in round s [n].
        n_rounds: the number of rounds so far.
    """

    copies: PyTree
    waiting: Bool[Array, "n"]
    of_round: Int[Array, "n"]
    n_rounds: Int[Array, ""]


@cites("joulani2013delayed", "weinberger2002delayed")
@struct
class BOLD(ForwardsToLearner):
    """Plays each round with a copy of the base learner that does not wait for an answer (BOLD).

    Each copy learns without delay from the rounds in which it moves. Let the regret of the base learner be at most
    R(T), a concave function. Then the regret of BOLD under delays of at most d is at most (d + 1) R(T / (d + 1))
    (`bounds.bold`). With a fixed delay BOLD is the algorithm of Weinberger and Ordentlich (2002).

    Args:
        learner: the base learner.
        max_delay: the largest delay; there are `max_delay` + 1 copies.

    Raises:
        ValueError: the feedback has a larger delay (raised at binding to a game).

    Example:
        >>> import numpy as np
        >>> import jaxonline as jo
        >>> losses = jo.environments.DataStream(None, np.tile([1.0, 0.0], (20, 1)))
        >>> game = jo.Game(losses, jo.Delayed(jo.FullInformation(), delay=3), loss=jo.losses.ExpectedLoss())
        >>> learner = jo.learners.BOLD(jo.learners.Hedge(jo.learners.EWA(0.5)), max_delay=3)
        >>> jo.simulate(game, learner, n_runs=1, n_rounds=20).queries[0, 0, -1].item()
        17.0
    """

    learner: AnyLearner
    max_delay: NonNegativeInt = static()

    def check_feedback(self, feedback: FeedbackTraits) -> None:
        """Check the delay, and that the base learner accepts the feedback."""
        if feedback.max_delay > self.max_delay:
            raise ArgumentError(
                "max_delay", f"must be at least the feedback's, {feedback.max_delay} (got {self.max_delay})"
            )
        super().check_feedback(feedback)

    def prediction_range(self, instances: Float[np.ndarray, "n d"] | None) -> tuple[float, float] | None:
        """Return the limits of the predictions of the base learner."""
        return method_of(self.learner, LearnerDefaults.prediction_range)(instances)

    def init(self, key: Key[Array, ""], specs: Specs) -> BOLDState:
        """Return all copies in the initial state of the base learner."""
        n_copies = self.max_delay + 1
        state = self.learner.init(key, specs)
        copies = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (n_copies, *jnp.shape(leaf))), state)
        return BOLDState(copies, jnp.zeros(n_copies, bool), jnp.zeros(n_copies, jnp.int32), jnp.int32(0))

    def predict(self, key: Key[Array, ""], state: BOLDState, x: PyTree) -> PyTree:
        """Return the move of the first copy that does not wait for an answer."""
        return self.learner.predict(key, _row(state.copies, _first_free(state)), x)

    def update(self, key: Key[Array, ""], state: BOLDState, oracle: Any) -> tuple[BOLDState, PyTree]:
        """Update the copy that moved in the round of each answer; return the info of the last update."""
        n_copies, moved, t = self.max_delay + 1, _first_free(state), state.n_rounds + 1
        waiting, of_round = state.waiting.at[moved].set(True), state.of_round.at[t % n_copies].set(moved)

        def step(carry, arrival):
            copies, waiting, before = carry
            copy = of_round[arrival.round % n_copies]
            updated, info = self.learner.update(arrival_key(key, arrival.age), _row(copies, copy), arrival.oracle)
            copies = jax.tree.map(lambda rows, leaf: rows.at[copy].set(leaf), copies, updated)
            return copies, waiting.at[copy].set(False), with_overflow(info, before)

        no_info = empty_info(self.learner, key, _row(state.copies, moved), oracle)
        copies, waiting, info = oracle.for_each(step, (state.copies, waiting, no_info))
        return BOLDState(copies, waiting, of_round, t), info

    def weights(self, state: BOLDState) -> Array:
        """Return the weights of the copy that moves next."""
        return self.learner.weights(_row(state.copies, _first_free(state)))


def _first_free(state: BOLDState) -> Int[Array, ""]:
    return jnp.argmin(state.waiting).astype(jnp.int32)


def _row(rows: PyTree, index: Int[Array, ""]) -> PyTree:
    return jax.tree.map(lambda leaf: leaf[index], rows)
