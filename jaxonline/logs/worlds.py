"""Logs with a known truth: finite worlds with exact enumeration, logs of simulated games, and replay of learners."""

import dataclasses
import itertools
import warnings
from collections.abc import Callable, Iterator
from typing import Annotated, Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, Float

from jaxonline import random
from jaxonline.feedback import Bandit
from jaxonline.game import Draw, Environment, Game, Learner, play
from jaxonline.game.round import has_mean_outcome
from jaxonline.live.live import Live
from jaxonline.logs.log import Log
from jaxonline.losses.arms import ArmLoss
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, UnsupportedArmsWarning
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import replace, static, struct
from jaxonline.parameters.types import Component, Count, Positive, Probability, RandomKey, Seed, Takes

# ---------------------------------------------------------------------------------------------------------------------
# Probabilities of arms from scores: policies, also for logging.


def _scores(value: Any) -> tuple[Any, Any]:
    """Return the module that computes with the scores, of JAX or of NumPy, and their array."""
    if isinstance(value, jax.Array) and check.is_abstract(value):  # inside jit
        return jnp, value
    scores = check.array("scores", value)
    if np.ndim(scores) == 0:
        raise ArgumentError("scores", f"must be an array [..., K] (got {check.quote(value)})")
    return (jnp, scores) if isinstance(scores, jax.Array) else (np, np.asarray(scores))


@validate_arguments
def epsilon_greedy(scores: Any, epsilon: Probability = 0.1) -> Any:
    """Return the probabilities of the policy that takes the best arm, but any arm with probability epsilon.

    Args:
        scores: scores of the arms [..., K], such as predicted rewards; ties go to the first arm.
        epsilon: the probability of a uniform draw from all arms.

    Returns:
        Probabilities [..., K]: an array of JAX if the scores are one (also inside jit), else of NumPy.

    Example:
        >>> import jaxonline as jo
        >>> jo.logs.epsilon_greedy([0.2, 0.9], epsilon=0.1).round(3).tolist()
        [0.05, 0.95]
    """
    xp, scores = _scores(scores)
    n_arms = scores.shape[-1]
    arms = xp.arange(n_arms).reshape((1,) * (scores.ndim - 1) + (n_arms,))
    best = xp.expand_dims(scores.argmax(axis=-1), -1) == arms
    return xp.where(best, 1.0 - epsilon + epsilon / n_arms, epsilon / n_arms)


@validate_arguments
def softmax(scores: Any, temperature: Positive = 1.0) -> Any:
    """Return the probabilities of the softmax policy (Boltzmann exploration), proportional to e^(score / temperature).

    Args:
        scores: scores of the arms [..., K], such as predicted rewards.
        temperature: a small temperature takes the best arm, a large one all arms.

    Returns:
        Probabilities [..., K]: an array of JAX if the scores are one (also inside jit), else of NumPy.

    Example:
        >>> import jaxonline as jo
        >>> jo.logs.softmax([0.0, 1.0], temperature=0.5).round(3).tolist()
        [0.119, 0.881]
    """
    xp, scores = _scores(scores)
    powers = xp.exp((scores - scores.max(axis=-1, keepdims=True)) / temperature)
    return powers / powers.sum(axis=-1, keepdims=True)


# ---------------------------------------------------------------------------------------------------------------------
# Finite worlds: all logs with their probabilities, for `verify.unbiased(None, world.value(policy), support=...)`.


@dataclasses.dataclass(frozen=True, eq=False)
class FiniteWorld:
    """A world with finitely many contexts and arms and with rewards 0 and 1, and its logging policy.

    Args:
        contexts: the probabilities of the contexts [X].
        means: the mean rewards of the arms in each context [X, K], from 0 to 1.
        behavior: the probabilities of the arms under the logging policy in each context [X, K].

    Raises:
        ValueError: shapes do not fit, a number is outside [0, 1], or probabilities do not have the sum 1.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> world = jo.logs.FiniteWorld([1.0], means=[[0.2, 0.6]], behavior=[[0.8, 0.2]])
        >>> policy = np.array([[0.5, 0.5]])
        >>> support = [(p, jo.logs.ips(log, world.rows(policy, log)).value) for p, log in world.logs(2)]
        >>> print(jo.verify.unbiased(None, world.value(policy), support=support).verdict)
        within tolerance
    """

    contexts: Any
    means: Any
    behavior: Any

    def __post_init__(self) -> None:
        for name, ndim in (("contexts", 1), ("means", 2), ("behavior", 2)):
            given = np.asarray(check.array(name, getattr(self, name), ndim=ndim, ge=0.0, le=1.0), float)
            object.__setattr__(self, name, given)
            if name != "means" and not np.allclose(given.sum(axis=-1), 1.0, rtol=0.0, atol=1e-9):
                raise ArgumentError(name, f"must have the sum 1 (got {check.quote(given.sum(axis=-1))})")
        for name, shape in (("means", (len(self.contexts),)), ("behavior", self.means.shape)):
            if getattr(self, name).shape[: len(shape)] != shape:
                raise ArgumentError(name, f"must have the shape {shape} (got {getattr(self, name).shape})")

    def value(self, policy: ArrayLike) -> float:
        """Return the value of a policy with the probabilities [X, K]."""
        return float(self.contexts @ (self._policy(policy) * self.means).sum(axis=1))

    def rows(self, policy: ArrayLike, log: Log) -> Float[np.ndarray, "n K"]:
        """Return the probabilities of a policy [X, K] in the rows of a log of this world."""
        return self._policy(policy)[log.contexts[:, 0].astype(int)]

    def _policy(self, policy: ArrayLike) -> np.ndarray:
        array = np.asarray(check.array("policy", policy, ndim=2, ge=0.0, le=1.0), float)
        if array.shape != self.means.shape:
            raise ArgumentError("policy", f"must have the shape {self.means.shape} (got {array.shape})")
        return array

    @validate_arguments
    def logs(self, n_rows: Count) -> Iterator[tuple[float, Log]]:
        """Yield all logs with this number of rows that can occur, with their probabilities.

        The context of a row is its number [n, 1]. There are up to (2 X K)^n logs.
        """
        chances = self.contexts[:, None, None] * self.behavior[:, :, None] * np.stack([1 - self.means, self.means], -1)
        outcomes = np.argwhere(chances > 0)
        for rows in itertools.product(outcomes, repeat=n_rows):
            x, arms, rewards = np.array(rows).T
            yield float(chances[x, arms, rewards].prod()), self._log(x, arms, rewards)

    @validate_arguments
    def draw(self, n_rows: Count, seed: Seed = 0) -> Log:
        """Draw a log with this number of rows, with NumPy's generator of this seed."""
        rng = np.random.default_rng(seed)
        x = rng.choice(len(self.contexts), n_rows, p=self.contexts)
        cumulative = self.behavior.cumsum(axis=1)
        arms = (rng.random((n_rows, 1)) * cumulative[x, -1:] >= cumulative[x]).sum(axis=1)
        return self._log(x, arms, rng.random(n_rows) < self.means[x, arms])

    def _log(self, x: np.ndarray, arms: np.ndarray, rewards: np.ndarray) -> Log:
        return Log(x[:, None], arms, rewards, self.behavior[x, arms], self.means.shape[1])


# ---------------------------------------------------------------------------------------------------------------------
# Logs of simulated games.


@struct
class RandomPolicy(Learner):
    """A policy that never learns: it draws an arm with the probabilities `policy(x)`.

    Args:
        policy: function of an instance that returns the probabilities of the arms [K], inside jit.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([0.2, 0.8]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> policy = jo.logs.RandomPolicy(lambda x: jnp.array([1.0, 0.0]))
        >>> jo.play(game, policy, jax.random.key(0), n_rounds=3)[1].y_hat.arm.tolist()
        [0, 0, 0]
    """

    policy: Annotated[Callable[..., Any], Takes("(x)")] = static()

    def init(self, key: Any, specs: Any) -> tuple[()]:
        """Return no state; raise a ValueError if the policy does not return a vector with a number for each arm."""
        _check_policy("policy", self.policy, specs.instance, specs.outcome)
        return ()

    def predict(self, key: Any, state: tuple[()], x: Any) -> Draw:
        """Draw an arm."""
        p = self.policy(x)
        return Draw(random.weighted_index(key, p), p)

    def update(self, key: Any, state: tuple[()], oracle: Any) -> tuple[tuple[()], tuple[()]]:
        """Keep the empty state: the policy does not learn."""
        return state, ()


def _check_policy(name: str, policy: Callable[..., Any], x: Any, y: Any) -> None:
    probabilities = jax.eval_shape(policy, x)
    if (shape := getattr(probabilities, "shape", None)) != y.shape:
        raise ArgumentError(name, f"must return the probabilities of the arms, of shape {y.shape} (got shape {shape})")


class SimulatedLog(NamedTuple):
    """A log of a simulated game, and the mean rewards of all arms in its rows [n, K].

    `(policy * means).sum(axis=1).mean()` is the value of a policy with the probabilities [n, K] in these contexts.
    """

    log: Log
    means: np.ndarray


@validate_arguments
def simulate_log(
    environment: Annotated[Environment, Component("environment")],
    behavior: Annotated[Callable[..., Any], Takes("(x)")],
    n_rows: Count,
    key: RandomKey = 0,
) -> SimulatedLog:
    """Simulate the log of a logging policy in an environment of arms whose mean losses are known.

    Args:
        environment: an environment whose outcomes are losses of arms from 0 to 1, with mean outcomes. If means change
            over the rounds, the truth is that of these rounds.
        behavior: the logging policy: function of an instance that returns the probabilities of the arms [K], in JAX.
        n_rows: the number of rows.
        key: a seed, or a key of JAX.

    Raises:
        ValueError: the mean outcomes of the environment are unknown, or depend on the arms pulled (`RestedArms`);
            `behavior` does not return probabilities of all arms; a loss is outside [0, 1].

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> arms = jo.environments.BernoulliArms([0.2, 0.8])
        >>> log, means = jo.logs.simulate_log(arms, lambda x: jnp.array([0.5, 0.5]), n_rows=100)
        >>> len(log), means[0].round(3).tolist()
        (100, [0.8, 0.2])
    """
    game = Game(environment, Bandit(), ArmLoss())
    if not has_mean_outcome(environment) or not environment.oblivious:
        problem = "must have mean outcomes that do not depend on the arms pulled"
        raise ArgumentError("environment", f"{problem} (got {type(environment).__name__})")
    game = replace(game, pseudo=True)  # so that rounds have the mean outcomes
    _check_policy("behavior", behavior, environment.instance_spec, environment.outcome_spec)
    _, history = play(game, RandomPolicy(behavior), check.as_key("key", key), n_rows)
    arms, p = history.y_hat.arm, np.asarray(history.y_hat.probabilities, float)
    if wrong := np.flatnonzero(~((p.min(axis=1) >= 0.0) & (np.abs(p.sum(axis=1) - 1.0) <= 1e-5))).tolist():
        problem = f"must return probabilities of at least 0 with the sum 1 (got {p[wrong[0]].tolist()})"
        raise ArgumentError("behavior", problem)
    log = Log.from_history(history._replace(loss=np.asarray(history.y)[np.arange(n_rows), arms]))
    return SimulatedLog(log, 1.0 - np.asarray(history.y_comparator, float))


# ---------------------------------------------------------------------------------------------------------------------
# Replay.


class Replay(NamedTuple):
    """The result of `replay`.

    Attributes:
        value: the mean reward of the learner in its rounds; NaN without a round.
        n_rounds: the number of rows that the learner played.
        n_discarded: the number of rows that were discarded.
        n_rows: the number of rows of the log.
        n_rejected: the number of discarded rows that the learner never saw, since the log is not uniform.
        n_untried: the number of arms that the log never tries. The learner never plays them.
    """

    value: float
    n_rounds: int
    n_discarded: int
    n_rows: int
    n_rejected: int = 0
    n_untried: int = 0

    def __str__(self) -> str:
        """Return one line."""
        rows = f"{self.n_rounds:,} of {self.n_rows:,} rows played, {self.n_discarded:,} discarded"
        rejected = f" ({self.n_rejected:,} to make the arms uniform)" if self.n_rejected else ""
        untried = f", {self.n_untried:,} arms never tried by the log" if self.n_untried else ""
        return f"replay: mean reward {self.value:.5g}, {rows}{rejected}{untried}"


@validate_arguments
def replay(log: Log, live: Live, *, seed: Seed = 0) -> Replay:
    """Replay a learner on a log: it plays the rows in which it chooses the logged arm, and the others are discarded.

    The learner keeps what it has learned, so that this also is the warm start of a live learner. If the log chose arms
    uniformly, the rounds that are played have the distribution of rounds in the world of the log, and the rewards are
    those that the learner would have earned in them. If not, a row is first kept with probability p / propensity, where
    p is the smallest propensity of the log, so that all arms are equally likely among the rows kept. This assumes that
    the log may try every arm in every context, with probability p or more.

    About one of K rows is played, and far fewer if p is small. A learner that draws arms draws one for each row.

    Args:
        log: the log. Contexts are the instances of the learner.
        live: the learner, with the feedback `jo.Bandit()` and `outcome=K`.
        seed: the seed of the rows that are kept.

    Raises:
        TypeError: `log` is no log, or `live` is no `jo.Live`.
        ValueError: the learner cannot play with the contexts, the arms or the rewards of the log.

    Warns:
        UnsupportedArmsWarning: no row is played, or the log never tries an arm.

    References:
        Li, Chu, Langford and Wang (2011), "Unbiased offline evaluation of contextual-bandit-based news article
        recommendation algorithms".

    Example:
        >>> import jaxonline as jo
        >>> log = jo.Log(None, arms=[0, 1] * 50, rewards=[1, 0] * 50, propensities=0.5)
        >>> live = jo.Live(jo.learners.UCB1(), jo.Bandit(), outcome=2)
        >>> result = jo.logs.replay(log, live)
        >>> result.n_rounds + result.n_discarded, result.n_rounds == live.round
        (100, True)
    """
    if live.n_arms != log.n_arms:
        wanted = f"must have the feedback jo.Bandit() and outcome={log.n_arms}, the number of arms of the log"
        raise ArgumentError("live", f"{wanted} (got {live})")
    keep = np.random.default_rng(seed).random(len(log)) * log.propensities < log.propensities.min()
    rewards = []
    for row in np.flatnonzero(keep):
        decision = live.predict(None if log.contexts is None else log.contexts[row])
        if decision == log.arms[row]:
            live.update(decision=decision, reward=log.rewards[row])
            rewards.append(log.rewards[row])
        else:
            live.discard(decision)
    n, size, untried = len(rewards), len(log), log.n_arms - len(np.unique(log.arms))
    value = float(np.mean(rewards)) if n else float("nan")
    result = Replay(value, n, size - n, size, int(size - keep.sum()), untried)
    if n == 0 or untried:
        warnings.warn(str(result), UnsupportedArmsWarning, stacklevel=3)
    return result
