"""The study of a few attributes: splits, parameters, its rows, and a pair from end to end."""

import itertools
import json

import jax.numpy as jnp
import numpy as np
import pytest

from benchmarks.papers.studies import attributes_mnist as digits
from benchmarks.papers.studies.attributes import ROWS, FewAttributes
from jaxonline.study import Context


def blobs(n=400, seed=0):
    """Images of digits that differ in a quarter of their pixels; the last hundred pixels are 0."""
    rng = np.random.default_rng(seed)
    y = rng.integers(10, size=n)
    means = rng.uniform(0, 160, size=(10, 784))
    X = np.clip(means[y] + 40 * rng.normal(size=(n, 784)), 0, 255)
    X[:, -100:] = 0
    return X.astype(np.uint8), y.astype(np.uint8)


def test_splits_depend_only_on_the_training_part():
    X, y = blobs()
    raw, centred = (digits.split_pair(X, y, (3, 5), (0, 1), 3, each) for each in ("raw", "centred"))
    n = int(((y == 3) | (y == 5)).sum())
    assert len(raw.y_test) == n // 10
    assert len(raw.y) + len(raw.y_test) == n
    assert sorted(np.concatenate(raw.folds)) == list(range(len(raw.y)))
    assert (raw.live, centred.live) == (784, 684)
    assert set(raw.y) == {-1.0, 1.0}
    assert raw.X.min() >= 0
    assert raw.X.max() <= 1
    np.testing.assert_allclose(centred.X.mean(axis=0), 0.0, atol=1e-6)
    assert (centred.X[:, 684:] == 0).all()
    np.testing.assert_array_equal(centred.y, raw.y)
    # pixels keep their order among those that live, and lose the same number everywhere
    np.testing.assert_allclose(raw.X[:, :684] - centred.X[:, :684], np.tile(raw.X[:, :684].mean(0), (len(raw.y), 1)),
                               atol=1e-6)  # fmt: skip


@pytest.mark.long
def test_the_moments_of_the_baseline_are_unbiased():
    """The mean over 200 draws is within 5 standard errors of x x' and y x, entry by entry (by chance: 1e-5)."""
    X = np.zeros((1, 784), np.float32)
    X[0, :3] = 0.3, -0.8, 0.6
    split = digits.Split(X, np.array([0.7], np.float32), X, X[0, :1], 3, [np.arange(1)])
    draws = [digits.pair_moments(split, 4, (seed,))(np.arange(1)) for seed in range(200)]
    for values, wanted in (
        (np.array([each.A[:3, :3].ravel() for each in draws]), np.outer(X[0, :3], X[0, :3]).ravel()),
        (np.array([each.b[:3] for each in draws]), 0.7 * X[0, :3]),
    ):
        errors = values.std(axis=0) / np.sqrt(len(draws))
        assert (np.abs(values.mean(axis=0) - wanted) < 5 * errors).all()


def test_ridge_equals_scikit_learn():
    from sklearn.linear_model import Ridge

    X, y = blobs()
    split = digits.split_pair(X, y, (3, 5), (0, 0), 3, "centred")
    found = digits.learn("ridge", split, digits.QUICK._replace(ridge=(0.01,)), 4, (0, 0))
    ridge = Ridge(alpha=0.01 * len(split.y), fit_intercept=False).fit(split.X.astype(float), split.y)
    np.testing.assert_allclose(found.w, ridge.coef_, atol=2e-4)
    squared, wrong = split.errors(found.w)
    assert squared < 1.0
    assert wrong < 0.5


@pytest.mark.long
def test_gradient_descent_with_all_pixels_equals_a_numpy_loop():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 5)), rng.normal(size=30)
    order = np.stack([rng.permutation(30) for _ in range(2)])
    found = digits.all_pixels(jnp.asarray(X), jnp.asarray(y), order, ((0.02, 0.3), (0.05, 10.0)), (7, 30))
    for s, (g, (step, radius)) in itertools.product(range(2), enumerate(((0.02, 0.3), (0.05, 10.0)))):
        w, path = np.zeros(5), []
        for x, target in zip(X[order[s]], y[order[s]], strict=True):
            w = w - 2 * step * (w @ x - target) * x
            w = w * min(1.0, radius / np.linalg.norm(w))
            path.append(w)
        np.testing.assert_allclose(found[:, s, g], [np.mean(path[:7], 0), np.mean(path, 0)], rtol=2e-5, atol=1e-6)


@pytest.mark.long
def test_one_pair_gives_the_order_of_the_paper(data_folder):
    """0 vs 1, one split: ridge, Lasso and AER in the order of the paper, and the keys of the JSON."""
    report = FewAttributes(pairs="0-1", splits=1, quick=True, data=(str(data_folder),)).run(Context())
    numbers = json.loads(report.json())
    assert list(numbers["table"]) == [row.name for row in ROWS]
    for of in (numbers["table"], numbers["pairs"]["0-1"]):
        assert all(set(each) == {"squared", "classification"} for each in of.values())
        assert all(0 <= each["classification"] <= 0.5 for each in of.values())
    squared = {name: each["squared"] for name, each in numbers["table"].items()}
    assert squared["ridge, centred"] < squared["AER, centred"] < squared["Baseline, centred"]
    assert squared["AER, centred"] < squared["AER, raw"]
    assert set(numbers["pairs"]["0-1"]) == set(squared)
