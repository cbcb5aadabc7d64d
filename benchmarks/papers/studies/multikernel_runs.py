"""Simulation of all algorithms of the multi-kernel paper on one data set, with several random dictionaries."""

import functools
import operator
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float

from benchmarks.papers.claims.multikernel import COLUMNS, PRINTED_TABLE_2
from benchmarks.papers.engines.expert_sequences import play_sequence
from benchmarks.papers.engines.kernel_forecasts import expert_jobs
from benchmarks.papers.engines.vaw_blocks import BLOCK_ROUNDS, scan_blocks
from jaxonline import datasets, learners
from jaxonline._xla.compile_options import fast_compile_options, jit_with_options
from jaxonline._xla.threads import run_parallel
from jaxonline.estimators.dictionary import Dictionary
from jaxonline.learners import Truncated
from jaxonline.parameters.dtypes import working_dtype
from jaxonline.parameters.errors import ArgumentError
from jaxonline.study import Context

COMBINERS = ("VAW2", "VAW2-truncated", "EWA", "Aggregating", "BOA", "ML-Poly", "ML-Prod")
BEST = "best-expert"
MIN_ROUNDS, WIDTH_MULTIPLE = 8192, 8  # padding: minimum of rounds, and multiple of coordinates
MAX_PADDED_FORECASTS = 2**24  # above it, rounds are not padded, to save memory
DESCENT = ("Raker", "OMKL-GF")
ALGORITHMS = (*COMBINERS, BEST, *DESCENT)


class SetResult(NamedTuple):
    """Results on one data set by algorithm and forecaster: "ridge" or "vaw", and "ogd" for Raker and OMKL-GF."""

    name: str
    shape: tuple[int, int]  # of its instances
    mse: dict[tuple[str, str], np.ndarray]  # mean squared error of each dictionary [S]
    running: dict[tuple[str, str], np.ndarray]  # mean squared error up to each round, mean over dictionaries [T]
    weights: dict[tuple[str, str], np.ndarray]  # of the kernels after the last round, first dictionary [N]

    def by_algorithm(self) -> dict[str, dict[str, np.ndarray]]:
        """Return the mean squared errors {algorithm: {forecaster: [S]}} in the order of the table."""
        errors: dict[str, dict[str, np.ndarray]] = {algorithm: {} for algorithm in ALGORITHMS}
        for (algorithm, forecaster), mse in self.mse.items():
            errors[algorithm][forecaster] = mse
        return errors


def printed(name: str) -> dict[str, float | None]:
    """Return the column of the paper's printed Table 2 for a data set, by algorithm."""
    numbers = PRINTED_TABLE_2.get(datasets.canonical_name(name) or name, (None,) * len(COLUMNS))
    by_algorithm: dict[str, float | None] = dict(zip(COLUMNS, numbers, strict=True))
    return {algorithm: by_algorithm.get(algorithm) for algorithm in ALGORITHMS}


def run_set_once(
    context: Context, name: str, X: np.ndarray, y: np.ndarray, frequencies: np.ndarray, **options: Any
) -> SetResult:
    """Return the result of `run_set`, read from the context's checkpoint if the result is stored there."""

    def compute() -> dict[str, np.ndarray]:
        result = run_set(name, X, y, frequencies, **options)
        fields = {field: getattr(result, field) for field in ("mse", "running", "weights")}
        return {"/".join((field, *which)): array for field, arrays in fields.items() for which, array in arrays.items()}

    numbers_by_field: dict[str, dict] = {"mse": {}, "running": {}, "weights": {}}
    for path, numbers in context.compute_once((X, y, frequencies, options), compute).items():
        field, *which = path.split("/")
        numbers_by_field[field][tuple(which)] = numbers
    return SetResult(name, X.shape, **numbers_by_field)


def scaled(X: Float[np.ndarray, "n d"], y: Float[np.ndarray, "n"]) -> tuple[np.ndarray, np.ndarray]:
    """Scale data as in the paper: X by its largest row norm, y to [0, 1] (Eqs. 33 and 34); equal targets become 0."""
    norm, width = float(np.linalg.norm(X, axis=1).max()), float(np.ptp(y))
    return X / (norm or 1.0), (y - y.min()) / (width or 1.0)


def run_set(
    name: str,
    X: Float[np.ndarray, "T d"],
    y: Float[np.ndarray, "T"],
    frequencies: Float[np.ndarray, "S N m d"],
    *,
    seed: int = 0,
    sampler: str = "correct",
    dtype: str = "float64",
) -> SetResult:
    """Run all algorithms on one data set with S dictionaries of N kernels; targets must be in [0, 1].

    `seed` is that of OMKL-GF's random draws, and `sampler` is OMKL-GF's sampler. float64 is enabled only inside this
    call.
    """
    if ((y < 0) | (y > 1)).any():
        raise ArgumentError("targets", f"must be in [0, 1] (got {y.min():g} to {y.max():g})")
    with jax.enable_x64(dtype == "float64"):
        arrays = [jnp.asarray(array, working_dtype(dtype)) for array in _padded(frequencies, X, y)]
        predictions, weights = _run_set(*arrays, n=len(y), key=jax.random.key(seed), sampler=sampler)
    losses = {which: (array.astype(float) - y) ** 2 for which, array in predictions.items()}
    rounds = np.arange(1, len(y) + 1)
    return SetResult(
        name, X.shape,
        {which: loss.mean(axis=1) for which, loss in losses.items()},
        {which: loss.mean(axis=0).cumsum() / rounds for which, loss in losses.items()},
        {which: array[0] for which, array in weights.items()},
    )  # fmt: skip


def _padded(frequencies, X, y):
    """Pad rounds and coordinates with zeros, so that most data sets share one shape and thus compiled programs."""
    (n, d), (S, N) = X.shape, frequencies.shape[:2]
    length = max(MIN_ROUNDS, 1 << (n - 1).bit_length())
    extra_rounds, extra_coordinates = (
        (0, length - n if S * N * length <= MAX_PADDED_FORECASTS else 0),
        (0, -d % WIDTH_MULTIPLE),
    )
    return (
        np.pad(frequencies, [(0, 0)] * 3 + [extra_coordinates]),
        np.pad(X, (extra_rounds, extra_coordinates)),
        np.pad(y, extra_rounds),
    )


def _run_set(frequencies, X, y, *, n, key, sampler):
    """Return predictions [S, n] of the first n rounds and final weights [S, N], by algorithm and forecaster."""
    S, N, *shape = frequencies.shape
    jobs, gather = expert_jobs(Dictionary(frequencies.reshape(S * N, *shape)), X, y, jnp.ones((), X.dtype), n)
    descents = [lambda: _raker(frequencies, X, y, n), lambda: _omkl_gf(frequencies, X, y, n, key, sampler)]
    raker, omkl_gf, *job_results = run_parallel([*descents, *jobs])
    results = {(name, "ogd"): result for name, result in zip(DESCENT, (raker, omkl_gf), strict=True)}

    # One loop for both kinds of experts: first S sequences of online ridge, then S of VAW.
    both = np.concatenate([forecasts.reshape(-1, S, N) for forecasts in gather(job_results)], axis=1)
    experts = jnp.asarray(both)
    combine = [lambda rule=rule: _combine(rule, experts, y, n) for rule in _rules().values()]
    second, *combined = jax.tree.map(np.asarray, run_parallel([lambda: _second_level(experts, y, n), *combine]))
    for i, name in enumerate(COMBINERS[: len(second[1])]):
        forecasts, w = jax.tree.map(operator.itemgetter(i), second)
        results[name, "ridge"], results[name, "vaw"] = (forecasts.ridge[:S], w[:S]), (forecasts.vaw[S:], w[S:])
    for name, (predictions, weights) in zip(_rules(), combined, strict=True):
        results[name, "ridge"], results[name, "vaw"] = (predictions[:S], weights[:S]), (predictions[S:], weights[S:])

    clipped = np.clip(both[:n], 0.0, 1.0)
    best = np.argmin(np.sum((clipped - np.asarray(y)[:n, None, None]) ** 2, axis=0), axis=1)
    alone = clipped[:, np.arange(len(best)), best].T
    predictions = {which: np.asarray(result[0])[:, :n] for which, result in results.items()}
    predictions |= {(BEST, "ridge"): alone[:S], (BEST, "vaw"): alone[S:]}
    return predictions, {which: np.asarray(result[1]) for which, result in results.items()}


def _rules() -> dict[str, Any]:
    return {
        "EWA": Truncated(learners.OverAdvice(learners.EWA.over_range(0.0, 1.0), late_start=True)),
        "Aggregating": Truncated(learners.Aggregating(0.0, 1.0, late_start=True)),
        "BOA": Truncated(learners.BOA()),
        "ML-Poly": Truncated(learners.MLPoly()),
        "ML-Prod": Truncated(learners.MLProd()),
    }


_fast_jit = jit_with_options(functools.partial(fast_compile_options, optimised=True))  # each program runs for 0.1 s


@_fast_jit
def _combine(rule, experts, y, n):
    return jax.vmap(lambda Z: play_sequence(rule, Z, y, None, n)[0], in_axes=1)(experts)


@_fast_jit
def _second_level(experts, y, n):
    """Return the forecasts and final weights of VAW over plain experts and of VAW over truncated experts."""

    def play(low, high, Z):
        forecasts, state = scan_blocks(lambda z: jnp.clip(z, low, high), Z, y, 1.0, BLOCK_ROUNDS, n)
        return forecasts, state.w

    ranges = jnp.array([[-jnp.inf, jnp.inf], [0.0, 1.0]], experts.dtype)
    return jax.lax.map(lambda ends: jax.vmap(functools.partial(play, *ends), in_axes=1)(experts), ranges)


@jax.jit
def _raker(frequencies, X, y, n):
    return jax.vmap(lambda draw: play_sequence(learners.Raker(Dictionary(draw)), X, y, None, n)[0])(frequencies)


@jax.jit(static_argnames=("sampler",))
def _omkl_gf(frequencies, X, y, n, key, sampler):
    def play(s, draw):
        learner = learners.OMKLGF(Dictionary(draw), sampler=sampler)
        return play_sequence(learner, X, y, jax.random.fold_in(key, s), n)[0]

    return jax.vmap(play)(jnp.arange(len(frequencies)), frequencies)
