"""Random vectors in whole registers, and numbers that are drawn once.

A CPU computes eight float32 numbers at a time. What is left of a short vector, 4 of 20 numbers or all of 5, it computes
one by one: that takes longer than the rest. A generator that counts gives the same numbers however many are drawn, so
that the vector is drawn up to the next multiple of eight and cut. Several vectors are drawn as one.

Words are drawn first and numbers made of them then, in two loops: a number by itself is one long chain of operations,
each of which waits for the one before, and a processor works at as many of them at a time as it has room for.

Left to itself the compiler would compute again only what is used, and make one loop of the two; and a number that is
drawn by itself, as the noise of a label, it would draw once for each coordinate of what it is added to or multiplied
by. It does not look through a condition, and that the rounds of a game are not negative is nothing that it knows.

From jax 0.11 on the CPU's compiler may never be done with such a number in a loop over coordinates: its vectoriser asks
of each operation about all that use it, again and again, and threefry is a chain of sixty whose results are each used
twice (`onlyFirstLaneUsed`, seen with 0.11.2 and 0.12.0).
"""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, Int, Key

from jaxonline.random.threefry import WRITTEN_OUT, draws_of, made_of

LANES = 8


def in_lanes(
    draw: Callable[..., Array], key: Key[Array, ""], t: Int[Array, ""], shape: tuple[int, ...], dtype: Any
) -> Array:
    """`draw(key, shape, dtype)`, the same numbers; faster on a CPU.

    Args:
        draw: of independent numbers, each made of one random word, as `jax.random.normal`.
        key: of the draw.
        t: the round, not negative.
        shape: of the result.
        dtype: of the result.
    """
    return several_in_lanes(draw, [key], t, shape, dtype)[0]


def several_in_lanes(
    draw: Callable[..., Array], keys: Sequence[Key[Array, ""]], t: Int[Array, ""], shape: tuple[int, ...], dtype: Any
) -> Array:
    """`draw(key, shape, dtype)` for each of the keys, stacked: the same numbers, which fill fewer registers."""

    def one_by_one(t, *keys):
        return jnp.stack([draw(key, shape, dtype) for key in keys])

    if any(jax.random.key_impl(key) != WRITTEN_OUT for key in keys):
        return one_by_one(t, *keys)
    if len(shape) == 0:  # made once for each run, and not for each coordinate of what it is added to
        return behind_a_condition(t, lambda *keys: one_by_one(t, *keys), *keys)
    size, *more = shape
    if more or jnp.dtype(dtype) != jnp.float32:
        return one_by_one(t, *keys)
    whole = (_rounded_up(len(keys) * size),)

    def on_cpu(t, *keys):
        words = behind_a_condition(t, lambda *keys: jax.random.bits(draws_of(keys, size), whole), *keys)
        drawn = behind_a_condition(t, lambda words: draw(made_of(words), whole, dtype), words)
        return drawn[: len(keys) * size].reshape(len(keys), size)

    return jax.lax.platform_dependent(t, *keys, cpu=on_cpu, default=one_by_one)


def _rounded_up(size: int) -> int:
    return -(-size // LANES) * LANES


def behind_a_condition(t: Int[Array, ""], draw: Callable[..., Array], *of: Array) -> Array:
    """`draw(*of)` behind a condition on the round, which is always true: made once, whoever uses it, on a CPU.

    Other devices would have to ask the host for the condition in each round.
    """
    drawn = jax.eval_shape(draw, *of)

    def on_cpu(t, *of):
        return jax.lax.cond(t >= 0, draw, lambda *of: jnp.zeros(drawn.shape, drawn.dtype), *of)

    return jax.lax.platform_dependent(t, *of, cpu=on_cpu, default=lambda t, *of: draw(*of))
