"""Kernel learning under Gaussian noise: the problem, its learners, and their regret bounds."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from benchmarks.papers.claims.surrogates import printed_surrogate_radius
from jaxonline import bounds, estimators, learners
from jaxonline.comparators import RKHSBall, positive_negative_angle, rkhs_norm
from jaxonline.comparators.rkhs import gram_matrix
from jaxonline.environments import DataStream
from jaxonline.feedback import FullInformation, NoisyCopies, noise
from jaxonline.game import Entrant, Game, NoisyLearnerRegret
from jaxonline.kernels import Gaussian
from jaxonline.losses import Squared
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import replace
from jaxonline.results import Result
from jaxonline.results.tuned import Tuned
from jaxonline.study import BestOf, Comparison, ComparisonResult, Context

CLEAN, ALGORITHM_1, ALGORITHM_2 = "clean instances", "Algorithm 1", "Algorithm 2"
BOUND_TUNED = "Algorithm 1, told bounds"
NAIVE = "one copy"
MEANS = {f"mean of {n} copies": n for n in (2, 5, 20)}
FOURIER = {  # noise shrinks each mean feature by exp(-|omega|^2 sigma^2 / 2)
    "Fourier, 1 copy": estimators.NaiveCopy(),
    "Fourier, 2 copies": estimators.TwoCopies(),
    "Fourier, mean of 5": estimators.MeanOfCopies(5),
}
NOISY = (ALGORITHM_2, ALGORITHM_1, BOUND_TUNED, NAIVE, *MEANS, *FOURIER)
SEGMENTS_PER_PASS = 32  # of one length, so that they share a program


@dataclasses.dataclass(frozen=True, eq=False)
class Problem:
    """A data set with a kernel, a comparator ball, and noise levels."""

    name: str
    X: np.ndarray  # instances [n, d], one a round, the same in every run and pass
    y: np.ndarray  # targets [n]
    kernel: Gaussian  # of the learners and of the comparator
    radius: float  # of the comparator's ball
    noises: tuple[float, ...]  # standard deviations of each coordinate of a copy
    frequencies: int = 100  # of the Fourier features
    points: np.ndarray | None = None  # x_i of the target sum a_i k(x_i, .), if it is known
    coefficients: np.ndarray | None = None  # a_i
    passes: int = 1  # over the rows, for learners that do not store a point per round

    def run(
        self, context: Context, noise_std: float, names: Sequence[str], tune: BestOf | Mapping[str, float], *,
        n_runs: int, n_rounds: int,
    ) -> ComparisonResult:  # fmt: skip
        """Run the named learners (of `CLEAN` and `NOISY`) against the best predictor of the ball on clean data.

        Steps are chosen by losses on clean instances, which no learner sees; the step of `BOUND_TUNED` is chosen by
        losses on noisy copies. All noises and horizons use the same compiled programs. `n_rounds` is at most the number
        of rows, or a multiple of the number of rows for learners that do not store a point per round. `tune` is the eta
        of each learner, or the search for eta. Raises a ValueError if the rounds end within the second or a later pass,
        or if no surrogate kernel exists for the noise.
        """
        rounds = np.array(self._record_at(n_rounds))
        best, known = self.best_losses(rounds), self.points is not None
        makers = self.makers(noise_std)
        better = self.target_losses(rounds) - best if known else 0.0  # bounds are against the target
        theorems = self.theorems(noise_std, n_rounds) if known else {}
        game = Game(DataStream(self.X, self.y), NoisyCopies(noise.gaussian(noise_std**2)))
        comparison = Comparison(
            game,
            {name: makers[name] for name in names},
            lambda _: best,
            {
                name: lambda eta, t, bound=bound: bound.inverse_sqrt_step(eta, t) + better
                for name, bound in theorems.items()
                if name in names
            },
            {name: tune[name] for name in names} if isinstance(tune, Mapping) else tune,
            {"data": self.name, "noise": noise_std, "rounds": n_rounds},
            growth_start=1 / 2,
        )
        sizes = {"n_runs": n_runs, "record_at": self._record_at}
        if not isinstance(tune, BestOf) or BOUND_TUNED not in names:
            return comparison.run(context, n_rounds=n_rounds, **sizes)
        with context.parts(3) as part:
            tuned: dict[str, Tuned] = {}
            for tuning_game, own in (
                (game, set(names) - {BOUND_TUNED}),
                (replace(game, regret=NoisyLearnerRegret()), {BOUND_TUNED}),
            ):
                makers: dict[str, Any] = {name: comparison.learners[name] for name in names if name in own}
                if makers:
                    pilot_context = part(
                        "steps by losses on " + ("noisy copies" if own == {BOUND_TUNED} else "clean instances")
                    )
                    tuned |= tune.choose(_pilots(tuning_game, **sizes), makers, pilot_context, n_rounds)
            etas = {name: search.choice["eta"] for name, search in tuned.items()}
            result = dataclasses.replace(comparison, tune=etas).run(part("best"), n_rounds=n_rounds, **sizes)
        return result._replace(at_edge=tune.at_edge(etas), tuned=tuned)

    def makers(self, noise_std: float) -> dict[str, Callable[[Any], Any]]:
        """Return, for `CLEAN` and every name in `NOISY`, a function that makes the learner with a step size.

        The learner `ALGORITHM_2` knows the covariance of the noise. The learner `ALGORITHM_1` knows the means over the
        rows of E|x~|^2 and of E<x~, x~'>^2 at this noise (x~ is a noisy copy); its distributions of the numbers of
        copies are optimised for these moments. The learner `BOUND_TUNED` knows bounds on |x|, on |y| and on the noise
        (the largest of `noises`); its distributions are the same at all noise levels. Other learners know nothing about
        the noise. Learners have storage for one pass over the rows, and Algorithm 1 for `passes` passes. Raises a
        ValueError if no surrogate kernel exists for the noise.
        """
        kernel, radius, (n_points, d) = self.kernel, self.radius, self.X.shape
        surrogate, ball = self._surrogate(noise_std), self._surrogate_ball(noise_std)
        estimates, bounded = self._estimators(*self._mean_moments(noise_std)), self._estimators(self._moment_bound())
        storage, bounded_storage = (
            learners.Storage.for_horizon(*own, d, self.passes * n_points)
            for own in (self._estimators(*self._mean_moments(max(self.noises))), bounded)
        )
        features = estimators.FourierFeatures.draw(jax.random.key(0), kernel, d, self.frequencies)

        def points(estimator: Any) -> Callable[[Any], Any]:
            return lambda step: learners.KernelGradient(kernel, estimator, step, n_points, radius)

        def fourier(estimator: Any) -> Callable[[Any], Any]:
            return lambda step: learners.WithFeatures(learners.GradientLearner(estimator, step, radius), features)

        clean = points(estimators.FullGradient())
        return {
            CLEAN: lambda step: Entrant(clean(step), FullInformation()),
            ALGORITHM_2: lambda step: learners.SurrogateKernel(surrogate, step, n_points, ball),
            ALGORITHM_1: lambda step: learners.NoisyKernel(*estimates, step, radius, storage),
            BOUND_TUNED: lambda step: learners.NoisyKernel(*bounded, step, radius, bounded_storage),
            NAIVE: points(estimators.NaiveCopy()),
            **{name: points(estimators.MeanOfCopies(n)) for name, n in MEANS.items()},
            **{name: fourier(estimator) for name, estimator in FOURIER.items()},
        }

    def theorems(self, noise_std: float, n_rounds: int) -> dict[str, bounds.RegretBound]:
        """Return bounds on the regret to the target: Theorem 3, and Theorem 4 with exact moments."""
        y_bound, R = float(np.abs(self.y).max()), float(self._surrogate(noise_std).constant())
        moments, pairs = (float(values.max()) for values in self._copy_moments(noise_std))
        own, limit = self._estimators(*self._mean_moments(noise_std)), self._moment_bound()
        return {
            ALGORITHM_2: bounds.surrogate_kernel(self._surrogate_ball(noise_std), R, y_bound, n_rounds),
            ALGORITHM_1: bounds.noisy_kernel(*own, self.radius, moments, n_rounds, y_bound, pairs),
            BOUND_TUNED: bounds.noisy_kernel(*self._estimators(limit), self.radius, limit, n_rounds, y_bound),
        }

    def geometry(self, noise_std: float) -> dict[str, float]:
        """Return the target's geometry in the RKHS of the surrogate kernel, on which Theorem 3 depends.

        Returns:
            A dictionary with the noise, the angle beta in radians (`angle`), the constant R (`constant`), the target's
                norm `W`, which is the radius of Algorithm 2, and two norms computed from the angle alone: `W_sharp`
                (Lemmas 5, 6 and 9) and `W_printed` (as printed).
        """
        R, W = float(self._surrogate(noise_std).constant()), self._surrogate_ball(noise_std)
        angle = positive_negative_angle(self.kernel, *self._target())
        forms = {"W_sharp": bounds.surrogate_radius, "W_printed": printed_surrogate_radius}
        by_angle = {name: form(self.radius, R, angle) for name, form in forms.items()}
        return {"noise": noise_std, "angle": angle, "constant": R, "W": W} | by_angle

    def best_losses(self, rounds: np.ndarray) -> np.ndarray:
        """Return losses of the best predictor of the ball in hindsight, in the first pass and at ends of passes."""
        n = len(self.y)
        own = np.unique(np.minimum(rounds, n))
        losses = RKHSBall(self.kernel, self.radius).best_losses(self.X[: own[-1]], self.y[: own[-1]], own)
        table = dict(zip(own.tolist(), losses.tolist(), strict=True))
        return np.array([table[min(t, n)] * max(1, t // n) for t in rounds.tolist()])

    def target_losses(self, rounds: np.ndarray) -> np.ndarray:
        """Return the target's cumulative loss after each of `rounds`, over as many passes as needed."""
        points, coefficients = self._target()
        errors = gram_matrix(self.kernel, self.X, points) @ coefficients - self.y
        losses, n = np.concatenate([[0.0], np.cumsum(errors**2)]), len(errors)
        return np.array([losses[n] * (t // n) + losses[t % n] for t in rounds.tolist()])

    def regret_of_zero(self, n_rounds: int) -> float:
        """Return the regret of the predictor 0 after `n_rounds` rounds, which must be in the first pass."""
        return float((self.y[:n_rounds] ** 2).sum() - self.best_losses(np.array([n_rounds]))[0])

    def _record_at(self, n_rounds: int) -> list[int]:
        """Return recorded rounds: about ten in the first pass (multiples of a 32nd of the rows), and ends of passes."""
        n_rows = len(self.y)
        if n_rounds > n_rows and n_rounds % n_rows:
            raise ArgumentError("n_rounds", f"must be a multiple of the {n_rows} rows (got {n_rounds})")
        first = min(n_rounds, n_rows)
        segment = min(max(n_rows // SEGMENTS_PER_PASS, 1), first)
        within = segment * np.round(np.geomspace(1, first // segment, 11)).astype(int)
        passes = n_rows * np.round(np.geomspace(1, max(n_rounds // n_rows, 1), 8)).astype(int)
        return np.unique([segment, *within[:-1], *(passes if n_rounds > n_rows else ()), n_rounds]).tolist()

    def _target(self) -> tuple[np.ndarray, np.ndarray]:
        assert self.points is not None
        assert self.coefficients is not None
        return self.points, self.coefficients

    def _surrogate(self, noise_std: float) -> estimators.Surrogate:
        return estimators.Surrogate(self.kernel, noise_std**2, dimension=self.X.shape[1])

    def _surrogate_ball(self, noise_std: float) -> float:
        """Return the radius W: the target's norm; without a target, an upper bound for coefficients of equal sign."""
        surrogate = self._surrogate(noise_std)
        if self.points is None:
            return self.radius * float(surrogate.constant())
        return rkhs_norm(surrogate, *self._target())

    def _copy_moments(self, noise_std: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the moments E|x~|^2 and E<x~, x~'>^2 of noisy copies x~, x~' of every row [n]."""
        squares, d = (self.X**2).sum(axis=1), self.X.shape[1]
        return squares + d * noise_std**2, squares**2 + 2 * squares * noise_std**2 + d * noise_std**4

    def _mean_moments(self, noise_std: float) -> tuple[float, float]:
        """Return the means of `_copy_moments` over the rows, which the learner `ALGORITHM_1` knows."""
        moments, pairs = (float(values.mean()) for values in self._copy_moments(noise_std))
        return moments, pairs

    def _moment_bound(self) -> float:
        """Return an upper bound on E|x~|^2 for all noises and rows, which the learner `BOUND_TUNED` knows."""
        return float(self._copy_moments(max(self.noises))[0].max())

    def _estimators(
        self, moments: float, pairs: float | None = None
    ) -> tuple[estimators.GaussianFeatureMap, estimators.GradientLength]:
        """Return the estimators of Algorithm 1 with the best distributions for these moments, padded to one shape."""
        best: Any = estimators.best_feature_map(self.kernel, moments, pairs)
        laws = [np.asarray(law.probabilities) for law in (best.law, best.pair_law)]
        padded = [estimators.FiniteDistribution(np.pad(law, (0, max(64 - len(law), 0)))) for law in laws]
        feature_map = estimators.GaussianFeatureMap(self.kernel, *padded)
        factors = bounds.factor_moment(self.radius, feature_map.second_moment(moments, pairs), np.abs(self.y).max())
        return feature_map, estimators.GradientLength.for_loss(Squared(), estimators.minimum_variance, factors)


def _pilots(game: Game, **sizes: Any) -> Callable[..., Result]:
    """Return the function that simulates pilot runs of learners in a game, for `BestOf.choose`."""
    n_runs, record_at = sizes["n_runs"], sizes["record_at"]
    return lambda context, learners, rounds: context.simulate(
        game, learners, n_runs=n_runs, n_rounds=rounds, record_at=record_at(rounds)
    )


def standardised(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Standardise the columns of X and the targets, and divide the columns by sqrt(d)."""
    return (X - X.mean(axis=0)) / X.std(axis=0) / math.sqrt(X.shape[1]), (y - y.mean()) / y.std()
