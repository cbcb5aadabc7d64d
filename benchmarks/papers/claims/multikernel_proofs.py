"""Claims on the steps of paper D's proofs: Lemma 2 and Theorems 1 and 2, with all draws of the features enumerated.

Two kernels have two frequencies each, and the phase b of a feature is one of three. All expectations over such features
are exact: an average over three equidistant phases removes the terms in b and 2 b (and 4 b), as the average over the
circle does. The values use the features and forecasters of the package; the limits are the formulas of the paper.
"""

import functools
import itertools
import math
from collections.abc import Iterable
from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Float

from benchmarks.papers.claims.registry import SamplingOptions, claim
from jaxonline.estimators.dictionary import Dictionary
from jaxonline.feedback import FullOracle
from jaxonline.game import Specs
from jaxonline.learners import VAW
from jaxonline.numerics.elementwise import run_compiled
from jaxonline.verify.bias import unbiased
from jaxonline.verify.moments import bound
from jaxonline.verify.result import Verification

FREQUENCIES = np.array([[1.0, 2.0], [3.0, 4.0]])  # of the kernels k_j(x, x'), the mean of cos(omega (x - x'))
SCALES = np.array([1.0, 0.5])  # f_j = SCALES[j] k_j(0, .), whose squared norm is SCALES[j]^2
FRACTIONS = (1.0, 0.2)  # regrets are also against fractions of f, whose approximations have small errors
N, M, T, Y, LAMBDA = 2, 2, 16, 1.0, 1.0
X = np.tile([math.pi, 0.0, math.pi / 2, math.pi], T // 4)  # the error of Lemma 1 is largest at pi
PAIRS = np.tile([Y, Y, -Y, -Y], T // 4)
LABELS = np.stack([PAIRS, PAIRS * np.where(np.arange(T) < T // 2, 1, -1)])  # two sequences
F = SCALES[:, None] * np.cos(FREQUENCIES[:, :, None] * X).mean(axis=1)  # f_j(x_t) [N, T]
NORMS = SCALES**2


def all_draws() -> tuple[np.ndarray, np.ndarray]:
    """Return the frequencies and phases [draws, N, M] of all draws of the features, which are equally probable."""
    of_one = list(itertools.product((0, 1), 2 * np.pi * np.arange(3) / 3))
    draws = np.array(list(itertools.product(of_one, repeat=N * M))).reshape(-1, N, M, 2)
    indices = draws[..., 0].astype(int)
    return FREQUENCIES[np.arange(N)[None, :, None], indices], draws[..., 1]


def predict_sequence(learner: VAW, xs: Float[Array, "T d"], ys: Float[Array, "T"]) -> Float[Array, "T"]:
    """Return the predictions of a full-information learner without random numbers over a sequence."""
    key = jax.random.key(0)

    def play(state, row):
        x, y = row
        return learner.update(key, state, FullOracle(x, y))[0], learner.predict(key, state, x)

    specs = Specs(jax.ShapeDtypeStruct(xs.shape[1:], xs.dtype), jax.ShapeDtypeStruct((), ys.dtype))
    return jax.lax.scan(play, learner.init(key, specs), (xs, ys))[1]


def _play_draw(frequencies: Array, phases: Array, xs: Array, ys: Array) -> tuple[Array, ...]:
    """Return the approximations of f_j, the forecasts of the kernels, and those of VAW over kernels and features."""
    dictionary = Dictionary(frequencies[..., None], phases)
    at_zero, features = dictionary(jnp.zeros(1)), jax.vmap(dictionary)(xs)
    approximations = jnp.asarray(SCALES)[:, None] * jnp.einsum("jk,tjk->jt", at_zero, features)
    # The features are divided by sqrt(m), so lambda / m is the lambda of the paper.
    regularizer = LAMBDA / M
    kernels = [Dictionary(frequencies[j : j + 1, :, None], phases[j : j + 1]) for j in range(N)]
    forecasts = jnp.stack([predict_sequence(VAW(regularizer, features=one), xs, ys) for one in kernels])
    combined = predict_sequence(VAW(LAMBDA), forecasts.T, ys)
    return approximations, forecasts, combined, predict_sequence(VAW(regularizer, features=dictionary), xs, ys)


def _play_all(frequencies: Array, phases: Array, xs: Array, ys: Array) -> tuple[Array, ...]:
    return jax.vmap(functools.partial(_play_draw, xs=xs, ys=ys))(frequencies, phases)


class Outcomes(NamedTuple):
    """Predictions for all draws of the features and one sequence of labels.

    Attributes:
        labels: the labels y_t [T].
        approximations: <w^_j, Phi_j(x_t)> [draws, N, T].
        forecasts: z_tj, the forecasts of the kernels [draws, N, T].
        combined: <alpha_t, z_t> of VAW over the forecasts [draws, T].
        together: <w_t, Phi(x_t)> of VAW on all features [draws, T].
    """

    labels: np.ndarray
    approximations: np.ndarray
    forecasts: np.ndarray
    combined: np.ndarray
    together: np.ndarray

    def losses(self, predictions: np.ndarray) -> np.ndarray:
        """Return half the sum of squared errors over the rounds, which are the last axis."""
        return np.sum((predictions - self.labels) ** 2, axis=-1) / 2

    def regrets_of_combiner(self) -> np.ndarray:
        """Return the regret of VAW over the forecasts against each of `DELTAS` [draws, deltas]."""
        mixtures = np.einsum("rjt,ij->rit", self.forecasts, DELTAS)
        return self.losses(self.combined)[:, None] - self.losses(mixtures)


@functools.cache
def outcomes() -> tuple[Outcomes, ...]:
    """Return the outcomes for each sequence of labels."""
    with jax.enable_x64(True):
        runs = [run_compiled(_play_all, *all_draws(), X[:, None], labels) for labels in LABELS]
        return tuple(Outcomes(labels, *map(np.asarray, run)) for labels, run in zip(LABELS, runs, strict=True))


LOG = math.log(1 + 2 * T / LAMBDA)
DELTAS = np.array([[1.0, 0.0], [0.0, 1.0], [0.5, 0.5], [0.2, 0.8]])  # [deltas, N]


def largest_prediction() -> float:
    """Return Z_T^2 of Eq. 24."""
    return 2 * (T + 1) * N * Y**2 + 2 * M * N * Y**2 * LOG


def lemma_2(factor: float) -> float:
    """Return the largest ratio of both sides of Eq. 13, over x_t and labels -1, f(x_t) and 1, with `factor` for N."""
    approximations, ratios = outcomes()[0].approximations.sum(axis=1), []
    for labels in (np.full(T, -Y), F.sum(axis=0), np.full(T, Y)):
        left = np.mean((approximations - labels) ** 2, axis=0)
        ratios.append(left / (2 * factor / M * NORMS.sum() + (F.sum(axis=0) - labels) ** 2))
    return float(np.max(ratios))


@claim(
    "Lemma 2, the error of f in the sum of RKHSs", "D, Eq. 13", cost="exact", printed="respected", improved="respected"
)
def _lemma_2(form: str, options: SamplingOptions) -> Verification:
    """Printed: 2 N |f|^2 / m + (f(x) - y)^2. Improved: without N, as features of different kernels are independent."""
    note = "the largest ratio of the sides"
    return bound(lemma_2(N if form == "printed" else 1), 1.0, note=note)


@claim("error of the approximation of f less that of f", "D, Eq. 14", cost="exact", printed="within tolerance")
def _bias_and_variance(form: str, options: SamplingOptions) -> Verification:
    """The mean of (sum_j <w^_j, Phi_j> - y)^2 - (f - y)^2 is the variance of the sum, here in closed form.

    The mean of phi(0)^2 phi(x)^2 is 1 + cos(2 omega x) / 2, so a feature of f_j adds |f_j|^2 (1 + the mean of cos(2
    omega x) / 2) - f_j(x)^2 to m times the variance.
    """
    fourth = 1 + np.cos(2 * FREQUENCIES[:, :, None] * X).mean(axis=1) / 2
    variances = (NORMS[:, None] * fourth - F**2).sum(axis=0) / M
    f, labels, approximations = F.sum(axis=0), LABELS[0], outcomes()[0].approximations.sum(axis=1)
    errors = (approximations - labels) ** 2 - (f - labels) ** 2
    return unbiased(None, variances, support=[(1 / len(errors), row) for row in errors])


@claim("errors of the sum of approximations, and of each", "D, Eq. 15", cost="exact", printed="respected")
def _errors_of_the_sum(form: str, options: SamplingOptions) -> Verification:
    """E(sum of e_j)^2 <= N sum of E e_j^2 <= 2 N |f|^2 / m, with e_j = <w^_j, Phi_j(x)> - f_j(x)."""
    errors = outcomes()[0].approximations - F
    squares = (errors**2).mean(axis=0).sum(axis=0)
    first = (errors.sum(axis=1) ** 2).mean(axis=0) / (N * squares)
    second = squares / (2 / M * NORMS.sum())
    return bound(float(max(first.max(), second.max())), 1.0, note="the larger ratio of the two inequalities")


def _largest(ratios: Iterable[np.ndarray | float], note: str = "the largest ratio of the sides") -> Verification:
    """Compare the largest of several ratios with 1."""
    return bound(max(float(np.max(ratio)) for ratio in ratios), 1.0, note=note)


def regret_of_all_features(run: Outcomes, fraction: float) -> float:
    """Return the mean regret of VAW on all features against a fraction of the weights w^ of Lemma 2."""
    return float(np.mean(run.losses(run.together) - run.losses(fraction * run.approximations.sum(axis=1))))


@claim("mean regret of VAW on all features against w^", "D, Eq. 19", cost="exact", printed="respected")
def _all_features(form: str, options: SamplingOptions) -> Verification:
    """Two sequences of labels, against f and f / 5."""
    return _largest(
        regret_of_all_features(run, c) / (LAMBDA / 2 * c**2 * NORMS.sum() / M + N * M * Y**2 / 2 * LOG)
        for run, c in itertools.product(outcomes(), FRACTIONS)
    )


@claim("loss of VAW over VAW, split into regrets", "D, Eq. 22", cost="exact", printed="respected")
def _split(form: str, options: SamplingOptions) -> Verification:
    """All draws, two sequences of labels and four delta; both sides are equal for delta = e_j."""
    ratios = []
    for run in outcomes():
        of_w = run.losses(run.approximations)
        of_kernels = (run.losses(run.forecasts) - of_w) @ DELTAS.T  # the sum of delta_j R_T(w^_j)
        right = run.regrets_of_combiner() + of_kernels + of_w @ DELTAS.T
        ratios.append(run.losses(run.combined)[:, None] / right)
    return _largest(ratios)


@claim("regret of VAW over predictions of at most Z", "D, Eq. 23", cost="exact", printed="respected")
def _bounded_predictions(form: str, options: SamplingOptions) -> Verification:
    """All draws, two sequences of labels and four delta, Z being the largest |z_tj| of the draw."""
    ratios = []
    for run in outcomes():
        Z2 = np.max(run.forecasts**2, axis=(1, 2))[:, None]
        limit = LAMBDA / 2 * np.sum(DELTAS**2, axis=1) + N * Y**2 / 2 * np.log1p(Z2 * T / LAMBDA)
        ratios.append(run.regrets_of_combiner() / limit)
    return _largest(ratios)


@claim("sum of squared forecasts of VAW", "D, Eq. 24", cost="exact", printed="respected")
def _squared_forecasts(form: str, options: SamplingOptions) -> Verification:
    """The largest sum of z_tj^2 over all draws and rounds. The paper calls such an estimate rough."""
    ratios = [np.sum(run.forecasts**2, axis=1) / largest_prediction() for run in outcomes()]
    return _largest(ratios, "the largest sum of squares, relative to Z_T^2")


@claim("regret of VAW over VAW", "D, Eq. 25", cost="exact", printed="respected", improved="respected")
def _combiner(form: str, options: SamplingOptions) -> Verification:
    """Printed: ln(1 + Z_T^2 T/lambda). Improved: ln(1 + Z_T^2 T/(lambda N)), as Z_T^2 bounds |z_t|^2, not z_tj^2."""
    Z2 = largest_prediction() if form == "printed" else largest_prediction() / N
    limit = LAMBDA / 2 * np.sum(DELTAS**2, axis=1) + N * Y**2 / 2 * math.log1p(Z2 * T / LAMBDA)
    return _largest(run.regrets_of_combiner() / limit for run in outcomes())


def mean_regrets_of_kernels(run: Outcomes, fraction: float) -> np.ndarray:
    """Return the mean regret of the forecaster of each kernel against a fraction of w^_j [N]."""
    return np.mean(run.losses(run.forecasts) - run.losses(fraction * run.approximations), axis=0)


@claim("mean regret of the kernels' VAW against w^_j", "D, Eq. 26", cost="exact", printed="respected")
def _kernels(form: str, options: SamplingOptions) -> Verification:
    """Two sequences of labels, against f and f / 5, and four delta."""
    return _largest(
        DELTAS @ mean_regrets_of_kernels(run, c) / (LAMBDA / (2 * M) * c**2 * DELTAS @ NORMS + M * Y**2 / 2 * LOG)
        for run, c in itertools.product(outcomes(), FRACTIONS)
    )


@claim("mean loss of the weights w^_j", "D, Eq. 27", cost="exact", printed="respected")
def _losses_of_weights(form: str, options: SamplingOptions) -> Verification:
    """Two sequences of labels and four delta."""
    return _largest(
        DELTAS @ run.losses(run.approximations).mean(axis=0) / (DELTAS @ (T / M * NORMS + run.losses(F)))
        for run in outcomes()
    )
