"""Logistic regression on flipped labels: the data of a run, methods of statistics, and online learners."""

import dataclasses
from typing import Any, ClassVar

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from jaxonline import estimators, kernels
from jaxonline.comparators import measurement_error as me
from jaxonline.feedback import FullInformation, Replicates
from jaxonline.learners import GradientLearner, InverseSqrt
from jaxonline.losses import Logistic
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.struct import struct
from jaxonline.study.ready.errors_in_variables_regression import OnlineMethod, Sample, linear_kernel

CLEAN, FLIPPED = "logistic regression, clean labels", "logistic regression, flipped labels"
MC_SIMEX_1, MC_SIMEX_2, UNBIASED = "MC-SIMEX, linear", "MC-SIMEX, quadratic", "unbiased loss"
NAIVE, GRADIENT = "online: flipped labels as if clean", "online: unbiased loss"
ALGORITHM_1 = "online: Algorithm 1, unbiased labels"
STEP = 8.0  # 2 / L for the largest curvature L = 1/4 of the loss, as 1 / E|x|^2 for the squared loss


@struct
class UnbiasedLogisticGradient:
    """Gradient of log(2 cosh(a / 2)) - a y~ / 2 at a = <w, x>, which is unbiased if the label y~ has the mean y."""

    def __call__(self, key: Any, w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """Return (tanh(a / 2) - y~) x / 2, for a copy x without noise."""
        del key
        x = oracle.copy(0)
        return (jnp.tanh(w @ x / 2) - oracle.label()) * x / 2


@dataclasses.dataclass(frozen=True, eq=False)
class FlippedRegression:
    """Instances uniform on the unit sphere, P(y = 1) = 1 / (1 + exp(-<w, x>)), and labels flipped at a known rate.

    Held-out labels are the expected values of clean labels, so that the logistic loss, which is affine in the label, is
    the exact conditional risk.
    """

    name: str
    w: np.ndarray
    n_rows: int
    n_held_out: int
    flip_rate: float
    n_resamples: int
    loss: ClassVar[Logistic] = Logistic()

    def draw(self, rng: np.random.Generator) -> Sample:
        """Draw the data of a run; `copies` has the clean label of each row."""
        X = rng.normal(size=(self.n_rows + self.n_held_out, len(self.w)))
        X /= np.linalg.norm(X, axis=1)[:, None]
        mean, n = np.tanh(X @ self.w / 2), self.n_rows
        clean = np.where(rng.uniform(size=n) < (1 + mean[:n]) / 2, 1.0, -1.0)
        flipped = np.where(rng.uniform(size=n) < self.flip_rate, -clean, clean)
        return Sample(X[:n], flipped, clean, X[n:], mean[n:])

    def risk(self, w: np.ndarray, sample: Sample) -> float:
        """Return the expected logistic loss on the held-out rows with clean labels."""
        a = sample.X_test @ w
        return float(np.mean(np.logaddexp(a / 2, -a / 2) - sample.y_test * a / 2))

    def copies_per_row(self) -> dict[str, int]:
        """Return the number of labels of a row that each method uses."""
        return dict.fromkeys((CLEAN, FLIPPED, MC_SIMEX_1, MC_SIMEX_2, UNBIASED, NAIVE, GRADIENT, ALGORITHM_1), 1)

    def estimate(self, sample: Sample, seed: int) -> tuple[dict[str, np.ndarray], bool]:
        """Return the estimate of w of each method of statistics; there is no safeguard."""
        X, y = sample.X, sample.y
        simex = me.mc_simex(X, y, self.flip_rate, n_resamples=self.n_resamples, seed=seed)
        return {
            CLEAN: me.logistic_regression(X, sample.copies),
            FLIPPED: simex.estimates[0],
            MC_SIMEX_1: me.extrapolate(simex.levels, simex.estimates, 1),
            MC_SIMEX_2: simex.w,
            UNBIASED: self._unbiased(X, y),
        }, False

    def _unbiased(self, X: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return the minimiser of the unbiased loss, or NaN if it has none."""
        try:
            return me.logistic_regression(X, y, self.flip_rate)
        except ArgumentError:
            return np.full(X.shape[1], np.nan)

    def learners(self, n_rounds: int) -> dict[str, OnlineMethod]:
        """Return the online learners, in a ball of radius 1.25 |w|.

        Algorithm 1 has copies without noise. The series of the logistic loss has the radius of convergence pi, so that
        the ball cannot be larger than pi.
        """
        radius, d, loss = 1.25 * float(np.linalg.norm(self.w)), len(self.w), self.loss
        feature_map = estimators.best_feature_map(kernels.Linear(), 1.0)
        length = estimators.GradientLength.for_loss(loss, estimators.minimum_variance, radius**2)
        most = 1 + len(length.series.coefficients)

        def unbiased_labels(sample: Sample) -> Replicates:
            copies = np.repeat(sample.X[:, None], most, axis=1)
            return Replicates(copies, y=sample.y[:, None] / (1 - 2 * self.flip_rate))

        def descent(estimator: Any, feedback: Any) -> OnlineMethod:
            return OnlineMethod(lambda eta: GradientLearner(estimator, InverseSqrt(STEP * eta), radius), feedback, None)

        return {
            NAIVE: descent(estimators.FullGradient(loss), lambda sample: FullInformation()),
            GRADIENT: descent(UnbiasedLogisticGradient(), unbiased_labels),
            ALGORITHM_1: linear_kernel(feature_map, length, d, n_rounds, STEP, radius, unbiased_labels),
        }
