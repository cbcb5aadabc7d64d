"""The published table of multi-kernel online least squares, and what it should have been.

Rokhlin and Gurtovaya (2025), Table 2, names its experts after Vovk, Azoury and Warmuth; its numbers are those of
online ridge at both levels (erratum E17). Both are computed here, from the same features.
"""

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxonline import _check, datasets
from jaxonline._precision import working_dtype
from jaxonline.aggregation import play_sequence
from jaxonline.dictionaries import Dictionary
from jaxonline.learners.aggregating import Aggregating
from jaxonline.learners.boa import BOA
from jaxonline.learners.ewa import EWA
from jaxonline.learners.ml_poly import MLPoly
from jaxonline.learners.ml_prod import MLProd
from jaxonline.learners.omkl_gf import OMKLGF
from jaxonline.learners.raker import Raker
from jaxonline.learners.truncated import Truncated
from jaxonline.learners.vaw import BLOCK, Forecasts, scan_blocks

SETS = ("AR(4)", "Airfoil", "Concrete")
FORECASTERS = Forecasts._fields
COMBINERS = ("VAW2", "VAW2-truncated", "EWA", "Aggregating", "BOA", "ML-Poly", "ML-Prod")
BEST = "best-expert"
DESCENT = ("Raker", "OMKL-GF")
ALGORITHMS = (*COMBINERS, BEST, *DESCENT)
# Table 2 as printed, MSE x 1000
PUBLISHED = {
    "AR(4)": (16.56, 16.51, 16.49, 16.40, 16.34, 16.34, 16.34, None, 23.24, 20.47),
    "Airfoil": (22.80, 22.78, 27.61, 26.74, 26.42, 26.10, 26.27, None, 28.64, 24.37),
    "Bias correction": (4.09, 4.09, 5.41, 5.02, 4.98, 4.96, 4.97, None, 12.70, 7.05),
    "Concrete": (10.96, 10.97, 15.08, 13.57, 13.88, 13.33, 13.64, None, 35.29, 34.24),
    "Naval": (0.29, 0.29, 0.62, 0.45, 0.52, 0.37, 0.48, None, 11.32, 4.60),
}


class SetResult(NamedTuple):
    """The numbers of one data set. The keys are an algorithm and "ridge" or "vaw" ("ogd" for Raker and OMKL-GF).

    Attributes:
        name: of the set.
        shape: of its instances.
        mse: mean squared error of each dictionary [S].
        running: mean squared error up to each round, averaged over dictionaries [T].
        weights: of the kernels after the last round, first dictionary [N].
        seconds: the time it took, compilation included.

    Example:
        >>> from jaxonline.study.multikernel import SetResult
        >>> SetResult._fields[:3]
        ('name', 'shape', 'mse')
    """

    name: str
    shape: tuple[int, int]
    mse: dict[tuple[str, str], np.ndarray]
    running: dict[tuple[str, str], np.ndarray]
    weights: dict[tuple[str, str], np.ndarray]
    seconds: float


def reproduce(
    sets: Sequence[str | Path] | None = None,
    data: str | Path | Sequence[str | Path] | None = None,
    *,
    seeds: Sequence[int] = range(5),
    target: str | int | None = None,
    impute: str | None = None,
    sampler: str = "correct",
    dtype: str = "float64",
    progress: Callable[[str], None] | None = None,
) -> list[SetResult]:
    """The table's numbers, with features drawn as published by NumPy's legacy generator.

    float64 is enabled inside this call only.

    Args:
        sets: names and files, as in `datasets.load`; by default the files that `data` names, or else AR(4), Airfoil
            and Concrete.
        data: folders and files, as in `datasets.load`.
        seeds: of the dictionaries.
        target: column of the target, for files that are tables.
        impute: "mean" or "median", for files with gaps.
        sampler: of `OMKLGF`, "correct" or "published".
        dtype: "float64", or "float32" to see the drift.
        progress: called with a line after each set.

    Raises:
        ValueError: no seed, or what `datasets.load` and `scaled` raise.

    Example:
        >>> import pathlib, tempfile
        >>> import numpy as np
        >>> from jaxonline.study.multikernel import reproduce
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     file = pathlib.Path(folder) / "line.npz"
        ...     np.savez(file, X=np.arange(6.0)[:, None], y=np.arange(6.0))
        ...     result = reproduce(data=file, seeds=[0])[0]
        >>> result.name, result.mse["VAW2", "ridge"].shape
        ('line', (1,))
    """
    if len(seeds) == 0:
        raise ValueError("seeds must name at least one seed, got none")
    results = []
    loaded = [datasets.load(name, data, target=target, impute=impute) for name in chosen_sets(sets, data)]
    for name, X, y in loaded:
        X, y = scaled(X, y)
        frequencies = np.stack([Dictionary.published(seed, X.shape[1]).frequencies for seed in seeds])
        results.append(play_set(name, X, y, frequencies, key=seeds[0], sampler=sampler, dtype=dtype))
        if progress is not None:
            progress(f"{name}: {len(y)} rounds, {len(seeds)} dictionaries, {results[-1].seconds:.1f} s")
    return results


def chosen_sets(
    sets: Sequence[str | Path] | None, data: str | Path | Sequence[str | Path] | None
) -> Sequence[str | Path]:
    """The sets asked for: `sets`; or the files in `data`; or AR(4), Airfoil and Concrete.

    Example:
        >>> from jaxonline.study.multikernel import chosen_sets
        >>> chosen_sets(None, None)
        ('AR(4)', 'Airfoil', 'Concrete')
    """
    if sets:
        return sets
    places = [data] if isinstance(data, str | Path) else list(data or ())
    return [Path(place) for place in places if Path(place).is_file()] or SETS


def scaled(X: Float[np.ndarray, "n d"], y: Float[np.ndarray, "n"]) -> tuple[np.ndarray, np.ndarray]:
    """As published: X divided by its largest row norm, y mapped onto [0, 1] (Eqs. 33 and 34).

    Raises:
        ValueError: all targets are equal.

    Example:
        >>> import numpy as np
        >>> from jaxonline.study.multikernel import scaled
        >>> [part.tolist() for part in scaled(np.array([[0.0, 2.0], [1.0, 0.0]]), np.array([3.0, 5.0]))]
        [[[0.0, 1.0], [0.5, 0.0]], [0.0, 1.0]]
    """
    low, high = float(y.min()), float(y.max())
    if low == high:
        raise ValueError(f"y must have at least two different values to be scaled to [0, 1], got {low:g} only")
    norm = float(np.linalg.norm(X, axis=1).max())
    return X / (norm or 1.0), (y - low) / (high - low)


def play_set(
    name: str,
    X: Float[np.ndarray, "T d"],
    y: Float[np.ndarray, "T"],
    frequencies: Float[np.ndarray, "S N m d"],
    *,
    key: int | Array = 0,
    sampler: str = "correct",
    dtype: str = "float64",
) -> SetResult:
    """Play all algorithms on one set, with S dictionaries of N kernels.

    Args:
        name: of the set.
        X: instances.
        y: targets in [0, 1].
        frequencies: of the dictionaries.
        key: of OMKL-GF's draws, a seed or a key.
        sampler: of OMKL-GF.
        dtype: "float64" (enabled inside this call only) or "float32".

    Raises:
        ValueError: targets outside [0, 1], or an unknown `sampler`.

    Example:
        >>> import numpy as np
        >>> from jaxonline.study.multikernel import play_set
        >>> result = play_set("one kernel", np.ones((3, 1)), np.ones(3), np.zeros((1, 1, 1, 1)))
        >>> result.mse["best-expert", "vaw"].round(3).tolist()  # predictions 0, 1/3, 2/4
        [0.565]
    """
    began = time.perf_counter()
    if ((y < 0) | (y > 1)).any():
        raise ValueError(f"targets must be in [0, 1], got {y.min():g} to {y.max():g}")
    with jax.enable_x64(dtype == "float64"):
        kind = working_dtype(dtype)
        run_key = jax.random.key(key) if isinstance(key, int | np.integer) else key
        numbers = _play_set(
            jnp.asarray(frequencies, kind), jnp.asarray(X, kind), jnp.asarray(y, kind), run_key, sampler
        )
        predictions, weights = jax.tree.map(np.asarray, numbers)
    losses = {which: (of.astype(float) - y) ** 2 for which, of in predictions.items()}
    rounds = np.arange(1, len(y) + 1)
    return SetResult(
        name, X.shape,
        {which: loss.mean(axis=1) for which, loss in losses.items()},
        {which: loss.mean(axis=0).cumsum() / rounds for which, loss in losses.items()},
        {which: of[0] for which, of in weights.items()},
        time.perf_counter() - began,
    )  # fmt: skip


@jax.jit(static_argnames=("sampler",))
def _play_set(frequencies, X, y, key, sampler):
    """Predictions [S, T] and final weights [S, N] by algorithm and forecaster."""
    experts = expert_forecasts(frequencies, X, y)
    predictions, weights = {}, {}
    for which, aggregation in _second_level(experts, y).items():
        predictions[which], weights[which] = aggregation
    for forecaster, of in zip(FORECASTERS, experts, strict=True):
        clipped = jnp.clip(of, 0.0, 1.0)
        best = jnp.argmin(jnp.sum((clipped - y[None, :, None]) ** 2, axis=1), axis=1)
        predictions[BEST, forecaster] = jax.vmap(lambda rows, i: rows[:, i])(clipped, best)
    keys = jax.vmap(lambda s: jax.random.fold_in(key, s))(jnp.arange(len(frequencies)))
    learners: dict[str, Callable[[Any], Any]] = {"Raker": Raker, "OMKL-GF": lambda d: OMKLGF(d, sampler=sampler)}
    for name in DESCENT:
        play = jax.vmap(lambda f, k, name=name: play_sequence(learners[name](Dictionary(f)), X, y, k)[0])
        predictions[name, "ogd"], weights[name, "ogd"] = play(frequencies, keys)
    return predictions, weights


def expert_forecasts(
    frequencies: Float[Array, "S N m d"], X: Float[Array, "T d"], y: Float[Array, "T"], regularizer: float = 1.0
) -> Forecasts:
    """Predictions [S, T, N] of online ridge and of VAW, each with the features of one kernel.

    Some twenty kernels at a time go through all rounds: their matrices stay in the processor's cache.

    Example:
        >>> import jax.numpy as jnp
        >>> from jaxonline.study.multikernel import expert_forecasts
        >>> expert_forecasts(jnp.zeros((2, 3, 1, 1)), jnp.ones((4, 1)), jnp.ones(4)).vaw.shape
        (2, 4, 3)
    """
    S, N, *shape = frequencies.shape
    together = max(size for size in range(1, 25) if (S * N) % size == 0)
    flat = Dictionary(frequencies.reshape(S * N, *shape))
    forecasts = jax.lax.map(
        lambda one: scan_blocks(one, X, y, regularizer, BLOCK)[0], flat, batch_size=together if together >= 8 else 20
    )
    return jax.tree.map(lambda of: of.reshape(S, N, -1).swapaxes(1, 2), forecasts)


def _second_level(experts: Forecasts, y: Float[Array, "T"]) -> dict[tuple[str, str], tuple[Array, Array]]:
    """Every combiner over both kinds of experts, which go through one loop."""
    rules = {
        "EWA": Truncated(EWA.over_range(0.0, 1.0, late_start=True)),
        "Aggregating": Truncated(Aggregating(0.0, 1.0, late_start=True)),
        "BOA": Truncated(BOA()),
        "ML-Poly": Truncated(MLPoly()),
        "ML-Prod": Truncated(MLProd()),
    }
    S = len(experts.ridge)
    both = jnp.concatenate(experts)
    results: dict[tuple[str, str], tuple[Array, Array]] = {}
    rows = jnp.concatenate([both, jnp.clip(both, 0.0, 1.0)])
    forecasts, states = jax.vmap(lambda Z: scan_blocks(None, Z, y, 1.0, BLOCK))(rows)
    for i, name in enumerate(("VAW2", "VAW2-truncated")):
        first, second, end = (2 * i * S, (2 * i + 1) * S, (2 * i + 2) * S)
        results[name, "ridge"] = forecasts.ridge[first:second], states.w[first:second]
        results[name, "vaw"] = forecasts.vaw[second:end], states.w[second:end]
    for name, rule in rules.items():
        predictions, weights = jax.vmap(lambda Z, rule=rule: play_sequence(rule, Z, y)[0])(both)
        results[name, "ridge"], results[name, "vaw"] = (predictions[:S], weights[:S]), (predictions[S:], weights[S:])
    return results


def as_json(results: Sequence[SetResult]) -> dict[str, dict[str, dict[str, list[float]]]]:
    """{set: {algorithm: {"ridge": [mse per seed], "vaw": [mse per seed]}}}; "ogd" for Raker and OMKL-GF.

    Example:
        >>> import numpy as np
        >>> from jaxonline.study.multikernel import SetResult, as_json
        >>> as_json([SetResult("a", (1, 1), {("Raker", "ogd"): np.ones(1)}, {}, {}, 0.0)])
        {'a': {'Raker': {'ogd': [1.0]}}}
    """
    table: dict[str, dict[str, dict[str, list[float]]]] = {}
    for result in results:
        rows = table.setdefault(result.name, {})
        for algorithm in ALGORITHMS:
            for (name, forecaster), mse in result.mse.items():
                if name == algorithm:
                    rows.setdefault(name, {})[forecaster] = [float(value) for value in mse]
    return table
