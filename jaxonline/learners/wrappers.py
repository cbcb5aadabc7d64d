"""Learners that wrap a learner: for delayed feedback, an unknown horizon, and feature maps; risk on held-out rows."""

from collections.abc import Callable
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Key

from jaxonline.estimators.fourier import AnyFeatures
from jaxonline.game import bind, check_rounds, overflow_flag, play_round, start, stream_keys
from jaxonline.game.keys import part_key
from jaxonline.game.roles import Feedback, Learner, LearnerWrapper, Oracle, Specs, of_inner
from jaxonline.numerics.elementwise import exact_products
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import replace, static, struct
from jaxonline.parameters.types import Component, Convert, Count, NonNegativeInt, PyTree, RandomKey, Rounds, Takes


def require_learner(learner: Any, name: str) -> Any:
    """Return the learner; raise a TypeError for any other object."""
    return check.instance(name, learner, Learner, "a learner, whose class inherits from jo.Learner")


AnyLearner = Annotated[Any, Component("learner"), Convert(require_learner)]


# ---------------------------------------------------------------------------------------------------------------------
# A learner under delayed feedback: one update for each answer that arrives.


@cites("joulani2013delayed")
@struct
class UpdateOnArrival(LearnerWrapper):
    """Plays with a learner made for immediate feedback, and updates the learner once for each answer that arrives.

    If the answer of round s arrives in round t, the update gets the oracle and the move of round s, so importance
    weights use the probabilities of round s. Delay adds a constant to the regret of UCB1 (`bounds.delayed_ucb1`) and
    a term of order sqrt(d T ln K) to the regret of EXP3 (`bounds.delayed_exp3`).

    Args:
        learner: the base learner.

    Example:
        >>> import jaxonline as jo
        >>> arms = jo.environments.BernoulliArms([0.2, 0.8])
        >>> game = jo.Game(arms, jo.Delayed(jo.Bandit(), delay=5), loss=jo.losses.ArmLoss())
        >>> learner = jo.learners.UpdateOnArrival(jo.learners.EXP3(0.1))
        >>> jo.simulate(game, learner, n_runs=2, n_rounds=20, key=0).queries[0, :, -1].tolist()
        [15.0, 15.0]
    """

    learner: AnyLearner

    def init(self, key: Key[Array, ""], specs: Specs) -> PyTree:
        """Return the state of the base learner."""
        return self.learner.init(key, specs)

    def predict(self, key: Key[Array, ""], state: PyTree, x: PyTree) -> PyTree:
        """Return the move of the base learner."""
        return self.learner.predict(key, state, x)

    def update(self, key: Key[Array, ""], state: PyTree, oracle: Any) -> tuple[PyTree, PyTree]:
        """Return the state of the base learner after all answers of this round, and the info of the last update."""

        def step(carry, arrival):
            state, before = carry
            state, info = self.learner.update(arrival_key(key, arrival.age), state, arrival.oracle)
            return state, with_overflow(info, before)

        return oracle.for_each(step, (state, empty_info(self.learner, key, state, oracle)))


def arrival_key(key: Key[Array, ""], age: Int[Array, ""]) -> Key[Array, ""]:
    """Return the random key of an update: the round's key for the round's answer, another key for an older answer.

    The learner derives its own keys from the round's key with small numbers, so an age is folded in with a large one.
    """
    return jnp.where(age == 0, key, jax.random.fold_in(key, age.astype(jnp.uint32) + jnp.uint32(2**31)))


def empty_info(learner: Any, key: Key[Array, ""], state: PyTree, oracle: Any) -> PyTree:
    """Return the info of a round in which no answer arrives: zeros."""
    info = jax.eval_shape(lambda state: learner.update(key, state, oracle.first().oracle)[1], state)
    return jax.tree.map(lambda leaf: jnp.zeros(leaf.shape, leaf.dtype), info)


def with_overflow(info: PyTree, before: PyTree) -> PyTree:
    """Return the info, with an overflow if there was an overflow earlier in this round."""
    return info._replace(overflow=info.overflow | before.overflow) if hasattr(info, "overflow") else info


# ---------------------------------------------------------------------------------------------------------------------
# Black-box online learning with delays (BOLD): Joulani, Gyorgy and Szepesvari (2013), Algorithm 1.


class BOLDState(NamedTuple):
    """State of `BOLD`.

    Attributes:
        copies: the states of the copies of the base learner [n, ...].
        waiting: whether each copy waits for an answer [n].
        of_round: entry s mod n is the copy that moved in round s [n].
        n_rounds: the number of rounds so far.
    """

    copies: PyTree
    waiting: Bool[Array, "n"]
    of_round: Int[Array, "n"]
    n_rounds: Int[Array, ""]


@cites("joulani2013delayed", "weinberger2002delayed")
@struct
class BOLD(LearnerWrapper):
    """Plays each round with a copy of the base learner that does not wait for an answer (BOLD).

    Each copy learns without delay from the rounds in which it moves. Let the regret of the base learner be at most
    R(T), a concave function. Then the regret of BOLD under delays of at most d is at most (d + 1) R(T / (d + 1))
    (`bounds.bold`). With a fixed delay BOLD is the algorithm of Weinberger and Ordentlich (2002).

    Args:
        learner: the base learner.
        max_delay: the largest delay; there are `max_delay` + 1 copies.

    Raises:
        ValueError: the feedback has a larger delay (raised at binding to a game).

    Example:
        >>> import numpy as np
        >>> import jaxonline as jo
        >>> losses = jo.environments.DataStream(None, np.tile([1.0, 0.0], (20, 1)))
        >>> game = jo.Game(losses, jo.Delayed(jo.FullInformation(), delay=3), loss=jo.losses.ExpectedLoss())
        >>> learner = jo.learners.BOLD(jo.learners.Hedge(jo.learners.EWA(0.5)), max_delay=3)
        >>> jo.simulate(game, learner, n_runs=1, n_rounds=20).queries[0, 0, -1].item()
        17.0
    """

    learner: AnyLearner
    max_delay: NonNegativeInt = static()

    def check_feedback(self, feedback: Feedback) -> None:
        """Check the delay, and that the base learner accepts the feedback."""
        if feedback.max_delay > self.max_delay:
            problem = f"must be at least the feedback's, {feedback.max_delay} (got {self.max_delay})"
            raise ArgumentError("max_delay", problem)
        super().check_feedback(feedback)

    def init(self, key: Key[Array, ""], specs: Specs) -> BOLDState:
        """Return all copies in the initial state of the base learner."""
        n_copies = self.max_delay + 1
        state = self.learner.init(key, specs)
        copies = jax.tree.map(lambda leaf: jnp.broadcast_to(leaf, (n_copies, *jnp.shape(leaf))), state)
        return BOLDState(copies, jnp.zeros(n_copies, bool), jnp.zeros(n_copies, jnp.int32), jnp.int32(0))

    def predict(self, key: Key[Array, ""], state: BOLDState, x: PyTree) -> PyTree:
        """Return the move of the first copy that does not wait for an answer."""
        return self.learner.predict(key, _row(state.copies, _first_free(state)), x)

    def update(self, key: Key[Array, ""], state: BOLDState, oracle: Any) -> tuple[BOLDState, PyTree]:
        """Update the copy that moved in the round of each answer; return the info of the last update."""
        n_copies, moved, t = self.max_delay + 1, _first_free(state), state.n_rounds + 1
        waiting, of_round = state.waiting.at[moved].set(True), state.of_round.at[t % n_copies].set(moved)

        def step(carry, arrival):
            copies, waiting, before = carry
            copy = of_round[arrival.round % n_copies]
            updated, info = self.learner.update(arrival_key(key, arrival.age), _row(copies, copy), arrival.oracle)
            copies = jax.tree.map(lambda rows, leaf: rows.at[copy].set(leaf), copies, updated)
            return copies, waiting.at[copy].set(False), with_overflow(info, before)

        no_info = empty_info(self.learner, key, _row(state.copies, moved), oracle)
        copies, waiting, info = oracle.for_each(step, (state.copies, waiting, no_info))
        return BOLDState(copies, waiting, of_round, t), info

    def weights(self, state: BOLDState) -> Array:
        """Return the weights of the copy that moves next."""
        return self.learner.weights(_row(state.copies, _first_free(state)))


def _first_free(state: BOLDState) -> Int[Array, ""]:
    return jnp.argmin(state.waiting).astype(jnp.int32)


def _row(rows: PyTree, index: Int[Array, ""]) -> PyTree:
    return jax.tree.map(lambda leaf: leaf[index], rows)


# ---------------------------------------------------------------------------------------------------------------------
# Doubling trick: Auer, Cesa-Bianchi, Freund and Schapire (1995); Cesa-Bianchi and Lugosi (2006), section 2.3.


class DoublingState(NamedTuple):
    """State of `Doubling`.

    `learner` is the current learner's state, `start` is a learner's state before round 1. The current phase has
    `horizon` rounds, and `played` of them are over.
    """

    learner: PyTree
    start: PyTree
    played: Int[Array, ""]
    horizon: Int[Array, ""]


@cites("auer1995gambling", "cesabianchi2006prediction")
@struct
class Doubling(LearnerWrapper):
    """Doubling trick for an unknown horizon: start learners for 1, 2, 4, ... rounds, in one compiled program.

    If the learner for T rounds has a regret of at most c sqrt(T), the regret of `Doubling` is at most
    c sqrt(T) sqrt(2)/(sqrt(2) - 1) after every number of rounds (`bounds.doubling`).

    Args:
        learner_for: `learner_for(T)` returns the learner for a horizon T. T is a float unknown at compilation, so the
            function computes with `jax.numpy`, and no array shape may depend on T. Define `learner_for` only once,
            since two functions need two compiled programs. All learners start from the initial state of the first
            learner.

    Example:
        >>> import jax, jax.numpy as jnp, numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.learners import EWA, Doubling, Hedge
        >>> def hedge(n_rounds):
        ...     return Hedge(EWA(jnp.sqrt(8.0 * np.log(2.0) / n_rounds)))
        >>> losses = jo.environments.DataStream(None, np.tile([1.0, 0.0], (7, 1)))
        >>> game = jo.Game(losses, jo.FullInformation(), loss=jo.losses.ExpectedLoss())
        >>> state, history = jo.play(game, Doubling(hedge), jax.random.key(0), n_rounds=7)
        >>> [f"{weight:.2f}" for weight in history.y_hat[:, 0]]  # phases start in rounds 1, 2 and 4
        ['0.50', '0.50', '0.16', '0.50', '0.24', '0.09', '0.03']
    """

    learner_for: Annotated[Callable[..., Any], Takes("the number of rounds")] = static()

    def __post_init__(self) -> None:
        require_learner(self.learner, "learner_for(1.0)")

    @property
    def learner(self) -> Any:  # type: ignore[override]
        """Return the first learner, for one round; learners for other horizons have the same facts."""
        return self.learner_for(1.0)

    def for_rewards(self) -> "Doubling":
        """Return the wrapper of learners for rewards."""
        return replace(self, learner_for=lambda n_rounds: self.learner_for(n_rounds).for_rewards())

    def overflow_probability(self, n_rounds: int) -> float | None:
        """Return the sum of the phases' overflow probabilities, at most 1; each phase starts with empty storage."""
        lengths = [2**phase for phase in range((n_rounds + 1).bit_length() - 1)]
        lengths.append(n_rounds - sum(lengths))
        probabilities = [super(Doubling, self).overflow_probability(length) for length in lengths if length]
        return None if None in probabilities else min(1.0, sum(probabilities))  # type: ignore[arg-type]

    def weights(self, state: DoublingState) -> Float[Array, "K"]:
        """Return the weights of the current learner."""
        return self._current_learner(state).weights(state.learner)

    def init(self, key: Key[Array, ""], specs: Specs) -> DoublingState:
        """Return the state of the first learner."""
        start = self.learner.init(key, specs)
        return DoublingState(start, start, jnp.int32(0), jnp.int32(1))

    def predict(self, key: Key[Array, ""], state: DoublingState, x: PyTree) -> PyTree:
        """Return the move of the current learner."""
        return self._current_learner(state).predict(key, state.learner, x)

    def update(self, key: Key[Array, ""], state: DoublingState, oracle: Any) -> tuple[DoublingState, PyTree]:
        """Update the current learner; after the learner's last round the next phase starts."""
        learner, info = self._current_learner(state).update(key, state.learner, oracle)
        is_last = state.played + 1 >= state.horizon
        learner = jax.tree.map(lambda new, old: jnp.where(is_last, new, old), state.start, learner)
        played = jnp.where(is_last, 0, state.played + 1)
        return DoublingState(learner, state.start, played, jnp.where(is_last, 2, 1) * state.horizon), info

    def _current_learner(self, state: DoublingState) -> Any:
        return self.learner_for(state.horizon.astype(jnp.result_type(float)))


# ---------------------------------------------------------------------------------------------------------------------
# A learner in feature space, for a feature map such as random Fourier features: Rahimi and Recht (2007).


@cites("rahimi2007random")
@struct
class WithFeatures(LearnerWrapper):
    """Learner in feature space, which sees phi(x) in place of every instance and copy, and predicts from phi(x).

    Labels, queries and the costs of queries do not change. On noisy copies features are biased, since E phi(x~) differs
    from phi(x): `TwoCopies` learns with the mean features E phi(x~) in place of phi(x), and `MeanOfCopies` averages
    features, not copies. With unbiased `copy_features` `TwoCopies` learns with phi(x). The covariance of the noise of
    features is unknown: `KnownCovariance` raises a ValueError.

    Args:
        learner: a learner of vectors with the length of the features.
        features: a feature map, a pytree that is a function of an instance (`FourierFeatures`).
        copy_features: the feature map of noisy copies; `features` when None.

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> from jaxonline.estimators import FourierFeatures, NaiveCopy
        >>> features = FourierFeatures.draw(jax.random.key(0), jo.kernels.Gaussian(2.0), dimension=2, n_frequencies=50)
        >>> learner = jo.GradientLearner(NaiveCopy(), step_size=0.1, radius=3.0)
        >>> game = jo.Game(jo.environments.LinearModel(np.array([0.6, -0.8])), jo.NoisyCopies(jo.noise.gaussian(0.2)))
        >>> jo.play(game, jo.learners.WithFeatures(learner, features), jax.random.key(1), n_rounds=5)[0].w.shape
        (100,)
    """

    learner: AnyLearner
    features: AnyFeatures
    copy_features: AnyFeatures | None = None

    def check_feedback(self, feedback: Feedback) -> None:
        """Check the feedback by the inner learner; noise of features has no single distribution."""
        super().check_feedback(_FeedbackOfFeatures(feedback))

    def init(self, key: Key[Array, ""], specs: Specs) -> PyTree:
        """Return the learner's state for instances like phi(x)."""
        return self.learner.init(key, specs._replace(instance=jax.eval_shape(self.features, specs.instance)))

    def predict(self, key: Key[Array, ""], state: PyTree, x: Float[Array, "d"]) -> Float[Array, ""]:
        """Predict from phi(x)."""
        return self.learner.predict(key, state, self.features(x))

    def update(self, key: Key[Array, ""], state: PyTree, oracle: Any) -> tuple[PyTree, PyTree]:
        """Update the learner with an oracle of features."""
        of_copies = self.features if self.copy_features is None else self.copy_features
        return self.learner.update(key, state, FeaturedOracle(oracle, self.features, of_copies))


class _FeedbackOfFeatures(Feedback):
    """A feedback as a learner of features sees it: the noise of features has no single distribution."""

    def __init__(self, feedback: Feedback):
        self.feedback = feedback

    makes_copies, label_noise, open = (of_inner(name, "feedback") for name in ("makes_copies", "label_noise", "open"))
    reads_entries, max_delay = (of_inner(name, "feedback") for name in ("reads_entries", "max_delay"))
    max_rounds, max_copies = (of_inner(name, "feedback") for name in ("max_rounds", "max_copies"))


class FeaturedOracle(Oracle):
    """Oracle in feature space: returns phi of the instance and the copies of another oracle, which counts queries.

    `of_copies` is the feature map of copies.
    """

    def __init__(self, oracle: Any, features: Callable[[Array], Array], of_copies: Callable[[Array], Array]):
        self._oracle = oracle
        self._of_instance = features
        self._features = of_copies

    @property
    def x(self) -> Float[Array, "m"]:
        """phi(x)."""
        return self._of_instance(self._oracle.x)

    @property
    def y(self) -> Float[Array, ""]:
        """The target."""
        return self._oracle.y

    def copy(self, index: int) -> Float[Array, "m"]:
        """Return phi of the copy with the given index."""
        return self._features(self._oracle.copy(index))

    def copies(self, first: int, capacity: int, number: Int[Array, ""] | None = None) -> Float[Array, "capacity m"]:
        """Return phi of `number` or `capacity` copies from index `first` on; charge these copies. Other rows are 0."""
        if number is None:
            return jnp.stack([self._features(copy) for copy in self._oracle.copies(first, capacity)])
        features = jax.vmap(self._features)(self._oracle.copies(first, capacity, number))
        drawn = jnp.arange(capacity, dtype=jnp.int32) < number
        return jnp.where(drawn[:, None], features, jnp.zeros_like(features))

    def reserve(self, number: Int[Array, ""]) -> Callable[[Int[Array, ""]], Float[Array, "m"]]:
        """Charge `number` copies; return `draw`, where `draw(index)` is phi of the copy `index`."""
        draw = self._oracle.reserve(number)
        return lambda index: self._features(draw(index))

    def label(self, index: int | Int[Array, ""] = 0) -> Float[Array, ""]:
        """Return the noisy label with the given index."""
        return self._oracle.label(index)

    def labels(self, capacity: int, number: Int[Array, ""]) -> Float[Array, "capacity"]:
        """Return the first `number` noisy labels."""
        return self._oracle.labels(capacity, number)

    @property
    def covariance(self) -> Float[Array, "m m"]:
        """Raise a ValueError, since the covariance of the noise of features is unknown."""
        raise ValueError("covariance: unknown for the noise of features; use an estimator that does not need it")

    def queries(self) -> Int[Array, ""]:
        """Return the number of queries charged so far in this round."""
        return self._oracle.queries()


# ---------------------------------------------------------------------------------------------------------------------
# Risk on held-out rows of a learner's hypotheses and of their mean, under any feedback.


HELD_OUT = 2  # index in the learner's key of a round, beside PREDICT and UPDATE


class HeldOutRisk(NamedTuple):
    """Result of `held_out_risk`: mean losses on the held-out rows after every round [n_runs, n_rounds].

    Attributes:
        mean: risk of the mean prediction of the hypotheses of rounds 1 to t.
        random: mean risk of these hypotheses, that is the expected risk of a hypothesis drawn at random.
        last: risk of the hypothesis after t updates.
        overflowed: whether a run had no room for a copy, or asked for more copies than are measured [n_runs]; its later
            risks are not valid.
    """

    mean: Float[np.ndarray, "n_runs n_rounds"]
    random: Float[np.ndarray, "n_runs n_rounds"]
    last: Float[np.ndarray, "n_runs n_rounds"]
    overflowed: Bool[np.ndarray, "n_runs"]


@cites("cesabianchi2004generalization")
@validate_arguments
def held_out_risk(
    game: Annotated[Any, Component("game")],
    learner: Annotated[Any, Component("learner")],
    X: Float[ArrayLike, "m d"],
    y: Float[ArrayLike, "m"],
    n_rounds: Rounds,
    n_runs: Count = 1,
    seed: RandomKey = 0,
) -> HeldOutRisk:
    """Play a game, and evaluate the learner's hypotheses on held-out rows (online-to-batch conversion).

    The feedback may be any feedback, and the hypotheses may be of any type: the mean of the predictions replaces the
    prediction of a mean hypothesis. If the rows of the game are independent draws and the loss is convex, the expected
    risk of the mean prediction exceeds that of any fixed competitor by at most the expected regret divided by t.
    Without convexity this holds for a random hypothesis.

    Args:
        game: the game; its loss evaluates the predictions.
        learner: a learner whose predictions are numbers, or a `WithFeedback`.
        X: clean held-out instances, which the learner does not see.
        y: clean held-out targets.
        n_rounds: number of rounds.
        n_runs: number of runs. Run r has the random numbers of `play` with the key `fold_in(key, r)`.
        seed: seed of the runs' random numbers.

    Raises:
        ValueError: held-out instances do not have the shape of the game's instances; the feedback has fewer rounds.
        TypeError: the predictions are not numbers.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(600, 2))
        >>> y = X @ [0.6, -0.3]
        >>> game = jo.Game(jo.environments.DataStream(X[:400], y[:400]), jo.NoisyCopies(jo.noise.gaussian(0.1)))
        >>> learner = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=0.05, radius=1.0)
        >>> risk = jo.learners.held_out_risk(game, learner, X[400:], y[400:], n_rounds=400)
        >>> bool(risk.mean[0, -1] < 0.1 * np.mean(y**2))
        True
    """
    check.rows("X", X, "y", y)
    bound = bind(game, learner)
    check_rounds(game, bound.entrant, n_rounds)
    y_hat, instance = bound.record.y_hat, bound.game.specs.instance
    if jnp.shape(y_hat) or not jnp.issubdtype(getattr(y_hat, "dtype", bool), jnp.floating):
        raise ArgumentTypeError("learner", f"must predict numbers (got {type(learner).__name__})")
    if getattr(instance, "shape", None) != np.shape(X)[1:]:
        raise ArgumentError("X", f"must have rows like the game's instances, {instance} (got shape {np.shape(X)})")
    key = check.as_key("seed", seed)
    keys = jax.vmap(lambda run: jax.random.fold_in(key, run))(jnp.arange(n_runs, dtype=jnp.uint32))
    X, y = jnp.asarray(X, instance.dtype), jnp.asarray(y, bound.game.dtype)
    *risks, overflows = _risks(bound.game, bound.entrant, keys, X, y, n_rounds)
    mean, random, last = (np.asarray(risk, float) for risk in risks)
    return HeldOutRisk(mean, random, last, np.any(np.asarray(overflows), axis=1))


@jax.jit(static_argnames="n_rounds")
def _risks(game, entrant, run_keys, X, y, n_rounds):
    @exact_products()
    def predict(keys, t, states):
        key = part_key(keys.learner, t, HELD_OUT)
        return jax.vmap(lambda x: entrant.learner.predict(key, states.learner, x))(X)

    def risk(predictions):
        return jnp.mean(jax.vmap(game.loss)(predictions, y))

    def one_run(key):
        keys = stream_keys(key)

        def one_round(carry, t):
            states, predictions, mean, random = carry
            share = 1 / t.astype(mean.dtype)
            mean = mean + (predictions - mean) * share
            random = random + (risk(predictions) - random) * share
            states, record = play_round(game, entrant, keys, t, states)
            predictions = predict(keys, t, states)
            flag, most = overflow_flag(record.info), entrant.feedback.max_copies
            overflow = jnp.bool_(False) if flag is None else flag
            overflow |= jnp.bool_(False) if most is None else record.queries > most
            return (states, predictions, mean, random), (risk(mean), random, risk(predictions), overflow)

        states = start(game, entrant, keys)
        predictions = predict(keys, jnp.int32(0), states)
        carry = states, predictions, jnp.zeros_like(predictions), jnp.zeros((), risk(predictions).dtype)
        return jax.lax.scan(one_round, carry, jnp.arange(1, n_rounds + 1, dtype=jnp.int32))[1]

    return jax.vmap(one_run)(run_keys)
