"""What the CPU compiler is not told, so that it makes a faster program. Values stay what they are, bit for bit.

They rest on something that holds for all numbers and that the compiler does not see.
"""

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from jaxonline._xla.loop_bounds import largest


def one_after(move: PyTree) -> Int[Array, ""]:
    """1, known only when a move is: what it is made of is then read before anything is changed that needs this 1.

    An array that one round reads and changes is copied twice, unless one comes after the other for a reason that the
    compiler can see. No number times 0 is above 1.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline._xla.barriers import one_after
        >>> [one_after(move).item() for move in (jnp.array([0.5, 2.0]), jnp.inf, jnp.int32(3))]
        [1, 1, 1]
    """
    leaves = [jnp.asarray(leaf) for leaf in jax.tree.leaves(move)]
    floating = [leaf for leaf in leaves if jnp.issubdtype(leaf.dtype, jnp.floating) and leaf.size]
    if not floating:
        return jnp.int32(1)
    return 1 + largest(zero_after(floating[0].ravel()[0]))


def zero_after(number: Float[Array, ""]) -> Int[Array, ""]:
    """0, known only when a number is: see `one_after`.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline._xla.barriers import zero_after
        >>> [zero_after(jnp.float32(number)).item() for number in (0.5, jnp.nan)]
        [0, 0]
    """
    return (jax.lax.stop_gradient(number) * 0 > 1).astype(jnp.int32)


def looked_up(x: Float[Array, "d"]) -> Float[Array, "d"]:
    """A row of a table, looked up once: a loop in which it is looked up again and again is not vectorised.

    The compiler does not look through a condition, and that a number is itself, unless it is NaN, is nothing it knows.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline._xla.barriers import looked_up
        >>> looked_up(jnp.array([1.0, jnp.nan])).tolist()
        [1.0, nan]
    """
    if not x.size:
        return x

    def on_cpu(x):
        return jax.lax.cond(x[0] == x[0], lambda x: x, lambda x: jnp.full_like(x, jnp.nan), x)

    return jax.lax.platform_dependent(x, cpu=on_cpu, default=lambda x: x)  # others would ask the host each time
