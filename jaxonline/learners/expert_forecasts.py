"""One forecaster for each kernel of a dictionary, over a whole sequence, on every core."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, ArrayLike, Float

from jaxonline._util import check
from jaxonline._util.precision import working_dtype
from jaxonline._util.threads import in_parallel
from jaxonline.learners.vaw import BLOCK, Forecasts, scan_blocks

TOGETHER = 24  # kernels in one loop, at most: their matrices of 100 x 100 float64 fit a core's cache


def expert_forecasts(
    features: Any,
    X: Float[ArrayLike, "T d"],
    y: Float[ArrayLike, "T"],
    *,
    regularizer: float = 1.0,
    dtype: str = "float64",
) -> Forecasts:
    """Predictions [T, N] of online ridge and of VAW for each of N kernels.

    Args:
        features: a pytree whose leaves have a leading axis of N kernels and which, for each kernel, maps an instance to
            its features: a `Dictionary`, stacked `FourierFeatures`.
        X: instances, one row a round, at least one.
        y: targets.
        regularizer: lambda, above 0.
        dtype: "float64", or "float32" in which long runs drift.

    Raises:
        ValueError: shapes that do not match, entries that are not finite, a `regularizer` not above 0, or float64
            where JAX has it disabled.

    Example:
        >>> import jax, numpy as np
        >>> from jaxonline.estimators.dictionary import Dictionary
        >>> from jaxonline.learners.expert_forecasts import expert_forecasts
        >>> with jax.enable_x64(True):
        ...     forecasts = expert_forecasts(Dictionary(np.zeros((2, 1, 1))), np.ones((3, 1)), np.ones(3))
        >>> np.round(forecasts.vaw[:, 0], 3).tolist(), forecasts.vaw.shape  # 0, 1/3, 2/4
        ([0.0, 0.333, 0.5], (3, 2))
    """
    X, y = check.rows("X", X, "y", y)
    kind = working_dtype(dtype)
    check.positive("regularizer", regularizer)
    features = jax.tree.map(lambda leaf: jnp.asarray(leaf, kind), features)
    jobs, gather = expert_jobs(features, jnp.asarray(X, kind), jnp.asarray(y, kind), jnp.asarray(regularizer, kind))
    return gather(in_parallel(jobs))


def expert_jobs(
    features: Any, X: Float[Array, "T d"], y: Float[Array, "T"], regularizer: Float[Array, ""]
) -> tuple[list[Callable[[], Forecasts]], Callable[[list[Forecasts]], Forecasts]]:
    """`expert_forecasts` as jobs that may run side by side, and the function that joins their results.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.estimators.dictionary import Dictionary
        >>> from jaxonline.learners.expert_forecasts import expert_jobs
        >>> features = Dictionary(jnp.zeros((30, 1, 1)))
        >>> jobs, gather = expert_jobs(features, jnp.ones((3, 1)), jnp.ones(3), jnp.float32(1.0))
        >>> len(jobs), gather([job() for job in jobs]).ridge.shape
        (2, (3, 30))
    """
    N = len(jax.tree.leaves(features)[0])
    n_jobs = -(-N // TOGETHER) if jax.default_backend() == "cpu" else 1
    size = -(-N // n_jobs)  # the last job repeats the first kernels, so that one program serves all

    def job(first):
        indices = np.arange(first, first + size) % N
        part = jax.tree.map(lambda leaf: leaf[indices], features)
        return lambda: _forecast_part(part, X, y, regularizer)

    def gather(parts):
        joined: list[Any] = [np.concatenate(of, axis=1)[:, :N] for of in zip(*parts, strict=True)]
        return Forecasts(*joined)

    return [job(size * i) for i in range(n_jobs)], gather


@jax.jit
def _forecast_part(features, X, y, regularizer):
    forecasts = jax.vmap(lambda one: scan_blocks(one, X, y, regularizer, BLOCK)[0])(features)
    return jax.tree.map(jnp.transpose, forecasts)
