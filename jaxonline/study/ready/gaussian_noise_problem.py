"""What is learned under Gaussian noise, and by whom: a problem, its learners, and what the theorems promise of them."""

import dataclasses
import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxonline import bounds, estimators, learners
from jaxonline.claims.printed_bounds import printed_surrogate_radius
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
TOLD = "Algorithm 1, told bounds"
NAIVE = "one copy"
MEANS = {f"mean of {n} copies": n for n in (2, 5, 20)}
FOURIER = {  # under noise the mean features are shrunken, each by exp(-|omega|^2 sigma^2 / 2)
    "Fourier, 1 copy": estimators.NaiveCopy(),
    "Fourier, 2 copies": estimators.TwoCopies(),
    "Fourier, mean of 5": estimators.MeanOfCopies(5),
}
NOISY = (ALGORITHM_2, ALGORITHM_1, TOLD, NAIVE, *MEANS, *FOURIER)
SEGMENTS_PER_PASS = 32  # programs of one length


@dataclasses.dataclass(frozen=True, eq=False)
class Problem:
    """What is to be learned.

    Attributes:
        name: of the data.
        X: instances [n, d], one a round, in every run and pass the same.
        y: targets [n].
        kernel: of the learners and of the comparator.
        radius: of the comparator's ball.
        noises: the standard deviations of each coordinate of a copy with which it is played.
        frequencies: of the Fourier features.
        points: x_i of the target sum a_i k(x_i, .), or None where it is not known.
        coefficients: a_i, or None.
        passes: over the rows for which there is room, for learners that do not store a point a round.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    kernel: Gaussian
    radius: float
    noises: tuple[float, ...]
    frequencies: int = 100
    points: np.ndarray | None = None
    coefficients: np.ndarray | None = None
    passes: int = 1

    def run(
        self, context: Context, noise_std: float, names: Sequence[str], tune: BestOf | Mapping[str, float], *,
        n_runs: int, n_rounds: int,
    ) -> ComparisonResult:  # fmt: skip
        """The named learners against the best predictor of the ball on the clean data.

        Steps are chosen by losses on clean instances, which no learner sees: how well each could do. That of `TOLD` is
        chosen by losses on noisy copies, as a learner could. All noises and numbers of rounds are played by the same
        compiled programs.

        Args:
            context: of the study, or of a part of it.
            noise_std: of each coordinate of a copy, one of the problem's.
            names: of learners: `CLEAN` and those of `NOISY`.
            tune: eta of each learner, or what chooses them.
            n_runs: at least 2.
            n_rounds: up to the number of rows; or, for learners that do not store a point a round, a multiple of it.

        Raises:
            ValueError: rounds that end inside a further pass, noise for which there is no surrogate.
        """
        rounds = np.array(self._record_at(n_rounds))
        best, known = self.best_losses(rounds), self.points is not None
        makers = self.makers(noise_std)
        better = self.target_losses(rounds) - best if known else 0.0  # theorems speak of the target, which is not best
        promised = self.theorems(noise_std, n_rounds) if known else {}
        game = Game(DataStream(self.X, self.y), NoisyCopies(noise.gaussian(noise_std**2)))
        comparison = Comparison(
            game,
            {name: makers[name] for name in names},
            lambda _: best,
            {
                name: lambda eta, t, bound=bound: bound.inverse_sqrt_step(eta, t) + better
                for name, bound in promised.items()
                if name in names
            },
            {name: tune[name] for name in names} if isinstance(tune, Mapping) else tune,
            {"data": self.name, "noise": noise_std, "rounds": n_rounds},
            growth_start=1 / 2,
        )
        sizes = {"n_runs": n_runs, "record_at": self._record_at}
        if not isinstance(tune, BestOf) or TOLD not in names:
            return comparison.run(context, n_rounds=n_rounds, **sizes)
        with context.parts(3) as part:
            tuned: dict[str, Tuned] = {}
            for judged, own in ((game, set(names) - {TOLD}), (replace(game, regret=NoisyLearnerRegret()), {TOLD})):
                makers = {name: comparison.learners[name] for name in names if name in own}
                if makers:
                    where = part("steps by losses on " + ("noisy copies" if own == {TOLD} else "clean instances"))
                    tuned |= tune.choose(_pilots(judged, **sizes), makers, where, n_rounds)
            etas = {name: each.choice["eta"] for name, each in tuned.items()}
            found = dataclasses.replace(comparison, tune=etas).run(part("best"), n_rounds=n_rounds, **sizes)
        return found._replace(at_edge=tune.at_edge(etas), tuned=tuned)

    def makers(self, noise_std: float) -> dict[str, Callable[[Any], Any]]:
        """A function of the step size for every learner: `CLEAN` and those of `NOISY`.

        What they know: `ALGORITHM_2` the covariance of the noise; `ALGORITHM_1` the mean over the rows of E|x~|^2 and
        of E<x~, x~'>^2 at this noise, for which its laws of the numbers of copies are made; `TOLD` a bound on
        |x|, that the noise is at most the largest of `noises`, and a bound on |y|: its laws are the same at all noises;
        the others nothing.

        There is room for one pass over the rows where a learner stores a point a round, in Algorithm 1 for `passes`.

        Raises:
            ValueError: noise for which there is no surrogate kernel.
        """
        kernel, radius, (n_points, d) = self.kernel, self.radius, self.X.shape
        surrogate, ball = self._surrogate(noise_std), self._surrogate_ball(noise_std)
        estimates, told = self._estimators(*self._mean_moments(noise_std)), self._estimators(self._told_moment())
        storage, room = (
            learners.Storage.for_horizon(*own, d, self.passes * n_points)
            for own in (self._estimators(*self._mean_moments(max(self.noises))), told)
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
            TOLD: lambda step: learners.NoisyKernel(*told, step, radius, room),
            NAIVE: points(estimators.NaiveCopy()),
            **{name: points(estimators.MeanOfCopies(n)) for name, n in MEANS.items()},
            **{name: fourier(estimator) for name, estimator in FOURIER.items()},
        }

    def theorems(self, noise_std: float, n_rounds: int) -> dict[str, bounds.RegretBound]:
        """What is promised against the target: Theorem 3 of paper B, Theorem 4 of paper A with the exact moments."""
        y_bound, R = float(np.abs(self.y).max()), float(self._surrogate(noise_std).constant())
        moments, pairs = (float(each.max()) for each in self._copy_moments(noise_std))
        own, told = self._estimators(*self._mean_moments(noise_std)), self._told_moment()
        return {
            ALGORITHM_2: bounds.surrogate_kernel(self._surrogate_ball(noise_std), R, y_bound, n_rounds),
            ALGORITHM_1: bounds.noisy_kernel(*own, self.radius, moments, n_rounds, y_bound, pairs),
            TOLD: bounds.noisy_kernel(*self._estimators(told), self.radius, told, n_rounds, y_bound),
        }

    def geometry(self, noise_std: float) -> dict[str, float]:
        """The target in the RKHS of the surrogate kernel: what Theorem 3 of paper B depends on.

        Returns:
            `angle` beta in radians, `constant` R, the target's norm `W` there, which is the radius of Algorithm 2, and
            what the theorem takes for it, from the angle alone: `W_sharp` (Lemmas 5, 6 and 9) and `W_printed`.
        """
        R, W = float(self._surrogate(noise_std).constant()), self._surrogate_ball(noise_std)
        angle = positive_negative_angle(self.kernel, *self._target())
        forms = {"W_sharp": bounds.surrogate_radius, "W_printed": printed_surrogate_radius}
        by_angle = {name: form(self.radius, R, angle) for name, form in forms.items()}
        return {"noise": noise_std, "angle": angle, "constant": R, "W": W} | by_angle

    def best_losses(self, rounds: np.ndarray) -> np.ndarray:
        """Of the best predictor of the ball, in hindsight: in one pass, and at ends of passes, which are all alike."""
        n = len(self.y)
        own = np.unique(np.minimum(rounds, n))
        losses = RKHSBall(self.kernel, self.radius).best_losses(self.X[: own[-1]], self.y[: own[-1]], own)
        table = dict(zip(own.tolist(), losses.tolist(), strict=True))
        return np.array([table[min(t, n)] * max(1, t // n) for t in rounds.tolist()])

    def target_losses(self, rounds: np.ndarray) -> np.ndarray:
        """The target's cumulative loss after each of `rounds`, over as many passes as they need."""
        points, coefficients = self._target()
        errors = gram_matrix(self.kernel, self.X, points) @ coefficients - self.y
        losses, n = np.concatenate([[0.0], np.cumsum(errors**2)]), len(errors)
        return np.array([losses[n] * (t // n) + losses[t % n] for t in rounds.tolist()])

    def regret_of_zero(self, n_rounds: int) -> float:
        """Of the predictor 0, after rounds of the first pass."""
        return float((self.y[:n_rounds] ** 2).sum() - self.best_losses(np.array([n_rounds]))[0])

    def _record_at(self, n_rounds: int) -> list[int]:
        """About ten rounds of the first pass, multiples of a thirty-second of the rows, and ends of passes."""
        n_rows = len(self.y)
        if n_rounds > n_rows and n_rounds % n_rows:
            raise ArgumentError("n_rounds", f"must be a multiple of the {n_rows} rows (got {n_rounds})")
        first = min(n_rounds, n_rows)
        piece = min(max(n_rows // SEGMENTS_PER_PASS, 1), first)
        within = piece * np.round(np.geomspace(1, first // piece, 11)).astype(int)
        passes = n_rows * np.round(np.geomspace(1, max(n_rounds // n_rows, 1), 8)).astype(int)
        return np.unique([piece, *within[:-1], *(passes if n_rounds > n_rows else ()), n_rounds]).tolist()

    def _target(self) -> tuple[np.ndarray, np.ndarray]:
        assert self.points is not None
        assert self.coefficients is not None
        return self.points, self.coefficients

    def _surrogate(self, noise_std: float) -> estimators.Surrogate:
        return estimators.Surrogate(self.kernel, noise_std**2, dimension=self.X.shape[1])

    def _surrogate_ball(self, noise_std: float) -> float:
        """W: the target's norm; where there is no target, that of one whose coefficients are of one sign, at most."""
        surrogate = self._surrogate(noise_std)
        if self.points is None:
            return self.radius * float(surrogate.constant())
        return rkhs_norm(surrogate, *self._target())

    def _copy_moments(self, noise_std: float) -> tuple[np.ndarray, np.ndarray]:
        """E|x~|^2 and E<x~, x~'>^2 of every row [n]."""
        squares, d = (self.X**2).sum(axis=1), self.X.shape[1]
        return squares + d * noise_std**2, squares**2 + 2 * squares * noise_std**2 + d * noise_std**4

    def _mean_moments(self, noise_std: float) -> tuple[float, float]:
        """`_copy_moments` in the mean over the rows: what `ALGORITHM_1` is tuned to."""
        moments, pairs = (float(each.mean()) for each in self._copy_moments(noise_std))
        return moments, pairs

    def _told_moment(self) -> float:
        """A bound on E|x~|^2 for all noises and rows: all that `TOLD` knows of both."""
        return float(self._copy_moments(max(self.noises))[0].max())

    def _estimators(
        self, moments: float, pairs: float | None = None
    ) -> tuple[estimators.GaussianFeatureMap, estimators.GradientLength]:
        """Of Algorithm 1: the best laws for these moments, padded so that all noises make one program."""
        best: Any = estimators.best_feature_map(self.kernel, moments, pairs)
        laws = [np.asarray(law.probabilities) for law in (best.law, best.pair_law)]
        padded = [estimators.FiniteDistribution(np.pad(law, (0, max(64 - len(law), 0)))) for law in laws]
        feature_map = estimators.GaussianFeatureMap(self.kernel, *padded)
        factors = bounds.factor_moment(self.radius, feature_map.second_moment(moments, pairs), np.abs(self.y).max())
        return feature_map, estimators.GradientLength.for_loss(Squared(), estimators.minimum_variance, factors)


def _pilots(game: Game, **sizes: Any) -> Callable[..., Result]:
    """Plays learners in a game, for `BestOf.choose`."""
    n_runs, record_at = sizes["n_runs"], sizes["record_at"]
    return lambda context, learners, rounds: context.simulate(
        game, learners, n_runs=n_runs, n_rounds=rounds, record_at=record_at(rounds)
    )


def standardised(X: np.ndarray, y: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Columns of mean 0, divided by sqrt(d) standard deviations; targets of mean 0 and variance 1."""
    return (X - X.mean(axis=0)) / X.std(axis=0) / math.sqrt(X.shape[1]), (y - y.mean()) / y.std()
