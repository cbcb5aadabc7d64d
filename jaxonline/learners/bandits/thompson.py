"""Thompson sampling: Thompson (1933); Agrawal and Goyal (2012, 2013), with losses in place of rewards."""

from typing import Annotated, Any, ClassVar

import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from jaxonline import random
from jaxonline.game.traits import LearnerTraits
from jaxonline.learners.bandits.tally import Tally, TallyPolicy
from jaxonline.linalg.argmin import first_argmin
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Ge, Number, Positive


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

    traits: ClassVar[LearnerTraits] = LearnerTraits(loss_range=(0.0, 1.0))

    def predict(self, key: Key[Array, ""], state: Tally, x: Any) -> Int[Array, ""]:
        """Return the arm with the smallest drawn mean loss."""
        del x
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

    def predict(self, key: Key[Array, ""], state: Tally, x: Any) -> Int[Array, ""]:
        """Return the arm with the smallest drawn mean loss."""
        del x
        dtype = state.totals.dtype
        noise, prior = jnp.asarray(self.noise_std, dtype) ** -2, jnp.asarray(self.prior_std, dtype) ** -2
        precision = prior + noise * state.pulls.astype(dtype)
        mean = (prior * jnp.asarray(self.prior_mean, dtype) + noise * state.sums) / precision
        return first_argmin(mean + random.normal(key, mean.shape, dtype) / jnp.sqrt(precision))
