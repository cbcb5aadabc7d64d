"""What learners in an RKHS share: the hypothesis w = sum_i alpha_i k(x_i, .), stored as points and coefficients.

The store has room for a fixed number of points, in chunks, and a round reads the chunks that are in use. |w|^2 is kept
by recurrence, |w + a k(x, .)|^2 = |w|^2 + 2 a w(x) + a^2 k(x, x), so that it costs one more row of kernels a round,
and not the double sum over all pairs.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Bool, Float, Int, PyTree

from jaxonline.parameters.errors import ArgumentError

LANES = 128  # points in the smallest chunk
MAX_CHUNKS = 8


class Supports(NamedTuple):
    """State of a kernel learner: the hypothesis w = sum_i alpha_i k(x_i, .).

    Attributes:
        points: x_1, x_2, ... in chunks of C columns [chunks, d, C]; zeros where there is none yet.
        alpha: their coefficients [chunks, C]; zeros where there is none yet.
        squared_norm: |w|^2 in the RKHS.
        t: the number of points stored, which is the number of updates made.
    """

    points: Float[Array, "chunks d C"]
    alpha: Float[Array, "chunks C"]
    squared_norm: Float[Array, ""]
    t: Int[Array, ""]

    def at(self, kernel: Any, x: Float[Array, "d"]) -> Float[Array, ""]:
        """w(x) = sum_i alpha_i k(x_i, x). The kernel is a pytree that is a function of one pair of vectors."""
        size = self.alpha.shape[-1]
        return _sum_over_chunks(_chunk_at, (self.t + (size - 1)) // size, (self.points, self.alpha, kernel, x))

    def with_point(
        self,
        x: Float[Array, "d"],
        alpha: Float[Array, ""],
        w_at_x: Float[Array, ""],
        square: Float[Array, ""],
        radius: Float[ArrayLike, ""] | None,
        capacity: Int[ArrayLike, ""],
    ) -> tuple["Supports", Bool[Array, ""]]:
        """w + alpha k(x, .), scaled back to the ball where it is outside; and whether there was no room for it.

        Args:
            x: the new point.
            alpha: its coefficient.
            w_at_x: w(x), before.
            square: k(x, x).
            radius: of the ball; None for no projection.
            capacity: the number of points there is room for. Beyond it w stays as it is; with 0, in any case.
        """
        full = self.t >= capacity
        alpha = jnp.where(full, jnp.zeros_like(alpha), alpha)
        squared_norm = self.squared_norm + 2 * alpha * w_at_x + alpha**2 * square
        n_chunks, _, size = self.points.shape
        # what is written to the chunk after the last one is dropped
        chunk, column = jnp.where(full, n_chunks, self.t // size), self.t % size
        points = self.points.at[chunk, :, column].set(x, mode="drop")
        coefficients = self.alpha.at[chunk, column].set(alpha, mode="drop")
        if radius is not None:
            most = jnp.asarray(radius, x.dtype) ** 2
            outside = squared_norm > most
            factor = jnp.sqrt(most / jnp.where(outside, squared_norm, most))
            coefficients = coefficients * factor
            squared_norm = jnp.where(outside, most, squared_norm)
        return Supports(points, coefficients, squared_norm, jnp.where(full, self.t, self.t + 1)), full


class SupportsInfo(NamedTuple):
    """Diagnostics of one update.

    Attributes:
        gradient_length: the derivative of the loss in the prediction; the gradient is this times k(x, .).
        overflow: True where the learner had no room for another point and did not learn.
    """

    gradient_length: Float[Array, ""]
    overflow: Bool[Array, ""]


def no_points(capacity: int, instance: jax.ShapeDtypeStruct) -> Supports:
    """w = 0, with room for `capacity` points.

    Raises:
        ValueError: if instances are not vectors.
    """
    if len(instance.shape) != 1:
        raise ArgumentError("instances", f"must have one dimension for a kernel learner (got shape {instance.shape})")
    size = LANES * -(-capacity // (LANES * MAX_CHUNKS))
    n_chunks = -(-capacity // size)
    points = jnp.zeros((n_chunks, instance.shape[0], size), instance.dtype)
    alpha = jnp.zeros((n_chunks, size), instance.dtype)
    return Supports(points, alpha, jnp.zeros((), instance.dtype), jnp.int32(0))


def capacity_hint(capacity: int) -> str:
    """How a learner with room for `capacity` points makes room for more rounds."""
    return f"it stores one point a round and has room for {capacity:,}: build it with a larger n_rounds"


def _chunk_at(i: Int[Array, ""], args: tuple) -> Float[Array, ""]:
    """What chunk i adds to w(x)."""
    points, alpha, kernel, x = args
    points, alpha = (jax.lax.dynamic_index_in_dim(part, i, keepdims=False) for part in (points, alpha))
    return jnp.sum(jax.vmap(kernel, in_axes=(1, None))(points, x) * alpha)


def _sum_over_chunks(term: Callable[..., Array], n: Int[Array, ""], args: PyTree) -> Array:
    """The sum of term(i, args) over i < n, where terms beyond an item's own n are zero.

    Under vmap the loop goes to the largest n of the batch, so that its index stays one number for all items: with an
    index for each item, chunks would be gathered and not sliced. (In a study all runs are in the same round.)
    """

    @jax.custom_batching.custom_vmap
    def run(n, args):
        shape = jax.eval_shape(term, n, args)
        start = jnp.zeros(shape.shape, shape.dtype)
        return jax.lax.fori_loop(jnp.int32(0), n, lambda i, total: total + term(i, args), start)

    @run.def_vmap
    def run_batch(axis_size: int, in_batched: Any, n: Array, args: PyTree) -> tuple[Array, bool]:
        axes = jax.tree.map(lambda batched: 0 if batched else None, in_batched[1])
        terms = jax.vmap(term, in_axes=(None, axes), axis_size=axis_size)
        return _sum_over_chunks(terms, jnp.max(n) if in_batched[0] else n, args), True

    return run(n, args)
