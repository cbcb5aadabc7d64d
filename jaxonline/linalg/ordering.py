"""Control of the order in which a compiled program reads and updates arrays, without a change of values."""

from jaxtyping import Array, Float, Int

from jaxonline._xla.barriers import opaque_zero


def index_after(number: int | Int[Array, ""], value: Float[Array, ""]) -> Int[Array, ""]:
    """Return the integer unchanged, but computed only after a value.

    An update that uses the integer as an index then runs after the reads from which the value is computed.

    Args:
        number: the integer.
        value: the value to wait for.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.linalg.ordering import index_after
        >>> index_after(3, jnp.float32(0.5)).item()
        3
    """
    return number + opaque_zero(value)
