"""Unbiased gradient of the squared loss from k of the d attributes of x, chosen at random.

The estimator first chooses indices, then observes the attributes with these indices. The estimate is a pure function of
the indices and the observations, so `support` can enumerate every outcome.

Sources: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Efficient learning with partially observed attributes" (ICML 2010),
Algorithm 2, with erratum E14 (Algorithm 1 is in `jaxonline.estimators.attribute_pairs`); Hazan and Koren, "Linear
regression with limited observation" (ICML 2012), for "l2".
"""

import itertools
import math
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Key

from jaxonline.estimators.index_sampling import (
    check_enumerable,
    split_attributes,
    uniform_subset,
    weighted_indices,
)
from jaxonline.losses import Loss, Squared
from jaxonline.numerics.elementwise import run_compiled
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count, Ge

IndexLaw = Literal["l1", "l2"]
"""Distribution of the indices for <w, x>: proportional to |w_i| or to w_i^2."""


class AttributeIndices(NamedTuple):
    """Observed indices: `subset` [a], distinct, for the estimate of x; `weighted` [b], with repeats, for <w, x>."""

    subset: Int[Array, "a"]
    weighted: Int[Array, "b"]


@cites("cesabianchi2010efficient", arguments={"law=l2": ("hazan2012linear",)})
@struct
class AttributeGradient:
    """Unbiased gradient 2 (y^ - y) v of the squared loss from k attributes of x (AER: paper C, Algorithm 2).

    The vector v estimates x: it is d / a times the sum of x_j e_j over a uniform subset of a indices j. The number y^
    estimates <w, x>: it is the mean of b terms with random indices i. Paper C has a = b = k/2. With "l1" (AER), i has
    the probability |w_i| / |w|_1 and the term sgn(w_i) |w|_1 x_i. With "l2" (Hazan and Koren's AERR, for a bounded l2
    norm), i has the probability w_i^2 / |w|^2 and the term (|w|^2 / w_i) x_i. If w = 0, the estimate y^ is 0.

    Args:
        n_attributes: number k = a + b of observed attributes; in a call a <= d (otherwise a ValueError).
        law: distribution of the indices i for y^. (Erratum E14: paper C prints x_j for x_i in y^.)
        n_for_prediction: b, below k; by default half of k, which must then be even. Hazan and Koren use b = 1.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> estimator = jo.estimators.AttributeGradient(4)
        >>> w, x = jnp.array([0.5, 0.0, -0.5]), jnp.array([1.0, 2.0, 3.0])
        >>> indices = estimator.choose(jax.random.key(0), w)
        >>> estimator.gradient(w, 1.0, indices, x[indices.subset], x[indices.weighted]).shape
        (3,)
        >>> support = estimator.support(w, x, 1.0)
        >>> len(support), sum(p * g for p, g in support).round(12).tolist()  # 2 (<w, x> - y) x = -4 x
        (12, [-4.0, -8.0, -12.0])
    """

    n_attributes: Annotated[int, Ge(2)] = static()
    law: IndexLaw = static(default="l1")
    n_for_prediction: Count | None = static(default=None)
    loss: ClassVar[Loss] = Squared()

    def __post_init__(self) -> None:
        split_attributes(self.n_attributes, self.n_for_prediction)

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """Estimate the gradient at w, from `oracle.attributes(indices)` and `oracle.label()`."""
        indices = self.choose(key, w)
        values = oracle.attributes(jnp.concatenate(indices))
        size, _ = self._sizes(len(w))
        return self.gradient(w, oracle.label(), indices, values[:size], values[size:])

    def choose(self, key: Key[Array, ""], w: Float[Array, "d"]) -> AttributeIndices:
        """Draw the indices to observe."""
        subset_key, weighted_key = jax.random.split(key)
        size, draws = self._sizes(len(w))
        return AttributeIndices(
            uniform_subset(subset_key, len(w), size), weighted_indices(weighted_key, index_weights(w, self.law), draws)
        )

    def gradient(
        self,
        w: Float[Array, "d"],
        y: ArrayLike,
        indices: AttributeIndices,
        x_subset: Float[Array, "a"],
        x_weighted: Float[Array, "b"],
    ) -> Float[Array, "d"]:
        """Estimate the gradient at w from the label y and the values of x at the subset and at the weighted indices."""
        v = estimate_instance(indices.subset, x_subset, len(w))
        y_hat = jnp.mean(estimate_predictions(w, indices.weighted, x_weighted, self.law))
        return 2 * (y_hat - y) * v

    def support(self, w: ArrayLike, x: ArrayLike, y: float) -> list[tuple[float, np.ndarray]]:
        """List (probability, value) of all outcomes in float64; raise a ValueError for over about a million."""
        w, x = np.asarray(w, float), np.asarray(x, float)
        d = len(w)
        size, draws = self._sizes(d)
        check_enumerable(math.comb(d, size) * d**draws)
        weights = index_probabilities(w, self.law)
        subsets = list(itertools.combinations(range(d), size))
        pairs = list(itertools.product(subsets, itertools.product(np.flatnonzero(weights), repeat=draws)))
        subset, weighted = (np.array([pair[i] for pair in pairs], np.int32) for i in (0, 1))
        with jax.enable_x64(True):
            outcomes = AttributeIndices(jnp.asarray(subset), jnp.asarray(weighted))
            values = np.asarray(run_compiled(_gradients, self, w, x, y, outcomes))
        return list(zip(np.prod(weights[weighted], axis=1) / len(subsets), values, strict=True))

    def _sizes(self, d: int) -> tuple[int, int]:
        size, draws = split_attributes(self.n_attributes, self.n_for_prediction)
        if size > d:
            raise ArgumentError("n_attributes", f"must be at most d + {draws} = {d + draws} (got {self.n_attributes})")
        return size, draws


def index_weights(w: Float[Array, "d"], law: IndexLaw) -> Float[Array, "d"]:
    """Return numbers that are proportional to the probabilities of the indices for <w, x>."""
    return jnp.abs(w) if law == "l1" else w * w


def index_probabilities(w: Float[np.ndarray, "d"], law: IndexLaw) -> Float[np.ndarray, "d"]:
    """Return the probabilities of the indices for <w, x> in float64; uniform if w = 0."""
    weights = np.abs(w) if law == "l1" else w * w
    return weights / weights.sum() if weights.any() else np.full(len(w), 1 / len(w))


def estimate_instance(subset: Int[Array, "h"], x_subset: Float[Array, "h"], d: int) -> Float[Array, "d"]:
    """Return v, an estimate of x: (d / h) x_j for the h indices j of a uniform subset, 0 elsewhere."""
    return jnp.zeros(d, x_subset.dtype).at[subset].add(d / len(subset) * x_subset)


def estimate_predictions(
    w: Float[Array, "d"], weighted: Int[Array, "n"], x_weighted: Float[Array, "n"], law: IndexLaw
) -> Float[Array, "n"]:
    """Return an estimate of <w, x> from each attribute of `weighted`: sgn(w_i) |w|_1 x_i, or (|w|^2 / w_i) x_i."""
    w_weighted = w[weighted]
    if law == "l1":
        scale = jnp.sign(w_weighted) * jnp.sum(jnp.abs(w))
    else:
        scale = jnp.where(w_weighted == 0, 0.0, jnp.sum(w * w) / jnp.where(w_weighted == 0, 1.0, w_weighted))
    return scale * x_weighted


def _gradients(
    estimator: AttributeGradient, w: Float[Array, "d"], x: Float[Array, "d"], y: ArrayLike, outcomes: AttributeIndices
) -> Float[Array, "m d"]:
    return jax.vmap(lambda indices: estimator.gradient(w, y, indices, x[indices.subset], x[indices.weighted]))(outcomes)
