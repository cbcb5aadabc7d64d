"""Grad_Length_Estimate: the derivative of a loss at a hypothesis that is only known on noisy feature vectors.

The gradient of the loss at w is g Psi(x), with g = y l'(y <w, Psi(x)>) for classification losses and
g = l'(<w, Psi(x)> - y) for regression losses. The estimate g~ is a series estimator (`SeriesEstimator`) whose copies
are y <w, Psi~_j>, or <w, Psi~_j> - y, on fresh and independent estimates Psi~_j of Psi(x). The paper's y is clean. In
regression it may be noisy, with a label of its own for each factor: the factors are then independent with the mean
<w, Psi(x)> - y, whereas with one label for all of them the mean of g~ is that of l'(<w, Psi(x)> - y~), and biased.

Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Online learning of noisy data with kernels" (COLT 2010), Subroutine 1
and Lemma 2, with erratum E9 (the y inside the product is missing in print).
"""

from collections.abc import Callable
from typing import Any, Literal

import jax
import jax.numpy as jnp
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int, Key

from jaxonline.estimators.count_distributions import Geometric
from jaxonline.estimators.noisy_features import NoisyFeature
from jaxonline.estimators.series import SeriesEstimator
from jaxonline.estimators.series_moments import exact_second_moment
from jaxonline.losses.series import AnySeriesLoss
from jaxonline.parameters.citations import cites
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import PositiveFloat
from jaxonline.parameters.validation import validate_arguments


@struct
class LengthEstimate:
    """An estimate g~ of the length of a gradient.

    Attributes:
        value: g~.
        n: how many fresh feature vectors it is made of.
        queries: how many noisy copies they asked for, in all.
        overflow: whether one of them exceeded its capacity (and counted as 0).
    """

    value: Float[Array, ""]
    n: Int[Array, ""]
    queries: Int[Array, ""]
    overflow: Bool[Array, ""]


@cites("cesabianchi2010online")
@struct
class GradientLength:
    """The estimator g~ of the length of the gradient; `GradientLength.for_loss` makes it from a loss and a law.

    Args:
        series: the estimator of l'.
        kind: "classification" (copies y <w, Psi~>, and g~ has an outer y) or "regression" (copies <w, Psi~> - y).

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.estimators import DotProductFeatureMap, GradientLength, Geometric
        >>> from jaxonline.kernels import ExponentialKernel
        >>> from jaxonline.losses import Exponential
        >>> feature_map = DotProductFeatureMap(ExponentialKernel(), Geometric(2.0))
        >>> gradient_length = GradientLength.for_loss(Exponential(), Geometric(2.0), second_moment=1.0)
        >>> x, support = jnp.array([0.4, 0.2]), jnp.array([0.5, 0.5])
        >>> fresh = lambda key: feature_map.estimate(key, lambda k: x + 0.1 * jax.random.normal(k, (2,)), capacity=32)
        >>> hypothesis = lambda psi: 0.3 * feature_map.prod_clean(psi, support)
        >>> g = jax.jit(lambda key: gradient_length.estimate(key, fresh, hypothesis, -1.0))(jax.random.key(0))
        >>> g.value.shape, bool(g.overflow)
        ((), False)
    """

    series: SeriesEstimator
    kind: Literal["classification", "regression"] = static()

    @classmethod
    @validate_arguments
    def for_loss(
        cls,
        loss: AnySeriesLoss,
        law: Geometric | Callable[..., Any],
        second_moment: PositiveFloat,
        **options: Any,
    ) -> "GradientLength":
        """The estimator for a loss.

        Args:
            loss: a `SeriesLoss` (`jaxonline.losses`).
            law: a `Geometric` law (the paper's), `minimum_variance` or `cost_aware`.
            second_moment: E X^2 of one factor, or a bound on it: B_w B_Psi for classification and
                (sqrt(B_w B_Psi) + B_y)^2 for regression, where |w|^2 <= B_w, E |Psi~|^2 <= B_Psi and E y~^2 <= B_y^2
                (`jaxonline.bounds.factor_moment`). One that is too small costs variance, and a bias too where the mean
                of a factor, y <w, Psi(x)> or <w, Psi(x)> - y, is further from the centre than `series.reach`: the table
                of the series ends too early for it. With the option `reach`, a bound on that distance (such as
                sqrt(B_w k(x, x)), and |y| more in regression), it may be a guess.
            options: the options of `SeriesEstimator.for_loss`: `centre`, `constant_outside`, `n_terms`, `reach`.

        Raises:
            TypeError: `loss` has no series.
            ValueError: infinite variance, `n_terms` too small.

        Example:
            >>> from jaxonline.estimators import Geometric, GradientLength
            >>> from jaxonline.losses import Squared
            >>> from jaxonline.losses import Exponential
            >>> GradientLength.for_loss(Squared(), Geometric(2.0), 1.0).kind
            'regression'
            >>> guesses = [GradientLength.for_loss(Exponential(), Geometric(2.0), 0.01, reach=r) for r in (None, 2.0)]
            >>> [(len(each.series.coefficients), round(each.series.reach, 1)) for each in guesses]
            [(13, 1.3), (27, 6.4)]
        """
        return cls(SeriesEstimator.for_loss(loss, law, second_moment, **options), loss.kind)  # type: ignore[arg-type]

    def estimate(
        self,
        key: Key[Array, ""],
        fresh: Callable[[Key[Array, ""]], NoisyFeature],
        hypothesis: Callable[[NoisyFeature], Float[Array, ""]],
        y: ArrayLike | Callable[[Key[Array, ""]], Float[Array, ""]],
    ) -> LengthEstimate:
        """One estimate g~.

        Args:
            key: consumed.
            fresh: `fresh(key)` returns a new, independent Psi~ (Map_Estimate); it is called n times.
            hypothesis: `hypothesis(psi)` returns <w, Psi~>, for instance sum_i alpha_i Prod(Psi~_i, Psi~).
            y: the target, +1 or -1 for classification; or in regression a function: `y(key)` returns a new noisy
                label, and each factor has its own.

        Raises:
            ValueError: a function `y` in classification.
        """
        n_key, key = jax.random.split(key)
        return self.estimate_given(key, self.series.law.sample(n_key), fresh, hypothesis, y)

    def estimate_given(
        self,
        key: Key[Array, ""],
        n: Int[Array, ""],
        fresh: Callable[[Key[Array, ""]], NoisyFeature],
        hypothesis: Callable[[NoisyFeature], Float[Array, ""]],
        y: ArrayLike | Callable[[Key[Array, ""]], Float[Array, ""]],
    ) -> LengthEstimate:
        """The estimate when N = n, for stratified verification; arguments as in `estimate`."""
        n = jnp.asarray(n, jnp.int32)
        most = len(self.series.coefficients)
        dtype = jax.eval_shape(lambda k: hypothesis(fresh(k)), key).dtype

        def one_more(j, state):
            values, queries, overflow = state
            psi = fresh(jax.random.fold_in(key, j))
            return values.at[j].set(hypothesis(psi)), queries + psi.queries, overflow | psi.overflow

        start = (jnp.zeros(most, dtype), jnp.int32(0), jnp.array(False))
        used = jnp.where(n < most, n, 0)
        values, queries, overflow = jax.lax.fori_loop(jnp.int32(0), used, one_more, start)
        if callable(y):
            if self.kind == "classification":
                raise ArgumentError("y", f"must be +1 or -1 for a classification loss (got {y!r})")
            label_keys = jax.vmap(lambda j: jax.random.fold_in(key, j))(jnp.arange(most, 2 * most, dtype=jnp.uint32))
            labels = jax.vmap(y)(label_keys)
        else:
            labels = y
        return LengthEstimate(self.combine(values, n, labels), used, queries, overflow)

    def combine(self, values: Float[Array, "m"], n: Int[Array, ""], y: ArrayLike) -> Float[Array, ""]:
        """g~ when N = n from the values <w, Psi~_j> that are there already, the first n of them.

        In regression `y` may have a noisy label for each value [m]; in classification it is one number.

        Where n > m the term is left out (only the constant of the series is returned): a cap whose
        probability is `series.law.tail(m + 1)` and whose bias is at most `loss.tail_bound(m + 1, |y <w, Psi(x)>|)`.
        """
        y, n = jnp.asarray(y, values.dtype), jnp.asarray(n, jnp.int32)
        n = jnp.where(n <= values.shape[0], n, len(self.series.coefficients))  # beyond the table: no term
        if self.kind == "regression":
            return self.series.estimate_from(values - y, n)
        return y * self.series.estimate_from(y * values, n)

    def second_moment(self, factor_moment: float, mean: float | None = None) -> float:
        """E g~^2 when E X^2 of one factor is `factor_moment`, exactly.

        Labels are +1 and -1 in classification. In regression the noise of the labels is in E (<w, Psi~> - y~)^2 like
        that of the copies, as each factor has its own.

        Args:
            factor_moment: above 0.
            mean: E X of a factor, y <w, Psi> or <w, Psi> - y; needed only where a constant is outside of the series.

        Raises:
            ValueError: infinite, or a constant and no mean.
        """
        return exact_second_moment(self.series, factor_moment, mean)
