"""The protocol of losses: a value, and a gradient in the prediction."""

import abc
from collections.abc import Hashable
from typing import Annotated, Any, ClassVar, Protocol, runtime_checkable

import jax
from jaxtyping import Array, ArrayLike

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentTypeError
from jaxonline.parameters.numbers import as_floating
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Component, Convert, PyTree


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

    convex: ClassVar[bool] = False
    """Whether l is convex and never negative: then limits of predictions and outcomes give limits of the loss."""

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
