"""Delayed feedback: the answer to a round arrives some rounds later."""

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple, TypeVar

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Int, Key

from jaxonline.feedback.delays import as_delay
from jaxonline.game.roles import Feedback, Oracle, Specs, of_inner
from jaxonline.game.round import check_role
from jaxonline.numerics.ragged import batch_max
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Component, Convert, PyTree

S = TypeVar("S")


class Queue(NamedTuple):
    """The rounds whose answers are outstanding, with the data that the base feedback needs to open their oracles.

    Round s is in the row s mod (max_delay + 1) of every array.

    Attributes:
        due: the round in which the answer arrives [n].
        keys: the words of the random key of each oracle [n, 2].
        x: the instances [n, ...].
        y: the outcomes [n, ...].
        move: the moves [n, ...].
        feedback: the states of the base feedback at the beginning of the round [n, ...].
    """

    due: Int[Array, "n"]
    keys: Array
    x: PyTree
    y: PyTree
    move: PyTree
    feedback: PyTree


class DelayedState(NamedTuple):
    """State of `Delayed`.

    Attributes:
        key: the words of the random key of the delays.
        queue: the rounds whose answers are outstanding.
        feedback: the state of the base feedback.
    """

    key: Array
    queue: Queue
    feedback: PyTree


class Arrival(NamedTuple):
    """An answer that arrives in the current round.

    Attributes:
        round: the number of the round that is answered.
        age: the number of rounds since the answered round.
        move: the learner's move in the answered round, with the probabilities of a `Draw`.
        oracle: the oracle of the answered round, with the instance if the base feedback reveals it.
    """

    round: Int[Array, ""]
    age: Int[Array, ""]
    move: PyTree
    oracle: Any


class DelayedOracle(Oracle):
    """The oracle of delayed feedback: the answers that arrive in this round, in the order of their rounds.

    Attributes:
        number: the number of answers that arrive in this round.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> import jaxonline as jo
        >>> feedback, specs = jo.Delayed(jo.FullInformation(), delay=0), jo.game.Specs.of_vectors(2)
        >>> state = feedback.init(jax.random.key(0), specs, specs.outcome)
        >>> y, y_hat = jnp.float32(3.0), jnp.float32(0.0)
        >>> oracle = feedback.open(jax.random.key(1), jnp.int32(1), jnp.ones(2), y, y_hat, state)
        >>> float(oracle.for_each(lambda total, arrival: total + arrival.oracle.y, jnp.float32(0.0)))
        3.0
    """

    def __init__(self, feedback: "Delayed", key: Key[Array, ""], queue: Queue, t: Int[Array, ""]):
        self._feedback, self._queue, self._t = feedback.feedback, queue, t
        self._impl, self._constant = jax.random.key_impl(key), feedback.delay.is_constant
        size = len(queue.due)
        ages = jnp.arange(size - 1, -1, -1, dtype=jnp.int32)  # the oldest round first
        self._due = (queue.due[(t - ages) % size] == t) & (ages < t)
        self.number: Int[Array, ""] = jnp.sum(self._due, dtype=jnp.int32)
        self._queries = jnp.int32(0)

    def for_each(self, step: Callable[[S, Arrival], S], state: S) -> S:
        """Call `step(state, arrival)`, which returns the next state, for every answer that arrives.

        Args:
            step: a pure function; the state keeps its shapes and dtypes.
            state: the state before the first answer.

        Returns:
            The state after the last answer.
        """

        def next_answer(j: Int[Array, ""] | int, carry: tuple[S, Array]) -> tuple[S, Array]:
            state, queries = carry
            arrival = self._arrival(j)
            following = step(state, arrival), queries + arrival.oracle.queries()
            return _where(j < self.number, following, carry)

        if self._constant:
            state, self._queries = next_answer(0, (state, jnp.int32(0)))
        else:
            carry = (state, jnp.int32(0))
            state, self._queries = jax.lax.fori_loop(0, batch_max(self.number), next_answer, carry)
        return state

    def first(self) -> Arrival:
        """Return the first answer, for its shapes; its numbers are meaningless if no answer arrives."""
        return self._arrival(0)

    def _arrival(self, j: Int[Array, ""] | int) -> Arrival:
        """Return the j-th answer that arrives."""
        size = len(self._queue.due)
        place = 0 if self._constant else jnp.sum(jnp.cumsum(self._due, dtype=jnp.int32) <= j, dtype=jnp.int32)
        age = jnp.int32(size - 1) - place
        round_number = self._t - age
        row = jax.tree.map(lambda leaf: leaf[round_number % size], self._queue)
        key = jax.random.wrap_key_data(row.keys, impl=self._impl)
        oracle = self._feedback.open(key, round_number, row.x, row.y, row.move, row.feedback)
        return Arrival(round_number, age, row.move, oracle)

    def queries(self) -> Int[Array, ""]:
        """The number of queries of all answers that arrived and were used."""
        return self._queries

    def answers(self) -> Int[Array, ""]:
        """The number of answers that arrive in this round."""
        return self.number


@struct
class Delayed(Feedback):
    """Feedback whose answers arrive later: the answer to round s arrives at the end of round s + delay.

    A learner uses the answers with `oracle.for_each`. Two wrappers adapt a learner that expects no delays:
    `learners.UpdateOnArrival` and `learners.BOLD`. A delay of 0 gives the same numbers as `feedback` alone.

    Args:
        feedback: the base feedback, which gives the answers.
        delay: a number of rounds, a list with the delay of each round, or a distribution (`jo.delays`).

    Raises:
        ValueError: a delay is negative.

    Example:
        >>> import jaxonline as jo
        >>> arms = jo.environments.BernoulliArms([0.2, 0.8])
        >>> game = jo.Game(arms, jo.Delayed(jo.Bandit(), delay=10), loss=jo.losses.ArmLoss())
        >>> learner = jo.learners.UpdateOnArrival(jo.learners.UCB1())
        >>> result = jo.simulate(game, learner, n_runs=2, n_rounds=50, record_at=1, measures=[jo.Unanswered()])
        >>> result.measures["unanswered"].tolist()
        [[[10.0], [10.0]]]
    """

    feedback: Annotated[Any, Component("feedback")]
    delay: Annotated[Any, Component("delay"), Convert(as_delay)]

    def __post_init__(self) -> None:
        check_role("feedback", self.feedback, Feedback)

    noise, label_noise, max_rounds, check_specs = (
        of_inner(name, "feedback") for name in ("noise", "label_noise", "max_rounds", "check_specs")
    )

    @property
    def max_delay(self) -> int:
        """The largest delay of an answer, in rounds."""
        return self.delay.max_delay

    def init(self, key: Key[Array, ""], specs: Specs, move: PyTree) -> DelayedState:
        """Return the state before round 1, with an empty queue."""
        size = self.delay.max_delay + 1

        def rows(spec: PyTree) -> PyTree:
            return jax.tree.map(lambda leaf: jnp.zeros((size, *leaf.shape), leaf.dtype), spec)

        words = jax.random.key_data(jax.random.fold_in(key, jnp.uint32(2**31)))
        base = self.feedback.init(key, specs, move)
        due = jnp.zeros(size, jnp.int32)
        queue = Queue(due, rows(words), rows(specs.instance), rows(specs.outcome), rows(move), rows(base))
        return DelayedState(words, queue, base)

    def open(
        self, key: Key[Array, ""], t: Int[Array, ""], x: PyTree, y: PyTree, y_hat: PyTree, state: DelayedState
    ) -> DelayedOracle:
        """Return the oracle of one round."""
        return DelayedOracle(self, key, self._with_round(key, state, t, x, y, y_hat), t)

    def observe(
        self, key: Key[Array, ""], state: DelayedState, t: Int[Array, ""], x: PyTree, y: PyTree, y_hat: PyTree
    ) -> DelayedState:
        """Return the next state, with this round in the queue."""
        queue = self._with_round(key, state, t, x, y, y_hat)
        return DelayedState(state.key, queue, self.feedback.observe(key, state.feedback, t, x, y, y_hat))

    def _with_round(
        self, key: Key[Array, ""], state: DelayedState, t: Int[Array, ""], x: PyTree, y: PyTree, y_hat: PyTree
    ) -> Queue:
        delay_key = jax.random.wrap_key_data(state.key, impl=jax.random.key_impl(key))
        due = t + self.delay.sample(jax.random.fold_in(delay_key, t), t)
        new = Queue(due, jax.random.key_data(key), x, y, y_hat, state.feedback)
        row = t % len(state.queue.due)
        return jax.tree.map(lambda rows, leaf: rows.at[row].set(leaf), state.queue, new)


def _where(condition: Bool[Array, ""], new: PyTree, old: PyTree) -> PyTree:
    return jax.tree.map(lambda a, b: jnp.where(condition, a, b).astype(jnp.result_type(b)), new, old)
