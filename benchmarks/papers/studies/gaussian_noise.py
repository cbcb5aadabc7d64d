"""Kernel learners under growing Gaussian noise: Algorithms 1 and 2, and learners on means of copies or clean data.

Instances are on a disc, the target is in the RKHS of the Gaussian kernel exp(-|x - x'|^2), and the loss is the squared
loss. Algorithms 1 and 2 have unbiased gradient estimates. Learners that use a copy or a mean of copies as if it were
the instance have biased estimates. Steps are eta / sqrt(t). The eta of every learner is chosen from one grid, in
separate runs, by losses on clean instances, which no learner sees. The learner "Algorithm 1" is also tuned to the true
noise. The learner "Algorithm 1, told bounds" knows only bounds on |x|, on the noise and on |y|, and its eta is chosen
by losses on noisy copies.

Sources: Cesa-Bianchi, Shalev-Shwartz and Shamir 2010, distributional assumptions, section 6 (Algorithm 2); the same
authors 2010, noisy data with kernels (Algorithm 1).
"""

import dataclasses
import itertools
import math
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from benchmarks.papers.studies.gaussian_noise_figure import plot_gaussian_noise
from benchmarks.papers.studies.gaussian_noise_problem import (
    ALGORITHM_1,
    ALGORITHM_2,
    BOUND_TUNED,
    CLEAN,
    MEANS,
    NAIVE,
    NOISY,
    SEGMENTS_PER_PASS,
    Problem,
    standardised,
)
from jaxonline.comparators import rkhs_norm
from jaxonline.comparators.rkhs import gram_matrix
from jaxonline.kernels import Gaussian
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.report.tables import EXCLUDED_RUNS_COLUMNS, Interval, Number, Table, Text, pivot
from jaxonline.study import BestOf, ComparisonResult, Context, Report, Study
from jaxonline.study.comparison import (
    format_places,
    ignore_skewness_warnings,
    missing_events_sentence,
    skewness_sentences,
)
from jaxonline.study.study import Names, NotNegative, Positive, Words, load_set, select_by_name

TWO_FEATURES = "Fourier, 2 copies"
REAL_SET_LEARNERS = (CLEAN, ALGORITHM_2, ALGORITHM_1, NAIVE, *MEANS, TWO_FEATURES)


class GaussianNoise(Study):
    """Study of all learners at all noise levels, at one noise level for longer horizons, and on real sets with noise.

    Real sets are read from `data` or from the folder in the variable JAXONLINE_DATA. If `data` is not given, missing
    sets are fetched; a set that cannot be fetched is skipped, and the report says so.
    """

    title: ClassVar[str] = (
        "Algorithms 2 and 1, averages of copies and clean instances as Gaussian noise grows; real data with noise."
    )
    runs: int = Field(24, ge=2, le=1_000_000, description="Runs of each learner.")
    rounds: int = Field(4096, ge=128, le=2**20, multiple_of=4 * SEGMENTS_PER_PASS, description="The horizon.")
    only: Names = Field((), description="Learners, named as in the table; by default all.")
    data: Path | None = Field(None, description="Folder of the real sets, searched before JAXONLINE_DATA.")
    sets: Words = Field(("Airfoil", "Concrete"), description="Real sets.")
    noises: NotNegative = Field(
        (0.0, 0.1, 0.2, 0.3, 0.45, 0.6),
        min_length=1,
        description="Standard deviations of the noise; Algorithm 2 needs less than width / sqrt(2).",
    )
    shown_noise: float = Field(0.3, ge=0, description="The noise with a longer horizon.")
    etas: Positive = Field(
        (0.0006, 0.002, 0.006, 0.02, 0.06, 0.2, 0.6, 2.0), min_length=1, description="Candidate steps."
    )
    passes: int = Field(5, ge=1, le=1000, description="Passes of Algorithm 1 over the rows.")
    frequencies: int = Field(100, ge=1, le=100_000, description="Frequencies of the Fourier features.")
    width: float = Field(1.0, gt=0, description="Width of the kernel.")
    disc: float = Field(0.5, gt=0, description="Radius of the disc.")
    radius: float = Field(2.0, gt=0, description="Norm of the target and radius of the ball.")
    label_noise: float = Field(0.1, ge=0, description="Noise of the labels.")
    real_noises: NotNegative = Field(
        (0.25, 0.5), min_length=1, description="Noises of real sets, in standard deviations of a column."
    )
    real_width: float = Field(2.0, gt=0, description="Width of the kernel on real sets.")
    real_radius: float = Field(3.0, gt=0, description="Radius of the ball on real sets.")

    @model_validator(mode="after")
    def _check_noises(self) -> Self:
        for name, noises in (("noises", self.noises), ("shown_noise", (self.shown_noise,))):
            _check_surrogate(name, max(noises), "width / sqrt(2)", self.width / math.sqrt(2))
        return self

    @ignore_skewness_warnings()
    def run(self, context: Context) -> Report:
        names = list(select_by_name("only", self.only, dict.fromkeys((CLEAN, *NOISY))))
        problem, (sets, skipped) = self.problem(context.seed), self._real_sets(context.seed)
        longer = [name for name in (ALGORITHM_1, TWO_FEATURES) if name in names]
        short, steps = self.rounds // 4, BestOf({f"{eta:g}": eta for eta in self.etas})
        with context.parts(len(self.noises) + 2 + sum(len(data.noises) for data in sets)) as part:

            def run(data: Problem, noise: float, names: Any, rounds: int, tune: Any = steps) -> ComparisonResult:
                context = part(f"{data.name}, noise {noise:.3g}, {rounds:,} rounds")
                return data.run(context, noise, names, tune, n_runs=self.runs, n_rounds=rounds)

            by_noise = [
                run(problem, noise, [n for n in names if n != CLEAN or noise == 0.0], short) for noise in self.noises
            ]
            at_one = [run(problem, self.shown_noise, names, self.rounds)]
            if longer:
                at_one.append(run(problem, self.shown_noise, longer, self.passes * self.rounds, at_one[0].etas))
            real_names = [name for name in REAL_SET_LEARNERS if name in names]
            rows = {data.name: min(len(data.y), self.rounds) for data in sets}
            real = {data.name: [run(data, s, real_names, rows[data.name]) for s in data.noises] for data in sets}
        zero = {problem.name: problem.regret_of_zero(short)}
        zero |= {data.name: data.regret_of_zero(rows[data.name]) for data in sets}
        comparisons = [*by_noise, *at_one, *itertools.chain.from_iterable(real.values())]
        label = "results/{data}, noise {noise:.3g}, {rounds} rounds"
        results = {label.format(**compared.labels): compared.result for compared in comparisons}
        table_rows = [row for compared in comparisons for row in compared.rows()]
        table = Table("Kernel learners under Gaussian noise", table_rows)
        biased, limit = better_than_both(at_one[0]), self.width / math.sqrt(2)

        def draw() -> Any:
            zero_regret, noise = zero["disc"], self.shown_noise
            return plot_gaussian_noise(by_noise, at_one, zero_regret, biased, shown_noise=noise, limit=limit)

        return Report(
            {"table": table},
            {"figure": draw},
            [*self._sentences(problem, at_one, zero), *biased, *_remarks(comparisons), *skipped],
            results,
            {
                "settings": self._settings(context.seed),
                "geometry": [problem.geometry(noise) for noise in self.noises],
                "regret_of_zero": zero,
                "by_noise": [_numbers(compared) for compared in by_noise],
                "shown": _numbers(at_one[0]),
                "long": _numbers(at_one[1]) if longer else None,
                "real": {name: [_numbers(compared) for compared in own] for name, own in real.items()},
            },
            self._tables(by_noise, at_one, real),
        )

    def problem(self, seed: int) -> Problem:
        """Return the problem y = a k(c, x) - a k(-c, x) + noise, x uniform on a disc; the target has norm `radius`."""
        generator = np.random.default_rng(seed)
        distance = self.disc * np.sqrt(generator.uniform(size=self.rounds))
        angle = generator.uniform(0.0, 2.0 * math.pi, self.rounds)
        X = np.stack([distance * np.cos(angle), distance * np.sin(angle)], axis=1)
        kernel, points = Gaussian(self.width), self.disc * np.array([[1.0, 0.0], [-1.0, 0.0]])
        a = np.array([1.0, -1.0])
        a *= self.radius / rkhs_norm(kernel, points, a)
        y = gram_matrix(kernel, X, points) @ a + self.label_noise * generator.standard_normal(self.rounds)
        return Problem("disc", X, y, kernel, self.radius, self.noises, self.frequencies, points, a, self.passes)

    def real_set(self, name: str, seed: int) -> Problem:
        """Load a real data set as a problem, with its rows in random order.

        Raises a ValueError if the set is not in the given `data` or has no surrogate kernel, and an OSError if it
        cannot be fetched.
        """
        _, X, y = load_set(name, () if self.data is None else (str(self.data),))
        limit = self.real_width * math.sqrt(X.shape[1] / 2)
        _check_surrogate("real_noises", max(self.real_noises), f"real_width sqrt({X.shape[1]} / 2)", limit)
        order = np.random.default_rng(seed).permutation(len(y))
        noises = tuple(noise / math.sqrt(X.shape[1]) for noise in self.real_noises)
        kernel = Gaussian(self.real_width)
        return Problem(name, *standardised(X[order], y[order]), kernel, self.real_radius, noises, self.frequencies)

    def _real_sets(self, seed: int) -> tuple[list[Problem], list[str]]:
        problems, skipped = [], []
        for name in self.sets:
            try:
                problems.append(self.real_set(name, seed))
            except OSError as error:
                skipped.append(f"{name} is skipped: {error}")
        return problems, skipped

    def _settings(self, seed: int) -> dict[str, Any]:
        fields = (
            "runs",
            "rounds",
            "noises",
            "shown_noise",
            "width",
            "disc",
            "radius",
            "label_noise",
            "etas",
            "frequencies",
        )
        fields += "real_width", "real_radius"
        settings = self.model_dump(include=set(fields))
        settings |= {"rounds_by_noise": self.rounds // 4, "passes_of_algorithm_1": self.passes, "seed": seed}
        return settings | {"real_noises_in_deviations": self.real_noises}

    def _tables(
        self, by_noise: list[ComparisonResult], at_one: list[ComparisonResult], real: dict[str, list[ComparisonResult]]
    ) -> list[Table]:
        """Return tables: slopes and bounds at one noise by horizon, regret by noise, and regret on real sets."""
        title = "noise {:g}: regret, and the slope of its logarithm over {}"
        tables = [Table(title.format(self.shown_noise, own.slope_rounds), own.rows(), COLUMNS) for own in at_one]
        tables[0] = dataclasses.replace(tables[0], caption=CAPTION)
        labels = {f"{noise:g}": compared for noise, compared in zip(self.noises, by_noise, strict=True)}
        tables.append(_across(f"regret after {self.rounds // 4:,} rounds, by noise", labels, "{:.0f}"))
        if real:
            labels = {
                f"{name}\nnoise {relative:g} sd": compared
                for name, own in real.items()
                for relative, compared in zip(self.real_noises, own, strict=True)
            }
            tables.append(_across("regret per round on real sets, one pass", labels, "{:.3f}", per_round=True))
        return tables

    def _sentences(self, problem: Problem, at_one: list[ComparisonResult], zero: dict[str, float]) -> list[str]:
        """Return sentences on the target's geometry, learners of slope 1/2 or 1, equal queries, and the predictor 0."""
        geometry, result = problem.geometry(self.shown_noise), at_one[0].result
        growths, rounds = result.growth(at_one[0].growth_from), at_one[0].slope_rounds
        root = [name for name, growth in growths.items() if growth.low <= 0.5]
        line = [name for name, growth in growths.items() if growth.low <= 1.0 <= growth.high]
        zeros = ", ".join(f"{name} {regret:,.0f}" for name, regret in zero.items())
        sentences = [
            f"Target: beta = {math.degrees(geometry['angle']):.0f} degrees; at noise {geometry['noise']:g} "
            f"R = {geometry['constant']:.3f} and W = {geometry['W']:.3f} ({geometry['W_sharp']:.3f} by the angle, "
            f"{geometry['W_printed']:.3f} as printed).",
            f"Slope compatible with at most 1/2 over {rounds}: {', '.join(root) or 'none'}.",
            f"Slope compatible with 1 over {rounds}: {', '.join(line) or 'none'}.",
            f"Regret of the predictor 0: {zeros}.",
        ]
        if {ALGORITHM_2, "mean of 2 copies"} <= set(result.learners):
            pair = result.paired_difference(ALGORITHM_2, "mean of 2 copies")
            ends = f"{pair.mean[-1]:.1f} [{pair.low[-1]:.1f}, {pair.high[-1]:.1f}]"
            difference = f"At two queries a round, Algorithm 2's regret minus that of the mean of 2 copies: {ends}."
            sentences.insert(3, difference)
        risks = at_one[-1].result.meta["overflow_probability"]
        if risks.get(ALGORITHM_1):
            sentences.append(f"Algorithm 1 runs out of storage with probability {risks[ALGORITHM_1]:.1g} in a run.")
        return sentences


COLUMNS = (
    Text("learner"),
    Number("rounds", form="{:,}"),
    Number("queries_per_round", "queries\n/round", "{:.2f}"),
    Interval("regret", "regret\n(95 %)", "{:,.1f}"),
    Interval("slope", "slope\n(95 %)", "{:.2f}", brackets=True),
    Number("bound", form="{:,.0f}"),
    *EXCLUDED_RUNS_COLUMNS,
)


CAPTION = (
    "Steps are chosen in other runs, by losses on clean instances, which no learner sees. Algorithm 1's distributions "
    "are made for the moments of the copies at this noise, those of 'told bounds' for bounds on |x|, |y|, the noise; "
    "its step is chosen by losses on noisy copies."
)
UNBIASED_LEARNERS = (CLEAN, ALGORITHM_2, ALGORITHM_1, BOUND_TUNED)


def better_than_both(compared: ComparisonResult) -> list[str]:
    """Return a sentence on biased learners that have less regret at the horizon than Algorithms 1 and 2, if any."""
    result, better = compared.result, []
    both = [name for name in (ALGORITHM_2, ALGORITHM_1) if name in result.learners]
    for name in result.learners if len(both) == 2 else ():
        pairs = [] if name in UNBIASED_LEARNERS else [result.paired_difference(name, other) for other in both]
        if pairs and all(pair.high[-1] < 0 for pair in pairs):
            least = max(pairs, key=lambda pair: pair.mean[-1])
            ends = f"{-least.mean[-1]:.1f} [{-least.high[-1]:.1f}, {-least.low[-1]:.1f}]"
            copies = result.mean("queries").mean[result.learners.index(name), -1] / result.rounds[-1]
            better.append(f"{name} ({copies:.3g} queries a round) by {ends} or more")
    if not better:
        return []
    setting = f"noise {compared.labels['noise']:g}, {result.rounds[-1]:,} rounds"
    return [f"Biased learners with less regret than Algorithms 1 and 2 ({setting}): {'; '.join(better)}."]


def _remarks(comparisons: list[ComparisonResult]) -> list[str]:
    label = "{data} {noise:.3g}, {rounds:,} rounds"
    by_label = {label.format(**compared.labels): compared for compared in comparisons}
    edge = format_places({label: compared.at_edge for label, compared in by_label.items()})
    return [
        f"The step is at the edge of the candidates, and a better one may lie beyond, for: {edge}.",
        *skewness_sentences(by_label),
        missing_events_sentence(by_label),
    ]


def _check_surrogate(name: str, noise: float, formula: str, limit: float) -> None:
    if noise >= limit:
        raise ArgumentError(name, f"must be below {formula} = {limit:.3g} (got {noise:g})")


def _numbers(compared: ComparisonResult) -> dict[str, Any]:
    """Return numbers for JSON; `growth` is the log-log slope of the regret over the second half of the rounds."""
    curves = compared.curves()
    for name, numbers in curves["learners"].items():
        numbers["eta"] = compared.etas[name]
    return {"noise": compared.labels["noise"], "growth_from": compared.growth_from} | curves


def _across(title: str, comparisons: dict[str, ComparisonResult], form: str, per_round: bool = False) -> Table:
    rows, labels = [], []
    for label, compared in comparisons.items():
        for row in compared.rows():
            scale = row["rounds"] if per_round else 1
            rows.append({"learner": row["learner"]} | {key: row[key] / scale for key in ("regret", "low", "high")})
            labels.append(label)
    wide = pivot(rows, "learner", labels, "regret")
    wide.sort(key=lambda row: (CLEAN, *NOISY).index(row["learner"]))
    return Table(title, wide, (Text("learner"), *(Interval(label, form=form) for label in comparisons)))
