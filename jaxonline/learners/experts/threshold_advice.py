"""The predictions of all threshold functions of k boolean attributes, as advice for learners with experts."""

import itertools
import math

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count

MAX_FUNCTIONS = 1_000_000


@struct
class ThresholdAdvice:
    """Predictions, -1 or +1, of all r-of-k threshold functions: one for each set of k of d boolean attributes [K].

    The function of a set predicts +1 if at least r attributes of the set are present. With r = 1 these are the
    disjunctions of k attributes. `WithFeatures(Halving(), ThresholdAdvice(d, k, r))` is halving over this class; K is
    "d choose k", so d and k must be small.

    Args:
        dimension: number d of attributes.
        n_relevant: k, at most d; a ValueError if there are more than a million functions.
        n_required: r, at most k.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.learners import ThresholdAdvice
        >>> ThresholdAdvice(3, 2)(jnp.array([1.0, 0.0, 0.0])).tolist()  # of the sets 01, 02 and 12
        [1.0, 1.0, -1.0]
    """

    dimension: Count = static()
    n_relevant: Count = static()
    n_required: Count = static(default=1)

    def __post_init__(self) -> None:
        if self.n_relevant > self.dimension:
            raise ArgumentError("n_relevant", f"must be at most dimension, {self.dimension} (got {self.n_relevant})")
        if self.n_required > self.n_relevant:
            raise ArgumentError("n_required", f"must be at most n_relevant, {self.n_relevant} (got {self.n_required})")
        if self.n_functions > MAX_FUNCTIONS:
            raise ArgumentError(
                "n_relevant", f"must give at most {MAX_FUNCTIONS:,} functions (got {self.n_functions:,}); use `Winnow`"
            )

    @property
    def n_functions(self) -> int:
        """The number K of functions, "d choose k"."""
        return math.comb(self.dimension, self.n_relevant)

    def __call__(self, x: Float[Array, "d"]) -> Float[Array, "K"]:
        """Return the predictions for an instance."""
        sets = np.array(list(itertools.combinations(range(self.dimension), self.n_relevant)), np.int32)
        enough = jnp.sum(x[sets], axis=1) >= self.n_required
        return jnp.where(enough, 1.0, -1.0).astype(x.dtype)
