"""What a loss is: its value, and its gradient in the prediction."""

import abc
from collections.abc import Hashable
from typing import Annotated, Any, ClassVar, Protocol, runtime_checkable

import jax
from jaxtyping import Array, ArrayLike, PyTree

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentTypeError
from jaxonline.parameters.numbers import as_floating
from jaxonline.parameters.struct import static, struct
from jaxonline.parameters.types import Component, Convert


@runtime_checkable
class Loss(Protocol):
    """A loss: `loss(y_hat, y)`, and `loss.gradient(y_hat, y)`, the gradient (or a subgradient) in `y_hat`.

    Nobody inherits from it: any class with the two methods is a loss. The prediction, or move, `y_hat` and the
    outcome `y` are those of one round. What has a Taylor series as well is a `SeriesLoss`.

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
        """The loss of the prediction `y_hat` where the outcome is `y`."""
        ...

    def gradient(self, y_hat: Any, y: Any, /) -> PyTree:
        """The gradient of that loss in `y_hat`, or a subgradient where there are several."""
        ...


class ScalarLoss(abc.ABC):
    """A loss l(a) of one number: the residual a = y_hat - y, or the margin a = y * y_hat of a label y = +1 or -1.

    A subclass names its `kind`, and gives `value` and `derivative`.

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
    """`"regression"` for a loss of the residual, `"classification"` for one of the margin."""

    @abc.abstractmethod
    def value(self, a: ArrayLike) -> jax.Array:
        """The loss l(a), entry by entry."""

    @abc.abstractmethod
    def derivative(self, a: ArrayLike) -> jax.Array:
        """The derivative l'(a), entry by entry."""

    def __call__(self, y_hat: ArrayLike, y: ArrayLike) -> jax.Array:
        """The loss of the prediction `y_hat` where the outcome is `y`; arguments of one shape."""
        return self.value(self._residual_or_margin(y_hat, y))

    def gradient(self, y_hat: ArrayLike, y: ArrayLike) -> jax.Array:
        """The derivative of the loss in `y_hat`; arguments of one shape."""
        slope = self.derivative(self._residual_or_margin(y_hat, y))
        return slope if self.kind == "regression" else as_floating(y) * slope

    def _residual_or_margin(self, y_hat: ArrayLike, y: ArrayLike) -> jax.Array:
        y_hat, y = as_floating(y_hat), as_floating(y)
        return y_hat - y if self.kind == "regression" else y * y_hat


@struct
class OpaqueLoss:
    """A loss that is not a pytree, as a static part of what holds it; `as_loss` makes it."""

    loss: Any = static()

    def __call__(self, y_hat: Any, y: Any) -> Array:
        """Its value."""
        return self.loss(y_hat, y)

    def gradient(self, y_hat: Any, y: Any) -> PyTree:
        """Its gradient."""
        return self.loss.gradient(y_hat, y)


def check_outcomes(name: str, y: Any, loss: Any) -> None:
    """Check that outcomes are classes, -1 and +1, where a loss is one of a margin."""
    if of_margin(loss):
        check.margin_labels(name, y)


def of_margin(loss: Any) -> bool:
    """Whether a loss is one of the margin y * y_hat."""
    inner = loss.loss if isinstance(loss, OpaqueLoss) else loss
    return isinstance(inner, ScalarLoss) and inner.kind == "classification"


def as_loss(name: str, loss: Any) -> Loss:
    """Check that an argument is a loss, and return it as a pytree, which jit can take.

    An object of a plain class becomes a static part (`OpaqueLoss`): two of them are two programs. For a loss with
    numbers to sweep, declare its class with `jaxonline.struct`.

    Raises:
        TypeError: `loss` lacks `loss(y_hat, y)` or `loss.gradient(y_hat, y)`, is a class, or can be neither a pytree
            nor static.
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
"""A loss as an argument of a struct: `as_loss` checks it and makes it a pytree."""
