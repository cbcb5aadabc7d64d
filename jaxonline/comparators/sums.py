"""Sums of a comparator over a whole data set."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, Float, PyTree

from jaxonline.game.protocols import Comparator


def cumulative_statistic(comparator: Comparator, X: Float[ArrayLike, "n d"], y: Float[ArrayLike, "n"]) -> PyTree:
    """The sums of a comparator over a whole data set, in float64 where that is enabled.

    Example:
        >>> import numpy as np
        >>> from jaxonline.comparators import L2Ball, cumulative_statistic
        >>> ball = L2Ball(np.inf)
        >>> float(ball.best_loss(cumulative_statistic(ball, np.eye(2), np.array([1.0, 2.0]))))
        0.0
    """
    parts = jax.vmap(comparator.statistic)(jnp.asarray(X, float), jnp.asarray(y, float))
    return jax.tree.map(lambda part: np.asarray(part, np.float64).sum(0), parts)
