"""Claims on learners: the mean of a random update equals the paper's step with the exact gradient.

Each learner runs ten rounds through its own oracle; its next update is random and has a known mean. A claim tests the
whole update: queries, estimate, step size and state. (The claims on EXP3 are in `bandits`.)
"""

import functools
import itertools
import math
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxonline.claims.registry import SamplingOptions, claim
from jaxonline.estimators import (
    AttributeGradient,
    DotProductFeatureMap,
    FiniteDistribution,
    FourierFeatures,
    GradientLength,
    KnownCovariance,
    Surrogate,
    TwoCopies,
    minimum_variance,
)
from jaxonline.feedback import Attributes, LossOfMove, NoisyCopies, OnRequest, ReplicatesOracle
from jaxonline.feedback.noise import gaussian
from jaxonline.game import Specs
from jaxonline.kernels import Gaussian, Homogeneous, Inhomogeneous
from jaxonline.learners import (
    EWA,
    Baseline,
    ExponentiatedGradient,
    GradientBandit,
    GradientLearner,
    InverseSqrt,
    LabelEfficientHedge,
    MirrorLearner,
    NoisyKernel,
    PNorm,
    Storage,
    SurrogateKernel,
    WithFeatures,
)
from jaxonline.linalg.programs import run_compiled
from jaxonline.losses import Squared, SquaredDistance
from jaxonline.verify.bias import unbiased
from jaxonline.verify.result import Verification

ROUNDS, STEP, VARIANCE = 10, 0.3, 0.1
_RNG = np.random.default_rng(20100627)
XS = _RNG.uniform(-1, 1, (ROUNDS + 1, 3)).astype(np.float32)
YS = (XS @ np.array([0.7, -0.4, 0.2]) + 0.3).astype(np.float32)
YS[-1] -= 2.0  # gives a large error in the last round
LOSSES = _RNG.uniform(size=(ROUNDS + 1, 3)).astype(np.float32)
X, Y, LAST_STEP = XS[-1].astype(float), float(YS[-1]), STEP / math.sqrt(ROUNDS + 1)
_FREQUENCIES = np.array([[0.9, -1.4, 0.3], [-0.5, 0.8, 2.1]])
COPIES = NoisyCopies(gaussian([0.1, 0.2, 0.05]), gaussian(VARIANCE), reveal_covariance=True)


def _step(learner: Any, feedback: Any, state: Any, t: Any, x: Any, y: Any, key: jax.Array) -> Any:
    move_key, oracle_key, key = jax.random.split(key, 3)
    oracle = feedback.open(oracle_key, t, x, y, learner.predict(move_key, state, x))
    return learner.update(key, state, oracle)[0]


def _state_after_rounds(learner: Any, feedback: Any, rows: Any, outcomes: np.ndarray) -> Any:
    return run_compiled(_run_rounds, learner, feedback, rows, outcomes)


def _run_rounds(learner, feedback, rows, outcomes):
    def after_round(state, t):
        key = jax.random.fold_in(jax.random.key(2), t)
        return _step(learner, feedback, state, t + 1, rows[t], outcomes[t], key), None

    shapes = (jax.ShapeDtypeStruct(array.shape[1:], jnp.float32) for array in (rows, outcomes))
    state = learner.init(jax.random.key(1), Specs(*shapes))
    return jax.lax.scan(after_round, state, jnp.arange(ROUNDS, dtype=jnp.int32))[0]


@functools.cache
def _update_sampler(statistic: Callable[..., Any]) -> Callable[..., Any]:
    """Return a sampler of `statistic(learner, before, after)`, with the learner's states before and after an update."""

    def sample(learner, feedback, state, x, y, key):
        after = _step(learner, feedback, state, jnp.int32(ROUNDS + 1), x, y, key)
        return jax.tree.map(lambda leaf: leaf.astype(jnp.float32), statistic(learner, state, after))

    return sample


def _check(
    learner, feedback, state, statistic, target, options: SamplingOptions, rows=XS, outcomes=YS, **known
) -> Verification:
    """Compare the mean of a statistic of the update in the last round with the target value."""
    sampler = jax.tree_util.Partial(_update_sampler(statistic), learner, feedback, state, rows[-1], outcomes[-1])
    return unbiased(sampler, target, **{"detect": 0.08} | known, **options.sampling())


def _gradient(w: np.ndarray) -> np.ndarray:
    return 2 * (w @ X - Y) * X


def _stepped(learner, before, after):
    return (before.w - after.w) / np.float32(LAST_STEP)


def _descends(estimator: Any, feedback: Any, options: SamplingOptions) -> Verification:
    learner = GradientLearner(estimator, InverseSqrt(STEP))
    state = _state_after_rounds(learner, feedback, XS, YS)
    return _check(learner, feedback, state, _stepped, _gradient(np.asarray(state.w, float)), options, kurtosis=100.0)


@claim("update of the gradient learner, two copies", "B, Algorithm 1", improved="within tolerance")
def _two_copies(form: str, options: SamplingOptions) -> Verification:
    return _descends(TwoCopies(), COPIES, options)


@claim("update of the gradient learner, known covariance", "B, Lemma 2", improved="within tolerance")
def _known_covariance(form: str, options: SamplingOptions) -> Verification:
    return _descends(KnownCovariance(), COPIES, options)


@claim(
    "update of the gradient learner, attributes by the l1 distribution",
    "C, Algorithm 2",
    few=True,
    improved="within tolerance",
)
def _attributes(form: str, options: SamplingOptions) -> Verification:
    return _descends(AttributeGradient(4), Attributes(4), options)


@claim(
    "update of the gradient learner, attributes by the l2 distribution",
    "Hazan and Koren 2012",
    few=True,
    improved="within tolerance",
)
def _attributes_l2(form: str, options: SamplingOptions) -> Verification:
    return _descends(AttributeGradient(4, law="l2"), Attributes(4), options)


@claim("update on Fourier features of two copies, mean features", "B, Lemma 1", few=True, improved="within tolerance")
def _on_features(form: str, options: SamplingOptions) -> Verification:
    """Noise multiplies mean features by e^(-omega' Sigma omega / 2); the mean step is the gradient at these means."""
    features = FourierFeatures(_FREQUENCIES, None, 1.3)
    learner = WithFeatures(GradientLearner(TwoCopies(), InverseSqrt(STEP)), features)
    state = _state_after_rounds(learner, COPIES, XS, YS)
    angles, damped = _FREQUENCIES @ X, np.exp(-0.5 * _FREQUENCIES**2 @ np.array([0.1, 0.2, 0.05]))
    means = np.sqrt(1.3 / 2) * np.concatenate([damped * np.cos(angles), damped * np.sin(angles)])
    target = 2 * (np.asarray(state.w, float) @ means - Y) * means
    return _check(learner, COPIES, state, _stepped, target, options, kurtosis=100.0)


def _log_ratios(learner, before, after):
    change = (before.theta - after.theta) / np.float32(LAST_STEP)
    return change[1:] - change[0]


def _log_ratios_change(learner: ExponentiatedGradient, feedback: Any, options: SamplingOptions) -> Verification:
    """On average the log ratio of two weights changes by -step times the difference of their gradient entries."""
    state = _state_after_rounds(learner, feedback, XS, YS)
    g = 1.5 * _gradient(np.asarray(run_compiled(ExponentiatedGradient.w, learner, state), float))
    both = np.concatenate([g, -g])
    return _check(learner, feedback, state, _log_ratios, both[1:] - both[0], options, kurtosis=100.0)


@claim("update of exponentiated gradient, two copies", "Kivinen and Warmuth 1997", improved="within tolerance")
def _exponentiated(form: str, options: SamplingOptions) -> Verification:
    learner = ExponentiatedGradient(TwoCopies(), InverseSqrt(STEP), scale=1.5, signed=True)
    return _log_ratios_change(learner, COPIES, options)


@claim("update of exponentiated gradient, attributes", "Hazan and Koren 2012", few=True, improved="within tolerance")
def _exponentiated_attributes(form: str, options: SamplingOptions) -> Verification:
    learner = ExponentiatedGradient(AttributeGradient(4), InverseSqrt(STEP), scale=1.5, signed=True)
    return _log_ratios_change(learner, Attributes(4), options)


def _theta_change(learner, before, after):
    return (before.theta - after.theta) / np.float32(LAST_STEP)


@claim("update of p-norm descent, attributes", "C, section 5", few=True, improved="within tolerance")
def _p_norm_attributes(form: str, options: SamplingOptions) -> Verification:
    """The mean change of theta is -step times the gradient at w, the point of theta."""
    learner, feedback = MirrorLearner(AttributeGradient(4), InverseSqrt(STEP), PNorm(3.0)), Attributes(4)
    state = _state_after_rounds(learner, feedback, XS, YS)
    target = _gradient(np.asarray(run_compiled(MirrorLearner.w, learner, state), float))
    return _check(learner, feedback, state, _theta_change, target, options, kurtosis=100.0)


_POINT = np.array([0.4, -0.3, 0.5], np.float32)


def _predicted(learner, state):
    return learner.predict(None, state, XS[-1])


def _change_at_a_point(learner, before, after):
    change = learner.predict(None, after, _POINT) - learner.predict(None, before, _POINT)
    return -change / np.float32(LAST_STEP)


@claim("update of Algorithm 1, kernel (1 + <x, x'>)^2", "A, Algorithm 1", few=True, improved="within tolerance")
def _noisy_kernel(form: str, options: SamplingOptions) -> Verification:
    """On average the value of the hypothesis at z changes by -step l'(<w, Psi(x)> - y) k(x, z)."""
    feature_map = DotProductFeatureMap(Inhomogeneous(2), FiniteDistribution([0.2, 0.4, 0.4]))
    length = GradientLength.for_loss(Squared(), minimum_variance, 4.0)
    learner = NoisyKernel(feature_map, length, InverseSqrt(STEP), None, Storage(2, 2, 0, 1, 1))
    feedback = NoisyCopies(gaussian(0.02), gaussian(VARIANCE))
    state = _state_after_rounds(learner, feedback, XS, YS)
    value = float(run_compiled(_predicted, learner, state))
    target = 2 * (value - Y) * (1 + float(X @ _POINT)) ** 2
    return _check(learner, feedback, state, _change_at_a_point, target, options, kurtosis=500.0)


@claim(
    "update of Algorithm 1, mean of two g~ Psi~, and its second moment",
    "A, Algorithm 1",
    cost="exact",
    improved="within tolerance",
)
def _mean_of_pairs(form: str, options: SamplingOptions) -> Verification:
    """Enumerate all signs of the noise of 8 copies +-v and 2 labels, for the kernel <x, x'>^2 and the squared loss.

    The change of the hypothesis at z, divided by -step, has the mean m = 2 (w(x) - y) <x, z>^2, and the second moment
    m^2 + (S - m^2) / 2 with S = 4 E (<w, Psi~> - y~)^2 E <Psi~, Psi(z)>^2. One g~ for both Psi~ would give the same
    mean and a larger second moment.
    """
    x, z, start, v, y, label_noise = np.array([0.8, 0.3]), np.array([0.9, 0.5]), np.array([0.7, -0.2]), 0.4, 0.6, 0.5
    noise = v * np.array([0.6, 0.8])
    feature_map = DotProductFeatureMap(Homogeneous(2), FiniteDistribution([0.0, 0.0, 1.0]))
    length = GradientLength.for_loss(Squared(), minimum_variance, 4.0)
    learner = NoisyKernel(feature_map, length, STEP, None, Storage(2, 2, 0, 1, 1), repetitions=2)
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=10)))
    copies, labels = x + signs[:, :8, None] * noise, y + label_noise * signs[:, 8:]
    with jax.enable_x64(True):
        alpha, changes = run_compiled(_changes_after_a_round, learner, start, copies, labels, z)
    alpha, changes = float(alpha), np.asarray(changes, float)

    def second(a):  # E <x~, a>^2
        return (x @ a) ** 2 + (noise @ a) ** 2

    w = alpha * (start @ x) ** 2
    mean = 2 * (w - y) * (x @ z) ** 2
    length_moment = 4 * (alpha**2 * second(start) ** 2 - 2 * y * w + y**2 + label_noise**2)
    moment = mean**2 + (length_moment * second(z) ** 2 - mean**2) / 2
    support = [(1 / len(signs), np.array([change, change**2])) for change in changes]
    return unbiased(None, np.array([mean, moment]), support=support, detect=1e-6)


def _changes_after_a_round(learner, start, copies, labels, z):
    """Return w(start) after a round without noise and the label 1, divided by |start|^4, and the next changes at z."""
    key = jax.random.key(0)
    clean = ReplicatesOracle(jnp.tile(start, (8, 1)), None, jnp.ones(()))
    before = learner.update(key, learner.init(key, Specs.of_vectors(2, start.dtype)), clean)[0]

    def change(copies, labels):
        after = learner.update(key, before, ReplicatesOracle(copies, labels, labels[0]))[0]
        return (learner.predict(key, before, z) - learner.predict(key, after, z)) / STEP

    return learner.predict(key, before, start) / (start @ start) ** 2, jax.vmap(change)(copies, labels)


def _surrogate_change(learner, before, after):
    change = after.evaluate(learner.surrogate, _POINT) - before.evaluate(learner.surrogate, _POINT)
    return -change / np.float32(LAST_STEP)


@claim("update of kernel learning with a surrogate", "B, Theorem 3", few=True, improved="within tolerance")
def _surrogate(form: str, options: SamplingOptions) -> Verification:
    """With the surrogate kernel, the mean change of w(z) is -step 2 (w(x) - y) k(x, z), as without noise."""
    variances, kernel = [0.1, 0.2, 0.05], Gaussian(1.5)
    learner = SurrogateKernel(Surrogate(kernel, variances, 3), InverseSqrt(STEP), ROUNDS + 1)
    state = _state_after_rounds(learner, COPIES, XS, YS)
    value = float(run_compiled(_predicted, learner, state))
    target = 2 * (value - Y) * float(run_compiled(kernel, XS[-1], _POINT))
    return _check(learner, COPIES, state, _surrogate_change, target, options, kurtosis=100.0)


def _moments(learner, before, after):
    t = np.float32(ROUNDS + 1)
    return before.A + t * (after.A - before.A), before.b + t * (after.b - before.b)


@claim("update of the Baseline's moments", "C, Algorithm 1", improved="within tolerance")
def _baseline(form: str, options: SamplingOptions) -> Verification:
    learner, feedback = Baseline(4, 1.0), Attributes(4)
    state = _state_after_rounds(learner, feedback, XS, YS)
    target = (np.outer(X, X), Y * X)
    reach = np.float32(9 / 4 * 2)  # d^2/k x_i x_j, twice on the diagonal, with |x_i| <= 1 and |y| <= 2
    return _check(learner, feedback, state, _moments, target, options, range=(-2 * reach, 2 * reach))


def _ball_step(learner, before, after):
    return (before - after) / np.float32(0.05)


@claim("update of gradient descent without a gradient", "Flaxman et al. 2005", improved="within tolerance")
def _bandit(form: str, options: SamplingOptions) -> Verification:
    """The mean of the loss |w - y|^2 over a ball around w has the same gradient as the loss at w."""
    learner, feedback = GradientBandit(1.5, 0.05, 20.0), LossOfMove(SquaredDistance())
    w = _state_after_rounds(learner, feedback, np.zeros((ROUNDS + 1, 0), np.float32), 3 * LOSSES)
    target = 2 * (np.asarray(w, float) - 3 * LOSSES[-1].astype(float))
    known = {"rows": np.zeros((ROUNDS + 1, 0), np.float32), "outcomes": 3 * LOSSES, "kurtosis": 100.0}
    return _check(learner, feedback, w, _ball_step, target, options, **known)


def _added(learner, before, after):
    return after.value - before.value


@claim("update of label-efficient Hedge", "Cesa-Bianchi et al. 2005", improved="within tolerance")
def _label_efficient(form: str, options: SamplingOptions) -> Verification:
    """On average an update adds the losses of the round to the state of exponential weights."""
    learner, feedback, rows = LabelEfficientHedge(EWA(0.4), 0.3), OnRequest(), np.zeros((ROUNDS + 1, 0), np.float32)
    state = _state_after_rounds(learner, feedback, rows, LOSSES)
    target = LOSSES[-1].astype(float)
    top = float(target.max()) / 0.3 * 1.001
    return _check(learner, feedback, state, _added, target, options, rows, LOSSES, range=(-1e-4, top))
