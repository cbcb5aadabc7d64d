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
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, ClassVar, Self

import jax
import numpy as np
from pydantic import Field, model_validator

from benchmarks.papers.claims.surrogates import printed_surrogate_radius
from benchmarks.papers.comparison import BestOf, Comparison, ComparisonResult
from benchmarks.papers.studies import figures
from benchmarks.papers.study import Names, NotNegative, Positive, Study, Words, load_set, select_by_name
from jaxonline import bounds, estimators, learners
from jaxonline.comparators import RKHSBall, positive_negative_angle, rkhs_norm
from jaxonline.comparators.rkhs import gram_matrix
from jaxonline.environments import DataStream
from jaxonline.feedback import FullInformation, NoisyCopies, noise
from jaxonline.game import Game, LearnerWrapper, Specs, WithFeedback
from jaxonline.kernels import Gaussian
from jaxonline.losses import Squared
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import struct
from jaxonline.parameters.types import Component
from jaxonline.results.report.plotting import COLOURS, bound_look, set_log_scale
from jaxonline.results.report.tables import EXCLUDED_RUNS_COLUMNS, Interval, Number, Table, Text
from jaxonline.results.tuned import Tuned
from jaxonline.study import Context, Report
from jaxonline.study.study import ignore_skewness_warnings

CLEAN, ALGORITHM_1, ALGORITHM_2 = "clean instances", "Algorithm 1", "Algorithm 2"
BOUND_TUNED, NAIVE, TWO_FEATURES = "Algorithm 1, told bounds", "one copy", "Fourier, 2 copies"
MEANS = {f"mean of {n} copies": n for n in (2, 5, 20)}
FOURIER = {  # noise shrinks each mean feature by exp(-|omega|^2 sigma^2 / 2)
    "Fourier, 1 copy": estimators.NaiveCopy(),
    TWO_FEATURES: estimators.TwoCopies(),
    "Fourier, mean of 5": estimators.MeanOfCopies(5),
}
NOISY = (ALGORITHM_2, ALGORITHM_1, BOUND_TUNED, NAIVE, *MEANS, *FOURIER)
UNBIASED_LEARNERS = (CLEAN, ALGORITHM_2, ALGORITHM_1, BOUND_TUNED)
REAL_SET_LEARNERS = (CLEAN, ALGORITHM_2, ALGORITHM_1, NAIVE, *MEANS, TWO_FEATURES)
NOISES = (0.0, 0.1, 0.2, 0.3, 0.45, 0.6)
ETAS = (0.0006, 0.002, 0.006, 0.02, 0.06, 0.2, 0.6, 2.0)
SEGMENTS_PER_PASS = 32  # of one length, so that they share a program
STYLES = dict(zip((CLEAN, *NOISY), (
    ("black", "-"), (COLOURS[0], "-"), (COLOURS[5], "-"), (COLOURS[5], "--"), (COLOURS[3], "-"), (COLOURS[4], "-"),
    (COLOURS[4], "--"), (COLOURS[4], ":"), (COLOURS[1], ":"), (COLOURS[1], "-"), (COLOURS[1], "--"),
), strict=True))  # fmt: skip
COLUMNS = (
    Text("learner"), Number("rounds", form="{:,}"), Number("queries_per_round", "queries\n/round", "{:.2f}"),
    Interval("regret", "regret\n(95 %)", "{:,.1f}"), Interval("slope", "slope\n(95 %)", "{:.2f}", brackets=True),
    Number("bound", form="{:,.0f}"), *EXCLUDED_RUNS_COLUMNS,
)  # fmt: skip
CAPTION = (
    "Steps are chosen in other runs, by losses on clean instances, which no learner sees. Algorithm 1's distributions "
    "are made for the moments of the copies at this noise, those of 'told bounds' for bounds on |x|, |y|, the noise; "
    "its step is chosen by losses on noisy copies."
)


class GaussianNoise(Study):
    """Study of all learners at all noise levels, at one noise level for longer horizons, and on real sets with noise.

    Real sets are read from `data` or from the folder in the variable JAXONLINE_DATA. If `data` is not given, missing
    sets are fetched; a set that cannot be fetched is skipped, and the report says so.
    """

    title: ClassVar[str] = "Algorithms 2 and 1, means of copies and clean instances as Gaussian noise grows."
    runs: int = Field(24, ge=2, le=1_000_000, description="Runs of each learner.")
    rounds: int = Field(4096, ge=128, le=2**20, multiple_of=4 * SEGMENTS_PER_PASS, description="The horizon.")
    only: Names = Field((), description="Learners, named as in the table; by default all.")
    data: Path | None = Field(None, description="Folder of the real sets, searched before JAXONLINE_DATA.")
    sets: Words = Field(("Airfoil", "Concrete"), description="Real sets.")
    noises: NotNegative = Field(NOISES, min_length=1, description="Standard deviations, below width / sqrt(2).")
    shown_noise: float = Field(0.3, ge=0, description="The noise with a longer horizon.")
    etas: Positive = Field(ETAS, min_length=1, description="Candidate steps.")
    passes: int = Field(5, ge=1, le=1000, description="Passes of Algorithm 1 over the rows.")
    frequencies: int = Field(100, ge=1, le=100_000, description="Frequencies of the Fourier features.")
    width: float = Field(1.0, gt=0, description="Width of the kernel.")
    disc: float = Field(0.5, gt=0, description="Radius of the disc.")
    radius: float = Field(2.0, gt=0, description="Norm of the target and radius of the ball.")
    label_noise: float = Field(0.1, ge=0, description="Noise of the labels.")
    real_noises: NotNegative = Field((0.25, 0.5), min_length=1, description="Noises of real sets, in deviations.")
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
        by_label = {"{data} {noise:.3g}, {rounds:,} rounds".format(**own.labels): own for own in comparisons}
        table_rows = [row for compared in comparisons for row in compared.rows()]
        return Report(
            {"table": Table("Kernel learners under Gaussian noise", table_rows)},
            {"figure": lambda: self.plot(by_noise, at_one, zero["disc"])},
            [*self._sentences(problem, at_one, zero), *figures.closing_sentences(by_label), *skipped],
            {label.format(**compared.labels): compared.result for compared in comparisons},
            {
                "settings": self.model_dump(exclude={"only", "data", "sets"}) | {"seed": context.seed},
                "geometry": [problem.geometry(noise) for noise in self.noises],
                "regret_of_zero": zero,
                "by_noise": [_numbers(compared) for compared in by_noise],
                "shown": _numbers(at_one[0]),
                "long": _numbers(at_one[1]) if longer else None,
                "real": {name: [_numbers(compared) for compared in own] for name, own in real.items()},
            },
            self._tables(by_noise, at_one, real),
        )

    def problem(self, seed: int) -> "Problem":
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

    def real_set(self, name: str, seed: int) -> "Problem":
        """Load a real set as a problem, with its rows in random order; y and the columns of sqrt(d) X are standardised.

        Raises a ValueError if the set is not in the given `data` or has no surrogate kernel, and an OSError if it
        cannot be fetched.
        """
        _, X, y, _ = load_set(name, () if self.data is None else (str(self.data),))
        limit = self.real_width * math.sqrt(X.shape[1] / 2)
        _check_surrogate("real_noises", max(self.real_noises), f"real_width sqrt({X.shape[1]} / 2)", limit)
        order = np.random.default_rng(seed).permutation(len(y))
        X, y = X[order], y[order]
        X = (X - X.mean(axis=0)) / X.std(axis=0) / math.sqrt(X.shape[1])
        noises = tuple(noise / math.sqrt(X.shape[1]) for noise in self.real_noises)
        kernel, y = Gaussian(self.real_width), (y - y.mean()) / y.std()
        return Problem(name, X, y, kernel, self.real_radius, noises, self.frequencies)

    def _real_sets(self, seed: int) -> tuple[list["Problem"], list[str]]:
        problems, skipped = [], []
        for name in self.sets:
            try:
                problems.append(self.real_set(name, seed))
            except OSError as error:
                skipped.append(f"{name} is skipped: {error}")
        return problems, skipped

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

    def _sentences(self, problem: "Problem", at_one: list[ComparisonResult], zero: dict[str, float]) -> list[str]:
        """Return sentences on the target's geometry, the predictor 0, equal queries, and better biased learners."""
        geometry, result = problem.geometry(self.shown_noise), at_one[0].result
        zeros = ", ".join(f"{name} {regret:,.0f}" for name, regret in zero.items())
        sentences = [
            f"Target: beta = {math.degrees(geometry['angle']):.0f} degrees; at noise {geometry['noise']:g} "
            f"R = {geometry['constant']:.3f} and W = {geometry['W']:.3f} ({geometry['W_sharp']:.3f} by the angle, "
            f"{geometry['W_printed']:.3f} as printed).",
            f"Regret of the predictor 0: {zeros}.",
        ]
        if {ALGORITHM_2, "mean of 2 copies"} <= set(result.learners):
            pair = result.paired_difference(ALGORITHM_2, "mean of 2 copies")
            ends = f"{pair.mean[-1]:.1f} [{pair.low[-1]:.1f}, {pair.high[-1]:.1f}]"
            sentences.append(
                f"At two queries a round, Algorithm 2's regret minus that of the mean of 2 copies: {ends}."
            )
        risks = at_one[-1].result.meta["overflow_probability"]
        if risks.get(ALGORITHM_1):
            sentences.append(f"Algorithm 1 runs out of storage with probability {risks[ALGORITHM_1]:.1g} in a run.")
        return sentences + better_than_both(at_one[0])

    @figures.paper_style
    @ignore_skewness_warnings()
    def plot(self, by_noise: Sequence[ComparisonResult], at_one: Sequence[ComparisonResult], zero: float) -> Any:
        """Plot regret against the noise, regret and bounds (hollow) against rounds at one noise, and slopes.

        `zero` is the regret of the predictor 0 after the rounds of `by_noise`.
        """
        title = (
            f"Gaussian kernel, squared loss, Gaussian noise, {len(at_one[0].result.runs)} runs, 95 % intervals (b: "
            "simultaneous bands). 'Told bounds' is tuned to the largest noise of (a)"
        )
        figure, ((left, middle), (right, empty)) = figures.panels(2, 2, 5.6, title)
        rows = [row for own in by_noise for row in own.rows()]
        for name, (colour, line) in STYLES.items():
            own = [row for row in rows if row["learner"] == name]
            if own and name == CLEAN:
                left.axhline(own[0]["regret"], color=colour)
            elif own:
                marker = figures.look_of(name, STYLES)["marker"]
                figures.plot_rows(left, own, "noise", "regret", color=colour, ls=line, marker=marker)
        left.axhline(zero, label="predictor 0", **figures.ZERO)
        limit = self.width / math.sqrt(2)
        left.axvline(limit, **figures.GUIDE, label="no surrogate kernel beyond")
        by_name = {name: own for own in at_one for name in own.result.learners}  # at the longest horizon
        for name in (name for name in STYLES if name in by_name):
            result, bound = by_name[name].result, by_name[name].bounds.get(name)
            figures.plot_bands(middle, result.rounds, result.select(name).bands(), [name], STYLES, alpha=0.18)
            if bound is not None:
                middle.plot(result.rounds, bound, **figures.look_of(name, STYLES) | bound_look())
        slopes = sorted(at_one[0].rows(), key=lambda row: list(STYLES).index(row["learner"]))
        for i, row in enumerate(slopes):
            colour, line = STYLES[row["learner"]]
            right.plot([row["slope_low"], row["slope_high"]], [i, i], color=colour, ls=line)
            right.plot(row["slope"], i, figures.look_of(row["learner"], STYLES)["marker"], color=colour, ms=4)
        noise = "noise (standard deviation of a coordinate)"
        figures.finish(left, noise, "regret", f"(a) after {by_noise[0].result.rounds[-1]:,} rounds, as the noise grows")
        set_log_scale(left, "y")
        figures.finish(middle, "round", "regret", f"(b) noise {self.shown_noise:g}; hollow: bounds", "xy")
        slope_title = f"(c) slopes at noise {self.shown_noise:g}, {at_one[0].slope_rounds}"
        figures.finish(right, "slope of log regret against log rounds", title=slope_title)
        right.set_yticks(range(len(slopes)), [row["learner"] for row in slopes])
        right.set_xticks([0.0, 0.5, 1.0])
        right.invert_yaxis()
        right.set_xlim(-0.1, 1.2)
        figures.legend_in(empty, middle, left)
        return figure


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
    wide: dict[str, dict[str, Any]] = {}
    for label, compared in comparisons.items():
        for row in compared.rows():
            scale = row["rounds"] if per_round else 1
            entries = {label: row["regret"], f"{label}_low": row["low"], f"{label}_high": row["high"]}
            own = wide.setdefault(row["learner"], {"learner": row["learner"]})
            own |= {key: value / scale for key, value in entries.items()}
    rows = sorted(wide.values(), key=lambda row: (CLEAN, *NOISY).index(row["learner"]))
    return Table(title, rows, (Text("learner"), *(Interval(label, form=form) for label in comparisons)))


# ---------------------------------------------------------------------------------------------------------------------
# The problem, its learners, and their regret bounds


@struct
class OnCopies(LearnerWrapper):
    """A learner that predicts on a noisy copy of the instance, so that its losses are those on noisy copies."""

    learner: Annotated[Any, Component("learner")]
    noise: noise.AnyNoise

    def init(self, key: Any, specs: Specs) -> Any:
        """Return the state of the learner."""
        return self.learner.init(key, specs)

    def predict(self, key: Any, state: Any, x: Any) -> Any:
        """Predict on an own copy, which the oracle does not return; noise here is the same in all rounds."""
        copy = x + self.noise.sample(jax.random.fold_in(key, 0), jax.numpy.int32(1), x)
        return self.learner.predict(key, state, copy)

    def update(self, key: Any, state: Any, oracle: Any) -> tuple[Any, Any]:
        """Learn as the learner does."""
        return self.learner.update(key, state, oracle)


@dataclasses.dataclass(frozen=True, eq=False)
class Problem:
    """A data set with a kernel, a comparator ball, and noise levels."""

    name: str
    X: np.ndarray  # instances [n, d], one a round, the same in every run and pass
    y: np.ndarray  # targets [n]
    kernel: Gaussian  # of the learners and of the comparator
    radius: float  # of the comparator's ball
    noises: tuple[float, ...]  # standard deviations of each coordinate of a copy
    frequencies: int = 100  # of the Fourier features
    points: np.ndarray | None = None  # x_i of the target sum a_i k(x_i, .), if it is known
    coefficients: np.ndarray | None = None  # a_i
    passes: int = 1  # over the rows, for learners that do not store a point per round

    def run(
        self, context: Context, noise_std: float, names: Sequence[str], tune: BestOf | Mapping[str, float], *,
        n_runs: int, n_rounds: int,
    ) -> ComparisonResult:  # fmt: skip
        """Run the named learners (of `CLEAN` and `NOISY`) against the best predictor of the ball on clean data.

        Steps are chosen by losses on clean instances, which no learner sees; the step of `BOUND_TUNED` is chosen by
        losses on noisy copies. All noises use the same compiled programs. `n_rounds` is at most the number
        of rows, or a multiple of the number of rows for learners that do not store a point per round. `tune` is the eta
        of each learner, or the search for eta. Raises a ValueError if the rounds end within the second or a later pass,
        or if no surrogate kernel exists for the noise.
        """
        rounds = np.array(self._record_at(n_rounds))
        best, known = self.best_losses(rounds), self.points is not None
        makers = self.makers(noise_std)
        better = self.target_losses(rounds) - best if known else 0.0  # bounds are against the target
        theorems = self.theorems(noise_std, n_rounds) if known else {}
        game = Game(DataStream(self.X, self.y), NoisyCopies(noise.gaussian(noise_std**2)))
        comparison = Comparison(
            game,
            {name: makers[name] for name in names},
            lambda _: best,
            {
                name: lambda eta, t, bound=bound: bound.at_rounds(t, eta=eta) + better
                for name, bound in theorems.items()
                if name in names
            },
            {name: tune[name] for name in names} if isinstance(tune, Mapping) else tune,
            {"data": self.name, "noise": noise_std, "rounds": n_rounds},
            growth_start=1 / 2,
        )
        sizes = {"n_runs": n_runs, "record_at": self._record_at}
        if not isinstance(tune, BestOf) or BOUND_TUNED not in names:
            return comparison.run(context, n_rounds=n_rounds, **sizes)
        clean: dict[str, Any] = {name: makers[name] for name in names if name != BOUND_TUNED}
        on_copies = {BOUND_TUNED: lambda step: OnCopies(makers[BOUND_TUNED](step), noise.gaussian(noise_std**2))}

        with context.parts(3) as part:
            tuned: dict[str, Tuned] = {}
            for instances, pilots in (("clean instances", clean), ("noisy copies", on_copies)):
                if pilots:
                    tuned |= tune.choose(game, pilots, part(f"steps by losses on {instances}"), n_runs, n_rounds)
            etas = {name: search.choice["eta"] for name, search in tuned.items()}
            result = dataclasses.replace(comparison, tune=etas).run(part("best"), n_rounds=n_rounds, **sizes)
        return result._replace(at_edge=tune.at_edge(etas), tuned=tuned)

    def makers(self, noise_std: float) -> dict[str, Callable[[Any], Any]]:
        """Return, for `CLEAN` and every name in `NOISY`, a function that makes the learner with a step size.

        The learner `ALGORITHM_2` knows the covariance of the noise. The learner `ALGORITHM_1` knows the means over the
        rows of E|x~|^2 and of E<x~, x~'>^2 at this noise (x~ is a noisy copy); its distributions of the numbers of
        copies are optimised for these moments. The learner `BOUND_TUNED` knows bounds on |x|, on |y| and on the noise
        (the largest of `noises`); its distributions are the same at all noise levels. Other learners know nothing about
        the noise. Learners have storage for one pass over the rows, and Algorithm 1 for `passes` passes. Raises a
        ValueError if no surrogate kernel exists for the noise.
        """
        kernel, radius, (n_points, d) = self.kernel, self.radius, self.X.shape
        surrogate, ball = self._surrogate(noise_std), self._surrogate_ball(noise_std)
        estimates, bounded = self._estimators(*self._mean_moments(noise_std)), self._estimators(self._moment_bound())
        storage, bounded_storage = (
            learners.Storage.for_horizon(*own, d, self.passes * n_points)
            for own in (self._estimators(*self._mean_moments(max(self.noises))), bounded)
        )
        features = estimators.FourierFeatures.draw(jax.random.key(0), kernel, d, self.frequencies)

        def points(estimator: Any) -> Callable[[Any], Any]:
            return lambda step: learners.KernelGradient(kernel, estimator, step, n_points, radius)

        def fourier(estimator: Any) -> Callable[[Any], Any]:
            return lambda step: learners.WithFeatures(learners.GradientLearner(estimator, step, radius), features)

        clean = points(estimators.FullGradient())
        return {
            CLEAN: lambda step: WithFeedback(clean(step), FullInformation()),
            ALGORITHM_2: lambda step: learners.SurrogateKernel(surrogate, step, n_points, ball),
            ALGORITHM_1: lambda step: learners.NoisyKernel(*estimates, step, radius, storage),
            BOUND_TUNED: lambda step: learners.NoisyKernel(*bounded, step, radius, bounded_storage),
            NAIVE: points(estimators.NaiveCopy()),
            **{name: points(estimators.MeanOfCopies(n)) for name, n in MEANS.items()},
            **{name: fourier(estimator) for name, estimator in FOURIER.items()},
        }

    def theorems(self, noise_std: float, n_rounds: int) -> dict[str, bounds.Bound]:
        """Return bounds on the regret to the target: Theorem 3 of 2010b and, with exact moments, Theorem 4 of 2010a."""
        y_bound, R = float(np.abs(self.y).max()), float(self._surrogate(noise_std).constant())
        moments, pairs = (float(values.max()) for values in self._copy_moments(noise_std))
        own, limit = self._estimators(*self._mean_moments(noise_std)), self._moment_bound()
        return {
            ALGORITHM_2: bounds.surrogate_kernel(self._surrogate_ball(noise_std), R, y_bound, n_rounds),
            ALGORITHM_1: bounds.noisy_kernel(*own, self.radius, moments, n_rounds, y_bound, pairs),
            BOUND_TUNED: bounds.noisy_kernel(*self._estimators(limit), self.radius, limit, n_rounds, y_bound),
        }

    def geometry(self, noise_std: float) -> dict[str, float]:
        """Return the target's geometry in the RKHS of the surrogate kernel (Theorem 3 of Cesa-Bianchi et al. 2010b).

        Returns:
            A dictionary with the noise, the angle beta in radians (`angle`), the constant R (`constant`), the target's
                norm `W`, which is the radius of Algorithm 2, and two norms computed from the angle alone: `W_sharp`
                (Lemmas 5, 6 and 9) and `W_printed` (as printed in Cesa-Bianchi et al. 2010b).
        """
        R, W = float(self._surrogate(noise_std).constant()), self._surrogate_ball(noise_std)
        angle = positive_negative_angle(self.kernel, *self._target())
        forms = {"W_sharp": bounds.surrogate_radius, "W_printed": printed_surrogate_radius}
        by_angle = {name: form(self.radius, R, angle) for name, form in forms.items()}
        return {"noise": noise_std, "angle": angle, "constant": R, "W": W} | by_angle

    def best_losses(self, rounds: np.ndarray) -> np.ndarray:
        """Return losses of the best predictor of the ball in hindsight, in the first pass and at ends of passes."""
        n = len(self.y)
        own = np.unique(np.minimum(rounds, n))
        losses = RKHSBall(self.kernel, self.radius).best_losses(self.X[: own[-1]], self.y[: own[-1]], own)
        table = dict(zip(own.tolist(), losses.tolist(), strict=True))
        return np.array([table[min(t, n)] * max(1, t // n) for t in rounds.tolist()])

    def target_losses(self, rounds: np.ndarray) -> np.ndarray:
        """Return the target's cumulative loss after each of `rounds`, over as many passes as needed."""
        points, coefficients = self._target()
        errors = gram_matrix(self.kernel, self.X, points) @ coefficients - self.y
        losses, n = np.concatenate([[0.0], np.cumsum(errors**2)]), len(errors)
        return np.array([losses[n] * (t // n) + losses[t % n] for t in rounds.tolist()])

    def regret_of_zero(self, n_rounds: int) -> float:
        """Return the regret of the predictor 0 after `n_rounds` rounds, which must be in the first pass."""
        return float((self.y[:n_rounds] ** 2).sum() - self.best_losses(np.array([n_rounds]))[0])

    def _record_at(self, n_rounds: int) -> list[int]:
        """Return recorded rounds: about ten in the first pass (multiples of a 32nd of the rows), and ends of passes."""
        n_rows = len(self.y)
        if n_rounds > n_rows and n_rounds % n_rows:
            raise ArgumentError("n_rounds", f"must be a multiple of the {n_rows} rows (got {n_rounds})")
        first = min(n_rounds, n_rows)
        segment = min(max(n_rows // SEGMENTS_PER_PASS, 1), first)
        within = segment * np.round(np.geomspace(1, first // segment, 11)).astype(int)
        passes = n_rows * np.round(np.geomspace(1, max(n_rounds // n_rows, 1), 8)).astype(int)
        return np.unique([segment, *within[:-1], *(passes if n_rounds > n_rows else ()), n_rounds]).tolist()

    def _target(self) -> tuple[np.ndarray, np.ndarray]:
        assert self.points is not None
        assert self.coefficients is not None
        return self.points, self.coefficients

    def _surrogate(self, noise_std: float) -> estimators.Surrogate:
        return estimators.Surrogate(self.kernel, noise_std**2, dimension=self.X.shape[1])

    def _surrogate_ball(self, noise_std: float) -> float:
        """Return the radius W: the target's norm; without a target, an upper bound for coefficients of equal sign."""
        surrogate = self._surrogate(noise_std)
        if self.points is None:
            return self.radius * float(surrogate.constant())
        return rkhs_norm(surrogate, *self._target())

    def _copy_moments(self, noise_std: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the moments E|x~|^2 and E<x~, x~'>^2 of noisy copies x~, x~' of every row [n]."""
        squares, d = (self.X**2).sum(axis=1), self.X.shape[1]
        return squares + d * noise_std**2, squares**2 + 2 * squares * noise_std**2 + d * noise_std**4

    def _mean_moments(self, noise_std: float) -> tuple[float, float]:
        """Return the means of `_copy_moments` over the rows, which the learner `ALGORITHM_1` knows."""
        moments, pairs = (float(values.mean()) for values in self._copy_moments(noise_std))
        return moments, pairs

    def _moment_bound(self) -> float:
        """Return an upper bound on E|x~|^2 for all noises and rows, which the learner `BOUND_TUNED` knows."""
        return float(self._copy_moments(max(self.noises))[0].max())

    def _estimators(
        self, moments: float, pairs: float | None = None
    ) -> tuple[estimators.GaussianFeatureMap, estimators.GradientLength]:
        """Return the estimators of Algorithm 1 with the best distributions for these moments, padded to one shape."""
        best: Any = estimators.best_feature_map(self.kernel, moments, pairs)
        laws = [np.asarray(law.probabilities) for law in (best.law, best.pair_law)]
        padded = [estimators.FiniteDistribution(np.pad(law, (0, max(64 - len(law), 0)))) for law in laws]
        feature_map = estimators.GaussianFeatureMap(self.kernel, *padded)
        factors = bounds.factor_moment(self.radius, feature_map.second_moment(moments, pairs), np.abs(self.y).max())
        return feature_map, estimators.GradientLength.for_loss(Squared(), estimators.minimum_variance, factors)
