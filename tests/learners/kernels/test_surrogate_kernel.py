"""Algorithm 2 of paper B: against its pseudocode on the same copies, its gradient's mean, and the noise it rejects."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kernel_loops import (
    Seen,
    gaussian,
    gaussian_surrogate,
    kernel_loop,
    squared,
)
from tiers import some

import jaxonline as jo
from jaxonline import verify
from jaxonline.estimators import Surrogate
from jaxonline.kernels import Gaussian
from jaxonline.learners import SurrogateKernel

pytestmark = pytest.mark.fast_compile
ROUNDS, WIDTH = 60, 1.7
MATRIX = np.array([[0.50, 0.20, 0.10], [0.20, 0.40, -0.15], [0.10, -0.15, 0.30]])


def data(n_rounds=ROUNDS, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n_rounds, d)) / 2
    return X, np.sin(3 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=n_rounds)


def noisy(covariance, law=jo.noise.gaussian):
    return jo.NoisyCopies(law(covariance), label_noise=jo.noise.uniform(0.04))


def test_measured_copies_of_known_noise_give_the_pseudocode(x64):
    rng = np.random.default_rng(5)
    X, y = data()
    copies = X[:, None] + rng.multivariate_normal(np.zeros(3), MATRIX, size=(ROUNDS, 2))
    labels = y[:, None] + 0.2 * rng.normal(size=(ROUNDS, 1))
    expected = kernel_loop(
        [Seen(*each) for each in zip(X, y, copies, labels[:, 0], strict=True)],
        lambda seen: (*seen.copies, seen.label), squared, lambda t: 0.4 / np.sqrt(t), 0.9,
        gaussian_surrogate(WIDTH, MATRIX), gaussian(WIDTH),
    )  # fmt: skip
    assert 5 < expected.projections < ROUNDS
    surrogate = Surrogate(Gaussian(WIDTH), MATRIX, 3)
    learner = SurrogateKernel(surrogate, step_size=jo.InverseSqrt(0.4), n_rounds=ROUNDS, radius=0.9)
    feedback = jo.Replicates(copies, labels, noise=jo.noise.gaussian(MATRIX))
    history = jo.play(jo.Game(jo.environments.DataStream(X, y), feedback), learner, 0, ROUNDS)[1]
    np.testing.assert_allclose(history.y_hat, expected.y_hat, rtol=1e-9, atol=1e-9 * np.abs(expected.y_hat).max())
    assert history.queries.tolist() == [2] * ROUNDS


X_NOW, Y_NOW, STEP, SIGMA2 = np.array([0.3, -0.4], np.float32), np.float32(0.9), 0.3, 0.2
PROBES = np.array([[0.5, 0.1], [-0.2, -0.6], [0.3, -0.4]], np.float32)
LEARNER = SurrogateKernel(Surrogate(Gaussian(1.2), SIGMA2, 2), step_size=STEP, n_rounds=64, radius=1.2)


def state_after(n_rounds):
    """The hypothesis after some rounds of a real run, with projections."""
    if n_rounds == 0:
        return LEARNER.init(jax.random.key(0), jo.game.Specs.of_vectors(2))
    X, y = data(64, d=2, seed=2)
    game = jo.Game(jo.environments.DataStream(X.astype(np.float32), y), noisy(SIGMA2))
    state, _ = jo.play(game, LEARNER, jax.random.key(4), n_rounds)
    assert n_rounds < 10 or float(state.squared_norm) > 0.5, "w is not near 0"
    return state


class OneCopyTwice:
    """An oracle that repeats its first copy."""

    def __init__(self, oracle):
        self.oracle, self.label = oracle, oracle.label

    def copy(self, index):
        return self.oracle.copy(0)


def verdict(n_rounds, learner, oracle_of=lambda oracle: oracle):
    """On g~ <Psi^(x~), Psi^(a)> for probes a, against 2 (w(x) - y) k(x, a), of the predictor w with the kernel k."""
    state, learner = state_after(n_rounds), jo.replace(learner, radius=None)

    def values(state):
        return jnp.stack([state.evaluate(learner.surrogate, a) for a in jnp.asarray(PROBES)])

    def estimate(key):
        oracle = noisy(SIGMA2).open(key, jnp.int32(1), jnp.asarray(X_NOW), jnp.asarray(Y_NOW), 0.0)
        after, _ = learner.update(key, state, oracle_of(oracle))
        return (values(state) - values(after)) / jnp.float32(STEP)

    w = float(state.evaluate(Gaussian(1.2), jnp.asarray(X_NOW)))
    target = 2 * (w - Y_NOW) * np.array([gaussian(1.2)(X_NOW, a) for a in PROBES])
    square = float(LEARNER.surrogate.constant()) ** 2
    most = 2 * (np.abs(state.alpha).sum() * square + Y_NOW + np.sqrt(3 * 0.04)) * square + 1e-3
    return verify.unbiased(estimate, target, range=(-most, most))


@pytest.mark.long
@pytest.mark.parametrize("n_rounds", some([0, 7, 50], 7))
def test_the_mean_update_equals_the_gradient(n_rounds):
    """At w = 0 and along a real trajectory. False-alarm rate 1e-9; a bias of 4 % of the largest entry is detected."""
    result = verdict(n_rounds, LEARNER)
    assert result.verdict == "within tolerance", result
    assert result.detectable < 0.05


@pytest.mark.long
@pytest.mark.parametrize(
    "mutant",
    [(jo.replace(LEARNER, surrogate=Surrogate(Gaussian(1.2), 0.0, 2)),), (LEARNER, OneCopyTwice)],
    ids=["original kernel", "one copy twice"],
)
def test_mutants_are_detected(mutant):
    assert verdict(50, *mutant).verdict == "biased"


@pytest.mark.long
def test_the_regret_is_below_the_bound_with_high_probability_although_noise_is_unbounded():
    """Bounded gradients and Azuma: y = k(z, x) is u = Psi(z) with |u^| = R, without loss; w = 0 has a larger loss. If
    the bound failed with probability 0.1, 100 runs below it would have the probability 3e-5."""
    horizon, width, variance, label_variance = 2048, 2.0, 0.2, 0.01
    rng = np.random.default_rng(0)
    X = np.concatenate([[[0.2, -0.1]], rng.uniform(-0.5, 0.5, (horizon - 1, 2))])
    y = np.exp(-np.sum((X - X[0]) ** 2, axis=1) / width**2)
    R = W = (width**2 / (width**2 - 2 * variance)) ** (2 / 4)
    B_y = 1 + np.sqrt(3 * label_variance)
    expected = jo.bounds.surrogate_kernel(W, R, B_y, horizon)
    bound = jo.bounds.with_high_probability(expected, 2 * R * (W * R + B_y), horizon, 0.05).value
    assert bound < (y**2).sum()

    feedback = jo.NoisyCopies(jo.noise.gaussian(variance), label_noise=jo.noise.uniform(label_variance))
    game = jo.Game(jo.environments.DataStream(X.astype(np.float32), y), feedback)
    learner = SurrogateKernel(Surrogate(Gaussian(width), variance, 2), expected.step_size, horizon, radius=W)
    result = jo.simulate(game, learner, n_runs=100, n_rounds=horizon, record_at=1)
    assert result.cumulative_loss[0, :, -1].max() < bound


GAUSSIAN = jo.noise.gaussian
OTHER_NOISE = {
    "Laplace": jo.NoisyCopies(jo.noise.laplace(0.3)),
    "Student": jo.NoisyCopies(jo.noise.student_t(0.3, degrees=10.0)),
    "two points": jo.NoisyCopies(jo.noise.TwoPoints([0.3, 0.1, 0.2])),
    "another variance": jo.NoisyCopies(GAUSSIAN(0.2)),
    "variances": jo.NoisyCopies(GAUSSIAN([0.3, 0.3, 0.29])),
    "a correlation": jo.NoisyCopies(GAUSSIAN(0.3 * np.eye(3) + 0.01)),
    "another dimension": jo.NoisyCopies(GAUSSIAN([0.3, 0.3])),
    "an adversary": jo.AdversarialCopies(jo.environments.adversaries.ChasingNoise(0.5)),
    "measured": jo.Replicates(np.zeros((10, 2, 3))),
    "measured, covariance": jo.Replicates(np.zeros((10, 2, 3)), covariance=0.3),
    "measured, Laplace": jo.Replicates(np.zeros((10, 2, 3)), noise=jo.noise.laplace(0.3)),
    "measured, another variance": jo.Replicates(np.zeros((10, 2, 3)), noise=GAUSSIAN(0.2)),
}
TOLD = SurrogateKernel(Surrogate(Gaussian(WIDTH), 0.3, 3), step_size=0.1, n_rounds=5)


@pytest.mark.parametrize("law", OTHER_NOISE)
def test_noise_of_another_distribution_or_covariance_is_rejected(law):
    """Alone, in an entrant, and as any member of a sweep."""
    X, y = data(10)
    game = jo.Game(jo.environments.DataStream(X.astype(np.float32), y), jo.FullInformation())
    right = jo.replace(TOLD, surrogate=Surrogate(Gaussian(WIDTH), 0.2, 3)) if law == "another variance" else TOLD
    for learner in (TOLD, jo.sweep([right, TOLD])):
        with pytest.raises(ValueError, match=r"^noise\b"):
            jo.simulate(game, {"a": jo.WithFeedback(learner, OTHER_NOISE[law])}, n_runs=2, n_rounds=5)


@pytest.mark.parametrize("same", [0.3, [0.3, 0.3, 0.3], 0.3 * np.eye(3), np.float32(0.3)], ids=str)
def test_equal_covariances_in_other_forms_are_accepted(same):
    TOLD.check_feedback(jo.NoisyCopies(GAUSSIAN(same), label_noise=jo.noise.laplace(1.0)))
    TOLD.check_feedback(jo.FullInformation())  # it does not say what its noise is
    with pytest.warns(RuntimeWarning, match=r"^noise\b"):
        TOLD.check_feedback(jo.NoisyCopies(jo.noise.CustomNoise(lambda key, t, x: 0 * x)))


def test_a_learner_of_features_is_rejected():
    learner = jo.learners.WithFeatures(TOLD, jo.estimators.FourierFeatures(np.eye(3, 2, dtype=np.float32)))
    with pytest.raises(ValueError, match=r"^noise\b"):
        learner.check_feedback(jo.NoisyCopies(GAUSSIAN(0.3)))
