"""Radial kernels under Gaussian noise: Algorithm 2 with surrogates of truncated kernels.

A radial kernel g is a mixture of Gaussian kernels exp(-u r^2). Only its part u <= c/d, the kernel k, has a surrogate.
The study compares g and k for the paper's kernel (1 + r^2/d)^-1, and plays Algorithm 2 with k of this kernel and of two
others. Other learners have the same k: with full information, or with one copy or the mean of two as if clean. The
kernels are functions of r / sqrt(d), so the figure of g and k does not depend on d.

Source: Cesa-Bianchi, Shalev-Shwartz and Shamir 2010, distributional assumptions, section 6.1 and Appendix E.
"""

import dataclasses
import functools
import math
from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Self

import numpy as np
from pydantic import Field, model_validator

from benchmarks.papers.claims.surrogates import (
    printed_lemma7_bound,
    printed_radial_surrogate_mean,
    printed_surrogate_kernel,
)
from benchmarks.papers.comparison import BestOf, Comparison, ComparisonResult
from benchmarks.papers.studies import figures
from benchmarks.papers.study import Names, Positive, Study, select_by_name
from jaxonline import bounds, estimators, learners
from jaxonline.bounds import Bound
from jaxonline.comparators import RKHSBall, positive_negative_angle, rkhs_norm
from jaxonline.comparators.rkhs import gram_matrix
from jaxonline.environments import DataStream
from jaxonline.estimators.surrogates import Surrogate, lemma7_bound, radial_surrogate, surrogate_error
from jaxonline.feedback import FullInformation, NoisyCopies, noise
from jaxonline.game import Game, WithFeedback
from jaxonline.kernels.shift_invariant import Cauchy, RadialExponential, SchoenbergKernel, quadrature_error, truncate
from jaxonline.parameters import check
from jaxonline.results.report.plotting import COLOURS, bound_look
from jaxonline.results.report.tables import EXCLUDED_RUNS_COLUMNS, Interval, Number, Table, Text
from jaxonline.study import Context, Report
from jaxonline.study.study import ignore_skewness_warnings

WORKED_CASE = "(1 + r^2/d)^-1"
KERNELS = WORKED_CASE, "(1 + r^2/d)^-2", "exp(-r/sqrt d)"
FULL, ALGORITHM_2, PRESCRIBED = "full information", "Algorithm 2", "Algorithm 2, step of the theorem"
NAIVE, MEAN = "one copy as if clean", "mean of 2 copies as if clean"
N_NODES = 24  # Gaussian kernels in a mixture
PRINTED_CS = 2.0, 4.0  # in the paper's figure
STYLES = {
    FULL: ("black", "-"), ALGORITHM_2: (COLOURS[0], "-"), PRESCRIBED: (COLOURS[0], ":"), MEAN: (COLOURS[4], "-"),
    NAIVE: (COLOURS[3], "-"),
}  # fmt: skip
ENDS = "", ", step of the theorem"
COLUMNS = (
    Text("kernel"), Text("learner"), Number("eta", form="{:g}"),
    Number("queries_per_round", "queries\n/round", "{:.3g}"), Interval("regret", "regret\n(95 %)", "{:,.1f}"),
    Number("bound", form="{:,.0f}"), *EXCLUDED_RUNS_COLUMNS,
)  # fmt: skip
CAPTION = (
    "Regret on clean instances against the best predictor of norm at most B_w in the RKHS of k. The eta of a learner "
    "is chosen in other runs, by losses on clean instances, which no learner sees."
)


class RadialKernels(Study):
    """Study of regression with instances in a cube, and a target in the RKHS of k with two parts of opposite sign.

    Steps are eta / sqrt(t), with the best eta of separate runs by losses on clean instances. Algorithm 2 is also played
    with the constant step of its theorem: Theorem 5 for (1 + r^2/d)^-1, and Theorem 3 with the exact R for other
    kernels.
    """

    title: ClassVar[str] = (
        "Radial kernels cut at c/d under Gaussian noise: the paper's figure of g and k, and the regret of Algorithm 2."
    )
    runs: int = Field(24, ge=2, le=1_000_000, description="Runs of each learner.")
    rounds: int = Field(2048, ge=64, le=2**16, description="The horizon.")
    only: Names = Field((), description="Kernels, named as in the table; by default all.")
    dimension: int = Field(5, ge=2, le=1000, description="d, the dimension of the instances.")
    noise: float = Field(0.5, gt=0, description="Standard deviation sigma of the noise of a coordinate.")
    c: float = Field(4.0, gt=0, description="d times the largest u of k, below d / (4 sigma^2).")
    label_noise: float = Field(0.1, ge=0, description="Standard deviation of the noise of the labels.")
    etas: Positive = Field((0.1, 0.3, 1.0, 3.0), min_length=1, description="Candidate steps.")

    @model_validator(mode="after")
    def _check_c(self) -> Self:
        check.number("c", self.c, lt=self.dimension / (4.0 * self.noise**2))
        return self

    @ignore_skewness_warnings()
    def run(self, context: Context) -> Report:
        chosen = select_by_name("only", self.only, self.kernels())
        compared, facts = {}, {}
        with context.parts(2 * len(chosen)) as part:
            for name, kernel in chosen.items():
                problem = self.problem(kernel, context.seed)
                compared[name] = problem.run(part, name, self.etas, self.runs)
                facts[name] = problem.facts()
        every = {f"{name}{end}": own for name, pair in compared.items() for end, own in zip(ENDS, pair, strict=True)}
        rows = [row for own in every.values() for row in own.rows()]
        return Report(
            {"table": Table("Regret with radial kernels under Gaussian noise", rows)},
            {"figure": lambda: self.plot(compared, facts)},
            [
                *(_sentence(name, own) for name, own in facts.items()),
                *([_printed(facts[WORKED_CASE], self)] if WORKED_CASE in facts else []),
                *figures.closing_sentences(every),
            ],
            {f"results/kernel {i}{ENDS[j]}": own.result for i, pair in enumerate(compared.values())
             for j, own in enumerate(pair)},
            {
                "settings": self.model_dump() | {"seed": context.seed}, "kernels": facts, "table": rows,
                "curves": {name: own.curves() for name, own in every.items()},
            },
            [Table(f"Regret after {self.rounds:,} rounds", rows, COLUMNS, group="kernel", caption=CAPTION)],
        )  # fmt: skip

    def kernels(self) -> dict[str, SchoenbergKernel]:
        """Return the radial kernels by name."""
        d = float(self.dimension)
        return dict(zip(KERNELS, (Cauchy(d), Cauchy(d, 2.0), RadialExponential(math.sqrt(d))), strict=True))

    def problem(self, kernel: SchoenbergKernel, seed: int) -> "RadialProblem":
        """Return the data set for a kernel."""
        return RadialProblem(kernel, self.dimension, self.noise, self.c, self.label_noise, self.rounds, seed)

    @figures.paper_style
    @ignore_skewness_warnings()
    def plot(
        self, compared: Mapping[str, tuple[ComparisonResult, ComparisonResult]], facts: Mapping[str, Mapping[str, Any]]
    ) -> Any:
        """Plot g = (1 + r^2/d)^-1 and k for c = 2 and 4 (the paper, Figure 1), and regret against rounds by kernel."""
        title = f"Radial kernels under Gaussian noise, d = {self.dimension}, sigma = {self.noise:g}; {self.runs} runs"
        figure, (above, below) = figures.panels(2, max(3, len(compared)), 4.6, title)
        g, r = Cauchy(float(self.dimension)), np.linspace(0.0, 4.0, 200)
        for axes, c in zip(above, PRINTED_CS, strict=False):
            cut, squared = c / self.dimension, self.dimension * r**2
            axes.plot(r, 1.0 / (1.0 + r**2), color="black", label="g")
            axes.plot(r, g.truncated_profile(squared, cut), "--", color=COLOURS[0], label="k, the part u <= c/d")
            if 2.0 * self.noise * cut < 1.0:
                mean = printed_radial_surrogate_mean(truncate(g, cut, N_NODES), self.noise, self.dimension, squared)
                axes.plot(r, mean, ":", color=COLOURS[3], label="mean of the surrogate\nas printed (E13)")
            figures.finish(axes, "r / sqrt(d)", "kernel", f"g = 1 / (1 + r^2/d), c = {c:g}")
            axes.set_ylim(bottom=0)
        figures.legend_in(above[2], *above[:2])
        for axes, (name, results) in zip(below, compared.items(), strict=False):
            for own in results:
                figures.plot_bands(axes, own.result.rounds, own.result.bands(), own.result.learners, STYLES)
            rounds = results[1].result.rounds
            bound = figures.look_of(PRESCRIBED, STYLES) | bound_look()
            axes.plot(rounds, results[1].bounds[PRESCRIBED], **bound, label="bound of the theorem")
            axes.plot(rounds[-1], facts[name]["predictor_0"], "x", color="0.3", ms=5, label="predictor 0")
            figures.finish(axes, "round", "regret", name, log="xy")
        for axes in (*above[len(PRINTED_CS) :], *below[len(compared) :]):
            axes.set_axis_off()
        figures.legend_below(figure, 3, below[0])
        return figure


def _sentence(name: str, facts: dict[str, Any]) -> str:
    return (
        f"{name}: g - k is at most {facts['truncation_error']:.3g}, the quadrature errors of k and its surrogate are "
        f"{facts['quadrature_error']:.1g} and {facts['surrogate_error']:.1g}; R = {facts['R']:.3f}, B_w = "
        f"{facts['B_w']:.3f}, W = {facts['W']:.3f}, beta = {math.degrees(facts['angle']):.0f} degrees. The theorem's "
        f"bound is {facts['bound']:,.0f} ({facts['bound_exact_R']:,.0f} with the exact R), the regret of the predictor "
        f"0 is {facts['predictor_0']:,.0f}."
    )


def _printed(facts: dict[str, Any], study: RadialKernels) -> str:
    """Compare the constants of Theorem 5 with those in print (errata E12 and E13)."""
    allowed = "allows" if study.c < facts["c_limit_printed"] else "excludes"
    return (
        f"Theorem 5 as printed {allowed} c = {study.c:g}: it needs c < d/(4 sigma) = {facts['c_limit_printed']:g}, "
        f"where c < d/(4 sigma^2) = {facts['c_limit']:g} is right (E13). Its R is e^(sigma c) = "
        f"{facts['R_printed']:.3f}, and e^(sigma^2 c) = {facts['R_lemma7']:.3f} is enough; its bound is "
        f"{facts['bound_printed']:,.0f} (E12, E13)."
    )


@dataclasses.dataclass(frozen=True, eq=False)
class RadialProblem:
    """The target f = a k(p, .) - a k(-p, .), p = (1, 1, 0, ..., 0), on instances that are uniform in [-1, 1]^d.

    The kernel k is the part u <= c/d of the radial kernel g. The largest |f(x_t)| is 1.
    """

    g: SchoenbergKernel
    d: int
    noise_std: float
    c: float
    label_std: float
    n_rounds: int
    seed: int

    @functools.cached_property
    def surrogate(self) -> Surrogate:
        """The surrogate of the part u <= c/d of g."""
        return radial_surrogate(self.g, self.noise_std**2, self.c / self.d, self.d, N_NODES)

    @functools.cached_property
    def rows(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Instances, labels, and the target's coefficients."""
        rng = np.random.default_rng(self.seed)
        X = rng.uniform(-1.0, 1.0, (self.n_rounds, self.d))
        f = gram_matrix(self.surrogate.kernel, X, self.points) @ [1.0, -1.0]
        a = np.array([1.0, -1.0]) / np.abs(f).max()
        return X, f * a[0] + self.label_std * rng.standard_normal(len(f)), a

    @property
    def points(self) -> np.ndarray:
        """The two points z and -z of the target's expansion [2, d]."""
        return np.array([1.0, -1.0])[:, None] * (np.arange(self.d) < 2)

    @functools.cached_property
    def radii(self) -> tuple[float, float]:
        """Norms of the target: B_w in the RKHS of k, and W in that of the surrogate."""
        a = self.rows[2]
        return float(rkhs_norm(self.surrogate.kernel, self.points, a)), float(rkhs_norm(self.surrogate, self.points, a))

    def theorem(self) -> Bound:
        """Return the bound of Theorem 5 for g = (1 + r^2/d)^-1, and of Theorem 3 with the exact R otherwise."""
        W, y_bound = self.radii[1], float(np.abs(self.rows[1]).max())
        if self.is_worked_case:
            return bounds.surrogate_radial_kernel(W, self.noise_std**2, self.c, self.d, y_bound, self.n_rounds)
        return bounds.surrogate_kernel(W, float(self.surrogate.constant()), y_bound, self.n_rounds)

    @property
    def is_worked_case(self) -> bool:
        """Whether g is (1 + r^2/d)^-1, the case that Appendix E works out."""
        return isinstance(self.g, Cauchy) and (self.g.scale, self.g.exponent) == (self.d, 1.0)

    def run(
        self, part: Callable[[str], Context], name: str, etas: tuple[float, ...], n_runs: int
    ) -> tuple[ComparisonResult, ComparisonResult]:
        """Run learners with the best of the steps eta / sqrt(t), and Algorithm 2 with the theorem's constant step."""
        (X, y, _), (B_w, W), bound, k = self.rows, self.radii, self.theorem(), self.surrogate.kernel

        def plug_in(estimator: Any) -> Callable[[Any], Any]:
            return lambda step: learners.KernelGradient(k, estimator, step, self.n_rounds, B_w)

        def algorithm_2(step: Any) -> learners.SurrogateKernel:
            return learners.SurrogateKernel(self.surrogate, step, self.n_rounds, W)

        game, full = (
            Game(DataStream(X, y), NoisyCopies(noise.gaussian(self.noise_std**2))),
            plug_in(estimators.FullGradient()),
        )
        makers = {
            FULL: lambda step: WithFeedback(full(step), FullInformation()),
            ALGORITHM_2: algorithm_2,
            MEAN: plug_in(estimators.MeanOfCopies(2)),
            NAIVE: plug_in(estimators.NaiveCopy()),
        }
        theorems = {ALGORITHM_2: lambda eta, t: bound.at_rounds(t, eta=eta) + self.target_regret(t)}
        steps, labels = BestOf({f"{eta:g}": eta for eta in etas}), {"kernel": name}
        chosen = Comparison(game, makers, self.best_losses, theorems, steps, labels)
        prescribed = Comparison(game, {PRESCRIBED: algorithm_2(bound.step_size)}, self.best_losses, labels=labels)
        sizes = {"n_runs": n_runs, "n_rounds": self.n_rounds, "record_at": lambda horizon: [*self.recorded, horizon]}
        results = chosen.run(part(name), **sizes), prescribed.run(part(f"{name}, step of the theorem"), **sizes)
        t = results[1].result.rounds
        own = {PRESCRIBED: bound.at_rounds(t) + self.target_regret(t)}
        return results[0], results[1]._replace(bounds=own, etas={})

    @property
    def recorded(self) -> np.ndarray:
        """Recorded rounds."""
        return np.unique(np.geomspace(self.n_rounds // 32, self.n_rounds, 12).round().astype(int))

    @functools.cached_property
    def _best(self) -> dict[int, float]:
        ball, t = RKHSBall(self.surrogate.kernel, self.radii[0]), self.recorded
        return dict(zip(t.tolist(), ball.best_losses(*self.rows[:2], t).tolist(), strict=True))

    def best_losses(self, t: np.ndarray) -> np.ndarray:
        """Return the losses of the best predictor of the ball after each of the recorded rounds t."""
        return np.array([self._best[s] for s in t.tolist()])

    def target_regret(self, t: np.ndarray) -> np.ndarray:
        """Return the target's loss minus that of the best predictor; the theorems compare with a fixed predictor."""
        X, y, a = self.rows
        return np.cumsum((gram_matrix(self.surrogate.kernel, X, self.points) @ a - y) ** 2)[t - 1] - self.best_losses(t)

    def facts(self) -> dict[str, Any]:
        """Return how far k is from g, the constants of the theorem, and for the worked case those in print."""
        cut, variance, (_, y, a), (B_w, W) = self.c / self.d, self.noise_std**2, self.rows, self.radii
        R, y_bound, T = float(self.surrogate.constant()), float(np.abs(y).max()), self.n_rounds
        own = {
            "truncation_error": self.g.truncation_error(cut),
            "quadrature_error": quadrature_error(self.g, cut, N_NODES),
            "surrogate_error": surrogate_error(self.g, variance, cut, self.d, N_NODES),
            "B_w": B_w, "W": W, "R": R, "angle": positive_negative_angle(self.surrogate.kernel, self.points, a),
            "bound": self.theorem().value, "bound_exact_R": bounds.surrogate_kernel(W, R, y_bound, T).value,
            "predictor_0": float((y**2).sum() - self.best_losses(np.array([T]))[0]),
        }  # fmt: skip
        if not self.is_worked_case:
            return own
        printed_R = math.sqrt(printed_lemma7_bound(self.noise_std, self.c))
        return own | {
            "R_lemma7": math.sqrt(lemma7_bound(variance, self.c, self.d)), "R_printed": printed_R,
            "c_limit": self.d / (4 * variance), "c_limit_printed": self.d / (4 * self.noise_std),
            "bound_printed": printed_surrogate_kernel(W, printed_R, y_bound, T).value,
        }  # fmt: skip
