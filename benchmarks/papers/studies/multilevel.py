"""Losses with few derivatives: the randomised multilevel estimator beside series of the same expected queries.

The estimators of l'(E X) use a random number of copies of X. Part 1 has exact second moments times copies for Gaussian
X. Part 2 has the regret of gradient descent and of the kernel learner (Cesa-Bianchi, Shalev-Shwartz, Shamir, COLT 2010,
Algorithm 1): the multilevel estimator, the series with a geometric number N that has the same expected number of
queries in a round, and the series with the cost-aware distribution of N. For the Huber loss, which has no series, it is
polynomials.
"""

import itertools
import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from pydantic import Field
from scipy import optimize, special

from benchmarks.papers.comparison import BestOf, Comparison
from benchmarks.papers.estimators.series import PolynomialSequenceEstimator, SequenceLength, chebyshev
from benchmarks.papers.studies import figures
from benchmarks.papers.studies.multikernel_rates import mean_interval
from benchmarks.papers.study import Numbers, Positive, Study, Words, select_by_name
from jaxonline import estimators, kernels
from jaxonline.comparators import RKHSBall
from jaxonline.environments import DataStream
from jaxonline.estimators import Geometric, GradientLength, PowersOfTwo, cost_aware
from jaxonline.estimators.counts import FiniteDistribution, distribution_from_magnitudes
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
MULTILEVEL, POLYNOMIALS = "multilevel", {degree: f"polynomials of degree {degree}" for degree in (3, 5)}
FREEDOM = 2.1  # of Student's t, which has less than this number of moments
ETAS = (0.03, 0.1, 0.3, 1.0, 3.0)
LARGEST_SHARE = 0.8  # of radius^2, for the E X^2 of a series


class GaussianMoments(NamedTuple):
    """Exact mean of a multilevel estimate, and second moments of two forms with this mean.

    The base of a form is the mean of the f(X_j) (`mean_base`, that of the library), or f(X_1)/p_0 at level 0.
    """

    mean: float
    mean_base: float
    single: float


def gaussian_moments(f: Callable[[Any], Any], mean: float, deviation: float, law: PowersOfTwo) -> GaussianMoments:
    """Return the moments for Gaussian copies, by the trapezoidal rule in (A + B)/2 and (A - B)/2."""
    counts = law.counts
    p = np.exp(law.log_table(counts[-1] + 1))[counts]
    with jax.enable_x64(True):
        own = np.asarray(f(jnp.asarray(mean + deviation * POINTS)))
        base, square = float(WEIGHTS @ own), float(WEIGHTS @ own**2)
        mean_base, single = p[0] * square, square / p[0]
        for n, chance in zip(counts[1:], p[1:], strict=True):
            steps = deviation / math.sqrt(n) * POINTS
            wide = mean + deviation / math.sqrt(n) * np.linspace(-16.0, 16.0, 2 * len(POINTS) - 1)
            rest = deviation * math.sqrt(1 - 2 / n) * POINTS  # X_1 given the mean of its half
            values, given = np.asarray(f(jnp.asarray(wide))), np.asarray(f(jnp.asarray(wide[:, None] + rest))) @ WEIGHTS
            i, j = np.indices((len(POINTS), len(POINTS)))
            plus, minus = i + j, i - j + len(POINTS) - 1
            delta = np.asarray(f(jnp.asarray(mean + steps)))[:, None] - 0.5 * (values[plus] + values[minus])
            squares = WEIGHTS @ delta**2 @ WEIGHTS
            cross = WEIGHTS @ (given[plus] * delta) @ WEIGHTS  # E f(X_1) Delta
            mean_base += chance * (base**2 + (square - base**2) / n) + 2 * cross + squares / chance
            single += squares / chance
        expectation = WEIGHTS @ np.asarray(f(jnp.asarray(mean + steps)))  # at a kink, the E Delta_k add up errors
    return GaussianMoments(*map(float, (expectation, mean_base, single)))


def clip(x: np.ndarray) -> np.ndarray:
    """Return the slope of the Huber loss with kinks at +-1/2."""
    return np.clip(x, -0.5, 0.5)


def series_moment(loss: Any, mean: float, moment: float) -> tuple[float, float, float]:
    """Return E theta^2, the mean number of copies and the bias of the series, or of polynomials for the Huber loss.

    The series is the cost-aware one for the true E X^2. Where it diverges, E theta^2 is inf; NaN means that more than
    1024 terms are necessary.
    """
    if not isinstance(loss, SeriesLoss):
        reach = max(1.0, 2 * math.sqrt(moment))
        sequence = chebyshev(clip, DEGREE, -reach, reach)
        polynomials = PolynomialSequenceEstimator.for_sequence(sequence, moment, mean)
        return polynomials.exact_second_moment(moment, mean), polynomials.law.mean(), sequence.bias(clip, mean)
    if moment >= loss.radius() ** 2:
        return math.inf, math.nan, math.nan
    try:
        series = estimators.SeriesEstimator.for_loss(loss, cost_aware, moment)
    except ValueError:
        return math.nan, math.nan, math.nan
    return exact_second_moment(series, moment), series.law.mean(), 0.0


def polynomials_of_cost(degree: int, copies: float, moment: float) -> SequenceLength:
    """Return polynomials for the slope of the Huber loss, with the least second moment among the laws with this E N.

    With a Lagrange multiplier, p_n is proportional to a_n / sqrt(n - c), where a_n^2 is the second moment of term n.
    The terms of even n are 0.
    """
    sequence = chebyshev(clip, degree, -2.0, 2.0)
    sizes, n = sequence.magnitudes(moment, 0.0), np.arange(degree + 1)

    def law(log: float) -> FiniteDistribution:
        return distribution_from_magnitudes(sizes / np.sqrt(np.maximum(n - 1, 0) + math.exp(log)))

    log = optimize.brentq(lambda log: law(log).mean() - copies, -20.0, 10.0)
    return SequenceLength(PolynomialSequenceEstimator(sequence, law(log)), "regression")


def sampled_moments(X: np.ndarray, rate: float) -> list[dict[str, float]]:
    """Return E theta^2 of multilevel estimates of the logistic l'(E X) for L = 1, 2, ..., from copies [samples, 2^L].

    The squares of a sample's estimates of all levels are weighted by the p_k; the intervals are Student's over samples.
    """
    slopes, rows = special.expit(-X), []  # -l'
    parts = [(slopes[:, 0], np.zeros(len(X)))]
    for k in range(1, X.shape[1].bit_length()):
        halves = X[:, : 2**k].reshape(len(X), 2, -1).mean(axis=2)
        delta = special.expit(-halves.mean(axis=1)) - special.expit(-halves).mean(axis=1)
        parts.append((slopes[:, : 2**k].mean(axis=1), delta))
        law = PowersOfTwo(rate, k)
        p = np.exp(law.log_table(2**k + 1))[law.counts]
        squares = np.sum([q * (base + delta / q) ** 2 for q, (base, delta) in zip(p, parts, strict=True)], axis=0)
        low, high = mean_interval(squares)
        rows.append({"levels": k, "copies": law.mean(), "moment": squares.mean(), "low": low, "high": high})
    return rows


class GameOf(NamedTuple):
    """A game: loss (key of `LOSSES`), radius of the predictors, and whether they are in the space of a kernel."""

    loss: str
    radius: float
    kernel: bool = False

    @property
    def name(self) -> str:
        """The label of the game."""
        return f"{'kernel' if self.kernel else 'linear'}: {self.loss} radius {self.radius:g}"


GAMES = {game.name: game for game in (
    GameOf("Huber", 2.0), GameOf("logistic", 1.0), GameOf("logistic", 6.0), GameOf("smoothed hinge s = 1", 2.0),
    GameOf("smoothed hinge s = 4", 2.0), GameOf("Huber", 1.0, True), GameOf("logistic", 1.0, True),
)}  # fmt: skip


class Multilevel(Study):
    """Second moments times copies, and regret at equal expected queries, of series and multilevel estimators."""

    title: ClassVar[str] = "Multilevel estimates for losses with few derivatives, beside series."
    means: Numbers = Field((0.0, 0.5, 1.0, 3.0), min_length=1, description="E X of part 1.")
    deviations: Positive = Field((0.3, 1.0, 3.0), min_length=1, description="Standard deviations of X of part 1.")
    levels: int = Field(10, ge=1, le=12, description="Largest level of part 1.")
    rate: float = Field(1.5, gt=1, description="Rate of the probabilities of levels of part 1.")
    samples: int = Field(30_000, ge=10, le=100_000, description="Samples of light and heavy tails.")
    games: Words = Field((), description="Games of part 2; by default all.")
    runs: int = Field(60, ge=6, description="Runs of each learner; a third of them chooses the step.")
    rounds: int = Field(1000, ge=16, description="Rounds of a linear game; a kernel learner plays a quarter of them.")
    variance: float = Field(0.1, gt=0, description="Variance of the noise on each coordinate in part 2.")

    @ignore_skewness_warnings()
    def run(self, context: Context) -> Report:
        rng, size = np.random.default_rng(context.seed), (self.samples, 2 ** min(self.levels, 8))
        tails = {"Gaussian": rng.standard_normal(size), f"Student's t ({FREEDOM:g})": rng.standard_t(FREEDOM, size)}
        heavy = [{"X": name} | row for name, X in tails.items() for row in sampled_moments(X, self.rate)]
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
        ratios = [Text("loss"), Number("sd"), *(Number(f"E X = {mean:g}", form="{:.2g}") for mean in self.means)]
        rows = [{"game": name} | row for name, compared in results.items() for row in compared.rows()]
        tables = {
            "map": Table("Product of the series / that of multilevel estimates", self.map_rows(moments), ratios),
            "moments": Table("E theta^2 (1 + E N), Gaussian X: exact", moments, MOMENTS, group="loss"),
            "heavy": Table("Multilevel estimates of the logistic l'(0), by samples", heavy, HEAVY, group="X"),
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
                    second, copies, bias = series_moment(loss, mean, mean**2 + deviation**2)
                    product, slope = second if math.isinf(second) else second * (1 + copies), loss.derivative(mean)
                    rows.append(
                        {"loss": name, "mean": mean, "deviation": deviation, "slope": float(slope)}
                        | {"expectation": own.mean, "bias": round(own.mean - float(slope), 9), "series_bias": bias}
                        | {"second_moment": own.mean_base, "single": own.single, "copies": law.mean()}
                        | {"product": own.mean_base * (1 + law.mean())}
                        | {"series": second, "series_copies": copies, "series_product": product}
                    )
        return rows

    def map_rows(self, moments: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Return the ratios of the products, one row for each loss and deviation: above 1 multilevel estimates win."""
        ratios = {(r["loss"], r["deviation"], r["mean"]): r["series_product"] / r["product"] for r in moments}
        places = itertools.product(LOSSES, self.deviations)
        return [{"loss": n, "sd": s} | {f"E X = {x:g}": ratios[n, s, x] for x in self.means} for n, s in places]

    def comparison(self, game: GameOf, seed: int) -> Comparison:
        """Return the comparison of both estimators, with the step that a third of the runs chooses."""
        loss, rng = LOSSES[game.loss], np.random.default_rng(seed)
        X = rng.normal(size=(200, 3))
        X *= (0.5 * rng.uniform(size=200) ** (1 / 3) / np.linalg.norm(X, axis=1))[:, None]
        target = np.sin(6 * X[:, 0]) + 2 * X[:, 1]
        regression = loss.kind == "regression"
        y = 0.5 * np.tanh(1.5 * target) if regression else np.where(target > 0, 1.0, -1.0)
        moment, kernel = 0.25 + self.variance, kernels.ExponentialKernel() if game.kernel else kernels.Linear()
        feature_map = estimators.DotProductFeatureMap(kernels.ExponentialKernel(), Geometric(2.0))
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
            lengths |= {name: polynomials_of_cost(k, law.mean(), factor) for k, name in POLYNOMIALS.items()}

        def learner(length: GradientLength) -> Callable[[Any], Any]:
            if not game.kernel:
                return lambda step: GradientLearner(estimators.LengthTimesCopy(length), step, game.radius)
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
        figure, ((axes,),) = figures.panels(1, 1, 3.6, "E theta^2 times copies: below the line multilevel wins")
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
    coefficients = np.asarray(length.series.coefficients, np.float32)  # as in the game; some are 1e-62 in float64
    p, n = np.exp(length.series.law.log_table(len(coefficients))), np.arange(len(coefficients))
    return 1 + length.series.law.mean() if unused else float((p * (n + 1))[coefficients != 0.0].sum())


MOMENTS = (
    Text("loss"), Number("mean", "E X", "{:g}"), Number("deviation", "sd", "{:g}"),
    Number("second_moment", "E theta^2", "{:.3g}"), Number("single", "single term", "{:.3g}"),
    Number("bias", "bias", "{:.1g}"), Number("series_bias", "bias of\nseries", "{:.1g}"),
    Number("product", "multilevel", "{:.3g}"), Number("series_product", "series", "{:.3g}"),
)  # fmt: skip
HEAVY = (
    Text("X"), Number("levels", "L"), Number("copies", "E N", "{:.2f}"), Interval("moment", "E theta^2", "{:.3f}"),
)  # fmt: skip
REGRETS = (
    Text("game"), Text("learner", "estimator"), Number("queries_per_round", "queries\n/round", "{:.2f}"),
    Interval("regret"), Number("eta", "eta", "{:g}"),
)  # fmt: skip
