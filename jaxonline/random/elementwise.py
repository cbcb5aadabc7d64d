"""Random numbers that use one random word each: uniform, normal, Bernoulli, Laplace and others."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Bool, Float, Int, Key, Shaped, UInt

from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.random.gaussian import normal_from_uniform
from jaxonline.random.vectorised import draw_fused
from jaxonline.random.word_pairs import word_pairs


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


def exponential(key: Key[Array, ""], shape: tuple[int, ...] = (), dtype: Any = float) -> Float[Array, "..."]:
    """Exponential numbers of mean 1, the same as `jax.random.exponential(key, shape, dtype)`.

    Args:
        key: key of the draw.
        shape: shape of the result.
        dtype: floating dtype of the result; other dtypes raise ValueError.

    Example:
        >>> import jax, jaxonline as jo
        >>> bool(jo.random.exponential(jax.random.key(0)) >= 0)
        True
    """
    return draw_fused(lambda key: jax.random.exponential(key, shape, dtype), key, shape)


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


def cauchy(key: Key[Array, ""], shape: tuple[int, ...] = (), dtype: Any = float) -> Float[Array, "..."]:
    """Standard Cauchy numbers, the same as `jax.random.cauchy(key, shape, dtype)`.

    Args:
        key: key of the draw.
        shape: shape of the result.
        dtype: floating dtype of the result; other dtypes raise ValueError.

    Example:
        >>> import jax, jaxonline as jo
        >>> jo.random.cauchy(jax.random.key(0), (3,)).shape
        (3,)
    """
    return draw_fused(lambda key: jax.random.cauchy(key, shape, dtype), key, shape)


def gumbel(key: Key[Array, ""], shape: tuple[int, ...] = (), dtype: Any = float) -> Float[Array, "..."]:
    """Standard Gumbel numbers, the same as `jax.random.gumbel(key, shape, dtype)`.

    Args:
        key: key of the draw.
        shape: shape of the result.
        dtype: floating dtype of the result; other dtypes raise ValueError.

    Example:
        >>> import jax, jaxonline as jo
        >>> jo.random.gumbel(jax.random.key(0), (3,)).shape
        (3,)
    """
    return draw_fused(lambda key: jax.random.gumbel(key, shape, dtype), key, shape)


def bits(key: Key[Array, ""], shape: tuple[int, ...] = (), dtype: Any = None) -> UInt[Array, "..."]:
    """Random words, the same as `jax.random.bits(key, shape, dtype)`.

    Args:
        key: key of the draw.
        shape: shape of the result.
        dtype: unsigned integer dtype of the result; by default uint32, or uint64 if jax has 64-bit numbers enabled.

    Example:
        >>> import jax, jaxonline as jo
        >>> jo.random.bits(jax.random.key(0), (2,)).dtype
        dtype('uint32')
    """
    return draw_fused(lambda key: jax.random.bits(key, shape, dtype), key, shape)
