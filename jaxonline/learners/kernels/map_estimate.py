"""Map_Estimate: the unbiased estimates Psi~ of a feature vector that a round of `NoisyKernel` needs.

Each one asks for a random number of noisy copies, and looks at none that another one looks at. How many they ask for
is known before any is drawn; an estimate is made only if something looks at it.

Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Online learning of noisy data with kernels" (COLT 2010), Subroutines 2
and 5, with erratum E6.
"""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, Bool, Float, Int, Key, Num

from jaxonline.estimators.feature_maps import FeatureMap
from jaxonline.estimators.noisy_features import PairProduct
from jaxonline.learners.kernels import list_sizes
from jaxonline.learners.kernels.capacity import Storage
from jaxonline.learners.kernels.expansion import Feature
from jaxonline.linalg.ragged import Increment, ragged_add, ragged_map


class Requests(NamedTuple):
    """What the estimates 0, 1, ..., n of a round ask for. Listed are those that may be looked at, n of them or not.

    Attributes:
        counts: of each estimate, as the feature map draws them.
        copies: how many copies each one asks for in all, 0 beyond the n-th.
        pairs: of copies, of each one.
        levels: of each one: the number of its factors.
        total: copies asked for by all n + 1 of them.
        too_large: whether one of them asks for more than there is room for, or there are too many.
    """

    counts: Any
    copies: Int[Array, "m"]
    pairs: Int[Array, "m"]
    levels: Int[Array, "m"]
    total: Int[Array, ""]
    too_large: Bool[Array, ""]

    @property
    def indices(self) -> Int[Array, "m"]:
        """0, 1, ..., of the estimates that are listed."""
        return jnp.arange(len(self.levels), dtype=jnp.int32)

    @classmethod
    def sample(
        cls, key: Key[Array, ""], n: Int[Array, ""], feature_map: FeatureMap, room: Storage, listed: int
    ) -> "Requests":
        """How many copies each of 1 + n estimates asks for; the first `listed` of them may be looked at."""

        def counts_of(j):
            return feature_map.sample_counts(jax.random.fold_in(key, j))

        def one_more(j, _):
            counts = counts_of(j)
            is_too_large = (feature_map.level(counts) > room.deepest) | (feature_map.pairs(counts) > room.most_pairs)
            of_each = jax.tree.map(lambda count: Increment(count, j), counts)
            return of_each, Increment(feature_map.queries(counts)), Increment(is_too_large.astype(jnp.int32))

        # those that may be looked at have a place, the rest is only counted
        one = jax.eval_shape(counts_of, jnp.int32(0))
        places = jax.tree.map(lambda spec: jnp.zeros((listed, *spec.shape), spec.dtype), one)
        made = 1 + jnp.minimum(n, room.most_fresh)
        counts, total, large = ragged_add(one_more, made, (places, jnp.int32(0), jnp.int32(0)), list_sizes.COUNTS)

        copies = jnp.where(jnp.arange(listed, dtype=jnp.int32) < made, feature_map.queries(counts), 0)
        too_large = (large > 0) | (n > room.most_fresh)
        return cls(counts, copies, feature_map.pairs(counts), feature_map.level(counts), total, too_large)


class MapEstimate(NamedTuple):
    """The estimates of a round, made when they are looked at.

    Attributes:
        feature_map: the estimator of the feature map.
        room: for an estimate.
        requests: what each estimate asks for.
        draw: the copy with an index, of all that the round asks for.
    """

    feature_map: FeatureMap
    room: Storage
    requests: Requests
    draw: Callable[[Int[Array, ""]], Float[Array, "d"]]

    def shallow(self, j: Int[Array, ""]) -> Feature:
        """The j-th estimate, with its factors if tensors look at them; those of a deep one are not drawn.

        Copies are drawn in twos, the two of a pair or two factors; of an odd number of factors, one more is drawn and
        not used.
        """
        feature_map, rows, copy = self.feature_map, min(self.room.tensor_levels, self.room.deepest), self._copies(j)
        spec = jax.eval_shape(copy, jnp.int32(0))
        counts = jax.tree.map(functools.partial(_entry, j), self.requests.counts)
        pairs, level = feature_map.pairs(counts), feature_map.level(counts)
        fits, twos = pairs <= self.room.most_pairs, (rows + 1) // 2

        def two(i, _):
            both = copy(2 * i), copy(2 * i + 1)
            inner = jnp.sum(both[0] * both[1])
            product = jnp.stack([jnp.log(jnp.abs(inner)), (inner < 0.0).astype(spec.dtype)])
            of_pair = i < pairs
            return (
                Increment(jnp.where(of_pair, product, jnp.zeros_like(product))),
                Increment(jnp.stack(both), jnp.where(of_pair, twos, i - pairs)),
            )

        number = jnp.where(fits, pairs + jnp.where(level <= rows, (level + 1) // 2, 0), 0)
        nothing = jnp.zeros(2, spec.dtype), jnp.zeros((twos, 2, *spec.shape), spec.dtype)
        (log_size, negative), drawn = ragged_add(two, number, nothing, list_sizes.copies(self.room.most_pairs > 0))
        sign = jnp.where(negative.astype(jnp.int32) % 2 == 0, 1.0, -1.0).astype(spec.dtype)
        # the number in front does not depend on the factors
        factors = jnp.zeros((self.room.deepest, *spec.shape), spec.dtype)
        psi = feature_map.combine(counts, PairProduct(sign, log_size), factors)
        log_beta = feature_map.log_beta(psi.level, spec.dtype)
        rest = jnp.where(psi.log_weight == -jnp.inf, psi.log_weight, psi.log_weight - 0.5 * log_beta)
        scale = jnp.where(fits, psi.sign * jnp.exp(rest), jnp.zeros_like(rest))
        return Feature(psi.level, log_beta, scale, _rows(drawn, rows, level))

    def deep(self, j: Int[Array, ""], psis: Feature) -> Feature:
        """The same with the factors of a deep one; `psis` are the shallow ones, which have the number in front."""
        level, log_beta, scale = (_entry(j, each) for each in (self.requests.levels, psis.log_beta, psis.scale))
        pairs, copy, deepest = _entry(j, self.requests.pairs), self._copies(j), self.room.deepest

        def two(i):
            return jnp.stack([copy(2 * (pairs + i)), copy(2 * (pairs + i) + 1)])

        number = jnp.where(pairs <= self.room.most_pairs, (jnp.minimum(level, deepest) + 1) // 2, 0)
        factors = _rows(ragged_map(two, number, (deepest + 1) // 2, list_sizes.DEEP_FACTORS), deepest, level)
        return Feature(level, log_beta, scale, factors)

    def _copies(self, j: Int[Array, ""]) -> Callable[[Int[Array, ""]], Float[Array, "d"]]:
        """The copies of the j-th estimate."""
        first = jnp.sum(jnp.where(self.requests.indices < j, self.requests.copies, 0), dtype=jnp.int32)
        return lambda i: self.draw(first + i)


def _entry(j: Int[Array, ""], values: Num[Array, "m"]) -> Num[Array, ""]:
    """values[j], selected: an index is a kernel of its own, and what makes it."""
    here = jnp.arange(len(values), dtype=jnp.int32) == j
    return jnp.sum(jnp.where(here, values, jnp.zeros_like(values)), dtype=values.dtype)


def _rows(twos: Float[Array, "twos 2 d"], number: int, level: Int[Array, ""]) -> Float[Array, "number d"]:
    """The first `level` of so many copies that have been drawn in twos, then zeros."""
    rows = twos.reshape(2 * twos.shape[0], *twos.shape[2:])[:number]
    used = jnp.arange(number, dtype=jnp.int32)[:, None] < level
    return jnp.where(used, rows, jnp.zeros_like(rows))
