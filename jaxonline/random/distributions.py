"""Random numbers that are made of several random words: gamma, beta, Poisson, categories, choices, and so on.

What loops until a proposal is accepted takes the time of the slowest run of a block.
"""

from typing import Any

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int, Key, Shaped

from jaxonline.random.permutations import permutation_indices
from jaxonline.random.threefry import to_jax
from jaxonline.random.vectorised import draw_fused


def gamma(
    key: Key[Array, ""], a: Float[ArrayLike, "..."], shape: tuple[int, ...] | None = None, dtype: Any = float
) -> Float[Array, "..."]:
    """Gamma numbers of shape parameter a and scale 1, the same as `jax.random.gamma(key, a, shape, dtype)`.

    Args:
        key: of the draw.
        a: the shape parameters, above 0, which broadcast to `shape`.
        shape: of the result; by default that of `a`.
        dtype: of the result, floating.

    Returns:
        An array of this shape and dtype.

    Raises:
        ValueError: a dtype that is not floating; `a` does not broadcast to `shape`.

    Example:
        >>> import jax
        >>> import jaxonline as jo
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
        key: of the draw.
        a: the first parameters, above 0, which broadcast to `shape`.
        b: the second parameters, likewise.
        shape: of the result; by default that of `a` and `b`.
        dtype: of the result, floating.

    Returns:
        An array of this shape and dtype.

    Raises:
        ValueError: a dtype that is not floating; `a` or `b` does not broadcast to `shape`.

    Example:
        >>> import jax
        >>> import jaxonline as jo
        >>> 0 <= jo.random.beta(jax.random.key(0), 2.0, 3.0).item() <= 1
        True
    """
    return draw_fused(lambda key: jax.random.beta(key, a, b, shape, dtype), key, _shape_of(shape, a, b))


def t(
    key: Key[Array, ""], df: Float[ArrayLike, "..."], shape: tuple[int, ...] | None = None, dtype: Any = float
) -> Float[Array, "..."]:
    """Student-t numbers, the same as `jax.random.t(key, df, shape, dtype)`.

    Args:
        key: of the draw.
        df: the degrees of freedom, above 0, which broadcast to `shape`.
        shape: of the result; by default that of `df`.
        dtype: of the result, floating.

    Returns:
        An array of this shape and dtype.

    Raises:
        ValueError: a dtype that is not floating; `df` does not broadcast to `shape`.

    Example:
        >>> import jax
        >>> import jaxonline as jo
        >>> jo.random.t(jax.random.key(0), 5.0, (3,)).shape
        (3,)
    """
    return draw_fused(lambda key: jax.random.t(key, df, shape, dtype), key, _shape_of(shape, df))


def poisson(
    key: Key[Array, ""], lam: Float[ArrayLike, "..."], shape: tuple[int, ...] | None = None, dtype: Any = int
) -> Int[Array, "..."]:
    """Poisson counts, the same as `jax.random.poisson(key, lam, shape, dtype)`, also with the keys of a run.

    Args:
        key: of the draw, of threefry.
        lam: the means, at least 0, which broadcast to `shape`.
        shape: of the result; by default that of `lam`.
        dtype: of the result, integer.

    Returns:
        An array of this shape and dtype.

    Raises:
        NotImplementedError: a key of another generator than threefry.
        ValueError: a dtype that is not an integer's; `lam` does not broadcast to `shape`.

    Example:
        >>> import jax
        >>> import jaxonline as jo
        >>> key = jax.random.key(0)
        >>> bool(jo.random.poisson(jo.random.inlined(key), 4.0) == jax.random.poisson(key, 4.0))
        True
    """
    return draw_fused(lambda key: jax.random.poisson(to_jax(key), lam, shape, dtype), key, _shape_of(shape, lam))


def geometric(
    key: Key[Array, ""], p: Float[ArrayLike, "..."], shape: tuple[int, ...] | None = None, dtype: Any = int
) -> Int[Array, "..."]:
    """The number of tosses until the first success, the same as `jax.random.geometric(key, p, shape, dtype)`.

    Args:
        key: of the draw.
        p: the probabilities of success, above 0, which broadcast to `shape`.
        shape: of the result; by default that of `p`.
        dtype: of the result, integer.

    Returns:
        An array of this shape and dtype, at least 1.

    Raises:
        ValueError: a dtype that is not an integer's; `p` does not broadcast to `shape`.

    Example:
        >>> import jax
        >>> import jaxonline as jo
        >>> jo.random.geometric(jax.random.key(0), 1.0).item()
        1
    """
    return draw_fused(lambda key: jax.random.geometric(key, p, shape, dtype), key, _shape_of(shape, p))


def categorical(
    key: Key[Array, ""], logits: Float[ArrayLike, "..."], axis: int = -1, shape: tuple[int, ...] | None = None
) -> Int[Array, "..."]:
    """Categories with probabilities in proportion to exp(logits), the same as `jax.random.categorical`.

    Args:
        key: of the draw.
        logits: logarithms of the probabilities, up to a constant.
        axis: of `logits` that lists the categories.
        shape: of the result; by default that of `logits` without `axis`.

    Returns:
        Indices, an integer array.

    Raises:
        ValueError: `logits` without `axis` do not broadcast to `shape`.

    Example:
        >>> import jax
        >>> import jaxonline as jo
        >>> jo.random.categorical(jax.random.key(0), jax.numpy.array([0.0, -jax.numpy.inf])).item()
        0
    """
    shape_of_draw = shape if jnp.ndim(logits) > 1 else _shape_of(shape)
    return draw_fused(lambda key: jax.random.categorical(key, logits, axis=axis, shape=shape), key, shape_of_draw)


def permutation(key: Key[Array, ""], x: int | Shaped[ArrayLike, "n ..."]) -> Shaped[Array, "n ..."]:
    """A random permutation of 0, ..., x - 1, or of the rows of an array, the same as `jax.random.permutation(key, x)`.

    Args:
        key: of the draw.
        x: the number of indices, or an array whose first axis is permuted.

    Returns:
        Indices, int32 [x], or the rows of `x` in another order.

    Raises:
        TypeError: `x` is neither an integer nor an array of at least one axis.

    Example:
        >>> import jax
        >>> import jaxonline as jo
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
    """Indices, or rows of an array, at random with or without replacement, the same as `jax.random.choice`.

    Args:
        key: of the draw.
        x: the number of indices, or an array whose first axis is chosen from.
        shape: how many, and in what shape.
        replace: whether the same one may be chosen again.
        p: probabilities [n]; by default all are equal.

    Returns:
        Indices, an integer array of this shape, or rows of `x` [*shape, ...].

    Raises:
        ValueError: without replacement, more than there are; `p` has another shape than [n].

    Example:
        >>> import jax
        >>> import jaxonline as jo
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
        key: of the draw.
        mean: of the vectors [d].
        covariance: of the vectors, positive definite [d, d].
        shape: of the array of vectors.
        dtype: of the result, floating.

    Returns:
        An array [*shape, d].

    Raises:
        ValueError: a dtype that is not floating; shapes that do not fit.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> import jaxonline as jo
        >>> jo.random.multivariate_normal(jax.random.key(0), jnp.zeros(2), jnp.eye(2)).shape
        (2,)
    """
    return draw_fused(lambda key: jax.random.multivariate_normal(key, mean, covariance, shape, dtype), key, None)


def _shape_of(shape: tuple[int, ...] | None, *parameters: Any) -> tuple[int, ...]:
    """The shape of a draw."""
    return jnp.broadcast_shapes(*map(jnp.shape, parameters)) if shape is None else tuple(shape)
