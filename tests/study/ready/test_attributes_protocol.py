"""The study of protocols that paper C leaves open: its hypotheses, its rows, and its choice of parameters."""

import itertools
import json

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from attribute_efficient import reference

from jaxonline.engines.attribute_streams import StreamHypotheses
from jaxonline.estimators import AttributeGradient
from jaxonline.study import Context
from jaxonline.study.ready import attributes_mnist as digits
from jaxonline.study.ready import attributes_protocol as protocol
from jaxonline.study.ready import attributes_protocol_runs as runs


def noise(n=60, d=12, folds=3):
    """A split of n training rows with d live pixels."""
    rng = np.random.default_rng(0)
    X = np.zeros((n + 20, 784), np.float32)
    X[:, :d] = rng.uniform(-0.5, 0.5, size=(n + 20, d))
    y = np.sign(X[:, 0] + 0.3 * rng.normal(size=n + 20)).astype(np.float32)
    return digits.Split(X[:n], y[:n], X[n:], y[n:], d, np.array_split(np.arange(n), folds))


def test_hypotheses_from_averages():
    """Hypotheses w_2, ..., w_9 = 1, ..., 8: the mean of the last four is 6.5 after 8 rounds."""
    averages = np.array([1.5, 2.5, 3.5, 4.5]).reshape(4, 1, 1, 1)  # after 2, 4, 6 and 8 rounds
    last = np.array([2.0, 4.0, 6.0, 8.0]).reshape(4, 1, 1, 1)
    streams = StreamHypotheses(jnp.asarray(averages), jnp.asarray(last))
    assert runs._hypotheses(streams, 1, (2, 4, 6, 8)).ravel().tolist() == [4.5, 6.5, 8.0]
    assert runs._hypotheses(streams, 0, (2, 4, 6, 8)).ravel().tolist() == [3.5, 4.5, 6.0]


@pytest.mark.long
def test_errors_equal_those_of_a_numpy_loop():
    """Three pixels serve to estimate x and one the prediction; test errors and errors in cross-validation."""
    split, sizes = noise(), (3, 1)
    folds, test = runs._aer(split, sizes, (0, 1))
    key = jax.random.key(int(np.random.default_rng([0, 1, 4]).integers(2**31)))
    choose = jax.jit(AttributeGradient(4, n_for_prediction=1).choose)

    def at(t, w):
        seen = choose(jax.random.fold_in(jax.random.fold_in(key, t), 1), jnp.asarray(w, jnp.float32))
        return np.asarray(seen.subset), np.asarray(seen.weighted)

    def hypotheses(rows, rate, radius):
        X = split.X[rows][:, : split.live].astype(float)
        path, _ = reference(X, split.y[rows].astype(float), at, law="l1", rate=rate, radius=radius)
        return np.stack([path.mean(0), path[len(path) // 2 :].mean(0), path[-1]])

    def errors(w, X, y):
        values = X[:, : split.live] @ w.T
        return np.stack([((values - y[:, None]) ** 2).mean(0), (np.sign(values) != y[:, None]).mean(0)], axis=-1)

    rate, radius = runs.PARAMETERS[7]
    wanted = errors(hypotheses(np.arange(60), rate, radius), split.X_test, split.y_test)
    np.testing.assert_allclose(test[:, 7], wanted, rtol=2e-4)
    rows = [np.setdiff1d(np.arange(60), fold) for fold in split.folds]
    in_folds = [
        errors(hypotheses(part, rate, radius), split.X[fold], split.y[fold])[:, 0]
        for part, fold in zip(rows, split.folds, strict=True)
    ]
    np.testing.assert_allclose(folds[:, 7], np.mean(in_folds, axis=0), rtol=2e-4)


def test_own_and_common_parameters():
    """The folds choose: per pair, or by the least median over pairs. The test part does not choose."""
    shape = 2, len(runs.PIXELS), len(runs.SIZES), len(runs.HYPOTHESES), len(runs.PARAMETERS)
    folds, aer = np.full(shape, 9.0), np.full((*shape, 2), 5.0)
    folds[0, ..., 3], folds[1, ..., 3] = 1.0, 4.0
    folds[0, ..., 8], folds[1, ..., 8] = 3.0, 3.0
    aer[..., 3, :], aer[..., 8, :], aer[..., 0, :] = 0.6, 0.8, 0.1
    rows = protocol._few_rows(runs.PairErrors(np.zeros(1), np.zeros(1), folds, aer, np.full(shape[:3], 0.35)))
    assert len(rows) == np.prod(shape[1:4])
    for row in rows:
        assert (row["own"], row["common"]) == pytest.approx((0.7, 0.6))
        assert (row["regularizer"], row["radius"]) == runs.PARAMETERS[3]
        assert row["ratio"] == pytest.approx(np.mean([0.35 / 0.6, 0.35 / 0.8]))


@pytest.mark.long
def test_one_pair_from_end_to_end(data_folder):
    """0 vs 1: ridge is better than AER from the same images, and the errors on all rows lie between the two parts'."""
    report = protocol.AttributesProtocol(pairs="0-1", folds=3, data=(str(data_folder),)).run(Context())
    numbers = json.loads(report.json())
    full = {(row["pixels"], row["rows"]): row["ridge"] for row in numbers["full"]}
    for pixels in protocol.CENTRE.values():
        test, training, both = (full[pixels, part] for part in runs.PARTS)
        assert min(test, training) <= both <= max(test, training)
    sizes = {row["sizes"] for row in numbers["few"]}
    assert len(numbers["few"]) == len(list(itertools.product(runs.PIXELS, runs.SIZES, runs.HYPOTHESES)))
    assert sizes == {"2 + 2", "3 + 1", "4 + 1", "4 + 2", "2 + 4", "4 + 4"}
    assert all(full["raw", "test part"] < row["own"] < 1.0 for row in numbers["few"] if row["hypothesis"] == "mean")
