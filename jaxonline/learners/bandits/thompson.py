"""Stochastic bandits without an index: Thompson sampling, epsilon-greedy, and explore-then-commit."""

from typing import Annotated, Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Int, Key

from jaxonline import random
from jaxonline.game.roles import Draw
from jaxonline.learners.bandits.exponential import draw_arm
from jaxonline.learners.bandits.index_policies import Tally, TallyPolicy, arm_indicator
from jaxonline.numerics.elementwise import first_argmin
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.signatures import check_fields, validate_arguments
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Count, Ge, Interval, NonNegative, Number, Positive, PositiveFloat

# ---------------------------------------------------------------------------------------------------------------------
# Thompson sampling: Thompson (1933); Agrawal and Goyal (2012, 2013), with losses in place of rewards.


@cites("thompson1933likelihood", "agrawal2012analysis")
@struct
class BernoulliThompson(TallyPolicy):
    """Thompson sampling with a beta prior: draws a mean loss for each arm, pulls the arm with the smallest draw.

    The posterior after n pulls with s losses of 1 is Beta(prior_ones + s, prior_zeros + n - s). A loss l between 0 and
    1 is replaced by 1 with probability l, and otherwise by 0 (Agrawal and Goyal 2012, Algorithm 2). The draws are exact
    (`jaxonline.random.fast_beta`). The regret divided by ln T tends to the constant of Lai and Robbins
    (`bounds.lai_robbins`). Losses known before the game must lie in [0, 1] (otherwise a ValueError).

    Args:
        prior_ones: number of losses of 1 in the prior; 1 for the uniform prior.
        prior_zeros: number of losses of 0 in the prior; 1 for the uniform prior.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([0.1, 0.9]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> history = jo.play(game, jo.learners.BernoulliThompson(), jax.random.key(0), n_rounds=100)[1]
        >>> bool(history.y_hat.mean() < 0.2)
        True
    """

    prior_ones: Annotated[Number, Ge(1)] = 1.0
    prior_zeros: Annotated[Number, Ge(1)] = 1.0

    loss_range = (0.0, 1.0)
    restricts_arms = True

    def predict(self, key: Key[Array, ""], state: Tally, x: Any) -> Int[Array, ""]:
        """Return the arm with the smallest drawn mean loss."""
        ones, dtype = state.sums, state.totals.dtype
        zeros = state.pulls.astype(dtype) - ones
        a, b = jnp.asarray(self.prior_ones, dtype) + ones, jnp.asarray(self.prior_zeros, dtype) + zeros
        return first_argmin(random.fast_beta(key, a, b))

    def update(self, key: Key[Array, ""], state: Tally, oracle: Any) -> tuple[Tally, tuple[()]]:
        """Add the pull to the tally, with a random loss of 0 or 1 whose mean is the loss."""
        loss = oracle.loss()
        toss = random.bernoulli(key, loss)
        return state.add(oracle.move, toss.astype(loss.dtype)), ()


@cites("thompson1933likelihood", "agrawal2013further")
@struct
class GaussianThompson(TallyPolicy):
    """Thompson sampling with a Gaussian prior: draws a mean loss for each arm, pulls the arm with the smallest draw.

    The default posterior after n pulls is N(sum of losses / (n + 1), 1 / (n + 1)), as in Agrawal and Goyal (2013).
    The theorem of that paper assumes losses in [0, 1], not Gaussian losses.

    Args:
        noise_std: standard deviation of the losses of an arm about their mean.
        prior_mean: mean of the prior of an arm's mean loss.
        prior_std: standard deviation of the prior of an arm's mean loss.

    Example:
        >>> import jax, jaxonline as jo
        >>> arms = jo.environments.GaussianArms([0.0, 2.0], std=1.0)
        >>> game = jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> learner = jo.learners.GaussianThompson(noise_std=1.0, prior_std=10.0)
        >>> bool(jo.play(game, learner, jax.random.key(0), n_rounds=100)[1].y_hat.mean() < 0.2)
        True
    """

    noise_std: Positive = 1.0
    prior_mean: Number = 0.0
    prior_std: Positive = 1.0

    restricts_arms = True

    def predict(self, key: Key[Array, ""], state: Tally, x: Any) -> Int[Array, ""]:
        """Return the arm with the smallest drawn mean loss."""
        dtype = state.totals.dtype
        noise, prior = jnp.asarray(self.noise_std, dtype) ** -2, jnp.asarray(self.prior_std, dtype) ** -2
        precision = prior + noise * state.pulls.astype(dtype)
        mean = (prior * jnp.asarray(self.prior_mean, dtype) + noise * state.sums) / precision
        return first_argmin(mean + random.normal(key, mean.shape, dtype) / jnp.sqrt(precision))


# ---------------------------------------------------------------------------------------------------------------------
# Epsilon-greedy: Auer, Cesa-Bianchi and Fischer (2002), Figure 3.


@cites("auer2002finite")
@struct
class EpsilonGreedy(TallyPolicy):
    """Epsilon-greedy policy: pulls the arm with the smallest mean loss or, with probability epsilon_t, a random arm.

    In round t = 1, 2, ... epsilon_t = min(1, epsilon / t^power). The random arm is drawn uniformly from all arms. An
    arm that was never pulled has the mean 0; ties go to the first arm.

    Args:
        epsilon: probability of a random arm in round 1, and in all rounds if `power` is 0.
        power: exponent of t: 0 for a constant epsilon, 1 for the rate of Theorem 3 (`decreasing`).

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> learner = jo.learners.EpsilonGreedy(epsilon=0.3)
        >>> state = learner.init(None, jo.game.Specs((), jnp.zeros(3)))
        >>> [round(p, 3) for p in learner.predict(jax.random.key(0), state, ()).probabilities.tolist()]
        [0.8, 0.1, 0.1]
    """

    epsilon: NonNegative
    power: NonNegative = 0.0

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

    def predict(self, key: Key[Array, ""], state: Tally, x: Any) -> Draw:
        """Draw the best arm so far with probability 1 - epsilon_t, or else a uniformly random arm."""
        n_arms, dtype = len(state.pulls), state.totals.dtype
        t = state.rounds + 1
        epsilon = jnp.minimum(1.0, jnp.asarray(self.epsilon, dtype) * t ** -jnp.asarray(self.power, dtype))
        greedy = arm_indicator(first_argmin(state.means), n_arms)
        return draw_arm(key, jnp.where(greedy, 1.0 - epsilon, 0.0) + epsilon / n_arms)

    def update(self, key: Key[Array, ""] | None, state: Tally, oracle: Any) -> tuple[Tally, tuple[()]]:
        """Add the pull and its loss to the tally."""
        return state.add(oracle.move.arm, oracle.loss()), ()


# ---------------------------------------------------------------------------------------------------------------------
# Explore-then-commit: Robbins (1952); Lattimore and Szepesvari (2020), Algorithm 1.


@cites("robbins1952some", "lattimore2020bandit")
@struct
class ExploreThenCommit(TallyPolicy):
    """Explore-then-commit policy: pulls each arm m times in turn, then always the arm with the smallest mean loss.

    Ties go to the first arm. `bounds.explore_then_commit` bounds the regret for every m.

    Args:
        pulls_each: m, the number of pulls of each arm.

    Example:
        >>> import jax, jaxonline as jo
        >>> game = jo.Game(jo.environments.BernoulliArms([1.0, 0.0]), jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> learner = jo.learners.ExploreThenCommit(pulls_each=2)
        >>> jo.play(game, learner, jax.random.key(0), n_rounds=7)[1].y_hat.tolist()
        [0, 1, 0, 1, 1, 1, 1]
    """

    pulls_each: Annotated[Number, Ge(1)]

    off_policy = None  # each arm is explored m times in turn

    def predict(self, key: Key[Array, ""] | None, state: Tally, x: Any) -> Int[Array, ""]:
        """Return the next arm in turn; after the exploration, return the arm with the smallest mean."""
        turn = jnp.sum(state.pulls, dtype=jnp.int32) % len(state.pulls)
        return jnp.where(self._explores(state), turn, first_argmin(state.means))

    def update(self, key: Key[Array, ""] | None, state: Tally, oracle: Any) -> tuple[Tally, tuple[()]]:
        """Add the pull to the tally during the exploration; keep the tally afterwards."""
        after, explores = state.add(oracle.move, oracle.loss()), self._explores(state)
        return jax.tree.map(lambda new, old: jnp.where(explores, new, old), after, state), ()

    def _explores(self, state: Tally) -> Array:
        m: Float[Array, ""] = jnp.asarray(self.pulls_each).astype(state.totals.dtype)
        return state.rounds < m * len(state.pulls)
