"""Quadratic regression on noisy copies of skewed numbers, where regression calibration is not consistent.

E[x | x~] is not linear in x~ if x is skewed. In a linear model this does no harm, but in a quadratic model it biases
regression calibration. The corrected score uses polynomials of x~ whose means are 1, x, ..., x^4 for Gaussian noise of
a known variance. Algorithm 1 needs neither the distribution nor the variance of the noise.
"""

import dataclasses
import functools
import math
from collections.abc import Callable
from typing import Any, ClassVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxonline import bounds, estimators, kernels
from jaxonline.comparators import measurement_error as me
from jaxonline.feedback import FullInformation, Replicates, replicate_covariance
from jaxonline.learners import InverseSqrt, KernelGradient, NoisyKernel, Storage
from jaxonline.losses import Squared
from jaxonline.study.ready.errors_in_variables_regression import (
    ALGORITHM_1,
    CALIBRATION,
    CLEAN,
    MEAN,
    NAIVE,
    ONE,
    ONLINE_CLEAN,
    SCORE,
    SIMEX_1,
    SIMEX_2,
    OnlineMethod,
    Sample,
)

KERNEL = kernels.Inhomogeneous(2)  # (1 + x x')^2 = 1 + 2 x x' + x^2 x'^2
STEP = 1 / 12  # 1 / E k(x, x) for exponential x


def powers(X: np.ndarray) -> np.ndarray:
    """Return the columns 1, x, x^2."""
    return np.column_stack([np.ones(len(X)), X[:, 0], X[:, 0] ** 2])


def fit_quadratic(X: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the coefficients of 1, x, x^2 of least squares."""
    return me.least_squares(powers(X), y)


def corrected_quadratic(X: np.ndarray, y: np.ndarray, variance: float) -> np.ndarray:
    """Return the corrected score for Gaussian noise: Hermite polynomials of x~ have the means x, x^2, x^3, x^4."""
    x, s = X[:, 0], variance
    unbiased = np.stack([np.ones(len(x)), x, x**2 - s, x**3 - 3 * s * x, x**4 - 6 * s * x**2 + 3 * s**2])
    moments = unbiased.mean(axis=1)
    return np.linalg.solve(moments[np.add.outer(range(3), range(3))], unbiased[:3] @ y / len(y))


@dataclasses.dataclass(frozen=True, eq=False)
class QuadraticRegression:
    """The problem y = <w, (1, x, x^2)> + noise with exponential x of mean 0 and variance 1, and Gaussian noise."""

    name: str
    w: np.ndarray
    n_rows: int
    n_held_out: int
    noise_variance: float
    label_variance: float
    n_copies: int
    n_resamples: int
    loss: ClassVar[Squared] = Squared()

    def draw(self, rng: np.random.Generator) -> Sample:
        """Draw the data of a run."""
        X = rng.exponential(size=(self.n_rows + self.n_held_out, 1)) - 1
        y, n = powers(X) @ self.w, self.n_rows
        copies = X[:n, None] + math.sqrt(self.noise_variance) * rng.normal(size=(n, self.n_copies, 1))
        return Sample(X[:n], y[:n] + math.sqrt(self.label_variance) * rng.normal(size=n), copies, X[n:], y[n:])

    def risk(self, w: np.ndarray, sample: Sample) -> float:
        """Return the mean squared error on the clean held-out rows."""
        return float(np.mean((powers(sample.X_test) @ w - sample.y_test) ** 2))

    def copies_per_row(self) -> dict[str, int]:
        """Return the largest number of copies of a row that each method uses."""
        names = CLEAN, ONE, MEAN, SCORE, CALIBRATION, SIMEX_1, SIMEX_2, ONLINE_CLEAN, NAIVE, ALGORITHM_1
        numbers: dict[str, int] = dict.fromkeys(names, self.n_copies)
        return numbers | {CLEAN: 0, ONLINE_CLEAN: 0, ONE: 1, NAIVE: 1, ALGORITHM_1: 4}

    def estimate(self, sample: Sample, seed: int) -> tuple[dict[str, np.ndarray], bool]:
        """Return the estimate of w of each method of statistics; there is no safeguard."""
        y, mean = sample.y, sample.copies.mean(axis=1)
        noise = replicate_covariance(sample.copies) / self.n_copies
        simex = me.simex(mean, y, noise, fit_quadratic, n_resamples=self.n_resamples, seed=seed)
        return {
            CLEAN: fit_quadratic(sample.X, y),
            ONE: fit_quadratic(sample.copies[:, 0], y),
            MEAN: simex.estimates[0],
            SCORE: corrected_quadratic(mean, y, float(noise[0, 0])),
            CALIBRATION: me.regression_calibration(mean, y, noise, fit_quadratic),
            SIMEX_1: me.extrapolate(simex.levels, simex.estimates, 1),
            SIMEX_2: simex.w,
        }, False

    def learners(self, n_rounds: int) -> dict[str, OnlineMethod]:
        """Return the online learners, in a ball of the RKHS with twice the norm of <w, (1, x, x^2)>."""
        radius = 2 * math.sqrt(float(self.w**2 @ [1.0, 0.5, 1.0]))
        moment = 1 + self.noise_variance  # E x~^2
        feature_map = estimators.best_feature_map(KERNEL, moment)
        factors = bounds.factor_moment(radius, feature_map.second_moment(moment), 1.0)
        length = estimators.GradientLength.for_loss(self.loss, estimators.minimum_variance, factors)
        storage = Storage.for_horizon(feature_map, length, 1, n_rounds)

        def algorithm_1(eta: float) -> NoisyKernel:
            return NoisyKernel(feature_map, length, InverseSqrt(STEP * eta), radius, storage)

        def descent(estimator: Any, eta: float) -> KernelGradient:
            return KernelGradient(KERNEL, estimator, InverseSqrt(STEP * eta), n_rounds, radius)

        clean = functools.partial(descent, estimators.FullGradient(self.loss))
        naive = functools.partial(descent, estimators.NaiveCopy(self.loss))
        return {
            ONLINE_CLEAN: quadratic_method(clean, lambda sample: FullInformation()),
            NAIVE: quadratic_method(naive, lambda sample: Replicates(sample.copies)),
            ALGORITHM_1: quadratic_method(algorithm_1, lambda sample: Replicates(sample.copies)),
        }


def quadratic_method(learner: Callable[[float], Any], feedback: Callable[[Sample], Any]) -> OnlineMethod:
    """Return the method of a learner that predicts quadratic polynomials; w has the coefficients of 1, x, x^2."""
    predict = learner(1.0).predict  # the step size does not matter

    def coefficients(state: Any) -> jax.Array:
        left, centre, right = jax.vmap(lambda x: predict(jax.random.key(0), state, x))(
            jnp.array([[-1.0], [0.0], [1.0]])
        )
        return jnp.stack([centre, (right - left) / 2, (right + left) / 2 - centre])

    return OnlineMethod(learner, feedback, coefficients)
