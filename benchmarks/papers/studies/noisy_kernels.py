"""Algorithm 1 on noisy copies: regret and bound by loss, kernel, and distribution of the copies.

Source: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Online learning of noisy data with kernels" (COLT 2010), Theorems 1, 2
and 4. The study uses the paper's distribution of the numbers of copies, and better distributions.
"""

import math
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from pydantic import AllowInfNan, Field

from benchmarks.papers.comparison import BestOf, Comparison, ComparisonResult
from benchmarks.papers.studies import figures
from benchmarks.papers.study import AboveOne, Items, Positive, Study, Words, select_by_name
from jaxonline import bounds, estimators, kernels, losses
from jaxonline.comparators import RKHSBall
from jaxonline.environments import DataStream
from jaxonline.feedback import NoisyCopies, noise
from jaxonline.game import Game
from jaxonline.learners import NoisyKernel, Storage
from jaxonline.results import Result
from jaxonline.results.report import plotting
from jaxonline.results.report.plotting import COLOURS, bound_look
from jaxonline.results.report.tables import Interval, Number, Table, Text
from jaxonline.study import Context, Report
from jaxonline.study.study import ignore_skewness_warnings

THEOREM, BEST = "the theorem's step", "the best step tried"
KERNELS: dict[str, tuple[Any, float]] = {  # with a good p of 1.5, 2, 3, 5 of the paper's distribution
    "exponential kernel": (kernels.ExponentialKernel(), 2.0),
    "Gaussian kernel": (kernels.Gaussian(2.0), 3.0),
}
LOSSES: dict[str, Any] = {
    "squared": losses.Squared(),
    "smoothed absolute": losses.SmoothedAbsolute(0.5),
    "exponential": losses.Exponential(),
    "smoothed hinge": losses.SmoothedHinge(0.5),
}
Overheads = Annotated[tuple[Annotated[float, Field(ge=0), AllowInfNan(True)], ...], Items]


ETAS = (0.0015, 0.005, 0.015, 0.05, 0.15, 0.5, 1.5)  # beside the theorem's step
STYLES = {THEOREM: (COLOURS[0], "-"), BEST: (COLOURS[3], "-")}
CAPTION = (
    "excluded runs (failed, out of storage): {}; a run is out of storage with probability at most {:.1g}. The "
    "theorem's step uses bounds on E|x~|^2 and |y|; a third of the runs chooses the best step by losses on clean "
    "instances, and the others report it"
)
CSV = "kernel", "loss", "law", "parameter", "learner", "eta", "expected_queries_per_round", "queries_per_round"
CSV += "regret", "low", "high", "bound", "failed", "overflowed", "slope", "slope_low", "slope_high", "predictor_0"


class Case(NamedTuple):
    """A case: a kernel (key of `KERNELS`), a loss (key of `LOSSES`), and a distribution of the numbers of copies.

    The parameter of the distribution "geometric" is p. The parameter of "best" is the overhead: the fixed cost of an
    estimate in units of copies, infinite if copies are free.
    """

    kernel: str
    loss: str
    law: str
    parameter: float

    @property
    def name(self) -> str:
        """The label of the case."""
        return "{}, {} loss, {} law {:g}".format(*self)

    @property
    def law_name(self) -> str:
        """The label of the distribution."""
        if self.law == "geometric":
            return f"p = {self.parameter:g}"
        return "best" if math.isinf(self.parameter) else f"best, overhead {self.parameter:g}"


COLUMNS = (
    Number("queries_per_round", "queries\n/round", "{:.2f}"), Interval("own", "theorem's\nstep", "{:.1f}"),
    Number("bound", "its\nbound", lambda bound: f"{bound:,.0f}" if bound < 1e6 else f"{bound:.0e}"),
    Interval("regret", "best step\ntried", "{:.1f}"), Interval("slope", "slope", "{:.2f}"),
)  # fmt: skip


class NoisyKernels(Study):
    """Study of Algorithm 1 on instances in a ball of radius 1/2, in several passes, with Gaussian noise on every copy.

    Steps are eta / sqrt(t) with two values of eta: the eta of the theorem (with the anytime form of its bound), and the
    best candidate, which is chosen in a third of the runs and reported in the other runs. The distributions of the
    copies and the theorem's step use bounds on E|x~|^2 (x~ is a noisy copy) and on |y|, which are sharp here. The best
    candidate is chosen by losses on clean instances, which no learner sees.
    """

    title: ClassVar[str] = "Algorithm 1 on noisy copies: regret and bound by loss, kernel and distribution."
    runs: int = Field(72, ge=4, le=1_000_000, description="Runs of each learner; a third of them chooses the step.")
    rounds: int = Field(3000, ge=16, le=1_000_000, description="The horizon.")
    kernels: Words = Field((), description="Kernels; by default all.")
    losses: Words = Field((), description="Losses; by default all.")
    ps: AboveOne = Field((1.5, 2.0, 3.0, 5.0), description="p of the paper's distribution, for the squared loss.")
    overheads: Overheads = Field((math.inf, 0.5), description="Overheads of best distributions, for the squared loss.")
    etas: Positive = Field(ETAS, min_length=1, description="Candidate steps, in units of the radius.")
    instances: int = Field(400, ge=2, le=1_000_000, description="Number of instances.")
    dimension: int = Field(3, ge=2, le=10_000, description="Dimension of the instances.")
    noise_variance: float = Field(0.02, gt=0, description="Variance of the noise on each coordinate.")
    radius: float = Field(1.0, gt=0, description="Radius of the ball of predictors.")

    @ignore_skewness_warnings()
    def run(self, context: Context) -> Report:
        chosen_kernels = select_by_name("kernels", self.kernels, KERNELS)
        parameters = [("geometric", p) for p in self.ps] + [("best", overhead) for overhead in self.overheads]
        chosen_losses = select_by_name("losses", self.losses, LOSSES)
        cells = [Case(name, loss, "geometric", p) for name, (_, p) in chosen_kernels.items() for loss in chosen_losses]
        laws = [Case(name, "squared", *law) for name in chosen_kernels for law in parameters]
        cases = dict.fromkeys(case for name in chosen_kernels for case in (*cells, *laws) if case.kernel == name)
        with context.parts(len(cases)) as part:
            results = {
                case: self.comparison(case, context.seed).run(
                    part(case.name), n_runs=self.runs, n_rounds=self.rounds, record_at=16
                )
                for case in cases
            }
        zero = {case: self.regret_of_zero(case, own.result, context.seed) for case, own in results.items()}
        rows = {case: [row | {"predictor_0": zero[case][-1]} for row in own.rows()] for case, own in results.items()}
        numbers = {case: _numbers(own) | {"predictor_0": zero[case]} for case, own in results.items()}
        settings = self.model_dump(include={"instances", "dimension", "noise_variance", "radius", "etas"})
        left_out = sum(row["failed"] + row["overflowed"] for pair in rows.values() for row in pair)
        risk = max((max(own["overflow_probability"].values()) for own in numbers.values()), default=0.0)
        title = "Algorithm 1 with the paper's distribution: regret at the horizon (95 % intervals)"
        columns = Text("kernel"), Text("loss"), Number("parameter", "p", "{:g}"), Text("distribution"), *COLUMNS
        shown = [
            Table(title, [_row(case, *rows[case]) for case in cells], (*columns[:3], *COLUMNS),
                  caption=CAPTION.format(left_out, risk)),
            Table("Other distributions of the number of copies, squared loss",
                  [_row(case, *rows[case]) for case in laws], (columns[0], *columns[3:])),
        ]  # fmt: skip
        return Report(
            {"table": Table("Algorithm 1", [_csv_row(row) for case in (*cells, *laws) for row in rows[case]])},
            {
                "regret": lambda: plot_losses({case: results[case] for case in cells}, zero),
                "laws": lambda: plot_laws({case: results[case] for case in laws}, rows, zero),
            },
            self._sentences(results, rows),
            results={f"results/{case.name}": compared.result for case, compared in results.items()},
            numbers={
                "settings": settings | {"p": {name: p for name, (_, p) in chosen_kernels.items()}},
                "losses": {name: {c.loss: numbers[c] for c in cells if c.kernel == name} for name in chosen_kernels},
                "laws": [{k: v for k, v in case._asdict().items() if k != "loss"} | numbers[case] for case in laws],
            },
            shown=shown,
        )

    def _sentences(self, results: dict[Case, ComparisonResult], rows: dict[Case, list[dict[str, Any]]]) -> list[str]:
        """Return sentences on steps at the edge of the grid, and learners worse than the predictor 0."""
        worse = [case.name for case, (_, best) in rows.items() if best["low"] > best["predictor_0"]]
        return [
            f"Worse than the predictor 0 even with the best step: {'; '.join(worse) or 'none'}.",
            *figures.closing_sentences({case.name: own for case, own in results.items()}),
        ]

    def comparison(self, case: Case, seed: int) -> Comparison:
        """Return the comparison of the theorem's step and the best candidate step of Algorithm 1 in one case."""
        loss, kernel = LOSSES[case.loss], KERNELS[case.kernel][0]
        X, y = self.problem(loss.kind, seed)
        law, y_bound = noise.gaussian(self.noise_variance), float(np.abs(y).max())
        copy_moment = bounds.moment_bounds(X, np.zeros(len(X)), law).x_second ** 2  # bounds E|x~|^2 in every round
        length_law: Any = estimators.minimum_variance
        if case.law == "best":
            feature_map: Any = estimators.best_feature_map(kernel, copy_moment, overhead=case.parameter)
        else:
            length_law, radial = estimators.Geometric(case.parameter), isinstance(kernel, kernels.Gaussian)
            feature_map = (estimators.GaussianFeatureMap if radial else estimators.DotProductFeatureMap)(
                kernel, length_law
            )
        factors = bounds.factor_moment(
            self.radius, feature_map.second_moment(copy_moment), y_bound if loss.kind == "regression" else 0.0
        )
        length = estimators.GradientLength.for_loss(loss, length_law, factors)
        bound = bounds.noisy_kernel(feature_map, length, self.radius, copy_moment, self.rounds, y_bound)
        theorem_step = math.sqrt(2 / bound.G) * self.radius  # minimises the anytime form of the bound
        storage = Storage.for_horizon(feature_map, length, self.dimension, self.rounds)
        etas = {THEOREM: theorem_step} | {f"{eta:g}": eta * self.radius for eta in self.etas}
        queries = feature_map.expected_queries() * (1.0 + length.series.law.mean())
        return Comparison(
            Game(DataStream(X, y), NoisyCopies(law), loss=loss),
            {BEST: lambda step: NoisyKernel(feature_map, length, step, self.radius, storage)},
            RKHSBall(kernel, self.radius, loss),
            dict.fromkeys((THEOREM, BEST), lambda eta, rounds: bound.at_rounds(rounds, eta=eta)),
            tune=BestOf(etas, runs="third", also_report=(THEOREM,)),
            labels=case._asdict() | {"theorem": bound, "expected_queries_per_round": queries},
        )

    def regret_of_zero(self, case: Case, result: Result, seed: int) -> np.ndarray:
        """Return the regret [G] of the predictor 0, which makes no queries, at the recorded rounds of a case."""
        loss, (_, y) = LOSSES[case.loss], self.problem(LOSSES[case.loss].kind, seed)
        row_losses = np.cumsum(np.asarray(loss(np.zeros(len(y)), y), float))
        passes, rest = np.divmod(result.rounds, len(y))
        best = np.asarray(result.comparator_loss)[0, 0]  # the same in all runs, since the order of rows is fixed
        return passes * row_losses[-1] + np.where(rest > 0, row_losses[rest - 1], 0.0) - best

    def problem(self, kind: str, seed: int) -> tuple[np.ndarray, np.ndarray]:
        """Return instances and targets; targets are in [-1/2, 1/2] for "regression", else +1 and -1 with 5 % errors."""
        rng = np.random.default_rng(seed)
        directions = rng.normal(size=(self.instances, self.dimension))
        lengths = 0.5 * rng.uniform(size=self.instances) ** (1 / self.dimension)
        X = directions * (lengths / np.linalg.norm(directions, axis=1))[:, None]
        f = np.sin(6 * X[:, 0]) + 2 * X[:, 1]
        if kind == "regression":
            return X, 0.5 * np.tanh(1.5 * f)
        wrong = rng.uniform(size=self.instances) < 0.05
        return X, np.where((f > 0) != wrong, 1.0, -1.0)


def _csv_row(row: dict[str, Any]) -> dict[str, Any]:
    return {"step" if key == "learner" else key: row[key] for key in CSV}


def _row(case: Case, own: dict[str, Any], best: dict[str, Any]) -> dict[str, Any]:
    labels = {"kernel": case.kernel.removesuffix(" kernel"), "distribution": case.law_name, "bound": own["bound"]}
    return best | labels | {"own": own["regret"], "own_low": own["low"], "own_high": own["high"]}


def _numbers(compared: ComparisonResult) -> dict[str, Any]:
    risks, bound = compared.result.meta["overflow_probability"], compared.labels["theorem"]
    return {
        "theorem": {"bound": bound.value, "step": bound.step_size, "G": bound.G},
        "expected_queries_per_round": compared.labels["expected_queries_per_round"],
        "overflow_probability": {name.removeprefix(BEST): risk for name, risk in risks.items()},
        "etas": compared.etas,
    } | compared.curves()


@figures.paper_style
@ignore_skewness_warnings()
def plot_losses(cells: Mapping[Case, ComparisonResult], zero: Mapping[Case, np.ndarray]) -> Any:
    """Plot regret against rounds with both step sizes, and the theorem's bound; one panel for each kernel and loss.

    `zero` is the regret of the predictor 0 at the recorded rounds.
    """
    title = (
        "Algorithm 1 on noisy copies, steps eta / sqrt(t); 95 % bands, simultaneous over rounds. "
        f"Slopes are those of the best step, over {next(iter(cells.values())).slope_rounds}"
    )
    figure, panels = figures.grid(len(cells), 2, 2.0, title, sharex=True, sharey=True)
    for axes, (case, compared) in zip(panels, cells.items(), strict=True):
        result, bands = compared.result, compared.result.bands()
        rounds, growth = np.asarray(result.rounds, float), result.growth(compared.growth_from)[BEST]
        figures.plot_bands(axes, rounds, bands, STYLES, STYLES)
        axes.plot(rounds, zero[case], label="predictor 0", **figures.ZERO)
        bound = figures.look_of(THEOREM, STYLES) | bound_look()
        axes.plot(rounds, compared.bounds[THEOREM], **bound, label="bound of its step")
        slope = f"slope {growth.exponent:.2f} ({growth.low:.2f} .. {growth.high:.2f})"
        figures.finish(axes, "round", "regret", f"{case.loss} loss, {case.kernel},\n{case.law_name}, {slope}", log="xy")
        axes.set_ylim(bottom=1.0)
    figures.legend_below(figure, 4, panels[0])
    return figure


@figures.paper_style
@ignore_skewness_warnings()
def plot_laws(
    laws: Mapping[Case, ComparisonResult], rows: Mapping[Case, list[dict[str, Any]]], zero: Mapping[Case, np.ndarray]
) -> Any:
    """Plot regret against queries per round, and regret per round against queries so far, by kernel and distribution.

    `zero` is the regret of the predictor 0 at the recorded rounds.
    """
    title = "Distributions of the number of copies: 95 % intervals; steps chosen by clean losses in other runs"
    names = list(dict.fromkeys(case.kernel for case in laws))
    figure, panels = figures.panels(len(names), 2, 0.8 + 2.6 * len(names), title)
    for (left, right), kernel in zip(panels, names, strict=True):
        own = {case: compared for case, compared in laws.items() if case.kernel == kernel}
        for i, (case, compared) in enumerate(own.items()):
            result, look = compared.result, plotting.line_looks(len(own) + 1)[i] | {"label": case.law_name}
            look |= {"linestyle": "-" if case.law == "best" else (0, (2.6, 1.1))}
            right.plot(result.mean("queries").mean[1], result.mean().mean[1] / result.rounds, **look)
            look.pop("markevery")
            figures.plot_rows(left, [rows[case][1]], "expected_queries_per_round", "regret", **look)
        left.axhline(zero[case][-1], label="predictor 0", **figures.ZERO)
        right.axhline(zero[case][-1] / result.rounds[-1], **figures.ZERO)
        figures.finish(left, "queries a round", "regret at the horizon", f"{kernel}, squared loss, best step", log="x")
        figures.finish(
            right, "queries spent", "regret per round so far", "at equal cost: lower left is better", log="xy"
        )
        left.set_ylim(bottom=0.0)
    figures.legend_below(figure, 3)
    return figure
