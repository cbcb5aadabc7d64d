"""Hypotheses of kernel learners as sums of estimated feature vectors, and the storage that a horizon needs."""

import dataclasses
import functools
from typing import Annotated, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int

from jaxonline.estimators.counts import CountDistribution, Geometric
from jaxonline.estimators.gradient_length import GradientLength
from jaxonline.estimators.noisy_features import FeatureMap, PairedFeatureMap
from jaxonline.numerics.elementwise import run_compiled
from jaxonline.numerics.ragged import batch_max
from jaxonline.numerics.triangular import contract, sum_axis, take_columns
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count, Interval, NonNegativeInt, Rounds

# ---------------------------------------------------------------------------------------------------------------------
# Hypotheses w = sum alpha_i Psi~_i of noisy feature vectors, as tensors and packed copies.
#
# An estimate Psi~ of level n is a number times x~(1) (x) ... (x) x~(n), so the part of w at level n is a tensor with
# d^n entries. Low levels are stored as tensors, and a prediction costs d^n for any number of terms. The rare levels
# above D are stored as copies in chunks of D + 1 rows, feature after feature, so the cost is proportional to the number
# of copies.


_CHUNKS_PER_ITERATION = 16  # S is a multiple of it


class Feature(NamedTuple):
    """A feature vector Psi~ = scale beta_n^(1/2) v(1) (x) ... (x) v(n) of level n.

    `log_beta` is log beta_n; `scale` is 0 for an estimate of 0; the rows of `factors` are v(1), ..., v(n), 0, ..., 0.
    """

    level: Int[Array, ""]
    log_beta: Float[Array, ""]
    scale: Float[Array, ""]
    factors: Float[Array, "deepest d"]


@struct
class Expansion:
    """The hypothesis w.

    Attributes:
        tensors: parts of w at the levels 0, ..., D; the n-th tensor has the shape (d, ..., d), and is the part at level
            n divided by beta_n^(1/2).
        rows: factors of deeper features, times beta_n^(1/n), in S chunks [D + 1, d, S].
        level: level of the feature of a chunk, 0 for an unused chunk [S].
        place: index of the chunk in its feature [S].
        coefficient: coefficient of the feature in its last chunk, 0 in the feature's other chunks [S].
        used: number of used chunks.
        squared_norm: |w|^2, by recurrence.
        overflow: whether a feature is missing because there was no room for it.
        max_chunks: largest number of used chunks; S is this number or a little more.
        deepest: largest level.
    """

    tensors: tuple[Float[Array, "..."], ...]
    rows: Float[Array, "chunk d S"]
    level: Int[Array, "S"]
    place: Int[Array, "S"]
    coefficient: Float[Array, "S"]
    used: Int[Array, ""]
    squared_norm: Float[Array, ""]
    overflow: Bool[Array, ""]
    max_chunks: int = static()
    deepest: int = static()

    @property
    def longest(self) -> int:
        """The largest number of chunks of a feature."""
        return max(1, count_chunks(self.deepest, len(self.tensors) - 1))


def count_chunks(level: int, tensor_levels: int) -> int:
    """Return the number of chunks of a feature at a level."""
    return -(-level // (tensor_levels + 1)) if level > tensor_levels else 0


def empty(dimension: int, tensor_levels: int, n_chunks: int, deepest: int, dtype: jnp.dtype) -> Expansion:
    """Return w = 0, with tensors up to level D = `tensor_levels` and `n_chunks` chunks for deeper features."""
    small = jnp.int8 if deepest < 128 else jnp.int32
    size = -(-n_chunks // _CHUNKS_PER_ITERATION) * _CHUNKS_PER_ITERATION
    return Expansion(
        tuple(jnp.zeros((dimension,) * n, dtype) for n in range(tensor_levels + 1)),
        jnp.zeros((tensor_levels + 1, dimension, size), dtype),
        jnp.zeros(size, small),
        jnp.zeros(size, small),
        jnp.zeros(size, dtype),
        jnp.int32(0),
        jnp.zeros((), dtype),
        jnp.zeros((), bool),
        n_chunks,
        deepest,
    )


def evaluate(w: Expansion, x: Float[Array, "d"]) -> Float[Array, ""]:
    """Return the sum over n of the level n of w at x (x) ... (x) x: <w, Psi(x)> up to the factors e^log_clean(x)."""
    total = w.tensors[-1]
    for tensor in reversed(w.tensors[:-1]):
        total = tensor + contract(total, x, axis=0)
    return total + _sum_deep_features(w, contract(w.rows, x, axis=1))


def shallow_product(tensors: tuple[Float[Array, "..."], ...], psi: Feature) -> Float[Array, ""]:
    """Return <w, Psi~> for an estimate at a level with a tensor, 0 for a deeper estimate."""
    value = jnp.zeros_like(psi.scale)
    for n, tensor in enumerate(tensors):
        for j in range(n):
            tensor = contract(tensor, psi.factors[j], axis=0)
        value = jnp.where(psi.level == n, tensor, value)
    return psi.scale * value


def deep_product(w: Expansion, psi: Feature) -> Float[Array, ""]:
    """Return <w, Psi~> for an estimate at a level without a tensor."""
    places = jnp.minimum(w.place.astype(jnp.int32), w.longest - 1)
    factors = take_columns(_split_into_chunks(len(w.tensors), w.longest, psi.factors), places)
    is_same_level = w.level == psi.level.astype(w.level.dtype)
    values = sum_axis(w.rows * factors, axis=1)
    return psi.scale * _sum_deep_features(w, jnp.where(is_same_level, values, jnp.zeros_like(values)))


def squared_norm(psi: Feature) -> Float[Array, ""]:
    """Return |Psi~|^2."""
    is_used = jnp.arange(psi.factors.shape[0], dtype=jnp.int32) < psi.level
    squares = sum_axis(psi.factors**2, axis=1) * _beta_per_factor(psi)
    return psi.scale**2 * _beta_without_factors(psi) * jnp.prod(jnp.where(is_used, squares, jnp.ones_like(squares)))


def add(
    w: Expansion, alpha: Float[Array, ""], psi: Feature, product: Float[Array, ""], norm: Float[Array, ""],
    reserved: "ReservedChunks",
) -> Expansion:  # fmt: skip
    """Return w + alpha Psi~ with `product` = <w, Psi~>; for a deep Psi~, `w` holds Psi~'s rows, `norm` is |Psi~|^2."""
    beta = _beta_per_factor(psi)
    outer = alpha * psi.scale * _beta_without_factors(psi)
    tensors = []
    for n, tensor in enumerate(w.tensors):
        if n > 0:
            outer = jnp.multiply.outer(outer, psi.factors[n - 1] * beta)
        tensors.append(tensor + jnp.where(psi.level == n, outer, jnp.zeros_like(outer)))
    norm = jnp.where(psi.level > len(w.tensors) - 1, norm, squared_norm(psi))
    is_last = jnp.arange(w.coefficient.shape[0], dtype=jnp.int32) == reserved.last
    return dataclasses.replace(
        w,
        tensors=tuple(tensors),
        level=reserved.level,
        place=reserved.place,
        coefficient=jnp.where(is_last, alpha * psi.scale, w.coefficient),
        used=reserved.used,
        squared_norm=w.squared_norm + 2.0 * alpha * product + alpha**2 * norm,
        overflow=reserved.overflow,
    )


class ReservedChunks(NamedTuple):
    """Chunks for the rows of a deep feature, reserved when only its level is known.

    `own` marks the feature's chunks, and `last` is the chunk with the feature's coefficient. The other fields are
    fields of the `Expansion`.
    """

    level: Int[Array, "S"]
    place: Int[Array, "S"]
    used: Int[Array, ""]
    overflow: Bool[Array, ""]
    own: Bool[Array, "S"]
    last: Int[Array, ""]

    @classmethod
    def for_level(cls, w: Expansion, level: Int[Array, ""]) -> "ReservedChunks":
        """Reserve chunks for a feature at a level; no chunks if the level has a tensor."""
        chunk, size = len(w.tensors), w.level.shape[0]
        n_chunks = jnp.where(level >= chunk, (level + (chunk - 1)) // chunk, 0)
        fits = w.used + n_chunks <= w.max_chunks
        n_chunks = jnp.where(fits, n_chunks, 0)
        used = w.used + n_chunks
        slot = jnp.arange(size, dtype=jnp.int32)
        own = (slot >= w.used) & (slot < used)
        return cls(
            jnp.where(own, level.astype(w.level.dtype), w.level),
            jnp.where(own, (slot - w.used).astype(w.place.dtype), w.place),
            used,
            w.overflow | ~fits,
            own,
            jnp.where(n_chunks > 0, used - 1, -1),
        )

    def rows(self, w: Expansion, psi: Feature) -> Float[Array, "chunk d S"]:
        """Return the rows of the feature in its chunks, and zeros in the other chunks."""
        chunks = _split_into_chunks(len(w.tensors), w.longest, psi.factors * _beta_per_factor(psi))
        rows = take_columns(chunks, self.place.astype(jnp.int32))
        return jnp.where(self.own, rows, jnp.zeros_like(rows))


def shrink(w: Expansion, factor: Float[Array, ""]) -> Expansion:
    """Return factor w."""
    return dataclasses.replace(
        w,
        tensors=tuple(factor * tensor for tensor in w.tensors),
        coefficient=factor * w.coefficient,
        squared_norm=factor**2 * w.squared_norm,
    )


def project_to_ball(w: Expansion, radius: Float[ArrayLike, ""]) -> Expansion:
    """Return w, scaled back to the ball |w| <= radius if w is outside, or NaN if |w|^2 overflows."""
    norm = jnp.sqrt(jnp.maximum(w.squared_norm, jnp.finfo(w.squared_norm.dtype).tiny))
    norm = jnp.where(jnp.isinf(norm), jnp.nan, norm)
    return shrink(w, jnp.minimum(jnp.asarray(radius, norm.dtype) / norm, jnp.ones_like(norm)))


def _beta_per_factor(psi: Feature) -> Float[Array, ""]:
    """Return the factor of beta_n for each of the n factors of Psi~, so that no product leaves the range of float32."""
    return jnp.exp(psi.log_beta / jnp.maximum(psi.level, 1).astype(psi.log_beta.dtype))


def _beta_without_factors(psi: Feature) -> Float[Array, ""]:
    """Return beta_0 at level 0, which has no factors; 1 at other levels."""
    return jnp.where(psi.level == 0, jnp.exp(psi.log_beta), jnp.ones_like(psi.log_beta))


def _split_into_chunks(chunk: int, longest: int, factors: Float[Array, "deepest d"]) -> Float[Array, "chunk d longest"]:
    """Return the rows of a feature as chunks."""
    d = factors.shape[1]
    rows = jnp.pad(factors, ((0, longest * chunk - factors.shape[0]), (0, 0)))
    return rows.reshape(longest, chunk, d).transpose(1, 2, 0)


@jax.jit  # traced once for equal shapes
def _sum_deep_features(w: Expansion, values: Float[Array, "chunk S"]) -> Float[Array, ""]:
    """Return the sum over deep features of the coefficient times the product of the values of the feature's rows."""
    place, level = w.place.astype(jnp.int32), w.level.astype(jnp.int32)
    ones = jnp.ones_like(w.coefficient)
    chunk_products = functools.reduce(
        jnp.multiply, [jnp.where(place * len(values) + row < level, values[row], ones) for row in range(len(values))]
    )

    def add_chunks(k, sums):
        total, product = sums  # the sum over complete features, and the product of the chunks of an incomplete one
        cut = functools.partial(
            jax.lax.dynamic_slice_in_dim, start_index=k * _CHUNKS_PER_ITERATION, slice_size=_CHUNKS_PER_ITERATION
        )
        is_first = cut(w.place) == 0
        for value, starts, coefficient in zip(cut(chunk_products), is_first, cut(w.coefficient), strict=True):
            product = value * jnp.where(starts, jnp.ones_like(product), product)
            total = total + coefficient * product
        return total, product

    n_iterations = batch_max((w.used + _CHUNKS_PER_ITERATION - 1) // _CHUNKS_PER_ITERATION)
    one, none = jnp.ones((), values.dtype), jnp.zeros((), values.dtype)
    return jax.lax.fori_loop(jnp.int32(0), n_iterations, add_chunks, (none, one))[0]


# ---------------------------------------------------------------------------------------------------------------------
# Storage of `NoisyKernel`: sizes for a horizon, and the probability that these sizes do not suffice.


_MAX_LEVELS = 512
_MAX_TENSOR_ENTRIES = 4096


@struct
class Storage:
    """Sizes of the state of `NoisyKernel`; `Storage.for_horizon` chooses the sizes for a horizon and a risk.

    Args:
        tensor_levels: D; the parts of the hypothesis at levels n <= D are stored as tensors with d^n entries.
        deepest: largest accepted level of an estimate.
        most_pairs: largest number of pairs of copies in an estimate; dot-product kernels have none, so 0.
        most_fresh: largest number of fresh estimates of a pair (those for the gradient's length).
        n_chunks: number of chunks, with D + 1 copies each, for the levels above D.

    Example:
        >>> from jaxonline.learners import Storage
        >>> Storage(tensor_levels=2, deepest=20, most_pairs=20, most_fresh=20, n_chunks=50).n_chunks
        50
    """

    tensor_levels: NonNegativeInt = static()
    deepest: Count = static()
    most_pairs: NonNegativeInt = static()
    most_fresh: Count = static()
    n_chunks: Count = static()

    @classmethod
    @validate_arguments
    def for_horizon(
        cls,
        feature_map: FeatureMap,
        length: GradientLength,
        dimension: Count,
        n_rounds: Rounds,
        risk: Annotated[float, Interval(ge=1e-12, lt=1)] = 1e-6,
        repetitions: Count = 1,
    ) -> "Storage":
        """Return sizes with which a run of `n_rounds` overflows with a probability of about `risk` or less.

        Args:
            feature_map: estimator of the feature map.
            length: estimator of the gradient's length.
            dimension: dimension of the instances.
            n_rounds: horizon.
            risk: accepted probability of an overflow. If a distribution exceeds 511 copies, pairs or estimates too
                often, a ValueError states a p or a horizon that suffices.
            repetitions: number of pairs (g~, Psi~) in a round (`NoisyKernel.repetitions`).

        Example:
            >>> import jaxonline as jo
            >>> from jaxonline.estimators.counts import Geometric
            >>> from jaxonline.estimators.feature_maps import GaussianFeatureMap
            >>> from jaxonline.estimators.gradient_length import GradientLength
            >>> feature_map = GaussianFeatureMap(jo.kernels.Gaussian(2.0), Geometric(2.0))
            >>> length = GradientLength.for_loss(jo.losses.Squared(), Geometric(2.0), 1.0)
            >>> storage = jo.learners.Storage.for_horizon(feature_map, length, dimension=5, n_rounds=500)
            >>> storage.tensor_levels, storage.overflow_probability(feature_map, length, 500) < 1e-6
            (3, True)
        """
        n_pairs = n_rounds * repetitions  # of g~ and Psi~
        estimates = n_pairs * (1.0 + length.series.law.mean())
        deepest = _limit("law of feature_map", feature_map.law, risk / 4, estimates, n_rounds)  # type: ignore[attr-defined]
        pairs, most_pairs = _pair_distribution(feature_map), 0
        if pairs is not None:
            most_pairs = _limit("pair_law of feature_map", pairs, risk / 4, estimates, n_rounds)
        most_fresh = _limit("law of length", length.series.law, risk / 4, n_pairs, n_rounds)
        plans = []
        for levels in range(deepest + 1):
            if dimension**levels > _MAX_TENSOR_ENTRIES:
                break
            total = _chunk_distribution(feature_map, length, levels, deepest, n_pairs)
            tails = np.cumsum(total[::-1])[::-1]
            n_chunks = max(1, int(np.sum(tails > risk / 4)))
            tensors = sum(dimension**n for n in range(levels + 1))
            floats = tensors + n_chunks * ((levels + 1) * dimension + 1)
            plans.append((floats, levels, n_chunks))
        _, levels, n_chunks = min(plans)
        return cls(
            tensor_levels=levels, deepest=deepest, most_pairs=most_pairs, most_fresh=most_fresh, n_chunks=n_chunks
        )

    def overflow_probability(
        self, feature_map: FeatureMap, length: GradientLength, n_rounds: int, repetitions: int = 1
    ) -> float:
        """Return a bound on the probability that a run of `n_rounds` overflows."""
        n_pairs = n_rounds * repetitions
        estimates = n_pairs * (1.0 + length.series.law.mean())
        pairs = _pair_distribution(feature_map)
        probability = estimates * _tail(feature_map.law, self.deepest + 1)  # type: ignore[attr-defined]
        if pairs is not None:
            probability += estimates * _tail(pairs, self.most_pairs + 1)
        probability += n_pairs * _tail(length.series.law, self.most_fresh + 1)
        total = _chunk_distribution(feature_map, length, self.tensor_levels, self.deepest, n_pairs)
        return min(1.0, probability + float(total[self.n_chunks + 1 :].sum()))


def _update_probability(length: GradientLength) -> float:
    """Return the probability that a pair changes the hypothesis."""
    if float(np.asarray(length.series.constant)) != 0.0:
        return 1.0
    coefficients = np.asarray(length.series.coefficients)
    return float(np.exp(length.series.law.log_table(len(coefficients)))[coefficients != 0.0].sum())


def _tail(distribution: CountDistribution, n: int) -> float:
    """Return P(N >= n) for a distribution of N, computed as one compiled program."""
    return float(run_compiled(_tail_of, distribution, n))


def _tail_of(distribution: CountDistribution, n: Int[Array, "*shape"]) -> Float[Array, "*shape"]:
    return distribution.tail(n)


def _pair_distribution(feature_map: FeatureMap) -> CountDistribution | None:
    return feature_map.pair_distribution() if isinstance(feature_map, PairedFeatureMap) else None


def _limit(argument: str, distribution: CountDistribution, risk: float, draws: float, n_rounds: int) -> int:
    """Return the smallest n >= 1 with P(N > n) <= risk / draws; raise a ValueError if n is not below 512."""
    probability = risk / draws
    is_likely = np.asarray(run_compiled(_tail_of, distribution, np.arange(1, _MAX_LEVELS + 1)), float) > probability
    if not is_likely[-1]:
        return max(1, int(np.argmin(is_likely)))
    actual = _tail(distribution, _MAX_LEVELS)
    remedies = [f"p at least {probability ** (-1 / _MAX_LEVELS):.3f}"] if isinstance(distribution, Geometric) else []
    max_rounds = int(n_rounds * probability / actual)
    remedies += [f"n_rounds at most {max_rounds:,}"] if max_rounds else []
    raise ValueError(
        f"{argument}: exceeds {_MAX_LEVELS - 1} too often for n_rounds = {n_rounds:,} and this risk (must be at most "
        f"{probability:.2g} (got {actual:.2g}))" + (f"; use {' or '.join(remedies)}" if remedies else "")
    )


def _chunk_distribution(
    feature_map: FeatureMap, length: GradientLength, levels: int, deepest: int, n_pairs: int
) -> np.ndarray:
    """Return the distribution of the number of chunks stored for `n_pairs`; levels beyond `deepest` are not stored."""
    n_levels = max(_MAX_LEVELS, deepest + 1)
    pmf = np.exp(feature_map.law.log_table(n_levels))  # type: ignore[attr-defined]
    one = np.zeros(n_levels + 1)
    np.add.at(one, [count_chunks(n, levels) for n in range(n_levels)], _update_probability(length) * pmf)
    one[0] += 1.0 - one.sum()
    mean = n_pairs * float(one @ np.arange(len(one)))
    spread = np.sqrt(n_pairs * float(one @ np.arange(len(one)) ** 2))
    size = 1 << int(np.ceil(np.log2(max(2 * len(one), mean + 40 * spread + 200))))
    return np.maximum(np.fft.irfft(np.fft.rfft(one, size) ** n_pairs, size), 0.0)
