"""Hypotheses in an RKHS, w = sum_i alpha_i k(x_i, .), stored in chunks; a round reads only the used chunks.

The norm |w|^2 costs one row of kernel values a round: |w + a k(x, .)|^2 = |w|^2 + 2 a w(x) + a^2 k(x, x).
"""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float, Int

from jaxonline.learners.checks import zeros_like_vector
from jaxonline.numerics.ragged import batch_max

MIN_CHUNK_POINTS = 128
MAX_CHUNKS = 8


class Supports(NamedTuple):
    """State of a kernel learner: the hypothesis w = sum_i alpha_i k(x_i, .).

    `points` are the x_i in chunks of C columns, `alpha` are the coefficients of the points, `squared_norm` is |w|^2 in
    the RKHS, and `t` is the number of points. Unused entries are 0.
    """

    points: Float[Array, "chunks d C"]
    alpha: Float[Array, "chunks C"]
    squared_norm: Float[Array, ""]
    t: Int[Array, ""]

    def evaluate(self, kernel: Any, x: Float[Array, "d"]) -> Float[Array, ""]:
        """Return w(x) = sum_i alpha_i k(x_i, x). The kernel is a pytree and a function of two vectors."""
        size = self.alpha.shape[-1]
        n_chunks = batch_max((self.t + (size - 1)) // size)

        def add_chunk(i: Int[Array, ""], total: Float[Array, ""]) -> Float[Array, ""]:
            points, alpha = (jax.lax.dynamic_index_in_dim(a, i, keepdims=False) for a in (self.points, self.alpha))
            return total + jnp.sum(jax.vmap(kernel, in_axes=(1, None))(points, x) * alpha)

        return jax.lax.fori_loop(jnp.int32(0), n_chunks, add_chunk, jnp.zeros((), self.alpha.dtype))

    def add_point(
        self,
        x: Float[Array, "d"],
        alpha: Float[Array, ""],
        w_at_x: Float[Array, ""],
        square: Float[Array, ""],
        radius: Float[ArrayLike, ""] | None,
        capacity: Int[ArrayLike, ""],
    ) -> tuple["Supports", Bool[Array, ""]]:
        """Return w + alpha k(x, .), scaled back to the ball from outside, and whether there was no room for x.

        `w_at_x` is w(x) before the update, `square` is k(x, x); `radius` None means no projection. With `capacity`
        points or more, w does not change.
        """
        full = self.t >= capacity
        alpha = jnp.where(full, jnp.zeros_like(alpha), alpha)
        squared_norm = self.squared_norm + 2 * alpha * w_at_x + alpha**2 * square
        n_chunks, _, size = self.points.shape
        # a point in the chunk after the last one is dropped
        chunk, column = jnp.where(full, n_chunks, self.t // size), self.t % size
        points = self.points.at[chunk, :, column].set(x, mode="drop")
        coefficients = self.alpha.at[chunk, column].set(alpha, mode="drop")
        if radius is not None:
            limit = jnp.asarray(radius, x.dtype) ** 2
            is_outside = squared_norm > limit
            coefficients = coefficients * jnp.sqrt(limit / jnp.where(is_outside, squared_norm, limit))
            squared_norm = jnp.where(is_outside, limit, squared_norm)
        return Supports(points, coefficients, squared_norm, jnp.where(full, self.t, self.t + 1)), full


class SupportsInfo(NamedTuple):
    """Diagnostics of one update.

    `gradient_length` is the derivative of the loss in the prediction; after an `overflow` (no room) the learner has
    learned nothing.
    """

    gradient_length: Float[Array, ""]
    overflow: Bool[Array, ""]


def empty_supports(learner: Any, capacity: int, instance: jax.ShapeDtypeStruct) -> Supports:
    """Return w = 0, with room for `capacity` points; instances must be vectors."""
    size = MIN_CHUNK_POINTS * -(-capacity // (MIN_CHUNK_POINTS * MAX_CHUNKS))
    n_chunks = -(-capacity // size)
    points = jnp.zeros((n_chunks, *zeros_like_vector(learner, instance).shape, size), instance.dtype)
    alpha = jnp.zeros((n_chunks, size), instance.dtype)
    return Supports(points, alpha, jnp.zeros((), instance.dtype), jnp.int32(0))


def capacity_hint(capacity: int) -> str:
    """Return a hint how a learner with room for `capacity` points gets room for more rounds."""
    return f"it stores one point for each round and has room for {capacity:,}: increase n_rounds"
