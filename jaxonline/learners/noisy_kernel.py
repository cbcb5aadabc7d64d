"""Kernel-based online learning of noisy data: Algorithm 1, for every loss and every kernel with a feature map.

Each round the learner asks for a random number of noisy copies of the hidden instance, makes an unbiased estimate
Psi~_t of its feature vector and an unbiased estimate g~_t of the length of the gradient, and moves w by -step g~_t Psi~_t.
Nothing is known of the noise but a bound on its variance.

Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Online learning of noisy data with kernels" (COLT 2010), Algorithm 1 and
Subroutines 1 to 7, with errata E6, E8 (sqrt(B_w)/n~ is printed for sqrt(B_w/n~)) and E9.
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Key

from jaxonline import _check
from jaxonline._ragged import ragged_map
from jaxonline._struct import set_field, static, struct
from jaxonline.estimators.feature_maps import FeatureMap
from jaxonline.estimators.gradient_length import GradientLength
from jaxonline.learners import _expansion
from jaxonline.learners._expansion import Estimate, Expansion
from jaxonline.learners.step_sizes import as_step_size


OWN, FRESH, DEEP = 0.3, 0.3, 1/16

class NoisyKernelState(NamedTuple):
    w: Expansion
    t: Int[Array, ""]


class NoisyKernelInfo(NamedTuple):
    gradient_length: Float[Array, ""]
    squared_norm: Float[Array, ""]
    overflow: Bool[Array, ""]


@struct
class NoisyKernel:
    feature_map: FeatureMap
    gradient_length: GradientLength
    step_size: Any
    radius: Float[ArrayLike, ""] | None
    most_pairs: int = static()
    deepest: int = static()
    most_fresh: int = static()
    tensor_levels: int = static()
    n_chunks: int = static()

    def __post_init__(self):
        set_field(self, "step_size", as_step_size(self.step_size))

    def init(self, key: Key[Array, ""], instance: jax.ShapeDtypeStruct) -> NoisyKernelState:
        """w = 0."""
        w = _expansion.empty(instance.shape[0], self.tensor_levels, self.n_chunks, self.deepest, instance.dtype)
        return NoisyKernelState(w, jnp.int32(0))

    def predict(self, key: Key[Array, ""], state: NoisyKernelState, x: Float[Array, "d"]) -> Float[Array, ""]:
        """<w, Psi(x)> = sum_i alpha_i Prod(Psi~_i, x)."""
        return _expansion.polynomial(state.w, x) * jnp.exp(self.feature_map.log_clean(x))

    def update(self, key: Key[Array, ""], state: NoisyKernelState, oracle: Any):
        w, t = state.w, state.t + 1
        n_key, counts_key = jax.random.split(key)
        n = self.gradient_length.series.law.sample(n_key)

        # estimate 0 is Psi~_t, the others are those of Grad_Length_Estimate; their numbers of copies come first
        def sample(j):
            return self.feature_map.sample_counts(jax.random.fold_in(counts_key, j))

        most = 1 + self.most_fresh
        counts = ragged_map(sample, 1 + n, most, 2.0)
        numbers = self.feature_map.queries(counts) * (jnp.arange(most, dtype=jnp.int32) <= n)
        draw = oracle.reserve(jnp.sum(numbers, dtype=jnp.int32))
        pairs, levels = self.feature_map.pairs(counts), self.feature_map.level(counts)

        def estimate(j):
            first = jnp.sum(jnp.where(jnp.arange(most, dtype=jnp.int32) < j, numbers, 0), dtype=jnp.int32)

            def pair(i):
                return jnp.sum(jnp.prod(jax.vmap(draw)(first + 2 * i + jnp.arange(2, dtype=jnp.int32)), axis=0))

            inner_products = ragged_map(pair, pairs[j], self.most_pairs, 1.0) if self.most_pairs else jnp.zeros(0)
            factors = ragged_map(lambda i: draw(first + 2 * pairs[j] + i), levels[j], self.deepest, 1.0)
            psi = self.feature_map.combine(jax.tree.map(lambda count: count[j], counts), inner_products, factors)
            log_beta = self.feature_map.log_beta(psi.level, factors.dtype)
            rest = jnp.where(psi.log_weight == -jnp.inf, psi.log_weight, psi.log_weight - 0.5 * log_beta)
            return Estimate(psi.level, log_beta, psi.sign * jnp.exp(rest), psi.copies)

        # where gamma_n = 0 the round changes nothing: copies are asked for, as in the paper, and not looked at
        coefficients = jnp.asarray(self.gradient_length.series.coefficients)
        table = len(coefficients)
        matters = (n < table) & (coefficients[jnp.minimum(n, table - 1)] != 0.0)
        own = jnp.where(matters, 1, 0)
        fresh = jnp.where(matters, n, 0)

        psi = jax.tree.map(lambda leaf: leaf[0], ragged_map(lambda _: estimate(jnp.int32(0)), own, 1, OWN))
        shallow = ragged_map(lambda j: _expansion.shallow(w.tensors, estimate(j + 1)), fresh, table, FRESH)
        values = jnp.concatenate([_expansion.shallow(w.tensors, psi)[None], shallow])
        is_deep = levels[: 1 + table] > self.tensor_levels
        is_deep &= jnp.arange(is_deep.shape[0], dtype=jnp.int32) < own + fresh
        rank = jnp.cumsum(is_deep, dtype=jnp.int32)

        def ith_deep(i):
            return _expansion.deep(w, estimate(jnp.sum(rank <= i, dtype=jnp.int32)))

        deep = ragged_map(ith_deep, rank[-1], is_deep.shape[0], DEEP)
        values = values[: is_deep.shape[0]] + jnp.where(is_deep, deep[jnp.maximum(rank - 1, 0)], jnp.zeros_like(deep))

        product, values = values[0], values[1:]
        y = oracle.label()
        g = self.gradient_length.combine(values, n, y)
        alpha = -g * self.step_size(t, g.dtype)
        w = _expansion.add(w, alpha, psi, product)
        norm = jnp.sqrt(jnp.maximum(w.squared_norm, jnp.finfo(g.dtype).tiny))
        if self.radius is not None:
            w = _expansion.shrink(w, jnp.minimum(1.0, jnp.asarray(self.radius, g.dtype) / norm))
        return NoisyKernelState(w, t), NoisyKernelInfo(g, w.squared_norm, w.overflow)
