"""Base classes of losses."""

import abc
import itertools
import math
from collections.abc import Hashable, Iterator
from decimal import Decimal
from typing import Annotated, Any, ClassVar, Protocol, runtime_checkable

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike
from scipy import special

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentTypeError
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Component, Convert, PyTree, as_floating, exp

# ---------------------------------------------------------------------------------------------------------------------
# The error function of the smoothed losses: its Taylor series, a bound on the tail, and a Gaussian.


_SQRT_PI = Decimal("1.77245385090551602729816748334114518279754945612238712821381")


def scaled_gaussian(s: jax.Array, a: jax.Array) -> jax.Array:
    """Return e^(-s^2 a^2) / (s sqrt(pi))."""
    return jnp.exp(-((s * a) ** 2)) / (s * math.sqrt(math.pi))


def erf_series(scale: Decimal, u: Decimal) -> Iterator[Decimal]:
    """Yield coefficients 1, 2, ... of erf(u + scale h): (2/sqrt(pi)) scale^n (-1)^(n-1) H_(n-1)(u) e^(-u^2) / n!.

    The derivative g of erf(u + scale h) in h obeys g' = -2 scale (u + scale h) g.
    """
    previous, current = Decimal(0), 2 * scale * (-u * u).exp() / _SQRT_PI
    for n in itertools.count(1):
        yield current / n
        previous, current = current, -2 * scale * (u * current + scale * previous) / n


def erf_tail_bound(n_terms: int, a: float, scale: float, u: float) -> float:
    """Return a bound on the sum over n >= n_terms of |coefficient n of erf(u + scale h)| a^n.

    Cramer's inequality |H_m(u)| <= 1.0865 e^(u^2/2) sqrt(2^m m!) bounds each term. The ratio of successive bounds
    decreases; once this ratio is below 1/2, the rest of the sum is at most the last bound.
    """
    constant = abs(math.erf(u)) if n_terms == 0 else 0.0
    first, reach = max(n_terms, 1), scale * a
    if reach == 0.0:
        return constant
    n = np.arange(first, max(first, math.ceil(8.0 * reach**2)) + 1, dtype=float)
    logs = n * math.log(reach) + 0.5 * (n - 1) * math.log(2.0) + 0.5 * special.gammaln(n) - special.gammaln(n + 1)
    top = float(logs.max())
    total = float(np.exp(logs - top).sum() + np.exp(logs[-1] - top))
    return constant + 2.0 * 1.0865 / math.sqrt(math.pi) * total * exp(top - 0.5 * u * u)


# ---------------------------------------------------------------------------------------------------------------------
# The protocol of losses: a value, and a gradient in the prediction.


@runtime_checkable
class Loss(Protocol):
    """A loss `loss(y_hat, y)` with `loss.gradient(y_hat, y)`, the gradient (or a subgradient) in `y_hat`.

    Any class with the methods `__call__` and `gradient` is a loss; the class need not inherit from `Loss`. `y_hat` is
    the prediction or move of a round, and `y` is the outcome of the round. A loss with a Taylor series is a
    `SeriesLoss`.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline.estimators import FullGradient
        >>> from jaxonline.feedback import FullOracle
        >>> class Cubic:
        ...     def __call__(self, y_hat, y):
        ...         return abs(y_hat - y) ** 3
        ...     def gradient(self, y_hat, y):
        ...         return 3 * abs(y_hat - y) * (y_hat - y)
        >>> FullGradient(Cubic())(jax.random.key(0), jnp.zeros(2), FullOracle(jnp.ones(2), jnp.float32(1.0))).tolist()
        [-3.0, -3.0]
    """

    def __call__(self, y_hat: Any, y: Any, /) -> Array:
        """Return the loss of the prediction `y_hat` for the outcome `y`."""
        ...

    def gradient(self, y_hat: Any, y: Any, /) -> PyTree:
        """Return the gradient of the loss in `y_hat`, or a subgradient."""
        ...


class ScalarLoss(abc.ABC):
    """A loss l(a) of one number a: the residual y_hat - y, or the margin y * y_hat of a label y = +1 or -1.

    A subclass sets `kind`, and implements `value` and `derivative`.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.losses import ScalarLoss
        >>> class SquaredHinge(ScalarLoss):
        ...     kind = "classification"
        ...     def value(self, a):
        ...         return jnp.maximum(1.0 - a, 0.0) ** 2
        ...     def derivative(self, a):
        ...         return -2.0 * jnp.maximum(1.0 - a, 0.0)
        >>> float(SquaredHinge()(0.5, -1.0)), float(SquaredHinge().gradient(0.5, -1.0))
        (2.25, 3.0)
    """

    kind: ClassVar[str]
    """`"regression"` for a loss of the residual, `"classification"` for a loss of the margin."""

    @abc.abstractmethod
    def value(self, a: ArrayLike) -> jax.Array:
        """Return the loss l(a), entry by entry."""

    @abc.abstractmethod
    def derivative(self, a: ArrayLike) -> jax.Array:
        """Return the derivative l'(a), entry by entry."""

    def __call__(self, y_hat: ArrayLike, y: ArrayLike) -> jax.Array:
        """Return the loss of the prediction `y_hat` for the outcome `y`, of the same shape."""
        return self.value(self._residual_or_margin(y_hat, y))

    def gradient(self, y_hat: ArrayLike, y: ArrayLike) -> jax.Array:
        """Return the derivative of the loss in `y_hat`; `y` has the same shape."""
        slope = self.derivative(self._residual_or_margin(y_hat, y))
        return slope if self.kind == "regression" else as_floating(y) * slope

    def _residual_or_margin(self, y_hat: ArrayLike, y: ArrayLike) -> jax.Array:
        y_hat, y = as_floating(y_hat), as_floating(y)
        return y_hat - y if self.kind == "regression" else y * y_hat


@struct
class OpaqueLoss:
    """A loss that is not a pytree, stored as a static field; `as_loss` makes this object."""

    loss: Any = static()

    def __call__(self, y_hat: Any, y: Any) -> Array:
        """Return the loss."""
        return self.loss(y_hat, y)

    def gradient(self, y_hat: Any, y: Any) -> PyTree:
        """Return the gradient."""
        return self.loss.gradient(y_hat, y)


def check_outcomes(name: str, y: Any, loss: Any) -> None:
    """Check that outcomes are -1 or +1 if the loss is a loss of the margin."""
    if is_margin_loss(loss):
        check.margin_labels(name, y)


def is_margin_loss(loss: Any) -> bool:
    """Whether a loss is a loss of the margin y * y_hat."""
    inner = loss.loss if isinstance(loss, OpaqueLoss) else loss
    return isinstance(inner, ScalarLoss) and inner.kind == "classification"


def as_loss(name: str, loss: Any) -> Loss:
    """Check that an argument is a loss, and return the loss as a pytree for jit.

    An object of a plain class becomes a static field (`OpaqueLoss`), so two objects need two compiled programs. To
    sweep over numbers in a loss, declare its class with `jaxonline.struct`.

    Raises:
        TypeError: `loss` lacks `loss(y_hat, y)` or `loss.gradient(y_hat, y)`, is a class, or is neither a pytree nor
            hashable.
    """
    if isinstance(loss, type) or not isinstance(loss, Loss):
        hint = f"; write {loss.__name__}(...)" if isinstance(loss, type) else ""
        raise ArgumentTypeError(
            name,
            f"must be a loss of jaxonline.losses, or have {name}(y_hat, y) and {name}.gradient(y_hat, y) "
            f"(got {check.quote(loss)}){hint}",
        )
    if not any(leaf is loss for leaf in jax.tree.leaves(loss)):
        return loss
    check.instance(name, loss, Hashable, "hashable or declared with jaxonline.struct")
    return OpaqueLoss(loss)


AnyLoss = Annotated[Any, Component("loss"), Convert(lambda loss, name: as_loss(name, loss))]
"""A loss as an argument of a struct, converted by `as_loss`."""
