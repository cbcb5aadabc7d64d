"""The multi-kernel learners and dictionaries against NumPy, and the theorems."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import optimize, stats
from tiers import some

from benchmarks.papers.engines.kernels import aggregate, expert_forecasts, play_sequence
from jaxonline import bounds
from jaxonline.bounds import Features
from jaxonline.comparators import best_in_rkhs_ball
from jaxonline.estimators.fourier import Dictionary
from jaxonline.kernels import Gaussian, Laplacian
from jaxonline.learners.experts.advice import Truncated
from jaxonline.learners.experts.combiners import EWA
from jaxonline.learners.linear.vaw import VAW


@pytest.mark.parametrize("layout", some(["pair", "cosine"]))
def test_features_of_a_batch_equal_those_of_each_instance(x64, layout):
    dictionary = Dictionary.draw(jax.random.key(0), [Gaussian(0.5), Laplacian(2.0)], 3, 400, layout)
    X = np.random.default_rng(0).normal(size=(4, 3))
    rows = dictionary.map_rows(jnp.asarray(X))
    assert rows.shape == (4, 2, dictionary.n_features)
    np.testing.assert_allclose(rows, [dictionary(jnp.asarray(x)) for x in X], rtol=1e-13, atol=1e-14)
    if layout == "cosine":  # uniform phases fail with probability 1e-6; phases on [1, 2 pi] are detected
        assert stats.kstest(np.ravel(dictionary.phases) / (2 * np.pi), "uniform").pvalue > 1e-6


def test_the_published_dictionary_has_the_published_numbers():
    """They are the numbers of NumPy's legacy generator, in the published order."""
    dictionary = Dictionary.published(3, dimension=4)
    np.random.seed(3)  # noqa: NPY002
    for i in range(51):
        gamma = 10 ** (4 * (i / 50) - 2)
        expected = np.random.randn(4, 50) * np.sqrt(1 / gamma)  # noqa: NPY002
        np.testing.assert_array_equal(dictionary.frequencies[i], expected.T)
    for i in range(25):
        expected = np.random.standard_cauchy((4, 50)) / 10 ** (i / 6 - 2)  # noqa: NPY002
        np.testing.assert_array_equal(dictionary.frequencies[51 + i], expected.T)


def rkhs_function(kernel):
    """f = sum a_i k(x_i, .) with its norm, and a noisy sequence around it with labels in [-1, 1]."""
    rng = np.random.default_rng(0)
    centres, a = rng.normal(size=(6, 2)), rng.normal(size=6)
    a = a * 0.8 / np.abs(np.asarray(kernel.gram(centres)) @ a).max()
    norm, X = float(np.sqrt(a @ np.asarray(kernel.gram(centres)) @ a)), rng.normal(size=(300, 2))
    f = np.asarray(kernel.gram(X, centres)) @ a
    return X, f, np.clip(f + 0.2 * rng.normal(size=300), -1, 1), centres, a, norm


def lemma_1(dictionary, centres, a):
    """gamma(theta_k) / p(theta_k) / sqrt(m) = sum_i a_i phi(x_i; theta_k) / sqrt(m), features scaled by 1/sqrt(m)."""
    return jax.vmap(dictionary)(jnp.asarray(centres))[:, 0].T @ jnp.asarray(a)


@pytest.mark.long
@pytest.mark.parametrize("layout", ["pair", "cosine"])
def test_random_features_are_unbiased_with_the_variance_of_lemma_1(x64, layout):
    """<w^, phi> is unbiased for f with a variance of at most c |f|^2/m, and E|w^|^2 = |f|^2. 400 draws; |z| < 6 (false
    alarm below 1e-5 over some 300 points); a factor 1.2 in w^ is detected."""
    kernel, m = Gaussian(1.5), 30
    X, f, _, centres, a, norm = rkhs_function(kernel)

    @jax.jit
    @jax.vmap
    def play(key):
        dictionary = Dictionary.draw(key, [kernel], 2, m, layout)
        w = lemma_1(dictionary, centres, a)
        return jax.vmap(dictionary)(jnp.asarray(X))[:, 0] @ w, w @ w

    estimates, energies = map(np.asarray, play(jax.random.split(jax.random.key(0), 400)))
    mean, error = estimates.mean(axis=0), estimates.std(axis=0) / 20
    assert np.abs((mean - f) / error).max() < 6 < np.abs((1.2 * mean - f) / (1.2 * error)).max()
    assert (np.var(estimates, axis=0) < Features(m, layout).variance * norm**2 / m).all()
    assert abs(np.mean(energies) - norm**2) < 6 * np.std(energies) / 20


@pytest.mark.long
def test_regret_is_below_the_bounds_of_theorems_1_to_3(x64):
    """Regret against Lemma 1's function: pathwise against its weights, and in each of 10 draws against f."""
    kernels, m = [Gaussian(0.3), Gaussian(1.5), Laplacian(1.0)], 25
    X, f, y, centres, a, norm = rkhs_function(kernels[1])
    features = Features(m, "pair", scaled=True)
    limits = [bounds.concatenated(norm, 3, features, 1.0, 300), bounds.vaw2(norm, 3, features, 1.0, 300)]
    limits += [bounds.vaw2(norm, 3, features, 1.0, 300, truncated=True), bounds.vaw_ewa(norm, 3, features, 1.0, 300)]
    concatenated = jax.jit(lambda d: play_sequence(VAW(features=d), jnp.asarray(X), jnp.asarray(y))[0].predictions)

    def losses(predictions):
        return 0.5 * np.sum((np.asarray(predictions) - y) ** 2, axis=-1)

    for i in range(10):
        dictionary = Dictionary.draw(jax.random.fold_in(jax.random.key(7), i), kernels, 2, m)
        experts = np.asarray(expert_forecasts(dictionary, X, y).vaw)
        rules = VAW(), Truncated(VAW(), -1.0, 1.0), Truncated(EWA.over_range(-1.0, 1.0), -1.0, 1.0)
        own = losses([concatenated(dictionary), *(aggregate(rule, experts, y).predictions for rule in rules)])
        assert (own - losses(f) <= limits).all()
        w = lemma_1(Dictionary(dictionary.frequencies[1:2]), centres, a)
        of_w, size = losses(jax.vmap(dictionary)(jnp.asarray(X))[:, 1] @ w), np.linalg.norm(w)
        one = bounds.vaw(size, features.weights, np.sqrt(features.variance), 1.0, 300)
        assert losses(experts[:, 1]) - of_w <= one
        assert own[0] - of_w <= bounds.vaw(size, 3 * features.weights, np.sqrt(3 * features.variance), 1.0, 300)
        assert own[3] - of_w <= one + bounds.ewa(3, 1.0)


@pytest.mark.parametrize("radius", [0.5, 100.0])
def test_best_in_an_rkhs_ball_agrees_with_a_constrained_minimiser(x64, radius):
    """On the sphere and inside."""
    rng, kernel = np.random.default_rng(0), Gaussian(1.0)
    X, y = rng.normal(size=(12, 2)), rng.normal(size=12)
    K, best = np.asarray(kernel.gram(X)), best_in_rkhs_ball(kernel, X, y, radius)
    ball = {"type": "ineq", "fun": lambda a: radius**2 - a @ K @ a, "jac": lambda a: -2 * K @ a}
    found = optimize.minimize(
        lambda a: np.sum((K @ a - y) ** 2), np.zeros(12), jac=lambda a: 2 * K @ (K @ a - y), method="SLSQP",
        constraints=ball, options={"maxiter": 2000, "ftol": 1e-14},
    )  # fmt: skip
    assert best.loss == pytest.approx(found.fun, abs=2e-6)
    assert best.loss == pytest.approx(np.sum((K @ best.coefficients - y) ** 2), abs=1e-9)
    assert best.norm**2 == pytest.approx(best.coefficients @ K @ best.coefficients, rel=1e-6)
    assert best.norm <= radius * (1 + 1e-9)
