"""Kernel learners that store instances: chunks, points in order, and a full storage."""

import warnings

import jax
import jax.numpy as jnp
import kernel_loops as loops
import numpy as np
import pytest

import jaxonline as jo
from jaxonline.estimators import FullGradient
from jaxonline.kernels import Gaussian
from jaxonline.learners import KernelGradient
from jaxonline.learners.kernels.supports import Supports, empty_supports
from jaxonline.parameters.errors import OverflowWarning

pytestmark = pytest.mark.fast_compile


def data(n_rounds):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rounds, 3)) / 2
    y = np.sin(3 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=n_rounds)
    return X, y


def some_supports(rng, capacity, n, d=2):
    """A hypothesis with n points, and NaN in every unused chunk."""
    state = empty_supports(None, capacity, jax.ShapeDtypeStruct((d,), np.float32))
    n_chunks, _, size = state.points.shape
    points, alpha = rng.normal(size=(n_chunks * size, d)), rng.normal(size=n_chunks * size)
    alpha[n:] = 0.0
    used = -(-n // size) * size
    points[used:], alpha[used:] = np.nan, np.nan
    columns = np.moveaxis(points.reshape(n_chunks, size, d), 1, 2)
    state = Supports(*(np.float32(part) for part in (columns, alpha.reshape(n_chunks, size), 0.0)), np.int32(n))
    return jax.tree.map(jnp.asarray, state), points[:n], alpha[:n]


@pytest.mark.parametrize(
    ("capacity", "chunks"), [(1, (1, 128)), (128, (1, 128)), (129, (2, 128)), (1025, (5, 256)), (3000, (8, 384))]
)
def test_a_round_reads_the_chunks_in_use(capacity, chunks):
    """Room for all points, in at most 8 chunks of multiples of 128 points. Unused chunks are not read."""
    rng, x = np.random.default_rng(capacity), np.array([0.3, -0.2])
    empty_state = empty_supports(None, capacity, jax.ShapeDtypeStruct((2,), np.float32))
    n_chunks, _, size = empty_state.points.shape
    assert (n_chunks, size) == chunks
    for n in sorted({0, 1, min(size, capacity), min(size + 1, capacity), capacity}):
        state, points, alpha = some_supports(rng, capacity, n)
        value = np.sum(alpha * np.exp(-np.sum((points - x) ** 2, axis=1)))
        np.testing.assert_allclose(state.evaluate(Gaussian(1.0), jnp.float32(x)), value, rtol=1e-4, atol=1e-4)


def test_points_are_stored_in_order_across_chunks():
    """A point beyond the capacity is not stored, also if the last chunk is not full."""
    x = jnp.arange(300.0)[:, None] * jnp.ones((1, 2))

    @jax.jit
    def play(n):
        def add(state, x):
            one = jnp.float32(1.0)
            return state.add_point(x, 1.0 + x[0], 0 * one, one, None, 200)

        return jax.lax.scan(add, empty_supports(None, 200, jax.ShapeDtypeStruct((2,), np.float32)), x)

    state, full = play(300)
    alpha, points = loops.stored(state, 200)
    np.testing.assert_array_equal(points[:, 1], np.arange(200))
    np.testing.assert_array_equal(alpha, np.arange(200) + 1)
    assert full.tolist() == [False] * 200 + [True] * 100
    learner = KernelGradient(Gaussian(1.0), FullGradient(), 0.2, n_rounds=200)
    assert [learner.overflow_probability(n_rounds) for n_rounds in (200, 201)] == [0.0, 1.0]
    assert int(state.t) == 200
    assert float(state.squared_norm) == pytest.approx(np.sum((np.arange(200) + 1.0) ** 2), rel=1e-5)


@pytest.mark.long
def test_a_full_storage_stops_learning_and_warns():
    X, y = data(30)
    game = jo.Game(jo.environments.DataStream(X.astype(np.float32), y), jo.FullInformation())
    learner = KernelGradient(Gaussian(1.0), FullGradient(), 0.2, n_rounds=20, radius=0.5)
    until, _ = jo.play(game, learner, jax.random.key(0), 20)
    beyond, history = jo.play(game, learner, jax.random.key(0), 30)
    assert history.info.overflow.tolist() == [False] * 20 + [True] * 10
    jax.tree.map(np.testing.assert_array_equal, until, beyond)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert jo.simulate(game, learner, n_runs=2, n_rounds=20).overflowed.tolist() == [0]
    with pytest.warns(OverflowWarning, match="n_rounds"):
        assert jo.simulate(game, learner, n_runs=2, n_rounds=21).overflowed.tolist() == [2]
