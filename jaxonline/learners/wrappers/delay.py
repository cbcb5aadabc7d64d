"""Learners for delayed feedback: BOLD, and updates on arrival."""

from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from jaxonline.game.roles import Feedback, Learner, LearnerWrapper, Specs
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Component, Convert, NonNegativeInt, PyTree

# ---------------------------------------------------------------------------------------------------------------------
# A learner under delayed feedback: one update for each answer that arrives.


AnyLearner = Annotated[
    Any,
    Component("learner"),
    Convert(lambda value, name: check.instance(name, value, isinstance(value, Learner), "a learner")),
]


@cites("joulani2013delayed")
@struct
class UpdateOnArrival(LearnerWrapper):
    """Plays with a learner made for immediate feedback, and updates the learner once for each answer that arrives.

    Each update gets the oracle of the round to which the answer belongs, with the move of that round, so importance
    weights use the probabilities of that round. Delay adds a constant to the regret of UCB1 (`bounds.delayed_ucb1`) and
    a term of order sqrt(d T ln K) to the regret of EXP3 (`bounds.delayed_exp3`).

    Args:
        learner: the base learner.

    Example:
        >>> import jaxonline as jo
        >>> arms = jo.environments.BernoulliArms([0.2, 0.8])
        >>> game = jo.Game(arms, jo.Delayed(jo.Bandit(), delay=5), loss=jo.losses.ArmLoss())
        >>> learner = jo.learners.UpdateOnArrival(jo.learners.EXP3(0.1))
        >>> jo.simulate(game, learner, n_runs=2, n_rounds=20, key=0).queries[0, :, -1].tolist()
        [15.0, 15.0]
    """

    learner: AnyLearner

    def init(self, key: Key[Array, ""], specs: Specs) -> PyTree:
        """Return the state of the base learner."""
        return self.learner.init(key, specs)

    def predict(self, key: Key[Array, ""], state: PyTree, x: PyTree) -> PyTree:
        """Return the move of the base learner."""
        return self.learner.predict(key, state, x)

    def update(self, key: Key[Array, ""], state: PyTree, oracle: Any) -> tuple[PyTree, PyTree]:
        """Return the state of the base learner after all answers of this round, and the info of the last update."""

        def step(carry, arrival):
            state, before = carry
            state, info = self.learner.update(arrival_key(key, arrival.age), state, arrival.oracle)
            return state, with_overflow(info, before)

        return oracle.for_each(step, (state, empty_info(self.learner, key, state, oracle)))


def arrival_key(key: Key[Array, ""], age: Int[Array, ""]) -> Key[Array, ""]:
    """Return the random key of an update: the round's key for the round's answer, another key for an older answer."""
    return jnp.where(age == 0, key, jax.random.fold_in(key, age))


def empty_info(learner: Any, key: Key[Array, ""], state: PyTree, oracle: Any) -> PyTree:
    """Return the info of a round in which no answer arrives: zeros."""
    info = jax.eval_shape(lambda state: learner.update(key, state, oracle.first().oracle)[1], state)
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), info)


def with_overflow(info: PyTree, before: PyTree) -> PyTree:
    """Return the info, with an overflow if there was an overflow earlier in this round."""
    return info._replace(overflow=info.overflow | before.overflow) if hasattr(info, "overflow") else info


# ---------------------------------------------------------------------------------------------------------------------
# Black-box online learning with delays (BOLD): Joulani, Gyorgy and Szepesvari (2013), Algorithm 1.


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
class BOLD(LearnerWrapper):
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

    def check_feedback(self, feedback: Feedback) -> None:
        """Check the delay, and that the base learner accepts the feedback."""
        if feedback.max_delay > self.max_delay:
            raise ArgumentError(
                "max_delay", f"must be at least the feedback's, {feedback.max_delay} (got {self.max_delay})"
            )
        super().check_feedback(feedback)

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
