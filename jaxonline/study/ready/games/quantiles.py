"""Regret of single runs: quantiles beside the bound on the expected regret and the bound with high probability."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from jaxonline import bounds
from jaxonline.bounds import HighProbabilityBound, RegretBound, largest_copies, largest_estimate, with_high_probability
from jaxonline.comparators import L2Ball
from jaxonline.environments import DataStream
from jaxonline.estimators import KnownCovariance, TwoCopies
from jaxonline.feedback import FullInformation, NoisyCopies, noise
from jaxonline.game import Entrant, Game
from jaxonline.learners import GradientLearner
from jaxonline.results import Result
from jaxonline.results.report.plotting import COLOURS, set_log_scales, style_axes
from jaxonline.results.report.tables import EXCLUDED_RUNS_COLUMNS, Interval, Number, Table, Text
from jaxonline.results.statistics import mean_over_runs
from jaxonline.results.statistics.intervals import ClopperPearson
from jaxonline.study import Context, Report
from jaxonline.study.comparison import ignore_skewness_warnings
from jaxonline.study.ready.games.classical import ClassicalGame, Setting
from jaxonline.study.study import select_by_name

if TYPE_CHECKING:
    from matplotlib.figure import Figure

RADIUS, X, LABEL = 1.0, np.ones((1, 1)), np.array([10.0])
UNIFORM, GAUSSIAN = noise.uniform(1 / 3), noise.gaussian(1 / 3)  # uniform on [-1, 1]
ERROR = 400.0  # of a wrong label


class Rival(NamedTuple):
    """A learner with its feedback, the bound on its expected regret, and its bound with probability 1 - delta."""

    entrant: Entrant
    expected: RegretBound
    likely: Callable[[float], HighProbabilityBound]

    def at_rounds(self, t: int) -> Any:
        """Return the bound on the expected regret after t rounds."""
        return self.expected.constant_step(self.expected.step_size, t)


class Quantiles(ClassicalGame):
    """Linear regression on the instance x = 1 with the label 10, with the steps of paper B's theorems.

    The noise of the copies is uniform on [-1, 1], or Gaussian with the same variance. Among rare wrong labels, the
    copies are clean, and one label of a run on average is wrong by 400 or -400.
    """

    title: ClassVar[str] = "Regret of single runs: quantiles beside the theorems' bounds."
    runs: int = Field(4000, ge=2, le=1_000_000, description="Runs of each learner.")
    rounds: int = Field(400, ge=2, le=100_000_000, description="The horizon.")
    probability: float = Field(0.95, gt=0, lt=1, description="The quantile, and the probability of its bound.")

    def setting(self) -> Setting:
        rivals = self.rivals()
        sentences = [
            "A bound on the expected regret may be exceeded in many runs. For bounded estimates, Azuma's and "
            "Bernstein's inequalities give a bound with high probability (bounds.with_high_probability)."
        ]
        return Setting(
            Game(DataStream(X, LABEL, order="iid"), FullInformation()),
            {name: rival.entrant for name, rival in rivals.items()},
            {name: rival.at_rounds for name, rival in rivals.items()}, sentences, L2Ball(RADIUS),
        )  # fmt: skip

    @ignore_skewness_warnings()
    def run(self, context: Context) -> Report:
        setting = self.setting()
        learners = select_by_name("only", self.only, setting.learners)
        rivals = {name: rival for name, rival in self.rivals().items() if name in learners}
        result = context.simulate(
            setting.game, learners, n_runs=self.runs, n_rounds=self.rounds, comparator=setting.comparator,
            record_at=self._record_at(),
        )  # fmt: skip
        percent = f"{100 * self.probability:.4g} %"
        columns = (
            Text("learner"),
            Interval("mean", "mean\nregret", "{:,.0f}"),
            Number("bound", "its\nbound", "{:,.0f}"),
            Number("above", "runs\nabove", "{:.1f} %"),
            Interval("quantile", f"{percent} quantile", "{:,.0f}", brackets=True),
            Number("likely", "its\nbound", "{:,.0f}"),
            *EXCLUDED_RUNS_COLUMNS,
        )
        title = f"{self.title.rstrip('.')}: {self.runs:,} runs of {self.rounds:,} rounds"
        return Report(
            {"table": Table(title, self._rows(result, rivals), columns)},
            {"figure": lambda: plot_tails(result, rivals)},
            list(setting.sentences),
            {"result": result},
        )

    def rivals(self) -> dict[str, Rival]:
        """Return the learners by name."""
        T, rate = self.rounds, 1 / self.rounds
        moments = bounds.moment_bounds(X, LABEL, UNIFORM)  # equal to those of Gaussian noise up to the second
        two = bounds.two_copies(RADIUS, moments.x_second, moments.y_second, T)
        known = bounds.known_covariance(RADIUS, moments.x_fourth, moments.y_second, T)
        rare = bounds.two_copies(RADIUS, 1.0, float(np.hypot(LABEL[0], np.sqrt(rate) * ERROR)), T)

        def uniform(expected: RegretBound, covariance_norm: float = 0.0) -> Callable[[float], HighProbabilityBound]:
            b = largest_estimate(RADIUS, *largest_copies(X, LABEL, UNIFORM), covariance_norm)
            return lambda delta: with_high_probability(expected, b, T, delta)

        def gaussian(delta: float) -> HighProbabilityBound:
            copies = largest_copies(X, LABEL, GAUSSIAN, missed=delta / 2, draws=2 * T)
            return with_high_probability(two, largest_estimate(RADIUS, *copies), T, delta / 2)

        def wrong_labels(delta: float) -> HighProbabilityBound:
            return with_high_probability(rare, largest_estimate(RADIUS, 1.0, LABEL[0] + ERROR), T, delta)

        def entrant(estimator: KnownCovariance | TwoCopies, bound: RegretBound, *noises: Any) -> Entrant:
            feedback = NoisyCopies(*noises, reveal_covariance=isinstance(estimator, KnownCovariance))
            return Entrant(GradientLearner(estimator, bound.step_size, radius=RADIUS), feedback)

        return {
            "uniform noise": Rival(entrant(TwoCopies(), two, UNIFORM), two, uniform(two)),
            "Gaussian noise": Rival(entrant(TwoCopies(), two, GAUSSIAN), two, gaussian),
            "known covariance": Rival(
                entrant(KnownCovariance(), known, UNIFORM), known, uniform(known, moments.covariance_norm)
            ),
            "rare wrong labels": Rival(
                entrant(TwoCopies(), rare, noise.gaussian(0.0), noise.RareErrors(ERROR, rate)), rare, wrong_labels
            ),
        }

    def _rows(self, result: Result, rivals: Mapping[str, Rival]) -> list[dict[str, Any]]:
        """Return one row for each learner with its mean, quantile and bounds at the horizon."""
        mean, quantile = result.mean(), result.quantile_interval(self.probability)
        rows = []
        for i, (name, rival) in enumerate(rivals.items()):
            runs = result.values()[i, :, -1]
            above = mean_over_runs(
                np.where(np.isnan(runs), np.nan, runs > rival.expected.value)[None], interval=ClopperPearson()
            )
            row: dict[str, Any] = {"learner": name, "bound": rival.expected.value}
            for key, estimate in (("", mean), ("quantile_", quantile)):
                row |= {f"{key}{end}": float(getattr(estimate, end)[i, -1]) for end in ("low", "high")}
            row |= {"mean": float(mean.mean[i, -1]), "quantile": float(quantile.value[i, -1])}
            row |= {"likely": rival.likely(1 - self.probability).value}
            row |= {f"above{end}": 100 * float(field[0]) for end, field in
                    (("", above.mean), ("_low", above.low), ("_high", above.high))}  # fmt: skip
            rows.append(row | {"failed": int(result.failed[i]), "overflowed": int(result.overflowed[i])})
        return rows


def plot_tails(result: Result, rivals: Mapping[str, Rival]) -> "Figure":
    """Plot the share of runs above each regret, and the probability of more regret that the theorem allows."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8.0, 5.2), layout="constrained")
    axes = figure.subplots()
    deltas = np.geomspace(0.5, 0.5 / len(result.runs), 40)
    for i, (name, rival) in enumerate(rivals.items()):
        regrets = np.sort(result.values()[i, :, -1]) / rival.expected.value
        regrets = regrets[~np.isnan(regrets)]
        shares = 1 - np.arange(len(regrets)) / len(regrets)
        axes.step(regrets, shares, color=COLOURS[i], lw=1.8, label=name)
        likely = [rival.likely(float(delta)).value / rival.expected.value for delta in deltas]
        axes.plot(likely, deltas, color=COLOURS[i], ls=(0, (7, 2.5)), lw=1.3)
    axes.axvline(1.0, color="0.3", lw=1.3, label="bound on the expected regret")
    axes.plot([], [], color="0.4", ls=(0, (7, 2.5)), lw=1.3, label="bound with high probability")
    set_log_scales(axes)
    axes.set_xlim(left=0.2)
    style_axes(axes, "regret / bound on the expected regret", "share of runs with at least this regret")
    figure.legend(loc="outside lower center", ncols=3, frameon=False, fontsize=9)  # elsewhere it would hide curves
    return figure
