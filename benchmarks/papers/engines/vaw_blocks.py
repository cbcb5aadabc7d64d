"""VAW and online ridge over a whole sequence, in blocks of rounds that use matrix products (`vaw.absorb`)."""

from typing import Any, Literal, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import Array, ArrayLike, Float, Int

from benchmarks.papers.engines.scanning import cast_to, scan_first
from jaxonline.learners.linear.vaw import absorb, initial_state
from jaxonline.parameters import check
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.types import Count, Positive

BLOCK_ROUNDS = 32  # rounds per block, fastest for 20 to 200 features


class Forecasts(NamedTuple):
    """Predictions of VAW and of online ridge, at the cost of one of the two.

    Attributes:
        ridge: predictions of online ridge, which uses S_(t-1): `VAW(forward=False)`.
        vaw: predictions of VAW, which uses S_t.
    """

    ridge: Float[Array, "..."]
    vaw: Float[Array, "..."]


@validate_arguments
def forecast(
    Z: Float[ArrayLike, "T m"],
    y: Float[ArrayLike, "T"],
    *,
    regularizer: Positive = 1.0,
    block: Count = BLOCK_ROUNDS,
    dtype: Literal["float64", "float32"] = "float64",
) -> tuple[Forecasts, Any]:
    """All predictions of `VAW` and of online ridge over a sequence, and their final `VAWState`.

    Args:
        Z: instances, one row per round.
        y: targets; the prediction of round t does not depend on y_t or later targets.
        regularizer: lambda.
        block: rounds per block, which changes predictions by rounding only.
        dtype: "float64", or "float32", in which rounding errors of long runs accumulate.

    Raises:
        ValueError: shapes do not match, entries are not finite, or float64 is disabled in JAX.

    Example:
        >>> import jax, numpy as np
        >>> from benchmarks.papers.engines.vaw_blocks import forecast
        >>> with jax.enable_x64(True):
        ...     forecasts, state = forecast(np.ones((3, 1)), np.ones(3))
        >>> [f"{mean:.3f}" for mean in forecasts.vaw], f"{state.w[0]:.3f}"
        (['0.000', '0.333', '0.500'], '0.750')
    """
    Z, y = check.rows("Z", Z, "y", y)
    return _forecast(*cast_to(dtype, Z=Z, y=y, regularizer=regularizer), block)


@jax.jit(static_argnames=("block",))
def _forecast(Z, y, regularizer, block):
    return scan_blocks(None, Z, y, regularizer, block)


def scan_blocks(
    features: Any,
    X: Float[Array, "T d"],
    y: Float[Array, "T"],
    regularizer: ArrayLike,
    block: int,
    n_rounds: Int[Array, ""] | int | None = None,
) -> tuple[Forecasts, Any]:
    """Compute `forecast` as a pure function of features, block by block; None takes the instances as features.

    A method `features.map_rows` [n, ...], such as that of `Dictionary`, computes the features of a block at once. Only
    the first `n_rounds` rounds are played, as in `expert_sequences.play_sequence`.
    """
    n, block = len(y), min(block, len(y))
    n_blocks = -(-n // block)

    def columns(rows):
        if features is None:
            return rows.T
        map_rows = getattr(features, "map_rows", None) or jax.vmap(features)
        return map_rows(rows).reshape(len(rows), -1).T

    def step(state, rows):
        x, target, n_left = rows
        state, means, leverages = absorb(state, columns(x), target, n_left)
        return state, Forecasts(means, means / leverages)

    def blocks(rows):
        padded = jnp.concatenate([rows, jnp.zeros((n_blocks * block - n, *rows.shape[1:]), rows.dtype)])
        return padded.reshape(n_blocks, block, *rows.shape[1:])

    n_features = jax.eval_shape(columns, X[:1]).shape[0]
    played = n if n_rounds is None else n_rounds
    n_left = None if n_rounds is None and n % block == 0 else played - block * jnp.arange(n_blocks)
    rows = blocks(X), blocks(y), n_left
    first, none = initial_state(n_features, regularizer, X.dtype), jnp.zeros((n_blocks, block), X.dtype)
    state, forecasts = scan_first(step, first, rows, Forecasts(none, none), -(-played // block))
    return jax.tree.map(lambda values: values.reshape(-1)[:n], forecasts), state
