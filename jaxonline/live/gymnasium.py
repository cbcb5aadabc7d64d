"""Bandit games as environments of gymnasium, and bandit learners in such environments: an action pulls an arm."""

import importlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Int, Key, PyTree

from jaxonline.feedback import Bandit
from jaxonline.game import Game, Learner, Specs, States, WithFeedback, bind, play_round, start
from jaxonline.game.binding import assumed_range
from jaxonline.game.keys import INSTANCE, part_key, stream_keys
from jaxonline.game.round import has_mean_outcome
from jaxonline.live.live import Live
from jaxonline.live.programs import KeptPrecision
from jaxonline.numerics.elementwise import exact_products
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.optional_packages import check_not_forked, optional_class
from jaxonline.parameters.short_repr import short_repr
from jaxonline.parameters.struct import replace, struct
from jaxonline.parameters.types import NonNegative
from jaxonline.results import Result
from jaxonline.simulation.options import record_rounds
from jaxonline.simulation.planning import versions

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
        self.observation_space = spaces.Discrete(1)
        if self._has_instances:
            self.observation_space = spaces.Box(-np.inf, np.inf, instance.shape, np.dtype(instance.dtype))
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
        losses = jax.vmap(lambda arm: game.loss(arm, outcome))(arms)
        means = {EXPECTED_REWARD: losses[arm], BEST_REWARD: losses.min()}
    return states.environment, _instance(game, keys.environment, states.environment, t + 1), record.loss, means


def _instance(game: Game, environment_key: Key[Array, ""], state: PyTree, t: Int[Array, ""]) -> Array:
    """Return the instance of round t, which `play_round` draws again."""
    return game.environment.instance(part_key(environment_key, t, INSTANCE), state, t)[0]


# ---------------------------------------------------------------------------------------------------------------------
# Bandit learners in environments of gymnasium.


def play_env(
    env: Any, learners: Any, n_rounds: int, *, seeds: Sequence[int] = range(10),
    reward_range: tuple[float, float] | None = (0.0, 1.0), best_reward: float | None = None,
    record_at: int | Sequence[int] = 40,
) -> Result:  # fmt: skip
    """Play bandit learners in an environment of gymnasium, and return losses, rewards and regret.

    Each run plays `n_rounds` rounds in Python: the learner pulls an arm, `env.step` returns the reward, and the learner
    observes it (`jo.Live` with `jo.Bandit()`). If an episode ends, the next one begins, and the learner goes on. The
    learner receives the observation as its instance if the observation space is a `Box`. The run with seed s
    begins with `env.reset(seed=s)`, and s is also the key of the learner. So in a `BanditEnv` a learner pulls the same
    arms as in `jo.play` with the key s, if the game has rewards.

    For a game of jaxonline, `jo.simulate` is much faster.

    Args:
        env: a `gymnasium.Env` with the action space `Discrete`, and the observation space `Box` or `Discrete(1)`.
        learners: a learner of bandits, or a dictionary of learners by name.
        n_rounds: the number of rounds of a run.
        seeds: the seeds of the runs, which must differ.
        reward_range: the smallest and the largest reward. The loss is (high - reward) / (high - low), between 0 and 1.
            Learners that assume losses in [0, 1] observe this loss, and linear and Gaussian models minus the reward.
            None for rewards without limits, whose loss is -reward (for a `BanditEnv` then choose `offset=0`).
        best_reward: the mean reward of the best arm, if it is known and the same in all rounds.
        record_at: number of recorded rounds, or a list of the recorded rounds.

    Returns:
        A `Result` with the runs `seeds`. It has the measure "cumulative_reward". If each info of `env.step` has
        `expected_reward` and `best_reward`, as in a `BanditEnv`, the cumulative loss is that of the mean losses, and
        the regret is the pseudo-regret against the best arm of each round. Otherwise, with the argument `best_reward`,
        the regret is the cumulative loss minus that of the best arm's mean reward. Otherwise there is no regret.

    Raises:
        ModuleNotFoundError: gymnasium is not installed.
        TypeError: an argument has a wrong type.
        ValueError: the spaces are not supported, a learner does not suit them, seeds are equal, or a reward is outside
            `reward_range`.

    Example:
        >>> import jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([0.0, 1.0]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> env = jo.BanditEnv(game, n_rounds=100)
        >>> result = jo.play_env(env, {"UCB1": jo.learners.UCB1()}, n_rounds=20, seeds=[1, 2])
        >>> result.measures["cumulative_reward"][0, :, -1].tolist(), result.regret[0, :, -1].tolist()
        ([17.0, 17.0], [3.0, 3.0])
    """
    spaces = _spaces(env)
    named = dict(learners) if isinstance(learners, Mapping) else {"learner": learners}
    rounds = record_rounds(check.count("n_rounds", n_rounds), record_at)
    runs = [check.seed("seeds", seed) for seed in check.sequence("seeds", seeds, "seed")]
    if len(set(runs)) < len(runs):
        raise ArgumentError("seeds", f"must be distinct (got {check.quote(seeds)})")
    limits = _limits(reward_range, named)
    if best_reward is not None:
        check.number("best_reward", best_reward)

    played = np.array([
        [_play_run(env, learner, spaces, n_rounds, seed, limits) for seed in runs]
        for learner in named.values()
    ])  # fmt: skip
    loss, reward, queries, expected, best = np.moveaxis(played.cumsum(axis=2)[:, :, rounds - 1], -1, 0)
    meta: dict[str, Any] = {
        "game": str(env),
        "learners": {name: short_repr(learner) for name, learner in named.items()},
        "versions": dict(versions()),
    }
    comparator_loss = None
    if not np.isnan(played).any():  # all means are known
        loss, comparator_loss = expected, best
        label = "pseudo-regret against the best arm of each round (loss)"
        meta |= {"comparator": "BestOfEachRound()", "pseudo": True, "regret_label": label}
    elif best_reward is not None:
        comparator_loss = np.broadcast_to(_loss("best_reward", best_reward, limits) * rounds, loss.shape)
        meta |= {"comparator": "BestArm()", "regret_label": "regret against the mean reward of the best arm (loss)"}
    measures = {"cumulative_loss": loss, "queries": queries, "cumulative_reward": reward}
    return Result(tuple(named), np.array(runs), rounds, measures, comparator_loss=comparator_loss, meta=meta)


def _spaces(env: Any) -> tuple[int, int, tuple[int, ...]]:
    """Return the number of arms, the first action, and the shape of instances, (0,) without them, or raise an error."""
    try:
        gymnasium: Any = importlib.import_module("gymnasium")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"gymnasium is not installed; pip install 'jaxonline[{EXTRA}]'") from error
    check.instance("env", env, gymnasium.Env, "a gymnasium.Env")
    actions, observations = env.action_space, env.observation_space
    if not isinstance(actions, gymnasium.spaces.Discrete):
        raise ArgumentError("env", f"must have the action space Discrete (got {actions})")
    if isinstance(observations, gymnasium.spaces.Box):
        return int(actions.n), int(actions.start), tuple(observations.shape)
    if not isinstance(observations, gymnasium.spaces.Discrete) or observations.n != 1:
        raise ArgumentError(
            "env",
            f"must have the observation space Box or Discrete(1) (got {observations}); wrap it with "
            "gymnasium.wrappers.FlattenObservation",
        )
    return int(actions.n), int(actions.start), (0,)


def _limits(reward_range: Any, learners: Mapping[str, Any]) -> tuple[float, float] | None:
    """Return the smallest and the largest reward as numbers; None for rewards without limits."""
    if reward_range is None:
        for learner in learners.values():
            if learner.loss_range is not None:
                low, high = assumed_range(learner, rewards=True)
                needs = f"{type(learner).__name__} needs rewards from {low:g} to {high:g}"
                raise ArgumentError("reward_range", f"must be two numbers, since {needs} (got None)")
        return None
    limits = check.array("reward_range", reward_range, ndim=1)
    if np.shape(limits) != (2,) or not limits[0] < limits[1]:
        raise ArgumentError("reward_range", f"must be two increasing numbers (got {check.quote(reward_range)})")
    return float(limits[0]), float(limits[1])


def _loss(name: str, reward: Any, limits: tuple[float, float] | None) -> float:
    """Return the loss of a reward: (high - reward) / (high - low), or -reward without limits.

    Raises:
        ValueError: the reward is not finite, or outside the limits.
    """
    reward = float(reward)
    if not math.isfinite(reward):
        raise ArgumentError("env", f"must give finite rewards (got {name} {reward})")
    if limits is None:
        return -reward
    low, high = limits
    if not low <= reward <= high:
        raise ArgumentError(
            "reward_range",
            f"must contain all rewards (got {name} {reward} outside {low} to {high}); pass None for rewards without "
            "limits",
        )
    return (high - reward) / (high - low)


def _play_run(
    env: Any, learner: Any, spaces: tuple[int, int, tuple[int, ...]], n_rounds: int, seed: int, limits: Any
) -> list[list[float]]:
    """Return loss, reward, queries, and the mean losses of the pulled and the best arm (or NaN) of each round."""
    n_arms, first_action, instance = spaces
    live = Live(learner, Bandit(), instance=instance, outcome=n_arms, rewards=True, key=seed)
    has_range = limits is not None and learner.loss_at_zero_reward != 0.0
    played: list[list[float]] = []
    observation, _ = env.reset(seed=seed)
    for _ in range(n_rounds):
        arm = live.predict(None if instance == (0,) else observation)
        observation, reward, terminated, truncated, info = env.step(first_action + int(arm))
        loss = _loss("the reward", reward, limits)
        record = live.update(reward=1.0 - loss if has_range else reward)
        means = [_loss(name, info[name], limits) if name in info else np.nan for name in (EXPECTED_REWARD, BEST_REWARD)]
        played.append([loss, float(reward), int(record.queries), *means])
        if terminated or truncated:
            observation, _ = env.reset()
    return played
