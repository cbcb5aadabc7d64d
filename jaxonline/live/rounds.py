"""What a live learner compiles: a round of the game on an instance and an outcome that somebody brings.

A round by itself is compiled to other instructions than a round inside the loop of `jo.play`, and the last bits of
float32 show it. So it is played in such a loop: over the rows of a small table, as many of them as are asked for, which
the compiler does not know to be one.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Int, Key, PyTree

from jaxonline.feedback import LossOfMoveOracle
from jaxonline.game import Entrant, Game, Round, States, play_round, start, stream_keys
from jaxonline.game.defaults import EnvironmentDefaults, FeedbackDefaults
from jaxonline.parameters.struct import replace, struct

TABLE_ROWS = 8  # of the table; with one or two rows some loops are compiled in another way
MAX_PROGRAMS = 256  # kept, of games and learners of different structures


@struct
class Arrivals(EnvironmentDefaults):
    """An environment of instances and outcomes that were brought, one row a round.

    Args:
        X: instances [ROWS, ...].
        y: outcomes [ROWS, ...].
        first: the round of the first row.
    """

    X: Any  # [ROWS ...], an array of jax or NumPy
    y: Any  # likewise
    first: Int[ArrayLike, ""]

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype of an instance."""
        return jax.ShapeDtypeStruct(self.X.shape[1:], self.X.dtype)

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype of an outcome."""
        return jax.ShapeDtypeStruct(self.y.shape[1:], self.y.dtype)

    def init(self, key: Key[Array, ""]) -> Int[Array, ""]:
        """The state is the row of the present round."""
        del key
        return jnp.int32(0)

    def instance(self, key: Key[Array, ""], state: Array, t: Int[Array, ""]) -> tuple[Array, Int[Array, ""]]:
        """The instance that was brought."""
        del key, state
        row = t - self.first
        return self.X[row], row

    def answer(
        self, key: Key[Array, ""], state: Int[Array, ""], t: Int[Array, ""], x: Array, y_hat: PyTree
    ) -> tuple[Array, Int[Array, ""]]:
        """The outcome that was brought."""
        del key, t, x, y_hat
        return self.y[state], state


@struct
class ReportedLoss(FeedbackDefaults):
    """The feedback, and the loss, of a game whose outcomes are the losses of moves, told by who suffered them."""

    def open(self, key: Any, t: Int[Array, ""], x: PyTree, y: Array, y_hat: PyTree) -> LossOfMoveOracle:
        """The oracle of one round."""
        del key, t
        return LossOfMoveOracle(x, y_hat, y)

    def __call__(self, y_hat: PyTree, y: Array) -> Array:
        """What was told."""
        del y_hat
        return y

    def gradient(self, y_hat: PyTree, y: Array) -> PyTree:
        """Nobody knows it: a learner that asks for it is refused when it is bound to the game.

        Raises:
            TypeError: always.
        """
        raise TypeError("loss: only the loss of the move is known, but the learner asks for the gradient; pass y")


def pad_rows(rows: np.ndarray) -> np.ndarray:
    """A table with these rows, at most ROWS of them, in front."""
    padded = np.zeros((TABLE_ROWS, *rows.shape[1:]), rows.dtype)
    padded[: len(rows)] = rows
    return padded


class Programs(NamedTuple):
    """What is compiled for all games and entrants of one structure.

    Attributes:
        begin: the states before round 1, of (leaves, key data).
        play: the states after some rounds and the records of all rows, of (leaves, key data, first round, states, table
            of instances, table of outcomes, number of rounds).
        moves: the moves on many instances, of (leaves, key data, round, states, instances).
    """

    begin: Callable[..., States]
    play: Callable[..., tuple[States, Round]]
    moves: Callable[..., PyTree]


@functools.lru_cache(MAX_PROGRAMS)
def compile_programs(structure: Any, impl: Any) -> Programs:
    """The programs for a structure of (game, entrant) and a generator of random numbers.

    They take leaves, and a key as its numbers: structs and keys would be taken apart in Python at each call.
    """

    def parts(leaves: list[Array], key_data: Array) -> tuple[Game, Entrant, Any]:
        return *jax.tree.unflatten(structure, leaves), stream_keys(jax.random.wrap_key_data(key_data, impl=impl))

    @jax.jit
    def begin(leaves, key_data):
        return start(*parts(leaves, key_data))

    @jax.jit
    def play(leaves, key_data, t, states, X, y, number):
        game, entrant, keys = parts(leaves, key_data)
        game = replace(game, environment=Arrivals(X, y, t))
        rounds = t + jnp.arange(TABLE_ROWS, dtype=jnp.int32)
        record = jax.eval_shape(lambda states: play_round(game, entrant, keys, t, states)[1], states)

        def one_round(row, carry):
            states, history = carry
            states, record = play_round(game, entrant, keys, rounds[row], states)
            return states, jax.tree.map(
                lambda rows, new: jax.lax.dynamic_update_index_in_dim(rows, new, row, 0), history, record
            )

        history = jax.tree.map(lambda leaf: jnp.zeros((TABLE_ROWS, *leaf.shape), leaf.dtype), record)
        return jax.lax.fori_loop(jnp.int32(0), number, one_round, (states, history))

    @jax.jit
    def moves(leaves, key_data, t, states, X):
        game, entrant, keys = parts(leaves, key_data)

        def move(x):  # whatever the outcome; what comes after the move is not computed
            come = Arrivals(x[None], game.environment.y, t)
            return play_round(replace(game, environment=come), entrant, keys, t, states)[1].y_hat

        return jax.vmap(move)(X)

    return Programs(begin, play, moves)
