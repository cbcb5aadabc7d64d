"""What a comparator is: the best fixed predictor of a class in hindsight, from sums over rounds or from all of them.

One that has an attribute `loss` is the best for that loss, and is refused in a game with another one.
"""

from typing import Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, PyTree


@runtime_checkable
class Comparator(Protocol):
    """The best fixed predictor of a class, from sums over rounds.

    Example:
        >>> from jaxonline.comparators import Comparator, L2Ball
        >>> isinstance(L2Ball(1.0), Comparator)
        True
    """

    def statistic(self, x: Array, y: Array) -> PyTree:
        """What one round adds to the sums."""
        ...

    def best_loss(self, sums: PyTree) -> np.ndarray:
        """The smallest cumulative loss of the class; `sums` are float64 arrays with leading batch dimensions."""
        ...


@runtime_checkable
class HindsightComparator(Protocol):
    """The best fixed predictor of a class for which no sums over rounds are enough.

    Example:
        >>> from jaxonline.comparators import HindsightComparator, RKHSBall
        >>> from jaxonline.kernels import Gaussian
        >>> isinstance(RKHSBall(Gaussian(1.0), radius=1.0), HindsightComparator)
        True
    """

    def best_losses(
        self, X: Float[ArrayLike, "T d"], y: Float[ArrayLike, "T"], rounds: Int[ArrayLike, "G"]
    ) -> Float[np.ndarray, "G"]:
        """The smallest cumulative loss of the class over the first t rows, for each t of the rising `rounds`."""
        ...


def sums_of(comparator: Comparator, X: Float[ArrayLike, "n d"], y: Float[ArrayLike, "n"]) -> PyTree:
    """The sums of a comparator over a whole data set, in float64 where that is enabled.

    Example:
        >>> import numpy as np
        >>> from jaxonline.comparators import L2Ball, sums_of
        >>> ball = L2Ball(np.inf)
        >>> float(ball.best_loss(sums_of(ball, np.eye(2), np.array([1.0, 2.0]))))
        0.0
    """
    parts = jax.vmap(comparator.statistic)(jnp.asarray(X, float), jnp.asarray(y, float))
    return jax.tree.map(lambda part: np.asarray(part, np.float64).sum(0), parts)
