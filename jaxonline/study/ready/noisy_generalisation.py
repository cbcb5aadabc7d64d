"""Risk on clean held-out data of learners that are trained on noisy copies (online-to-batch conversion).

Training rows are independent draws. So the expected risk of a learner's mean hypothesis is at most the least risk plus
the regret bound divided by the number of rounds (Cesa-Bianchi, Conconi, Gentile 2004). A learner that uses a noisy copy
as if it were the instance has a risk that does not converge to the least risk.
"""

import math
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from pydantic import Field

from jaxonline import bounds, estimators, kernels, losses
from jaxonline.bounds import RegretBound
from jaxonline.environments import DataStream
from jaxonline.estimators import FullGradient, KnownCovariance, NaiveCopy, TwoCopies
from jaxonline.feedback import FullInformation, NoisyCopies, noise
from jaxonline.game import Entrant, Game
from jaxonline.learners import GradientLearner, HeldOutRisk, InverseSqrt, NoisyKernel, Storage, held_out_risk
from jaxonline.results.report.plotting import COLOURS, plot_band, set_log_scales, style_axes
from jaxonline.results.report.tables import Interval, Number, Table, Text
from jaxonline.results.statistics import Estimate, mean_over_runs
from jaxonline.study import Context, Report, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FULL, TWO, KNOWN = "full information", "two copies", "one copy, known covariance"
KERNEL, NAIVE = "Algorithm 1, polynomial kernel", "one copy as if clean"
POOL = 20_000  # rows from which training rows are drawn with replacement
KINDS = "mean", "random", "last"


class NoisyGeneralisation(Study):
    """Study of squared losses with the linear target <u, x>, |u| = 1, and instances in a ball of radius 1/2.

    Instances and labels have Gaussian noise in training, and none on the held-out rows. The kernel of Algorithm 1 is (1
    + <x, x'>)^2, and its ball has the radius sqrt(1/2), the norm of the target in the RKHS. So the least risk of every
    learner's hypotheses is 0. Steps are eta / sqrt(t), with the eta that minimises the theorem's bound for such steps.
    """

    title: ClassVar[str] = (
        "Risk on clean held-out data after training on noisy copies: linear learners, Algorithm 1, a biased learner."
    )
    runs: int = Field(12, ge=2, le=1_000_000, description="Runs of each learner.")
    rounds: int = Field(4096, ge=16, le=1_000_000, description="The number of training rounds.")
    held_out: int = Field(400, ge=2, le=1_000_000, description="Number of held-out rows.")
    dimension: int = Field(3, ge=1, le=1000, description="Dimension of the instances.")
    noise_variance: float = Field(0.05, gt=0, description="Variance of the noise on each coordinate.")
    label_variance: float = Field(0.01, ge=0, description="Variance of the noise of the labels.")

    def run(self, context: Context) -> Report:
        (X, y), (X_test, y_test) = self.problem(context.seed)
        law, label_law = noise.gaussian(self.noise_variance), noise.gaussian(self.label_variance)
        game = Game(DataStream(X, y, order="iid"), NoisyCopies(law, label_law), loss=losses.Squared())
        entrants = self.entrants(X, y)
        risks = {}
        with context.parts(len(entrants)) as part:
            for name, (entrant, _) in entrants.items():
                own, inputs = part(name), {"study": self.model_dump(), "learner": name, "seed": context.seed}
                arrays = own.compute_once(
                    inputs,
                    lambda entrant=entrant: held_out_risk(
                        game, entrant, X_test, y_test, self.rounds, self.runs, context.seed
                    )._asdict(),
                )
                risks[name] = HeldOutRisk(**arrays)
        at = np.unique(np.geomspace(1, self.rounds, 60).round().astype(int))
        limits = {name: _excess_bound(bound, at) for name, (_, bound) in entrants.items() if name != NAIVE}
        estimates = {kind: _estimate(risks.values(), kind, at) for kind in KINDS}
        overflowed = {name: int(risk.overflowed.sum()) for name, risk in risks.items()}
        rows = [
            {"learner": name, "rounds": int(at[g]), "bound": limits[name][g] if name in limits else None}
            | {
                f"{kind}{end}": float(getattr(estimates[kind], part)[i, g])
                for kind in KINDS
                for end, part in (("", "mean"), ("_low", "low"), ("_high", "high"))
            }
            for i, name in enumerate(risks)
            for g in range(len(at))
        ]
        zero, biased = float(np.mean(y_test**2)), self.biased_risk(X, y, X_test, y_test)
        horizon = [row for row in rows if row["rounds"] == self.rounds]
        caption = (
            f"95 % intervals over {self.runs} runs; the least risk is 0. The bound is for the mean and for a random "
            f"hypothesis. Excluded runs (out of storage): {sum(overflowed.values())}."
        )
        return Report(
            {"table": Table("Risk on held-out rows", rows)},
            {"figure": lambda: plot_risks(list(risks), at, estimates["mean"], limits, zero, biased)},
            [
                f"Risk of the predictor 0: {zero:.4f}.",
                f"The minimiser of the expected loss on noisy copies has the risk {biased:.4f}; "
                f'the learner "{NAIVE}" descends on this loss.',
            ],
            numbers={
                "rows": rows, "predictor_0": zero, "biased_minimiser": biased, "overflowed": overflowed,
                "settings": self.model_dump(),
            },
            shown=[Table(f"Risk after {self.rounds:,} rounds", horizon, COLUMNS, caption=caption)],
        )  # fmt: skip

    def entrants(self, X: np.ndarray, y: np.ndarray) -> dict[str, tuple[Any, RegretBound]]:
        """Return each learner with the bound that its step minimises; the biased learner has that of two copies."""
        law, label_law = noise.gaussian(self.noise_variance), noise.gaussian(self.label_variance)
        T, moments, clean = self.rounds, bounds.moment_bounds(X, y, law, label_law), bounds.moment_bounds(X, y)
        x, y_bound = moments.x_second, moments.y_second
        two = bounds.two_copies(1.0, x, y_bound, T)
        kernel, radius = kernels.Inhomogeneous(2), math.sqrt(0.5)
        feature_map = estimators.best_feature_map(kernel, x**2, overhead=0.5)
        factors = bounds.factor_moment(radius, feature_map.second_moment(x**2), y_bound)
        length = estimators.GradientLength.for_loss(losses.Squared(), estimators.minimum_variance, factors)
        theorem = bounds.noisy_kernel(feature_map, length, radius, x**2, T, y_bound)
        storage = Storage.for_horizon(feature_map, length, self.dimension, T)
        known = bounds.known_covariance(1.0, moments.x_fourth, y_bound, T)
        full = bounds.full_information(1.0, clean.x_second, clean.y_second, T)
        return {
            FULL: (Entrant(_descent(FullGradient(losses.Squared()), full), FullInformation()), full),
            TWO: (_descent(TwoCopies(), two), two),
            KNOWN: (
                Entrant(_descent(KnownCovariance(), known), NoisyCopies(law, label_law, reveal_covariance=True)),
                known,
            ),
            KERNEL: (NoisyKernel(feature_map, length, InverseSqrt(_eta(theorem)), radius, storage), theorem),
            NAIVE: (_descent(NaiveCopy(), two), two),
        }

    def problem(self, seed: int) -> tuple[tuple[np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]:
        """Return clean training rows and clean held-out rows; instances are uniform in a ball."""
        rng = np.random.default_rng(seed)
        u = rng.normal(size=self.dimension)
        directions = rng.normal(size=(POOL + self.held_out, self.dimension))
        lengths = 0.5 * rng.uniform(size=len(directions)) ** (1 / self.dimension)
        X = directions * (lengths / np.linalg.norm(directions, axis=1))[:, None]
        y = X @ (u / np.linalg.norm(u))
        return (X[:POOL], y[:POOL]), (X[POOL:], y[POOL:])

    def biased_risk(self, X: np.ndarray, y: np.ndarray, X_test: np.ndarray, y_test: np.ndarray) -> float:
        """Return the risk of w = (E x x' + Sigma)^-1 E y x, the minimiser of the expected loss on noisy copies."""
        second = X.T @ X / len(X) + self.noise_variance * np.eye(self.dimension)
        w = np.linalg.solve(second, X.T @ y / len(X))
        return float(np.mean((X_test @ w - y_test) ** 2))


COLUMNS = (
    Text("learner"),
    Interval("mean", "mean\nhypothesis", "{:.5f}"),
    Interval("random", "random\nhypothesis", "{:.5f}"),
    Interval("last", "last\nhypothesis", "{:.5f}"),
    Number("bound", "bound", "{:.3f}"),
)


def _eta(bound: RegretBound) -> float:
    """Return the eta that minimises the bound for steps eta / sqrt(t)."""
    return bound.diameter / math.sqrt(2 * bound.G)


def _descent(estimator: Any, bound: RegretBound) -> GradientLearner:
    return GradientLearner(estimator, InverseSqrt(_eta(bound)), radius=bound.radius)


def _excess_bound(bound: RegretBound, rounds: np.ndarray) -> np.ndarray:
    """Return the bound on the excess risk of the mean hypothesis: the regret bound divided by the rounds."""
    return np.asarray(bound.inverse_sqrt_step(_eta(bound), rounds)) / rounds


def _estimate(risks: Iterable[HeldOutRisk], kind: str, rounds: np.ndarray) -> Estimate:
    """Return means over the runs that had room for all copies."""
    values = [np.where(risk.overflowed[:, None], np.nan, getattr(risk, kind)[:, rounds - 1]) for risk in risks]
    return mean_over_runs(np.stack(values))


def plot_risks(
    names: list[str], rounds: np.ndarray, risks: Estimate, limits: dict[str, np.ndarray], zero: float, biased: float
) -> "Figure":
    """Plot the risk of the mean hypothesis against the rounds, with the bounds (dashed) and two constant risks."""
    from matplotlib.figure import Figure

    figure = Figure(figsize=(9.0, 5.8), layout="constrained")
    axes = figure.subplots()
    for i, name in enumerate(names):
        colour = COLOURS[i]
        plot_band(axes, rounds, risks, i, color=colour, lw=1.8, label=name)
        if name in limits:
            axes.plot(rounds, limits[name], color=colour, ls="--", lw=1.0)
    axes.plot([], [], color="0.4", ls="--", lw=1.0, label="bound: regret bound / rounds")
    axes.axhline(zero, color="0.6", lw=1.0, label="predictor 0")
    axes.axhline(biased, color="black", ls=":", lw=1.3, label="minimiser of the loss on noisy copies")
    style_axes(axes, "training rounds", "risk on clean held-out rows", "Mean hypothesis, 95 % intervals")
    set_log_scales(axes)
    axes.legend(frameon=False, fontsize=9, loc="center left", bbox_to_anchor=(1.0, 0.5))
    return figure
