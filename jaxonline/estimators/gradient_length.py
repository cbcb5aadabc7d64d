"""Grad_Length_Estimate: unbiased estimate of the derivative of a loss from noisy feature vectors.

The gradient of the loss at w is g Psi(x), with g = y l'(y <w, Psi(x)>) for classification losses and g = l'(<w, Psi(x)>
- y) for regression losses. The estimate g~ is a `SeriesEstimator` whose factors are y <w, Psi~_j> or <w, Psi~_j> - y,
with independent estimates Psi~_j of Psi(x).

Labels may be noisy, with E y~ = y. (The labels of Cesa-Bianchi et al. 2010a are clean; they announce an extension to
noisy labels, see erratum E22.)

* In regression each factor needs a new label. A common label y~ of all factors would bias g~: its mean would be that of
  l'(<w, Psi(x)> - y~).
* In classification, if y is +1 or -1, the clean estimate is an affine function of y, so one noisy label in its place
  is enough: given N = n and a series about 0, its weight is 1 if n is even and 0 if n is odd.
* For other y, each of the n factors needs its own label, and g~ is multiplied by one more label.

Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Online learning of noisy data with kernels" (COLT 2010), Subroutine 1 and
Lemma 2, with erratum E9 (the y inside the product is missing in print).
"""

from collections.abc import Callable
from typing import Any, Literal, Unpack

import jax
import jax.numpy as jnp
from jax.tree_util import Partial
from jax.typing import ArrayLike
from jaxtyping import Array, Bool, Float, Int, Key

from jaxonline.estimators.counts import AnyLaw
from jaxonline.estimators.multilevel import MultilevelEstimator, PowersOfTwo
from jaxonline.estimators.noisy_features import NoisyFeature
from jaxonline.estimators.series import SeriesEstimator, SeriesOptions, exact_second_moment
from jaxonline.losses.base import ScalarLoss
from jaxonline.losses.series import AnySeriesLoss
from jaxonline.numerics.ragged import ragged_map
from jaxonline.parameters import check
from jaxonline.parameters.citations import cites
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import PositiveFloat


@struct
class LengthEstimate:
    """Estimate g~ (`value`) of the length of a gradient, from `n` feature vectors and `queries` noisy copies.

    `overflow` states whether a feature vector exceeded its capacity (and counted as 0).
    """

    value: Float[Array, ""]
    n: Int[Array, ""]
    queries: Int[Array, ""]
    overflow: Bool[Array, ""]


@cites("cesabianchi2010online")
@struct
class GradientLength:
    """Unbiased estimator g~ of the length of the gradient (Grad_Length_Estimate), made by `for_loss`.

    Args:
        series: the series estimator, or the multilevel estimator, of the derivative l'.
        kind: "classification" (factors y <w, Psi~>, and g~ is multiplied by y) or "regression" (factors <w, Psi~> - y).

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> law = jo.estimators.Geometric(2.0)
        >>> feature_map = jo.estimators.DotProductFeatureMap(jo.kernels.ExponentialKernel(), law)
        >>> gradient_length = jo.estimators.GradientLength.for_loss(jo.losses.Exponential(), law, second_moment=1.0)
        >>> fresh = lambda key: feature_map.estimate(key, lambda k: 0.1 * jax.random.normal(k, (2,)), capacity=32)
        >>> hypothesis = lambda psi: 0.3 * feature_map.prod_clean(psi, jnp.ones(2))
        >>> bool(gradient_length.estimate(jax.random.key(0), fresh, hypothesis, -1.0).overflow)
        False
    """

    series: SeriesEstimator | MultilevelEstimator
    kind: Literal["classification", "regression"] = static()

    @classmethod
    @validate_arguments
    def for_loss(
        cls,
        loss: AnySeriesLoss,
        law: AnyLaw,
        second_moment: PositiveFloat,
        **options: Unpack[SeriesOptions],
    ) -> "GradientLength":
        """Make the estimator for a loss; raises a ValueError if the variance is infinite or `n_terms` is too small.

        Args:
            loss: a `SeriesLoss` (`jaxonline.losses`; otherwise a TypeError).
            law: a distribution (`Geometric` in Cesa-Bianchi et al. 2010a), `minimum_variance` or `cost_aware`.
            second_moment: E X^2 of one factor X, or a bound on it (`jaxonline.bounds.factor_moment`). The bound is B_w
                B_Psi for classification and (sqrt(B_w B_Psi) + B_y)^2 for regression, where |w|^2 <= B_w, E |Psi~|^2 <=
                B_Psi and E y~^2 <= B_y^2. If `second_moment` is too small, the variance increases, and g~ is biased if
                the mean of a factor, y <w, Psi(x)> or <w, Psi(x)> - y, is further from the centre than `series.reach`.
                With the option `reach`, a bound on the distance of this mean from the centre (such as sqrt(B_w k(x,
                x)), plus |y| in regression), the second moment may be a guess.
            options: options of `SeriesEstimator.for_loss`: `centre`, `constant_outside`, `n_terms`, `reach`,
                `max_copies`.

        Example:
            >>> from jaxonline.estimators import Geometric, GradientLength
            >>> from jaxonline.losses import Exponential
            >>> lengths = [GradientLength.for_loss(Exponential(), Geometric(2.0), 0.01, reach=r) for r in (None, 2.0)]
            >>> [(len(length.series.coefficients), round(length.series.reach, 1)) for length in lengths]
            [(13, 1.3), (27, 6.4)]
        """
        return cls(SeriesEstimator.for_loss(loss, law, second_moment, **options), loss.kind)  # type: ignore[arg-type]

    @classmethod
    @validate_arguments
    def multilevel(cls, loss: ScalarLoss, law: PowersOfTwo | None = None) -> "GradientLength":
        """Make the estimator for a loss with few derivatives, such as Huber's: a `MultilevelEstimator` of l'.

        Args:
            loss: a `ScalarLoss`; it needs no series.
            law: distribution of the number of feature vectors; `PowersOfTwo()` if None. The kernel learner takes at
                most 511, so a `max_level` of 8 or less.

        Example:
            >>> import jaxonline as jo
            >>> law = jo.estimators.PowersOfTwo(rate=1.5, max_level=8)
            >>> length = jo.estimators.GradientLength.multilevel(jo.losses.Huber(0.5), law)
            >>> round(length.series.law.mean(), 2)
            2.11
        """
        slope = Partial(type(loss).derivative, loss)
        return cls(MultilevelEstimator(slope, PowersOfTwo() if law is None else law), loss.kind)  # type: ignore[arg-type]

    def estimate(
        self,
        key: Key[Array, ""],
        fresh: Callable[[Key[Array, ""]], NoisyFeature],
        hypothesis: Callable[[NoisyFeature], Float[Array, ""]],
        y: ArrayLike | Callable[[Key[Array, ""]], Float[Array, ""]],
    ) -> LengthEstimate:
        """Draw one estimate g~.

        Args:
            key: random key, not to be used again.
            fresh: `fresh(key)` returns a new, independent Psi~ (Map_Estimate); it is called n times.
            hypothesis: `hypothesis(psi)` returns <w, Psi~>, for instance sum_i alpha_i Prod(Psi~_i, Psi~).
            y: target, +1 or -1 for classification, or an unbiased noisy label of such a target. It may be a function:
                `y(key)` returns a new noisy label. In regression it is called for each factor, in classification once.
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
        """Draw an estimate g~ conditional on N = n, for stratified verification, with the arguments of `estimate`."""
        n = jnp.asarray(n, jnp.int32)
        max_factors = len(self.series.coefficients)
        dtype = jax.eval_shape(lambda k: hypothesis(fresh(k)), key).dtype

        def add_factor(j, state):
            values, queries, overflow = state
            psi = fresh(jax.random.fold_in(key, j))
            return values.at[j].set(hypothesis(psi)), queries + psi.queries, overflow | psi.overflow

        start = (jnp.zeros(max_factors, dtype), jnp.int32(0), jnp.array(False))
        used = jnp.where(n < max_factors, n, 0)
        values, queries, overflow = jax.lax.fori_loop(jnp.int32(0), used, add_factor, start)
        if callable(y):
            label_keys = jax.vmap(lambda j: jax.random.fold_in(key, j))(
                jnp.arange(max_factors, 2 * max_factors, dtype=jnp.uint32)
            )
            labels = y(label_keys[0]) if self.kind == "classification" else jax.vmap(y)(label_keys)
        else:
            labels = y
        return LengthEstimate(self.combine(values, n, labels), used, queries, overflow)

    def combine(self, values: Float[Array, "m"], n: Int[Array, ""], y: ArrayLike) -> Float[Array, ""]:
        """Compute g~ conditional on N = n from the first n of the values <w, Psi~_j>.

        In regression `y` may hold a noisy label for each value [m]. In classification a number `y` is +1, -1 or an
        unbiased noisy label of such a target. An array of [1 + m] independent noisy labels may have any mean y: label 0
        multiplies g~, and the other labels multiply the values.

        If n > m, the computed g~ is the constant of the series. The event n > m has the probability
        `series.law.tail(m + 1)` and causes a bias of at most `loss.tail_bound(m + 1, |y <w, Psi(x)>|)`.
        """
        y, n = jnp.asarray(y, values.dtype), jnp.asarray(n, jnp.int32)
        n = jnp.where(n <= values.shape[0], n, len(self.series.coefficients))  # beyond the table: no term
        if self.kind == "regression":
            return self.series.estimate_from(values - y, n)
        if y.ndim:
            return y[0] * self.series.estimate_from(y[1:] * values, n)
        plus, minus = self.series.estimate_from(values, n), -self.series.estimate_from(-values, n)  # for y = +1, -1
        return 0.5 * ((1 + y) * plus + (1 - y) * minus)

    def second_moment(self, factor_moment: float, mean: float | None = None) -> float:
        """Return the exact E g~^2 for factors X with E X^2 = `factor_moment`; raise a ValueError if E g~^2 is infinite.

        Labels are clean in classification. One noisy label y~ adds Var y~ times the mean of the squared weight of y~;
        if E X^2 bounds the second moments of the factors for y = +1 and for y = -1, E g~^2 is at most E y~^2 times the
        result. In regression E X^2 = E (<w, Psi~> - y~)^2 contains the noise of the labels. `mean` is E X; it is
        required (otherwise a ValueError) only if the series has a constant outside the draw.
        """
        series = check.instance(
            "series", self.series, SeriesEstimator, "a SeriesEstimator; see `multilevel.exact_moments`"
        )
        return exact_second_moment(series, factor_moment, mean)


@struct
class LengthTimesCopy:
    """Unbiased gradient g~ x~ of a linear predictor's loss: an estimate g~ of l' from other copies, times a copy.

    The factors of g~ are <w, x~_1>, ..., <w, x~_N>, each minus a label of its own in regression, and x~ is copy 0:
    N + 1 queries. If the term of N is 0, the estimate is 0 and costs none. With a series this is Cesa-Bianchi et al.
    (2010a), Algorithm 1, for linear predictors; for losses with few derivatives see `GradientLength.multilevel`.

    Args:
        length: estimator of the gradient's length.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> length = jo.estimators.GradientLength.multilevel(jo.losses.Huber(0.5))
        >>> learner = jo.GradientLearner(jo.estimators.LengthTimesCopy(length), step_size=0.1, radius=1.0)
        >>> stream = jo.environments.DataStream(np.eye(2), np.ones(2))
        >>> game = jo.Game(stream, jo.NoisyCopies(jo.noise.gaussian(0.1)), loss=jo.losses.Huber(0.5))
        >>> jo.simulate(game, learner, n_runs=4, n_rounds=20, record_at=1).cumulative_loss.shape
        (1, 4, 1)
    """

    length: GradientLength

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """Return g~ x~."""
        n = self.length.series.law.sample(key)
        own, fresh = count_used(self.length, n)
        draw, most = oracle.reserve(own + fresh), max(1, len(self.length.series.coefficients) - 1)
        products = ragged_map(lambda j: draw(j + 1) @ w, fresh, most)
        return grad_length(self.length, products, n, labels_of_one(self.length, oracle, fresh)) * draw(jnp.int32(0))


def count_used(length: GradientLength, n: Int[Array, ""]) -> tuple[Int[Array, ""], Int[Array, ""]]:
    """Return whether Psi~ is used (1 or 0), and the number of used fresh estimates.

    If the term of the series is 0, the learner asks for copies in the round but does not use them.
    """
    coefficients = jnp.asarray(length.series.coefficients)
    table = len(coefficients)
    is_used = (n < table) & (coefficients[jnp.minimum(n, table - 1)] != 0.0)
    fresh = jnp.where(is_used, n, 0)
    own = jnp.where(is_used | (jnp.asarray(length.series.constant) != 0.0), 1, 0)
    return own, fresh


def labels_of_one(length: GradientLength, oracle: Any, fresh: Int[Array, ""]) -> Float[Array, "..."]:
    """Return the label, or in regression a label for each factor of g~ (`fresh` factors are drawn)."""
    if needs_one_label(length):
        return oracle.label()
    table = len(length.series.coefficients)
    labels = oracle.labels(table - 1, fresh)
    is_drawn = jnp.arange(table, dtype=jnp.int32) < fresh
    return jnp.where(is_drawn, jnp.append(labels, labels[0]), labels[0])


def grad_length(
    length: GradientLength, products: Float[Array, "k"], n: Int[Array, ""], y: Float[Array, "..."]
) -> Float[Array, ""]:
    """Return g~, from the products of w with the fresh estimates, and the labels."""
    table = len(length.series.coefficients)
    padded = jnp.zeros(table, products.dtype).at[: len(products)].set(products[:table])
    return length.combine(padded, n, y)


def needs_one_label(length: GradientLength) -> bool:
    """Return whether one label suffices for g~: in classification, or if there is at most one factor."""
    return length.kind == "classification" or len(length.series.coefficients) <= 2
