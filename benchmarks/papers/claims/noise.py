"""Noise with side information (Cesa-Bianchi et al. 2010b): gradients, their second moments, and correlated noise.

The functions and classes printed_* and Printed* are formulas as printed in the paper.
"""

import functools
import itertools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.tree_util import Partial
from jaxtyping import Array, Float, Key

from benchmarks.papers.claims.registry import PRINTED_BIASED, PRINTED_VIOLATED, Options, claim, in_float64
from benchmarks.papers.estimators.copies import (
    CorrelatedCopies,
    JointNoise,
    KnownJointCovariance,
    known_joint_covariance,
)
from jaxonline.bounds import Bound, gradient_descent, known_covariance, moment_bounds, two_copies
from jaxonline.estimators import KnownCovariance, PairsOfCopies, TwoCopies
from jaxonline.estimators.gradients import GradientEstimator, squared_loss_gradient
from jaxonline.feedback import NoisyCopies, Replicates
from jaxonline.feedback.noise import TwoPoints, gaussian, laplace, student_t, uniform
from jaxonline.parameters.struct import struct
from jaxonline.verify import Verification, bound, second_moment, unbiased

W, X, Y = np.array([0.5, -1.0, 0.8]), np.array([0.6, 0.4, -0.2]), 0.7
COVARIANCE = np.array([[0.5, 0.2, 0.0], [0.2, 0.4, -0.1], [0.0, -0.1, 0.3]])
CROSS = np.array([0.3, -0.2, 0.25])  # covariances of the noise of x and the noise of y
JOINT = np.block([[COVARIANCE, CROSS[:, None]], [CROSS[None], np.array([[0.9]])]])
POINT = np.array([0.6, -0.5, 0.4])
DISTRIBUTIONS = {
    "Gaussian": gaussian(COVARIANCE),
    "Laplace": laplace(COVARIANCE),
    "uniform": uniform(COVARIANCE),
    "Student's": student_t(COVARIANCE, 12.0),
    "two-point": TwoPoints(POINT),
}


def _moments_of_noise(index, key):
    """Return z and z z' for noise z of the distribution with a given index; all distributions share one program."""
    draws = [
        functools.partial(noise.sample, t=jnp.int32(1), x=jnp.zeros(3, jnp.float32)) for noise in DISTRIBUTIONS.values()
    ]
    z = jax.lax.switch(index, draws, key)
    return jnp.concatenate([z, jnp.outer(z, z).ravel()])


def _noise(form: str, options: Options, name: str) -> Verification:
    sampler = Partial(_moments_of_noise, jnp.int32(list(DISTRIBUTIONS).index(name)))
    covariance = np.outer(POINT, POINT) if name == "two-point" else COVARIANCE
    return unbiased(sampler, np.concatenate([np.zeros(3), covariance.ravel()]), kurtosis=300.0, **options)


for _name in DISTRIBUTIONS:
    claim(f"{_name} noise: mean 0, and the covariance as stated", "A, section 2", _name, sampled=True,
          improved="within tolerance")(_noise)  # fmt: skip


# ---------------------------------------------------------------------------------------------------------------------
# Gradients


@struct
class PrintedKnownCovariance:
    """Gradient estimate printed in the paper, Lemma 2: - Sigma w where - 2 Sigma w is right (E11)."""

    def __call__(self, key: Key[Array, ""], w: Float[Array, "d"], oracle: Any) -> Float[Array, "d"]:
        """Return 2 (<w, x~> - y~) x~ - Sigma w."""
        x = oracle.copy(0)
        return squared_loss_gradient(w, x, oracle.label(), x) - oracle.covariance @ w


def gradient_sample(
    feedback: Any, estimator: GradientEstimator, w: Float[Array, "d"], x: Float[Array, "d"], y: Array, key: Key
) -> Float[Array, "d"]:
    """Return one estimate of the gradient at w, with the queries answered by an oracle as in a game."""
    oracle_key, key = jax.random.split(key)
    return estimator(key, w, feedback.open(oracle_key, jnp.int32(1), x, y, 0.0))


def _sampler(feedback: Any, estimator: Any, w: Any, x: Any, y: Any) -> Partial:
    return Partial(gradient_sample, feedback, estimator, *(jnp.asarray(a, jnp.float32) for a in (w, x, y)))


INDEPENDENT = NoisyCopies(gaussian(COVARIANCE), gaussian(0.1), reveal_covariance=True)
CORRELATED = CorrelatedCopies(JointNoise(gaussian(JOINT)), reveal_covariance=True)


@claim("gradient from two noisy copies", "B, Algorithm 1", INDEPENDENT, TwoCopies(),
       sampled=True, printed="within tolerance")  # fmt: skip
@claim("gradient from all pairs of five noisy copies", "B, Algorithm 1", INDEPENDENT, PairsOfCopies(5),
       sampled=True, improved="within tolerance")  # fmt: skip
@claim("gradient from one copy and its covariance", "B, Lemma 2", INDEPENDENT, KnownCovariance(), note=11,
       sampled=True, **PRINTED_BIASED)  # fmt: skip
@claim("gradient from one copy and its label, correlated noise", "B, Lemma 2", CORRELATED, KnownJointCovariance(),
       sampled=True, improved="within tolerance")  # fmt: skip
@claim("known-covariance gradient, label with correlated noise", "", CORRELATED, KnownCovariance(),
       sampled=True, control="biased")  # fmt: skip
@claim("two-copy gradient, label correlated with the other copy", "B, Lemma 1", CORRELATED, TwoCopies(),
       sampled=True, improved="within tolerance")  # fmt: skip
def _gradient(form: str, options: Options, feedback: Any, estimator: Any) -> Verification:
    """The known-covariance gradient printed in the paper has the bias Sigma w.

    With correlated noise the mean of y~ x~ is y x + c, so that the bias of the known-covariance gradient is -2 c. With
    two copies, the label belongs to the copy in the residual; the other copy is independent of it.
    """
    if form == "printed" and isinstance(estimator, KnownCovariance):
        estimator = PrintedKnownCovariance()
    # Products of four Gaussian numbers have a kurtosis below 50.
    return unbiased(_sampler(feedback, estimator, W, X, Y), 2 * (W @ X - Y) * X, kurtosis=50.0, **options)


MEAN, MEAN_OF_LABEL = np.array([0.3, -0.5, 0.0]), 0.2


def all_measurements() -> tuple[np.ndarray, np.ndarray]:
    """Return two copies [outcomes, 2, d] and a label [outcomes, 1] for all noise +-v and +-c around the known means."""
    signs = np.array(list(itertools.product((-1.0, 1.0), repeat=3)))
    copies = X + MEAN + signs[:, :2, None] * np.array([0.4, 0.3, 0.1])
    return copies, Y + MEAN_OF_LABEL + 0.5 * signs[:, 2:]


def gradients_of_measurements(mean: np.ndarray, mean_of_label: float) -> np.ndarray:
    """Return the two-copy gradients for all outcomes of the measurements less the given means."""

    def gradient(copies: Array, labels: Array, x: Array, y: Array, w: Array) -> Array:
        oracle = Replicates(copies[None], labels[None]).open(None, jnp.int32(1), x, y, 0.0)
        return TwoCopies()(jax.random.key(0), w, oracle)

    copies, labels = all_measurements()
    gradients = jax.vmap(gradient, in_axes=(0, 0, None, None, None))
    return in_float64(gradients, copies - mean, labels - mean_of_label, X, np.asarray(Y), W)


@claim("gradient from two copies whose noise has a known mean", "B, section 2 (known mean)", printed="within tolerance")
def _known_mean(form: str, options: Options) -> Verification:
    """The known means are deducted from measured copies and labels before `Replicates` gets them."""
    estimates = gradients_of_measurements(MEAN, MEAN_OF_LABEL)
    return unbiased(None, 2 * (W @ X - Y) * X, support=[(1 / len(estimates), estimate) for estimate in estimates])


# ---------------------------------------------------------------------------------------------------------------------
# Second moments and regret bounds


def printed_two_copies(radius: float, x_bound: float, y_bound: float, n_rounds: int) -> Bound:
    """Regret bound of the paper, Theorem 1, as printed: G = 4 (B_w^2 B^2 + B_y^2) B^2 lacks a term (E10)."""
    return gradient_descent(radius, 4 * (radius**2 * x_bound**2 + y_bound**2) * x_bound**2, n_rounds)


def printed_known_covariance(
    radius: float, x_bound: float, y_bound: float, covariance_norm: float, n_rounds: int
) -> Bound:
    """Regret bound (G + 1)/2 B_w sqrt(T) and step B_w / sqrt(T) printed in the paper, Theorem 2 (E11)."""
    B_w, B, B_y, B_S = radius, x_bound, y_bound, covariance_norm
    G = 8 * B_w**2 * B**4 + 8 * B_y**2 * B**2 + 4 * B_w**2 * B**2 * B_S + B_S**2 * B_w**2
    bound = gradient_descent(radius, G, n_rounds)
    return bound.replace(value=(G + 1) / 2 * B_w * np.sqrt(n_rounds), step_size=float(B_w / np.sqrt(n_rounds)))


@claim("second moment of the two-copy gradient", "B, Lemma 1", TwoCopies(), two_copies, note=10, sampled=True,
       **PRINTED_VIOLATED)  # fmt: skip
@claim("second moment of the known-covariance gradient", "B, Lemma 2", KnownCovariance(), known_covariance, note=11,
       sampled=True, corrected="respected")  # fmt: skip
def _moment(form: str, options: Options, estimator: Any, theorem: Callable[..., Bound]) -> Verification:
    """Test x in the direction of w and a label of the opposite sign: then no terms of (<w, x~> - y~)^2 cancel."""
    theorem = printed_two_copies if form == "printed" else theorem
    x, y, noise = np.array([0.9, 0.0]), -1.0, gaussian(0.05)
    moments = moment_bounds(x[None], np.array([y]), noise)
    size = moments.x_second if isinstance(estimator, TwoCopies) else moments.x_fourth
    sampler = _sampler(NoisyCopies(noise, None, reveal_covariance=True), estimator, np.array([1.0, 0.0]), x, y)
    return second_moment(sampler, theorem(1.0, size, moments.y_second, 1).G, kurtosis=20.0, **options)


def _relative_moment(p: np.ndarray, copies: np.ndarray, labels: np.ndarray, w: np.ndarray, theorem: Any) -> float:
    """Return E|g|^2 / G for a distribution of copies and labels with finitely many values of probability p."""
    noise, errors = copies - p @ copies, labels - p @ labels
    covariance, cross = (p[:, None] * noise).T @ noise, noise.T @ (p * errors)
    g = 2 * (copies @ w - labels)[:, None] * copies - 2 * covariance @ w + 2 * cross
    fourth = (float(p @ values) ** 0.25 for values in (np.sum(copies**2, axis=1) ** 2, labels**4))
    return float(p @ np.sum(g**2, axis=1)) / theorem(max(float(np.linalg.norm(w)), 1e-9), *fourth, 1).G


@claim("second moment of the known-covariance gradient, any noise", "B, Lemma 2", 0.0, known_covariance, note=11,
       improved="respected")  # fmt: skip
@claim("second moment of the gradient with correlated noise", "B, Lemma 2", 1.0, known_joint_covariance,
       improved="respected")  # fmt: skip
def _any_noise(form: str, options: Options, label_noise: float, theorem: Callable[..., Bound]) -> Verification:
    """The largest E|g|^2 / G of 500 random distributions of x~ and y~ with up to five values.

    For independent noise G is 4 (B_w B + B_y)^2 B^2, and for correlated noise 4 (B_w B + sqrt(2) B_y)^2 B^2.

    Proof for independent noise, for |w| = 1, y~ = y + n_y and P w the projection orthogonal to w. With F = E <w, x~>^2
    |x~|^2 - 2 <w, x> <Sigma w, x> - |Sigma w|^2 and c = E x~ |x~|^2 - Sigma x,

        E|g|^2 / 4 = F - 2 y <w, c> + E y~^2 E|x~|^2.

    The last term is at most B_y^2 B^2; F <= B^4 and |c| <= B^3 remain to be shown.

    |c|: let A = E|x~|^2 = |x|^2 + tr Sigma and n = x~ - x. As E x~ |x~|^2 = A x + E n (|x~|^2 - A), |c| is at most
    |(A - Sigma) x| + (tr Sigma)^(1/2) (E(|x~|^2 - A)^2)^(1/2) <= A^(1/2) (A^2 + E(|x~|^2 - A)^2)^(1/2), by Cauchy and
    Schwarz, and this is A^(1/2) (E|x~|^4)^(1/2) <= B^3.

    F: let a = <w, x>, q = P x, s = <w, Sigma w>, r = P Sigma w and v = tr P Sigma P, so that |r|^2 <= s v. By Jensen,
    E|x~|^4 - E <w, x~>^2 |x~|^2 = E|x~|^2 |P x~|^2 is at least |a q + r|^2 + (|q|^2 + v)^2. So E|x~|^4 - F is at least
    |a q + r|^2 + (|q|^2 + v)^2 + 2 a^2 s + 2 a <r, q> + s^2 + |r|^2, and this is at least 2 |q|^2 v + 4 a <r, q> + 2
    a^2 s >= 2 |q|^2 v - 4 |a| |q| (s v)^(1/2) + 2 a^2 s >= 0.
    """
    rng, ratios = np.random.default_rng(0), []
    for _ in range(500):
        n, d = rng.integers(2, 6), rng.integers(1, 4)
        copies = rng.normal(size=(n, d)) * np.exp(rng.normal(size=(n, 1))) + rng.choice([0.0, 3.0]) * rng.normal(size=d)
        labels = rng.normal() + label_noise * (rng.normal(size=n) + rng.normal() * copies[:, 0])
        w = rng.normal(size=d) * rng.choice([0.01, 1.0])
        ratios.append(_relative_moment(rng.dirichlet(np.ones(n)), copies, labels, w, theorem))
    return bound(max(ratios), 1.0)


@claim("second moment of the gradient with correlated noise, G of independent noise", "", control="violated")
def _smaller_second_moment(form: str, options: Options) -> Verification:
    """4 (B_w B + B_y)^2 B^2 is too small: w = 0, and (x~, y~) = (1, 1) with probability 0.9, (-3, 3) with 0.1."""
    p, copies, labels = np.array([0.9, 0.1]), np.array([[1.0], [-3.0]]), np.array([1.0, 3.0])
    return bound(_relative_moment(p, copies, labels, np.zeros(1), two_copies), 1.0)


@claim("gradient descent on any vectors", "B, Lemma 3", printed="respected")
def _any_vectors(form: str, options: Options) -> Verification:
    """The largest sum of <v_t, w_t - u> / bound of 300 sequences, for the best u in the ball; T = 1 reaches 1."""
    rng, ratios = np.random.default_rng(0), []
    for n in np.repeat([1, 5, 40], 100):
        v = rng.normal(size=(n, 3)) + rng.choice([0.0, 2.0]) * rng.normal(size=3)
        radius, G = float(rng.uniform(0.2, 3)), float(np.sum(v**2) / n)
        theorem, w, total = gradient_descent(radius, G, int(n)), np.zeros(3), 0.0
        step = theorem.step_size * rng.choice([0.5, 1.0, 2.0])
        for vector in v:
            total += vector @ w
            w = w - step * vector
            w = w * min(1.0, radius / np.linalg.norm(w))
        worst = total + radius * np.linalg.norm(v.sum(axis=0))
        ratios.append(float(worst / theorem.at_rounds(int(n), step_size=step)))
    return bound(max(ratios), 1.0)
