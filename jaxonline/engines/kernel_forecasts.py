"""VAW and online ridge for each kernel of a dictionary; many kernels are played side by side, on every core."""

from collections.abc import Callable
from typing import Any, Literal

import jax
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from jaxonline._xla.compile_options import jitted, matmul_options
from jaxonline._xla.threads import default_at_once, in_parallel
from jaxonline.engines.scanning import cast_to
from jaxonline.engines.vaw_blocks import BLOCK, Forecasts, scan_blocks
from jaxonline.estimators.fourier import AnyFeatures
from jaxonline.parameters import check
from jaxonline.parameters.types import Positive
from jaxonline.parameters.validation import validate_arguments

KERNELS_PER_CORE = 12  # at most: their matrices of 100 x 100 float64 fit a core's second cache
TURNS_PER_JOB = 4  # at most: so that cores which are not equally fast are done at about the same time


@validate_arguments
def expert_forecasts(
    features: AnyFeatures,
    X: Float[ArrayLike, "T d"],
    y: Float[ArrayLike, "T"],
    *,
    regularizer: Positive = 1.0,
    dtype: Literal["float64", "float32"] = "float64",
) -> Forecasts:
    """Predictions [T, N] of online ridge and of VAW for each of N kernels: the experts of a `MultiKernel`.

    Args:
        features: a pytree whose leaves have a leading axis of N kernels and which, for each kernel, maps an instance to
            its features: a `Dictionary`, stacked `FourierFeatures`.
        X: instances, one row a round, at least one.
        y: targets.
        regularizer: lambda.
        dtype: "float64", or "float32" in which long runs drift.

    Raises:
        ValueError: shapes that do not match, entries that are not finite, or float64 where JAX has it disabled.

    Example:
        >>> import jax, numpy as np
        >>> from jaxonline.estimators.dictionary import Dictionary
        >>> from jaxonline.engines.kernel_forecasts import expert_forecasts
        >>> with jax.enable_x64(True):
        ...     forecasts = expert_forecasts(Dictionary(np.zeros((2, 1, 1))), np.ones((3, 1)), np.ones(3))
        >>> np.round(forecasts.vaw[:, 0], 3).tolist(), forecasts.vaw.shape  # 0, 1/3, 2/4
        ([0.0, 0.333, 0.5], (3, 2))
    """
    X, y = check.rows("X", X, "y", y)
    jobs, gather = expert_jobs(*cast_to(dtype, features=features, X=X, y=y, regularizer=regularizer))
    return gather(in_parallel(jobs))


def expert_jobs(
    features: Any,
    X: Float[Array, "T d"],
    y: Float[Array, "T"],
    regularizer: Float[Array, ""],
    n_rounds: Int[Array, ""] | int | None = None,
) -> tuple[list[Callable[[], Forecasts]], Callable[[list[Forecasts]], Forecasts]]:
    """`expert_forecasts` as jobs that may run side by side, and the function that joins their results.

    Of `n_rounds` only the first are played, as in `expert_sequences.play_sequence`.
    """
    N, platform, cores = len(jax.tree.leaves(features)[0]), jax.default_backend(), default_at_once()
    n_jobs, turns = 1, 1
    if platform == "cpu":
        n_jobs = cores * -(-N // (KERNELS_PER_CORE * TURNS_PER_JOB * cores))
        turns = -(-N // (KERNELS_PER_CORE * n_jobs))
    at_once = -(-N // (turns * n_jobs))
    features = jax.tree.map(np.asarray, features)

    def job(first):
        kernels = np.arange(first, first + turns * at_once).reshape(turns, at_once) % N  # too many repeat the first
        part = jax.tree.map(lambda leaf: leaf[kernels], features)
        return lambda: _forecast_in_turns(part, X, y, regularizer, n_rounds)

    def gather(parts):
        joined: list[Any] = [np.concatenate(of)[:N].T for of in zip(*parts, strict=True)]
        return Forecasts(*joined)

    return [job(first) for first in range(0, N, turns * at_once)], gather


@jitted(matmul_options)
def _forecast_in_turns(features, X, y, regularizer, n_rounds):
    """Forecasts [kernels, T], with two leading axes of the features: turns, and kernels that are played at once."""
    of_kernels = jax.vmap(lambda kernel: scan_blocks(kernel, X, y, regularizer, BLOCK, n_rounds)[0])
    return jax.tree.map(lambda values: values.reshape(-1, len(y)), jax.lax.map(of_kernels, features))
