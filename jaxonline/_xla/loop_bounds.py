"""Loop bounds that all runs of a batch share."""

import jax.numpy as jnp
from jax.custom_batching import custom_vmap
from jaxtyping import Array, Int


@custom_vmap
def batch_max(number: Int[Array, ""]) -> Int[Array, ""]:
    """Return the number, or under vmap its maximum over the batch, so that all runs share one loop with one index.

    Without this function, every run has a loop index of its own under vmap, and array accesses become gathers.
    Iterations beyond a run's own number must not change the run.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> from jaxonline._xla.loop_bounds import batch_max
        >>> jax.vmap(lambda n: jax.lax.fori_loop(0, batch_max(n), lambda j, s: s + 1, n))(jnp.array([2, 0])).tolist()
        [4, 2]
    """
    return number


@batch_max.def_vmap
def _largest_of_all(size: int, batched: list[bool], number: Int[Array, "size"]) -> tuple[Int[Array, ""], bool]:
    del size, batched
    return batch_max(jnp.max(number)), False
