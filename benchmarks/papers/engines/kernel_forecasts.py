"""VAW and online ridge forecasts for each kernel of a dictionary, with many kernels in parallel on every core."""

from collections.abc import Callable
from typing import Any, Literal

import jax
import numpy as np
from jaxtyping import Array, ArrayLike, Float, Int

from benchmarks.papers.engines.scanning import cast_to
from benchmarks.papers.engines.vaw_blocks import BLOCK_ROUNDS, Forecasts, scan_blocks
from jaxonline._xla.compile_options import jit_with_options, matmul_options
from jaxonline._xla.threads import default_threads, run_parallel
from jaxonline.estimators.fourier import AnyFeatures
from jaxonline.parameters import check
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.types import Positive

KERNELS_PER_CORE = 12  # at most: their matrices of 100 x 100 float64 fit a core's second cache
BATCHES_PER_JOB = 4  # at most: so that cores which are not equally fast are done at about the same time


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
        features: feature maps of N kernels, a pytree whose leaves have a leading axis of N: a `Dictionary`, or stacked
            `FourierFeatures`.
        X: instances, one row per round.
        y: targets.
        regularizer: lambda.
        dtype: "float64", or "float32", in which rounding errors of long runs accumulate.

    Raises:
        ValueError: shapes do not match, entries are not finite, or float64 is disabled in JAX.

    Example:
        >>> import jax, numpy as np
        >>> from jaxonline.estimators.dictionary import Dictionary
        >>> from benchmarks.papers.engines.kernel_forecasts import expert_forecasts
        >>> with jax.enable_x64(True):
        ...     forecasts = expert_forecasts(Dictionary(np.zeros((2, 1, 1))), np.ones((3, 1)), np.ones(3))
        >>> np.round(forecasts.vaw[:, 0], 3).tolist(), forecasts.vaw.shape  # 0, 1/3, 2/4
        ([0.0, 0.333, 0.5], (3, 2))
    """
    X, y = check.rows("X", X, "y", y)
    jobs, gather = expert_jobs(*cast_to(dtype, features=features, X=X, y=y, regularizer=regularizer))
    return gather(run_parallel(jobs))


def expert_jobs(
    features: Any,
    X: Float[Array, "T d"],
    y: Float[Array, "T"],
    regularizer: Float[Array, ""],
    n_rounds: Int[Array, ""] | int | None = None,
) -> tuple[list[Callable[[], Forecasts]], Callable[[list[Forecasts]], Forecasts]]:
    """Return `expert_forecasts` of the first `n_rounds` rounds as jobs for threads, and a function that joins them."""
    N, platform, cores = len(jax.tree.leaves(features)[0]), jax.default_backend(), default_threads()
    n_jobs, n_batches = 1, 1
    if platform == "cpu":
        n_jobs = cores * -(-N // (KERNELS_PER_CORE * BATCHES_PER_JOB * cores))
        n_batches = -(-N // (KERNELS_PER_CORE * n_jobs))
    batch_size = -(-N // (n_batches * n_jobs))
    job_size = n_batches * batch_size
    features = jax.tree.map(np.asarray, features)

    def job(first):
        kernels = np.arange(first, first + job_size).reshape(n_batches, batch_size) % N  # pads with the first kernels
        job_features = jax.tree.map(lambda leaf: leaf[kernels], features)
        return lambda: _forecast_batches(job_features, X, y, regularizer, n_rounds)

    def gather(results):
        joined: list[Any] = [np.concatenate(forecasts)[:N].T for forecasts in zip(*results, strict=True)]
        return Forecasts(*joined)

    return [job(first) for first in range(0, N, job_size)], gather


@jit_with_options(matmul_options)
def _forecast_batches(features, X, y, regularizer, n_rounds):
    """Forecasts [kernels, T] for features with two leading axes: batches, and the kernels of a batch."""
    of_kernels = jax.vmap(lambda kernel: scan_blocks(kernel, X, y, regularizer, BLOCK_ROUNDS, n_rounds)[0])
    return jax.tree.map(lambda values: values.reshape(-1, len(y)), jax.lax.map(of_kernels, features))
