"""Barriers and bounds of loops in compiled programs, and products in full precision."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Float, Int, PyTree

# ---------------------------------------------------------------------------------------------------------------------
# Optimisation barriers: the CPU compiler makes a faster program that computes the same bits.
#
# Each function relies on a fact about all numbers that the compiler does not prove. `python -m benchmarks.workarounds`
# measures the gain of each function.


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


# ---------------------------------------------------------------------------------------------------------------------
# Loop bounds that all runs of a batch share.


@custom_vmap
def batch_max(number: Int[Array, ""]) -> Int[Array, ""]:
    """Return the number, or under vmap its maximum over the batch, so that all runs share one loop with one index.

    Without this function, every run has a loop index of its own under vmap, and array accesses become gathers.
    Iterations beyond a run's own number must not change the run.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline._xla.barriers import batch_max
        >>> jax.vmap(lambda n: jax.lax.fori_loop(0, batch_max(n), lambda j, s: s + 1, n))(jnp.array([2, 0])).tolist()
        [4, 2]
    """
    return number


@batch_max.def_vmap
def _largest_of_all(size: int, batched: list[bool], number: Int[Array, "size"]) -> tuple[Int[Array, ""], bool]:
    return batch_max(jnp.max(number)), False


# ---------------------------------------------------------------------------------------------------------------------
# Products of float32 in full precision on every device, without changing the configuration of JAX.


def may_round_products() -> bool:
    """Whether the default devices may multiply float32 with fewer bits."""
    return jax.default_backend() != "cpu"


@contextlib.contextmanager
def exact_products() -> Iterator[None]:
    """Context, or decorator, in which products of float32 are traced with full precision.

    By default JAX multiplies float32 matrices with fewer bits on some devices (10 of 23 on recent GPUs), which would
    change regrets. The user's `jax_default_matmul_precision` takes precedence. A CPU always uses all bits.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline._xla.barriers import exact_products
        >>> with exact_products():
        ...     print(jnp.float32(jnp.ones(2) @ jnp.ones(2)))
        2.0
    """
    is_set = jax.config.jax_default_matmul_precision is not None  # type: ignore[attr-defined]
    if is_set or not may_round_products():
        yield
        return
    with jax.default_matmul_precision("highest"):
        yield


# ---------------------------------------------------------------------------------------------------------------------
# Version of the user's code, which is a part of the keys of jax's caches.
#
# JAX reuses the trace of a function although globals that the function reads have changed. This holds for functions
# inside of others too (`jax.jit`, `jax.checkpoint`, the body of a `scan`). In the context `user_code(version)` JAX uses
# only traces that were made with the same version. `user_code.value` is the version in this thread.


user_code = jax.make_user_context("")
