"""Noise laws: mean zero, the covariance and the shape that were asked for, fresh draws in every round."""

from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from scipy import stats
from tiers import some

import jaxonline as jo
from jaxonline.feedback.noise import CustomNoise, gaussian, laplace, student_t, uniform
from jaxonline.parameters.struct import cast_leaves

DRAWS = 200_000
FALSE_ALARM = 1e-6  # of each test, all its comparisons together
MATRIX = np.array([[0.5, -0.3], [-0.3, 0.4]])
DEGREES = 12.0

LAWS = {
    "gaussian": (gaussian, stats.norm()),
    "laplace": (laplace, stats.laplace(scale=np.sqrt(0.5))),
    "uniform": (uniform, stats.uniform(-np.sqrt(3), 2 * np.sqrt(3))),
    "student": (lambda s: student_t(s, DEGREES), stats.t(DEGREES, scale=np.sqrt((DEGREES - 2) / DEGREES))),
}


def draws(noise, shape=(2,), number=DRAWS, seed=0) -> np.ndarray:
    return np.asarray(draw_many(cast_leaves(noise, np.float32), jax.random.key(seed), shape, number), float)


@partial(jax.jit, static_argnums=(2, 3))
def draw_many(noise, key, shape, number):
    x = jnp.zeros(shape)
    return jax.vmap(lambda key: noise.sample(key, jnp.int32(1), x))(jax.random.split(key, number))


def scores(samples: np.ndarray, means: np.ndarray) -> np.ndarray:
    """z-scores of sample means [n, ...] against what they should be."""
    return (samples.mean(axis=0) - means) / (samples.std(axis=0, ddof=1) / np.sqrt(len(samples)))


def limit(comparisons: int) -> float:
    return stats.norm.ppf(1 - FALSE_ALARM / (2 * comparisons))


def moments_agree(z: np.ndarray, covariance: np.ndarray) -> bool:
    """Mean zero and the covariance, by z-scores."""
    products = z[:, :, None] * z[:, None, :]
    found = np.concatenate([scores(z, np.zeros(2)), scores(products, covariance)[np.triu_indices(2)]])
    return bool((np.abs(found) < limit(len(found))).all())


@pytest.mark.parametrize("law", some(LAWS, "laplace"))
def test_noise_has_its_mean_and_covariance(law):
    """False alarm 1e-6 (normal limit, 5 comparisons). Seen with probability 0.999: a mean wrong by 0.02 standard
    deviations, a variance wrong by 5 %. Mutants: noise 1.05 times too long, a shifted mean, a lost correlation."""
    z = draws(LAWS[law][0](MATRIX))
    assert moments_agree(z, MATRIX)
    assert not moments_agree(1.05 * z, MATRIX)
    assert not moments_agree(z + 0.02, MATRIX)
    assert not moments_agree(z, np.diag(np.diag(MATRIX)))


@pytest.mark.parametrize("law", some(LAWS, "laplace", "uniform"))
def test_noise_has_its_distribution_and_kurtosis(law):
    """A Kolmogorov-Smirnov test of a coordinate against SciPy's distribution, and the fourth moment that bounds use.
    False alarm 1e-6 each; the other three distributions, with the same variance, are rejected."""
    make, reference = LAWS[law]
    noise = make(0.25)
    z = draws(noise, shape=(1,))[:, 0] / 0.5
    assert stats.kstest(z, reference.cdf).pvalue > FALSE_ALARM
    for other in set(LAWS) - {law}:
        assert stats.kstest(z, LAWS[other][1].cdf).pvalue < FALSE_ALARM
    assert abs(scores(z**4, noise.kurtosis)) < limit(1)
    assert noise.kurtosis == pytest.approx(float(reference.stats("k")) + 3, rel=1e-12)


def test_each_coordinate_may_have_its_own_variance():
    z = draws(gaussian([0.04, 2.25]))
    assert moments_agree(z, np.diag([0.04, 2.25]))


def test_noise_has_the_shape_of_the_instance():
    x = jnp.zeros(2)
    for given, matrix in [(0.3, 0.3 * np.eye(2)), ([0.1, 0.2], np.diag([0.1, 0.2])), (MATRIX, MATRIX)]:
        noise = gaussian(given)
        np.testing.assert_allclose(noise.covariance_at(jnp.int32(3), x), matrix, rtol=1e-6)
        factor = noise.factor_matrix(2)
        np.testing.assert_allclose(factor @ factor.T, matrix, rtol=1e-12, atol=1e-15)
    for shape in ((), (2, 3)):
        sample = jax.eval_shape(laplace(1.0).sample, jax.random.key(0), jnp.int32(1), jnp.zeros(shape))
        assert sample.shape == shape


def test_covariances_may_be_singular():
    assert (draws(gaussian(np.zeros((2, 2)))) == 0).all()
    z = draws(uniform(np.array([[1.0, 2.0], [2.0, 4.0]])))
    np.testing.assert_allclose(z[:, 1], 2 * z[:, 0], atol=1e-5)
    assert np.std(z[:, 0]) > 0.5


def test_noise_has_the_dtype_of_the_instance(both_precisions):
    x = jnp.zeros(3, both_precisions)
    for make, _ in LAWS.values():
        sample = jax.eval_shape(make(0.1).sample, jax.random.key(0), jnp.int32(1), x)
        assert (sample.dtype, sample.shape) == (both_precisions, (3,))
        assert jax.eval_shape(make(0.1).covariance_at, jnp.int32(1), x).dtype == both_precisions


def test_student_kurtosis_is_infinite_up_to_four_degrees():
    assert student_t(0.1, 4.0).kurtosis == np.inf
    assert student_t(0.1, 5.0).kurtosis == 9.0


def test_covariances_are_leaves_of_noise():
    structures = {jax.tree.structure(gaussian(variance)) for variance in (0.1, 0.2)}
    assert len(structures) == 1
    assert jax.tree.structure(laplace(0.1)) not in structures
    louder = jo.replace(gaussian(0.1), covariance=0.4)
    assert louder.factor == np.sqrt(0.4)


def signs_that_grow(key, t, x):
    return t.astype(x.dtype) * jnp.abs(x) * jax.random.rademacher(key, x.shape, x.dtype)


def grown_covariance(t, x):
    return jnp.diag((t.astype(x.dtype) * x) ** 2)


def test_custom_noise_may_depend_on_round_and_instance():
    feedback = jo.NoisyCopies(CustomNoise(signs_that_grow, grown_covariance), reveal_covariance=True)
    x, y = jnp.array([1.0, -0.5]), jnp.float32(0.0)
    for t in (1, 7):
        oracle = feedback.open(jax.random.key(t), jnp.int32(t), x, y, y)
        np.testing.assert_allclose(np.abs(oracle.copy(0) - x), t * np.abs(x), rtol=1e-6)
        np.testing.assert_allclose(oracle.covariance, np.diag((t * np.asarray(x)) ** 2), rtol=1e-6)


@pytest.mark.parametrize("rate", [0.0, 0.2])
def test_flipped_labels_have_mean_y_and_are_flipped_at_the_rate(rate):
    """40,000 labels of 1 and as many of -1: the share of flips lies within 5.5 standard errors (false alarm 4e-8)."""
    feedback = jo.NoisyCopies(gaussian(1.0), label_noise=jo.noise.FlippedLabels(rate))
    y = jnp.repeat(jnp.array([1.0, -1.0], jnp.float32), 40_000)
    labels = np.asarray(draw_labels(feedback, y), float)
    np.testing.assert_allclose(np.abs(labels), 1 / (1 - 2 * rate), rtol=1e-6)
    flips = labels * np.asarray(y) < 0
    for share in (flips[:40_000].mean(), flips[40_000:].mean()):
        assert abs(share - rate) <= 5.5 * np.sqrt(rate * (1 - rate) / 40_000)
    variance = feedback.label_noise.covariance_at(jnp.int32(1), jnp.array([-1.0]))
    np.testing.assert_allclose(variance, [[1 / (1 - 2 * rate) ** 2 - 1]], rtol=1e-6)


@jax.jit
def draw_labels(feedback, y):
    keys = jax.random.split(jax.random.key(3), len(y))
    return jax.vmap(lambda key, y: feedback.open(key, jnp.int32(1), jnp.zeros(2), y, y).label())(keys, y)


def test_custom_noise_is_checked():
    x, t, key = jnp.ones(2), jnp.int32(1), jax.random.key(0)
    with pytest.raises(ValueError, match="draw: must return the shape"):
        CustomNoise(lambda key, t, x: x[:1]).sample(key, t, x)
    with pytest.raises(ValueError, match="covariance"):
        CustomNoise(lambda key, t, x: x).covariance_at(t, x)


@pytest.mark.long
def test_copies_of_a_round_and_of_other_rounds_are_independent():
    """Correlations between two copies, and between a copy and the label's noise, vanish (false alarm 1e-6)."""
    feedback = jo.NoisyCopies(gaussian(1.0), label_noise=gaussian(1.0))
    zero = jnp.float32(0.0)

    @jax.jit
    @jax.vmap
    def one(key):
        now, later = (feedback.open(jax.random.fold_in(key, t), jnp.int32(t), zero, zero, zero) for t in (1, 2))
        return jnp.stack([now.copy(0), now.copy(1), now.label(), later.copy(0), now.copies(2, 1, jnp.int32(1))[0]])

    z = np.asarray(one(jax.random.split(jax.random.key(1), 50_000)), float)
    pairs = np.triu_indices(5, 1)
    products = (z[:, :, None] * z[:, None, :])[:, *pairs]
    assert (np.abs(scores(products, np.zeros(10))) < limit(10)).all()


def test_rare_errors_have_their_values_rate_and_covariance():
    """False alarm 1e-6 (normal limit): a rate wrong by 10 % is seen with probability 0.99 or more, and is caught."""
    noise = jo.noise.RareErrors(5.0, 0.2)
    z = draws(noise)
    assert set(np.unique(z)) == {-5.0, 0.0, 5.0}
    for sign in (-1, 1):
        hits = (z == 5.0 * sign).astype(float)
        assert (np.abs(scores(hits, np.full(2, 0.1))) < limit(4)).all()
        assert (np.abs(scores(hits, np.full(2, 0.11))) > limit(4)).all()
    assert moments_agree(z, np.asarray(noise.covariance_at(jnp.int32(1), jnp.zeros(2))))
    np.testing.assert_allclose(noise.covariance_at(jnp.int32(1), jnp.zeros(2)), 5.0 * np.eye(2), rtol=1e-6)
    x = jnp.ones(3)
    assert not np.any(jo.noise.RareErrors(5.0, 0.0).sample(jax.random.key(0), jnp.int32(1), x))
    assert np.all(np.abs(jo.noise.RareErrors(5.0, 1.0).sample(jax.random.key(0), jnp.int32(1), x)) == 5.0)
