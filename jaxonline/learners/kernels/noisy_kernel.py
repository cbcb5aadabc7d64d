"""Kernel learning on noisy data (paper A, Algorithm 1), for every loss and every kernel with a feature map.

Each round the learner computes, from a random number of noisy copies of the hidden instance, unbiased estimates Psi~_t
of the feature vector and g~_t of the length of the gradient, and moves w by -step g~_t Psi~_t. The learner knows only a
bound on the variance of the noise. The paper assumes clean labels. With noisy labels the estimate g~_t is unbiased in
classification from one label, and in regression if each factor <w, Psi~_j> - y~_j has a label of its own
(`GradientLength`). Source: "Online learning of noisy data with kernels" (COLT 2010), Algorithm 1, Subroutines 1 to 7,
with errata E6, E8 (the paper prints sqrt(B_w)/n~ for sqrt(B_w/n~)), E9 and E22. A recurrence for the norm of w, and the
storage of w as tensors and copies (`expansion`), reduce the cost of a run from O(T^3) to O(T^2).

Paper A has one pair (g~_t, Psi~_t) in a round. The mean of g~ Psi~ over r independent pairs is also unbiased. It asks
for r times as many copies, and its second moment is |m|^2 + (S - |m|^2) / r, where m is the mean and S the second
moment of g~ Psi~.
"""

import warnings
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Key

from jaxonline.estimators.feature_maps import FeatureMap, GaussianFeatureMap
from jaxonline.estimators.gradient_length import GradientLength
from jaxonline.estimators.series import SeriesEstimator
from jaxonline.game.roles import Learner, Specs
from jaxonline.learners.checks import zeros_like_vector
from jaxonline.learners.gradient.step_sizes import StepSize
from jaxonline.learners.kernels import expansion
from jaxonline.learners.kernels.capacity import Storage
from jaxonline.learners.kernels.expansion import Expansion
from jaxonline.learners.kernels.grad_length import (
    count_used,
    grad_length,
    labels_of_one,
    labels_of_pairs,
    max_estimates,
)
from jaxonline.learners.kernels.inner_products import inner_products
from jaxonline.learners.kernels.map_estimate import MapEstimate, Requests
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Count, Positive


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
    """Noisy kernel learner (paper A, Algorithm 1): gradient descent in an RKHS from a random number of noisy copies.

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
        >>> from jaxonline.estimators.count_distributions import Geometric
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
        w = expansion.mark_overflow(w, too_large)
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


def _warn_of_truncation(feature_map: FeatureMap, series: SeriesEstimator, radius: ArrayLike) -> None:
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
