"""Kernel-based online learning of noisy data: Algorithm 1, for every loss and every kernel with a feature map.

Each round the learner asks for a random number of noisy copies of the hidden instance, makes of them an unbiased
estimate Psi~_t of its feature vector and an unbiased estimate g~_t of the length of the gradient, and moves w by
-step g~_t Psi~_t. Nothing is known of the noise but a bound on its variance.

Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Online learning of noisy data with kernels" (COLT 2010), Algorithm 1 and
Subroutines 1 to 7, with errata E6, E8 (sqrt(B_w)/n~ is printed for sqrt(B_w/n~)) and E9. The norm is kept by
recurrence, and w as tensors and copies (`_expansion`), so that a run costs O(T^2) and not O(T^3).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Key

from jaxonline._util import check
from jaxonline._util.ragged import ragged_map
from jaxonline._util.struct import set_field, struct
from jaxonline.estimators.feature_maps import FeatureMap
from jaxonline.estimators.gradient_length import GradientLength
from jaxonline.game.protocols import Specs
from jaxonline.learners import expansion
from jaxonline.learners.expansion import Estimate, Expansion
from jaxonline.learners.step_sizes import as_step_size
from jaxonline.learners.storage import Storage

__all__ = ["NoisyKernel", "NoisyKernelInfo", "NoisyKernelState", "Storage"]

_FEW = 0.3  # estimates a run and round that are computed together: less than the mean, so that little is padded
_DEEP = 1 / 16


class NoisyKernelState(NamedTuple):
    """State of `NoisyKernel`.

    Attributes:
        w: the hypothesis, an `Expansion`.
        t: the number of rounds played.
    """

    w: Expansion
    t: Int[Array, ""]


class NoisyKernelInfo(NamedTuple):
    """Diagnostics of one update.

    Attributes:
        length: g~, the estimate of the gradient's length.
        squared_norm: |w|^2 after the round, by recurrence.
        overflow: whether the run has met an estimate for which there was no room.
    """

    length: Float[Array, ""]
    squared_norm: Float[Array, ""]
    overflow: Bool[Array, ""]


@struct
class NoisyKernel:
    """Algorithm 1: gradient descent in an RKHS from a random number of noisy copies.

    Args:
        feature_map: the estimator of the feature map (`DotProductFeatureMap`, `GaussianFeatureMap`).
        gradient_length: the estimator of the gradient's length (`GradientLength.of` a loss).
        step_size: of alpha_t = -g~_t step_t; the theorems prescribe eta / sqrt(T) (`jaxonline.bounds`).
        radius: |w| <= radius, above 0 (the paper's B_w is its square); None for no projection.
        storage: the sizes of the state (`Storage.of`).

    Raises:
        ValueError: a step size or radius that is not above 0.
        TypeError: `feature_map`, `gradient_length` or `storage` is not what it must be.

    Example:
        >>> import numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.estimators.feature_maps import GaussianFeatureMap
        >>> from jaxonline.estimators.gradient_length import GradientLength
        >>> from jaxonline.estimators.laws import Geometric
        >>> from jaxonline.learners.noisy_kernel import NoisyKernel, Storage
        >>> feature_map = GaussianFeatureMap(jo.kernels.Gaussian(2.0), Geometric(2.0))
        >>> length = GradientLength.of(jo.losses.Squared(), Geometric(2.0), second_moment=4.0)
        >>> storage = Storage.of(feature_map, length, dimension=2, n_rounds=20)
        >>> learner = NoisyKernel(feature_map, length, step_size=0.05, radius=1.0, storage=storage)
        >>> game = jo.Game(jo.environments.DataStream(np.eye(2), np.ones(2)), jo.NoisyCopies(jo.noise.gaussian(0.1)))
        >>> result = jo.simulate(game, learner, n_runs=4, n_rounds=20, record_at=1)
        >>> result.cumulative_loss.shape
        (1, 4, 1)
    """

    feature_map: FeatureMap
    gradient_length: GradientLength
    step_size: Any
    radius: Float[ArrayLike, ""] | None
    storage: Storage

    def __post_init__(self):
        kinds = (("feature_map", FeatureMap), ("gradient_length", GradientLength), ("storage", Storage))
        for name, kind in kinds:
            if not isinstance(getattr(self, name), kind):
                raise TypeError(f"{name} must be a {kind.__name__}, got {getattr(self, name)!r}")
        set_field(self, "step_size", as_step_size(self.step_size))
        if self.radius is not None:
            check.positive("radius", self.radius)

    def overflow_probability(self, n_rounds: int) -> float:
        """A bound on the probability that a run of `n_rounds` finds no room for a copy."""
        return self.storage.overflow_probability(self.feature_map, self.gradient_length, n_rounds)

    def capacity_hint(self) -> str:
        """How to raise the capacity."""
        return "Storage.of(feature_map, length, dimension, n_rounds, risk) with the whole horizon or a smaller risk"

    def init(self, key: Key[Array, ""], specs: Specs) -> NoisyKernelState:
        """w = 0."""
        del key
        instance = specs.instance
        if len(instance.shape) != 1:
            raise ValueError(f"NoisyKernel needs instances of one dimension, got shape {instance.shape}")
        room = self.storage
        w = expansion.empty(instance.shape[0], room.tensor_levels, room.n_chunks, room.deepest, instance.dtype)
        return NoisyKernelState(w, jnp.int32(0))

    def predict(self, key: Key[Array, ""], state: NoisyKernelState, x: Float[Array, "d"]) -> Float[Array, ""]:
        """<w, Psi(x)> = sum_i alpha_i Prod(Psi~_i, x)."""
        del key
        return expansion.polynomial(state.w, x) * jnp.exp(self.feature_map.log_clean(x))

    def update(
        self, key: Key[Array, ""], state: NoisyKernelState, oracle: Any
    ) -> tuple[NoisyKernelState, NoisyKernelInfo]:
        """Map_Estimate, Grad_Length_Estimate, alpha_t = -g~_t step_t, and the projection."""
        w, t, room = state.w, state.t + 1, self.storage
        n_key, counts_key = jax.random.split(key)
        n = self.gradient_length.series.law.sample(n_key)

        # estimate 0 is Psi~_t, estimates 1, ..., n are those of Grad_Length_Estimate; first, how many copies each asks
        def sample(j):
            return self.feature_map.sample_counts(jax.random.fold_in(counts_key, j))

        each = jnp.arange(1 + room.most_fresh, dtype=jnp.int32)
        counts = ragged_map(sample, 1 + n, len(each), 2.0)
        numbers = jnp.where(each <= n, self.feature_map.queries(counts), 0)
        pairs, levels = self.feature_map.pairs(counts), self.feature_map.level(counts)
        draw = oracle.reserve(jnp.sum(numbers, dtype=jnp.int32))

        def estimate(j):
            first = jnp.sum(jnp.where(each < j, numbers, 0), dtype=jnp.int32)

            def pair(i):
                return jnp.sum(jnp.prod(jax.vmap(draw)(first + 2 * i + jnp.arange(2, dtype=jnp.int32)), axis=0))

            factors = ragged_map(lambda i: draw(first + 2 * pairs[j] + i), levels[j], room.deepest)
            inner = ragged_map(pair, pairs[j], room.most_pairs) if room.most_pairs else jnp.zeros(0, factors.dtype)
            psi = self.feature_map.combine(jax.tree.map(lambda count: count[j], counts), inner, factors)
            log_beta = self.feature_map.log_beta(psi.level, factors.dtype)
            rest = jnp.where(psi.log_weight == -jnp.inf, psi.log_weight, psi.log_weight - 0.5 * log_beta)
            return Estimate(psi.level, log_beta, psi.sign * jnp.exp(rest), psi.copies)

        # where the term of the series is 0 the round changes nothing: its copies are asked for and not looked at
        series = self.gradient_length.series
        coefficients = jnp.asarray(series.coefficients)
        table = len(coefficients)
        matters = (n < table) & (coefficients[jnp.minimum(n, table - 1)] != 0.0)
        fresh = jnp.where(matters, n, 0)
        own = jnp.where(matters | (jnp.asarray(series.constant) != 0.0), 1, 0)

        psi = jax.tree.map(lambda leaf: leaf[0], ragged_map(lambda _: estimate(jnp.int32(0)), own, 1, _FEW))
        products = ragged_map(lambda j: expansion.shallow(w.tensors, estimate(j + 1)), fresh, table, _FEW)
        products = jnp.concatenate([expansion.shallow(w.tensors, psi)[None], products])[: len(each)]
        products = products + self._deep_products(w, estimate, levels[: len(products)], own + fresh)

        values = jnp.zeros(table, products.dtype).at[: len(products) - 1].set(products[1 : 1 + table])
        g = self.gradient_length.combine(values, n, oracle.label())
        w = expansion.add(w, -g * self.step_size(t, g.dtype), psi, products[0])
        w = self._projected(w)
        too_many = (levels > room.deepest) | (pairs > room.most_pairs)
        lost = jnp.any(too_many & (each <= n)) | (n > room.most_fresh)
        w = expansion.marked(w, lost)
        return NoisyKernelState(w, t), NoisyKernelInfo(g, w.squared_norm, w.overflow)

    def _deep_products(self, w: Expansion, estimate: Any, levels: Int[Array, "m"], number: Int[Array, ""]) -> Array:
        """<w, Psi~_j> for those of the first `number` estimates whose level has no tensor, 0 for the others."""
        deep = (levels > self.storage.tensor_levels) & (jnp.arange(len(levels), dtype=jnp.int32) < number)
        rank = jnp.cumsum(deep, dtype=jnp.int32)

        def product(i):  # of the i-th deep one
            return expansion.deep(w, estimate(jnp.sum(rank <= i, dtype=jnp.int32)))

        found = ragged_map(product, rank[-1], len(levels), _DEEP)
        return jnp.where(deep, found[jnp.maximum(rank - 1, 0)], jnp.zeros_like(found))

    def _projected(self, w: Expansion) -> Expansion:
        if self.radius is None:
            return w
        norm = jnp.sqrt(jnp.maximum(w.squared_norm, jnp.finfo(w.squared_norm.dtype).tiny))
        return expansion.shrink(w, jnp.minimum(jnp.asarray(self.radius, norm.dtype) / norm, jnp.ones_like(norm)))
