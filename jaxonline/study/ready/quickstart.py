"""The quickstart study: linear prediction from noisy medical measurements with five learners."""

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from jaxonline import bounds, estimators
from jaxonline.comparators import L2Ball
from jaxonline.datasets import diabetes
from jaxonline.environments import DataStream
from jaxonline.feedback import FullInformation, NoisyCopies, noise
from jaxonline.game import Entrant, Game
from jaxonline.learners import GradientLearner
from jaxonline.results.report.tables import REGRET_COLUMNS, Table
from jaxonline.study import Comparison, Context, Report, Study
from jaxonline.study.study import Names, select_by_name


class Quickstart(Study):
    """Five learners on shuffled passes over scikit-learn's diabetes data with Gaussian noise on every measurement.

    Columns are scaled to unit variance, then instances to |x| <= 1, and targets to mean zero and |y| <= 1. The noise
    has twice the mean square of a scaled measurement. The regret bounds are Paper B's Theorems 1 and 2, corrected by
    errata E10 and E11, for steps eta / sqrt(t).
    """

    title: ClassVar[str] = "Regret of five learners on noisy medical measurements, with intervals and bounds."
    runs: int = Field(1000, ge=1, le=1_000_000, description="Runs of each learner.")
    passes: int = Field(10, ge=1, le=1_000_000, description="Passes over the data set.")
    radius: float = Field(1.5, gt=0, description="Radius of the ball of predictors.")
    noise_variance: float = Field(0.04, gt=0, description="Variance of the noise on each measurement.")
    eta: float = Field(0.5, gt=0, description="Steps are eta / sqrt(t), the same for all learners.")
    only: Names = Field((), description="Learners, named as in the table; by default all.")

    def run(self, context: Context) -> Report:
        X, y = diabetes()
        X = X / X.std(axis=0)
        X = X / np.linalg.norm(X, axis=1).max()
        y = y - y.mean()
        y = y / np.abs(y).max()
        n_rounds, radius, measurement_noise = self.passes * len(y), self.radius, noise.gaussian(self.noise_variance)

        def learner(estimator: Any) -> Any:
            return lambda step: GradientLearner(estimator, step_size=step, radius=radius)

        clean, noisy = bounds.moment_bounds(X, y), bounds.moment_bounds(X, y, measurement_noise)
        theorems = {
            "full information": bounds.full_information(radius, clean.x_second, clean.y_second, n_rounds),
            "two noisy copies": bounds.two_copies(radius, noisy.x_second, noisy.y_second, n_rounds),
            "known covariance": bounds.known_covariance(radius, noisy.x_fourth, noisy.y_second, n_rounds),
        }
        full = learner(estimators.FullGradient())
        learners = {
            "full information": lambda step: Entrant(full(step), FullInformation()),
            "two noisy copies": learner(estimators.TwoCopies()),
            "known covariance": learner(estimators.KnownCovariance()),
            "one noisy copy, naive": learner(estimators.NaiveCopy()),
        }
        selected = select_by_name("only", self.only, learners)
        comparison = Comparison(
            Game(DataStream(X, y, order="shuffled"), NoisyCopies(measurement_noise, reveal_covariance=True)),
            selected,
            L2Ball(radius),
            {name: bound.inverse_sqrt_step for name, bound in theorems.items() if name in selected},
            tune=self.eta,
        ).run(context, n_runs=self.runs, n_rounds=n_rounds)
        rows = comparison.result.table({name: bound[-1] for name, bound in comparison.bounds.items()})
        title = "Linear prediction when every measurement is noisy (diabetes data, regret on the clean data)"
        return Report(
            {
                "table": Table(
                    f"{self.runs:,} runs of {n_rounds:,} rounds, regret on the clean data", rows, REGRET_COLUMNS
                )
            },
            {"figure": lambda: comparison.result.plot(bounds=comparison.bounds, title=title)},
            results={"result": comparison.result},
            numbers=comparison.curves(),
            bounds={"result": comparison.bounds},
        )
