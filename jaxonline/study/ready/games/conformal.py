"""Adaptive conformal prediction when the distribution of the scores shifts."""

import dataclasses
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from jaxonline import bounds
from jaxonline.environments import ShiftingScores
from jaxonline.estimators import FullGradient
from jaxonline.feedback import FullInformation
from jaxonline.game import Game
from jaxonline.learners import AdaptiveConformal, GradientLearner
from jaxonline.losses import Miscoverage, Pinball
from jaxonline.results import Result
from jaxonline.simulation.coverage import Coverage, CoverageError
from jaxonline.study import Context, Report
from jaxonline.study.ready.games.classical import Bound, ClassicalGame, Setting

if TYPE_CHECKING:
    from matplotlib.figure import Figure

WINDOW = 100  # rounds of the coverage in the figure


class Conformal(ClassicalGame):
    """Thresholds of scores that should cover a fraction 1 - alpha, in a stream whose scores double in the second half.

    The calibration scores are the quantiles of the first half's distribution, so the fixed threshold of split conformal
    prediction covers exactly a fraction 1 - alpha there. "adaptive" changes the level of the quantile of these scores,
    "adaptive, rolling" uses the last scores instead, and "gradient descent" follows the gradient of the pinball loss.
    No calibration score exceeds 1, which covers half of the later scores. So "adaptive" reaches a coverage of 0.9 only
    because its threshold is infinite in at least four fifths of the later rounds.
    """

    title: ClassVar[str] = "Conformal prediction under a shift: error of the coverage."
    runs: int = Field(64, ge=2, le=1_000_000, description="Runs of each learner.")
    rounds: int = Field(2000, ge=2, le=100_000_000, description="The horizon.")
    alpha: float = Field(0.1, gt=0, lt=1, description="Fraction of scores that the threshold may miss.")
    step: float = Field(0.02, gt=0, description="Step size of the levels and of gradient descent.")
    calibration: int = Field(199, ge=1, le=100_000, description="Number of calibration scores.")

    def setting(self) -> Setting:
        scores = np.arange(1, self.calibration + 1) / (self.calibration + 1)  # uniform on [0, 1]
        largest, half = 2.0, -(-self.rounds // 2)
        game = Game(ShiftingScores([1.0, largest], every=half), FullInformation(), loss=Miscoverage())
        learners: dict[str, Any] = {
            "split conformal": AdaptiveConformal(scores, self.alpha, 0.0),
            "adaptive": AdaptiveConformal(scores, self.alpha, self.step),
            "adaptive, rolling": AdaptiveConformal(scores, self.alpha, self.step, rolling=True),
            "gradient descent": GradientLearner(FullGradient(Pinball(1.0 - self.alpha)), self.step),
        }
        theorem_bounds: dict[str, Bound] = {
            "adaptive": lambda t: bounds.adaptive_conformal(self.alpha, self.step, t),
            "adaptive, rolling": lambda t: bounds.adaptive_conformal(self.alpha, self.step, t),
            "gradient descent": lambda t: bounds.quantile_tracking(largest, self.step, t),
        }
        measures = [CoverageError(self.alpha), Coverage(WINDOW)]
        options = {"measures": measures, "quantity": "coverage_error", "form": "{:.4f}"}
        return Setting(game, learners, theorem_bounds, [], **options)

    def run(self, context: Context) -> Report:
        report = super().run(context)
        result, setting = report.results["result"], self.setting()
        ends = {name: setting.bounds[name](self.rounds) for name in result.learners if name in setting.bounds}
        errors = result.values("coverage_error")
        largest = {name: errors[i, :, -1].max() for i, name in enumerate(result.learners)}
        sentence = (
            "Largest error of the coverage in any run at the horizon (theorem's bound, which holds in every run): "
            + "; ".join(f"{name} {largest[name]:.4f}" + (f" ({ends[name]:.4f})" if name in ends else "")
                        for name in result.learners) + "."
        )  # fmt: skip
        curves = {name: np.array([setting.bounds[name](int(t)) for t in result.rounds]) for name in ends}
        figures = {"figure": lambda: _plot(result, curves, 1.0 - self.alpha)}
        return dataclasses.replace(report, sentences=[*report.sentences, sentence], figures=figures)


def _plot(result: Result, bounds: dict[str, np.ndarray], level: float) -> "Figure":
    """Plot the coverage of the last rounds, with bands, and the largest error of the coverage over the runs."""
    from jaxonline.results.report.figure import ResultFigure
    from jaxonline.results.report.plotting import COLOURS, plot_band, set_log_scales, style_axes

    figure = ResultFigure(figsize=(8.8, 3.8), layout="constrained")
    left, right = figure.subplots(1, 2)
    coverage = result.bands(f"coverage_of_last_{WINDOW}")
    largest = result.values("coverage_error").max(axis=1)
    for i, name in enumerate(result.learners):
        plot_band(left, result.rounds, coverage, i, color=COLOURS[i], label=name)
        right.plot(result.rounds, largest[i], color=COLOURS[i])
        if name in bounds:
            right.plot(result.rounds, bounds[name], color=COLOURS[i], ls="--", lw=1)
    left.axhline(level, color="0.4", lw=0.8)
    left.legend(frameon=False, fontsize=9)
    set_log_scales(right)
    style_axes(left, "round", f"coverage of the last {WINDOW} rounds", f"mean of {len(result.runs):,} runs, bands")
    style_axes(right, "round", "error of the coverage of all rounds", "largest of all runs; dashed: bounds")
    return figure
