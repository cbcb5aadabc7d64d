"""The compiled programs of a live learner.

A single round compiles to other instructions than a round in the loop of `jo.play`, and the last bits of float32
differ. So a round runs in a loop over the rows of a small table, and the compiler does not know how many rounds it has.

A call takes longer for every array that goes in or out, even if it has one number. So one table has all that is new in
a round, and one packed array all that the host reads. An array of the state stays an array of its own: to take it out
of a packed array is one more operation at the start of the program, and XLA runs a program in several threads if more
than nine operations can start at once, which takes longer than the round.
"""

import functools
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Int, Key

from jaxonline.feedback import LossOfMoveOracle
from jaxonline.game import Game, Specs, States, StreamKeys, WithFeedback, play_round, start, stream_keys
from jaxonline.game.roles import Environment, Feedback
from jaxonline.live.word_layout import Packed, WordLayout
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import PyTree

TABLE_ROWS = 8  # with one or two rows, XLA compiles some loops in another way
MAX_PROGRAMS = 256  # in the cache, one for each structure


@struct
class Arrivals(Environment):
    """An environment of given instances and outcomes, one row a round from round `first` on.

    A row of the table [rows, numbers] has the entries of the instance, and then those of the outcome.
    """

    table: Any  # array of jax or NumPy
    first: Int[ArrayLike, ""]
    instance_shape: tuple[int, ...] = static()
    outcome_shape: tuple[int, ...] = static()

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype of an instance."""
        return jax.ShapeDtypeStruct(self.instance_shape, self.table.dtype)

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype of an outcome."""
        return jax.ShapeDtypeStruct(self.outcome_shape, self.table.dtype)

    def init(self, key: Key[Array, ""]) -> tuple[()]:
        """Return the state, which is empty."""
        return ()

    def instance(self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""]) -> tuple[Array, tuple[()]]:
        """Return the instance of round t, and the state."""
        return self.table[t - self.first, : math.prod(self.instance_shape)].reshape(self.instance_shape), state

    def outcome(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""], x: Array, y_hat: PyTree
    ) -> tuple[Array, tuple[()]]:
        """Return the outcome of round t, and the state."""
        return self.table[t - self.first, math.prod(self.instance_shape) :].reshape(self.outcome_shape), state


@struct
class ReportedLoss(Feedback):
    """Both feedback and loss of a game in which the outcomes are the losses that the user reports for the moves."""

    def open(
        self, key: Any, t: Int[Array, ""], x: PyTree, y: Array, y_hat: PyTree, state: PyTree = ()
    ) -> LossOfMoveOracle:
        """The oracle of one round."""
        return LossOfMoveOracle(x, y_hat, y)

    def __call__(self, y_hat: PyTree, y: Array) -> Array:
        """The reported loss."""
        return y

    def gradient(self, y_hat: PyTree, y: Array) -> PyTree:
        """Raises a TypeError, since the gradient is unknown: a learner that needs it is rejected when it is bound."""
        raise TypeError("loss: the learner needs the gradient, but only the loss of the move is known; pass y")


def table_of(specs: Specs) -> np.ndarray:
    """An empty table for `Arrivals` of these shapes, with TABLE_ROWS rows of instances and outcomes.

    Of two more rows the first numbers are the bits of integers: the present round, and the number of rounds to play.
    So a call passes a single array.
    """
    return np.zeros((TABLE_ROWS + 2, sum(math.prod(spec.shape) for spec in specs)), specs.instance.dtype)


def no_arrivals(specs: Specs) -> Arrivals:
    """Return an environment that has no rows but states the shapes of instances and outcomes."""
    return Arrivals(table_of(specs), np.int32(1), specs.instance.shape, specs.outcome.shape)


class Outcome(NamedTuple):
    """The part of a `Round` that the host does not know before."""

    loss: Any
    y_hat: PyTree
    queries: Any
    answers: Any
    info: PyTree


class Programs(NamedTuple):
    """The compiled programs for games and entrants of one structure; states are lists of leaves.

    Attributes:
        begin: function of numbers and key data that returns the first states.
        play: function of numbers, key data, states and a table (`table_of`) that returns the states after its rounds,
            and rows of an `Outcome`, packed.
        moves: function of numbers, key data, states, round and instances that returns the moves on the instances.
        shapes: function of numbers and key data that returns the shapes and dtypes of `States` and of an `Outcome`.
    """

    begin: Callable[..., list[Array]]
    play: Callable[..., tuple[list[Array], Packed]]
    moves: Callable[..., PyTree]
    shapes: Callable[..., tuple[States, Outcome]]


@functools.lru_cache(MAX_PROGRAMS)
def compile_programs(structure: Any, specs: Specs, first_specs: Specs, impl: Any) -> Programs:
    """The programs for a structure of (feedback, loss, entrant), for these instances and outcomes.

    Args:
        structure: tree definition. The programs take the leaves, and key data, since Python would take structs and
            keys apart at every call.
        specs: shapes and dtypes of instances and outcomes.
        first_specs: shapes and dtypes for the first states; they differ if the outcome is a reported loss.
        impl: the generator of random numbers.
    """

    def game_of(numbers: list[Array], arrivals: Arrivals) -> tuple[Game, WithFeedback]:
        *parts, entrant = jax.tree.unflatten(structure, numbers)
        return Game(arrivals, *parts), entrant

    def keys_of(key_data: Array) -> StreamKeys:
        return stream_keys(jax.random.wrap_key_data(key_data, impl=impl))

    def first_states(numbers: list[Array], key_data: Array) -> States:
        return start(*game_of(numbers, no_arrivals(first_specs)), keys_of(key_data))

    def play_one(
        game: Game, entrant: WithFeedback, keys: StreamKeys, t: Array, states: States
    ) -> tuple[States, Outcome]:
        states, record = play_round(game, entrant, keys, t, states)
        return states, Outcome(record.loss, record.y_hat, record.queries, record.answers, record.info)

    def first_outcome(numbers: list[Array], key_data: Array) -> tuple[States, Outcome]:
        arrivals = jax.tree.map(jnp.asarray, no_arrivals(specs))
        states = first_states(numbers, key_data)
        return play_one(*game_of(numbers, arrivals), keys_of(key_data), jnp.int32(1), states)

    def shapes(numbers: list[Array], key_data: Array) -> tuple[States, Outcome]:
        return jax.eval_shape(first_outcome, numbers, key_data)

    @jax.jit
    def begin(numbers, key_data):
        return jax.tree.leaves(first_states(numbers, key_data))

    @jax.jit
    def play(numbers, key_data, leaves, table):
        t, number = (_integer(table[TABLE_ROWS + row, 0]) for row in range(2))
        game, entrant = game_of(numbers, Arrivals(table, t, specs.instance.shape, specs.outcome.shape))
        keys, rounds = keys_of(key_data), t + jnp.arange(TABLE_ROWS, dtype=jnp.int32)
        state_shapes, outcome = shapes(numbers, key_data)
        states = jax.tree.unflatten(jax.tree.structure(state_shapes), leaves)

        def one_round(row, carry):
            states, history = carry
            states, outcome = play_one(game, entrant, keys, rounds[row], states)
            return states, jax.tree.map(
                lambda rows, new: jax.lax.dynamic_update_index_in_dim(rows, new, row, 0), history, outcome
            )

        history = jax.tree.map(lambda leaf: jnp.zeros((TABLE_ROWS, *leaf.shape), leaf.dtype), outcome)
        states, history = jax.lax.fori_loop(jnp.int32(0), number, one_round, (states, history))
        return jax.tree.leaves(states), WordLayout(outcome).pack(history)

    @jax.jit
    def moves(numbers, key_data, leaves, t, X):
        states = jax.tree.unflatten(jax.tree.structure(shapes(numbers, key_data)[0]), leaves)

        def move(x):  # XLA drops what the move does not need
            row = jnp.concatenate([x.ravel(), jnp.zeros(math.prod(specs.outcome.shape), x.dtype)])
            come = Arrivals(row[None], t, specs.instance.shape, specs.outcome.shape)
            return play_one(*game_of(numbers, come), keys_of(key_data), t, states)[1].y_hat

        return jax.vmap(move)(X)

    return Programs(begin, play, moves, shapes)


def _integer(number: Array) -> Array:
    """Return the integer of the same bits."""
    return jax.lax.bitcast_convert_type(number, f"int{8 * number.dtype.itemsize}").astype(jnp.int32)
