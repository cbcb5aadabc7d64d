"""Losses with few derivatives: the randomised multilevel estimator beside series of the same expected queries.

The estimators of l'(E X) use a random number of copies of X. Part 1 has exact second moments times copies for Gaussian
X. Part 2 has the regret of gradient descent and of the kernel learner (Cesa-Bianchi, Shalev-Shwartz, Shamir, COLT 2010,
Algorithm 1): the multilevel estimator, the series with a geometric number N that has the same expected number of
queries in a round, and the series with the cost-aware distribution of N. For the Huber loss, which has no series, it is
polynomials.
"""

import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from pydantic import Field
from scipy import optimize

from benchmarks.papers.comparison import BestOf, Comparison
from benchmarks.papers.estimators.series import PolynomialSequenceEstimator, SequenceLength, chebyshev
from benchmarks.papers.studies import figures
from benchmarks.papers.study import Numbers, Positive, Study, Words, select_by_name
from jaxonline import kernels
from jaxonline.comparators import RKHSBall
from jaxonline.environments import DataStream
from jaxonline.estimators import (
    DotProductFeatureMap,
    Geometric,
    GradientLength,
    LengthTimesCopy,
    PowersOfTwo,
    SeriesEstimator,
    cost_aware,
)
from jaxonline.estimators.series import exact_second_moment
from jaxonline.feedback import NoisyCopies, noise
from jaxonline.game import Game
from jaxonline.learners import GradientLearner, NoisyKernel, Storage
from jaxonline.losses import Exponential, Huber, Logistic, SeriesLoss, SmoothedAbsolute, SmoothedHinge
from jaxonline.results.report.tables import Interval, Number, Table, Text
from jaxonline.study import Context, Report
from jaxonline.study.study import ignore_skewness_warnings

LOSSES: dict[str, Any] = {
    "Huber": Huber(0.5), "logistic": Logistic(), "smoothed hinge s = 1": SmoothedHinge(1.0),
    "smoothed hinge s = 4": SmoothedHinge(4.0), "smoothed absolute s = 1": SmoothedAbsolute(1.0),
    "exponential": Exponential(),
}  # fmt: skip
DEGREE = 15  # of the polynomials for the Huber loss
POINTS = np.linspace(-8.0, 8.0, 401)
WEIGHTS = np.exp(-0.5 * POINTS**2) / np.exp(-0.5 * POINTS**2).sum()
SERIES, COST_AWARE = "series, geometric", "series, cost-aware"
POLYNOMIALS, MULTILEVEL = "polynomials of degree 5", "multilevel"
ETAS = (0.03, 0.1, 0.3, 1.0, 3.0)
LARGEST_SHARE = 0.8  # of radius^2, for the E X^2 of a series


class GaussianMoments(NamedTuple):
    """Exact mean of a multilevel estimate, and second moments of three forms with this mean.

    The base of a form is the mean of the f(X_j) (`mean_base`, that of the library), f(X_1), or f(X_1)/p_0 at level 0.
    """

    mean: float
    mean_base: float
    first_base: float
    single: float


def gaussian_moments(f: Callable[[Any], Any], mean: float, deviation: float, law: PowersOfTwo) -> GaussianMoments:
    """Return the moments for Gaussian copies, by the trapezoidal rule in (A + B)/2 and (A - B)/2."""
    counts = law.counts
    p = np.exp(law.log_table(counts[-1] + 1))[counts]
    with jax.enable_x64(True):
        own = np.asarray(f(jnp.asarray(mean + deviation * POINTS)))
        base, square = float(WEIGHTS @ own), float(WEIGHTS @ own**2)
        total, mean_base, first_base, single = base, p[0] * square, square, square / p[0]
        for n, chance in zip(counts[1:], p[1:], strict=True):
            steps = deviation / math.sqrt(n) * POINTS
            wide = mean + deviation / math.sqrt(n) * np.linspace(-16.0, 16.0, 2 * len(POINTS) - 1)
            rest = deviation * math.sqrt(1 - 2 / n) * POINTS  # X_1 given the mean of its half
            values, given = np.asarray(f(jnp.asarray(wide))), np.asarray(f(jnp.asarray(wide[:, None] + rest))) @ WEIGHTS
            i, j = np.indices((len(POINTS), len(POINTS)))
            plus, minus = i + j, i - j + len(POINTS) - 1
            delta = np.asarray(f(jnp.asarray(mean + steps)))[:, None] - 0.5 * (values[plus] + values[minus])
            deltas, squares = WEIGHTS @ delta @ WEIGHTS, WEIGHTS @ delta**2 @ WEIGHTS
            cross = WEIGHTS @ (given[plus] * delta) @ WEIGHTS  # E f(X_1) Delta
            total += deltas
            mean_base += chance * (base**2 + (square - base**2) / n) + 2 * cross + squares / chance
            first_base += 2 * cross + squares / chance
            single += squares / chance
    return GaussianMoments(*map(float, (total, mean_base, first_base, single)))


def series_moment(loss: Any, mean: float, moment: float) -> tuple[float, float]:
    """Return E theta^2 and the mean number of copies of the cost-aware series; of polynomials for the Huber loss."""
    if not isinstance(loss, SeriesLoss):
        reach = max(1.0, 2 * math.sqrt(moment))
        sequence = chebyshev(lambda x: np.clip(x, -0.5, 0.5), DEGREE, -reach, reach)
        polynomials = PolynomialSequenceEstimator.for_sequence(sequence, moment, mean)
        return polynomials.exact_second_moment(moment, mean), polynomials.law.mean()
    if moment >= loss.radius() ** 2:
        return math.inf, math.nan
    try:
        series = SeriesEstimator.for_loss(loss, cost_aware, moment)
    except ValueError:  # more than 1024 terms
        return math.inf, math.nan
    return exact_second_moment(series, moment), series.law.mean()


class GameOf(NamedTuple):
    """A game: loss (key of `LOSSES`), radius of the predictors, and whether they are in the space of a kernel."""

    loss: str
    radius: float
    kernel: bool = False

    @property
    def name(self) -> str:
        """The label of the game."""
        return f"{'kernel' if self.kernel else 'linear'}: {self.loss} radius {self.radius:g}"


GAMES = {
    game.name: game
    for game in (
        GameOf("Huber", 2.0), GameOf("logistic", 1.0), GameOf("logistic", 6.0),
        GameOf("smoothed hinge s = 1", 2.0), GameOf("smoothed hinge s = 4", 2.0),
        GameOf("Huber", 1.0, True), GameOf("logistic", 1.0, True),
    )
}  # fmt: skip


class Multilevel(Study):
    """Second moments times copies, and regret at equal expected queries, of series and multilevel estimators."""

    title: ClassVar[str] = "Multilevel estimates for losses with few derivatives, beside series."
    means: Numbers = Field((0.0, 0.5, 1.0, 3.0), min_length=1, description="E X of part 1.")
    deviations: Positive = Field((0.3, 1.0, 3.0), min_length=1, description="Standard deviations of X of part 1.")
    levels: int = Field(10, ge=1, le=12, description="Largest level of part 1.")
    rate: float = Field(1.5, gt=1, description="Rate of the probabilities of levels of part 1.")
    games: Words = Field((), description="Games of part 2; by default all.")
    runs: int = Field(60, ge=6, description="Runs of each learner; a third of them chooses the step.")
    rounds: int = Field(1000, ge=16, description="Rounds of a linear game; a kernel learner plays a quarter of them.")
    variance: float = Field(0.1, gt=0, description="Variance of the noise on each coordinate in part 2.")

    @ignore_skewness_warnings()
    def run(self, context: Context) -> Report:
        moments, chosen = self.moments(), select_by_name("games", self.games, GAMES)
        sizes = {
            name: {"n_runs": self.runs, "n_rounds": max(16, self.rounds // 4) if game.kernel else self.rounds}
            for name, game in chosen.items()
        }
        with context.parts(len(chosen)) as part:
            results = {
                name: self.comparison(game, context.seed).run(part(name), record_at=8, **sizes[name])
                for name, game in chosen.items()
            }
        rows = [{"game": name} | row for name, compared in results.items() for row in compared.rows()]
        tables = {
            "moments": Table("E theta^2 (1 + E N), Gaussian X: exact", moments, MOMENTS, group="loss"),
            "table": Table("Regret at the horizon (95 % intervals)", rows, REGRETS, group="game"),
        }
        return Report(
            tables,
            {"figure": lambda: self.plot(moments)},
            [*figures.closing_sentences(results)],
            {f"results/{name}": compared.result for name, compared in results.items()},
        )

    def moments(self) -> list[dict[str, Any]]:
        """Return a row of exact second moments times the cost of a gradient for each loss, mean and deviation."""
        law, rows = PowersOfTwo(self.rate, self.levels), []
        for name, loss in LOSSES.items():
            for mean in map(float, self.means):
                for deviation in self.deviations:
                    own = gaussian_moments(loss.derivative, mean, deviation, law)
                    second, copies = series_moment(loss, mean, mean**2 + deviation**2)
                    product = second * (1 + copies) if math.isfinite(second) else math.inf
                    rows.append(
                        {"loss": name, "mean": mean, "deviation": deviation, "slope": float(loss.derivative(mean))}
                        | {"expectation": own.mean, "second_moment": own.mean_base, "first": own.first_base}
                        | {"single": own.single, "copies": law.mean(), "product": own.mean_base * (1 + law.mean())}
                        | {"series": second, "series_copies": copies, "series_product": product}
                    )
        return rows

    def comparison(self, game: GameOf, seed: int) -> Comparison:
        """Return the comparison of both estimators, with the step that a third of the runs chooses."""
        loss, rng = LOSSES[game.loss], np.random.default_rng(seed)
        X = rng.normal(size=(200, 3))
        X *= (0.5 * rng.uniform(size=200) ** (1 / 3) / np.linalg.norm(X, axis=1))[:, None]
        target = np.sin(6 * X[:, 0]) + 2 * X[:, 1]
        regression = loss.kind == "regression"
        y = 0.5 * np.tanh(1.5 * target) if regression else np.where(target > 0, 1.0, -1.0)
        moment, kernel = 0.25 + self.variance, kernels.ExponentialKernel() if game.kernel else kernels.Linear()
        feature_map = DotProductFeatureMap(kernels.ExponentialKernel(), Geometric(2.0))
        if game.kernel:
            moment = feature_map.second_moment(0.25 + 3 * self.variance)
        factor = (game.radius * math.sqrt(moment) + 0.5 * regression) ** 2
        law = PowersOfTwo(1.5, 8)
        lengths = {MULTILEVEL: GradientLength.multilevel(loss, law)}
        if isinstance(loss, SeriesLoss):
            largest = LARGEST_SHARE * loss.radius() ** 2
            lengths[COST_AWARE] = GradientLength.for_loss(loss, cost_aware, min(factor, largest))

            def geometric(p: float) -> GradientLength:
                return GradientLength.for_loss(loss, Geometric(p), min(factor, largest / p))

            def excess(p: float) -> float:
                return expected_queries(geometric(p), game.kernel) - 1 - law.mean()

            lengths[SERIES] = geometric(optimize.brentq(excess, 1.05, 3.0, xtol=1e-3))
        else:
            slope = chebyshev(lambda x: np.clip(x, -0.5, 0.5), 5, -2.0, 2.0)
            lengths[POLYNOMIALS] = SequenceLength.for_sequence(slope, "regression", factor)

        def learner(length: GradientLength) -> Callable[[Any], Any]:
            if not game.kernel:
                return lambda step: GradientLearner(LengthTimesCopy(length), step, game.radius)
            storage = Storage.for_horizon(feature_map, length, 3, max(16, self.rounds // 4), 1e-4)
            return lambda step: NoisyKernel(feature_map, length, step, game.radius, storage)

        return Comparison(
            Game(DataStream(X, y), NoisyCopies(noise.gaussian(self.variance)), loss=loss),
            {name: learner(length) for name, length in lengths.items()},
            RKHSBall(kernel, game.radius, loss),
            tune=BestOf({f"{eta:g}": eta * game.radius for eta in ETAS}, runs="third"),
        )

    @figures.paper_style
    def plot(self, rows: list[dict[str, Any]]) -> Any:
        """Draw the product of second moment and cost of both estimators: below the diagonal multilevel wins."""
        figure, panels = figures.panels(
            1, 1, 3.6, "E theta^2 times copies for Gaussian X: below the line multilevel wins"
        )
        axes = panels[0, 0]
        for name, marker in zip(LOSSES, "osD^vP", strict=True):
            points = [row for row in rows if row["loss"] == name and row["series_product"] < 1e9]
            values = ([row[key] for row in points] for key in ("series_product", "product"))
            axes.plot(*values, marker, ls="none", ms=4, label=name)
        axes.plot([0.1, 1e9], [0.1, 1e9], color="0.5", lw=0.8)
        figures.finish(axes, "series", "multilevel", log="xy")
        figures.legend_below(figure, 3)
        return figure


def expected_queries(length: GradientLength, unused: bool) -> float:
    """Return the mean number of copies of a gradient, with those of terms that are 0 if `unused` is True."""
    coefficients = np.asarray(length.series.coefficients)
    p, n = np.exp(length.series.law.log_table(len(coefficients))), np.arange(len(coefficients))
    return 1 + length.series.law.mean() if unused else float((p * (n + 1))[coefficients != 0.0].sum())


MOMENTS = (
    Text("loss"), Number("mean", "E X", "{:g}"), Number("deviation", "sd", "{:g}"),
    Number("second_moment", "E theta^2", "{:.3g}"), Number("single", "single term", "{:.3g}"),
    Number("product", "multilevel", "{:.3g}"), Number("series_product", "series", "{:.3g}"),
)  # fmt: skip
REGRETS = (
    Text("game"), Text("learner", "estimator"), Number("queries_per_round", "queries\n/round", "{:.2f}"),
    Interval("regret"), Number("eta", "eta", "{:g}"),
)  # fmt: skip
