"""The order in which a compiled program reads and changes arrays; values stay the same."""

from jaxtyping import Array, Float, Int

from jaxonline._xla.barriers import materialise as materialise
from jaxonline._xla.barriers import opaque_zero


def index_after(number: int | Int[Array, ""], value: Float[Array, ""]) -> Int[Array, ""]:
    """An integer, known only when a value is: an array that the value is made of is read before it changes.

    Args:
        number: the integer, on which the change depends.
        value: what is made of the array.

    Returns:
        The integer.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.linalg.ordering import index_after
        >>> index_after(3, jnp.float32(0.5)).item()
        3
    """
    return number + opaque_zero(value)
