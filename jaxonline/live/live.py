"""A learner on live data: `predict` when an instance arrives, `update` when its outcome is known."""

import math
import os
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Key

from jaxonline.feedback import Bandit, FullInformation
from jaxonline.game.binding import as_entrant, assumed_range, warn_about_loss_mismatch
from jaxonline.game.roles import Feedback, Learner, Specs
from jaxonline.game.round import Game, RewardRound, Round, WithFeedback, format_spec
from jaxonline.live import decisions, states
from jaxonline.live.decisions import ArmDecision
from jaxonline.live.programs import TABLE_ROWS, KeptPrecision, LiveGame, default_loss, no_arrivals
from jaxonline.losses.base import check_outcomes
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError, to_one_line
from jaxonline.parameters.optional_packages import check_not_forked
from jaxonline.parameters.short_repr import short_repr
from jaxonline.parameters.types import PyTree

MAX_AXES, MAX_NEW_ENTRIES = 32, 2**20  # of the instances in the file of a state
MAX_FINITE_SQUARES = 1e37  # a smaller sum of squares has finite entries in float32


class Live:
    """A learner that receives its instances one at a time, on the host.

    `predict(x)` is the first half of a round of the game, `update(x, y)` the second; both run the same compiled
    program, which all learners of one structure share. On a CPU, the numbers equal those of `jo.play` with the same key
    on the same `DataStream`, bit for bit; with jax 0.12, those of AER in float64 may differ in the last digit. (An
    environment that draws its instances is compiled into one program with the learner, and the last bits may differ.)

    With a `Bandit`, `predict` returns an `ArmDecision`: an arm, its probability and an id. Its reward may come late,
    after others, or never: `update(decision=..., reward=...)`. `learn(arm=...)` learns from arms of another policy.

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
        rewards: whether outcomes `y` of arms, and priors of the learner, are rewards, and reported losses 1 - reward.
        key: a seed, from 0 to 2^32 - 1 (2^63 - 1 if float64 is enabled), or the key of the run.

    Attributes:
        round: the number of rounds with an outcome.
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
        loss: Callable[[Any, Any], Any] | None = None, rewards: bool = False, key: int | Key[Array, ""] = 0,
    ):  # fmt: skip
        self._rewards = check.flag("rewards", rewards)
        self._options = {"outcome": outcome, "loss": loss, "rewards": rewards}
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
        self._states: Any = None  # `States`, or None until then
        self._is_bandit = isinstance(self._entrant.feedback, Bandit)
        self.n_arms: int | None = self._outcome[0] if self._is_bandit and self._outcome else None
        self._opened: int = 0  # the number of rounds with a move
        # By round, at most one unless the learner is a bandit; else without arm.
        self._open: dict[int, ArmDecision] = {}
        if instance is not None:
            self._begin(_shape("instance", instance))

    @property
    def state(self) -> PyTree:
        """The learner's state; None before the shape of instances is known."""
        return None if self._game is None else self._states.learner

    @property
    def pending(self) -> tuple[ArmDecision, ...]:
        """The decisions of a bandit that wait for an outcome, oldest first."""
        return tuple(self._open.values()) if self._is_bandit else ()

    def __repr__(self) -> str:
        entrant = self._entrant
        return f"Live({short_repr(entrant.learner)}, {short_repr(entrant.feedback)}, round={self.round})"

    def predict(
        self, x: ArrayLike | None = None, *, available: Sequence[int] | None = None, n_draws: int = 0
    ) -> Any:  # fmt: skip
        """Return the move on an instance: a number, weights, or an `ArmDecision` of a bandit, which is an arm.

        The move consists of NumPy numbers. The call opens a round. For a bandit, each call opens a further round, with
        its own random numbers. Otherwise a second call before `update` opens the same round again, without learning.

        Args:
            x: the instance; None in a game without instances.
            available: for a bandit, the arms among which it chooses; None for all (see `Learner.restricts_arms`).
            n_draws: number of draws that estimate the unknown probabilities of Thompson sampling: (1 + draws of the
                arm) / (1 + all draws) for the chosen arm. If 0, the probability is None.

        Raises:
            TypeError: `x` does not hold numbers, or the feedback does not accept an argument.
            ValueError: `x` has another shape than the first instance, or is not finite; `available` is empty, or the
                learner cannot choose among fewer arms.
        """
        x = _array("x", x, self._instance, self._precision.dtype, is_instance=True)
        game, t = self._begin(x.shape), self._next_round(available=available, n_draws=n_draws or None)
        row, arms = x, None
        if available is not None:
            arms, game = decisions.as_available(available, self._outcome[0], self._entrant.learner), game.with_arms
            row = decisions.join_rows(x[None], np.array([decisions.NO_ARM]), arms[None])[0]
        # the move does not depend on the outcome
        _, outcomes = game.play(t, self._states, row[None])
        move = game.read(outcomes, 0).y_hat
        if not (isinstance(move, np.floating) and math.isfinite(move)):
            self._warn_of_divergence(game.read(outcomes, slice(1)).y_hat, t)
        opened = ArmDecision.of(decisions.NO_ARM, t, x, np.zeros(0, x.dtype), self.round)
        if self._is_bandit:
            probabilities = game.probabilities(self._states, row, move, check.count("n_draws", n_draws, ge=0))
            known = self.round if arms is None else decisions.NOT_AGAIN
            move = opened = ArmDecision.of(int(move), t, x, probabilities, known)
        if arms is not None and not arms[opened]:
            raise RuntimeError(f"predict: the learner chose arm {int(move)}, so it cannot have restricts_arms = True")
        self._opened, self._open[t] = t, opened
        return move

    def update(
        self, x: ArrayLike | None = None, y: ArrayLike | None = None, *, loss: ArrayLike | None = None,
        reward: ArrayLike | None = None, decision: ArmDecision | int | None = None, arm: int | None = None,
        probability: ArrayLike | None = None,
    ) -> Round:  # fmt: skip
        """Close an open round: the learner learns from the part of the outcome that its feedback reveals.

        Args:
            x: the instance of the open round, as a check; None to omit it.
            y: the outcome: of arms the losses, or the rewards if the argument `rewards` of `Live` is True.
            loss: instead of `y`, the loss of the move, if the feedback is a `Bandit` or `LossOfMove`.
            reward: instead of `loss`, the reward of the pulled arm, if the feedback is a `Bandit`. The learner receives
                the loss `loss_at_zero_reward` - reward (see `Learner`). The record prints rewards; its loss is
                1 - reward.
            decision: for a bandit, the decision or its id; None for the only pending one.
            arm: for a bandit, the pulled arm if it is another one, also without a pending decision (then with `x`).
            probability: the probability with which somebody chose `arm`, or those of all arms [K]; EXP3 needs the
                first, EXP3.P and Tsallis-INF the second, UCB and Thompson sampling none (`Learner.off_policy`).

        Returns:
            The record of the round, as in `jo.play`, with the fields `loss`, `y_hat` (the move), `y`, `x`,
            `y_comparator` (equal to `y`), `queries`, `answers` and `info`, and `reward` if it was given. With `loss` or
            `reward`, the losses of other arms in `y` are NaN.

        Raises:
            RuntimeError: no round is open: call `predict` first.
            TypeError: an argument does not hold numbers, not exactly one of `y`, `loss` and `reward` is given, or the
                feedback does not accept an argument.
            ValueError: `x` is not the instance of the open round; the outcome has another shape, is not finite, or is
                no class of a margin loss; `decision` is unclear; the learner cannot learn from `arm` or so late.

        Example:
            >>> import jaxonline as jo
            >>> live = jo.Live(jo.learners.UCB1(ties="first"), jo.Bandit(), instance=0, outcome=3)
            >>> first, second = live.predict(), live.predict()
            >>> record = live.update(decision=second, reward=True)
            >>> record = live.update(decision=first.id, arm=2, reward=0.5)
            >>> live.state.pulls.tolist(), live.pending
            ([1, 0, 1], ())
        """
        self._check_for_bandits(reward=reward, decision=decision, arm=arm, probability=probability)
        opened = self._open_round("update", decision, x, arm)
        game, X = self._begin(opened.x.shape), opened.x[None]
        if x is not None and not (_array("x", x, self._instance, X.dtype) == opened.x).all():
            raise ArgumentError("x", f"must be the instance of the open round, {opened.x} (got {check.quote(x)})")
        name, outcome = self._outcomes("update", _array, y=y, loss=loss, reward=reward)
        rows, outcomes = X, self._losses(name, outcome, game)[None]
        if self._is_bandit:
            learner, n_arms = self._entrant.learner, self._outcome[0]
            arms = decisions.as_arms("arm", [opened if arm is None else arm], n_arms)
            is_own, probabilities = bool(arms == opened and probability is None), opened.probabilities[None]
            if not is_own:
                given = probability if probability is None else [probability]
                probabilities = decisions.off_policy_probabilities(given, arms, n_arms, learner)
            if not (is_own and opened.known_rounds == self.round):
                decisions.require_off_policy(learner, "decision", "older than another outcome, or among available arms")
                rows, game = decisions.join_rows(X, arms, probabilities), game.with_arms
            outcomes = outcomes if name == "y" else decisions.losses_of_all_arms(outcomes, arms, n_arms)
        elif name != "y":
            game = game.of_reported_losses
        record = game.read(self._play(game, opened.id, rows, outcomes), 0)
        self._opened = max(self._opened, opened.id)
        self._open.pop(opened.id, None)
        return self._completed(record, opened.x, outcomes[0], outcome if name == "reward" else None)

    def discard(self, decision: ArmDecision | int) -> None:
        """Forget a pending decision, whose outcome never comes.

        Raises:
            ValueError: the decision is not pending.
        """
        del self._open[self._open_round("discard", decision).id]

    def learn(
        self, X: ArrayLike | None, y: ArrayLike | None = None, *, loss: ArrayLike | None = None,
        reward: ArrayLike | None = None, arm: ArrayLike | None = None, probability: ArrayLike | None = None,
    ) -> Round:  # fmt: skip
        """Play rounds with known outcomes, for example before going live.

        The numbers equal those of `predict` and `update` for one row after the other, bit for bit. An open round is
        discarded, but decisions of a bandit stay pending. A bandit also learns from the logged arms of another policy.

        Args:
            X: instances, one row a round; None in a game without instances.
            y: outcomes, one a round, as in `update`.
            loss: instead of `y`, the losses of the pulled arms [n].
            reward: instead of `loss`, the rewards of the pulled arms [n].
            arm: the pulled arms [n].
            probability: their probabilities [n], or those of all arms [n, K], as in `update`.

        Returns:
            The records, with a leading axis, as in `jo.play`.

        Raises:
            TypeError: rows do not hold numbers, or the feedback does not accept an argument.
            ValueError: no rows, different numbers of rows, shapes that differ from those of earlier rounds, numbers
                that are not finite, outcomes that are not classes of a margin loss, or arms that suit no learning.

        Example:
            >>> import numpy as np, jaxonline as jo
            >>> live = jo.Live(jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5))
            >>> live.learn(np.eye(3), np.ones(3)).loss.tolist(), live.state.w.tolist()
            ([1.0, 1.0, 1.0], [1.0, 1.0, 1.0])
        """
        name, reported = self._outcomes("learn", _rows, y=y, loss=loss, reward=reward)
        self._check_for_bandits(loss=loss, reward=reward, arm=arm, probability=probability)
        if (name == "y") != (arm is None):
            raise ArgumentTypeError("arm", f"must be given with loss or reward, and not with y (got {name})")
        dtype = reported.dtype
        X = np.zeros((len(reported), 0), dtype) if X is None else _rows("X", X, self._instance, dtype, True)
        game = self._begin(X.shape[1:])
        rows, outcomes = X, self._losses(name, reported, game)
        arms = outcomes if arm is None else decisions.as_arms("arm", arm, self._outcome[0])
        if not len(X) == len(outcomes) == len(arms):
            raise ArgumentError(name, f"must have as many rows as X, {len(X)} (got {len(outcomes)})")
        if arm is not None:
            learner, n_arms, game = self._entrant.learner, self._outcome[0], game.with_arms
            rows = decisions.off_policy_probabilities(probability, arms, n_arms, learner)
            rows, outcomes = decisions.join_rows(X, arms, rows), decisions.losses_of_all_arms(outcomes, arms, n_arms)
        first, history = self._next_round(), []
        self._opened = first + len(X) - 1
        for start in range(0, len(X), TABLE_ROWS):
            part = slice(start, start + TABLE_ROWS)
            words = self._play(game, first + start, rows[part], outcomes[part])
            history.append(game.read(words, slice(len(rows[part]))))
        record = jax.tree.map(lambda *leaves: np.concatenate(leaves), *history)
        if arm is None:  # else probabilities may be unknown
            self._warn_of_divergence(record.y_hat, first)
        return self._completed(record, X, outcomes, reported if name == "reward" else None)

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
        return _rebuild, (self._precision.x64, self._entrant, self._options, key, saved)

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
            game = Game(no_arrivals(self._specs(instance), self._rewards), self._entrant.feedback, loss)
        live_game = LiveGame.of(game, self._entrant, self._key, self._precision)
        if self._loss is not None:
            warn_about_loss_mismatch(game, {"learner": self._entrant.learner})
        self._game, self._instance = live_game, instance
        return live_game

    def _specs(self, instance: tuple[int, ...]) -> Specs:
        dtype = self._precision.dtype
        return Specs(jax.ShapeDtypeStruct(instance, dtype), jax.ShapeDtypeStruct(self._outcome, dtype))

    def _play(self, game: LiveGame, t: int, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Play rounds from round t on; return their packed outcomes."""
        check_not_forked()
        self._states, outcomes = game.play(t, self._states, X, y)
        if game.may_overflow and np.any(full := game.read(outcomes, slice(len(y))).info.overflow):
            way, first = self._entrant.learner.capacity_hint, t + int(np.argmax(full))
            self._warn_once(f"the learner ran out of storage in round {first} and continues without the excess. {way}")
        self.round += len(y)
        return outcomes

    def _next_round(self, **for_bandits: Any) -> int:
        """Return the next round; without a bandit, an open round is discarded."""
        self._check_for_bandits(**for_bandits)
        if not self._is_bandit:
            self._opened = self.round
            self._open.clear()
        return self._opened + 1

    def _open_round(self, method: str, decision: Any, x: Any = None, arm: Any = None) -> ArmDecision:
        """Return the open round of a decision, its id, or None if only one is open; or a new round of a given arm."""
        if decision is None and not self._open:
            t = self._opened + 1
            if arm is None:
                raise RuntimeError(f"{method}: no round is open; call predict first, which opens round {t}")
            x = _array("x", x, self._instance, self._precision.dtype, is_instance=True)
            return ArmDecision.of(decisions.NO_ARM, t, x, np.zeros(0), decisions.NOT_AGAIN)
        ids = list(self._open)
        t = ids[0] if decision is None and len(ids) == 1 else getattr(decision, "id", decision)
        if isinstance(t, bool) or t not in self._open:
            some = ", ".join(map(str, ids[:9])) + ", ..." * (len(ids) > 9) or "none"
            raise ArgumentError("decision", f"must be a pending decision or its id, {some} (got {decision!r})")
        return self._open[t]

    def _check_for_bandits(self, **given: Any) -> None:
        """Raise a TypeError if an argument for bandits is given to another learner."""
        for name in (name for name, value in given.items() if value is not None and not self._is_bandit):
            kind = type(self._entrant.feedback).__name__
            raise ArgumentTypeError(name, f"must be None unless the feedback is Bandit (got {kind})")

    def _outcomes(self, method: str, convert: Callable[..., np.ndarray], **given: Any) -> tuple[str, np.ndarray]:
        """Return the name and the numbers of the only outcome that is given; rewards and losses may be booleans."""
        names = [name for name, value in given.items() if value is not None]
        if len(names) != 1:
            problem = f"must be given one of y, loss and reward (got {' and '.join(names) or 'none'})"
            raise ArgumentTypeError(method, problem)
        name, value = names[0], given[names[0]]
        if name != "y" and np.asarray(value).dtype == bool:
            value = np.asarray(value, float)
        return name, convert(name, value, self._outcome if name == "y" else (), self._precision.dtype)

    def _losses(self, name: str, outcomes: np.ndarray, game: LiveGame) -> np.ndarray:
        """Return losses in the game, after checks of the outcomes; in a game of rewards they are 1 - reward."""
        for loss in game.losses:
            check_outcomes(name, outcomes, loss)
        learner, are_rewards = game.entrant.learner, name == "reward" or (name == "y" and self._rewards)
        if learner.loss_range is not None:
            low, high = assumed_range(learner, are_rewards)
            check.numbers(name, outcomes, ge=low, le=high)
        if name == "reward" and not game.accepts_rewards:
            problem = f"must be True, since the prior of {type(learner).__name__} is that of rewards or of losses"
            raise ArgumentError("rewards", f"{problem} (got False); write jo.Live(..., rewards=True)")
        top = 1.0 if self._rewards else learner.loss_at_zero_reward
        return np.asarray(top - outcomes, outcomes.dtype) if are_rewards else outcomes

    def _completed(self, record: Round, x: np.ndarray, y: np.ndarray, rewards: np.ndarray | None) -> Round:
        """Complete the record of one or several rounds; `rewards` are those that were reported."""
        if rewards is not None:  # the losses of a record of rewards are 1 - reward
            y = y if self._rewards else y + (1.0 - self._entrant.learner.loss_at_zero_reward)
            record = record._replace(loss=1.0 - rewards[()])
        y = y[()]  # a scalar in the record of a round with one number
        record = record._replace(x=x, y=y, y_comparator=y)
        return record if rewards is None and not self._rewards else RewardRound(*record)

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
            "rewards": str(self._rewards),
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
            "opened": self._opened, "generator": str(jax.random.key_impl(self._key)),
        }  # fmt: skip
        leaves = [self._key, *jax.tree.leaves(self._states)]
        arrays = {str(i): np.asarray(states.state_array(leaf)) for i, leaf in enumerate(leaves)}
        if self._open:
            rows = [(one.x, int(one), one.probabilities) for one in self._open.values()]
            arrays["open"] = decisions.join_rows(*map(np.array, zip(*rows, strict=True)))
            arrays["open rounds"] = np.array([(one.id, one.known_rounds) for one in self._open.values()])
        return header, arrays

    def _restore(self, path: str, header: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
        """Restore the state of a file; if this raises an error, the object stays unchanged."""
        instance = header["instance"] if self._instance is None else self._instance
        with self._precision(), states.damage_named(path):
            key = jax.random.wrap_key_data(jnp.asarray(arrays["0"]), impl=header["generator"]).reshape(())
            other = Live(self._entrant, key=key, **self._options)
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
                other._opened, size = header["opened"], math.prod(instance)
                for row, (t, known) in zip(arrays.get("open", ()), arrays.get("open rounds", ()), strict=True):
                    facts = int(t), row[:size].reshape(instance), row[size + 1 :], int(known)
                    other._open[int(t)] = ArmDecision.of(int(row[size]), *facts)
        vars(self).update(vars(other))


def _rebuild(x64: bool, entrant: WithFeedback, options: Any, key: Any, saved: Any) -> Live:
    """Rebuild a pickled object."""
    impl, data = key
    with jax.enable_x64(x64):
        live = Live(entrant, key=jax.random.wrap_key_data(jnp.asarray(data), impl=impl), **options)
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
