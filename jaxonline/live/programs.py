"""The compiled programs of a live learner, and its game bound to a key.

A single round compiles to other instructions than a round in the loop of `jo.play`, and the last bits of float32
differ. So a round runs in a loop over the rows of a small table, and the compiler does not know how many rounds it has.

A call takes longer for every array that goes in or out, even if it has one number. So one table has the instances and
outcomes of a call, and one array of 32-bit words all that the host reads (`python -m benchmarks.live`). An array of the
state stays an array of its own: to take it out of a packed array is one more operation at the start of the program, and
XLA runs a program in several threads if more than nine operations can start at once, which takes longer than the round.
"""

import contextlib
import functools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.interpreters.partial_eval import dce_jaxpr
from jaxtyping import Array, ArrayLike, Int, Key

from jaxonline.feedback import Bandit, LossOfMove, LossOfMoveOracle
from jaxonline.game.binding import bind, overflow_flag
from jaxonline.game.keys import StreamKeys, stream_keys
from jaxonline.game.roles import Draw, Environment, Feedback, Specs
from jaxonline.game.round import Game, Round, States, WithFeedback, play_round, start
from jaxonline.live.decisions import WithArms
from jaxonline.losses import ArmLoss, Squared
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import PyTree

TABLE_ROWS = 8  # with one or two rows, XLA compiles some loops in another way
MAX_PROGRAMS = 256  # in the cache, one for each structure
FIRST_EXTRA_ROUND = 2**30  # of the random numbers of draws that estimate probabilities
MOVES_BATCH = 16  # instances in a call; larger programs run in another thread, which takes longer to wake up
NO_CHANGE = contextlib.nullcontext()


@struct
class Arrivals(Environment):
    """An environment of given instances and outcomes, one row a round from round `first` on.

    A row of the table [rows, numbers] has the entries of the instance, and then those of the outcome.
    """

    table: Any  # array of jax or NumPy
    first: Int[ArrayLike, ""]
    specs: Specs = static()
    rewards: bool = static(default=False)

    @property
    def instance_spec(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype of an instance."""
        return self.specs.instance

    @property
    def outcome_spec(self) -> jax.ShapeDtypeStruct:
        """Shape and dtype of an outcome."""
        return self.specs.outcome

    def instance(self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""]) -> tuple[Array, tuple[()]]:
        """Return the instance of round t, and the state."""
        return self.table[t - self.first, : self.specs.instance.size].reshape(self.specs.instance.shape), state

    def outcome(
        self, key: Key[Array, ""], state: tuple[()], t: Int[Array, ""], x: Array, y_hat: PyTree
    ) -> tuple[Array, tuple[()]]:
        """Return the outcome of round t, and the state."""
        return self.table[t - self.first, self.specs.instance.size :].reshape(self.specs.outcome.shape), state


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


def no_arrivals(specs: Specs, rewards: bool = False) -> Arrivals:
    """Return an environment of these shapes of instances and outcomes, with a table of TABLE_ROWS empty rows.

    Of two more rows the first numbers are the bits of integers: the first round, and the number of rounds to play.
    """
    table = np.zeros((TABLE_ROWS + 2, sum(spec.size for spec in specs)), specs.instance.dtype)
    return Arrivals(table, np.int32(1), specs, rewards)


class Programs:
    """The compiled programs for games and entrants of one structure.

    They take the numbers of a game and an entrant as leaves, and a key as its data, since Python would take structs and
    keys apart at every call.

    Args:
        structure: tree definition of (feedback, loss, entrant).
        specs: shapes and dtypes of instances and outcomes.
        first_specs: shapes and dtypes for the first states; they differ if the outcome is a reported loss.
        impl: the generator of random numbers.
        rewards: whether outcomes are 1 minus rewards.
    """

    def __init__(self, structure: Any, specs: Specs, first_specs: Specs, impl: Any, rewards: bool):
        self.structure, self.specs, self.first_specs, self.impl = structure, specs, first_specs, impl
        self.rewards = rewards

    def _parts(
        self, numbers: list[Array], key_data: Array, arrivals: Arrivals
    ) -> tuple[Game, WithFeedback, StreamKeys]:
        """Return game, entrant and keys inside a program."""
        feedback, loss, entrant = jax.tree.unflatten(self.structure, numbers)
        return Game(arrivals, feedback, loss), entrant, stream_keys(jax.random.wrap_key_data(key_data, impl=self.impl))

    @functools.partial(jax.jit, static_argnums=0)
    def begin(self, numbers: list[Array], key_data: Array) -> States:
        """Return the states before round 1."""
        return start(*self._parts(numbers, key_data, no_arrivals(self.first_specs, self.rewards)))

    @functools.partial(jax.jit, static_argnums=0)
    def play(self, numbers: list[Array], key_data: Array, states: States, table: Array) -> tuple[States, Array]:
        """Play the rounds of a table; return the states after them, and packed outcomes [TABLE_ROWS, words]."""
        integers = jax.lax.bitcast_convert_type(table[TABLE_ROWS:, 0], f"int{8 * table.dtype.itemsize}")
        t, n_rows = integers.astype(jnp.int32)
        parts = self._parts(numbers, key_data, Arrivals(table, t, self.specs, self.rewards))
        rounds = t + jnp.arange(TABLE_ROWS, dtype=jnp.int32)

        def one_round(row, carry):
            states, history = carry
            states, outcome = _play_one(*parts, rounds[row], states)
            return states, jax.tree.map(
                lambda rows, new: jax.lax.dynamic_update_index_in_dim(rows, new, row, 0), history, outcome
            )

        outcome = jax.eval_shape(lambda: _play_one(*parts, t, states)[1])
        history = jax.tree.map(lambda leaf: jnp.zeros((TABLE_ROWS, *leaf.shape), leaf.dtype), outcome)
        states, history = jax.lax.fori_loop(jnp.int32(0), n_rows, one_round, (states, history))
        return states, WordLayout(outcome).pack(history)

    def outcome_specs(self, numbers: list[Array], key_data: Array) -> Round:
        """Return the shapes and dtypes of the outcome of a round."""

        def first_outcome(numbers, key_data):
            arrivals = jax.tree.map(jnp.asarray, no_arrivals(self.specs, self.rewards))
            parts = self._parts(numbers, key_data, arrivals)
            return _play_one(*parts, jnp.int32(1), self.begin(numbers, key_data))[1]

        return jax.eval_shape(first_outcome, numbers, key_data)

    @functools.partial(jax.jit, static_argnums=0)
    def moves(self, numbers: list[Array], key_data: Array, states: States, rounds: Array, X: Array) -> PyTree:
        """Return the moves on instances, each in its round; XLA drops what the moves do not need."""

        def move(t, x):
            row = jnp.concatenate([x.ravel(), jnp.zeros(self.specs.outcome.size, x.dtype)])
            arrivals = Arrivals(row[None], t, self.specs, self.rewards)
            return _play_one(*self._parts(numbers, key_data, arrivals), t, states)[1].y_hat

        return jax.vmap(move)(rounds, X)


compiled_programs = functools.lru_cache(MAX_PROGRAMS)(Programs)


def _play_one(game: Game, entrant: WithFeedback, keys: StreamKeys, t: Array, states: States) -> tuple[States, Round]:
    """Return the next states, and the part of the record that the host does not know before."""
    states, record = play_round(game, entrant, keys, t, states)
    return states, record._replace(x=(), y=(), y_comparator=())


class WordLayout:
    """The places of the leaves of a pytree in a row of 32-bit words.

    A number of at most 32 bits takes a word, and one of 64 bits two.

    Args:
        specs: pytree of `jax.ShapeDtypeStruct`, without the axis of rows.
    """

    def __init__(self, specs: PyTree):
        leaves, self._structure = jax.tree.flatten(specs)
        self._places: list[tuple[int, np.dtype, tuple[int, ...], int | slice]] = []  # columns in rows of the dtype
        n_words = 0
        # numbers of 64 bits come first, and a row has an even number of words, so that they are aligned
        for index in sorted(range(len(leaves)), key=lambda index: -leaves[index].dtype.itemsize):
            shape, dtype = leaves[index].shape, leaves[index].dtype
            first, step = 4 * n_words // dtype.itemsize, max(4 // dtype.itemsize, 1)
            stop = first + step * leaves[index].size
            self._places.append((index, dtype, shape, slice(first, stop, step) if shape else first))
            n_words = stop * dtype.itemsize // 4
        self._padding = n_words % 2

    def pack(self, rows: PyTree) -> Array:
        """Return the words of rows of the pytree [rows, words], inside a compiled program."""
        leaves = jax.tree.leaves(rows)
        parts = [_to_words(leaves[index]) for index, *_ in self._places]
        return jnp.concatenate([*parts, jnp.zeros((len(leaves[0]), self._padding), jnp.uint32)], axis=1)

    def read(self, words: np.ndarray, rows: int | slice) -> PyTree:
        """Return one row or several rows of the pytree on the host, as views; a scalar of one row is a NumPy scalar."""
        leaves: list[Any] = [None] * len(self._places)
        for index, dtype, shape, columns in self._places:
            part = words.view(dtype)[rows, columns]
            leaves[index] = part.reshape(*part.shape[:-1], *shape) if len(shape) > 1 else part
        return self._structure.unflatten(leaves)


def _to_words(rows: Array) -> Array:
    """Return the bits of each number, in the first bytes of a word."""
    if rows.dtype != bool:
        rows = jax.lax.bitcast_convert_type(rows, f"uint{8 * min(rows.dtype.itemsize, 4)}")
    return rows.astype(jnp.uint32).reshape(len(rows), -1)


# ---------------------------------------------------------------------------------------------------------------------
# A game bound to a learner, its key and precision.


class KeptPrecision:
    """Jax's precision at creation: whether float64 was enabled (`x64`), and the dtype of all numbers."""

    def __init__(self):
        self.x64 = bool(jax.config.jax_enable_x64)  # type: ignore[attr-defined]
        self.dtype = np.dtype(np.float64 if self.x64 else np.float32)

    def __call__(self) -> contextlib.AbstractContextManager[None]:
        """Return a context in which jax has this precision."""
        same = jax.config.jax_enable_x64 == self.x64  # type: ignore[attr-defined]
        return NO_CHANGE if same else jax.enable_x64(self.x64)


class LiveGame:
    """A game bound to a learner, its key, and the compiled programs.

    Attributes:
        losses: the losses of the game and the learner.
        may_overflow: whether the learner reports that its storage is full.
        read: function that returns one row or several rows of the outcomes of `play`.
    """

    def __init__(
        self, game: Game, entrant: WithFeedback, key: Key[Array, ""], precision: KeptPrecision,
        first_specs: Specs | None = None,
    ):  # fmt: skip
        self.game, self.entrant, self._key, self._precision = game, entrant, key, precision
        self._numbers, structure = jax.tree.flatten((game.feedback, game.loss, entrant))
        impl, first_specs = jax.random.key_impl(key), first_specs or game.specs
        self._programs = compiled_programs(structure, game.specs, first_specs, impl, game.rewards)
        self._key_data = jax.random.key_data(key)
        outcome_specs = self._programs.outcome_specs(self._numbers, self._key_data)
        self.read = WordLayout(outcome_specs).read
        self._table, self._size = no_arrivals(game.specs).table, game.specs.instance.size
        self._integers = np.dtype(f"i{self._table.itemsize}")
        self._table[:, self._size :] = 1.0  # the outcome of a round that is not known
        own_loss = entrant.learner.loss
        self.losses = [game.loss] if own_loss is None else [game.loss, own_loss]
        self.may_overflow = overflow_flag(outcome_specs.info) is not None

    @classmethod
    def of(cls, game: Game, entrant: WithFeedback, key: Key[Array, ""], precision: KeptPrecision) -> "LiveGame":
        """Bind a game and an entrant; a TypeError or ValueError if the learner cannot play the game."""
        with precision():
            bound = bind(game, entrant)
            return cls(bound.game, bound.entrant, key, precision)

    @functools.cached_property
    def of_reported_losses(self) -> "LiveGame":
        """The same learner in a game of reported losses; a TypeError unless the feedback is `LossOfMove`."""
        if not isinstance(self.entrant.feedback, LossOfMove):
            kind = type(self.entrant.feedback).__name__
            raise TypeError(f"loss: only the feedbacks Bandit and LossOfMove accept it (got {kind}); give y")
        with self._precision():
            specs = Specs.of_vectors(self.game.specs.instance.shape, self._precision.dtype)
            game = Game(no_arrivals(specs), ReportedLoss(), ReportedLoss())
            entrant = WithFeedback(self.entrant.learner, ReportedLoss())
            return LiveGame(game, entrant, self._key, self._precision, self.game.specs)

    @functools.cached_property
    def with_arms(self) -> "LiveGame":
        """The same bandit with rows of an instance, an arm, and numbers of all arms (`decisions.WithArms`)."""
        own, learner = self.game.specs, WithArms(self.entrant.learner, self.game.specs)
        with self._precision():
            specs = Specs.of_vectors(own.instance.size + 1 + own.outcome.size, own.instance.dtype)
            arrivals = no_arrivals(specs._replace(outcome=own.outcome), self.game.rewards)
            game = Game(arrivals, Bandit(), self.game.loss)
            return LiveGame(game, WithFeedback(learner, Bandit()), self._key, self._precision)

    @functools.cached_property
    def accepts_rewards(self) -> bool:
        """Whether the learner's numbers, such as those of a prior, are the same for rewards, or those of rewards."""
        learner = self.entrant.learner
        pairs = zip(jax.tree.leaves(learner), jax.tree.leaves(learner.for_rewards()), strict=True)
        return self.game.rewards or all(np.array_equal(*pair) for pair in pairs)

    @functools.cached_property
    def is_random(self) -> bool:
        """Whether a move depends on the random key of the round."""
        with self._precision():
            key, x = stream_keys(self._key).learner, jnp.zeros(self.game.specs.instance.shape, self._precision.dtype)
            program = jax.make_jaxpr(self.entrant.learner.predict)(key, self.begin().learner, x).jaxpr
        return dce_jaxpr(program, [True] * len(program.outvars))[1][0]

    def probabilities(self, states: States, x: np.ndarray, move: Any, n_draws: int) -> np.ndarray:
        """Return the probabilities of all arms before a move; estimates by draws if they are unknown, else NaN."""
        if isinstance(move, Draw):
            return np.array(move.probabilities)
        chosen = (np.arange(self.game.specs.outcome.size) == move).astype(x.dtype)
        if not (n_draws and self.is_random):
            return np.where(self.is_random, np.nan, chosen)
        drawn = self.moves(FIRST_EXTRA_ROUND + np.arange(n_draws), states, np.repeat(x[None], n_draws, axis=0))
        return (np.bincount(drawn, minlength=len(chosen)).astype(x.dtype) + chosen) / (n_draws + 1)

    def begin(self) -> States:
        """The states before round 1."""
        with self._precision():
            return self._programs.begin(self._numbers, self._key_data)

    def play(self, t: int, states: States, X: np.ndarray, y: np.ndarray | None = None) -> tuple[States, np.ndarray]:
        """Play at most TABLE_ROWS rounds from round t on; without y, only the move is meaningful.

        Returns:
            The states after the rounds, and packed outcomes for `read`.
        """
        table, n_rows = self._table.copy(), len(X)
        table[:n_rows, : self._size] = X.reshape(n_rows, -1)
        if y is not None:
            table[:n_rows, self._size :] = y.reshape(n_rows, -1)
        integers = table.view(self._integers)
        integers[TABLE_ROWS, 0], integers[TABLE_ROWS + 1, 0] = t, n_rows
        with self._precision():
            states, words = self._programs.play(self._numbers, self._key_data, states, table)
        return states, np.asarray(words)

    def moves(self, rounds: ArrayLike, states: States, X: np.ndarray) -> PyTree:
        """The moves on many instances, each in its round (or all in one round)."""
        padded = np.zeros((len(X) + -len(X) % MOVES_BATCH, *X.shape[1:]), X.dtype)
        padded[: len(X)], t = X, np.zeros(len(padded), np.int32)
        t[: len(X)] = rounds
        with self._precision():
            batches = [np.split(array, len(padded) // MOVES_BATCH) for array in (t, padded)]
            parts = [
                self._programs.moves(self._numbers, self._key_data, states, *part)
                for part in zip(*batches, strict=True)
            ]
        return jax.tree.map(lambda *leaves: np.concatenate(list(map(np.asarray, leaves)))[: len(X)], *parts)


def default_loss(entrant: WithFeedback) -> Any:
    """The loss of the learner, or else of its feedback."""
    own = entrant.learner.loss
    if own is not None:
        return own
    if isinstance(entrant.feedback, LossOfMove):
        return entrant.feedback.loss
    return ArmLoss() if isinstance(entrant.feedback, Bandit) else Squared()
