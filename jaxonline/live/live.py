"""A learner on live data: `predict` when an instance comes, `update` when its outcome is known."""

import os
import warnings
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Key, PyTree

from jaxonline.feedback import Bandit, FullInformation
from jaxonline.game import Draw, Entrant, Game, Round, as_entrant, warn_of_other_losses
from jaxonline.game.traits import LearnerTraits, traits_of
from jaxonline.live import inputs, state_files
from jaxonline.live.live_game import KeptPrecision, LiveGame, default_loss, no_arrivals
from jaxonline.live.rounds import TABLE_ROWS, pad_rows
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.short_repr import short_repr


class OpenRound(NamedTuple):
    """A round whose outcome is not known yet: its instance, and the move."""

    x: np.ndarray
    move: PyTree


class Live:
    """A learner that meets its instances one at a time, on the host, as they come.

    `predict(x)` is the first half of a round of the game, `update(x, y)` the second. Numbers are those of `jo.play`
    with the same key on the same data, bit for bit on a CPU, with every learner of the registry (that is, on a
    `DataStream`: an environment that draws its instances is compiled into one program with the learner, in which some
    of them are never rounded, and the last bits may differ). Both halves run the same compiled program, which is made
    once for all learners of one structure: the move that was told is the move that is learned from.

    The feedback is what the learner may ask of what you bring. `FullInformation` shows it the instance and the outcome.
    Any other feedback is simulated: `NoisyCopies` adds its noise to the clean instance that you bring, `Attributes`
    shows only the coordinates that are asked for, and so on. Where your instances are noisy already, bring them under
    `FullInformation`; several measurements of your own cannot be handed to a learner that asks for copies. A learner
    with a `Bandit` or `LossOfMove` may be told the loss of its move and nothing else: `update(loss=...)` (with a
    `LossOfMove` by another program, whose last bits may differ).

    A learner is played as it is, round by round. One made for a horizon (a step size for n rounds, `MOSS`) plays on
    when the horizon is over, as it does in `jo.play`, and its theorem is then silent; one that runs out of storage says
    so once, in a warning, and goes on as it does there. What works on whole sequences (`jo.aggregate`, `forecast`) is
    not used: its numbers are those of the rounds.

    Args:
        learner: a learner, or an `Entrant`, which has a feedback of its own.
        feedback: what the learner may ask; None for `FullInformation()`.
        instance: the shape of instances, an integer for vectors of this length; None for that of the first one.
        outcome: the shape of outcomes: () for numbers, K for the losses of K arms or experts.
        loss: of a move and an outcome, for the record that `update` returns; None for that of the learner where it has
            one, else that of the feedback, of the arm for a `Bandit`, or the squared loss.
        key: a seed, from 0 to 2^32 - 1 (2^63 - 1 where float64 is enabled), or a key, that of the run.

    Attributes:
        round: the number of rounds played.
        state: the learner's state.

    Raises:
        TypeError: an argument is not what it must be, or (here if `instance` is given, else at the first instance) the
            feedback does not answer what the learner asks, or the loss cannot judge its moves.
        ValueError: the learner cannot play with this feedback on instances and outcomes of these shapes; `key` is no
            seed.

    Warns:
        UserWarning: `loss` is another one than the learner is made for.

    Example:
        >>> import jaxonline as jo
        >>> live = jo.Live(jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.25), jo.FullInformation())
        >>> for x, y in [([1.0, 0.0], 1.0), ([0.0, 1.0], -1.0), ([1.0, 1.0], 0.0)]:
        ...     prediction = live.predict(x)
        ...     record = live.update(x, y)
        >>> float(prediction), float(record.loss), live.round
        (0.0, 0.0, 3)
    """

    def __init__(
        self, learner: Any, feedback: Any = None, *, instance: int | tuple[int, ...] | None = None,
        outcome: int | tuple[int, ...] = (), loss: Any = None, key: int | Key[Array, ""] = 0,
    ):  # fmt: skip
        self._precision = KeptPrecision()
        self._outcome = inputs.to_shape("outcome", outcome)
        self._entrant = as_entrant(
            Game(no_arrivals((0,), self._outcome, self._precision.dtype), FullInformation()),
            learner if isinstance(learner, Entrant) else Entrant(learner, feedback or FullInformation()),
        )
        self._loss = loss if loss is None else check.instance("loss", loss, callable(loss), "a loss")
        run_key = check.as_key("key", key)
        typed = jax.dtypes.issubdtype(run_key.dtype, jax.dtypes.prng_key)
        self._key = run_key if typed else jax.random.wrap_key_data(run_key)
        self.round = 0
        self._warned: set[str] = set()
        self._instance: tuple[int, ...] | None = None
        self._game: LiveGame | None = None  # until the shape of instances is known
        self._told: LiveGame | None = None
        self._states: Any = None  # States, likewise
        self._open: OpenRound | None = None
        if instance is not None:
            self._begin(inputs.to_shape("instance", instance))

    @property
    def state(self) -> PyTree:
        """The learner's state; None before the shape of instances is known."""
        return None if self._states is None else self._states.learner

    def __repr__(self) -> str:
        entrant = self._entrant
        return f"Live({short_repr(entrant.learner)}, {short_repr(entrant.feedback)}, round={self.round})"

    def predict(self, x: ArrayLike | None = None) -> Any:
        """The move on an instance: a number, weights, an arm, a `Draw`, in NumPy.

        It opens a round. Asked again before `update`, it opens the same round again, with another instance: nothing is
        learned from the one before.

        Args:
            x: the instance; None in a game without instances.

        Raises:
            TypeError: `x` does not hold numbers.
            ValueError: it has another shape than the first one, or is not finite.
        """
        x = inputs.to_array("x", x, self._instance, self._precision.dtype)
        game = self._begin(x.shape)
        # the outcome is not known: any will do
        _, history = game.play(self.round + 1, self._states, pad_rows(x[None]), game.unknown)
        move = _first_row(history.y_hat)
        if not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(move)):
            self._warn_of_divergence(_first_rows(history.y_hat, 1), self.round + 1)
        self._open = OpenRound(x, move)
        return move

    def update(self, x: ArrayLike | None = None, y: ArrayLike | None = None, *, loss: ArrayLike | None = None) -> Round:
        """The outcome of the open round is known, and the learner learns what its feedback lets it see.

        Args:
            x: the instance of the open round, which it is compared with; None for not saying it again.
            y: the outcome.
            loss: instead of `y`, where the feedback is a `Bandit` or `LossOfMove`: the loss of the move.

        Returns:
            The record of the round, as `jo.play` has it: loss, move, queries, the learner's info. With the loss of an
            arm, other losses in it are NaN.

        Raises:
            RuntimeError: no round is open: `predict` comes first.
            TypeError: an argument does not hold numbers, or neither or both of `y` and `loss` are given, or a loss is
                told that the feedback does not take.
            ValueError: `x` is not the instance of the open round; `y` or `loss` has another shape, is not finite, or is
                no class where the loss is one of a margin.
        """
        if self._open is None or self._game is None:
            raise RuntimeError(f"update: must come after predict, which opens round {self.round + 1}")
        dtype = self._precision.dtype
        if x is not None and not np.array_equal(inputs.to_array("x", x, self._instance, dtype), self._open.x):
            raise ArgumentError("x", f"must be the instance of the open round, {self._open.x} (got {check.quote(x)})")
        if (y is None) == (loss is None):
            raise ArgumentTypeError(
                "update", f"must be given either y or loss (got {'neither' if y is None else 'both'})"
            )
        game, name = self._game, "y" if loss is None else "loss"
        outcome = inputs.to_array(name, y if loss is None else loss, self._outcome if loss is None else (), dtype)
        inputs.check_outcome_range(name, outcome, game.losses, game.loss_range)
        if loss is not None and isinstance(self._entrant.feedback, Bandit):
            outcome = self._of_all_arms(outcome)
        elif loss is not None:
            game = self._told = self._told or game.with_told_loss()
        return _first_row(self._play(game, self._open.x[None], outcome[None]))

    def learn(self, X: ArrayLike | None, y: ArrayLike) -> Round:
        """Play rounds whose outcomes are known, some at a time, as before going live; an open round is forgotten.

        Numbers are those of `predict` and `update` for one row after the other, bit for bit: it is the same program.

        Args:
            X: instances, one row a round; None in a game without instances.
            y: outcomes, one a round.

        Returns:
            The records, with a leading axis, as `jo.play` has them.

        Raises:
            TypeError: rows do not hold numbers.
            ValueError: no rows, rows of `X` and `y` of different numbers or of other shapes than before, or not finite;
                outcomes that are no classes where the loss is one of a margin.

        Example:
            >>> import numpy as np
            >>> import jaxonline as jo
            >>> live = jo.Live(jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5))
            >>> live.learn(np.eye(3), np.ones(3)).loss.tolist(), live.state.w.tolist()
            ([1.0, 1.0, 1.0], [1.0, 1.0, 1.0])
        """
        dtype = self._precision.dtype
        y = inputs.to_rows("y", y, self._outcome, dtype)
        X = np.zeros((len(y), 0), dtype) if X is None else inputs.to_rows("X", X, self._instance, dtype)
        if len(X) != len(y):
            raise ArgumentError("y", f"must have as many rows as X, {len(X)} (got {len(y)})")
        game = self._begin(X.shape[1:])
        inputs.check_outcome_range("y", y, game.losses, game.loss_range)
        parts = [slice(first, first + TABLE_ROWS) for first in range(0, len(y), TABLE_ROWS)]
        played = [_first_rows(self._play(game, X[part], y[part]), len(y[part])) for part in parts]
        history = jax.tree.map(lambda *leaves: np.concatenate(leaves), *played)
        self._warn_of_divergence(history.y_hat, self.round - len(y) + 1)
        return history

    def moves(self, X: ArrayLike) -> Any:
        """The moves on many instances if any of them came next. No round is opened, and nothing is learned.

        It is another program than that of `predict`, and the last bits may differ.

        Args:
            X: instances, one a row.

        Raises:
            RuntimeError: nothing was learned yet, and no shape was given.
            TypeError: `X` does not hold numbers.
            ValueError: instances have another shape, or are not finite.

        Example:
            >>> import numpy as np
            >>> import jaxonline as jo
            >>> live = jo.Live(jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5), instance=3)
            >>> live.moves(np.eye(3)).tolist()
            [0.0, 0.0, 0.0]
        """
        if self._game is None:
            raise RuntimeError("moves: must come after the first instance, or instance= must be given")
        X = inputs.to_rows("X", X, self._instance, self._precision.dtype)
        return self._game.moves(self.round + 1, self._states, X)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file of arrays (.npz, no pickle), whole or not at all, an open round included.

        The learner is not in it, only what tells it from others.

        Raises:
            RuntimeError: there was no instance yet, so that its shape is not known.
            OSError: the file cannot be written.
        """
        state_files.write_state(path, self._saved())

    def load(self, path: str | os.PathLike[str]) -> "Live":
        """Go on where a state was saved, with its key and its round; returns itself.

        Raises:
            OSError: the file cannot be read.
            ValueError: it is no saved state, or damaged, or that of another learner, feedback or loss (their numbers
                count), of other shapes, or of another precision than jax has here. This one stays as it was.

        Example:
            >>> import pathlib, tempfile
            >>> import jaxonline as jo
            >>> learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.25)
            >>> live = jo.Live(learner, instance=2)
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     live.save(pathlib.Path(folder) / "state.npz")
            ...     again = jo.Live(learner).load(pathlib.Path(folder) / "state.npz")
            >>> again.round, again.predict([1.0, 2.0]) == live.predict([1.0, 2.0])
            (0, np.True_)
        """
        self._restore(str(path), state_files.read_state(path))
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied and pickled as what it was made of, with the content of a saved file."""
        key = str(jax.random.key_impl(self._key)), np.asarray(jax.random.key_data(self._key))
        content = None if self._game is None else state_files.pack(self._saved())
        return _rebuild, (self._precision.x64, self._entrant, self._outcome, self._loss, key, content)

    # -----------------------------------------------------------------------------------------------------------------
    # Parts

    def _begin(self, instance: tuple[int, ...]) -> LiveGame:
        """What is played: bound the first time, when all shapes are known, and at its state before round 1."""
        if self._game is not None:
            return self._game
        with self._precision():
            loss = default_loss(self._entrant) if self._loss is None else self._loss
            game = Game(no_arrivals(instance, self._outcome, self._precision.dtype), self._entrant.feedback, loss)
        live_game = LiveGame.of(game, self._entrant, self._key, self._precision)
        if self._loss is not None:
            warn_of_other_losses(game, {"learner": self._entrant.learner})
        self._states, self._game, self._instance = live_game.begin(), live_game, instance
        return live_game

    def _play(self, game: LiveGame, X: np.ndarray, y: np.ndarray) -> Round:
        """The rounds that are next, which are over then; their records, in a table."""
        number = len(y)
        self._states, history = game.play(self.round + 1, self._states, pad_rows(X), pad_rows(y), np.int32(number))
        self.round, self._open = self.round + number, None
        if game.may_overflow and np.any(full := np.asarray(history.info.overflow)[:number]):
            way = traits_of(self._entrant.learner, LearnerTraits).capacity_hint
            first = self.round - number + 1 + int(np.argmax(full))
            self._warn_once(
                f"the learner ran out of storage in round {first}, and goes on without what found no room. {way}"
            )
        return history

    def _of_all_arms(self, loss: np.ndarray) -> np.ndarray:
        """Losses of all arms of which only that of the arm that was played is known: NaN for the others."""
        losses, move = np.full(self._outcome, np.nan, loss.dtype), self._open.move  # type: ignore[union-attr]
        losses[move.arm if isinstance(move, Draw) else move] = loss
        return losses

    def _warn_of_divergence(self, moves: PyTree, first: int) -> None:
        for leaf in jax.tree.leaves(moves):
            if not np.isfinite(leaf).all():
                finite = np.isfinite(leaf).reshape(len(leaf), -1).all(axis=1)
                self._warn_once(
                    f"the move of round {first + int(np.argmin(finite))} is NaN or infinite, and so it may stay. Where "
                    "steps are too large, a smaller one or a radius keeps a learner finite"
                )

    def _warn_once(self, message: str) -> None:
        """Once of each kind."""
        kind = message.split()[1]
        if kind not in self._warned:
            self._warned.add(kind)
            warnings.warn(message, RuntimeWarning, stacklevel=5)

    def _saved(self) -> state_files.Saved:
        if self._game is None or self._instance is None:
            raise RuntimeError("save: must come after the first predict, or instance= must be given")
        return state_files.Saved(
            self._game.identity(), short_repr(self._entrant), self._instance, self._outcome, self._precision.dtype.name,
            self._key, self.round, state_files.leaves_of(self._states), None if self._open is None else self._open.x,
        )  # fmt: skip

    def _restore(self, path: str, saved: state_files.Saved) -> None:
        """Be as what was saved, or raise and stay as it was."""
        if saved.dtype != self._precision.dtype.name:
            raise ValueError(
                f"{path}: must be a state of {self._precision.dtype.name}, jax's precision here (got {saved.dtype})"
            )
        if saved.outcome != self._outcome or self._instance not in (None, saved.instance):
            raise ValueError(
                f"{path}: must be a state for instances of shape {self._instance} and outcomes of shape "
                f"{self._outcome} (got {saved.instance} and {saved.outcome})"
            )
        with self._precision():
            other = Live(self._entrant, outcome=self._outcome, loss=self._loss, key=saved.key)
        state_files.check_same(path, saved, other._begin(saved.instance).identity(), short_repr(self._entrant))
        with self._precision():
            other._states = state_files.restore_leaves(path, other._states, saved.leaves)
        other.round = saved.round
        if saved.x is not None:
            other.predict(saved.x)
        vars(self).update(vars(other))


def _first_rows(history: PyTree, number: int) -> Any:
    """The first rows, on the host."""
    return jax.tree.map(lambda leaf: np.asarray(leaf)[:number], history)


def _first_row(history: PyTree) -> Any:
    """The first row, on the host; of an array without a detour, as it is met at every step."""
    if isinstance(history, jax.Array):
        return np.asarray(history)[0]
    return jax.tree.map(lambda leaf: np.asarray(leaf)[0], history)


def _rebuild(x64: bool, entrant: Entrant, outcome: Any, loss: Any, key: Any, content: bytes | None) -> Live:
    """A copy."""
    impl, data = key
    with jax.enable_x64(x64):
        live = Live(entrant, outcome=outcome, loss=loss, key=jax.random.wrap_key_data(jnp.asarray(data), impl=impl))
    if content is not None:
        live._restore("a copy", state_files.unpack("a copy", content))
    return live
