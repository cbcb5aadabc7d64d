"""The bound game of a live learner, with its key, precision and compiled programs."""

import contextlib
from typing import Any

import jax
import numpy as np
from jaxtyping import Array, Key, PyTree

from jaxonline.feedback import Bandit, LossOfMove
from jaxonline.game import Entrant, Game, Round, States, bind, overflow_flag
from jaxonline.game.traits import LearnerTraits, traits_of
from jaxonline.live import state_files
from jaxonline.live.rounds import TABLE_ROWS, Arrivals, ReportedLoss, compile_programs, pad_rows
from jaxonline.losses import ArmLoss, Squared
from jaxonline.store.key_arrays import plain_leaf

ONE_ROUND = np.int32(1)
MOVES_BATCH = 64  # instances per call


class KeptPrecision:
    """Jax's precision at creation: whether float64 was enabled (`x64`), and the dtype of all numbers."""

    def __init__(self, x64: bool | None = None):
        self.x64 = bool(jax.config.jax_enable_x64 if x64 is None else x64)  # type: ignore[attr-defined]
        self.dtype = np.dtype(np.float64 if self.x64 else np.float32)

    def __call__(self) -> contextlib.AbstractContextManager:
        """Return a context in which jax has this precision."""
        same = jax.config.jax_enable_x64 == self.x64  # type: ignore[attr-defined]
        return contextlib.nullcontext() if same else jax.enable_x64(self.x64)


class LiveGame:
    """A game bound to a learner, its key, and the compiled programs.

    `unknown` is a table of arbitrary outcomes, and `losses` are the losses of the game and the learner. `loss_range` is
    the range of arm losses that the learner requires, or None. `may_overflow` states whether the learner reports that
    its storage is full.
    """

    def __init__(self, game: Game, entrant: Entrant, info: Any, key: Key[Array, ""], precision: KeptPrecision):
        self.game, self.entrant, self._key, self._precision = game, entrant, key, precision
        self._leaves, structure = jax.tree.flatten((game, entrant))
        self._programs = compile_programs(structure, jax.random.key_impl(key))
        self._key_data = jax.random.key_data(key)
        self.unknown = np.ones((TABLE_ROWS, *game.specs.outcome.shape), precision.dtype)
        own_loss, self.loss_range, *_ = traits_of(entrant.learner, LearnerTraits)
        self.losses = [game.loss] if own_loss is None else [game.loss, own_loss]
        self.may_overflow = overflow_flag(info) is not None

    @classmethod
    def of(cls, game: Game, entrant: Entrant, key: Key[Array, ""], precision: KeptPrecision) -> "LiveGame":
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
                no_arrivals(self.game.specs.instance.shape, (), self._precision.dtype), ReportedLoss(), ReportedLoss()
            )
            return LiveGame(game, Entrant(self.entrant.learner, ReportedLoss()), (), self._key, self._precision)

    def identity(self) -> dict[str, str]:
        """Hashes that distinguish learner, feedback and loss from others, by name."""
        parts = {"learner": self.entrant.learner, "feedback": self.entrant.feedback, "loss": self.game.loss}
        return state_files.identity(parts)

    def begin(self) -> States:
        """The states before round 1."""
        with self._precision():
            return self._programs.begin(self._leaves, self._key_data)

    def state_shapes(self) -> list[jax.ShapeDtypeStruct]:
        """Shapes and dtypes of the leaves of the states as plain arrays; nothing is computed."""

        def plain_leaves(leaves, key_data):
            return [plain_leaf(leaf) for leaf in jax.tree.leaves(self._programs.begin(leaves, key_data))]

        with self._precision():
            return jax.eval_shape(plain_leaves, self._leaves, self._key_data)

    def play(
        self, t: int, states: States, X: np.ndarray, y: np.ndarray, number: np.int32 = ONE_ROUND
    ) -> tuple[States, Round]:
        """The states after `number` rounds from round t on, and their records, in the first rows of a table."""
        with self._precision():
            return self._programs.play(self._leaves, self._key_data, np.int32(t), states, X, y, number)

    def moves(self, t: int, states: States, X: np.ndarray) -> PyTree:
        """The moves on many instances in round t."""
        padded = np.concatenate([X, np.zeros((-len(X) % MOVES_BATCH, *X.shape[1:]), X.dtype)])
        with self._precision():
            parts = [
                self._programs.moves(
                    self._leaves, self._key_data, np.int32(t), states, padded[first : first + MOVES_BATCH]
                )
                for first in range(0, len(padded), MOVES_BATCH)
            ]
        return jax.tree.map(lambda *leaves: np.concatenate(leaves)[: len(X)], *parts)


def no_arrivals(instance: tuple[int, ...], outcome: tuple[int, ...], dtype: Any) -> Arrivals:
    """Return an environment that has no rows but states the shapes of instances and outcomes."""
    X, y = (pad_rows(np.zeros((0, *shape), dtype)) for shape in (instance, outcome))
    return Arrivals(X, y, np.int32(1))


def default_loss(entrant: Entrant) -> Any:
    """The loss of the learner, or else of its feedback."""
    own = traits_of(entrant.learner, LearnerTraits).loss
    if own is not None:
        return own
    if isinstance(entrant.feedback, LossOfMove):
        return entrant.feedback.loss
    return ArmLoss() if isinstance(entrant.feedback, Bandit) else Squared()
