"""Map_Estimate: the unbiased estimates Psi~ of a feature vector that a round of `NoisyKernel` needs.

Each estimate asks for a random number of its own copies; the number is drawn first, and the estimate is computed only
if the round uses it. Source: paper A (COLT 2010), Subroutines 2 and 5, with erratum E6.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key

from jaxonline.estimators.feature_maps import FeatureMap
from jaxonline.estimators.noisy_features import PairProduct
from jaxonline.learners.kernels import calls_per_run
from jaxonline.learners.kernels.capacity import Storage
from jaxonline.learners.kernels.expansion import Feature
from jaxonline.numerics.ragged import Increment, ragged_add, ragged_map
from jaxonline.numerics.triangular import select_entry


class Requests(NamedTuple):
    """Copies that the estimates 0, ..., n of a round ask for; only the first m estimates are listed and may be used.

    `counts` are the sampled counts of the feature map. `copies`, `pairs` (of copies) and `levels` are the numbers of
    copies, pairs and factors of the listed estimates [m]. `total` is the number of copies of all estimates. `too_large`
    is True if there is no room for an estimate, or there are too many estimates.
    """

    counts: Any
    copies: Int[Array, "m"]
    pairs: Int[Array, "m"]
    levels: Int[Array, "m"]
    total: Int[Array, ""]
    too_large: Bool[Array, ""]

    @property
    def indices(self) -> Int[Array, "m"]:
        """Return the indices 0, 1, ... of the listed estimates."""
        return jnp.arange(len(self.levels), dtype=jnp.int32)

    @classmethod
    def sample(
        cls, key: Key[Array, ""], n: Int[Array, ""], feature_map: FeatureMap, storage: Storage, listed: int
    ) -> "Requests":
        """Draw the number of copies of each of 1 + n estimates; only the first `listed` estimates may be used."""

        def sample_counts(j):
            return feature_map.sample_counts(jax.random.fold_in(key, j))

        def request(j, _):
            counts = sample_counts(j)
            fits = (feature_map.level(counts) <= storage.deepest) & (feature_map.pairs(counts) <= storage.most_pairs)
            entries = jax.tree.map(lambda count: Increment(count, j), counts)
            return entries, Increment(feature_map.queries(counts)), Increment((~fits).astype(jnp.int32))

        # the counts of listed estimates are stored, the others are added to the total only
        spec = jax.eval_shape(sample_counts, jnp.int32(0))
        zeros = jax.tree.map(lambda leaf: jnp.zeros((listed, *leaf.shape), leaf.dtype), spec)
        number = 1 + jnp.minimum(n, storage.most_fresh)
        start = zeros, jnp.int32(0), jnp.int32(0)
        counts, total, n_too_large = ragged_add(request, number, start, calls_per_run.COUNTS)

        copies = jnp.where(jnp.arange(listed, dtype=jnp.int32) < number, feature_map.queries(counts), 0)
        too_large = (n_too_large > 0) | (n > storage.most_fresh)
        return cls(counts, copies, feature_map.pairs(counts), feature_map.level(counts), total, too_large)


class MapEstimate(NamedTuple):
    """The estimates of a round, computed on demand; `draw(i)` returns copy i of all copies of the round."""

    feature_map: FeatureMap
    storage: Storage
    requests: Requests
    draw: Callable[[Int[Array, ""]], Float[Array, "d"]]

    def shallow(self, j: Int[Array, ""]) -> Feature:
        """Return the j-th estimate, with its factors if its level has a tensor; factors of deeper levels are not drawn.

        Copies are drawn two at a time: a pair, or two factors. For an odd number of factors, the last copy is not used.
        """
        feature_map, storage, copy = self.feature_map, self.storage, self._copies(j)
        rows = min(storage.tensor_levels, storage.deepest)
        spec = jax.eval_shape(copy, jnp.int32(0))
        counts = jax.tree.map(functools.partial(select_entry, j=j), self.requests.counts)
        pairs, level = feature_map.pairs(counts), feature_map.level(counts)
        fits, n_twos = pairs <= storage.most_pairs, (rows + 1) // 2

        def draw_two(i, _):
            two = copy(2 * i), copy(2 * i + 1)
            inner = jnp.sum(two[0] * two[1])
            product = jnp.stack([jnp.log(jnp.abs(inner)), (inner < 0.0).astype(spec.dtype)])
            is_pair = i < pairs
            return (
                Increment(jnp.where(is_pair, product, jnp.zeros_like(product))),
                Increment(jnp.stack(two), jnp.where(is_pair, n_twos, i - pairs)),
            )

        number = jnp.where(fits, pairs + jnp.where(level <= rows, (level + 1) // 2, 0), 0)
        start = jnp.zeros(2, spec.dtype), jnp.zeros((n_twos, 2, *spec.shape), spec.dtype)
        (log_size, negative), twos = ragged_add(draw_two, number, start, calls_per_run.copies(storage.most_pairs > 0))
        sign = jnp.where(negative.astype(jnp.int32) % 2 == 0, 1.0, -1.0).astype(spec.dtype)
        # the scale does not depend on the factors
        factors = jnp.zeros((storage.deepest, *spec.shape), spec.dtype)
        psi = feature_map.combine(counts, PairProduct(sign, log_size), factors)
        log_beta = feature_map.log_beta(psi.level, spec.dtype)
        rest = jnp.where(psi.log_weight == -jnp.inf, psi.log_weight, psi.log_weight - 0.5 * log_beta)
        scale = jnp.where(fits, psi.sign * jnp.exp(rest), jnp.zeros_like(rest))
        return Feature(psi.level, log_beta, scale, _rows(twos, rows, level))

    def deep(self, j: Int[Array, ""], psis: Feature) -> Feature:
        """Return the j-th estimate and its list of factors, if it has many factors; `psis` come from `shallow`."""
        level, log_beta, scale = (
            select_entry(values, j) for values in (self.requests.levels, psis.log_beta, psis.scale)
        )
        pairs, copy, deepest = select_entry(self.requests.pairs, j), self._copies(j), self.storage.deepest

        def draw_two(i):
            return jnp.stack([copy(2 * (pairs + i)), copy(2 * (pairs + i) + 1)])

        number = jnp.where(pairs <= self.storage.most_pairs, (jnp.minimum(level, deepest) + 1) // 2, 0)
        factors = _rows(ragged_map(draw_two, number, (deepest + 1) // 2, calls_per_run.DEEP_FACTORS), deepest, level)
        return Feature(level, log_beta, scale, factors)

    def _copies(self, j: Int[Array, ""]) -> Callable[[Int[Array, ""]], Float[Array, "d"]]:
        """Return the copies of the j-th estimate."""
        first = jnp.sum(jnp.where(self.requests.indices < j, self.requests.copies, 0), dtype=jnp.int32)
        return lambda i: self.draw(first + i)


def _rows(twos: Float[Array, "twos 2 d"], number: int, level: Int[Array, ""]) -> Float[Array, "number d"]:
    """Return the first `level` of `number` copies that were drawn two at a time, then zeros."""
    rows = twos.reshape(2 * twos.shape[0], *twos.shape[2:])[:number]
    is_used = jnp.arange(number, dtype=jnp.int32)[:, None] < level
    return jnp.where(is_used, rows, jnp.zeros_like(rows))
