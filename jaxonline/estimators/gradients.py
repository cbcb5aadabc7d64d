"""Estimators of the gradient of a linear predictor's loss, which is 2 (<w, x> - y) x for the squared loss.

Source: Cesa-Bianchi et al. (2010b).

An estimator is called as `estimator(key, w, oracle)` and queries the oracle. A `PlugInEstimator` treats an estimated
instance as the true one and computes l'(<w, x>) x, for every loss and also in an RKHS
(`jaxonline.learners.KernelGradient`). The unbiased estimators are for the squared loss, whose gradient is linear in the
label, so one noisy label is enough. For other losses, a plug-in estimator is also biased by the noisy label: the mean
of l'(a - y~) is not l'(a - y).
"""

from collections.abc import Callable
from typing import Annotated, Any, ClassVar, Protocol, runtime_checkable

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float, Key

from jaxonline.game.roles import Feedback
from jaxonline.losses import Loss, Squared
from jaxonline.losses.base import AnyLoss
from jaxonline.parameters.citations import cites
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Component, Count, Ge, NonNegative, Takes


@runtime_checkable
class GradientEstimator(Protocol):
    """Protocol: `estimator(key, w, oracle)` returns an estimate [d] of the gradient at w [d]."""

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """Estimate the gradient at w."""
        ...


@runtime_checkable
class PlugInEstimator(Protocol):
    """Protocol: an estimator that treats an estimated instance and target as the true ones."""

    @property
    def loss(self) -> Loss:
        """Loss of the prediction."""
        ...

    def example(self, oracle: Any) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        """Return the instance and the target at which the gradient is computed."""
        ...


def plug_in_gradient(estimator: PlugInEstimator, w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
    """Return l'(<w, x>) x at the example (x, y) of the estimator."""
    x, y = estimator.example(oracle)
    return estimator.loss.gradient(w @ x, y) * x


def squared_loss_gradient(w: Float[Array, "d"], x: Float[Array, "d"], y: Array, direction: Array) -> Float[Array, "d"]:
    """Return 2 (<w, x> - y) direction: the gradient of the squared loss if `direction` is x."""
    return 2 * (w @ x - y) * direction


def check_estimator(estimator: Any, feedback: Feedback) -> None:
    """Run the estimator's method `check_feedback`, if it has one; it raises a ValueError for unsuitable noise."""
    if hasattr(type(estimator), "check_feedback"):
        estimator.check_feedback(feedback)


AnyEstimator = Annotated[Callable[..., Any], Takes("(key, w, oracle)"), Component("estimator")]


@struct
class FullGradient:
    """Exact gradient under full information.

    Args:
        loss: loss of the prediction, from `jaxonline.losses` or any class with value and gradient.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> oracle = jo.feedback.FullOracle(jnp.ones(2), jnp.float32(1.0))
        >>> jo.estimators.FullGradient()(None, jnp.zeros(2), oracle).tolist()
        [-2.0, -2.0]
    """

    loss: AnyLoss = Squared()

    def example(self, oracle: Any) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        """Return the true instance and target."""
        return oracle.x, oracle.y

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """Return l'(<w, x>) x."""
        return plug_in_gradient(self, w, oracle)


@cites("cesabianchi2010learning")
@struct
class TwoCopies:
    """Unbiased gradient of the squared loss from two independent noisy copies: 2 (<w, x~> - y~) x~'.

    Source: Cesa-Bianchi et al. (2010b), Lemma 1.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> feedback = jo.NoisyCopies(jo.noise.gaussian(1.0))
        >>> oracle = feedback.open(jax.random.key(0), jnp.int32(1), jnp.ones(2), jnp.float32(1.0), 0.0)
        >>> jo.estimators.TwoCopies()(jax.random.key(1), jnp.zeros(2), oracle).shape, oracle.queries().item()
        ((2,), 2)
    """

    loss: ClassVar[Loss] = Squared()

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """Return 2 (<w, x~> - y~) x~'."""
        x, other = oracle.copies(0, 2)
        return squared_loss_gradient(w, x, oracle.label(), other)


@cites("cesabianchi2010learning")
@struct
class PairsOfCopies:
    """Unbiased gradient of the squared loss: mean of the two-copy estimates of all ordered pairs of n noisy copies.

    The estimate is the mean of 2 (<w, x~_i> - y~) x~_j over i != j, for one noisy label y~. It costs n queries and has
    a smaller variance than one pair (`TwoCopies`). Cesa-Bianchi et al. (2010b) have one pair; the mean over all pairs
    is a U-statistic.

    Args:
        n_copies: number n of copies in each round, at least 2.

    Raises:
        ValueError: `n_copies` is below 2.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> feedback = jo.NoisyCopies(jo.noise.gaussian(1.0))
        >>> oracle = feedback.open(jax.random.key(0), jnp.int32(1), jnp.ones(2), jnp.float32(1.0), 0.0)
        >>> jo.estimators.PairsOfCopies(4)(jax.random.key(1), jnp.zeros(2), oracle).shape, oracle.queries().item()
        ((2,), 4)
    """

    n_copies: Annotated[int, Ge(2)] = static()
    loss: ClassVar[Loss] = Squared()

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """Sum over j the residual of the mean of the other copies, times x~_j."""
        n, copies = self.n_copies, oracle.copies(0, self.n_copies)
        products = copies @ w
        of_others = (products.sum() - products) / (n - 1)
        return 2 * ((of_others - oracle.label()) @ copies) / n


@cites("cesabianchi2010learning")
@struct
class KnownCovariance:
    """Unbiased gradient of the squared loss from one noisy copy and the covariance of its noise.

    Source: Cesa-Bianchi et al. (2010b), Lemma 2.

    The estimate is 2 (<w, x~> - y~) x~ - 2 Sigma w. (The paper prints - Sigma w, which has the bias Sigma w: erratum
    E11 in `benchmarks.papers.claims.notes`.)

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> feedback = jo.NoisyCopies(jo.noise.gaussian(1.0), reveal_covariance=True)
        >>> oracle = feedback.open(jax.random.key(0), jnp.int32(1), jnp.ones(2), jnp.float32(1.0), 0.0)
        >>> jo.estimators.KnownCovariance()(jax.random.key(1), jnp.zeros(2), oracle).shape, oracle.queries().item()
        ((2,), 1)
    """

    loss: ClassVar[Loss] = Squared()

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """Return 2 (<w, x~> - y~) x~ - 2 Sigma w."""
        x = oracle.copy(0)
        return squared_loss_gradient(w, x, oracle.label(), x) - 2 * (oracle.covariance @ w)


@struct
class NaiveCopy:
    """Biased gradient that treats one noisy copy as the true instance: bias 2 Sigma w for the squared loss.

    Cesa-Bianchi et al. (2010a, b) discuss this mistake.

    Args:
        loss: loss of the prediction, from `jaxonline.losses` or any class with value and gradient.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> feedback = jo.NoisyCopies(jo.noise.gaussian(0.0))
        >>> oracle = feedback.open(jax.random.key(0), jnp.int32(1), jnp.ones(2), jnp.float32(1.0), 0.0)
        >>> jo.estimators.NaiveCopy()(jax.random.key(1), jnp.zeros(2), oracle).tolist()
        [-2.0, -2.0]
    """

    loss: AnyLoss = Squared()

    def example(self, oracle: Any) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        """Return one noisy copy as the instance, and a noisy label as the target."""
        return oracle.copy(0), oracle.label()

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """Return l'(<w, x~>) x~."""
        return plug_in_gradient(self, w, oracle)


@struct
class MeanOfCopies:
    """Biased gradient that treats the mean of n noisy copies as true; bias 2 Sigma w / n for the squared loss.

    Args:
        n_copies: number n of copies in each round.
        loss: loss of the prediction, from `jaxonline.losses` or any class with value and gradient.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> feedback = jo.NoisyCopies(jo.noise.gaussian(0.0))
        >>> oracle = feedback.open(jax.random.key(0), jnp.int32(1), jnp.ones(2), jnp.float32(1.0), 0.0)
        >>> jo.estimators.MeanOfCopies(5)(jax.random.key(1), jnp.zeros(2), oracle).tolist(), oracle.queries().item()
        ([-2.0, -2.0], 5)
    """

    n_copies: Count = static()
    loss: AnyLoss = Squared()

    def example(self, oracle: Any) -> tuple[Float[Array, "d"], Float[Array, ""]]:
        """Return the mean of the copies as the instance, and a noisy label as the target."""
        return oracle.copies(0, self.n_copies, np.int32(self.n_copies)).mean(axis=0), oracle.label()

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """Return l'(<w, x_mean>) x_mean."""
        return plug_in_gradient(self, w, oracle)


@struct
class Regularised:
    """Gradient of the regularised loss (loss + strength |w|^2 / 2): the loss's estimated gradient plus strength * w.

    Args:
        estimator: estimator of the loss's gradient.
        strength: factor of |w|^2 / 2.

    Example:
        >>> import jax.numpy as jnp, jaxonline as jo
        >>> oracle = jo.feedback.FullOracle(jnp.ones(2), jnp.float32(1.0))
        >>> gradient = jo.estimators.Regularised(jo.estimators.FullGradient(), 0.5)
        >>> gradient(None, jnp.array([1.0, 2.0]), oracle).tolist()  # 2 (3 - 1) x + w / 2
        [4.5, 5.0]
    """

    estimator: AnyEstimator
    strength: NonNegative

    @property
    def loss(self) -> Any:
        """Loss whose gradient is estimated; None if the estimator has no attribute `loss`."""
        return getattr(self.estimator, "loss", None)

    def check_feedback(self, feedback: Feedback) -> None:
        """Run the method `check_feedback` of the estimator."""
        check_estimator(self.estimator, feedback)

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """Return the estimate of `estimator` at w, plus strength * w."""
        return self.estimator(key, w, oracle) + jnp.asarray(self.strength, w.dtype) * w
