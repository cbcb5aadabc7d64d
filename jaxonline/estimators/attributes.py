"""The gradient of the squared loss from a few attributes: k of the d coordinates of x, chosen at random.

The estimator first chooses indices and then looks; its value is a pure function of the indices and of what was seen
there, so that `support` can enumerate every outcome.

Sources: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Efficient learning with partially observed attributes" (ICML 2010),
Algorithm 2, with erratum E14; Hazan and Koren, "Linear regression with limited observation" (ICML 2012), for the l2
law. The estimators of their Algorithm 1 are in `jaxonline.estimators.attribute_pairs`.
"""

import itertools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int, Key

from jaxonline._util import check
from jaxonline._util.struct import static, struct

_MAX_OUTCOMES = 1 << 20


def uniform_subset(key: Key[Array, ""], d: int, size: int) -> Int[Array, "size"]:
    """A uniformly random subset of {0, ..., d - 1}, by Floyd's algorithm: its cost does not depend on d.

    Args:
        key: consumed.
        d: the size of the whole set.
        size: the size of the subset, from 1 to d.

    Raises:
        ValueError: if `size` is not from 1 to d.

    Example:
        >>> import jax
        >>> from jaxonline.estimators.attributes import uniform_subset
        >>> sorted(uniform_subset(jax.random.key(0), 3, 3).tolist())
        [0, 1, 2]
    """
    if check.count("size", size) > d:
        raise ValueError(f"size must be at most d = {d}, got {size}")
    last = jnp.arange(d - size, d, dtype=jnp.int32)
    draws = jax.random.randint(key, (size,), 0, last + 1, jnp.int32)

    def choose(chosen, step):
        j, draw = step
        taken = jnp.any(chosen == draw)
        return chosen.at[j].set(jnp.where(taken, last[j], draw)), None

    steps = (jnp.arange(size, dtype=jnp.int32), draws)
    return jax.lax.scan(choose, jnp.full(size, -1, jnp.int32), steps, unroll=min(size, 8))[0]


def weighted_indices(key: Key[Array, ""], weights: Float[Array, "d"], size: int) -> Int[Array, "size"]:
    """Independent indices with probabilities proportional to `weights` (uniform where all weights are 0).

    Args:
        key: consumed.
        weights: at least 0.
        size: how many.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.estimators.attributes import weighted_indices
        >>> weighted_indices(jax.random.key(0), jnp.array([0.0, 2.0, 0.0]), 4).tolist()
        [1, 1, 1, 1]
    """
    sums = jnp.cumsum(jnp.where(jnp.any(weights > 0), weights, jnp.ones_like(weights)))
    # 1 - u is in (0, 1], so that an index without weight is never found.
    points = sums[-1] * (1 - jax.random.uniform(key, (size,), sums.dtype))
    return jnp.searchsorted(sums, points, side="left").astype(jnp.int32)


class SeenGradient(NamedTuple):
    """The indices that `AttributeGradient` chose.

    Attributes:
        subset: [k/2], for the estimate of x: distinct.
        weighted: [k/2], for the estimate of <w, x>: drawn with replacement.

    Example:
        >>> from jaxonline.estimators.attributes import SeenGradient
        >>> SeenGradient._fields
        ('subset', 'weighted')
    """

    subset: Int[Array, "half"]
    weighted: Int[Array, "half"]


@struct
class AttributeGradient:
    """The gradient 2 (<w, x> - y) x from k attributes of x: 2 (y^ - y) v, unbiased (paper C, Algorithm 2, AER).

    v = (2/k) d sum over a uniform k/2-subset of x_j e_j, and y^ is the mean over k/2 indices i drawn from a law that
    depends on w: by "l1", i ~ |w_i| / |w|_1 and sgn(w_i) |w|_1 x_i (AER); by "l2", i ~ w_i^2 / |w|^2 and
    (|w|^2 / w_i) x_i (Hazan and Koren's AERR), which suits a bounded l2 norm. y^ = 0 while w = 0.

    Args:
        n_attributes: k, even, at least 2; at a call, k/2 must be at most d.
        law: "l1" or "l2".
        form: "corrected"; or "printed", where y^ has x_j, j the largest index of the subset, instead of x_i, and is
            biased (erratum E14; law "l1" only).

    Raises:
        TypeError, ValueError: for an odd or too large `n_attributes`, or an unknown `law` or `form`.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.estimators.attributes import AttributeGradient
        >>> estimator = AttributeGradient(4)
        >>> w, x = jnp.array([0.5, 0.0, -0.5]), jnp.array([1.0, 2.0, 3.0])
        >>> seen = estimator.choose(jax.random.key(0), w)
        >>> estimator.gradient(w, 1.0, seen, x[seen.subset], x[seen.weighted]).shape
        (3,)
        >>> support = estimator.support(w, x, 1.0)
        >>> len(support), sum(p * g for p, g in support).round(12).tolist()  # 2 (<w, x> - y) x = -4 x
        (12, [-4.0, -8.0, -12.0])
    """

    n_attributes: int = static()
    law: str = static(default="l1")
    form: str = static(default="corrected")

    def __post_init__(self):
        _even("n_attributes", self.n_attributes)
        check.choice("law", self.law, ("l1", "l2"))
        check.choice("form", self.form, ("corrected", "printed"))
        if self.law == "l2" and self.form == "printed":
            raise ValueError("form must be 'corrected' for the law 'l2', which paper C does not have, got 'printed'")

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """The estimate at w, from `oracle.attributes(indices)` and `oracle.label()`."""
        seen = self.choose(key, w)
        values = oracle.attributes(jnp.concatenate(seen))
        half = self.n_attributes // 2
        return self.gradient(w, oracle.label(), seen, values[:half], values[half:])

    def choose(self, key: Key[Array, ""], w: Float[Array, "d"]) -> SeenGradient:
        """The indices to look at."""
        subset_key, weighted_key = jax.random.split(key)
        half = self.n_attributes // 2
        _fits(half, len(w))
        return SeenGradient(
            uniform_subset(subset_key, len(w), half), weighted_indices(weighted_key, self._weights(w), half)
        )

    def gradient(
        self,
        w: Float[Array, "d"],
        y: ArrayLike,
        seen: SeenGradient,
        x_subset: Float[Array, "half"],
        x_weighted: Float[Array, "half"],
    ) -> Float[Array, "d"]:
        """The estimate from what was seen at the chosen indices.

        Args:
            w: the hypothesis.
            y: the label.
            seen: the indices.
            x_subset: the values of x at `seen.subset`.
            x_weighted: the values of x at `seen.weighted`.
        """
        d, half = len(w), self.n_attributes // 2
        v = jnp.zeros(d, x_subset.dtype).at[seen.subset].add(d / half * x_subset)
        chosen = w[seen.weighted]
        if self.law == "l1":
            scale = jnp.sign(chosen) * jnp.sum(jnp.abs(w))
        else:
            scale = jnp.where(chosen == 0, 0.0, jnp.sum(w * w) / jnp.where(chosen == 0, 1.0, chosen))
        last = x_subset[jnp.argmax(seen.subset)]
        y_hat = jnp.mean(scale * (x_weighted if self.form == "corrected" else last))
        return 2 * (y_hat - y) * v

    def support(self, w: ArrayLike, x: ArrayLike, y: float) -> list[tuple[float, np.ndarray]]:
        """Every outcome with its probability and its value, in float64: for small d and k.

        Args:
            w: the hypothesis [d].
            x: the instance [d].
            y: the label.

        Raises:
            ValueError: if there are more than about a million outcomes.
        """
        w, x = np.asarray(w, float), np.asarray(x, float)
        d, half = len(w), self.n_attributes // 2
        _fits(half, d)
        _few(math.comb(d, half) * d**half)
        weights = np.asarray(np.abs(w) if self.law == "l1" else w * w)
        weights = weights / weights.sum() if weights.any() else np.full(d, 1 / d)
        subsets = list(itertools.combinations(range(d), half))
        pairs = list(itertools.product(subsets, itertools.product(np.flatnonzero(weights), repeat=half)))
        subset, weighted = (np.array([pair[i] for pair in pairs], np.int32) for i in (0, 1))
        with jax.enable_x64(True):
            arrays = (jnp.asarray(a) for a in (subset, weighted, x[subset], x[weighted]))
            gradient = jax.vmap(lambda s, t, x_s, x_t: self.gradient(jnp.asarray(w), y, SeenGradient(s, t), x_s, x_t))
            values = np.asarray(gradient(*arrays))
        return list(zip(np.prod(weights[weighted], axis=1) / len(subsets), values, strict=True))

    def _weights(self, w: Float[Array, "d"]) -> Float[Array, "d"]:
        return jnp.abs(w) if self.law == "l1" else w * w


def _even(name: str, value: int) -> None:
    """Check that a number of attributes is even: half of it for each of two estimates."""
    if check.count(name, value, ge=2) % 2:
        raise ValueError(f"{name} must be even (half of it for each of two estimates), got {value}")


def _fits(half: int, d: int) -> None:
    if half > d:
        raise ValueError(f"n_attributes must be at most 2 d = {2 * d}, got {2 * half}")


def _few(outcomes: int) -> None:
    """Check that a support is small enough to enumerate."""
    if outcomes > _MAX_OUTCOMES:
        raise ValueError(f"d and n_attributes must be smaller to enumerate, got {outcomes:,} outcomes")
