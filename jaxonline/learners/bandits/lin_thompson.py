"""Thompson sampling with linear losses: Agrawal and Goyal (2013), Algorithm 1."""

import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Key

from jaxonline import random
from jaxonline.learners.bandits.ridge_bandit import RidgeBandit
from jaxonline.learners.linear.vaw import VAWState
from jaxonline.linalg.argmin import first_argmin
from jaxonline.linalg.triangular import cholesky_and_inverse, product
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import NonNegative, Positive


@cites("agrawal2013thompson")
@struct
class LinThompson(RidgeBandit):
    """Thompson sampling for linear bandits: draws w~ from N(w, width^2 P), pulls the arm with the smallest <w~, x_k>.

    An instance is the matrix of the arms' features [K, d]. P and w are the matrix and the weights of online ridge
    regression, as in `LinUCB`. If the noise is Gaussian with the standard deviation `width` and the prior is N(0,
    width^2 / regularizer I), then N(w, width^2 P) is the posterior. The draw is w + width L z with P = L L' (Cholesky)
    and a standard normal z. Ties go to the first arm.

    Args:
        width: factor of the standard deviation of the draws (v in the paper).
        regularizer: lambda.

    Example:
        >>> import jax, jaxonline as jo
        >>> environment = jo.environments.ContextualLinearArms([1.0, -1.0], n_arms=4, noise_std=0.1)
        >>> game = jo.Game(environment, jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> state, history = jo.play(game, jo.learners.LinThompson(width=0.1), jax.random.key(0), n_rounds=200)
        >>> [round(float(w)) for w in state.w]
        [1, -1]
    """

    width: NonNegative = 1.0
    regularizer: Positive = 1.0

    def predict(self, key: Key[Array, ""], state: VAWState, x: Float[Array, "K d"]) -> Int[Array, ""]:
        """Return the arm with the smallest loss <w~, x_k> under the drawn weights."""
        L, _ = cholesky_and_inverse(state.inverse)
        z = random.normal(key, state.w.shape, x.dtype)
        return first_argmin(product(x, state.w + jnp.asarray(self.width, x.dtype) * product(L, z)))
