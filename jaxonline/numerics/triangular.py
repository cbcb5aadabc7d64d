"""Triangular products, and loops over short axes."""

import functools

import jax
import jax.numpy as jnp
from jaxtyping import Array, Float, Int, Num

# ---------------------------------------------------------------------------------------------------------------------
# Sums and selections along short axes, unrolled so that XLA vectorises over the runs of a batch.
#
# For one run an XLA reduction or gather is as fast as the unrolled form. For a batch of runs the reduction or gather
# becomes many small operations, which are slower (selections by about three times). The benchmark is `python -m
# benchmarks noisy_kernel`.


_MAX_UNROLLED = 16  # entries of an axis


def contract(tensor: Float[Array, "..."], v: Float[Array, "d"], axis: int) -> Float[Array, "..."]:
    """Return the sum over an axis with the weights `v`."""
    if len(v) > _MAX_UNROLLED:
        return jnp.sum(tensor * jnp.expand_dims(v, [k for k in range(tensor.ndim) if k != axis]), axis)
    terms = [v[k] * jax.lax.index_in_dim(tensor, k, axis, keepdims=False) for k in range(len(v))]
    return functools.reduce(jnp.add, terms)


def sum_axis(values: Float[Array, "..."], axis: int) -> Float[Array, "..."]:
    """Return the sum over an axis."""
    if values.shape[axis] > _MAX_UNROLLED:
        return jnp.sum(values, axis=axis)
    terms = [jax.lax.index_in_dim(values, k, axis, keepdims=False) for k in range(values.shape[axis])]
    return functools.reduce(jnp.add, terms)


def take_columns(matrices: Float[Array, "a b n"], columns: Int[Array, "m"]) -> Float[Array, "a b m"]:
    """Return matrices[:, :, columns]."""
    if matrices.shape[2] > _MAX_UNROLLED:
        return matrices[:, :, columns]
    selected = jnp.broadcast_to(matrices[:, :, :1], (*matrices.shape[:2], len(columns)))
    for column in range(1, matrices.shape[2]):
        selected = jnp.where(columns == column, matrices[:, :, column, None], selected)
    return selected


def select_entry(values: Num[Array, "m ..."], j: Int[Array, ""]) -> Num[Array, "..."]:
    """Return values[j], computed as a sum, which XLA fuses with the operations that use it."""
    is_entry = jnp.arange(len(values), dtype=jnp.int32) == j
    is_entry = is_entry.reshape(-1, *[1] * (values.ndim - 1))
    return jnp.sum(jnp.where(is_entry, values, jnp.zeros_like(values)), axis=0, dtype=values.dtype)


# ---------------------------------------------------------------------------------------------------------------------
# Cholesky factors of small matrices and their inverses, from elementwise operations and matrix products.
#
# LAPACK calls in a loop of JAX are slow on a CPU (one matrix at a time, with threads that compete with XLA's threads).
# On a GPU they are slow for thousands of small matrices. Recursive halving does most of the work in batched products.


_LEAF = 8  # matrices up to this size are eliminated row by row
_MAX_LEAVES = 8  # each leaf is a loop to compile


def cholesky_and_inverse(A: Float[Array, "n n"]) -> tuple[Float[Array, "n n"], Float[Array, "n n"]]:
    """Return L and L^-1 with A = L L', both lower triangular, or NaN if A is not positive definite."""
    return _halve(A, max(_LEAF, -(-len(A) // _MAX_LEAVES)))


def _halve(A: Float[Array, "n n"], leaf: int) -> tuple[Float[Array, "n n"], Float[Array, "n n"]]:
    n = len(A)
    if n <= leaf:
        return _eliminate(A)
    h = leaf * (-(-n // leaf) // 2)  # whole leaves
    L11, W11 = _halve(A[:h, :h], leaf)
    L21 = product(A[h:, :h], W11.T)
    L22, W22 = _halve(A[h:, h:] - product(L21, L21.T), leaf)
    W21 = -product(product(W22, L21), W11)
    return _join_blocks(L11, L21, L22), _join_blocks(W11, W21, W22)


def _join_blocks(A: Array, B: Array, C: Array) -> Array:
    """Return [[A, 0], [B, C]], computed as a sum of padded blocks, which is faster than a concatenation."""
    h, k = len(A), len(C)
    return jnp.pad(A, (0, k)) + jnp.pad(B, ((h, 0), (0, k))) + jnp.pad(C, (h, 0))


def product(a: Array, b: Array) -> Array:
    """Return a @ b in the full precision of the dtype, also on devices that multiply float32 with fewer bits."""
    return jnp.matmul(a, b, precision="highest")


def _eliminate(A: Float[Array, "n n"]) -> tuple[Float[Array, "n n"], Float[Array, "n n"]]:
    """Eliminate [A | I] (Gauss) to [D L' | L^-1] with unit triangular L, and scale the rows by D^(-1/2)."""
    n = A.shape[-1]
    rows = jnp.arange(n)[:, None]

    def eliminate(j, M):
        row = jax.lax.dynamic_slice_in_dim(M, j, 1, axis=0)
        column = jax.lax.dynamic_slice_in_dim(M, j, 1, axis=1)
        pivot = jax.lax.dynamic_slice_in_dim(row, j, 1, axis=1)
        return M - jnp.where(rows > j, column / pivot, 0.0) * row

    M = jax.lax.fori_loop(0, n - 1, eliminate, jnp.concatenate([A, jnp.eye(n, dtype=A.dtype)], axis=1))
    scale = jax.lax.rsqrt(jnp.diagonal(M[:, :n]))[:, None]
    return jnp.triu(M[:, :n] * scale).T, M[:, n:] * scale


def transposed_times(root: Float[Array, "*K d d"], x: Float[Array, "*K d"]) -> Float[Array, "*K d"]:
    """Return L' x: a sum over rows. Up to 32 rows are added one by one; XLA vectorises this, and not its reductions.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.numerics.triangular import transposed_times
        >>> transposed_times(jnp.array([[1.0, 2.0], [0.0, 3.0]]), jnp.array([1.0, 10.0])).tolist()
        [1.0, 32.0]
    """
    rows = x.shape[-1]
    if rows > 2 * _MAX_UNROLLED:
        return jnp.sum(root * x[..., :, None], axis=-2)
    terms = (root[..., row, :] * x[..., row, None] for row in range(rows))
    return jax.lax.optimization_barrier(functools.reduce(jnp.add, terms))
