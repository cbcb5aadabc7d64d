"""A learner on live data: `predict` when an instance arrives, `update` when its outcome is known."""

import math
import os
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Key

from jaxonline.feedback import Bandit, FullInformation
from jaxonline.game.binding import as_entrant, warn_about_loss_mismatch
from jaxonline.game.roles import Draw, Feedback, Learner, Specs
from jaxonline.game.round import Game, RewardRound, Round, WithFeedback, format_spec
from jaxonline.live import states
from jaxonline.live.programs import TABLE_ROWS, KeptPrecision, LiveGame, default_loss, no_arrivals
from jaxonline.losses.base import check_outcomes
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError, to_one_line
from jaxonline.parameters.optional_packages import check_not_forked
from jaxonline.parameters.short_repr import short_repr
from jaxonline.parameters.types import PyTree

MAX_AXES, MAX_NEW_ENTRIES = 32, 2**20  # of the instances in the file of a state
MAX_FINITE_SQUARES = 1e37  # a smaller sum of squares has finite entries in float32


class OpenRound(NamedTuple):
    """A round without an outcome: its instance, and the move."""

    x: np.ndarray
    move: PyTree


class Live:
    """A learner that receives its instances one at a time, on the host.

    `predict(x)` is the first half of a round of the game, `update(x, y)` the second; both run the same compiled
    program, which all learners of one structure share. On a CPU, the numbers equal those of `jo.play` with the same key
    on the same `DataStream`, bit for bit; with jax 0.12, those of AER in float64 may differ in the last digit. (An
    environment that draws its instances is compiled into one program with the learner, and the last bits may differ.)

    The feedback decides which information the learner may query about your data. `FullInformation` shows the instance
    and the outcome. Any other feedback is simulated: `NoisyCopies` adds noise to your clean instance, `Attributes`
    shows only the requested coordinates. If your instances are noisy already, use `FullInformation`; a learner that
    requests copies cannot receive your own measurements. With a `Bandit` or `LossOfMove`, you may report only the loss
    of the move: `update(loss=...)`; with a `Bandit` also its reward: `update(reward=...)`. For a `LossOfMove` this call
    runs another program, and the last bits may differ.

    A learner made for a horizon (a step size for n rounds, `MOSS`) continues after the horizon, but its theorem no
    longer applies. A learner that runs out of storage warns once and continues, as in `jo.play`. `Live` does not use
    the programs for whole sequences (`jo.aggregate`, `forecast`).

    Args:
        learner: a learner, or a `WithFeedback` with a feedback of its own.
        feedback: the information that the learner may query; None for `FullInformation()`.
        instance: the shape of instances, an integer for the length of a vector; None takes the shape of the first
            instance.
        outcome: the shape of outcomes: () for numbers, K for the losses of K arms or experts.
        loss: function of a move and an outcome, for the record that `update` returns. None takes the loss of the
            learner; without one, the loss of a `LossOfMove`, the loss of the arm for a `Bandit`, else the squared loss.
        key: a seed, from 0 to 2^32 - 1 (2^63 - 1 if float64 is enabled), or the key of the run.

    Attributes:
        round: the number of rounds played.
        state: the learner's state.

    Raises:
        TypeError: an argument has a wrong type; or the feedback does not answer the learner's queries, or the loss does
            not accept its moves (raised at the first instance, or here if `instance` is given).
        ValueError: the learner does not suit the feedback or the shapes, or `key` is not a seed.

    Warns:
        UserWarning: the learner is made for another loss.

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
        self, learner: Learner | WithFeedback, feedback: Feedback | None = None, *,
        instance: int | tuple[int, ...] | None = None, outcome: int | tuple[int, ...] = (),
        loss: Callable[[Any, Any], Any] | None = None, key: int | Key[Array, ""] = 0,
    ):  # fmt: skip
        self._precision = KeptPrecision()
        self._outcome = _shape("outcome", outcome)
        self._entrant = as_entrant(
            Game(no_arrivals(self._specs((0,))), FullInformation()),
            learner
            if isinstance(learner, WithFeedback)
            else WithFeedback(learner, FullInformation() if feedback is None else feedback),
        )
        self._loss = loss if loss is None else check.instance("loss", loss, callable(loss), "a loss")
        run_key = check.as_key("key", key)
        typed = jax.dtypes.issubdtype(run_key.dtype, jax.dtypes.prng_key)
        self._key = run_key if typed else jax.random.wrap_key_data(run_key)
        self.round: int = 0
        self._warned: set[str] = set()
        self._instance: tuple[int, ...] | None = None
        self._game: LiveGame | None = None  # until the shape of instances is known
        self._loss_game: LiveGame | None = None
        self._states: Any = None  # `States`, or None until then
        self._open: OpenRound | None = None
        if instance is not None:
            self._begin(_shape("instance", instance))

    @property
    def state(self) -> PyTree:
        """The learner's state; None before the shape of instances is known."""
        return None if self._game is None else self._states.learner

    def __repr__(self) -> str:
        entrant = self._entrant
        return f"Live({short_repr(entrant.learner)}, {short_repr(entrant.feedback)}, round={self.round})"

    def predict(self, x: ArrayLike | None = None) -> Any:
        """Return the move on an instance (None in a game without instances): a number, weights, an arm or a `Draw`.

        The move consists of NumPy numbers. The call opens a round. A second call before `update` opens the same round
        again with another instance, without learning.

        Raises:
            TypeError: `x` does not hold numbers.
            ValueError: `x` has another shape than the first instance, or is not finite.
        """
        x = _array("x", x, self._instance, self._precision.dtype, is_instance=True)
        game = self._begin(x.shape)
        # the move does not depend on the outcome
        _, outcomes = game.play(self.round + 1, self._states, x[None])
        move = game.read(outcomes, 0).y_hat
        if not (isinstance(move, np.floating) and math.isfinite(move)):
            self._warn_of_divergence(game.read(outcomes, slice(1)).y_hat, self.round + 1)
        self._open = OpenRound(x, move)
        return move

    def update(
        self, x: ArrayLike | None = None, y: ArrayLike | None = None, *, loss: ArrayLike | None = None,
        reward: ArrayLike | None = None,
    ) -> Round:  # fmt: skip
        """Close the open round: the learner learns from the outcome as far as its feedback allows.

        Args:
            x: the instance of the open round, as a check; None to omit it.
            y: the outcome.
            loss: instead of `y`, the loss of the move, if the feedback is a `Bandit` or `LossOfMove`.
            reward: instead of `loss`, the reward of the pulled arm, if the feedback is a `Bandit`. The learner receives
                the loss 1 - reward, and the record prints rewards.

        Returns:
            The record of the round, as in `jo.play`: loss, move, queries, info. With `loss` or `reward`, the losses of
            other arms are NaN.

        Raises:
            RuntimeError: no round is open: call `predict` first.
            TypeError: an argument does not hold numbers, not exactly one of `y`, `loss` and `reward` is given, or the
                feedback does not accept it.
            ValueError: `x` is not the instance of the open round; the outcome has another shape, is not finite, or is
                not a class of a margin loss.
        """
        if self._open is None or self._game is None:
            raise RuntimeError(f"update: no round is open; call predict first, which opens round {self.round + 1}")
        dtype = self._precision.dtype
        if x is not None and not (_array("x", x, self._instance, dtype) == self._open.x).all():
            raise ArgumentError("x", f"must be the instance of the open round, {self._open.x} (got {check.quote(x)})")
        game, feedback = self._game, self._entrant.feedback
        given = {name: value for name, value in (("y", y), ("loss", loss), ("reward", reward)) if value is not None}
        if len(given) != 1:
            problem = f"must be given one of y, loss and reward (got {' and '.join(given) or 'none'})"
            raise ArgumentTypeError("update", problem)
        name, value = next(iter(given.items()))
        outcome = _array(name, value, self._outcome if name == "y" else (), dtype)
        if name == "reward":
            outcome = _loss_of_reward(outcome, feedback, game.loss_range)
        else:
            _check_outcome_range(name, outcome, game.losses, game.loss_range)
        if name != "y" and isinstance(feedback, Bandit):
            outcome = self._of_all_arms(outcome)
        elif name != "y":
            game = self._loss_game = self._loss_game or game.with_reported_loss()
        x = self._open.x
        record = _record(game.read(self._play(game, x[None], outcome[None]), 0), x, outcome)
        return RewardRound(*record) if name == "reward" else record

    def learn(self, X: ArrayLike | None, y: ArrayLike) -> Round:
        """Play rounds with known outcomes, for example before going live; an open round is discarded.

        The numbers equal those of `predict` and `update` for one row after the other, bit for bit.

        Args:
            X: instances, one row a round; None in a game without instances.
            y: outcomes, one a round.

        Returns:
            The records, with a leading axis, as in `jo.play`.

        Raises:
            TypeError: rows do not hold numbers.
            ValueError: no rows, different numbers of rows, shapes that differ from those of earlier rounds, numbers
                that are not finite, or outcomes that are not classes of a margin loss.

        Example:
            >>> import numpy as np, jaxonline as jo
            >>> live = jo.Live(jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5))
            >>> live.learn(np.eye(3), np.ones(3)).loss.tolist(), live.state.w.tolist()
            ([1.0, 1.0, 1.0], [1.0, 1.0, 1.0])
        """
        dtype = self._precision.dtype
        y = _rows("y", y, self._outcome, dtype)
        X = np.zeros((len(y), 0), dtype) if X is None else _rows("X", X, self._instance, dtype, are_instances=True)
        if len(X) != len(y):
            raise ArgumentError("y", f"must have as many rows as X, {len(X)} (got {len(y)})")
        game = self._begin(X.shape[1:])
        _check_outcome_range("y", y, game.losses, game.loss_range)
        parts = [slice(first, first + TABLE_ROWS) for first in range(0, len(y), TABLE_ROWS)]
        outcomes = [game.read(self._play(game, X[rows], y[rows]), slice(len(y[rows]))) for rows in parts]
        history = _record(jax.tree.map(lambda *rows: np.concatenate(rows), *outcomes), X, y)
        self._warn_of_divergence(history.y_hat, self.round - len(y) + 1)
        return history

    def moves(self, X: ArrayLike) -> Any:
        """Return the moves on many instances, one a row, as if each came next; open no round and learn nothing.

        The last bits may differ from those of `predict`, which runs another program.

        Raises:
            RuntimeError: the shape of instances is unknown: learn first, or give `instance`.
            TypeError: `X` does not hold numbers.
            ValueError: instances have another shape, or are not finite.

        Example:
            >>> import numpy as np, jaxonline as jo
            >>> live = jo.Live(jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5), instance=3)
            >>> live.moves(np.eye(3)).tolist()
            [0.0, 0.0, 0.0]
        """
        if self._game is None:
            raise RuntimeError(
                "moves: the shape of instances is unknown; call learn or predict first, or give instance="
            )
        check_not_forked()
        X = _rows("X", X, self._instance, self._precision.dtype, are_instances=True)
        return self._game.moves(self.round + 1, self._states, X)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state, and a round that waits for its outcome, to a file of arrays (.npz, no pickle).

        The file does not contain the learner.

        Raises:
            RuntimeError: the shape of instances is unknown.
            OSError: the file cannot be written.
        """
        states.write_sealed(check.path("path", path), *self._saved())

    def load(self, path: str | os.PathLike[str]) -> "Live":
        """Continue from a saved state, with its key and round; returns itself.

        Raises:
            OSError: the file cannot be read.
            ValueError: the file is damaged, or belongs to another learner, feedback or loss (also if only a number
                differs), or to another shape or precision. The object then stays unchanged.

        Example:
            >>> import pathlib, tempfile, jaxonline as jo
            >>> learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.25)
            >>> live = jo.Live(learner, instance=2)
            >>> with tempfile.TemporaryDirectory() as folder:
            ...     live.save(pathlib.Path(folder) / "state.npz")
            ...     again = jo.Live(learner).load(pathlib.Path(folder) / "state.npz")
            >>> again.round, again.predict([1.0, 2.0]) == live.predict([1.0, 2.0])
            (0, np.True_)
        """
        header, arrays = states.read_sealed(check.path("path", path))
        shape = header["instance"]
        if self._instance is None and (len(shape) > MAX_AXES or math.prod(shape) > MAX_NEW_ENTRIES):
            raise ArgumentError("instance", f"must be given, since {path} has instances of shape {shape} (got None)")
        self._restore(str(path), header, arrays)
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Pickle as the arguments and the content of a saved file."""
        saved = None if self._game is None else self._saved()
        key = str(jax.random.key_impl(self._key)), np.asarray(jax.random.key_data(self._key))
        return _rebuild, (self._precision.x64, self._entrant, self._outcome, self._loss, key, saved)

    # -----------------------------------------------------------------------------------------------------------------
    # Private

    def _begin(self, instance: tuple[int, ...]) -> LiveGame:
        """Return the bound game; the first call, when all shapes are known, binds it and makes the first states."""
        check_not_forked()
        if self._game is None:
            self._states = self._bind(instance).begin()
        return self._game  # type: ignore[return-value]

    def _bind(self, instance: tuple[int, ...]) -> LiveGame:
        """Bind the game to a shape of instances."""
        with self._precision():
            loss = default_loss(self._entrant) if self._loss is None else self._loss
            game = Game(no_arrivals(self._specs(instance)), self._entrant.feedback, loss)
        live_game = LiveGame.of(game, self._entrant, self._key, self._precision)
        if self._loss is not None:
            warn_about_loss_mismatch(game, {"learner": self._entrant.learner})
        self._game, self._instance = live_game, instance
        return live_game

    def _specs(self, instance: tuple[int, ...]) -> Specs:
        dtype = self._precision.dtype
        return Specs(jax.ShapeDtypeStruct(instance, dtype), jax.ShapeDtypeStruct(self._outcome, dtype))

    def _play(self, game: LiveGame, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Play the next rounds; return their packed outcomes."""
        check_not_forked()
        self._states, outcomes = game.play(self.round + 1, self._states, X, y)
        if game.may_overflow and np.any(full := game.read(outcomes, slice(len(y))).info.overflow):
            way, first = self._entrant.learner.capacity_hint, self.round + 1 + int(np.argmax(full))
            self._warn_once(f"the learner ran out of storage in round {first} and continues without the excess. {way}")
        self.round, self._open = self.round + len(y), None
        return outcomes

    def _of_all_arms(self, loss: np.ndarray) -> np.ndarray:
        """Return the losses of all arms: `loss` for the played arm, NaN for the others."""
        losses, move = np.full(self._outcome, np.nan, loss.dtype), self._open.move  # type: ignore[union-attr]
        losses[move.arm if isinstance(move, Draw) else move] = loss
        return losses

    def _warn_of_divergence(self, moves: PyTree, first: int) -> None:
        for leaf in jax.tree.leaves(moves):
            if not np.isfinite(leaf).all():
                finite = np.isfinite(leaf).reshape(len(leaf), -1).all(axis=1)
                self._warn_once(
                    f"the move of round {first + int(np.argmin(finite))} is NaN or infinite, and later ones may be; "
                    "use a smaller step size or a radius"
                )

    def _warn_once(self, message: str) -> None:
        """Issue a warning, at most once for each kind."""
        kind = message.split()[1]
        if kind not in self._warned:
            self._warned.add(kind)
            warnings.warn(message, RuntimeWarning, stacklevel=5)

    def _description(self) -> str:
        shapes = f"instances of shape {self._instance}, outcomes of shape {self._outcome}"
        return f"{short_repr(self._entrant)} in {self._precision.dtype}, {shapes}"

    def _header(self) -> dict[str, str]:
        """Return what a state belongs to, by name; the shape of instances must be known."""
        game: Any = self._game
        parts = {"learner": game.entrant.learner, "feedback": game.entrant.feedback, "loss": game.game.loss}
        return {name: states.identity_hash(part) for name, part in parts.items()} | {
            "precision": self._precision.dtype.name,
            "shape of instances": str(self._instance),
            "shape of outcomes": str(self._outcome),
            "state": format_spec(self._state_specs()),
        }

    def _state_specs(self) -> list[jax.ShapeDtypeStruct]:
        """Return the shapes and dtypes of the arrays of the states, without making them."""
        begin = self._game.begin  # type: ignore[union-attr]
        return jax.eval_shape(lambda: [states.state_array(leaf) for leaf in jax.tree.leaves(begin())])

    def _saved(self) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return the header and the arrays of a file."""
        if self._game is None:
            raise RuntimeError("save: the shape of instances is unknown; call predict first, or give instance=")
        header = {
            "of": self._description(), "belongs to": self._header(), "instance": self._instance, "round": self.round,
            "generator": str(jax.random.key_impl(self._key)),
        }  # fmt: skip
        leaves = [self._key, *jax.tree.leaves(self._states)]
        arrays = {str(i): np.asarray(states.state_array(leaf)) for i, leaf in enumerate(leaves)}
        return header, arrays if self._open is None else arrays | {"open": self._open.x}

    def _restore(self, path: str, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Restore the state of a file; if this raises an error, the object stays unchanged."""
        instance = header["instance"] if self._instance is None else self._instance
        with self._precision(), states.damage_named(path):
            key = jax.random.wrap_key_data(jnp.asarray(arrays["0"]), impl=header["generator"]).reshape(())
            other = Live(self._entrant, outcome=self._outcome, loss=self._loss, key=key)
            game = other._bind(instance)  # an unknown shape of instances is that of the file
        with self._precision():
            stored, own = header["belongs to"], other._header()
            if differing := [name for name in own if stored.get(name) != own[name]]:
                theirs = f"{path}, a state of {to_one_line(header['of'])}, with another {' and '.join(differing)}"
                raise ArgumentError("path", f"must be a state of {other._description()} (got {theirs})")
            with states.damage_named(path):
                for i, spec in enumerate(other._state_specs(), 1):
                    if (arrays[str(i)].shape, arrays[str(i)].itemsize) != (spec.shape, spec.dtype.itemsize):
                        raise ValueError("it has arrays of other shapes")
                leaves, structure = jax.tree.flatten(game.begin())
                numbers = [arrays[str(i)] for i in range(1, len(leaves) + 1)]
                other._states = structure.unflatten(map(states.restore_leaf, leaves, numbers))
                other.round = header["round"]
                if "open" in arrays:
                    other.predict(arrays["open"])
        vars(self).update(vars(other))


def _record(record: Round, x: np.ndarray, y: np.ndarray) -> Round:
    """Complete the record of one or several rounds."""
    y = y[()]  # a scalar in the record of a round with one number
    return record._replace(x=x, y=y, y_comparator=y)


def _rebuild(x64: bool, entrant: WithFeedback, outcome: Any, loss: Any, key: Any, saved: Any) -> Live:
    """Rebuild a pickled object."""
    impl, data = key
    with jax.enable_x64(x64):
        live = Live(entrant, outcome=outcome, loss=loss, key=jax.random.wrap_key_data(jnp.asarray(data), impl=impl))
    if saved is not None:
        live._restore("a copy", *saved)
    return live


# ---------------------------------------------------------------------------------------------------------------------
# Checks of instances and outcomes; valid arrays are checked in one pass.


def _shape(name: str, value: Any) -> tuple[int, ...]:
    """Convert a value to a shape; an integer is the length of a vector."""
    lengths = value if isinstance(value, tuple) else (value,)
    return tuple(check.count(name, length, ge=0) for length in lengths)


def is_finite(array: np.ndarray) -> bool:
    """Whether floating numbers are finite, also in float32, in one pass; very large ones count as not finite."""
    return bool(np.vdot(array, array) < MAX_FINITE_SQUARES)  # False for NaN


def _array(name: str, value: Any, shape: tuple[int, ...] | None, dtype: Any, is_instance: bool = False) -> np.ndarray:
    """A copy of one instance or outcome, of any shape if `shape` is None; a None value is an empty array."""
    if value is None and shape in (None, (0,)):
        return np.zeros(0, dtype)
    given = np.asarray(value)
    fits = shape in (None, given.shape) and not isinstance(value, np.ma.MaskedArray)
    if fits and given.dtype.kind == "f" and is_finite(given):
        return given.astype(dtype)
    check.fits_dtype(name, check.finite_array(name, value), dtype)
    if not fits:
        raise ArgumentError(name, f"must have shape {shape} (got {given.shape})")
    if is_instance:
        check.squares_fit_dtype(name, given[None], dtype)
    return given.astype(dtype)


def _rows(name: str, value: Any, shape: tuple[int, ...] | None, dtype: Any, are_instances: bool = False) -> np.ndarray:
    """A copy of several instances or outcomes, one per row."""
    is_checked = type(value) is np.ndarray and value.dtype.kind == "f" and is_finite(value)
    given = value if is_checked else check.finite_array(name, value)
    if given.ndim == 0 or len(given) == 0 or shape not in (None, given.shape[1:]):
        wanted = "" if shape is None else f", of shape {shape}"
        raise ArgumentError(name, f"must have one row a round, at least one{wanted} (got shape {given.shape})")
    if not is_checked:
        check.fits_dtype(name, given, dtype)
        if are_instances:
            check.squares_fit_dtype(name, given, dtype)
    return given.astype(dtype)


def _check_outcome_range(
    name: str, outcomes: np.ndarray, losses: list[Any], loss_range: tuple[float, float] | None
) -> None:
    """Check outcomes against the classes of margin losses, and against the learner's range of losses."""
    for loss in losses:
        check_outcomes(name, outcomes, loss)
    if loss_range is not None:
        check.numbers(name, outcomes, ge=loss_range[0], le=loss_range[1])


def _loss_of_reward(reward: np.ndarray, feedback: Any, loss_range: tuple[float, float] | None) -> np.ndarray:
    """Return the loss 1 - reward of an arm, after a check against the learner's range of losses."""
    if not isinstance(feedback, Bandit):
        raise ArgumentTypeError("reward", f"must be None unless the feedback is Bandit (got {type(feedback).__name__})")
    if loss_range is not None:
        check.numbers("reward", reward, ge=1.0 - loss_range[1], le=1.0 - loss_range[0])
    return np.asarray(1.0 - reward, reward.dtype)
