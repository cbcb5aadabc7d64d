"""A data set with a target in the RKHS of a truncated radial kernel, its learners, and their regret bounds."""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks.papers.claims.surrogates import printed_lemma7_bound, printed_surrogate_kernel
from jaxonline import bounds, estimators, learners
from jaxonline.bounds import RegretBound
from jaxonline.comparators import RKHSBall, positive_negative_angle, rkhs_norm
from jaxonline.comparators.rkhs import gram_matrix
from jaxonline.environments import DataStream
from jaxonline.estimators.surrogates import Surrogate, lemma7_bound, radial_surrogate, surrogate_error
from jaxonline.feedback import FullInformation, NoisyCopies, noise
from jaxonline.game import Entrant, Game
from jaxonline.kernels.radial import Cauchy, SchoenbergKernel, quadrature_error
from jaxonline.study import BestOf, Comparison, ComparisonResult, Context

FULL, ALGORITHM_2, PRESCRIBED = "full information", "Algorithm 2", "Algorithm 2, step of the theorem"
NAIVE, MEAN = "one copy as if clean", "mean of 2 copies as if clean"
N_NODES = 24  # Gaussian kernels in a mixture


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

    def theorem(self) -> RegretBound:
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
            FULL: lambda step: Entrant(full(step), FullInformation()),
            ALGORITHM_2: algorithm_2,
            MEAN: plug_in(estimators.MeanOfCopies(2)),
            NAIVE: plug_in(estimators.NaiveCopy()),
        }
        theorems = {ALGORITHM_2: lambda eta, t: bound.inverse_sqrt_step(eta, t) + self.target_regret(t)}
        steps, labels = BestOf({f"{eta:g}": eta for eta in etas}), {"kernel": name}
        chosen = Comparison(game, makers, self.best_losses, theorems, steps, labels)
        prescribed = Comparison(game, {PRESCRIBED: algorithm_2(bound.step_size)}, self.best_losses, labels=labels)
        sizes = {"n_runs": n_runs, "n_rounds": self.n_rounds, "record_at": lambda horizon: [*self.recorded, horizon]}
        results = chosen.run(part(name), **sizes), prescribed.run(part(f"{name}, step of the theorem"), **sizes)
        t = results[1].result.rounds
        own = {PRESCRIBED: bound.constant_step(bound.step_size, t) + self.target_regret(t)}
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
