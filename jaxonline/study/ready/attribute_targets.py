"""Attributes that learners need for sparse and dense targets: AER, exponentiated gradient, p-norm descent, and Lasso.

Paper C, section 2.2, compares bounds: with k of d attributes of each example, AER needs as many attributes as Lasso if
the target w* is dense (|w*|_1 = sqrt(d) |w*|_2), and d times as many if w* is sparse. The bound of exponentiated
gradient does not depend on this (`bounds.attribute_exponentiated_regret`; Hazan and Koren 2012). This study measures
the numbers on independent uniform attributes. The exponent of p-norm descent is p = 2 ln(2 d).
"""

from collections.abc import Callable, Iterable
from typing import Annotated, Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field, model_validator

from jaxonline.comparators import QuadraticSums, best_in_l1_ball
from jaxonline.environments import LinearModel
from jaxonline.estimators import AttributeGradient
from jaxonline.feedback import Attributes
from jaxonline.game import Game
from jaxonline.learners import ExponentiatedGradient, MirrorLearner, PNorm, aer, held_out_risk
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.report.tables import Number, Table, Text
from jaxonline.results.statistics import mean_over_runs
from jaxonline.study import Context, Report, Study
from jaxonline.study.study import Items

AER, EXPONENTIATED, P_NORM, LASSO = "AER", "exponentiated gradient", "p-norm descent", "Lasso, all attributes"
REGULARIZERS = 0.06, 0.12, 0.25, 0.5, 1.0
STEPS = 0.5, 1.0, 2.0, 4.0, 8.0  # in units of the largest step of the theorem on exponentiated gradient
N_POINTS = 160  # numbers of rounds at which the risk is read
MAX_LASSO_EXAMPLES = 2000
MAX_RISK = 1e6  # p-norm descent diverges with large steps; a larger risk, or none, counts as this one

Dimensions = Annotated[tuple[Annotated[int, Field(ge=2, le=10_000)], ...], Items]


class Needed(NamedTuple):
    """Attributes from which on the mean excess risk, or an end of its 95 % interval, is small; inf if it is not."""

    attributes: float
    low: float
    high: float


class AttributeTargets(Study):
    """Attributes until the excess risk of the mean hypothesis is a share of that of the predictor 0.

    Instances are uniform on the cube [-1, 1]^d. Labels are <w*, x> plus Gaussian noise. The target w* is e_1 (sparse)
    or (1/d, ..., 1/d) (dense), and AER, exponentiated gradient and Lasso know |w*|_1 = 1. Lasso is the minimiser of
    the squared loss in the l1 ball. Each other learner has the best parameter of its grid for each target.
    """

    title: ClassVar[str] = (
        "Sparse and dense targets from a few attributes: AER, exponentiated gradient, p-norm descent, and Lasso."
    )
    dimensions: Dimensions = Field((8, 16, 32), min_length=1, description="Numbers d of attributes.")
    attributes: int = Field(4, ge=2, le=784, multiple_of=2, description="Attributes of each example that are seen.")
    runs: int = Field(16, ge=2, le=100_000, description="Runs of each learner.")
    rounds: int = Field(40_000, ge=16, le=10_000_000, description="Examples of each learner but Lasso.")
    noise_std: float = Field(0.3, ge=0, description="Standard deviation of the noise on labels.")
    share: float = Field(0.5, gt=0, lt=1, description="Excess risk to reach, as a share of that of the predictor 0.")

    @model_validator(mode="after")
    def _check_dimensions(self) -> "AttributeTargets":
        if min(self.dimensions) < self.attributes:
            raise ArgumentError("dimensions", f"must be at least {self.attributes} (got {min(self.dimensions)})")
        return self

    def run(self, context: Context) -> Report:
        from jaxonline.study.ready import attributes_figures as figures

        cases = [(d, target) for d in self.dimensions for target in ("sparse", "dense")]
        rows = []
        with context.parts(len(cases)) as part:
            for d, target in cases:
                own = part(f"d = {d}, {target}")
                inputs = {"study": self.model_dump(), "case": (d, target), "seed": context.seed}
                needed = own.compute_once(inputs, lambda d=d, target=target: self.case(d, target, context.seed))
                rows += _rows(d, target, {name: Needed(*map(float, values)) for name, values in needed.items()})
        table = Table("Attributes until the excess risk is small", rows, COLUMNS)
        sentence = f"The excess risk to reach is {self.share:g} of that of the predictor 0."
        figure = {"figure": lambda: figures.targets(rows)}
        return Report({"table": table}, figure, [sentence], numbers={"rows": rows, "settings": self.model_dump()})

    def case(self, d: int, target: str, seed: int) -> dict[str, np.ndarray]:
        """Return by learner the attributes that it needs, and their interval."""
        weights = np.eye(d)[0] if target == "sparse" else np.full(d, 1 / d)
        threshold, k = self.share * float(weights @ weights) / 3, self.attributes
        largest_step = k / (16 * d)  # 1 / (2 max |B g|) for B = |y| = 1
        return {
            AER: self.online(weights, threshold, seed, (aer(k, rate, 1.0, "last") for rate in REGULARIZERS)),
            EXPONENTIATED: self.online(
                weights, threshold, seed,
                (ExponentiatedGradient(AttributeGradient(k), c * largest_step, signed=True) for c in STEPS),
            ),
            P_NORM: self.online(
                weights, threshold, seed,
                (MirrorLearner(AttributeGradient(k), c * largest_step, PNorm(2 * np.log(2 * d))) for c in STEPS),
            ),
            LASSO: self.lasso(weights, threshold, seed),
        }  # fmt: skip

    def online(self, weights: np.ndarray, threshold: float, seed: int, learners: Iterable[Any]) -> np.ndarray:
        """Return what the learner with the best parameters needs, from the exact risk of its mean hypothesis."""
        game = Game(LinearModel(weights, self.noise_std, instances="cube"), Attributes(self.attributes))
        at = _numbers_up_to(self.rounds)
        X, y = exact_rows(weights)
        risks = (
            np.fmin(held_out_risk(game, learner, X, y, self.rounds, self.runs, seed).mean[:, at - 1], MAX_RISK)
            for learner in learners
        )
        return min((needed(risk, at * self.attributes, threshold) for risk in risks), key=lambda values: values[0])

    def lasso(self, weights: np.ndarray, threshold: float, seed: int) -> np.ndarray:
        """Return what the minimiser of the squared loss in the l1 ball needs, which sees all attributes."""
        d = len(weights)
        at = _numbers_up_to(MAX_LASSO_EXAMPLES)
        risks = np.full((self.runs, len(at)), np.nan)
        rngs = [np.random.default_rng([seed, d, run]) for run in range(self.runs)]
        xx, xy, yy = np.zeros((self.runs, d, d)), np.zeros((self.runs, d)), np.zeros(self.runs)
        for i, n in enumerate(np.diff(at, prepend=0)):
            for run, rng in enumerate(rngs):
                X = rng.uniform(-1, 1, size=(n, d))
                y = X @ weights + self.noise_std * rng.normal(size=n)
                xx[run] += X.T @ X
                xy[run] += X.T @ y
                yy[run] += y @ y
            w = best_in_l1_ball(QuadraticSums(xx, xy, yy), 1.0, tolerance=1e-6).w  # type: ignore[arg-type]
            risks[:, i] = np.sum((w - weights) ** 2, axis=1) / 3
            if mean_over_runs(risks[None, :, i]).high[0] < threshold:
                break
        return needed(risks[:, : i + 1], at[: i + 1] * d, threshold)


COLUMNS = (
    Number("d", "d"), Text("target"), Text("learner"), Number("attributes", "attributes", "{:,.0f}"),
    Number("low", "low", "{:,.0f}"), Number("high", "high", "{:,.0f}"), Number("ratio", "ratio to\nLasso", "{:.1f}"),
)  # fmt: skip


def exact_rows(weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return rows sqrt(d/3) e_i with labels <w*, x>: the mean squared error is the excess risk |w - w*|^2 / 3."""
    X = np.sqrt(len(weights) / 3) * np.eye(len(weights))
    return X, X @ weights


def needed(risks: np.ndarray, attributes: np.ndarray, threshold: float) -> np.ndarray:
    """Return `Needed` as an array, from risks [runs, points] and the number of attributes at each point."""
    estimate = mean_over_runs(risks.T)
    return np.array([_first(curve, attributes, threshold) for curve in (estimate.mean, estimate.low, estimate.high)])


def _first(curve: np.ndarray, attributes: np.ndarray, threshold: float) -> float:
    """Return the number of attributes after the last point at which the curve is not below the threshold."""
    above = np.flatnonzero(~(np.asarray(curve) < threshold))
    after = int(above[-1]) + 1 if len(above) else 0
    return float(attributes[after]) if after < len(attributes) else np.inf


def _numbers_up_to(n: int) -> np.ndarray:
    return np.unique(np.geomspace(1, n, N_POINTS).round().astype(int))


def _rows(d: int, target: str, needed: dict[str, Needed]) -> list[dict[str, Any]]:
    finite: Callable[[float], float | None] = lambda value: value if np.isfinite(value) else None  # noqa: E731
    return [
        {
            "d": d, "target": target, "learner": name, "attributes": finite(own.attributes), "low": finite(own.low),
            "high": finite(own.high), "ratio": finite(own.attributes / needed[LASSO].attributes),
        }
        for name, own in needed.items()
    ]  # fmt: skip
