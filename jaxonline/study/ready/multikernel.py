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

from jaxonline import datasets
from jaxonline._util.precision import working_dtype
from jaxonline._util.threads import in_parallel
from jaxonline.estimators.dictionary import Dictionary
from jaxonline.learners.experts.aggregating import Aggregating
from jaxonline.learners.experts.boa import BOA
from jaxonline.learners.experts.ewa import EWA
from jaxonline.learners.experts.ml_poly import MLPoly
from jaxonline.learners.experts.ml_prod import MLProd
from jaxonline.learners.experts.over_advice import OverAdvice
from jaxonline.learners.experts.truncated import Truncated
from jaxonline.learners.offline import BLOCK, expert_jobs, play_sequence, scan_blocks
from jaxonline.learners.omkl_gf import OMKLGF
from jaxonline.learners.raker import Raker

SETS = ("AR(4)", "Airfoil", "Concrete")
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
        >>> from jaxonline.study.ready.multikernel import SetResult
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
        target: column of the target, for files of columns. (Sets known by name have their own.)
        impute: "mean" or "median", for files with gaps.
        sampler: of `OMKLGF`, "correct" or "published".
        dtype: "float64", or "float32" to see the drift.
        progress: called with a line after each set.

    Raises:
        ValueError: no seed, two sets of the same name, or what `datasets.load` raises.

    Example:
        >>> import pathlib, tempfile
        >>> import numpy as np
        >>> from jaxonline.study.ready.multikernel import reproduce
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
    for name, X, y in load_sets(sets, data, target=target, impute=impute):
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
        >>> from jaxonline.study.ready.multikernel import chosen_sets
        >>> chosen_sets(None, None)
        ('AR(4)', 'Airfoil', 'Concrete')
    """
    if sets:
        return sets
    places = [data] if isinstance(data, str | Path) else list(data or ())
    return [Path(place) for place in places if Path(place).is_file()] or SETS


def load_sets(
    sets: Sequence[str | Path] | None = None,
    data: str | Path | Sequence[str | Path] | None = None,
    *,
    target: str | int | None = None,
    impute: str | None = None,
) -> list[datasets.DataSet]:
    """The sets that `reproduce` plays, with the same arguments.

    Raises:
        ValueError: two sets of the same name, or what `datasets.load` raises.

    Example:
        >>> from jaxonline.study.ready.multikernel import load_sets
        >>> [(name, X.shape) for name, X, y in load_sets(["ar4"])]
        [('ar4', (5000, 4))]
    """
    loaded = []
    for name in chosen_sets(sets, data):
        own = datasets.known_as(str(name)) is not None
        loaded.append(datasets.load(name, data, target=None if own else target, impute=impute))
        if loaded[-1].name in [other.name for other in loaded[:-1]]:
            raise ValueError(f"sets must have different names, got {loaded[-1].name!r} twice")
    return loaded


def scaled(X: Float[np.ndarray, "n d"], y: Float[np.ndarray, "n"]) -> tuple[np.ndarray, np.ndarray]:
    """As published: X divided by its largest row norm, y mapped onto [0, 1] (Eqs. 33 and 34); equal targets onto 0.

    Example:
        >>> import numpy as np
        >>> from jaxonline.study.ready.multikernel import scaled
        >>> [part.tolist() for part in scaled(np.array([[0.0, 2.0], [1.0, 0.0]]), np.array([3.0, 5.0]))]
        [[[0.0, 1.0], [0.5, 0.0]], [0.0, 1.0]]
    """
    norm, width = float(np.linalg.norm(X, axis=1).max()), float(np.ptp(y))
    return X / (norm or 1.0), (y - y.min()) / (width or 1.0)


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
        >>> from jaxonline.study.ready.multikernel import play_set
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
        arrays = jnp.asarray(frequencies, kind), jnp.asarray(X, kind), jnp.asarray(y, kind)
        predictions, weights = jax.tree.map(np.asarray, _play_set(*arrays, run_key, sampler))
    losses = {which: (of.astype(float) - y) ** 2 for which, of in predictions.items()}
    rounds = np.arange(1, len(y) + 1)
    return SetResult(
        name, X.shape,
        {which: loss.mean(axis=1) for which, loss in losses.items()},
        {which: loss.mean(axis=0).cumsum() / rounds for which, loss in losses.items()},
        {which: of[0] for which, of in weights.items()},
        time.perf_counter() - began,
    )  # fmt: skip


def _play_set(frequencies, X, y, key, sampler):
    """Predictions [S, T] and final weights [S, N] by algorithm and forecaster."""
    S, N, *shape = frequencies.shape
    keys = jax.vmap(lambda s: jax.random.fold_in(key, s))(jnp.arange(S))
    jobs, gather = expert_jobs(Dictionary(frequencies.reshape(S * N, *shape)), X, y, jnp.ones((), X.dtype))
    descents = [lambda: _raker(frequencies, X, y), lambda: _omkl_gf(frequencies, X, y, keys, sampler)]
    *parts, raker, omkl_gf = in_parallel([*jobs, *descents])
    results = {(name, "ogd"): of for name, of in zip(DESCENT, (raker, omkl_gf), strict=True)}

    # both kinds of experts go through one loop: first S sequences of online ridge, then S of VAW
    both = jnp.concatenate([of.reshape(-1, S, N).swapaxes(0, 1) for of in gather(parts)])
    combine = [lambda rule=rule: _combine(rule, both, y) for rule in _rules().values()]
    second, *combined = in_parallel([lambda: _second_level(both, y), *combine])
    for name, (forecasts, states) in zip(COMBINERS, second, strict=False):
        results[name, "ridge"] = forecasts.ridge[:S], states.w[:S]
        results[name, "vaw"] = forecasts.vaw[S:], states.w[S:]
    for name, (predictions, weights) in zip(_rules(), combined, strict=True):
        results[name, "ridge"], results[name, "vaw"] = (predictions[:S], weights[:S]), (predictions[S:], weights[S:])

    clipped = jnp.clip(both, 0.0, 1.0)
    best = jnp.argmin(jnp.sum((clipped - y[None, :, None]) ** 2, axis=1), axis=1)
    alone = jnp.take_along_axis(clipped, best[:, None, None], axis=2)[:, :, 0]
    predictions = {which: of[0] for which, of in results.items()}
    predictions |= {(BEST, "ridge"): alone[:S], (BEST, "vaw"): alone[S:]}
    return predictions, {which: of[1] for which, of in results.items()}


def _rules() -> dict[str, Any]:
    """The combiners besides VAW, as published."""
    return {
        "EWA": Truncated(OverAdvice(EWA.over_range(0.0, 1.0), late_start=True)),
        "Aggregating": Truncated(Aggregating(0.0, 1.0, late_start=True)),
        "BOA": Truncated(BOA()),
        "ML-Poly": Truncated(MLPoly()),
        "ML-Prod": Truncated(MLProd()),
    }


@jax.jit
def _combine(rule, experts, y):
    return jax.vmap(lambda Z: play_sequence(rule, Z, y)[0])(experts)


@jax.jit
def _second_level(experts, y):
    """VAW over experts as they are, and over truncated ones."""
    play = jax.vmap(lambda Z: scan_blocks(None, Z, y, 1.0, BLOCK))
    return play(experts), play(jnp.clip(experts, 0.0, 1.0))


@jax.jit
def _raker(frequencies, X, y):
    return jax.vmap(lambda one: play_sequence(Raker(Dictionary(one)), X, y)[0])(frequencies)


@jax.jit(static_argnames=("sampler",))
def _omkl_gf(frequencies, X, y, keys, sampler):
    learner = lambda one: OMKLGF(Dictionary(one), sampler=sampler)  # noqa: E731
    return jax.vmap(lambda one, key: play_sequence(learner(one), X, y, key)[0])(frequencies, keys)


def as_json(results: Sequence[SetResult]) -> dict[str, dict[str, dict[str, list[float]]]]:
    """{set: {algorithm: {"ridge": [mse per seed], "vaw": [mse per seed]}}}; "ogd" for Raker and OMKL-GF.

    Example:
        >>> import numpy as np
        >>> from jaxonline.study.ready.multikernel import SetResult, as_json
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
