"""Estimators of the gradient of the loss of a linear predictor, 2 (<w, x> - y) x for the squared loss (paper B).

An estimator is called as `estimator(key, w, oracle)` and asks the oracle for what it needs. Those that use an
instance as if it were the true one (`PlugInEstimator`) work for every loss, l'(<w, x>) x, and in an RKHS as well
(`jaxonline.learners.KernelGradient`); the unbiased ones are for the squared loss.

One noisy label is enough for the squared loss, whose gradient is linear in the label. A plug-in estimator of another
loss takes the noisy label for the true one as well, and is biased by that too: l'(a - y~) has not the mean l'(a - y).
"""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, NamedTuple, Protocol, runtime_checkable

import jax.numpy as jnp
from jaxtyping import Array, Float, Key

from jaxonline.linalg.triangular import product
from jaxonline.losses import Loss, Squared
from jaxonline.losses.base import AnyLoss
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Component, Count, NonNegative, Takes


@runtime_checkable
class GradientEstimator(Protocol):
    """A function of a key, the hypothesis w [d] and the round's oracle that returns an estimate of the gradient [d]."""

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """The estimate at w."""
        ...


@runtime_checkable
class PlugInEstimator(Protocol):
    """An estimator that takes an instance and a target for the true ones: the gradient of `loss` at that example."""

    @property
    def loss(self) -> Loss:
        """The loss of the prediction."""
        ...

    def example(self, oracle: Any) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        """The instance and the target that are taken for the true ones."""
        ...


class NoisyExample(NamedTuple):
    """The true example of a round, and the noise of what an oracle answers about it.

    Attributes:
        x: the instance [d].
        y: the target.
        covariance: of the noise of a copy of x [d, d].
        label_variance: of the noise of a label.
    """

    x: Float[Array, "d"]
    y: Float[Array, ""]
    covariance: Float[Array, "d d"]
    label_variance: Float[Array, ""]


class GradientMoments(NamedTuple):
    """Exact moments of an estimate g of the gradient at a random w.

    Attributes:
        mean: E g [d].
        with_w: E (w g' + g w') [d, d].
        second: E g g' [d, d].
    """

    mean: Float[Array, "d"]
    with_w: Float[Array, "d d"]
    second: Float[Array, "d d"]


@runtime_checkable
class HasGradientMoments(Protocol):
    """An estimator that is affine in w, and knows its moments: `simulate(control_variates=True)` asks for them."""

    def gradient_moments(
        self, mean: Float[Array, "d"], second: Float[Array, "d d"], example: NoisyExample
    ) -> GradientMoments:
        """Of the estimate at a w with E w = `mean` and E w w' = `second` that is independent of the round's noise."""
        ...


def plug_in_gradient(estimator: PlugInEstimator, w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
    """l'(<w, x>) x at the estimator's example (x, y)."""
    x, y = estimator.example(oracle)
    return estimator.loss.gradient(w @ x, y) * x


def squared_loss_gradient(w: Float[Array, "d"], x: Float[Array, "d"], y: Array, direction: Array) -> Float[Array, "d"]:
    """2 (<w, x> - y) direction: the gradient of the squared loss when `direction` is x."""
    return 2 * (w @ x - y) * direction


AnyEstimator = Annotated[Callable, Takes("(key, w, oracle)"), Component("estimator")]


@struct
class FullGradient:
    """The gradient itself, under full information.

    Args:
        loss: of the prediction: of `jaxonline.losses`, or any class with value and gradient.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.estimators import FullGradient
        >>> from jaxonline.feedback import FullOracle
        >>> FullGradient()(jax.random.key(0), jnp.zeros(2), FullOracle(jnp.ones(2), jnp.float32(1.0))).tolist()
        [-2.0, -2.0]
    """

    loss: AnyLoss = Squared()

    def example(self, oracle: Any) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        """The true one."""
        return oracle.x, oracle.y

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """l'(<w, x>) x."""
        del key
        return plug_in_gradient(self, w, oracle)


@cites("cesabianchi2010learning")
@struct
class TwoCopies:
    """Two independent noisy copies x~, x~' and a noisy label (paper B, Lemma 1): 2 (<w, x~> - y~) x~', unbiased.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.estimators import TwoCopies
        >>> from jaxonline.feedback.noise import gaussian
        >>> from jaxonline.feedback import NoisyCopies
        >>> feedback = NoisyCopies(gaussian(1.0))
        >>> oracle = feedback.open(jax.random.key(0), jnp.int32(1), jnp.ones(2), jnp.float32(1.0), 0.0)
        >>> TwoCopies()(jax.random.key(1), jnp.zeros(2), oracle).shape, oracle.queries().item()
        ((2,), 2)
    """

    loss: ClassVar[Loss] = Squared()

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """2 (<w, x~> - y~) x~'."""
        del key
        if getattr(oracle, "direct_products", False):
            return 2 * (oracle.product(0, w) - oracle.label()) * oracle.copy(1)
        x, other = oracle.copies(0, 2)
        return squared_loss_gradient(w, x, oracle.label(), other)

    def gradient_moments(
        self, mean: Float[Array, "d"], second: Float[Array, "d d"], example: NoisyExample
    ) -> GradientMoments:
        """With the residual r = <w, x~> - y~: E r w = E w w' x - y E w, and E g g' = 4 E r^2 E x~' x~''."""
        x, y, covariance, label_variance = example
        times_x, predicted = product(second, x), mean @ x
        squared = times_x @ x + (second * covariance).sum() - 2 * y * predicted + y**2 + label_variance
        with_residual = 2 * (times_x - y * mean)
        with_w = jnp.outer(with_residual, x) + jnp.outer(x, with_residual)
        return GradientMoments(2 * (predicted - y) * x, with_w, 4 * squared * (jnp.outer(x, x) + covariance))


@cites("cesabianchi2010learning")
@struct
class KnownCovariance:
    """One noisy copy and the covariance of its noise (paper B, Lemma 2): 2 (<w, x~> - y~) x~ - 2 Sigma w, unbiased.

    Erratum E11 (`jaxonline.claims.errata`): - Sigma w is printed, and is biased by Sigma w.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.estimators import KnownCovariance
        >>> from jaxonline.feedback.noise import gaussian
        >>> from jaxonline.feedback import NoisyCopies
        >>> feedback = NoisyCopies(gaussian(1.0), reveal_covariance=True)
        >>> oracle = feedback.open(jax.random.key(0), jnp.int32(1), jnp.ones(2), jnp.float32(1.0), 0.0)
        >>> KnownCovariance()(jax.random.key(1), jnp.zeros(2), oracle).shape, oracle.queries().item()
        ((2,), 1)
    """

    loss: ClassVar[Loss] = Squared()

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """2 (<w, x~> - y~) x~ - 2 Sigma w."""
        del key
        x = oracle.copy(0)
        return squared_loss_gradient(w, x, oracle.label(), x) - 2 * (oracle.covariance @ w)


@struct
class NaiveCopy:
    """One noisy copy used as if it were clean: for the squared loss biased by 2 Sigma w, the mistake of papers A and B.

    Args:
        loss: of the prediction: of `jaxonline.losses`, or any class with value and gradient.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.estimators import NaiveCopy
        >>> from jaxonline.feedback.noise import gaussian
        >>> from jaxonline.feedback import NoisyCopies
        >>> feedback = NoisyCopies(gaussian(0.0))
        >>> oracle = feedback.open(jax.random.key(0), jnp.int32(1), jnp.ones(2), jnp.float32(1.0), 0.0)
        >>> NaiveCopy()(jax.random.key(1), jnp.zeros(2), oracle).tolist()
        [-2.0, -2.0]
    """

    loss: AnyLoss = Squared()

    def example(self, oracle: Any) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        """One noisy copy and a noisy label."""
        return oracle.copy(0), oracle.label()

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """l'(<w, x~>) x~."""
        del key
        return plug_in_gradient(self, w, oracle)


@struct
class MeanOfCopies:
    """The mean of n noisy copies used as if it were clean: for the squared loss biased by 2 Sigma w / n.

    Args:
        n_copies: the number of copies of a round.
        loss: of the prediction: of `jaxonline.losses`, or any class with value and gradient.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.estimators import MeanOfCopies
        >>> from jaxonline.feedback.noise import gaussian
        >>> from jaxonline.feedback import NoisyCopies
        >>> feedback = NoisyCopies(gaussian(0.0))
        >>> oracle = feedback.open(jax.random.key(0), jnp.int32(1), jnp.ones(2), jnp.float32(1.0), 0.0)
        >>> MeanOfCopies(5)(jax.random.key(1), jnp.zeros(2), oracle).tolist(), oracle.queries().item()
        ([-2.0, -2.0], 5)
    """

    n_copies: Count = static()
    loss: AnyLoss = Squared()

    def example(self, oracle: Any) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        """The mean of the copies and a noisy label."""
        return oracle.copies(0, self.n_copies, jnp.int32(self.n_copies)).mean(axis=0), oracle.label()

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """l'(<w, x_mean>) x_mean."""
        del key
        return plug_in_gradient(self, w, oracle)


@struct
class Regularised:
    """The gradient of the loss plus strength |w|^2 / 2: an estimate of the loss's gradient, and strength w.

    Args:
        estimator: of the loss's gradient.
        strength: the factor of |w|^2 / 2.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.estimators import FullGradient, Regularised
        >>> from jaxonline.feedback import FullInformation
        >>> oracle = FullInformation().open(None, jnp.int32(1), jnp.ones(2), jnp.float32(1.0), 0.0)
        >>> w = jnp.array([1.0, 2.0])
        >>> Regularised(FullGradient(), 0.5)(None, w, oracle).tolist()  # 2 (3 - 1) x + w / 2
        [4.5, 5.0]
    """

    estimator: AnyEstimator
    strength: NonNegative

    @property
    def loss(self) -> Any:
        """The loss whose gradient is estimated, None for an estimator without `loss`."""
        return getattr(self.estimator, "loss", None)

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """The estimate at w, and strength w."""
        return self.estimator(key, w, oracle) + jnp.asarray(self.strength, w.dtype) * w
