"""A kernel learner for instances seen as noisy copies."""

import functools
import warnings
from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Key

from jaxonline.estimators.feature_maps import GaussianFeatureMap
from jaxonline.estimators.gradient_length import GradientLength, count_used, grad_length, labels_of_one, needs_one_label
from jaxonline.estimators.multilevel import MultilevelEstimator
from jaxonline.estimators.noisy_features import FeatureMap, PairProduct
from jaxonline.estimators.series import SeriesEstimator
from jaxonline.game.roles import Learner, Specs
from jaxonline.learners.gradient.descent import StepSize, zeros_like_vector
from jaxonline.learners.kernels import expansion
from jaxonline.learners.kernels.expansion import Expansion, Feature, ReservedChunks, Storage
from jaxonline.numerics.elementwise import index_after
from jaxonline.numerics.ragged import Increment, ragged_add, ragged_map
from jaxonline.numerics.triangular import select_entry
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import replace, static, struct
from jaxonline.parameters.types import Count, Positive

# ---------------------------------------------------------------------------------------------------------------------
# Numbers of calls, for each run of a block, that the ragged loops of `NoisyKernel` compute at once.
#
# These numbers are at most about the mean number of calls in a round, so that there is little padding. Other numbers
# give the same results, but are slower for p = 2 (`python -m benchmarks noisy_kernel`).


_ESTIMATES_PER_RUN = 0.6  # used estimates of a run
_DEEP_ESTIMATES_PER_RUN = 1 / 24  # estimates of a run whose level has no tensor
_COUNTS_PER_RUN = 1.06  # estimates of a run whose copies are counted: half of the paper's mean and a little more
_DEEP_FACTORS_PER_RUN = 3.0  # pairs of copies of a deep estimate


def _copies_per_run(has_pairs: bool) -> float:
    """Return how many draws of two copies a run computes at once: pairs (if `has_pairs`), and factors of tensors."""
    return 1.6 if has_pairs else 0.6


# ---------------------------------------------------------------------------------------------------------------------
# Grad_Length_Estimate in a round of `NoisyKernel`: the number of used estimates, the labels, and g~.
#
# Estimate 0 of a pair (g~, Psi~) is Psi~; estimates 1, ..., n are the fresh ones of Grad_Length_Estimate. Source: paper
# A (COLT 2010), Subroutine 1, with errata E9 and E22.


def max_estimates(length: GradientLength, storage: Storage) -> int:
    """Return the largest number of used estimates of a pair."""
    return min(1 + storage.most_fresh, len(length.series.coefficients))


def labels_of_pairs(length: GradientLength, oracle: Any, fresh: Int[Array, "r"]) -> Float[Array, "r ..."]:
    """Return labels as `labels_of_one` for each of r pairs, which do not share a label."""
    r, table = len(fresh), len(length.series.coefficients)
    if needs_one_label(length):
        return oracle.labels(r, jnp.int32(r))
    number = jnp.maximum(fresh, 1)
    labels, first = oracle.labels(r * (table - 1), jnp.sum(number)), jnp.cumsum(number) - number
    factor = jnp.arange(table, dtype=jnp.int32)[None]
    return labels[first[:, None] + jnp.where(factor < fresh[:, None], factor, 0)]


# ---------------------------------------------------------------------------------------------------------------------
# Map_Estimate: the unbiased estimates Psi~ of a feature vector that a round of `NoisyKernel` needs.
#
# Each estimate asks for a random number of its own copies; the number is drawn first, and the estimate is computed only
# if the round uses it. Source: Cesa-Bianchi et al. (2010a), Subroutines 2 and 5, with erratum E6.


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
        """Return the places 0, 1, ... of the estimates in the list."""
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
        counts, total, n_too_large = ragged_add(request, number, start, _COUNTS_PER_RUN)

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
        (log_size, negative), twos = ragged_add(draw_two, number, start, _copies_per_run(storage.most_pairs > 0))
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
        factors = _rows(ragged_map(draw_two, number, (deepest + 1) // 2, _DEEP_FACTORS_PER_RUN), deepest, level)
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


# ---------------------------------------------------------------------------------------------------------------------
# Prod: the inner products of a hypothesis w with the estimates of a round, and w + alpha Psi~ for one estimate.
#
# Source: Cesa-Bianchi et al. (2010a), Subroutines 3 and 6. Low levels use the tensors of w, deeper levels use packed
# copies.


class InnerProducts(NamedTuple):
    """Products with the estimates Psi~_0, Psi~_1, ... of a round, and w prepared for the addition of Psi~_0.

    `values` are the products <w, Psi~_j>, 0 for unused estimates. `psi` is Psi~_0, `squared_norm` is |Psi~_0|^2, and
    `reserved` are the chunks of `w` for Psi~_0.
    """

    values: Float[Array, "m"]
    psi: Feature
    w: Expansion
    reserved: ReservedChunks
    squared_norm: Float[Array, ""]

    def add_estimate(self, alpha: Float[Array, ""]) -> Expansion:
        """Return w + alpha Psi~_0."""
        return expansion.add(self.w, alpha, self.psi, self.values[0], self.squared_norm, self.reserved)


def inner_products(w: Expansion, estimates: MapEstimate, number: Int[Array, ""]) -> InnerProducts:
    """Return the products of w with the first `number` estimates Psi~_j of a round."""
    psis, products = _shallow_products(w, estimates, number)
    w, reserved, squared_norm, products = _add_deep_products(w, estimates, number, psis, products)
    return InnerProducts(products, jax.tree.map(lambda leaf: leaf[0], psis), w, reserved, squared_norm)


def _shallow_products(
    w: Expansion, estimates: MapEstimate, number: Int[Array, ""]
) -> tuple[Feature, Float[Array, "m"]]:
    """Return the first `number` estimates, and their products with w; later estimates, and deep products, are 0."""

    def multiply(j):
        psi = estimates.shallow(j)
        return psi, expansion.shallow_product(w.tensors, psi)

    return ragged_map(multiply, number, len(estimates.requests.levels), _ESTIMATES_PER_RUN)


def _add_deep_products(
    w: Expansion, estimates: MapEstimate, number: Int[Array, ""], psis: Feature, products: Float[Array, "m"]
) -> tuple[Expansion, ReservedChunks, Float[Array, ""], Float[Array, "m"]]:
    """Add the products of estimates whose level has no tensor, and the rows of Psi~_0 if it has such a level."""
    requests, storage = estimates.requests, estimates.storage
    is_deep = (requests.levels > storage.tensor_levels) & (requests.indices < number)
    rank = jnp.cumsum(is_deep, dtype=jnp.int32)
    stored = is_deep[0] & (requests.levels[0] <= storage.deepest) & (requests.pairs[0] <= storage.most_pairs)
    reserved = ReservedChunks.for_level(w, jnp.where(stored, requests.levels[0], 0))

    def multiply(i, state):
        j = jnp.sum(rank <= i, dtype=jnp.int32)  # the i-th deep estimate
        psi = estimates.deep(j, psis)
        current = replace(w, rows=state[0], level=reserved.level, place=reserved.place)
        product = expansion.deep_product(current, psi)
        is_own = j == index_after(0, product)  # the rows are read before they change
        rows, norm = reserved.rows(w, psi), expansion.squared_norm(psi)
        own = (jnp.where(is_own, value, jnp.zeros_like(value)) for value in (rows, norm))
        return *map(Increment, own), Increment(product, j)

    start = w.rows, jnp.zeros_like(w.squared_norm), products
    rows, norm, products = ragged_add(multiply, rank[-1], start, _DEEP_ESTIMATES_PER_RUN)
    return replace(w, rows=rows), reserved, norm, products


# ---------------------------------------------------------------------------------------------------------------------
# Kernel learning on noisy data (Cesa-Bianchi et al. 2010a, Algorithm 1), for every loss and every kernel with a feature
# map.
#
# Each round the learner computes, from a random number of noisy copies of the hidden instance, unbiased estimates
# Psi~_t of the feature vector and g~_t of the length of the gradient, and moves w by -step g~_t Psi~_t. The learner
# knows only a bound on the variance of the noise. The paper assumes clean labels. With noisy labels the estimate g~_t
# is unbiased in classification from one label, and in regression if each factor <w, Psi~_j> - y~_j has a label of its
# own (`GradientLength`). Source: "Online learning of noisy data with kernels" (COLT 2010), Algorithm 1, Subroutines 1
# to 7, with errata E6, E8 (the paper prints sqrt(B_w)/n~ for sqrt(B_w/n~)), E9 and E22. A recurrence for the norm of w,
# and the storage of w as tensors and copies (`expansion`), reduce the cost of a run from O(T^3) to O(T^2).
#
# Cesa-Bianchi et al. (2010a) have one pair (g~_t, Psi~_t) in a round. The mean of g~ Psi~ over r independent pairs is
# also unbiased. It asks for r times as many copies, and its second moment is |m|^2 + (S - |m|^2) / r, where m is the
# mean and S the second moment of g~ Psi~.


class NoisyKernelState(NamedTuple):
    """State of `NoisyKernel`: the hypothesis `w` (an `Expansion`) and the number of rounds `t`."""

    w: Expansion
    t: Int[Array, ""]


class NoisyKernelInfo(NamedTuple):
    """Diagnostics of one update: estimated gradient `length`, `squared_norm` |w|^2, and `overflow` (no room left).

    With repetitions, `length` is the mean of the g~ of the round.
    """

    length: Float[Array, ""]
    squared_norm: Float[Array, ""]
    overflow: Bool[Array, ""]


@cites("cesabianchi2010online")
@struct
class NoisyKernel(Learner):
    """Noisy kernel learner: gradient descent in an RKHS from a random number of noisy copies.

    Source: Cesa-Bianchi et al. (2010a), Algorithm 1.

    Labels may be noisy. In regression factor j of g~ uses label j, so a round asks for as many labels as g~ has
    factors. In classification targets are +1 and -1, and a round asks for one label. Labels cost nothing.

    Args:
        feature_map: estimator of the feature map (`DotProductFeatureMap`, `GaussianFeatureMap`).
        gradient_length: estimator of the gradient's length (`GradientLength.for_loss`). A RuntimeWarning reports a
            truncated series that does not reach all values of <w, Psi(x)> that `radius` allows; these values are known
            only for the Gaussian kernel.
        step_size: step size in alpha_t = -g~_t step_t; the theorems use eta / sqrt(T) (`jaxonline.bounds`).
        radius: bound on |w| (the paper's B_w is the square of the radius); None for no projection.
        storage: sizes of the state (`Storage.for_horizon`, with the same number of repetitions).
        repetitions: number r of independent pairs (g~, Psi~) in a round, each from its own copies and labels. The step
            is the mean of their steps: r terms of w, each with the coefficient -g~ step_t / r.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> from jaxonline.estimators.counts import Geometric
        >>> from jaxonline.estimators.feature_maps import GaussianFeatureMap
        >>> from jaxonline.estimators.gradient_length import GradientLength
        >>> from jaxonline.learners import NoisyKernel, Storage
        >>> feature_map = GaussianFeatureMap(jo.kernels.Gaussian(2.0), Geometric(2.0))
        >>> length = GradientLength.for_loss(jo.losses.Squared(), Geometric(2.0), second_moment=4.0)
        >>> storage = Storage.for_horizon(feature_map, length, dimension=2, n_rounds=20)
        >>> learner = NoisyKernel(feature_map, length, step_size=0.05, radius=1.0, storage=storage)
        >>> game = jo.Game(jo.environments.DataStream(np.eye(2), np.ones(2)), jo.NoisyCopies(jo.noise.gaussian(0.1)))
        >>> jo.simulate(game, learner, n_runs=4, n_rounds=20, record_at=1).cumulative_loss.shape
        (1, 4, 1)
    """

    feature_map: FeatureMap
    gradient_length: GradientLength
    step_size: StepSize
    radius: Positive | None
    storage: Storage
    repetitions: Count = static(default=1)

    def __post_init__(self) -> None:
        if self.radius is not None:
            _warn_of_truncation(self.feature_map, self.gradient_length.series, self.radius)

    capacity_hint = (
        "use Storage.for_horizon with the whole horizon or a smaller risk, or ask for fewer copies (a larger p)"
    )

    def overflow_probability(self, n_rounds: int) -> float:
        """Return a bound on the probability that a run of `n_rounds` has no room for a copy."""
        return self.storage.overflow_probability(self.feature_map, self.gradient_length, n_rounds, self.repetitions)

    def init(self, key: Key[Array, ""], specs: Specs) -> NoisyKernelState:
        """Return w = 0; instances must be vectors."""
        x, sizes = zeros_like_vector(self, specs.instance), self.storage
        w = expansion.empty(len(x), sizes.tensor_levels, sizes.n_chunks, sizes.deepest, x.dtype)
        return NoisyKernelState(w, jnp.int32(0))

    def predict(self, key: Key[Array, ""], state: NoisyKernelState, x: Float[Array, "d"]) -> Float[Array, ""]:
        """Predict <w, Psi(x)> = sum_i alpha_i Prod(Psi~_i, x)."""
        return expansion.evaluate(state.w, x) * jnp.exp(self.feature_map.log_clean(x))

    def update(
        self, key: Key[Array, ""], state: NoisyKernelState, oracle: Any
    ) -> tuple[NoisyKernelState, NoisyKernelInfo]:
        """Run Map_Estimate and Grad_Length_Estimate, add alpha_t Psi~_t to w, alpha_t = -g~_t step_t, and project."""
        t = state.t + 1
        add = self._add_pair if self.repetitions == 1 else self._add_mean_of_pairs
        w, g, too_large = add(key, state.w, t, oracle)
        if self.radius is not None:
            w = expansion.project_to_ball(w, self.radius)
        w = replace(w, overflow=w.overflow | too_large)
        return NoisyKernelState(w, t), NoisyKernelInfo(g, w.squared_norm, w.overflow)

    def _add_pair(
        self, key: Key[Array, ""], w: Expansion, t: Int[Array, ""], oracle: Any
    ) -> tuple[Expansion, Float[Array, ""], Bool[Array, ""]]:
        """Return w + alpha_t Psi~_t, g~_t, and whether there was no room for a copy."""
        n, requests = self._draw_counts(key)
        estimates = MapEstimate(self.feature_map, self.storage, requests, oracle.reserve(requests.total))
        own, fresh = count_used(self.gradient_length, n)
        products = inner_products(w, estimates, own + fresh)
        values, length = products.values[1:], self.gradient_length
        g = grad_length(length, values, n, labels_of_one(length, oracle, fresh))
        return products.add_estimate(-g * self.step_size(t, g.dtype)), g, requests.too_large

    def _add_mean_of_pairs(
        self, key: Key[Array, ""], w: Expansion, t: Int[Array, ""], oracle: Any
    ) -> tuple[Expansion, Float[Array, ""], Bool[Array, ""]]:
        """Return w plus the mean of the steps of r pairs, the mean of the g~, and whether there was no room for a copy.

        All g~ are those of the same w; the recurrence for |w|^2 needs the products with the terms added before.
        """
        n, requests = jax.vmap(self._draw_counts)(jax.random.split(key, self.repetitions))
        draw, first = oracle.reserve(jnp.sum(requests.total)), jnp.cumsum(requests.total) - requests.total
        own, fresh = jax.vmap(lambda n: count_used(self.gradient_length, n))(n)
        step = self.step_size(t, w.squared_norm.dtype) / self.repetitions

        def add_pair(new, pair):
            n, requests, first, own, fresh, y = pair
            estimates = MapEstimate(self.feature_map, self.storage, requests, lambda i: draw(first + i))
            values = inner_products(w, estimates, own + fresh).values
            g = grad_length(self.gradient_length, values[1:], n, y)
            return inner_products(new, estimates, own).add_estimate(-g * step), g

        pairs = n, requests, first, own, fresh, labels_of_pairs(self.gradient_length, oracle, fresh)
        w, lengths = jax.lax.scan(add_pair, w, pairs)
        return w, jnp.mean(lengths), jnp.any(requests.too_large)

    def _draw_counts(self, key: Key[Array, ""]) -> tuple[Int[Array, ""], Requests]:
        """Draw the number n of fresh estimates, and the numbers of copies of Psi~_t and of these n estimates."""
        n_key, counts_key = jax.random.split(key)
        n = self.gradient_length.series.law.sample(n_key)
        listed = max_estimates(self.gradient_length, self.storage)
        return n, Requests.sample(counts_key, n, self.feature_map, self.storage, listed)


def _warn_of_truncation(
    feature_map: FeatureMap, series: SeriesEstimator | MultilevelEstimator, radius: ArrayLike
) -> None:
    """Warn if |<w, Psi(x)>|, at most the radius (known for the Gaussian kernel), may exceed the reach of the series."""
    reach, centre, largest = (check.concrete_array(value) for value in (series.reach, series.centre, radius))
    if reach is None or centre is None or largest is None or not isinstance(feature_map, GaussianFeatureMap):
        return
    farthest = np.max(largest + np.abs(centre))
    if farthest > np.min(reach):
        warnings.warn(
            f"gradient_length: its series is truncated for values up to {np.min(reach):.3g}, and this radius allows "
            f"{farthest:.3g}, where g~ is biased; build it with a larger second_moment, reach or n_terms",
            RuntimeWarning,
            stacklevel=4,
        )
