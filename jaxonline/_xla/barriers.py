"""Optimisation barriers: the CPU compiler makes a faster program that computes the same bits.

Each function relies on a fact about all numbers that the compiler does not prove. `python -m benchmarks.workarounds`
measures the gain of each function.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, PyTree

from jaxonline._xla.loop_bounds import batch_max


def compute_once(function: Callable[..., Array], *args: Any) -> Array:
    """Return `function(*args)`, computed once for all operations that use the result.

    The CPU compiler fuses an operation into each operation that uses it and repeats it there, even for each coordinate
    of a vector. The compiler does not fuse through a conditional. An optimisation barrier hides that the condition is
    true, and the compiler removes this barrier only after fusion. Other devices would ask the host for the condition,
    so they call the function directly.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline._xla.barriers import compute_once
        >>> compute_once(jnp.sum, jnp.ones(3)).item()
        3.0
    """
    result = jax.eval_shape(function, *args)

    def on_cpu(*args):
        is_true = jax.lax.optimization_barrier(jnp.bool_(True))
        return jax.lax.cond(is_true, function, lambda *_: jnp.zeros(result.shape, result.dtype), *args)

    return jax.lax.platform_dependent(*args, cpu=on_cpu, default=function)


def opaque_one(values: PyTree) -> Int[Array, ""]:
    """The integer 1 as a function of values, so that operations that use it run after those that make the values.

    The CPU compiler copies an array twice in each iteration of a loop that reads and updates it, unless the update
    depends on a result of the read. The compiler does not prove that a number times 0 is never above 1.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline._xla.barriers import opaque_one
        >>> [opaque_one(values).item() for values in (jnp.array([0.5, 2.0]), jnp.inf, jnp.int32(3))]
        [1, 1, 1]
    """
    leaves = [jnp.asarray(leaf) for leaf in jax.tree.leaves(values)]
    floating = [leaf for leaf in leaves if jnp.issubdtype(leaf.dtype, jnp.floating) and leaf.size]
    if not floating:
        return jnp.int32(1)
    return 1 + batch_max(opaque_zero(floating[0].ravel()[0]))


def opaque_zero(number: Float[Array, ""]) -> Int[Array, ""]:
    """The integer 0, computed from a number for the purpose that `opaque_one` describes.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline._xla.barriers import opaque_zero
        >>> [opaque_zero(jnp.float32(number)).item() for number in (0.5, jnp.nan)]
        [0, 0]
    """
    return (jax.lax.stop_gradient(number) * 0 > 1).astype(jnp.int32)
