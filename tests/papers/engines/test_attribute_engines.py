"""`play_streams` compared with pseudocode, and edge cases."""

import itertools

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from attribute_efficient import reference
from tiers import some

from benchmarks.papers.engines.attributes import play_streams
from jaxonline.environments import three_bits
from jaxonline.estimators.attributes import AttributeGradient

pytestmark = pytest.mark.fast_compile

D, T, K = 6, 40, 4


def rows(seed=0, n=T, d=D):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, size=(n, d))
    return X, np.clip(X @ np.linspace(1, -1, d) + 0.1 * rng.normal(size=n), -1, 1)


def choices(key, law):
    choose = jax.jit(AttributeGradient(K, law).choose)

    def at(t, w):
        seen = choose(jax.random.fold_in(jax.random.fold_in(key, t), 1), jnp.asarray(w))
        return np.asarray(seen.subset), np.asarray(seen.weighted)

    return at


CASES = {
    "aer": ("l1", 0.7, 0.8, 2, 1e-9),
    "aer, within the ball, one key": ("l1", 9.0, 50.0, 1, 1e-9),
    "aerr": ("l2", 0.05, 0.6, 2, 1e-9),
    "aerr, a scale that begins anew, one key": ("l2", 5e3, 0.5, 1, 1e-7),
}


@pytest.mark.long
@pytest.mark.parametrize("case", CASES)
def test_play_streams_matches_pseudocode(case, x64):
    """Two streams and two radii at once; other parameters of the grid change nothing. One key is for all streams."""
    law, rate, radius, n_keys, rounding = CASES[case]
    X, y = rows()
    keys = jax.random.split(jax.random.key(1), n_keys)
    order = np.array([np.arange(T), np.arange(T)[::-1]])
    grid = {"rates": [rate, 2 * rate], "radii": [radius, radius / 2]}
    algorithm = "aer" if law == "l1" else "aerr"
    averages = play_streams(algorithm, X, y, order, keys, **grid, n_attributes=K, record_at=(3, T))
    assert averages.shape == (2, 2, 2, D)
    for s, g in itertools.product(range(2), range(2)):
        path, _ = reference(X[order[s]], y[order[s]], choices(keys[s % n_keys], law), law=law,
                            rate=grid["rates"][g], radius=grid["radii"][g])  # fmt: skip
        expected = path[:3].mean(0), path.mean(0)
        np.testing.assert_allclose(averages[:, s, g], expected, rtol=rounding, atol=1e-15 if rounding < 1e-8 else 1e-12)
        if "within" in case:
            assert np.abs(path).sum(1).max() < radius, "no projection here"


@pytest.mark.parametrize(("law", "k", "d"), some([("aer", 2, 6), ("aerr", 2, 6), ("aerr", 4, 4)], ("aer", 2, 6)))
def test_edge_cases_constant_features_one_class_all_attributes(law, k, d, x64):
    X = np.random.default_rng(7).uniform(-1, 1, size=(T, D))
    X[:, 1], X[:, 2], X[:, d:] = 1.0, 0.0, 1e300
    keys, rates = jax.random.split(jax.random.key(0), 2), [5.0, 9.0] if law == "aer" else [0.01, 0.02]
    order = np.tile(np.arange(T), (2, 1))
    w = np.asarray(play_streams(law, X, np.ones(T), order, keys, rates, [1.0, 1.0], k, (3, T), dimension=d))[-1]
    assert np.isfinite(w).all()
    assert w[..., 1].min() > 0.1
    assert (w[..., 2] == 0.0).all()
    assert (w[..., d:] == 0.0).all()


@pytest.mark.long
def test_two_attributes_per_example_suffice_to_learn():
    """Theorem 4's other half: an error of a tenth of 1/9 and less."""
    stream = three_bits()
    X, y = np.asarray(stream.X, float), np.asarray(stream.y, float)
    order = np.random.default_rng(0).integers(8, size=(1, 20_000))
    w = play_streams("aer", X, y, order, jax.random.split(jax.random.key(0), 1), [0.05], [1.0], 2)
    assert np.mean((X @ np.asarray(w)[0, 0, 0] - y) ** 2) < 1 / 9 / 10
