"""The compiled programs of a live learner.

A single round compiles to other instructions than a round in the loop of `jo.play`, and the last bits of float32
differ. So a round runs in a loop over the rows of a small table, and the compiler does not know how many rounds it has.
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

TABLE_ROWS = 8  # with one or two rows, XLA compiles some loops in another way
MAX_PROGRAMS = 256  # in the cache, one for each structure


@struct
class Arrivals(EnvironmentDefaults):
    """An environment of given instances X [TABLE_ROWS, ...] and outcomes y, one row a round from round `first` on."""

    X: Any  # arrays of jax or NumPy
    y: Any
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
        """Return the state: the index of the row of the present round."""
        del key
        return jnp.int32(0)

    def instance(self, key: Key[Array, ""], state: Array, t: Int[Array, ""]) -> tuple[Array, Int[Array, ""]]:
        """Return the instance of round t, and the index of its row."""
        del key, state
        row = t - self.first
        return self.X[row], row

    def answer(
        self, key: Key[Array, ""], state: Int[Array, ""], t: Int[Array, ""], x: Array, y_hat: PyTree
    ) -> tuple[Array, Int[Array, ""]]:
        """Return the outcome of the row whose index is the state, and the state."""
        del key, t, x, y_hat
        return self.y[state], state


@struct
class ReportedLoss(FeedbackDefaults):
    """Both feedback and loss of a game in which the outcomes are the losses that the user reports for the moves."""

    def open(self, key: Any, t: Int[Array, ""], x: PyTree, y: Array, y_hat: PyTree) -> LossOfMoveOracle:
        """The oracle of one round."""
        del key, t
        return LossOfMoveOracle(x, y_hat, y)

    def __call__(self, y_hat: PyTree, y: Array) -> Array:
        """The reported loss."""
        del y_hat
        return y

    def gradient(self, y_hat: PyTree, y: Array) -> PyTree:
        """Raises a TypeError, since the gradient is unknown: a learner that needs it is rejected when it is bound."""
        raise TypeError("loss: the learner needs the gradient, but only the loss of the move is known; pass y")


def pad_rows(rows: np.ndarray) -> np.ndarray:
    """A table of TABLE_ROWS rows that starts with these rows."""
    padded = np.zeros((TABLE_ROWS, *rows.shape[1:]), rows.dtype)
    padded[: len(rows)] = rows
    return padded


class Programs(NamedTuple):
    """The compiled programs for games and entrants of one structure: first states, rounds, and many moves."""

    begin: Callable[..., States]
    play: Callable[..., tuple[States, Round]]
    moves: Callable[..., PyTree]


@functools.lru_cache(MAX_PROGRAMS)
def compile_programs(structure: Any, impl: Any) -> Programs:
    """The programs for a structure of (game, entrant) and a generator of random numbers.

    The programs take leaves and key data, since Python would flatten structs and keys at every call.
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

        def move(x):  # XLA drops what the move does not need
            come = Arrivals(x[None], game.environment.y, t)
            return play_round(replace(game, environment=come), entrant, keys, t, states)[1].y_hat

        return jax.vmap(move)(X)

    return Programs(begin, play, moves)
