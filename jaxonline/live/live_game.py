"""The bound game of a live learner, with its key, precision and compiled programs."""

import contextlib
import math
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key

from jaxonline.feedback import Bandit, LossOfMove
from jaxonline.game import Game, Specs, States, WithFeedback, bind, overflow_flag
from jaxonline.live import state_files
from jaxonline.live.rounds import TABLE_ROWS, Outcome, ReportedLoss, compile_programs, no_arrivals, table_of
from jaxonline.live.word_layout import Packed, WordLayout
from jaxonline.losses import ArmLoss, Squared
from jaxonline.parameters.types import PyTree
from jaxonline.simulation.resuming import plain_leaf

MOVES_BATCH = 16  # instances in a call; larger programs run in another thread, which takes longer to wake up
NO_CHANGE = contextlib.nullcontext()


class KeptPrecision:
    """Jax's precision at creation: whether float64 was enabled (`x64`), and the dtype of all numbers."""

    def __init__(self, x64: bool | None = None):
        self.x64 = bool(jax.config.jax_enable_x64 if x64 is None else x64)  # type: ignore[attr-defined]
        self.dtype = np.dtype(np.float64 if self.x64 else np.float32)

    def __call__(self) -> contextlib.AbstractContextManager[None]:
        """Return a context in which jax has this precision."""
        same = jax.config.jax_enable_x64 == self.x64  # type: ignore[attr-defined]
        return NO_CHANGE if same else jax.enable_x64(self.x64)


class LiveGame:
    """A game bound to a learner, its key, and the compiled programs.

    `losses` are the losses of the game and the learner. `loss_range` is the range of arm losses that the learner
    requires, or None. `may_overflow` states whether the learner reports that its storage is full.
    """

    def __init__(
        self, game: Game, entrant: WithFeedback, info: Any, key: Key[Array, ""], precision: KeptPrecision,
        first_specs: Specs | None = None,
    ):  # fmt: skip
        self.game, self.entrant, self._key, self._precision = game, entrant, key, precision
        self._numbers, structure = jax.tree.flatten((game.feedback, game.loss, entrant))
        self._programs = compile_programs(structure, game.specs, first_specs or game.specs, jax.random.key_impl(key))
        self._key_data = jax.random.key_data(key)
        states, outcome = self._programs.shapes(self._numbers, self._key_data)
        self._structure, self._layout = jax.tree.structure(states), WordLayout(outcome)
        self._table, self._size = table_of(game.specs), math.prod(game.specs.instance.shape)
        self._table[:, self._size :] = 1.0  # the outcome of a round that is not known
        self._integers = np.dtype(f"i{self._table.itemsize}")
        own_loss, self.loss_range = entrant.learner.loss, entrant.learner.loss_range
        self.losses = [game.loss] if own_loss is None else [game.loss, own_loss]
        self.may_overflow = overflow_flag(info) is not None

    @classmethod
    def of(cls, game: Game, entrant: WithFeedback, key: Key[Array, ""], precision: KeptPrecision) -> "LiveGame":
        """Bind a game and an entrant; a TypeError or ValueError if the learner cannot play the game."""
        with precision():
            bound = bind(game, entrant)
            return cls(bound.game, bound.entrant, bound.record.info, key, precision)

    def with_reported_loss(self) -> "LiveGame":
        """Return the same learner in a game of reported losses; a TypeError unless the feedback is `LossOfMove`."""
        if not isinstance(self.entrant.feedback, LossOfMove):
            raise TypeError(
                "loss: only the feedbacks Bandit and LossOfMove accept it "
                f"(got {type(self.entrant.feedback).__name__}); give y"
            )
        with self._precision():
            game = Game(
                no_arrivals(Specs.of_vectors(self.game.specs.instance.shape, self._precision.dtype)),
                ReportedLoss(),
                ReportedLoss(),
            )
            entrant = WithFeedback(self.entrant.learner, ReportedLoss())
            return LiveGame(game, entrant, (), self._key, self._precision, self.game.specs)

    def identity(self) -> dict[str, str]:
        """Hashes that distinguish learner, feedback and loss from others, by name."""
        parts = {"learner": self.entrant.learner, "feedback": self.entrant.feedback, "loss": self.game.loss}
        return state_files.identity(parts)

    def begin(self) -> list[Array]:
        """The leaves of the states before round 1."""
        with self._precision():
            return self._programs.begin(self._numbers, self._key_data)

    def state_shapes(self) -> list[jax.ShapeDtypeStruct]:
        """Shapes and dtypes of the leaves of the states as plain arrays; nothing is computed."""

        def plain_leaves(numbers, key_data):
            return list(map(plain_leaf, self._programs.begin(numbers, key_data)))

        with self._precision():
            return jax.eval_shape(plain_leaves, self._numbers, self._key_data)

    def states(self, leaves: list[Array]) -> States:
        """The states with these leaves."""
        return jax.tree.unflatten(self._structure, leaves)

    def play(
        self, t: int, states: list[Array], X: np.ndarray, y: np.ndarray | None = None
    ) -> tuple[list[Array], Packed]:
        """Play at most TABLE_ROWS rounds from round t on; without y, only the move is meaningful.

        Returns:
            The leaves of the states after the rounds, and a table of outcomes for `read`.
        """
        table, n_rows = self._table.copy(), len(X)
        table[:n_rows, : self._size] = X.reshape(n_rows, -1)
        if y is not None:
            table[:n_rows, self._size :] = y.reshape(n_rows, -1)
        integers = table.view(self._integers)
        integers[TABLE_ROWS, 0], integers[TABLE_ROWS + 1, 0] = t, n_rows
        with self._precision():
            states, outcomes = self._programs.play(self._numbers, self._key_data, states, table)
        return states, Packed(np.asarray(outcomes.words), [np.asarray(array) for array in outcomes.arrays])

    def read(self, outcomes: Packed, rows: int | slice) -> Outcome:
        """Return one row or several rows of a table of outcomes."""
        return self._layout.read(outcomes, rows)

    def moves(self, t: int, states: list[Array], X: np.ndarray) -> PyTree:
        """The moves on many instances in round t."""
        padded = np.zeros((len(X) + -len(X) % MOVES_BATCH, *X.shape[1:]), X.dtype)
        padded[: len(X)] = X
        with self._precision():
            parts = [
                self._programs.moves(
                    self._numbers, self._key_data, states, np.int32(t), padded[first : first + MOVES_BATCH]
                )
                for first in range(0, len(padded), MOVES_BATCH)
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
