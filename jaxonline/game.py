"""One round of the game of online learning, and the only place where hidden data flows.

    x        = environment.instance(...)         the environment picks an instance
    y_hat    = learner.predict(...)              the hypothesis, applied by the referee to x
    y        = environment.answer(..., y_hat)    an adaptive adversary may look at y_hat
    oracle   = channel.open(x, y, y_hat)         what the learner may ask about this round
    state    = learner.update(..., oracle)       the learner sees x and y only through the oracle
               channel.observe(x, y, y_hat)      an adaptive channel learns of the round when it is over

Every method is a pure function of its arguments and a key. Keys are derived by `fold_in`, run -> stream -> round, so
that all learners of a study face the same instances and the same noise, and any run can be played again.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key, PyTree

from jaxonline import _check
from jaxonline._struct import cast_leaves, static, struct
from jaxonline.losses import Squared
from jaxonline.protocols import AdaptiveChannel, Channel, Environment, Learner

REGRETS = ("clean", "noisy", "noisy learner")


@struct
class Player:
    """A learner with a channel of its own, beside others of a study that use the game's channel.

    Example:
        >>> from jaxonline.estimators import FullGradient
        >>> from jaxonline.game import Player
        >>> from jaxonline.learners import GradientLearner
        >>> from jaxonline.oracles import FullInformation
        >>> player = Player(GradientLearner(FullGradient(), step_size=0.1), FullInformation())
        >>> type(player.channel).__name__
        'FullInformation'
    """

    learner: Any
    channel: Any


@struct
class Game:
    """An environment, the channel through which learners see it, and a loss.

    Args:
        environment: where instances and answers come from.
        channel: what a learner may ask; a `Player` of a study may bring another one.
        loss: `loss(y_hat, y)`; squared loss by default.
        regret: which regret is measured (paper A, Appendix A). "clean": learner and comparator on the clean
            instances (the default, Eq. 1). "noisy": both on a noisy copy. "noisy learner": the learner on a noisy
            copy, the comparator on the clean instance (Eq. 5). The noisy copy is `copy(0)` of the game's channel,
            the first one that a learner of that channel may query.

    Raises:
        TypeError: if `environment`, `channel` or `loss` is not what it must be.
        ValueError: if `regret` is none of these, or asks for copies that the channel cannot make.

    Example:
        >>> import numpy as np
        >>> from jaxonline.environments import DataStream
        >>> from jaxonline.game import Game
        >>> from jaxonline.noise import gaussian
        >>> from jaxonline.oracles import NoisyCopies
        >>> game = Game(DataStream(np.eye(3), np.ones(3)), NoisyCopies(gaussian(0.1)))
        >>> game.regret
        'clean'
    """

    environment: Any
    channel: Any
    loss: Any = Squared()
    regret: str = static(default="clean")

    def __post_init__(self):
        if not isinstance(self.environment, Environment):
            raise TypeError(f"environment must have the methods of Environment, got {type(self.environment).__name__}")
        if not isinstance(self.channel, Channel):
            raise TypeError(f"channel must have the method open of Channel, got {type(self.channel).__name__}")
        if not callable(self.loss) or any(callable(leaf) for leaf in jax.tree.leaves(self.loss)):
            raise TypeError(f"loss must be a loss (jaxonline.losses) or a jax.tree_util.Partial, got {self.loss!r}")
        _check.choice("regret", self.regret, REGRETS)
        if self.regret != "clean" and not getattr(self.channel, "makes_copies", False):
            raise ValueError(
                f"regret={self.regret!r} needs a channel of noisy copies, got {type(self.channel).__name__}"
            )
        _try_channel(self.channel, self.environment.instance_spec)

    @property
    def oblivious(self) -> bool:
        """True when what the comparator is judged on does not depend on the learner."""
        judged_on_adaptive_noise = self.regret == "noisy" and isinstance(self.channel, AdaptiveChannel)
        return self.environment.oblivious and not judged_on_adaptive_noise

    @property
    def identical(self) -> bool:
        """True when, moreover, it is the same in every run."""
        return self.environment.oblivious and self.environment.identical and self.regret != "noisy"


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
        channel: of the player's channel, () for one that remembers nothing.
        referee: of the game's channel as far as the referee takes noisy copies from it, else ().

    Example:
        >>> from jaxonline.game import States
        >>> States((), ())
        States(environment=(), learner=(), channel=(), referee=())
    """

    environment: PyTree
    learner: PyTree
    channel: PyTree = ()
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


def as_player(game: Game, learner: Any) -> Player:
    """The learner with the channel it plays through: its own if it is a `Player`, else the game's.

    Raises:
        TypeError: if it is neither a learner nor a player.

    Example:
        >>> import numpy as np
        >>> from jaxonline.environments import DataStream
        >>> from jaxonline.estimators import FullGradient
        >>> from jaxonline.game import Game, as_player
        >>> from jaxonline.learners import GradientLearner
        >>> from jaxonline.oracles import FullInformation
        >>> game = Game(DataStream(np.eye(3), np.ones(3)), FullInformation())
        >>> as_player(game, GradientLearner(FullGradient(), step_size=0.1)).channel is game.channel
        True
    """
    player = learner if isinstance(learner, Player) else Player(learner, game.channel)
    if not isinstance(player.learner, Learner):
        raise TypeError(f"a learner must have init, predict and update, got {type(player.learner).__name__}")
    _try_channel(player.channel, game.environment.instance_spec)
    return player


def open_oracle(
    channel: Any, key: Key[Array, ""], t: Int[Array, ""], x: Array, y: Array, y_hat: Any, state: PyTree = ()
) -> Any:
    """The oracle of round t; `state` is for an adaptive channel.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.game import open_oracle
        >>> from jaxonline.oracles import FullInformation
        >>> open_oracle(FullInformation(), jax.random.key(0), jnp.int32(1), jnp.ones(1), jnp.ones(()), 0.0).x.tolist()
        [1.0]
    """
    if isinstance(channel, AdaptiveChannel):
        return channel.open(key, t, x, y, y_hat, state)
    return channel.open(key, t, x, y, y_hat)


def _channel_state(channel: Any, oracle_key: Key[Array, ""], instance: jax.ShapeDtypeStruct) -> PyTree:
    if isinstance(channel, AdaptiveChannel):
        return channel.init(jax.random.fold_in(oracle_key, 0), instance)
    return ()


def _observed(channel: Any, state: PyTree, t: Int[Array, ""], x: Array, y: Array, y_hat: Array) -> PyTree:
    return channel.observe(state, t, x, y, y_hat) if isinstance(channel, AdaptiveChannel) else state


def _referees_channel(game: Game) -> Any:
    """The channel from which the referee takes noisy copies, or None."""
    return None if game.regret == "clean" else game.channel


def _try_channel(channel: Any, instance: jax.ShapeDtypeStruct) -> None:
    """Open the channel once without computing anything, so that noise of another dimension is an error now."""
    channel = cast_leaves(channel, instance.dtype)

    def ask(key, t, x, y):
        state = _channel_state(channel, key, instance)
        oracle = open_oracle(channel, key, t, x, y, y, state)
        answers = (oracle.copy(0), oracle.label()) if getattr(channel, "makes_copies", False) else ()
        return state, _observed(channel, state, t, x, y, y), answers

    scalar = jax.ShapeDtypeStruct((), instance.dtype)
    key = jax.eval_shape(lambda: jax.random.key(0))
    before, after, _ = jax.eval_shape(ask, key, jax.ShapeDtypeStruct((), jnp.int32), instance, scalar)
    kinds = [[(leaf.shape, leaf.dtype) for leaf in jax.tree.leaves(state)] for state in (before, after)]
    if kinds[0] != kinds[1] or jax.tree.structure(before) != jax.tree.structure(after):
        raise ValueError(f"channel.observe must return a state of the type of init's, {before}, got {after}")


def start(game: Game, player: Player | None, keys: StreamKeys) -> States:
    """The states before round 1.

    Raises:
        ValueError: without a player, if the comparator is judged on noise that an adversary aims at a learner.

    Example:
        >>> import jax, numpy as np
        >>> from jaxonline.environments import DataStream
        >>> from jaxonline.game import Game, start, stream_keys
        >>> from jaxonline.oracles import FullInformation
        >>> game = Game(DataStream(np.eye(3), np.ones(3)), FullInformation())
        >>> start(game, None, stream_keys(jax.random.key(0))).learner
        ()
    """
    instance = game.environment.instance_spec
    environment = game.environment.init(jax.random.fold_in(keys.environment, 0))
    if player is None:
        if game.environment.oblivious and not game.oblivious:
            raise ValueError(
                "regret='noisy' with an adaptive channel needs a player: the copies depend on what it does"
            )
        return States(environment, ())
    return States(
        environment,
        player.learner.init(jax.random.fold_in(keys.learner, 0), instance),
        _channel_state(player.channel, keys.oracle, instance),
        _channel_state(_referees_channel(game), keys.oracle, instance),
    )


def play_round(
    game: Game, player: Player | None, keys: StreamKeys, t: Int[Array, ""], states: States
) -> tuple[States, Round]:
    """Play round t = 1, 2, ... With `player=None` only the environment moves (it must be oblivious).

    Example:
        >>> import jax, jax.numpy as jnp, numpy as np
        >>> from jaxonline.environments import DataStream
        >>> from jaxonline.game import Game, play_round, start, stream_keys
        >>> from jaxonline.oracles import FullInformation
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
        return open_oracle(game.channel, oracle_key, t, x, unseen, unseen, states.referee).copy(0)

    x_comparator = evaluated(game.regret == "noisy")
    if player is None:
        y_hat = jnp.zeros((), x.dtype)
    else:
        x_learner = evaluated(game.regret in ("noisy", "noisy learner"))
        y_hat = player.learner.predict(jax.random.fold_in(learner_key, 0), states.learner, x_learner)

    answer_key = jax.random.fold_in(environment_key, 1)
    y, environment = game.environment.answer(answer_key, environment, t, x, y_hat)
    if player is None:
        record = Round(jnp.zeros((), x.dtype), y_hat, y, x, x_comparator, jnp.int32(0), ())
        return States(environment, ()), record

    oracle = open_oracle(player.channel, oracle_key, t, x, y, y_hat, states.channel)
    learner, info = player.learner.update(jax.random.fold_in(learner_key, 1), states.learner, oracle)
    record = Round(game.loss(y_hat, y), y_hat, y, x, x_comparator, oracle.queries(), info)
    channel = _observed(player.channel, states.channel, t, x, y, y_hat)
    referee = _observed(_referees_channel(game), states.referee, t, x, y, y_hat)
    return States(environment, learner, channel, referee), record


def play(game: Game, learner: Any, key: Key[Array, ""], n_rounds: int) -> tuple[PyTree, Round]:
    """Play one run with its full history: the tool for small games, debugging and teaching.

    Args:
        game: the game.
        learner: a learner, or a `Player`.
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
    _check.count("n_rounds", n_rounds)
    dtype = game.environment.instance_spec.dtype
    game, player = cast_leaves((game, as_player(game, learner)), dtype)
    return _play(game, player, key, n_rounds)


@jax.jit(static_argnames=("n_rounds",))
def _play(game, player, key, n_rounds):
    keys = stream_keys(key)
    rounds = jnp.arange(1, n_rounds + 1, dtype=jnp.int32)
    states, history = jax.lax.scan(
        lambda states, t: play_round(game, player, keys, t, states), start(game, player, keys), rounds
    )
    return states.learner, history
