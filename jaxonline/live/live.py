"""A learner on live data: `predict` when an instance comes, `update` when its outcome is known."""

import contextlib
import os
import warnings
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, Key, PyTree

from jaxonline._util import check
from jaxonline._util.describe import described
from jaxonline.feedback import Bandit, FullInformation, LossOfMove
from jaxonline.game import Draw, Entrant, Game, Round, States, as_entrant, bind, warn_of_other_losses
from jaxonline.game.protocols import DeclaresLossRange, ForLoss, HintsAtCapacity, ReportsOverflow
from jaxonline.live import saving
from jaxonline.live.rounds import ROWS, Arrivals, Programs, ToldLoss, programs, table
from jaxonline.losses import ArmLoss, Squared
from jaxonline.losses.base import check_outcomes

ONE = np.int32(1)


class OpenRound(NamedTuple):
    """A round whose outcome is not known yet: its instance, and the move."""

    x: np.ndarray
    move: PyTree


class Setting(NamedTuple):
    """A game and an entrant as they are compiled: the structure of both is in the programs, their numbers are here."""

    programs: Programs
    leaves: list[jax.Array]
    entrant: Entrant


class Live:
    """A learner that meets its instances one at a time, on the host, as they come.

    `predict(x)` is the first half of a round of the game, `update(x, y)` the second. Numbers are those that `jo.play`
    has with the same key where its environment brings the same instances and outcomes, bit for bit (`tests/test_live`
    says so of every learner of the registry). Both halves run the same compiled program, which is made once for all
    learners of one structure: the move that was told is the move that is learned from.

    The feedback is what the learner may ask of what you bring. `FullInformation` shows it the instance and the outcome.
    Any other feedback is simulated: `NoisyCopies` adds its noise to the clean instance that you bring, `Attributes`
    shows only the coordinates that are asked for, and so on. Where your instances are noisy already, bring them under
    `FullInformation`. A learner with a `Bandit` or `LossOfMove` may be told the loss of its move and nothing else:
    `update(loss=...)`.

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
        key: a seed or a key, that of the run.

    Attributes:
        round: the number of rounds played.
        state: the learner's state.

    Raises:
        TypeError: an argument is not what it must be, or (here if `instance` is given, else at the first instance) the
            feedback does not answer what the learner asks, or the loss cannot judge its moves.
        ValueError: the learner cannot play with this feedback on instances and outcomes of these shapes.

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
        outcome: int | tuple[int, ...] = (), loss: Any = None, key: int | Key[ArrayLike, ""] = 0,
    ):  # fmt: skip
        self._outcome = _shape("outcome", outcome)
        self._x64 = bool(jax.config.jax_enable_x64)  # type: ignore[attr-defined]
        self._entrant = as_entrant(
            Game(_nothing((0,), self._outcome, self._dtype), FullInformation()),
            learner if isinstance(learner, Entrant) else Entrant(learner, feedback or FullInformation()),
        )
        self._loss = loss if loss is None else check.instance("loss", loss, callable(loss), "a loss")
        key = check.key_of("key", key)
        typed = jax.dtypes.issubdtype(key.dtype, jax.dtypes.prng_key)
        self._set_key(key if typed else jax.random.wrap_key_data(key))
        self.round = 0
        self._warned: set[str] = set()
        self._instance: tuple[int, ...] | None = None
        self._setting: Setting | None = None
        self._told: Setting | None = None
        self._states: States | None = None
        self._open: OpenRound | None = None
        if instance is not None:
            self._begin(_shape("instance", instance))

    @property
    def state(self) -> PyTree:
        """The learner's state; None before the shape of instances is known."""
        return None if self._states is None else self._states.learner

    def __repr__(self) -> str:
        entrant = self._entrant
        return f"Live({described(entrant.learner)}, {described(entrant.feedback)}, round={self.round})"

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
        x = self._array("x", x, self._instance)
        if self._setting is None:
            self._begin(x.shape)
        # the outcome is not known: any will do
        _, record = self._play(self._setting, table(x), self._unknown)
        move = jax.tree.map(lambda leaf: np.asarray(leaf)[()], record.y_hat)
        self._open = OpenRound(x, move)
        self._warn_of_divergence(move)
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
        if self._open is None:
            raise RuntimeError(f"update must come after predict, which opens round {self.round + 1}")
        if x is not None and not np.array_equal(self._array("x", x, self._instance), self._open.x):
            raise ValueError(f"x must be the instance of the open round, {self._open.x}, got {check.shown(x)}")
        if (y is None) == (loss is None):
            raise TypeError(f"update must be given either y or loss, got {'neither' if y is None else 'both'}")
        setting = self._setting
        if loss is not None and not isinstance(self._entrant.feedback, Bandit):
            setting = self._told_loss()
        self._states, record = self._play(setting, table(self._open.x), table(self._outcome_of(y, loss)))
        self.round += 1
        self._open = None
        self._warn_of_overflow(record)
        return record

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the state to a file of arrays (.npz, no pickle), whole or not at all, an open round included.

        The learner is not in it, only what tells it from others.

        Raises:
            RuntimeError: there was no instance yet, so that its shape is not known.
            OSError: the file cannot be written.
        """
        if self._setting is None:
            raise RuntimeError("save must come after the first predict, or instance= must be given")
        saving.write(path, self._saved())

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
        self._restore(str(path), saving.read(path))
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        """Copied and pickled as what it was made of, with the content of a saved file."""
        key = str(self._impl), np.asarray(self._key_data)
        content = None if self._setting is None else saving.packed(self._saved())
        return _again, (self._x64, self._entrant, self._outcome, self._loss, key, content)

    # -----------------------------------------------------------------------------------------------------------------
    # Parts

    def _set_key(self, key: Key[ArrayLike, ""]) -> None:
        self._impl, self._key_data = jax.random.key_impl(key), jax.random.key_data(key)

    def _begin(self, instance: tuple[int, ...]) -> None:
        """Bind game and learner, now that all shapes are known, and make the states before round 1."""
        with self._precision():
            loss = _loss_of(self._entrant) if self._loss is None else self._loss
            game = Game(_nothing(instance, self._outcome, self._dtype), self._entrant.feedback, loss)
            bound = bind(game, self._entrant)
            if self._loss is not None:
                warn_of_other_losses(game, {"learner": self._entrant.learner})
            setting = self._setting_of(bound.game, bound.entrant)
            self._states = setting.programs.begin(setting.leaves, self._key_data)
        learner, info = bound.entrant.learner, bound.record.info
        self._game, self._setting, self._instance = bound.game, setting, instance
        self._unknown = np.ones((ROWS, *self._outcome), self._dtype)
        self._margins = [bound.game.loss, *([learner.loss] if isinstance(learner, ForLoss) else [])]
        self._range = learner.loss_range if isinstance(learner, DeclaresLossRange) else (None, None)
        self._may_overflow = isinstance(info, ReportsOverflow) and info.overflow is not None

    def _setting_of(self, game: Game, entrant: Entrant) -> Setting:
        leaves, structure = jax.tree.flatten((game, entrant))
        return Setting(programs(structure, self._impl), leaves, entrant)

    def _told_loss(self) -> Setting:
        """The game in which the loss of the move is told."""
        if self._told is None:
            feedback = self._entrant.feedback
            if not isinstance(feedback, LossOfMove):
                raise TypeError(
                    f"loss is told to a learner with the feedback Bandit or LossOfMove, this one has "
                    f"{type(feedback).__name__}: give y"
                )
            with self._precision():
                game = Game(_nothing(self._instance, (), self._dtype), ToldLoss(), ToldLoss())
                self._told = self._setting_of(game, Entrant(self._setting.entrant.learner, ToldLoss()))
        return self._told

    def _play(self, setting: Setting, X: np.ndarray, y: np.ndarray) -> tuple[States, Round]:
        """The round that is next."""
        t = np.int32(self.round + 1)
        with self._precision():
            return setting.programs.play(setting.leaves, self._key_data, t, self._states, X, y, ONE)

    def _precision(self) -> contextlib.AbstractContextManager:
        """That of jax when this was made."""
        same = jax.config.jax_enable_x64 == self._x64  # type: ignore[attr-defined]
        return contextlib.nullcontext() if same else jax.enable_x64(self._x64)

    @property
    def _dtype(self) -> Any:
        return np.float64 if self._x64 else np.float32

    def _array(self, name: str, value: Any, shape: tuple[int, ...] | None) -> np.ndarray:
        """A copy of what was brought, checked."""
        if value is None and shape in (None, (0,)):
            return np.zeros(0, self._dtype)
        given = np.asarray(value)
        if given.dtype.kind in "fiu" and shape in (None, given.shape) and not isinstance(value, np.ma.MaskedArray):
            with np.errstate(over="ignore"):
                array = given.astype(self._dtype)
            if np.isfinite(array).all():
                return array
        check.fits(name, check.finite_array(name, value), self._dtype)
        raise ValueError(f"{name} must have shape {shape}, got {given.shape}")

    def _outcome_of(self, y: Any, loss: Any) -> np.ndarray:
        """What is learned from: the outcome, or, where only the loss of an arm is known, NaN for all other arms."""
        low, high = self._range
        if loss is None:
            outcome = self._array("y", y, self._outcome)
            for made_for in self._margins:
                check_outcomes("y", outcome, made_for)
        else:
            outcome = self._array("loss", loss, ())
        if low is not None:
            check.numbers("y" if loss is None else "loss", outcome, ge=low, le=high)
        if loss is None or not isinstance(self._entrant.feedback, Bandit):
            return outcome
        losses, move = np.full(self._outcome, np.nan, self._dtype), self._open.move
        losses[move.arm if isinstance(move, Draw) else move] = outcome
        return losses

    def _warn_of_divergence(self, move: PyTree) -> None:
        if "divergence" not in self._warned and not all(np.isfinite(leaf).all() for leaf in jax.tree.leaves(move)):
            self._warned.add("divergence")
            warnings.warn(
                f"the move of round {self.round + 1} is NaN or infinite, and so it may stay. Where steps are too "
                "large, a smaller one or a radius keeps a learner finite",
                RuntimeWarning,
                stacklevel=3,
            )

    def _warn_of_overflow(self, record: Round) -> None:
        if self._may_overflow and "overflow" not in self._warned and record.info.overflow:
            self._warned.add("overflow")
            learner = self._entrant.learner
            way = learner.capacity_hint() if isinstance(learner, HintsAtCapacity) else "give it more capacity"
            warnings.warn(
                f"the learner ran out of storage in round {self.round}, and goes on without what found no room. {way}",
                RuntimeWarning,
                stacklevel=3,
            )

    def _restore(self, path: str, saved: saving.Saved) -> None:
        """Be as what was saved, or raise and stay as it was."""
        entrant, loss, outcome, dtype = self._entrant, self._loss, self._outcome, np.dtype(self._dtype).name
        if saved.dtype != dtype:
            raise ValueError(f"{path} must be a state of {dtype}, jax's precision here, got {saved.dtype}")
        if saved.outcome != outcome or self._instance not in (None, saved.instance):
            raise ValueError(
                f"{path} must be a state for instances of shape {self._instance} and outcomes of shape {outcome}, got "
                f"{saved.instance} and {saved.outcome}"
            )
        with self._precision():
            other = Live(entrant, outcome=outcome, loss=loss, key=saved.key)
        other._begin(saved.instance)
        saving.check_same(path, saved, other._identity(), described(entrant))
        other._states = saving.restored(path, other._states, saved.leaves)
        other.round = saved.round
        if saved.x is not None:
            other.predict(saved.x)
        vars(self).update(vars(other))

    def _saved(self) -> saving.Saved:
        return saving.Saved(
            self._identity(), described(self._entrant), self._instance, self._outcome, np.dtype(self._dtype).name,
            jax.random.wrap_key_data(self._key_data, impl=self._impl), self.round,
            saving.numbers(self._states), None if self._open is None else self._open.x,
        )  # fmt: skip

    def _identity(self) -> dict[str, str]:
        entrant = self._setting.entrant
        return saving.identity({"learner": entrant.learner, "feedback": entrant.feedback, "loss": self._game.loss})


def _again(x64: bool, entrant: Entrant, outcome: Any, loss: Any, key: Any, content: bytes | None) -> Live:
    """A copy."""
    impl, data = key
    with jax.enable_x64(x64):
        live = Live(entrant, outcome=outcome, loss=loss, key=jax.random.wrap_key_data(jnp.asarray(data), impl=impl))
    if content is not None:
        live._restore("a copy", saving.unpacked("a copy", content))
    return live


def _shape(name: str, value: Any) -> tuple[int, ...]:
    """A shape, an integer for that of a vector."""
    if isinstance(value, tuple):
        return tuple(check.count(name, length, ge=0) for length in value)
    return (check.count(name, value, ge=0),)


def _nothing(instance: tuple[int, ...], outcome: tuple[int, ...], dtype: Any) -> Arrivals:
    """An environment of nothing yet, for what it says of shapes."""
    return Arrivals(*(np.zeros((ROWS, *shape), dtype) for shape in (instance, outcome)), np.int32(1))


def _loss_of(entrant: Entrant) -> Any:
    """The loss that goes with a learner, or with its feedback."""
    own = entrant.learner.loss if isinstance(entrant.learner, ForLoss) else None
    if own is not None:
        return own
    if isinstance(entrant.feedback, LossOfMove):
        return entrant.feedback.loss
    return ArmLoss() if isinstance(entrant.feedback, Bandit) else Squared()
