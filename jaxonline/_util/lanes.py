"""Random vectors in whole registers.

A CPU computes eight float32 numbers at a time. What is left of a short vector, 4 of 20 numbers or all of 5, it computes
one by one: that takes longer than the rest. A generator that counts gives the same numbers however many are drawn, so
that the vector is drawn up to the next multiple of eight and cut. Several vectors are drawn as one.

Left to itself the compiler would compute again only what is used. It does not look through a condition, and that the
rounds of a game are not negative is nothing that it knows.
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from jaxonline._util.threefry import WRITTEN_OUT, draws_of

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
    whole = (_rounded_up(shape[0]),)

    def on_cpu(key, t):
        return behind_a_condition(t, lambda key: draw(key, whole, dtype), key)[: shape[0]]

    return jax.lax.platform_dependent(key, t, cpu=on_cpu, default=lambda key, t: draw(key, shape, dtype))


def several_in_lanes(
    draw: Callable[..., Array], keys: Sequence[Key[Array, ""]], t: Int[Array, ""], shape: tuple[int, ...], dtype: Any
) -> Array:
    """`draw(key, shape, dtype)` for each of the keys, stacked: the same numbers, which fill fewer registers."""
    size, one = shape[0] if len(shape) == 1 else 0, jnp.dtype(dtype) == jnp.float32
    together = _rounded_up(len(keys) * size)
    saved = len(keys) * _rounded_up(size) - together
    if saved <= 0 or not one or any(jax.random.key_impl(key) != WRITTEN_OUT for key in keys):
        return jnp.stack([in_lanes(draw, key, t, shape, dtype) for key in keys])

    def on_cpu(t, *keys):
        drawn = behind_a_condition(t, lambda *keys: draw(draws_of(keys, size), (together,), dtype), *keys)
        return drawn[: len(keys) * size].reshape(len(keys), size)

    def elsewhere(t, *keys):
        return jnp.stack([draw(key, shape, dtype) for key in keys])

    return jax.lax.platform_dependent(t, *keys, cpu=on_cpu, default=elsewhere)


def _rounded_up(size: int) -> int:
    return -(-size // LANES) * LANES


def behind_a_condition(t: Int[Array, ""], draw: Callable[..., Array], *keys: Key[Array, ""]) -> Array:
    """`draw(*keys)` behind a condition on the round, which is always true: made once, whoever uses it."""
    drawn = jax.eval_shape(draw, *keys)
    return jax.lax.cond(t >= 0, draw, lambda *keys: jnp.zeros(drawn.shape, drawn.dtype), *keys)
