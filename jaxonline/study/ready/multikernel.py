"""The published table of multi-kernel online least squares, and what it should have been.

Rokhlin and Gurtovaya (2025), Table 2, names its experts after Vovk, Azoury and Warmuth; its numbers are those of
online ridge at both levels (erratum E17). Both are computed here, from the same features.
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
from jaxtyping import Array, Float
from pydantic import BeforeValidator, Field

from jaxonline import datasets, learners
from jaxonline._xla.compile_options import fast_compile_options, jitted
from jaxonline._xla.threads import in_parallel
from jaxonline.engines.expert_sequences import BLOCK, expert_jobs, play_sequence, scan_blocks
from jaxonline.estimators.dictionary import Dictionary
from jaxonline.learners import Truncated
from jaxonline.parameters.dtypes import working_dtype
from jaxonline.results.report.tables import Number, Table, Text
from jaxonline.study import Context, Report, Study
from jaxonline.study.study import load_set

SETS = ("AR(4)", "Airfoil", "Concrete")
COMBINERS = ("VAW2", "VAW2-truncated", "EWA", "Aggregating", "BOA", "ML-Poly", "ML-Prod")
BEST = "best-expert"
MAX_SEEDS = 10_000
LENGTH, WIDTH = 8192, 8  # sets are padded to at least so many rounds, and to a multiple of so many coordinates
MOST_PADDED = 2**24  # forecasts of all kernels: where they are more, rounds that nobody plays would take up memory
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
    """

    name: str
    shape: tuple[int, int]
    mse: dict[tuple[str, str], np.ndarray]
    running: dict[tuple[str, str], np.ndarray]
    weights: dict[tuple[str, str], np.ndarray]

    def by_algorithm(self) -> dict[str, dict[str, np.ndarray]]:
        """The mean squared errors {algorithm: {forecaster: [S]}}, in the order of the table."""
        found: dict[str, dict[str, np.ndarray]] = {algorithm: {} for algorithm in ALGORITHMS}
        for (algorithm, forecaster), mse in self.mse.items():
            found[algorithm][forecaster] = mse
        return found


def printed(name: str) -> dict[str, float | None]:
    """Of a set: Table 2 as printed, by algorithm."""
    numbers = PUBLISHED.get(datasets.known_as(name) or name, (None,) * len(ALGORITHMS))
    return dict(zip(ALGORITHMS, numbers, strict=True))


def parse_seeds(text: str) -> list[int]:
    """Seeds from text: "5" is the first five seeds, "0,3" or "0-4" name them ("7," is seed 7 alone).

    Raises:
        ValueError: the text is none of these, a seed is above 2^32 - 1, or they are more than `MAX_SEEDS`.
    """
    parts = [re.fullmatch(r"(\d+)(?:-(\d+))?", part.strip()) for part in text.split(",") if part.strip()]
    ranges = [range(int(part[1]), int(part[2] or part[1]) + 1) for part in parts if part]
    if re.fullmatch(r"\s*\d+\s*", text):
        ranges = [range(int(text))]
    if None in parts or not any(ranges):
        raise ValueError(f'seeds must be a number as "5" or a list as "0,1,2" or "0-4", got {text!r}')
    if max(each.stop for each in ranges) > 2**32 or sum(each.stop - each.start for each in ranges) > MAX_SEEDS:
        raise ValueError(f"seeds must be at most {MAX_SEEDS}, each below 2^32, got {text!r}")
    return [seed for each in ranges for seed in each]


def _seeds(value: Any) -> Any:
    texts = [value] if isinstance(value, str) else value
    return parse_seeds(",".join(texts)) if texts and all(isinstance(text, str) for text in texts) else value


def _places(value: Any) -> list[str]:
    """Items one by one: each may be a list with commas, unless it is a path."""
    items = [value] if isinstance(value, str | Path) else value
    parts = [[str(item)] if Path(item).exists() else str(item).split(",") for item in items]
    return [part.strip() for group in parts for part in group if part.strip()]


Places = Annotated[tuple[str, ...], BeforeValidator(_places)]


class MultiKernelTable(Study):
    """The table's numbers, with features drawn as published by NumPy's legacy generator, in float64.

    With `draws`, many more of them drawn by JAX: which differences of the table are real? (200 take some minutes.)
    """

    title: ClassVar[str] = (
        "Table 2 of the multi-kernel paper beside ours: online ridge, which was published, and VAW, which was meant."
    )
    data: Places = Field((), description="Folders and files of data, before the folder JAXONLINE_DATA.")
    sets: Places = Field(
        (),
        description="Sets, e.g. AR(4),Airfoil, or files (.npz with X and y, .csv); by default those of data, or three.",
    )
    seeds: Annotated[tuple[int, ...], BeforeValidator(_seeds)] = Field(
        (0, 1, 2, 3, 4),
        min_length=1,
        description="Of the dictionaries: how many from 0 on, or a list or range: 5, 0,1,2, 0-4.",
    )
    forward: bool = Field(False, description="Figures for true VAW instead of online ridge.")
    target: str | int | None = Field(None, description="Column of the target in CSV files, by name or number.")
    impute: Literal["mean", "median"] | None = Field(None, description="Fill gaps with the column's mean or median.")
    draws: int = Field(0, ge=0, le=1_000_000, description="Draws of the features by jax, to compare algorithms.")
    sampler: Literal["correct", "published"] = Field("correct", description="Of OMKL-GF: correct or published.")
    dtype: Literal["float64", "float32"] = Field("float64", description="float64, or float32 to see the drift.")

    def run(self, context: Context) -> Report:
        from jaxonline.study.ready import multikernel_draws as many
        from jaxonline.study.ready import multikernel_figures as figures

        loaded, rough = self.load_sets(), self.dtype == "float32"
        with jax.enable_x64(True), context.parts(len(loaded) * (1 + rough + (self.draws > 0))) as part:
            results = [self.play(each, part(each.name), self.dtype) for each in loaded]
            exact = [self.play(each, part(f"{each.name} in float64"), "float64") for each in loaded if rough]
            draws = [
                many.draw_many(name, *scaled(X, y), part(f"{name}, draws"), n_draws=self.draws)
                for name, X, y in loaded
                if self.draws
            ]
        kind = "vaw" if self.forward else "ridge"
        tables = {"table": Table("multi-kernel online least squares", _rows(results))}
        drawn = {"running": lambda: figures.running(results, kind), "weights": lambda: figures.weights(results, kind)}
        if draws:
            tables["draws"] = Table("mean squared errors over the draws", many.interval_rows(draws))
            tables["differences"] = Table("differences over the draws", many.differences(draws))
            drawn["draws"] = lambda: figures.draws(draws)
        lines = [line for each in zip(results, exact, strict=False) for line in drift(*each)]
        lines += many.summary(tables["differences"].rows) if draws else []
        return Report(
            tables, drawn, lines, numbers={each.name: each.by_algorithm() for each in results}, shown=[_shown(results)]
        )

    def load_sets(self) -> list[datasets.DataSet]:
        """The sets asked for: `sets`; or the files in `data`; or AR(4), Airfoil and Concrete.

        Raises:
            ValueError: two sets of the same name, or what `load_set` raises.
        """
        loaded: list[datasets.DataSet] = []
        for name in self.sets or [place for place in self.data if Path(place).is_file()] or SETS:
            own = datasets.known_as(str(name)) is not None
            loaded.append(load_set(name, self.data, target=None if own else self.target, impute=self.impute))
            if loaded[-1].name in [other.name for other in loaded[:-1]]:
                raise ValueError(f"sets must have different names, got {loaded[-1].name!r} twice")
        return loaded

    def play(self, data: datasets.DataSet, context: Context, dtype: str) -> SetResult:
        """All algorithms on one set, with a dictionary for each seed."""
        X, y = scaled(data.X, data.y)
        frequencies = np.stack([Dictionary.published(seed, X.shape[1]).frequencies for seed in self.seeds])
        return kept(context, data.name, X, y, frequencies, key=self.seeds[0], sampler=self.sampler, dtype=dtype)


def kept(
    context: Context, name: str, X: np.ndarray, y: np.ndarray, frequencies: np.ndarray, **options: Any
) -> SetResult:
    """`play_set`, or its numbers from the context's checkpoint."""

    def compute() -> dict[str, np.ndarray]:
        found = play_set(name, X, y, frequencies, **options)
        parts = {part: getattr(found, part) for part in ("mse", "running", "weights")}
        return {"/".join((part, *which)): of for part, numbers in parts.items() for which, of in numbers.items()}

    found: dict[str, dict] = {"mse": {}, "running": {}, "weights": {}}
    for path, numbers in context.keep((X, y, frequencies, options), compute).items():
        part, *which = path.split("/")
        found[part][tuple(which)] = numbers
    return SetResult(name, X.shape, **found)


def scaled(X: Float[np.ndarray, "n d"], y: Float[np.ndarray, "n"]) -> tuple[np.ndarray, np.ndarray]:
    """As published: X divided by its largest row norm, y mapped onto [0, 1] (Eqs. 33 and 34); equal targets onto 0."""
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
    """
    if ((y < 0) | (y > 1)).any():
        raise ValueError(f"targets must be in [0, 1], got {y.min():g} to {y.max():g}")
    with jax.enable_x64(dtype == "float64"):
        run_key = jax.random.key(key) if isinstance(key, int | np.integer) else key
        arrays = [jnp.asarray(of, working_dtype(dtype)) for of in _padded(frequencies, X, y)]
        predictions, weights = _play_set(*arrays, n=len(y), key=run_key, sampler=sampler)
    losses = {which: (of.astype(float) - y) ** 2 for which, of in predictions.items()}
    rounds = np.arange(1, len(y) + 1)
    return SetResult(
        name, X.shape,
        {which: loss.mean(axis=1) for which, loss in losses.items()},
        {which: loss.mean(axis=0).cumsum() / rounds for which, loss in losses.items()},
        {which: of[0] for which, of in weights.items()},
    )  # fmt: skip


def _padded(frequencies, X, y):
    """The same with more rounds and coordinates, zeros: sets of most sizes have one shape, and so the same programs."""
    (n, d), (S, N) = X.shape, frequencies.shape[:2]
    length = max(LENGTH, 1 << (n - 1).bit_length())
    after, beside = (0, length - n if S * N * length <= MOST_PADDED else 0), (0, -d % WIDTH)
    return np.pad(frequencies, [(0, 0)] * 3 + [beside]), np.pad(X, (after, beside)), np.pad(y, after)


def _play_set(frequencies, X, y, *, n, key, sampler):
    """Of the first n rounds: predictions [S, n] and final weights [S, N], by algorithm and forecaster."""
    S, N, *shape = frequencies.shape
    jobs, gather = expert_jobs(Dictionary(frequencies.reshape(S * N, *shape)), X, y, jnp.ones((), X.dtype), n)
    descents = [lambda: _raker(frequencies, X, y, n), lambda: _omkl_gf(frequencies, X, y, n, key, sampler)]
    raker, omkl_gf, *parts = in_parallel([*descents, *jobs])
    results = {(name, "ogd"): of for name, of in zip(DESCENT, (raker, omkl_gf), strict=True)}

    # both kinds of experts go through one loop: first S sequences of online ridge, then S of VAW
    both = np.concatenate([of.reshape(-1, S, N) for of in gather(parts)], axis=1)
    experts = jnp.asarray(both)
    combine = [lambda rule=rule: _combine(rule, experts, y, n) for rule in _rules().values()]
    second, *combined = jax.tree.map(np.asarray, in_parallel([lambda: _second_level(experts, y, n), *combine]))
    for i, name in enumerate(COMBINERS[: len(second[1])]):
        forecasts, w = jax.tree.map(operator.itemgetter(i), second)
        results[name, "ridge"], results[name, "vaw"] = (forecasts.ridge[:S], w[:S]), (forecasts.vaw[S:], w[S:])
    for name, (predictions, weights) in zip(_rules(), combined, strict=True):
        results[name, "ridge"], results[name, "vaw"] = (predictions[:S], weights[:S]), (predictions[S:], weights[S:])

    clipped = np.clip(both[:n], 0.0, 1.0)
    best = np.argmin(np.sum((clipped - np.asarray(y)[:n, None, None]) ** 2, axis=0), axis=1)
    alone = clipped[:, np.arange(len(best)), best].T
    predictions = {which: np.asarray(of[0])[:, :n] for which, of in results.items()}
    predictions |= {(BEST, "ridge"): alone[:S], (BEST, "vaw"): alone[S:]}
    return predictions, {which: np.asarray(of[1]) for which, of in results.items()}


def _rules() -> dict[str, Any]:
    """The combiners besides VAW, as published."""
    return {
        "EWA": Truncated(learners.OverAdvice(learners.EWA.over_range(0.0, 1.0), late_start=True)),
        "Aggregating": Truncated(learners.Aggregating(0.0, 1.0, late_start=True)),
        "BOA": Truncated(learners.BOA()),
        "ML-Poly": Truncated(learners.MLPoly()),
        "ML-Prod": Truncated(learners.MLProd()),
    }


_quickly = jitted(
    functools.partial(fast_compile_options, optimised=True)
)  # one program a rule, which runs for a tenth of a second


@_quickly
def _combine(rule, experts, y, n):
    return jax.vmap(lambda Z: play_sequence(rule, Z, y, None, n)[0], in_axes=1)(experts)


@_quickly
def _second_level(experts, y, n):
    """VAW over experts as they are, and over truncated ones: forecasts and final weights of each."""

    def play(low, high, Z):
        forecasts, state = scan_blocks(lambda z: jnp.clip(z, low, high), Z, y, 1.0, BLOCK, n)
        return forecasts, state.w

    ranges = jnp.array([[-jnp.inf, jnp.inf], [0.0, 1.0]], experts.dtype)
    return jax.lax.map(lambda ends: jax.vmap(functools.partial(play, *ends), in_axes=1)(experts), ranges)


@jax.jit
def _raker(frequencies, X, y, n):
    return jax.vmap(lambda one: play_sequence(learners.Raker(Dictionary(one)), X, y, None, n)[0])(frequencies)


@jax.jit(static_argnames=("sampler",))
def _omkl_gf(frequencies, X, y, n, key, sampler):
    def play(s, one):
        learner = learners.OMKLGF(Dictionary(one), sampler=sampler)
        return play_sequence(learner, X, y, jax.random.fold_in(key, s), n)[0]

    return jax.vmap(play)(jnp.arange(len(frequencies)), frequencies)


def _rows(results: Sequence[SetResult]) -> list[dict[str, Any]]:
    """One row for each set, algorithm and forecaster: MSE x 1000, as printed, mean and deviation over seeds."""
    return [
        {
            "set": result.name, "algorithm": name, "forecaster": forecaster,
            "printed": printed(result.name)[name] if forecaster != "vaw" else None,
            "mse_x1000": 1e3 * float(mse.mean()),
            "deviation_x1000": 1e3 * float(mse.std(ddof=1)) if len(mse) > 1 else None,
            "seeds": len(mse),
        }
        for result in results
        for name, of in result.by_algorithm().items()
        for forecaster, mse in of.items()
    ]  # fmt: skip


def _shown(results: Sequence[SetResult]) -> Table:
    """For each set what was printed, ours with online ridge, and true VAW."""
    rows = [
        {
            "group": f"{result.name}: {result.shape[0]:,} rounds, d = {result.shape[1]}",
            "algorithm": name, "printed": printed(result.name)[name], "vaw": None,
        }
        | {"vaw" if forecaster == "vaw" else "ridge": 1e3 * float(mse.mean()) for forecaster, mse in of.items()}
        for result in results
        for name, of in result.by_algorithm().items()
    ]  # fmt: skip
    columns = (
        Text("algorithm", "set, algorithm"),
        Number("printed", form="{:.2f}"),
        Number("ridge", "online ridge\n(as published)", "{:.5f}"),
        Number("vaw", "true VAW", "{:.5f}"),
    )
    return Table("mean squared error x 1000, mean over the seeds", rows, columns, group="group", headed=True)


def drift(rough: SetResult, exact: SetResult) -> list[str]:
    """What float32 does to the mean squared errors of the table. (OMKL-GF draws other numbers.)"""
    gaps = {
        which: abs(mse.mean() / exact.mse[which].mean() - 1)
        for which, mse in rough.mse.items()
        if which[0] != "OMKL-GF" and exact.mse[which].mean() > 0
    }
    worst = max(gaps, key=lambda which: gaps[which], default=None)
    if worst is None:
        return []
    return [f"{rough.name}: float32 moves the table by up to {gaps[worst]:.1e} of its values ({', '.join(worst)})"]
