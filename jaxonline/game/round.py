"""One round of the game of online learning, and the only place where hidden data flows.

    x        = environment.instance(...)         the environment picks an instance
    y_hat    = learner.predict(...)              the hypothesis, applied by the referee to x
    y        = environment.answer(..., y_hat)    an adaptive adversary may look at y_hat
    oracle   = feedback.open(x, y, y_hat)         what the learner may ask about this round
    state    = learner.update(..., oracle)       the learner sees x and y only through the oracle
               feedback.observe(x, y, y_hat)      an adaptive feedback learns of the round when it is over

Every method is a pure function of its arguments and a key. Keys are derived by `fold_in`, run -> stream -> round, so
that all learners of a study face the same instances and the same noise, and any run can be played again.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key, PyTree

from jaxonline._util import check
from jaxonline._util.struct import cast_leaves, static, struct
from jaxonline.game.protocols import AdaptiveFeedback, Environment, Feedback, Learner, Specs
from jaxonline.losses import Squared

REGRETS = ("clean", "noisy", "noisy learner")


@struct
class Entrant:
    """A learner with a feedback of its own, beside others of a study that use the game's feedback.

    Example:
        >>> from jaxonline.estimators import FullGradient
        >>> from jaxonline.game import Entrant
        >>> from jaxonline.learners import GradientLearner
        >>> from jaxonline.feedback import FullInformation
        >>> entrant = Entrant(GradientLearner(FullGradient(), step_size=0.1), FullInformation())
        >>> type(entrant.feedback).__name__
        'FullInformation'
    """

    learner: Any
    feedback: Any


@struct
class Game:
    """An environment, the feedback through which learners see it, and a loss.

    Args:
        environment: where instances and answers come from.
        feedback: what a learner may ask; a `Entrant` of a study may bring another one.
        loss: `loss(y_hat, y)`; squared loss by default.
        regret: which regret is measured (paper A, Appendix A). "clean": learner and comparator on the clean
            instances (the default, Eq. 1). "noisy": both on a noisy copy. "noisy learner": the learner on a noisy
            copy, the comparator on the clean instance (Eq. 5). The noisy copy is `copy(0)` of the game's feedback,
            the first one that a learner of that feedback may query.

    Raises:
        TypeError: if `environment`, `feedback` or `loss` is not what it must be.
        ValueError: if `regret` is none of these, or asks for copies that the feedback cannot make.

    Example:
        >>> import numpy as np
        >>> from jaxonline.environments import DataStream
        >>> from jaxonline.game import Game
        >>> from jaxonline.feedback.noise import gaussian
        >>> from jaxonline.feedback import NoisyCopies
        >>> game = Game(DataStream(np.eye(3), np.ones(3)), NoisyCopies(gaussian(0.1)))
        >>> game.regret
        'clean'
    """

    environment: Any
    feedback: Any
    loss: Any = Squared()
    regret: str = static(default="clean")

    def __post_init__(self):
        if not isinstance(self.environment, Environment):
            raise TypeError(f"environment must have the methods of Environment, got {type(self.environment).__name__}")
        if not isinstance(self.feedback, Feedback):
            raise TypeError(f"feedback must have the method open of Feedback, got {type(self.feedback).__name__}")
        if not callable(self.loss) or any(callable(leaf) for leaf in jax.tree.leaves(self.loss)):
            raise TypeError(f"loss must be a loss (jaxonline.losses) or a jax.tree_util.Partial, got {self.loss!r}")
        check.choice("regret", self.regret, REGRETS)
        if self.regret != "clean" and not getattr(self.feedback, "makes_copies", False):
            raise ValueError(
                f"regret={self.regret!r} needs a feedback of noisy copies, got {type(self.feedback).__name__}"
            )
        _try_feedback(self.feedback, self.environment.instance_spec)

    @property
    def oblivious(self) -> bool:
        """True when what the comparator is judged on does not depend on the learner."""
        judged_on_adaptive_noise = self.regret == "noisy" and isinstance(self.feedback, AdaptiveFeedback)
        return self.environment.oblivious and not judged_on_adaptive_noise

    @property
    def deterministic(self) -> bool:
        """True when, moreover, it is the same in every run."""
        return self.environment.oblivious and self.environment.deterministic and self.regret != "noisy"


class StreamKeys(NamedTuple):
    """The keys of one run: one stream each for the environment, the oracle and the learner.

    Example:
        >>> import jax
        >>> from jaxonline.game import stream_keys
        >>> stream_keys(jax.random.key(0))._fields
        ('environment', 'oracle', 'learner')
    """

    environment: Key[Array, ""]
    oracle: Key[Array, ""]
    learner: Key[Array, ""]


class States(NamedTuple):
    """The states of one run between two rounds.

    Attributes:
        environment: of the environment.
        learner: of the learner.
        feedback: of the entrant's feedback, () for one that remembers nothing.
        referee: of the game's feedback as far as the referee takes noisy copies from it, else ().

    Example:
        >>> from jaxonline.game import States
        >>> States((), ())
        States(environment=(), learner=(), feedback=(), referee=())
    """

    environment: PyTree
    learner: PyTree
    feedback: PyTree = ()
    referee: PyTree = ()


class Round(NamedTuple):
    """What the referee writes down about a round.

    Attributes:
        loss: the loss of the prediction.
        y_hat, y: prediction and target.
        x: the clean instance.
        x_comparator: the instance on which the comparator is judged (differs from x for regret="noisy").
        queries: the number of queries charged by the oracle.
        info: the learner's diagnostics.

    Example:
        >>> from jaxonline.game import Round
        >>> Round._fields[:2]
        ('loss', 'y_hat')
    """

    loss: Array
    y_hat: Array
    y: Array
    x: Array
    x_comparator: Array
    queries: Array
    info: PyTree


def stream_keys(run_key: Key[Array, ""]) -> StreamKeys:
    """The three streams of a run.

    Example:
        >>> import jax
        >>> from jaxonline.game import stream_keys
        >>> keys = stream_keys(jax.random.fold_in(jax.random.key(0), 7))  # run 7 of a study with key 0
    """
    return StreamKeys(*(jax.random.fold_in(run_key, stream) for stream in range(3)))


def as_entrant(game: Game, learner: Any) -> Entrant:
    """The learner with the feedback it plays through: its own if it is a `Entrant`, else the game's.

    Raises:
        TypeError: if it is neither a learner nor a entrant.

    Example:
        >>> import numpy as np
        >>> from jaxonline.environments import DataStream
        >>> from jaxonline.estimators import FullGradient
        >>> from jaxonline.game import Game, as_entrant
        >>> from jaxonline.learners import GradientLearner
        >>> from jaxonline.feedback import FullInformation
        >>> game = Game(DataStream(np.eye(3), np.ones(3)), FullInformation())
        >>> as_entrant(game, GradientLearner(FullGradient(), step_size=0.1)).feedback is game.feedback
        True
    """
    entrant = learner if isinstance(learner, Entrant) else Entrant(learner, game.feedback)
    if not isinstance(entrant.learner, Learner):
        raise TypeError(f"a learner must have init, predict and update, got {type(entrant.learner).__name__}")
    _try_feedback(entrant.feedback, game.environment.instance_spec)
    return entrant


def open_oracle(
    feedback: Any, key: Key[Array, ""], t: Int[Array, ""], x: Array, y: Array, y_hat: Any, state: PyTree = ()
) -> Any:
    """The oracle of round t; `state` is for an adaptive feedback.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.game import open_oracle
        >>> from jaxonline.feedback import FullInformation
        >>> open_oracle(FullInformation(), jax.random.key(0), jnp.int32(1), jnp.ones(1), jnp.ones(()), 0.0).x.tolist()
        [1.0]
    """
    if isinstance(feedback, AdaptiveFeedback):
        return feedback.open(key, t, x, y, y_hat, state)
    return feedback.open(key, t, x, y, y_hat)


def _feedback_state(feedback: Any, oracle_key: Key[Array, ""], instance: jax.ShapeDtypeStruct) -> PyTree:
    if isinstance(feedback, AdaptiveFeedback):
        return feedback.init(jax.random.fold_in(oracle_key, 0), instance)
    return ()


def _observed(feedback: Any, state: PyTree, t: Int[Array, ""], x: Array, y: Array, y_hat: Array) -> PyTree:
    return feedback.observe(state, t, x, y, y_hat) if isinstance(feedback, AdaptiveFeedback) else state


def _referees_feedback(game: Game) -> Any:
    """The feedback from which the referee takes noisy copies, or None."""
    return None if game.regret == "clean" else game.feedback


def _try_feedback(feedback: Any, instance: jax.ShapeDtypeStruct) -> None:
    """Open the feedback once without computing anything, so that noise of another dimension is an error now."""
    feedback = cast_leaves(feedback, instance.dtype)

    def ask(key, t, x, y):
        state = _feedback_state(feedback, key, instance)
        oracle = open_oracle(feedback, key, t, x, y, y, state)
        answers = (oracle.copy(0), oracle.label()) if getattr(feedback, "makes_copies", False) else ()
        return state, _observed(feedback, state, t, x, y, y), answers

    scalar = jax.ShapeDtypeStruct((), instance.dtype)
    key = jax.eval_shape(lambda: jax.random.key(0))
    before, after, _ = jax.eval_shape(ask, key, jax.ShapeDtypeStruct((), jnp.int32), instance, scalar)
    kinds = [[(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(state)] for state in (before, after)]
    if kinds[0] != kinds[1] or jax.tree.structure(before) != jax.tree.structure(after):
        raise ValueError(f"feedback.observe must return a state of the type of init's, {before}, got {after}")


def start(game: Game, entrant: Entrant | None, keys: StreamKeys) -> States:
    """The states before round 1.

    Raises:
        ValueError: without a entrant, if the comparator is judged on noise that an adversary aims at a learner.

    Example:
        >>> import jax, numpy as np
        >>> from jaxonline.environments import DataStream
        >>> from jaxonline.game import Game, start, stream_keys
        >>> from jaxonline.feedback import FullInformation
        >>> game = Game(DataStream(np.eye(3), np.ones(3)), FullInformation())
        >>> start(game, None, stream_keys(jax.random.key(0))).learner
        ()
    """
    instance = game.environment.instance_spec
    environment = game.environment.init(jax.random.fold_in(keys.environment, 0))
    if entrant is None:
        if game.environment.oblivious and not game.oblivious:
            raise ValueError(
                "regret='noisy' with an adaptive feedback needs a entrant: the copies depend on what it does"
            )
        return States(environment, ())
    return States(
        environment,
        entrant.learner.init(jax.random.fold_in(keys.learner, 0), Specs(instance, game.environment.outcome_spec)),
        _feedback_state(entrant.feedback, keys.oracle, instance),
        _feedback_state(_referees_feedback(game), keys.oracle, instance),
    )


def play_round(
    game: Game, entrant: Entrant | None, keys: StreamKeys, t: Int[Array, ""], states: States
) -> tuple[States, Round]:
    """Play round t = 1, 2, ... With `entrant=None` only the environment moves (it must be oblivious).

    Example:
        >>> import jax, jax.numpy as jnp, numpy as np
        >>> from jaxonline.environments import DataStream
        >>> from jaxonline.game import Game, play_round, start, stream_keys
        >>> from jaxonline.feedback import FullInformation
        >>> game = Game(DataStream(np.eye(3), np.ones(3)), FullInformation())
        >>> keys = stream_keys(jax.random.key(0))
        >>> states, record = play_round(game, None, keys, jnp.int32(1), start(game, None, keys))
        >>> float(record.y)
        1.0
    """
    environment_key, oracle_key, learner_key = (jax.random.fold_in(key, t) for key in keys)
    x, environment = game.environment.instance(jax.random.fold_in(environment_key, 0), states.environment, t)

    def evaluated(on_noisy: bool) -> Array:
        if not on_noisy:
            return x
        unseen = jnp.zeros((), x.dtype)  # a noisy copy of x depends on neither answer nor prediction of this round
        return open_oracle(game.feedback, oracle_key, t, x, unseen, unseen, states.referee).copy(0)

    x_comparator = evaluated(game.regret == "noisy")
    if entrant is None:
        y_hat = jnp.zeros((), x.dtype)
    else:
        x_learner = evaluated(game.regret in ("noisy", "noisy learner"))
        y_hat = entrant.learner.predict(jax.random.fold_in(learner_key, 0), states.learner, x_learner)

    answer_key = jax.random.fold_in(environment_key, 1)
    y, environment = game.environment.answer(answer_key, environment, t, x, y_hat)
    if entrant is None:
        record = Round(jnp.zeros((), x.dtype), y_hat, y, x, x_comparator, jnp.int32(0), ())
        return States(environment, ()), record

    oracle = open_oracle(entrant.feedback, oracle_key, t, x, y, y_hat, states.feedback)
    learner, info = entrant.learner.update(jax.random.fold_in(learner_key, 1), states.learner, oracle)
    record = Round(game.loss(y_hat, y), y_hat, y, x, x_comparator, oracle.queries(), info)
    feedback = _observed(entrant.feedback, states.feedback, t, x, y, y_hat)
    referee = _observed(_referees_feedback(game), states.referee, t, x, y, y_hat)
    return States(environment, learner, feedback, referee), record


def play(game: Game, learner: Any, key: Key[Array, ""], n_rounds: int) -> tuple[PyTree, Round]:
    """Play one run with its full history: the tool for small games, debugging and teaching.

    Args:
        game: the game.
        learner: a learner, or a `Entrant`.
        key: the run's key; run r of a study with key k has the key `fold_in(k, r)`.
        n_rounds: the horizon, at least 1.

    Returns:
        The learner's final state, and the `Round` records with a leading axis [n_rounds].

    Raises:
        ValueError: if `n_rounds` is less than 1.

    Example:
        >>> import jax, numpy as np
        >>> import jaxonline as jo
        >>> game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
        >>> learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)
        >>> state, history = jo.play(game, learner, jax.random.key(0), n_rounds=6)
        >>> history.loss.tolist()  # every coordinate is seen twice, and a step of 1/2 solves it at once
        [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
    """
    check.count("n_rounds", n_rounds)
    dtype = game.environment.instance_spec.dtype
    game, entrant = cast_leaves((game, as_entrant(game, learner)), dtype)
    return _play(game, entrant, key, n_rounds)


@jax.jit(static_argnames=("n_rounds",))
def _play(game, entrant, key, n_rounds):
    keys = stream_keys(key)
    rounds = jnp.arange(1, n_rounds + 1, dtype=jnp.int32)
    states, history = jax.lax.scan(
        lambda states, t: play_round(game, entrant, keys, t, states), start(game, entrant, keys), rounds
    )
    return states.learner, history
