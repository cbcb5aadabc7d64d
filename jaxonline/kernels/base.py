"""Abstract class of kernels, and the check that an argument is a kernel."""

import abc
from typing import Annotated, Any

import jax
from jaxtyping import Array, ArrayLike, Float

from jaxonline.parameters import check
from jaxonline.parameters.types import Convert, as_floating


class Kernel(abc.ABC):
    """A positive semi-definite function of two vectors. A subclass implements `__call__` for one pair of vectors.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.kernels import Kernel
        >>> class Minimum(Kernel):
        ...     def __call__(self, x, x2):
        ...         return jnp.minimum(x, x2).prod()
        >>> Minimum().gram(jnp.array([[1.0], [2.0]])).tolist()
        [[1.0, 1.0], [1.0, 2.0]]
    """

    @abc.abstractmethod
    def __call__(self, x: Float[ArrayLike, "d"], x2: Float[ArrayLike, "d"]) -> Float[Array, ""]:
        """Return the value of the kernel at one pair of vectors."""

    def gram(self, X: Float[ArrayLike, "n d"], X2: Float[ArrayLike, "m d"] | None = None) -> Float[Array, "n m"]:
        """Return the matrix of the kernel's values at every row of `X` and every row of `X2` (of `X` if None)."""
        X = as_floating(X)
        X2 = X if X2 is None else as_floating(X2)
        return jax.vmap(lambda x: jax.vmap(lambda x2: self(x, x2))(X2))(X)


def require_kernel(name: str, kernel: Any) -> Kernel:
    """Return the argument if it is a kernel; raise a TypeError otherwise."""
    return check.instance(name, kernel, Kernel, "a kernel")


AnyKernel = Annotated[Kernel, Convert(lambda kernel, name: require_kernel(name, kernel))]
"""A kernel as an argument."""
