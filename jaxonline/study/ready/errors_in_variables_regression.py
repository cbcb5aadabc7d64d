"""Linear regression on noisy copies: the data of a run, methods of statistics, and online learners."""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, ClassVar, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxonline import estimators, kernels
from jaxonline.comparators import measurement_error as me
from jaxonline.feedback import FullInformation, Replicates, replicate_covariance
from jaxonline.learners import GradientLearner, InverseSqrt, NoisyKernel, Storage, online_to_batch
from jaxonline.losses import Squared

CLEAN, ONE, MEAN = "least squares, clean rows", "least squares, one copy", "least squares, mean of copies"
TLS_RATIO, TLS = "total least squares, noise ratio", "total least squares, covariance"
TLS_RESIDUAL = "total least squares, residual known"
SCORE_ONE, SCORE = "corrected score, one copy", "corrected score, mean"
CALIBRATION, SIMEX_1, SIMEX_2 = "regression calibration", "SIMEX, linear", "SIMEX, quadratic"
NAIVE, KNOWN, TWO = "online: one copy as if clean", "online: one copy, covariance", "online: two copies"
PAIRS, ALGORITHM_1 = "online: all pairs of copies", "online: Algorithm 1"
ONLINE_CLEAN = "online: clean rows"


class Sample(NamedTuple):
    """Data of a run: clean rows, labels, copies [n, m, d], and clean held-out rows."""

    X: np.ndarray
    y: np.ndarray
    copies: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray


@dataclasses.dataclass(frozen=True, eq=False)
class Regression:
    """A regression problem; `draw(rng)` returns clean rows and held-out rows, before noise is added.

    `w` is the target vector: the true one, or that of least squares on all clean rows. `residual_variance` is the
    variance of the clean y around <w, x>, which is 0 in simulated problems.
    """

    name: str
    w: np.ndarray
    clean_rows: Callable[[np.random.Generator], tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]
    covariance: np.ndarray
    label_variance: float
    residual_variance: float
    n_copies: int
    n_resamples: int
    loss: ClassVar[Squared] = Squared()

    def draw(self, rng: np.random.Generator) -> Sample:
        """Draw the data of a run, with Gaussian noise of the copies and labels."""
        X, y, X_test, y_test = self.clean_rows(rng)
        factor = np.linalg.cholesky(self.covariance)
        copies = X[:, None] + rng.normal(size=(len(X), self.n_copies, X.shape[1])) @ factor.T
        return Sample(X, y + math.sqrt(self.label_variance) * rng.normal(size=len(y)), copies, X_test, y_test)

    def risk(self, w: np.ndarray, sample: Sample) -> float:
        """Return the mean squared error on the clean held-out rows."""
        return float(np.mean((sample.X_test @ w - sample.y_test) ** 2))

    def copies_per_row(self) -> dict[str, int]:
        """Return the number of copies of a row that each method uses, apart from the estimate of the covariance."""
        numbers: dict[str, int] = dict.fromkeys(self.names(), self.n_copies)
        numbers |= (
            {CLEAN: 0, ONLINE_CLEAN: 0}
            | dict.fromkeys((ONE, SCORE_ONE, NAIVE, KNOWN), 1)
            | dict.fromkeys((TWO, ALGORITHM_1), 2)
        )
        return numbers

    def names(self) -> list[str]:
        """Return the names of all methods."""
        residual = [TLS_RESIDUAL] if self.residual_variance else []
        batch = [CLEAN, ONE, MEAN, TLS_RATIO, TLS, *residual, SCORE_ONE, SCORE, CALIBRATION, SIMEX_1, SIMEX_2]
        return [*batch, ONLINE_CLEAN, NAIVE, KNOWN, TWO, PAIRS, ALGORITHM_1]

    def estimate(self, sample: Sample, seed: int) -> tuple[dict[str, np.ndarray], bool]:
        """Return the estimate of w of each method of statistics, and whether the safeguard of the score acted.

        The covariance of the noise is estimated from the copies.
        """
        X, y, one, mean = sample.X, sample.y, sample.copies[:, 0], sample.copies.mean(axis=1)
        noise = replicate_covariance(sample.copies)
        of_mean, d = noise / self.n_copies, X.shape[1]
        simex = me.simex(mean, y, of_mean, n_resamples=self.n_resamples, seed=seed)
        scores = me.corrected_score(one, y, noise), me.corrected_score(mean, y, of_mean)
        estimates = {
            CLEAN: me.least_squares(X, y),
            ONE: me.least_squares(one, y),
            MEAN: me.least_squares(mean, y),
            TLS_RATIO: me.total_least_squares(mean, y, np.trace(of_mean) / d, self.label_variance),
            TLS: me.total_least_squares(mean, y, of_mean, self.label_variance),
            TLS_RESIDUAL: me.total_least_squares(mean, y, of_mean, self.label_variance + self.residual_variance),
            SCORE_ONE: scores[0].w,
            SCORE: scores[1].w,
            CALIBRATION: me.regression_calibration(mean, y, of_mean),
            SIMEX_1: me.extrapolate(simex.levels, simex.estimates, 1),
            SIMEX_2: simex.w,
        }
        return {name: estimates[name] for name in self.names() if name in estimates}, scores[1].share < 1

    def learners(self, n_rounds: int) -> dict[str, "OnlineMethod"]:
        """Return the online learners, in a ball with twice the norm of w; d is E|x|^2."""
        radius, d = 2 * float(np.linalg.norm(self.w)), len(self.w)
        unbiased = {KNOWN: estimators.KnownCovariance(), TWO: estimators.TwoCopies()}
        unbiased[PAIRS] = estimators.PairsOfCopies(self.n_copies)

        def descent(estimator: Any, feedback: Callable[[Sample], Any]) -> OnlineMethod:
            return OnlineMethod(lambda eta: GradientLearner(estimator, InverseSqrt(eta / d), radius), feedback, None)

        linear = {ONLINE_CLEAN: descent(estimators.FullGradient(), lambda sample: FullInformation())}
        linear |= {name: descent(e, _noisy) for name, e in {NAIVE: estimators.NaiveCopy(), **unbiased}.items()}
        feature_map = estimators.best_feature_map(kernels.Linear(), 1.0)  # one copy, whatever the moments
        length = estimators.GradientLength.for_loss(self.loss, estimators.minimum_variance, 1.0)
        return linear | {ALGORITHM_1: linear_kernel(feature_map, length, d, n_rounds, 1 / d, radius, _noisy)}


class OnlineMethod(NamedTuple):
    """A learner for each step size eta, the feedback that it gets for a sample, and its vector w of a state."""

    learner: Callable[[float], Any]
    feedback: Callable[[Sample], Any]
    hypothesis: Callable[[Any], Any] | None

    def estimate(self, sample: Sample, eta: float, loss: Any, seed: int) -> np.ndarray:
        """Return the mean hypothesis of one pass over the rows (online-to-batch conversion)."""
        feedback = self.feedback(sample)
        mean = online_to_batch(self.learner(eta), sample.X, sample.y, loss, self.hypothesis, seed, feedback)
        return np.asarray(mean.hypothesis, float)


def linear_kernel(
    feature_map: Any, length: Any, d: int, n_rounds: int, scale: float, radius: float,
    feedback: Callable[[Sample], Any],
) -> OnlineMethod:  # fmt: skip
    """Return Algorithm 1 with a linear kernel and steps scale * eta; its w has the predictions of unit vectors."""
    storage = Storage.for_horizon(feature_map, length, d, n_rounds)

    def learner(eta: float) -> NoisyKernel:
        return NoisyKernel(feature_map, length, InverseSqrt(scale * eta), radius, storage)

    predict = learner(1.0).predict  # the step size does not matter
    return OnlineMethod(
        learner, feedback, lambda state: jax.vmap(lambda x: predict(jax.random.key(0), state, x))(jnp.eye(d))
    )


def _noisy(sample: Sample) -> Replicates:
    return Replicates(sample.copies, covariance=replicate_covariance(sample.copies))


def simulated(
    name: str, law: Callable[[np.random.Generator, tuple[int, int]], np.ndarray], n_rows: int, n_held_out: int,
    dimension: int, noise_variance: float, label_variance: float, n_copies: int, n_resamples: int,
) -> Regression:  # fmt: skip
    """Return a problem with independent coordinates of mean 0 and variance 1, and y = <w, x> with |w| = 1.

    The noise of coordinates i and j of a copy has the covariance noise_variance * 0.5^|i - j|.
    """
    w = (-1.0) ** np.arange(dimension) / np.arange(1, dimension + 1)
    w /= np.linalg.norm(w)
    distance = np.abs(np.subtract.outer(np.arange(dimension), np.arange(dimension)))

    def clean_rows(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        X = law(rng, (n_rows + n_held_out, dimension))
        return X[:n_rows], X[:n_rows] @ w, X[n_rows:], X[n_rows:] @ w

    covariance = noise_variance * 0.5**distance
    return Regression(name, w, clean_rows, covariance, label_variance, 0.0, n_copies, n_resamples)


def from_rows(
    name: str, X: np.ndarray, y: np.ndarray, noise_variance: float, label_variance: float, n_copies: int,
    n_resamples: int,
) -> Regression:  # fmt: skip
    """Return a problem with standardised real rows, of which a random fifth is held out in each run.

    The noise is simulated: it has the given share of the variance of each attribute, and of the target.
    """
    X, y = (X - X.mean(axis=0)) / X.std(axis=0), (y - y.mean()) / y.std()
    w = me.least_squares(X, y)

    def clean_rows(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        order, n_rows = rng.permutation(len(y)), len(y) - len(y) // 5
        train, test = order[:n_rows], order[n_rows:]
        return X[train], y[train], X[test], y[test]

    residual = float(np.mean((X @ w - y) ** 2))
    covariance = noise_variance * np.eye(X.shape[1])
    return Regression(name, w, clean_rows, covariance, label_variance, residual, n_copies, n_resamples)
