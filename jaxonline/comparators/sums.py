"""Cumulative statistic of a comparator over a data set."""

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import ArrayLike, Float

from jaxonline.game.protocols import Comparator
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.types import PyTree


def cumulative_statistic(comparator: Comparator, X: Float[ArrayLike, "n d"], y: Float[ArrayLike, "n"]) -> PyTree:
    """Return the sum of a comparator's statistic over a data set, added up in float64.

    Example:
        >>> import numpy as np
        >>> from jaxonline.comparators import L2Ball, cumulative_statistic
        >>> ball = L2Ball(np.inf)
        >>> float(ball.best_loss(cumulative_statistic(ball, np.eye(2), np.array([1.0, 2.0]))))
        0.0
    """
    check.instance("comparator", comparator, Comparator, "a comparator that is summed over rounds, such as L2Ball")
    X, y = check.finite_array("X", X), check.finite_array("y", y)
    if X.ndim == 0 or y.ndim == 0 or len(X) != len(y):
        raise ArgumentError("y", f"must have as many rows as X (got shapes {y.shape} and {X.shape})")
    statistics = jax.vmap(comparator.statistic)(jnp.asarray(X, float), jnp.asarray(y, float))
    return jax.tree.map(lambda leaf: np.asarray(leaf, np.float64).sum(0), statistics)
