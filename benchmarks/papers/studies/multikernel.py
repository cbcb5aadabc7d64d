"""Table 2 of Rokhlin and Gurtovaya (2025) on multi-kernel online least squares: printed and corrected numbers.

The paper's table names its experts after Vovk, Azoury and Warmuth (VAW). Online ridge at both levels reproduces most of
its numbers in all digits (E17). Both forecasters are computed here from the same features.
"""

import functools
import operator
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Literal, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Float
from pydantic import BeforeValidator, Field

from benchmarks.papers.claims.multikernel import COLUMNS as PRINTED_COLUMNS
from benchmarks.papers.claims.multikernel import PRINTED_TABLE_2
from benchmarks.papers.engines.kernels import BLOCK_ROUNDS, expert_jobs, play_sequence, scan_blocks, working_dtype
from benchmarks.papers.engines.omkl_gf import OMKLGF
from benchmarks.papers.studies import figures
from benchmarks.papers.study import Study, load_set
from jaxonline import datasets, learners
from jaxonline._xla.compile_options import fast_compile_options, jit_with_options
from jaxonline._xla.threads import run_parallel
from jaxonline.estimators.fourier import Dictionary
from jaxonline.game import LearnerWrapper, Specs
from jaxonline.learners import Truncated
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Component
from jaxonline.results.report.plotting import line_looks
from jaxonline.results.report.tables import Number, Table, Text
from jaxonline.study import Context, Report

MAX_SEEDS = 10_000
SETS = ("AR(4)", "Airfoil", "Concrete")
COMBINERS = ("VAW2", "VAW2-truncated", "EWA", "Aggregating", "BOA", "ML-Poly", "ML-Prod")
BEST = "best-expert"
DESCENT = ("Raker", "OMKL-GF")
ALGORITHMS = (*COMBINERS, BEST, *DESCENT)
MIN_ROUNDS, WIDTH_MULTIPLE = 8192, 8  # padding: minimum of rounds, and multiple of coordinates
MAX_PADDED_FORECASTS = 2**24  # above it, rounds are not padded, to save memory
NAMES = {"ridge": "online ridge (as published)", "vaw": "true VAW"}
COLUMNS = (
    Text("group", "set"), Text("algorithm"), Number("printed", form="{:.2f}"),
    Number("ridge", "online ridge\n(as published)", "{:.5f}"), Number("vaw", "true VAW", "{:.5f}"),
)  # fmt: skip


def parse_seeds(text: str) -> list[int]:
    """Parse seeds: "5" means the first five seeds, "0,3" and "0-4" list the seeds, and "7," means only seed 7.

    Raises a ValueError for other text, a seed above 2^32 - 1, or more than `MAX_SEEDS`.
    """
    matches = [re.fullmatch(r"(\d+)(?:-(\d+))?", item.strip()) for item in text.split(",") if item.strip()]
    ranges = [range(int(match[1]), int(match[2] or match[1]) + 1) for match in matches if match]
    if re.fullmatch(r"\s*\d+\s*", text):
        ranges = [range(int(text))]
    if None in matches or not any(ranges):
        raise ArgumentError("seeds", f'must be a number as "5" or a list as "0,1,2" or "0-4" (got {text!r})')
    if max(span.stop for span in ranges) > 2**32 or sum(span.stop - span.start for span in ranges) > MAX_SEEDS:
        raise ArgumentError("seeds", f"must be at most {MAX_SEEDS}, each below 2^32 (got {text!r})")
    return [seed for span in ranges for seed in span]


def _seeds(value: Any) -> Any:
    texts = [value] if isinstance(value, str) else value
    return parse_seeds(",".join(texts)) if texts and all(isinstance(text, str) for text in texts) else value


def _split_items(value: Any) -> list[str]:
    items = [value] if isinstance(value, str | Path) else value
    groups = [[str(item)] if Path(item).exists() else str(item).split(",") for item in items]
    return [item.strip() for group in groups for item in group if item.strip()]


Items = Annotated[tuple[str, ...], BeforeValidator(_split_items)]


class MultiKernelTable(Study):
    """Study that computes the paper's Table 2 in float64, with features of NumPy's legacy generator as published."""

    title: ClassVar[str] = "Table 2 of the multi-kernel paper beside ours: as published, and with VAW."
    data: Items = Field((), description="Folders and files of data, searched before JAXONLINE_DATA.")
    sets: Items = Field((), description="Sets such as AR(4),Airfoil, or files (.npz, .csv); by default data, or three.")
    seeds: Annotated[tuple[int, ...], BeforeValidator(_seeds)] = Field(
        (0, 1, 2, 3, 4),
        min_length=1,
        description="Seeds of the dictionaries: their number, a list or a range: 5, 0,1,2, 0-4.",
    )
    target: str | int | None = Field(None, description="Column of the target in CSV files, by name or number.")
    sampler: Literal["correct", "published"] = Field("correct", description="Sampler of OMKL-GF.")

    def run(self, context: Context) -> Report:
        loaded = self.load_sets()
        with jax.enable_x64(True), context.parts(len(loaded)) as part:
            results = [self.run_set(data, part(data.name)) for data in loaded]
        rows, shown = [], []
        for result in results:
            group = f"{result.name}: {result.shape[0]:,} rounds, d = {result.shape[1]}"
            for name, errors in result.by_algorithm().items():
                paper = printed(result.name)[name]
                rows += [_row(result.name, name, kind, paper, mse) for kind, mse in errors.items()]
                means = {"vaw" if kind == "vaw" else "ridge": 1e3 * float(mse.mean()) for kind, mse in errors.items()}
                shown.append({"group": group, "algorithm": name, "printed": paper, "vaw": None} | means)
        title = "mean squared error x 1000, mean over the seeds"
        return Report(
            {"table": Table("multi-kernel online least squares", rows)},
            {"running": lambda: plot_running(results), "weights": lambda: plot_weights(results)},
            numbers={result.name: result.by_algorithm() for result in results},
            shown=[Table(title, shown, COLUMNS, group="group")],
        )

    def load_sets(self) -> list[datasets.DataSet]:
        """Load the sets `sets` or the files in `data`; by default AR(4), Airfoil, Concrete. Names must be distinct."""
        loaded: list[datasets.DataSet] = []
        for name in self.sets or [path for path in self.data if Path(path).is_file()] or SETS:
            is_known = datasets.canonical_name(str(name)) is not None
            loaded.append(load_set(name, self.data, target=None if is_known else self.target))
            if loaded[-1].name in [other.name for other in loaded[:-1]]:
                raise ArgumentError("sets", f"must have different names (got {loaded[-1].name!r} twice)")
        return loaded

    def run_set(self, data: datasets.DataSet, context: Context, dtype: str = "float64") -> "SetResult":
        """Run all algorithms on one data set, with one dictionary of random features per seed.

        The result is read from the context's checkpoint if it is stored there.
        """
        X, y = scaled(data.X, data.y)
        frequencies = np.stack([Dictionary.published(seed, X.shape[1]).frequencies for seed in self.seeds])
        options = {"seed": self.seeds[0], "sampler": self.sampler, "dtype": dtype}

        def compute() -> dict[str, np.ndarray]:
            result = run_set(data.name, X, y, frequencies, **options)
            fields = {field: getattr(result, field) for field in ("mse", "running", "weights")}
            return {"/".join((field, *which)): array for field, own in fields.items() for which, array in own.items()}

        fields: dict[str, dict] = {"mse": {}, "running": {}, "weights": {}}
        for path, numbers in context.compute_once((X, y, frequencies, options), compute).items():
            field, *which = path.split("/")
            fields[field][tuple(which)] = numbers
        return SetResult(data.name, X.shape, **fields)


def _row(data: str, algorithm: str, forecaster: str, paper: float | None, mse: np.ndarray) -> dict[str, Any]:
    """Return the printed MSE x 1000, and mean and deviation over seeds, of one set, algorithm and forecaster."""
    return {
        "set": data, "algorithm": algorithm, "forecaster": forecaster,
        "printed": paper if forecaster != "vaw" else None, "mse_x1000": 1e3 * float(mse.mean()),
        "deviation_x1000": 1e3 * float(mse.std(ddof=1)) if len(mse) > 1 else None, "seeds": len(mse),
    }  # fmt: skip


@figures.paper_style
def plot_running(results: Sequence["SetResult"], forecaster: str = "ridge") -> Any:
    """Plot the mean squared error up to each round, averaged over dictionaries, with one panel per data set."""
    title = f"Running mean squared error, experts: {NAMES[forecaster]}"
    figure, panels = figures.grid(len(results), 3, 2.4, title)
    algorithms = [name for name in ALGORITHMS if name not in ("VAW2-truncated", BEST)]
    for axes, result in zip(panels, results, strict=True):
        curves = [result.running[name, "ogd" if name in DESCENT else forecaster] for name in algorithms]
        for name, curve, look in zip(algorithms, curves, line_looks(len(curves)), strict=True):
            rounds = np.arange(1, len(curve) + 1)[len(curve) // 100 :]
            axes.plot(rounds, 1e3 * curve[rounds - 1], **look, label=name)
        is_zero = not np.any(curves)  # all errors are 0 if all targets are equal
        figures.finish(axes, "round", "running mean squared error x 1000", result.name, "x" if is_zero else "xy")
    figures.legend_below(figure, 4, panels[0])
    return figure


@figures.paper_style
def plot_weights(results: Sequence["SetResult"], forecaster: str = "ridge") -> Any:
    """Plot the kernels' weights after the last round, for the first dictionary, with one panel per data set."""
    title = f"Final weights, experts: {NAMES[forecaster]}"
    figure, panels = figures.grid(len(results), 3, 2.4, title)
    for axes, result in zip(panels, results, strict=True):
        for name, look in zip(("VAW2", "EWA", "ML-Prod"), line_looks(3), strict=True):
            points = {"color": look["color"], "marker": look["marker"], "ls": "none"}
            axes.plot(result.weights[name, forecaster], **points, label=name)
        figures.finish(axes, "kernel", "weight after the last round", result.name)
    figures.legend_below(figure, 4, panels[0])
    return figure


# ---------------------------------------------------------------------------------------------------------------------
# Simulation of all algorithms on one data set, with several random dictionaries


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
    numbers = PRINTED_TABLE_2.get(datasets.canonical_name(name) or name, (None,) * len(PRINTED_COLUMNS))
    by_algorithm: dict[str, float | None] = dict(zip(PRINTED_COLUMNS, numbers, strict=True))
    return {algorithm: by_algorithm.get(algorithm) for algorithm in ALGORITHMS}


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


@struct
class LateStart(LearnerWrapper):
    """A learner that predicts 0 in round 1 and ignores this round, as in the experiments of the paper.

    Its state is whether round 1 is over, and the state of the learner.
    """

    learner: Annotated[Any, Component("learner")]

    def init(self, key: Any, specs: Specs) -> tuple[jax.Array, Any]:
        """Return the state before round 1."""
        return jnp.asarray(False), self.learner.init(key, specs)

    def predict(self, key: Any, state: tuple[jax.Array, Any], x: jax.Array) -> jax.Array:
        """Return the prediction of the learner, or 0 in round 1."""
        started, inner = state
        return jnp.where(started, self.learner.predict(key, inner, x), 0.0)

    def update(self, key: Any, state: tuple[jax.Array, Any], oracle: Any) -> tuple[tuple[jax.Array, Any], Any]:
        """Update the learner, except in round 1."""
        started, inner = state
        updated, info = self.learner.update(key, inner, oracle)
        return (jnp.asarray(True), jax.tree.map(functools.partial(jnp.where, started), updated, inner)), info

    def weights(self, state: tuple[jax.Array, Any]) -> jax.Array:
        """Return the weights of the experts."""
        return self.learner.weights(state[1])


def _rules() -> dict[str, Any]:
    return {
        "EWA": Truncated(LateStart(learners.OverAdvice(learners.EWA.over_range(0.0, 1.0)))),
        "Aggregating": Truncated(LateStart(learners.Aggregating(0.0, 1.0))),
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
        learner = OMKLGF(Dictionary(draw), sampler=sampler)
        return play_sequence(learner, X, y, jax.random.fold_in(key, s), n)[0]

    return jax.vmap(play)(jnp.arange(len(frequencies)), frequencies)
