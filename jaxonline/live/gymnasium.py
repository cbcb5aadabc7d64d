"""Bandit games as environments of gymnasium: an action pulls an arm."""

import functools
import importlib
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key, PyTree

from jaxonline.feedback import Bandit
from jaxonline.game import Game, Learner, Specs, States, WithFeedback, bind, play_round, start
from jaxonline.game.keys import INSTANCE, part_key, stream_keys
from jaxonline.game.round import has_mean_outcome
from jaxonline.live.live_game import KeptPrecision
from jaxonline.numerics.elementwise import exact_products
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.optional_packages import check_not_forked, optional_class
from jaxonline.parameters.short_repr import short_repr
from jaxonline.parameters.struct import replace, struct
from jaxonline.parameters.types import NonNegative

EXTRA = "gym"
EXPECTED_REWARD, BEST_REWARD = "expected_reward", "best_reward"  # in the infos

BaseEnv = optional_class("gymnasium", "Env", EXTRA)


class BanditEnv(BaseEnv):
    """A bandit game as a `gymnasium.Env` with discrete actions: an action pulls an arm, the reward is `offset` - loss.

    The observation is the instance of the round, as a `Box`, for example the features of a contextual bandit. A game
    without instances has the observation 0, of the space `Discrete(1)`. An episode is truncated after `n_rounds`
    rounds. It never terminates.

    `reset(seed=s)` starts the run that `jo.play` plays with the key s: the same instances and losses. `reset()` without
    a seed starts another run.

    The info of a step has the `loss`. If the environment of the game knows the mean losses, the info also has
    `expected_reward` and `best_reward`, the mean rewards of the pulled arm and of the best arm of the round.

    Args:
        game: a game with the feedback `Bandit()` and a loss of arms (`loss=jo.losses.ArmLoss()`).
        n_rounds: the number of rounds of an episode.
        offset: the reward of the loss 0. The default 1 suits losses from 0 to 1, whose rewards then are from 0 to 1.

    Attributes:
        game: the game.
        action_space: `Discrete(K)` for K arms.
        observation_space: the space of the instances.

    Raises:
        ModuleNotFoundError: gymnasium is not installed.
        TypeError: an argument has a wrong type, or the loss is no loss of arms.
        ValueError: the game has another feedback, or its instances are not arrays of floating numbers.
        RuntimeError: `step` is called before `reset` or after the end of the episode.

    References:
        Towers et al., "Gymnasium: A standard interface for reinforcement learning environments" (2024).

    Example:
        >>> import jaxonline as jo
        >>> arms = jo.environments.BernoulliArms([0.0, 1.0])
        >>> env = jo.BanditEnv(jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss()), n_rounds=100)
        >>> observation, info = env.reset(seed=0)
        >>> observation, reward, terminated, truncated, info = env.step(0)
        >>> env.action_space, reward, terminated, truncated, info["best_reward"]
        (Discrete(2), 1.0, False, False, 1.0)
    """

    metadata: ClassVar[dict[str, Any]] = {"render_modes": []}

    def __init__(self, game: Game, n_rounds: int, offset: float = 1.0):
        check.instance("game", game, Game, "a Game")
        self.n_rounds = check.count("n_rounds", n_rounds)
        self.offset = float(check.number("offset", offset))
        self._precision = KeptPrecision()
        self.game, self._game = game, _checked(game)
        spaces: Any = importlib.import_module("gymnasium.spaces")
        instance, outcome = self._game.specs
        self.action_space = spaces.Discrete(outcome.shape[0])
        self._has_instances = instance.size > 0
        self.observation_space = (
            spaces.Box(-np.inf, np.inf, instance.shape, np.dtype(instance.dtype))
            if self._has_instances
            else spaces.Discrete(1)
        )
        self._key: Any = None  # until the first reset
        self._state: Any = None
        self._round = 0

    def __str__(self) -> str:
        return f"BanditEnv({short_repr(self.game)}, n_rounds={self.n_rounds}, offset={self.offset:g})"

    __repr__ = __str__

    def reset(self, *, seed: int | None = None, options: dict[str, Any] | None = None) -> tuple[Any, dict[str, Any]]:
        """Start an episode and return its first observation, and an empty info.

        Args:
            seed: the seed of the run, as the key of `jo.play`; None for a new run.
            options: unused; gymnasium requires the argument.

        Raises:
            ValueError: `seed` is negative or too large.
        """
        check_not_forked()
        super().reset(seed=seed)
        with self._precision():
            run = int(self.np_random.integers(2**32)) if seed is None else check.seed("seed", seed)
            self._key = jax.random.key(run)
            self._state, x = _begin(self._game, self._key)
        self._round = 0
        return self._observation(x), {}

    def step(self, action: Any) -> tuple[Any, float, bool, bool, dict[str, Any]]:
        """Pull an arm, and return the next observation, the reward, False, whether the episode is over, and the info.

        Raises:
            RuntimeError: the episode has not begun, or is over.
            ValueError: `action` is no arm.
        """
        check_not_forked()
        if self._key is None or self._round == self.n_rounds:
            state = "has not begun" if self._key is None else f"is over after {self.n_rounds} rounds"
            raise RuntimeError(f"step: the episode {state}; call reset first")
        if not self.action_space.contains(action):
            raise ArgumentError("action", f"must be an arm of {self.action_space} (got {check.quote(action)})")
        self._round += 1
        with self._precision():
            self._state, x, loss, means = _pull(
                self._game, self._key, self._state, np.int32(self._round), np.int32(action)
            )
        info = {"loss": float(loss)} | {name: self.offset - float(mean) for name, mean in means.items()}
        return self._observation(x), self.offset - info["loss"], False, self._round == self.n_rounds, info

    def _observation(self, x: Any) -> Any:
        return np.array(x) if self._has_instances else np.int64(0)


@struct
class PulledArm(Learner):
    """A learner that pulls a given arm in each round.

    Args:
        arm: the arm.
    """

    arm: NonNegative

    def init(self, key: Key[Array, ""], specs: Specs) -> tuple[()]:
        """Return an empty state."""
        return ()

    def predict(self, key: Key[Array, ""], state: tuple[()], x: PyTree) -> Int[Array, ""]:
        """Return the arm."""
        return jnp.asarray(self.arm, jnp.int32)

    def update(self, key: Key[Array, ""], state: tuple[()], oracle: Any) -> tuple[tuple[()], tuple[()]]:
        """Learn nothing."""
        return (), ()


def _checked(game: Game) -> Game:
    """Return a game with its numbers as arrays, in which losses are those that occur; check that an arm can be pulled.

    A pseudo-regret would replace the losses by their means.
    """
    if not isinstance(game.feedback, Bandit):
        raise ArgumentError("game", f"must have the feedback Bandit() (got {type(game.feedback).__name__})")
    instance = game.specs.instance
    if not isinstance(instance, jax.ShapeDtypeStruct) or not jnp.issubdtype(instance.dtype, jnp.floating):
        raise ArgumentError("game", f"must have arrays of floating numbers as instances (got {check.quote(instance)})")
    return bind(replace(game, pseudo=False), PulledArm(np.int32(0))).game


@jax.jit
@exact_products()
def _begin(game: Game, key: Key[Array, ""]) -> tuple[PyTree, Array]:
    """Return the state of the environment before round 1, and the first instance."""
    keys = stream_keys(key)
    state = start(game, None, keys).environment
    return state, _instance(game, keys.environment, state, jnp.int32(1))


@jax.jit
@exact_products()
def _pull(
    game: Game, key: Key[Array, ""], state: PyTree, t: Int[Array, ""], arm: Int[Array, ""]
) -> tuple[PyTree, Array, Array, dict[str, Array]]:
    """Play round t; return the next state, the next instance, the loss, and mean losses by the names in the infos."""
    keys, means = stream_keys(key), {}
    states, record = play_round(game, WithFeedback(PulledArm(arm), game.feedback), keys, t, States(state, ()))
    if has_mean_outcome(game.environment):
        outcome = game.environment.mean_outcome(states.environment, t, record.x, record.y)
        arms = jnp.arange(game.specs.outcome.shape[0], dtype=jnp.int32)
        losses = jax.vmap(functools.partial(_loss, game, outcome))(arms)
        means = {EXPECTED_REWARD: losses[arm], BEST_REWARD: losses.min()}
    return states.environment, _instance(game, keys.environment, states.environment, t + 1), record.loss, means


def _loss(game: Game, outcome: Array, arm: Int[Array, ""]) -> Array:
    return game.loss(arm, outcome)


def _instance(game: Game, environment_key: Key[Array, ""], state: PyTree, t: Int[Array, ""]) -> Array:
    """Return the instance of round t, which `play_round` draws again."""
    return game.environment.instance(part_key(environment_key, t, INSTANCE), state, t)[0]
