"""Bandit learners in environments of gymnasium."""

import importlib
import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from jaxonline.feedback import Bandit
from jaxonline.game import Draw
from jaxonline.live.gymnasium import BEST_REWARD, EXPECTED_REWARD, EXTRA
from jaxonline.live.live import Live
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.short_repr import short_repr
from jaxonline.results import Result
from jaxonline.simulation.metadata import versions
from jaxonline.simulation.recording import record_rounds

LABEL_OF_MEANS = "pseudo-regret against the best arm of each round (loss)"
LABEL_OF_REWARDS = "regret against the mean reward of the best arm (loss)"


class RewardScale(NamedTuple):
    """The conversion of rewards to losses: (high - reward) / (high - low), or -reward without a range."""

    low: float | None
    high: float | None

    def loss(self, name: str, reward: Any) -> float:
        """Return the loss of a reward; raise a ValueError if the reward is not finite or outside the range."""
        reward = float(reward)
        if not math.isfinite(reward):
            raise ArgumentError("env", f"must give finite rewards (got {name} {reward})")
        if self.low is None or self.high is None:
            return -reward
        if not self.low <= reward <= self.high:
            raise ArgumentError(
                "reward_range",
                f"must contain all rewards (got {name} {reward} outside {self.low} to {self.high}); pass None for "
                "rewards without limits",
            )
        return (self.high - reward) / (self.high - self.low)


class RunRounds(NamedTuple):
    """The rounds of a run: losses and rewards [T], and mean losses of the pulled and the best arm [T], or None."""

    loss: np.ndarray
    reward: np.ndarray
    queries: np.ndarray
    expected: np.ndarray | None
    best: np.ndarray | None


def play_env(
    env: Any, learners: Any, n_rounds: int, *, seeds: Sequence[int] = range(10),
    reward_range: tuple[float, float] | None = (0.0, 1.0), best_reward: float | None = None,
    record_at: int | Sequence[int] = 40,
) -> Result:  # fmt: skip
    """Play bandit learners in an environment of gymnasium, and return losses, rewards and regret.

    Each run plays `n_rounds` rounds in Python: the learner pulls an arm, `env.step` returns the reward, and the learner
    observes it as a loss (`jo.Live` with `jo.Bandit()`). If an episode ends, the next one begins, and the learner goes
    on. The learner receives the observation as its instance if the observation space is a `Box`. The run with seed s
    begins with `env.reset(seed=s)`, and s is also the key of the learner. So in a `BanditEnv` a learner pulls the same
    arms as in `jo.play` with the key s.

    For a game of jaxonline, `jo.simulate` is much faster.

    Args:
        env: a `gymnasium.Env` with the action space `Discrete`, and the observation space `Box` or `Discrete(1)`.
        learners: a learner of bandits, or a dictionary of learners by name.
        n_rounds: the number of rounds of a run.
        seeds: the seeds of the runs, which must differ.
        reward_range: the smallest and the largest reward. The loss is (high - reward) / (high - low), between 0 and 1.
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
    shapes = _shapes(env)
    named = dict(learners) if isinstance(learners, Mapping) else {"learner": learners}
    rounds = record_rounds(check.count("n_rounds", n_rounds), record_at)
    runs = [check.seed("seeds", seed) for seed in check.sequence("seeds", seeds, "seed")]
    if len(set(runs)) < len(runs):
        raise ArgumentError("seeds", f"must be distinct (got {check.quote(seeds)})")
    if best_reward is not None:
        check.number("best_reward", best_reward)
    scale = _scale(reward_range, named)
    played = [[_play_run(env, learner, shapes, n_rounds, seed, scale) for seed in runs] for learner in named.values()]

    def cumulative(numbers: Any) -> np.ndarray:
        return np.array([[np.cumsum(numbers(run))[rounds - 1] for run in of_learner] for of_learner in played])

    has_means = all(run.expected is not None for of_learner in played for run in of_learner)
    measures = {
        "cumulative_loss": cumulative(lambda run: run.expected if has_means else run.loss),
        "queries": cumulative(lambda run: run.queries),
        "cumulative_reward": cumulative(lambda run: run.reward),
    }
    best, meta = None, {}
    if has_means:
        best = cumulative(lambda run: run.best)
        meta = {"comparator": "BestOfEachRound()", "pseudo": True, "regret_label": LABEL_OF_MEANS}
    elif best_reward is not None:
        mean_loss = scale.loss("best_reward", best_reward)
        best = np.broadcast_to(mean_loss * rounds, measures["queries"].shape)
        meta = {"comparator": "BestArm()", "regret_label": LABEL_OF_REWARDS}
    meta |= {
        "game": str(env),
        "learners": {name: short_repr(learner) for name, learner in named.items()},
        "versions": dict(versions()),
    }
    return Result(tuple(named), np.array(runs), rounds, measures, comparator_loss=best, meta=meta)


class Shapes(NamedTuple):
    """The number of arms, the first action, and the shape of instances (0 for none)."""

    n_arms: int
    first_action: int
    instance: tuple[int, ...] | int


def _shapes(env: Any) -> Shapes:
    """Return the shapes of the spaces of an environment, or raise an error."""
    try:
        gymnasium: Any = importlib.import_module("gymnasium")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"gymnasium is not installed; pip install 'jaxonline[{EXTRA}]'") from error
    check.instance("env", env, gymnasium.Env, "a gymnasium.Env")
    actions, observations = env.action_space, env.observation_space
    if not isinstance(actions, gymnasium.spaces.Discrete):
        raise ArgumentError("env", f"must have the action space Discrete (got {actions})")
    if isinstance(observations, gymnasium.spaces.Box):
        return Shapes(int(actions.n), int(actions.start), tuple(observations.shape))
    if not isinstance(observations, gymnasium.spaces.Discrete) or observations.n != 1:
        raise ArgumentError(
            "env",
            f"must have the observation space Box or Discrete(1) (got {observations}); wrap it with "
            "gymnasium.wrappers.FlattenObservation",
        )
    return Shapes(int(actions.n), int(actions.start), 0)


def _scale(reward_range: Any, learners: Mapping[str, Any]) -> RewardScale:
    if reward_range is None:
        for learner in learners.values():
            if (limits := learner.loss_range) is not None:
                needs = f"{type(learner).__name__} needs losses from {limits[0]:g} to {limits[1]:g}"
                raise ArgumentError("reward_range", f"must be two numbers, since {needs} (got None)")
        return RewardScale(None, None)
    limits = check.array("reward_range", reward_range, ndim=1)
    if np.shape(limits) != (2,) or not limits[0] < limits[1]:
        raise ArgumentError("reward_range", f"must be two increasing numbers (got {check.quote(reward_range)})")
    return RewardScale(float(limits[0]), float(limits[1]))


def _play_run(env: Any, learner: Any, shapes: Shapes, n_rounds: int, seed: int, scale: RewardScale) -> RunRounds:
    """Play the rounds of one run."""
    live = Live(learner, Bandit(), instance=shapes.instance, outcome=shapes.n_arms, key=seed)
    columns: dict[str, list[float]] = {"loss": [], "reward": [], "queries": [], EXPECTED_REWARD: [], BEST_REWARD: []}
    observation, _ = env.reset(seed=seed)
    for _ in range(n_rounds):
        move = live.predict(None if shapes.instance == 0 else observation)
        arm = int(move.arm if isinstance(move, Draw) else move)
        observation, reward, terminated, truncated, info = env.step(shapes.first_action + arm)
        loss = scale.loss("the reward", reward)
        record = live.update(loss=loss)
        for name, number in (("loss", loss), ("reward", float(reward)), ("queries", int(record.queries))):
            columns[name].append(number)
        for name in (EXPECTED_REWARD, BEST_REWARD):
            if name in info:
                columns[name].append(scale.loss(name, info[name]))
        if terminated or truncated:
            observation, _ = env.reset()
    arrays = {name: np.array(numbers, float) for name, numbers in columns.items()}
    has_means = len(arrays[EXPECTED_REWARD]) == len(arrays[BEST_REWARD]) == n_rounds
    means = [arrays[name] if has_means else None for name in (EXPECTED_REWARD, BEST_REWARD)]
    return RunRounds(arrays["loss"], arrays["reward"], arrays["queries"], *means)
