"""Stochastic bandits without an index: Thompson sampling, epsilon-greedy, and explore-then-commit."""

import warnings
from typing import Annotated, Any, ClassVar, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxonline import random
from jaxonline.game.roles import Draw, Environment, Learner, Specs
from jaxonline.learners.bandits.exponential import draw_arm
from jaxonline.learners.bandits.index_policies import Tally, TallyPolicy, arm_indicator
from jaxonline.numerics.elementwise import among_available
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError, SettingsWarning
from jaxonline.parameters.signatures import check_fields, validate_arguments
from jaxonline.parameters.struct import replace, struct
from jaxonline.parameters.types import Count, Ge, Interval, NonNegative, Number, Numbers, PositiveFloat, Scale

# ---------------------------------------------------------------------------------------------------------------------
# Thompson sampling: Thompson (1933); Agrawal and Goyal (2012, 2013), with losses in place of rewards.


OfArms: TypeAlias = Numbers | list[float]  # a number for all arms, or one for each arm [K]
MAX_PRIOR_DISTANCE = 5.0  # of known means from the mean of a Gaussian prior, in prior standard deviations


class ThompsonPolicy(TallyPolicy):
    """Base class of Thompson sampling: the numbers of the prior are given for all arms, or for each arm [K]."""

    prior: ClassVar[tuple[str, ...]] = ()

    def check_environment(self, environment: Environment) -> None:
        """Raise a ValueError if a prior has another number of arms than the environment."""
        arms = getattr(environment.outcome_spec, "shape", ())
        for name in self.prior:
            if (shape := np.shape(getattr(self, name))) not in ((), arms):
                raise ArgumentError(name, f"must be a number, or one for each arm {arms} (got the shape {shape})")


class BetaThompson(ThompsonPolicy):
    """Base class of Thompson sampling with a beta prior, for losses in [0, 1] that are replaced by 0 or 1."""

    prior_ones: Any
    prior_zeros: Any

    loss_range = (0.0, 1.0)
    restricts_arms = True
    prior = ("prior_ones", "prior_zeros")

    def for_rewards(self) -> Learner:
        """Return the learner of losses: a reward of 1 is a loss of 0."""
        return replace(self, prior_ones=self.prior_zeros, prior_zeros=self.prior_ones)

    def draw_means(self, key: Key[Array, ""], ones: Float[Array, "K"], zeros: Float[Array, "K"]) -> Float[Array, "K"]:
        """Draw a mean loss for each arm from the posterior, after the given numbers of losses of 1 and 0."""
        a, b = (jnp.asarray(prior, ones.dtype) for prior in (self.prior_ones, self.prior_zeros))
        return random.fast_beta(key, a + ones, b + zeros)


@cites("thompson1933likelihood", "agrawal2012analysis")
@struct
class BernoulliThompson(BetaThompson):
    """Thompson sampling with a beta prior: draws a mean loss for each arm, pulls the arm with the smallest draw.

    The posterior after n pulls with s losses of 1 is Beta(prior_ones + s, prior_zeros + n - s). A loss l between 0 and
    1 is replaced by 1 with probability l, and otherwise by 0 (Agrawal and Goyal 2012, Algorithm 2). The draws are exact
    (`jaxonline.random.fast_beta`). The regret divided by ln T tends to the constant of Lai and Robbins
    (`bounds.lai_robbins`). Losses known before the game must lie in [0, 1] (otherwise a ValueError).

    Args:
        prior_ones: number of losses of 1 in the prior, of all arms or of each arm [K]; 1 for the uniform prior. In a
            game of rewards, the number of rewards of 1.
        prior_zeros: number of losses (or rewards) of 0 in the prior; 1 for the uniform prior.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([0.1, 0.9]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> history = jo.play(game, jo.learners.BernoulliThompson(), jax.random.key(0), n_rounds=100)[1]
        >>> bool(history.y_hat.mean() < 0.2)
        True
    """

    prior_ones: Annotated[OfArms, Ge(1)] = 1.0
    prior_zeros: Annotated[OfArms, Ge(1)] = 1.0

    def predict(self, key: Key[Array, ""], state: Tally, x: Any) -> Int[Array, ""]:
        """Return the arm with the smallest drawn mean loss."""
        ones = state.sums
        return state.argmin(self.draw_means(key, ones, state.pulls.astype(ones.dtype) - ones))

    def update(self, key: Key[Array, ""], state: Tally, oracle: Any) -> tuple[Tally, tuple[()]]:
        """Add the pull to the tally, with a random loss of 0 or 1 whose mean is the loss."""
        return state.add(oracle.move, toss(key, oracle.loss())), ()


def toss(key: Key[Array, ""], loss: Float[Array, ""]) -> Float[Array, ""]:
    """Return a random loss of 0 or 1 whose mean is the given loss."""
    return random.bernoulli(key, loss).astype(loss.dtype)


@cites("thompson1933likelihood", "agrawal2013further")
@struct
class GaussianThompson(ThompsonPolicy):
    """Thompson sampling with a Gaussian prior: draws a mean loss for each arm, pulls the arm with the smallest draw.

    In a game of rewards it draws mean rewards and pulls the arm with the largest draw.

    The default posterior after n pulls is N(sum of losses / (n + 1), 1 / (n + 1)), as in Agrawal and Goyal (2013).
    The theorem of that paper assumes losses in [0, 1], not Gaussian losses.

    Args:
        noise_std: standard deviation of the losses (or rewards) of an arm about their mean.
        prior_mean: mean of the prior of an arm's mean loss; in a game of rewards, of its mean reward. A number for all
            arms, or one for each arm [K].
        prior_std: standard deviation of this prior. None for a flat prior: each arm is pulled once, and the posterior
            after n pulls is N(mean, noise_std^2 / n).

    Warns:
        SettingsWarning: a mean that is known before the game is more than 5 prior standard deviations from the prior's.

    Example:
        >>> import jax, jaxonline as jo
        >>> arms = jo.environments.GaussianArms([0.0, 2.0], std=1.0)
        >>> game = jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> learner = jo.learners.GaussianThompson(noise_std=1.0, prior_std=10.0)
        >>> bool(jo.play(game, learner, jax.random.key(0), n_rounds=100)[1].y_hat.mean() < 0.2)
        True
    """

    noise_std: Scale = 1.0
    prior_mean: OfArms = 0.0
    prior_std: Annotated[OfArms, Interval(ge=1e-12, le=1e12)] | None = 1.0

    loss_at_zero_reward = 0.0
    restricts_arms = True
    prior = ("prior_mean", "prior_std")

    def check_environment(self, environment: Environment) -> None:
        """Check the prior's shape, and warn if it is far from the known means of the arms."""
        super().check_environment(environment)
        means, outcomes = getattr(environment, "means", None), environment.outcomes
        if means is None and np.ndim(outcomes) == 2:  # a table
            means = np.mean(1.0 - np.asarray(outcomes) if environment.rewards else outcomes, axis=0)
        numbers = means, self.prior_mean, self.prior_std
        if means is None or self.prior_std is None or check.is_abstract(numbers):
            return
        means, mean, std = map(np.asarray, numbers)
        distance = np.max(np.abs(means - mean) / std)
        if distance > MAX_PRIOR_DISTANCE:
            warnings.warn(
                f"prior_mean: the mean of an arm is {distance:.3g} prior standard deviations from it, so the learner "
                "explores far too little or too much; give a prior_mean near the data, a larger prior_std, or "
                "prior_std=None", SettingsWarning, stacklevel=2,
            )  # fmt: skip

    def for_rewards(self) -> "GaussianThompson":
        """Return the learner of losses: a loss is minus the reward."""
        return replace(self, prior_mean=-jnp.asarray(self.prior_mean))

    def predict(self, key: Key[Array, ""], state: Tally, x: Any) -> Int[Array, ""]:
        """Return the arm with the smallest drawn mean loss."""
        dtype = state.totals.dtype
        noise = jnp.asarray(self.noise_std, dtype)
        if self.prior_std is None:
            draws = random.normal(key, state.pulls.shape, dtype) * noise / jnp.sqrt(state.positive_pulls)
            return state.unpulled_or_argmin(state.means + draws)
        noise, prior = noise**-2, jnp.asarray(self.prior_std, dtype) ** -2
        precision = prior + noise * state.pulls.astype(dtype)
        mean = (prior * jnp.asarray(self.prior_mean, dtype) + noise * state.sums) / precision
        return state.argmin(mean + random.normal(key, mean.shape, dtype) / jnp.sqrt(precision))


# ---------------------------------------------------------------------------------------------------------------------
# Epsilon-greedy: Auer, Cesa-Bianchi and Fischer (2002), Figure 3.


@cites("auer2002finite")
@struct
class EpsilonGreedy(TallyPolicy):
    """Epsilon-greedy policy: pulls the arm with the smallest mean loss or, with probability epsilon_t, a random arm.

    In round t = 1, 2, ... epsilon_t = min(1, epsilon / t^power). The random arm is drawn uniformly from all arms. An
    arm that was never pulled has the mean 0, also in a game of rewards. Random ties are drawn in each round.

    Args:
        epsilon: probability of a random arm in round 1, and in all rounds if `power` is 0.
        power: exponent of t: 0 for a constant epsilon, 1 for the rate of Theorem 3 (`decreasing`).

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> learner = jo.learners.EpsilonGreedy(epsilon=0.3, ties="first")
        >>> state = learner.init(None, jo.game.Specs((), jnp.zeros(3)))
        >>> [round(p, 3) for p in learner.predict(jax.random.key(0), state, ()).probabilities.tolist()]
        [0.8, 0.1, 0.1]
    """

    epsilon: NonNegative
    power: NonNegative = 0.0

    loss_at_zero_reward = 0.0
    restricts_arms = True

    def __post_init__(self) -> None:
        check_fields(self)
        if check.is_abstract((self.epsilon, self.power)):
            return
        if np.any((np.asarray(self.epsilon) > 1) & (np.asarray(self.power) == 0)):
            raise ArgumentError("epsilon", f"must be a probability if power is 0 (got {check.quote(self.epsilon)})")

    @classmethod
    @validate_arguments
    def decreasing(
        cls, n_arms: Count, gap: Annotated[float, Interval(gt=0, le=1)], c: PositiveFloat = 6.0
    ) -> "EpsilonGreedy":
        """Set epsilon_t = min(1, c K / (gap^2 t)), where `gap` is at most the gap between the two best arms.

        If c > 5 the probability of pulling a worse arm in round t is at most c / (gap^2 t) + o(1/t) (Theorem 3).
        """
        return cls(float(c) * n_arms / gap**2, power=1.0)

    def init(self, key: Key[Array, ""] | None, specs: Specs) -> Tally:
        """Return the state before the first pull; raise a ValueError if outcomes are not vectors."""
        return Tally.empty(specs)

    def predict(self, key: Key[Array, ""], state: Tally, x: Any) -> Draw:
        """Draw the best arm so far with probability 1 - epsilon_t, or else a uniformly random arm."""
        n_arms, dtype = len(state.pulls), state.totals.dtype
        t = state.rounds + 1
        epsilon = jnp.minimum(1.0, jnp.asarray(self.epsilon, dtype) * t ** -jnp.asarray(self.power, dtype))
        means = among_available(state.means)
        greedy = arm_indicator(state.argmin(means), n_arms) if self.ties == "first" else means == jnp.min(means)
        share = (1.0 - epsilon) / jnp.sum(greedy, dtype=dtype)
        return draw_arm(key, jnp.where(greedy, share, 0.0) + epsilon / n_arms)

    def update(self, key: Key[Array, ""] | None, state: Tally, oracle: Any) -> tuple[Tally, tuple[()]]:
        """Add the pull and its loss to the tally."""
        return state.add(oracle.move.arm, oracle.loss()), ()


# ---------------------------------------------------------------------------------------------------------------------
# Explore-then-commit: Robbins (1952); Lattimore and Szepesvari (2020), Algorithm 1.


@cites("robbins1952some", "lattimore2020bandit")
@struct
class ExploreThenCommit(TallyPolicy):
    """Explore-then-commit policy: pulls each arm m times in turn, then always the arm with the smallest mean loss.

    `bounds.explore_then_commit` bounds the regret for every m.

    Args:
        pulls_each: m, the number of pulls of each arm.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([1.0, 0.0]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> learner = jo.learners.ExploreThenCommit(pulls_each=2)
        >>> jo.play(game, learner, jax.random.key(0), n_rounds=7)[1].y_hat.tolist()
        [1, 0, 1, 0, 1, 1, 1]
    """

    pulls_each: Annotated[Number, Ge(1)]

    off_policy = None  # each arm is explored m times in turn

    def predict(self, key: Key[Array, ""] | None, state: Tally, x: Any) -> Int[Array, ""]:
        """Return the next arm in turn; after the exploration, return the arm with the smallest mean."""
        turn = jnp.sum(state.pulls, dtype=jnp.int32) % len(state.pulls)
        turn = turn if state.order is None else state.order.things[turn]
        return jnp.where(self._explores(state), turn, state.argmin(state.means))

    def update(self, key: Key[Array, ""] | None, state: Tally, oracle: Any) -> tuple[Tally, tuple[()]]:
        """Add the pull to the tally during the exploration; keep the tally afterwards."""
        after, explores = state.add(oracle.move, oracle.loss()), self._explores(state)
        return jax.tree.map(lambda new, old: jnp.where(explores, new, old), after, state), ()

    def _explores(self, state: Tally) -> Array:
        m: Float[Array, ""] = jnp.asarray(self.pulls_each).astype(state.totals.dtype)
        return state.rounds < m * len(state.pulls)
