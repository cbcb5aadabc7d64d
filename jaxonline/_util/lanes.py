"""Random vectors in whole registers.

A CPU computes eight float32 numbers at a time. What is left of a short vector, 4 of 20 numbers or all of 5, it computes
one by one: that takes longer than the rest. A generator that counts gives the same numbers however many are drawn, so
that the vector is drawn up to the next multiple of eight and cut.

Left to itself the compiler would compute again only what is used. It does not look through a condition, and that the
rounds of a game are not negative is nothing that it knows.
"""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from jaxonline._util.threefry import WRITTEN_OUT

LANES = 8


def in_lanes(
    draw: Callable[..., Array], key: Key[Array, ""], t: Int[Array, ""], shape: tuple[int, ...], dtype: Any
) -> Array:
    """`draw(key, shape, dtype)`, the same numbers; faster on a CPU.

    Args:
        draw: of independent numbers, one after the other, as `jax.random.normal`.
        key: of the draw.
        t: the round, not negative.
        shape: of the result.
        dtype: of the result.
    """
    if len(shape) != 1 or shape[0] % LANES == 0 or jax.random.key_impl(key) != WRITTEN_OUT:
        return draw(key, shape, dtype)
    whole = (-(-shape[0] // LANES) * LANES,)

    def on_cpu(key, t):
        return jax.lax.cond(t >= 0, lambda key: draw(key, whole, dtype), lambda key: jnp.zeros(whole, dtype), key)[
            : shape[0]
        ]

    return jax.lax.platform_dependent(key, t, cpu=on_cpu, default=lambda key, t: draw(key, shape, dtype))
