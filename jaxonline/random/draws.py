"""The functions of `jax.random` for the keys of a run."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Key, Shaped

from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.random.exact import normal_from_uniform, permutation_indices
from jaxonline.random.threefry import counts_words, draw_fused, draw_once, key_from_words, threefry, to_jax, word_pairs

# ---------------------------------------------------------------------------------------------------------------------
# Random numbers that use one random word each: uniform, normal, Bernoulli, Laplace and others.


def normal(key: Key[Array, ""], shape: tuple[int, ...] = (), dtype: Any = float) -> Float[Array, "..."]:
    """Standard normal numbers, the same as `jax.random.normal(key, shape, dtype)`.

    Args:
        key: key of the draw.
        shape: shape of the result.
        dtype: floating dtype of the result; other dtypes raise ValueError. `float` is float64 if jax has 64-bit numbers
            enabled.

    Example:
        >>> import jax, jaxonline as jo
        >>> bool((jo.random.normal(jax.random.key(0), (3,)) == jax.random.normal(jax.random.key(0), (3,))).all())
        True
    """
    return draw_fused(lambda key: jax.random.normal(key, shape, dtype), key, shape)


def fast_normal(key: Key[Array, ""], shape: tuple[int, ...] = (), dtype: Any = float) -> Float[Array, "..."]:
    """Standard normal numbers, faster than `normal`; in float32 with a relative difference of at most 6e-6.

    Args:
        key: key of the draw.
        shape: shape of the result.
        dtype: floating dtype of the result; other dtypes raise ValueError. Only float32 differs from `normal`.

    Example:
        >>> import jax, jaxonline as jo
        >>> bool(abs(jo.random.fast_normal(jax.random.key(0)) / jax.random.normal(jax.random.key(0)) - 1) < 6e-6)
        True
    """
    return draw_fused(lambda key: _fast_normal(key, shape, dtype), key, shape)


def _fast_normal(key, shape, dtype):
    if jax.dtypes.canonicalize_dtype(dtype) != jnp.float32:
        return jax.random.normal(key, shape, dtype)
    lowest = np.nextafter(np.float32(-1.0), np.float32(0.0))
    return normal_from_uniform(jax.random.uniform(key, shape, jnp.float32, lowest, 1.0))


def uniform(
    key: Key[Array, ""], shape: tuple[int, ...] = (), dtype: Any = float,
    minval: Float[ArrayLike, ""] = 0.0, maxval: Float[ArrayLike, ""] = 1.0,
) -> Float[Array, "..."]:  # fmt: skip
    """Uniform numbers in [minval, maxval), the same as `jax.random.uniform(key, shape, dtype, minval, maxval)`.

    Args:
        key: key of the draw.
        shape: shape of the result.
        dtype: floating dtype of the result; other dtypes raise ValueError.
        minval: lower end of the interval.
        maxval: upper end of the interval.

    Example:
        >>> import jax, jaxonline as jo
        >>> 2.0 <= jo.random.uniform(jax.random.key(0), minval=2.0, maxval=3.0).item() < 3.0
        True
    """
    return draw_fused(lambda key: jax.random.uniform(key, shape, dtype, minval, maxval), key, shape)


def bernoulli(
    key: Key[Array, ""], p: Float[ArrayLike, "..."] = 0.5, shape: tuple[int, ...] | None = None
) -> Bool[Array, "..."]:
    """Bernoulli draws, True with probability p up to 2^-64, also for small p.

    They are those of `jax.random.bernoulli(key, p, shape)`, unless the 23 bits of jax's uniform number (52 bits for
    float64) do not decide whether it is below p. jax rounds p up to a multiple of 2^-23, so its draws are True 12 times
    too often at p = 1e-8.

    Args:
        key: key of the draw.
        p: probabilities of a floating dtype, which broadcast to `shape` (otherwise ValueError).
        shape: shape of the boolean result; by default the shape of `p`.

    Example:
        >>> import jax, jaxonline as jo
        >>> jo.random.bernoulli(jax.random.key(0), jax.numpy.array([0.0, 1.0])).tolist()
        [False, True]
    """
    p = jnp.asarray(p)
    shape = p.shape if shape is None else tuple(shape)
    if not jnp.issubdtype(p.dtype, jnp.floating):
        raise ArgumentTypeError("p", f"must be floating (got {p.dtype})")
    if len(shape) < p.ndim or any(n not in (1, size) for n, size in zip(p.shape[::-1], shape[::-1], strict=False)):
        raise ArgumentError("p", f"must broadcast to the shape {shape} (got the shape {p.shape})")
    return draw_fused(lambda key: word_pairs(key, shape, p.dtype).below(p), key, shape)


def rademacher(key: Key[Array, ""], shape: tuple[int, ...] = (), dtype: Any = int) -> Shaped[Array, "..."]:
    """Random signs -1 and 1, the same as `jax.random.rademacher(key, shape, dtype)`.

    Args:
        key: key of the draw.
        shape: shape of the result.
        dtype: integer or floating dtype of the result; other dtypes raise TypeError.

    Example:
        >>> import jax, jaxonline as jo
        >>> abs(jo.random.rademacher(jax.random.key(0), (3,))).tolist()
        [1, 1, 1]
    """
    return draw_fused(lambda key: jax.random.rademacher(key, shape, dtype), key, shape)


def randint(
    key: Key[Array, ""], shape: tuple[int, ...], minval: Int[ArrayLike, "..."], maxval: Int[ArrayLike, "..."],
    dtype: Any = int,
) -> Int[Array, "..."]:  # fmt: skip
    """Integers from minval to maxval - 1, the same as `jax.random.randint(key, shape, minval, maxval, dtype)`.

    Args:
        key: key of the draw.
        shape: shape of the result.
        minval: the smallest integers, which broadcast to `shape`.
        maxval: the largest integers plus 1, which broadcast to `shape`.
        dtype: integer dtype of the result; other dtypes raise TypeError.

    Example:
        >>> import jax, jaxonline as jo
        >>> jo.random.randint(jax.random.key(0), (), 0, 10).item() in range(10)
        True
    """
    return draw_fused(lambda key: jax.random.randint(key, shape, minval, maxval, dtype), key, shape)


def laplace(key: Key[Array, ""], shape: tuple[int, ...] = (), dtype: Any = float) -> Float[Array, "..."]:
    """Laplace numbers of variance 2, the same as `jax.random.laplace(key, shape, dtype)`.

    Args:
        key: key of the draw.
        shape: shape of the result.
        dtype: floating dtype of the result; other dtypes raise ValueError.

    Example:
        >>> import jax, jaxonline as jo
        >>> jo.random.laplace(jax.random.key(0), (3,)).shape
        (3,)
    """
    return draw_fused(lambda key: jax.random.laplace(key, shape, dtype), key, shape)


# ---------------------------------------------------------------------------------------------------------------------
# Random numbers that need several random words each; rejection sampling takes the time of a block's slowest run.


def t(
    key: Key[Array, ""], df: Float[ArrayLike, "..."], shape: tuple[int, ...] | None = None, dtype: Any = float
) -> Float[Array, "..."]:
    """Student-t numbers, the same as `jax.random.t(key, df, shape, dtype)`.

    Args:
        key: key of the draw.
        df: the degrees of freedom, above 0, which broadcast to `shape` (otherwise ValueError).
        shape: shape of the result; by default the shape of `df`.
        dtype: floating dtype of the result; other dtypes raise ValueError.

    Example:
        >>> import jax, jaxonline as jo
        >>> jo.random.t(jax.random.key(0), 5.0, (3,)).shape
        (3,)
    """
    # the CPU compiler may not finish if it fuses several vectors of these numbers with the operations that use them
    return draw_once(lambda key: jax.random.t(key, df, shape, dtype), key)


def poisson(
    key: Key[Array, ""], lam: Float[ArrayLike, "..."], shape: tuple[int, ...] | None = None, dtype: Any = int
) -> Int[Array, "..."]:
    """Poisson counts, the same as `jax.random.poisson(key, lam, shape, dtype)`, also with the keys of a run.

    Args:
        key: key of the draw, a threefry key (otherwise NotImplementedError).
        lam: the means, at least 0, which broadcast to `shape` (otherwise ValueError).
        shape: shape of the result; by default the shape of `lam`.
        dtype: integer dtype of the result; other dtypes raise ValueError.

    Example:
        >>> import jax, jaxonline as jo
        >>> bool(jo.random.poisson(jax.random.key(0), 4.0) == jax.random.poisson(jax.random.key(0), 4.0))
        True
    """
    draw_shape = jnp.shape(lam) if shape is None else tuple(shape)
    return draw_fused(lambda key: jax.random.poisson(to_jax(key), lam, shape, dtype), key, draw_shape)


def permutation(key: Key[Array, ""], x: int | Shaped[ArrayLike, "n ..."]) -> Shaped[Array, "n ..."]:
    """A random permutation of 0, ..., x - 1, or of the rows of an array, the same as `jax.random.permutation(key, x)`.

    Args:
        key: key of the draw.
        x: number of indices (the result is int32 [x]), or an array whose rows are permuted (otherwise TypeError).

    Example:
        >>> import jax, jaxonline as jo
        >>> sorted(jo.random.permutation(jax.random.key(0), 5).tolist())
        [0, 1, 2, 3, 4]
    """
    if jnp.ndim(x) == 0:
        return permutation_indices(key, int(x))  # type: ignore[arg-type]
    rows = jnp.asarray(x)
    return rows[permutation_indices(key, len(rows))]


# ---------------------------------------------------------------------------------------------------------------------
# One entry of a random vector, computed without the other entries.


def fused_entry(
    draw: Callable[..., Array], key: Key[Array, ""], index: Int[Array, "*n"], length: int, dtype: Any = float
) -> Array:
    """Return entry `index` of `draw(key, (length,), dtype)` at the cost of one number, as word k needs only key and k.

    The number is computed again by each use; for functions whose own result is computed once.

    Args:
        draw: a function that makes each number from one random word: `normal`, `uniform`, `laplace`.
        key: the key of the vector.
        index: from 0 to `length` - 1; an array of indices gives an array of entries of the same shape.
        length: the length of the vector.
        dtype: the floating dtype of the numbers.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> from jaxonline.random.draws import fused_entry
        >>> key = jax.random.key(0)
        >>> bool(fused_entry(jo.random.normal, key, jnp.int32(2), 5) == jo.random.normal(key, (5,))[2])
        True
    """
    dtype = jax.dtypes.canonicalize_dtype(dtype)
    if not counts_words(key) or dtype != jnp.float32 or length >= 2**32:
        return draw(key, (length,), dtype)[index]
    place = index.reshape(-1).astype(jnp.uint32)
    high, low = threefry(jax.random.key_data(key), jnp.zeros_like(place), place)
    return draw(key_from_words(high ^ low), place.shape, dtype).reshape(index.shape)
