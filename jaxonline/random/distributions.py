"""Random numbers that need several random words each; rejection sampling takes the time of a block's slowest run."""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int, Key, Shaped

from jaxonline.random.permutations import permutation_indices
from jaxonline.random.threefry import to_jax
from jaxonline.random.vectorised import draw_fused, draw_once


def gamma(
    key: Key[Array, ""], a: Float[ArrayLike, "..."], shape: tuple[int, ...] | None = None, dtype: Any = float
) -> Float[Array, "..."]:
    """Gamma numbers of shape parameter a and scale 1, the same as `jax.random.gamma(key, a, shape, dtype)`.

    Args:
        key: key of the draw.
        a: the shape parameters, above 0, which broadcast to `shape` (otherwise ValueError).
        shape: shape of the result; by default the shape of `a`.
        dtype: floating dtype of the result; other dtypes raise ValueError.

    Example:
        >>> import jax, jaxonline as jo
        >>> bool(jo.random.gamma(jax.random.key(0), 2.0) > 0)
        True
    """
    return draw_fused(lambda key: jax.random.gamma(key, a, shape, dtype), key, _shape_of(shape, a))


def beta(
    key: Key[Array, ""], a: Float[ArrayLike, "..."], b: Float[ArrayLike, "..."],
    shape: tuple[int, ...] | None = None, dtype: Any = float,
) -> Float[Array, "..."]:  # fmt: skip
    """Beta numbers, the same as `jax.random.beta(key, a, b, shape, dtype)`. See also `fast_beta`.

    Args:
        key: key of the draw.
        a: the first parameters, above 0, which broadcast to `shape` (otherwise ValueError).
        b: the second parameters, above 0.
        shape: shape of the result; by default the shape of `a` and `b`.
        dtype: floating dtype of the result; other dtypes raise ValueError.

    Example:
        >>> import jax, jaxonline as jo
        >>> 0 <= jo.random.beta(jax.random.key(0), 2.0, 3.0).item() <= 1
        True
    """
    return draw_fused(lambda key: jax.random.beta(key, a, b, shape, dtype), key, _shape_of(shape, a, b))


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
    return draw_fused(lambda key: jax.random.poisson(to_jax(key), lam, shape, dtype), key, _shape_of(shape, lam))


def geometric(
    key: Key[Array, ""], p: Float[ArrayLike, "..."], shape: tuple[int, ...] | None = None, dtype: Any = int
) -> Int[Array, "..."]:
    """Number of trials until the first success, the same as `jax.random.geometric(key, p, shape, dtype)`.

    Args:
        key: key of the draw.
        p: the probabilities of success, above 0, which broadcast to `shape` (otherwise ValueError).
        shape: shape of the result; by default the shape of `p`.
        dtype: integer dtype of the result; other dtypes raise ValueError.

    Example:
        >>> import jax, jaxonline as jo
        >>> jo.random.geometric(jax.random.key(0), 1.0).item()
        1
    """
    return draw_fused(lambda key: jax.random.geometric(key, p, shape, dtype), key, _shape_of(shape, p))


def categorical(
    key: Key[Array, ""], logits: Float[ArrayLike, "..."], axis: int = -1, shape: tuple[int, ...] | None = None
) -> Int[Array, "..."]:
    """Categories (indices) with probabilities proportional to exp(logits), the same as `jax.random.categorical`.

    Probabilities below 1e-5 are inexact, and categories below 1e-7 are hardly drawn; `weighted_index` is exact for them
    and uses one random word.

    Args:
        key: key of the draw.
        logits: logarithms of the probabilities, up to a constant.
        axis: the axis of `logits` for the categories.
        shape: shape of the result; by default the shape of `logits` without `axis`, which must broadcast to `shape`
            (otherwise ValueError).

    Example:
        >>> import jax, jaxonline as jo
        >>> jo.random.categorical(jax.random.key(0), jax.numpy.array([0.0, -jax.numpy.inf])).item()
        0
    """
    shape_of_draw = shape if jnp.ndim(logits) > 1 else _shape_of(shape)
    return draw_fused(lambda key: jax.random.categorical(key, logits, axis=axis, shape=shape), key, shape_of_draw)


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


def choice(
    key: Key[Array, ""], x: int | Shaped[ArrayLike, "n ..."], shape: tuple[int, ...] = (), replace: bool = True,
    p: Float[ArrayLike, "n"] | None = None,
) -> Shaped[Array, "..."]:  # fmt: skip
    """Random indices, or rows of an array, with or without replacement, the same as `jax.random.choice`.

    Args:
        key: key of the draw.
        x: number n of indices, or an array of n rows from which to choose (the result is [*shape, ...]).
        shape: shape of the draw; more than n draws without replacement raise ValueError.
        replace: whether to draw with replacement.
        p: probabilities [n] (another shape raises ValueError); by default uniform.

    Example:
        >>> import jax, jaxonline as jo
        >>> sorted(jo.random.choice(jax.random.key(0), 3, (3,), replace=False).tolist())
        [0, 1, 2]
    """
    draw_shape = shape if jnp.ndim(x) <= 1 else None
    return draw_fused(lambda key: jax.random.choice(key, x, shape, replace, p), key, draw_shape)


def multivariate_normal(
    key: Key[Array, ""], mean: Float[ArrayLike, "d"], covariance: Float[ArrayLike, "d d"],
    shape: tuple[int, ...] = (), dtype: Any = float,
) -> Float[Array, "... d"]:  # fmt: skip
    """Normal vectors, the same as `jax.random.multivariate_normal(key, mean, covariance, shape, dtype)`.

    Args:
        key: key of the draw.
        mean: mean [d].
        covariance: positive definite covariance [d, d].
        shape: number of vectors; the result is [*shape, d].
        dtype: floating dtype of the result; other dtypes, and shapes that do not fit, raise ValueError.

    Example:
        >>> import jax, jax.numpy as jnp, jaxonline as jo
        >>> jo.random.multivariate_normal(jax.random.key(0), jnp.zeros(2), jnp.eye(2)).shape
        (2,)
    """
    return draw_fused(lambda key: jax.random.multivariate_normal(key, mean, covariance, shape, dtype), key, None)


def _shape_of(shape: tuple[int, ...] | None, *parameters: Any) -> tuple[int, ...]:
    """Shape of a draw."""
    return jnp.broadcast_shapes(*map(jnp.shape, parameters)) if shape is None else tuple(shape)
