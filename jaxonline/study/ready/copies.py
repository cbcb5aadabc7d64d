"""How to spend noisy copies: many in few rounds or few in many rounds, and which estimate to compute from them.

From m copies of an instance, the mean of the two-copy estimate (paper B) over different pairs is an unbiased gradient.
Algorithm 1 of paper A has two ways to spend its expected copies of a round: a small p of its geometric distribution, or
the mean of g~ Psi~ over several repetitions with a larger p. Sources: Cesa-Bianchi, Shalev-Shwartz, Shamir, "Learning
from noisy data under distributional assumptions" (2010) and "Online learning of noisy data with kernels" (COLT 2010).
"""

import math
from collections.abc import Callable, Iterator, Sequence
from typing import Annotated, Any, ClassVar

import numpy as np
from pydantic import Field

from jaxonline import bounds, estimators, kernels, losses
from jaxonline.environments import DataStream
from jaxonline.feedback import NoisyCopies, noise
from jaxonline.game import Game
from jaxonline.learners import GradientLearner, InverseSqrt, NoisyKernel, Storage, held_out_risk
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.report.tables import Interval, Number, Table, Text
from jaxonline.results.statistics import mean_over_runs
from jaxonline.study import Context, Report, Study
from jaxonline.study.ready.copies_estimators import ESTIMATORS, HALVES, gradient_variance, sampled_squares
from jaxonline.study.ready.copies_figure import plot_copies
from jaxonline.study.study import Items, Positive

POOL = 20_000  # rows from which training rows are drawn with replacement
Even = Annotated[tuple[Annotated[int, Field(ge=2, multiple_of=2)], ...], Items]
Counts = Annotated[tuple[Annotated[int, Field(ge=1, le=100)], ...], Items]
Rows = list[dict[str, Any]]


class Copies(Study):
    """Study of squared losses with the target <u, x>, |u| = 1, and instances uniform in a ball of radius 1/2.

    Copies and labels have Gaussian noise in training, and none on the held-out rows, where the least risk is 0. The
    risk is that of the mean hypothesis. Variances are those at w = u/2. Steps are eta / sqrt(t), and eta is the
    candidate with the least risk in pilot runs, which no learner could know. Algorithm 1 has the kernel e^<x, x'>.
    """

    title: ClassVar[str] = (
        "How to spend noisy copies: m copies in each of M/m rounds, and repetitions in Algorithm 1, at equal queries."
    )
    runs: int = Field(64, ge=2, le=100_000, description="Runs of each learner.")
    etas: Positive = Field(
        (0.125, 0.25, 0.5, 1.0, 2.0, 4.0, 8.0), min_length=1, description="Candidate steps, linear regression."
    )
    dimension: int = Field(3, ge=1, le=1000, description="Dimension of the instances.")
    label_variance: float = Field(0.01, ge=0, description="Variance of the noise of the labels.")
    noise_variances: Positive = Field((0.05, 0.5), min_length=1, description="Variances of the noise on a coordinate.")
    total: int = Field(8192, ge=2, le=1_000_000, description="Copies M of a run of linear regression.")
    copies: Even = Field((2, 4, 8, 16, 32, 64), min_length=1, description="Numbers m of copies in a round.")
    samples: int = Field(20_000, ge=2, le=1_000_000, description="Samples of each gradient estimate.")
    kernel_etas: Positive = Field(
        (0.0625, 0.125, 0.25, 0.5, 1.0), min_length=1, description="Candidate steps of Algorithm 1."
    )
    rounds: int = Field(1000, ge=2, le=1_000_000, description="Rounds of Algorithm 1.")
    queries: float = Field(2.0, gt=0, description="Expected copies in a round of Algorithm 1.")
    repetitions: Counts = Field((1, 2, 4, 8), min_length=1, description="Repetitions r in Algorithm 1.")
    held_out: int = Field(200, ge=2, le=1_000_000, description="Number of held-out rows.")

    def run(self, context: Context) -> Report:
        for m in self.copies:
            if self.total % m:
                raise ArgumentError("total", f"must be a multiple of all copies (got {self.total} for {m} copies)")
        cases = list(self._cases())
        linear, kernel = [], []
        with context.parts(len(cases) + len(self.repetitions)) as part:
            for name, m, v in cases:
                linear.append(self.linear_row(part(f"{name}, {m}, {v:g}"), name, m, v))
            for r in self.repetitions:
                kernel.append(self.kernel_row(part(f"{r} repetitions"), r))
        captions = [
            f"95 % intervals over {self.runs} runs, and over {self.samples:,} samples; eta is chosen in as many other "
            f"runs from {_listed(self.etas)}. Variances are E|g - E g|^2 at w = u/2.",
            f"95 % intervals over {self.runs} runs of {self.rounds:,} rounds; noise variance "
            f"{self.noise_variances[0]:g}; eta is from {_listed(self.kernel_etas)}. The second moment is that of the "
            f"mean of g~ Psi~ at w = u/2, exact. Excluded runs (out of storage): "
            f"{sum(row['overflowed'] for row in kernel)}.",
        ]
        titles = (
            f"Linear regression from {self.total:,} copies: m copies in each of M/m rounds",
            f"Algorithm 1: r repetitions and p with {self.queries:g} expected copies in a round",
        )
        return Report(
            {"linear": Table(titles[0], linear), "kernel": Table(titles[1], kernel)},
            {"figure": lambda: plot_copies(linear, kernel)},
            [*self.sentences(linear, kernel)],
            numbers={"linear": linear, "kernel": kernel, "settings": self.model_dump()},
            shown=[
                Table(titles[0], linear, LINEAR_COLUMNS, group="noise", headed=True, caption=captions[0]),
                Table(titles[1], kernel, KERNEL_COLUMNS, caption=captions[1]),
            ],
        )

    def _cases(self) -> Iterator[tuple[str, int, float]]:
        """Return estimators, numbers of copies, and noise variances; with two copies, halves are consecutive pairs."""
        for v in self.noise_variances:
            for name in ESTIMATORS:
                yield from ((name, m, v) for m in self.copies if m > 2 or name != HALVES)

    def linear_row(self, context: Context, name: str, m: int, v: float) -> dict[str, Any]:
        """Return variances and risk of the estimator `name` with m copies in a round and noise of variance v."""
        X, y, *held_out = self.problem(context.seed)
        w = self.target(context.seed) / 2
        game = Game(DataStream(X, y, order="iid"), self.feedback(v), loss=losses.Squared())

        def compute():
            squares = sampled_squares(name, m, w, X, y, v, self.label_variance, self.samples, context.seed)
            return {"squares": squares} | self.tuned_risk(
                game,
                lambda eta: GradientLearner(ESTIMATORS[name](m), InverseSqrt(eta), radius=1.0),
                self.etas,
                held_out,
                self.total // m,
                context.seed,
            )

        arrays = context.compute_once({"study": self.model_dump(), "case": [name, m, v], "seed": context.seed}, compute)
        exact = gradient_variance(name, m, w, X, y, v, self.label_variance)
        row: dict[str, Any] = {"noise": f"noise {v:g}", "estimator": name, "noise_variance": v, "copies": m}
        row |= {"rounds": self.total // m, "variance": exact}
        return row | _interval("sampled", arrays["squares"]) | _risk(arrays)

    def kernel_row(self, context: Context, r: int) -> dict[str, Any]:
        """Return the second moment and the risk of Algorithm 1 with r repetitions in a round."""
        X, y, *held_out = self.problem(context.seed)
        game = Game(DataStream(X, y, order="iid"), self.feedback(self.noise_variances[0]), loss=losses.Squared())
        feature_map, length = self.algorithm(r, X, y)
        storage = Storage.for_horizon(feature_map, length, self.dimension, self.rounds, repetitions=r)
        arrays = context.compute_once(
            {"study": self.model_dump(), "repetitions": r, "seed": context.seed},
            lambda: self.tuned_risk(
                game,
                lambda eta: NoisyKernel(feature_map, length, InverseSqrt(eta), 1.0, storage, r),
                self.kernel_etas,
                held_out,
                self.rounds,
                context.seed,
            ),
        )
        p = self.parameter(r)
        row = {"repetitions": r, "p": p, "queries": r * p / (p - 1) ** 2, "second_moment": self.second_moment(r, X, y)}
        return row | _risk(arrays) | {"overflowed": int(arrays["overflowed"].sum())}

    def parameter(self, r: int) -> float:
        """Return the p with r p / (p - 1)^2 = `queries`."""
        c = self.queries / r
        return (2 * c + 1 + math.sqrt(4 * c + 1)) / (2 * c)

    def algorithm(self, r: int, X: np.ndarray, y: np.ndarray) -> tuple[Any, Any]:
        """Return the feature map and the gradient length of Algorithm 1 with r repetitions."""
        law = estimators.Geometric(self.parameter(r))
        feature_map = estimators.DotProductFeatureMap(kernels.ExponentialKernel(), law)
        moments = bounds.moment_bounds(
            X, y, noise.gaussian(self.noise_variances[0]), noise.gaussian(self.label_variance)
        )
        factors = bounds.factor_moment(1.0, feature_map.second_moment(moments.x_second**2), moments.y_second)
        return feature_map, estimators.GradientLength.for_loss(losses.Squared(), law, factors)

    def second_moment(self, r: int, X: np.ndarray, y: np.ndarray, rows: int = 1000) -> float:
        """Return the exact E|mean of g~ Psi~|^2 at w = u/2, as a mean over the first `rows` rows.

        In the RKHS w is a vector of level 1, so that <w, Psi~> is <u, x~> / (2 P(N = 1)) if N = 1, and otherwise 0.
        """
        feature_map, length = self.algorithm(r, X, y)
        p, v, total = self.parameter(r), self.noise_variances[0], 0.0
        for x, target in zip(X[:rows], y[:rows], strict=True):
            square = float(x @ x)
            products = (target**2 + v) / 4 * p**2 / (p - 1)  # E <w, Psi~>^2, where <u, x> is the target
            factors = products + self.label_variance  # E (<w, Psi~> - y~)^2, since E <w, Psi~> is half of the target
            one = length.second_moment(factors) * feature_map.second_moment(square + self.dimension * v)
            mean = target**2 * math.exp(square)  # |2 (target/2 - target) Psi(x)|^2
            total += mean + (one - mean) / r
        return float(total / len(X[:rows]))

    def tuned_risk(
        self, game: Game, make: Callable[[float], Any], etas: Sequence[float], held_out: list[np.ndarray], rounds: int,
        seed: int,
    ) -> dict[str, np.ndarray]:  # fmt: skip
        """Return the risks of the mean hypothesis [runs] with the eta that has the least mean risk in pilot runs."""
        X, y = held_out

        def risks(eta: float, seed: int) -> tuple[np.ndarray, np.ndarray]:
            risk = held_out_risk(game, make(eta), X, y, rounds, self.runs, seed)
            return np.where(risk.overflowed, np.nan, risk.mean[:, -1]), risk.overflowed

        eta = min(etas, key=lambda eta: float(np.nanmean(risks(eta, (seed + 1) % 2**32)[0])))
        risk, overflowed = risks(eta, seed)
        return {"eta": np.array(eta), "risk": risk, "overflowed": overflowed}

    def feedback(self, noise_variance: float) -> NoisyCopies:
        """Return noisy copies with noisy labels."""
        return NoisyCopies(noise.gaussian(noise_variance), noise.gaussian(self.label_variance))

    def target(self, seed: int) -> np.ndarray:
        """Return u."""
        u = np.random.default_rng(seed).normal(size=self.dimension)
        return u / np.linalg.norm(u)

    def problem(self, seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Return clean training rows and clean held-out rows: X, y, X, y."""
        rng = np.random.default_rng([seed, 1])
        directions = rng.normal(size=(POOL + self.held_out, self.dimension))
        lengths = 0.5 * rng.uniform(size=len(directions)) ** (1 / self.dimension)
        X = directions * (lengths / np.linalg.norm(directions, axis=1))[:, None]
        y = X @ self.target(seed)
        return X[:POOL], y[:POOL], X[POOL:], y[POOL:]

    def sentences(self, linear: Rows, kernel: Rows) -> Iterator[str]:
        """Say which allocation has the least mean risk, which others have an overlapping interval, and which eta."""
        for v in self.noise_variances:
            rows = [row for row in linear if row["noise_variance"] == v]
            yield _best(rows, f"Linear regression, noise variance {v:g}", lambda row: f"{row['estimator']}, m = "
                        f"{row['copies']}")  # fmt: skip
        yield _best(kernel, "Algorithm 1", lambda row: f"r = {row['repetitions']}")
        at_edge = sum(
            row["eta"] in (min(etas), max(etas))
            for rows, etas in ((linear, self.etas), (kernel, self.kernel_etas))
            for row in rows
        )
        yield f"Chosen eta at the edge of the candidates: {at_edge} of {len(linear) + len(kernel)} cases."


def _listed(etas: Sequence[float]) -> str:
    return ", ".join(f"{eta:g}" for eta in etas)


def _interval(name: str, values: np.ndarray) -> dict[str, float]:
    estimate = mean_over_runs(values[None])
    ends = {"": estimate.mean, "_low": estimate.low, "_high": estimate.high}
    return {name + end: float(part[0]) for end, part in ends.items()}


def _risk(arrays: dict[str, np.ndarray]) -> dict[str, Any]:
    return {"eta": float(arrays["eta"]), **_interval("risk", arrays["risk"])}


def _best(rows: Rows, name: str, label: Callable[[dict[str, Any]], str]) -> str:
    best = min(rows, key=lambda row: row["risk"])
    others = [label(row) for row in rows if row is not best and row["risk_low"] <= best["risk_high"]]
    return (
        f"{name}: least mean risk {best['risk']:.3g} with {label(best)}; overlapping intervals: "
        f"{'; '.join(others) or 'none'}."
    )


RISK = Interval("risk", "risk", "{:.5f}")
ETA = Number("eta", "eta", "{:g}")
LINEAR_COLUMNS = (
    Text("estimator", "noise variance,\nestimator"),
    Number("copies", "m", "{:d}"),
    Number("variance", "variance,\nexact", "{:.3g}"),
    Interval("sampled", "variance,\nsampled", "{:.3g}"),
    ETA,
    RISK,
)
KERNEL_COLUMNS = (
    Number("repetitions", "r", "{:d}"),
    Number("p", "p", "{:.3f}"),
    Number("second_moment", "second\nmoment", "{:.4g}"),
    ETA,
    RISK,
)
