"""Gradient descent in an RKHS: kernels, losses and instances against a NumPy loop on the same copies, and storage."""

import warnings

import jax
import jax.numpy as jnp
import kernel_loops as loops
import numpy as np
import pytest

import jaxonline as jo
from jaxonline.estimators import FullGradient, MeanOfCopies, NaiveCopy
from jaxonline.kernels import ExponentialKernel, Gaussian, Inhomogeneous, Laplacian, Scaled, Sum
from jaxonline.kernels.shift_invariant import Cauchy
from jaxonline.learners import KernelGradient
from jaxonline.learners.kernels.supports import Supports, empty_supports
from jaxonline.losses import Exponential, SmoothedAbsolute, SmoothedHinge, Squared
from jaxonline.parameters.errors import OverflowWarning
from jaxonline.parameters.struct import stack

pytestmark = pytest.mark.fast_compile
ROUNDS = 60

KERNELS = {
    "Gaussian": (Gaussian(1.3), loops.gaussian(1.3)),
    "Laplacian": (Laplacian(1.5), lambda x, z: np.exp(-np.abs(x - z).sum() / 1.5)),
    "polynomial": (Inhomogeneous(2), lambda x, z: (1 + x @ z) ** 2),
    "exponential": (ExponentialKernel(), lambda x, z: np.exp(x @ z)),
    "Cauchy": (Cauchy(2.0, 1.5), lambda x, z: (1 + np.sum((x - z) ** 2) / 2) ** -1.5),
    "sum": (
        Sum([Scaled(Gaussian(0.8), 0.5), Gaussian(2.0)]),
        lambda x, z: loops.gaussian(0.8)(x, z) / 2 + loops.gaussian(2.0)(x, z),
    ),
}
LOSSES = {
    "squared": (Squared(), loops.squared),
    "absolute": (SmoothedAbsolute(2.0), loops.smoothed_absolute(2.0)),
    "exponential": (Exponential(), loops.exponential),
    "hinge": (SmoothedHinge(1.5), loops.smoothed_hinge(1.5)),
}
SOURCES = {
    "clean": (FullGradient, lambda seen: (seen.x, seen.x, seen.y)),
    "one copy": (NaiveCopy, lambda seen: (seen.copies[0], seen.copies[0], seen.label)),
    "mean of 5": (lambda loss: MeanOfCopies(5, loss), lambda seen: (*[seen.copies[:5].mean(axis=0)] * 2, seen.label)),
}


def data(n_rounds=ROUNDS, classes=False):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rounds, 3)) / 2
    y = np.sin(3 * X[:, 0]) + 0.5 * X[:, 1] + 0.1 * rng.normal(size=n_rounds)
    return X, np.where(y > 0, 1.0, -1.0) if classes else y


NOISY = jo.NoisyCopies(jo.noise.laplace([0.1, 0.2, 0.1]), label_noise=jo.noise.uniform(0.04))


CASES = (
    ("Gaussian", "squared", "clean", None), ("Gaussian", "hinge", "one copy", 0.8),
    ("Laplacian", "absolute", "mean of 5", 0.4), ("polynomial", "exponential", "mean of 5", None),
    ("exponential", "squared", "one copy", 0.5), ("Cauchy", "exponential", "clean", 0.8),
    ("sum", "absolute", "one copy", None),
)  # fmt: skip


@pytest.mark.long
@pytest.mark.parametrize(("kernel", "loss", "source", "radius"), CASES)
def test_kernel_gradient_equals_its_numpy_loop(kernel, loss, source, radius, x64):
    (kernel, by_hand), (loss, slope) = KERNELS[kernel], LOSSES[loss]
    estimator, instance = SOURCES[source]
    X, y = data(classes=loss.kind == "classification")
    key = jax.random.fold_in(jax.random.key(2), 3)
    rounds = loops.rounds_of(NOISY, key, X, y, 5)
    expected = loops.kernel_loop(rounds, instance, slope, lambda t: 0.3 / np.sqrt(t), radius, by_hand, by_hand)
    assert expected.projections == 0 if radius is None else 3 < expected.projections < ROUNDS

    learner = KernelGradient(kernel, estimator(loss), jo.InverseSqrt(0.3), n_rounds=ROUNDS, radius=radius)
    feedback = jo.FullInformation() if source == "clean" else NOISY
    game = jo.Game(jo.environments.DataStream(X, y), feedback, loss=loss)
    state, history = jo.play(game, learner, key, ROUNDS)
    np.testing.assert_allclose(history.y_hat, expected.y_hat, rtol=1e-9, atol=1e-9 * np.abs(expected.y_hat).max())
    alpha, points = loops.stored(state, ROUNDS)
    np.testing.assert_allclose(alpha, expected.alpha, rtol=1e-9, atol=1e-9 * np.abs(expected.alpha).max())
    np.testing.assert_allclose(points, expected.points, rtol=1e-12)
    np.testing.assert_allclose(state.squared_norm, expected.squared_norms[-1], rtol=1e-9)
    assert history.queries.tolist() == [5 if source == "mean of 5" else 1] * ROUNDS
    assert np.ptp(expected.y_hat) > 0.1, "a learner that does not move would be no test"


@pytest.mark.long
def test_the_norm_by_recurrence_equals_the_double_sum(both_precisions):
    """After 500 rounds; in float32 with the error of a thousand roundings."""
    X, y = data(500)
    learner = KernelGradient(Gaussian(1.0), FullGradient(), 0.2, n_rounds=500, radius=1.0)
    game = jo.Game(jo.environments.DataStream(X.astype(both_precisions), y), jo.FullInformation())
    state, _ = jo.play(game, learner, jax.random.key(0), 500)
    alpha, points = (part.astype(float) for part in loops.stored(state, 500))
    gram = np.exp(-np.sum((points[:, None] - points[None]) ** 2, axis=-1))
    tolerance = 3e-6 if both_precisions == np.float32 else 1e-12
    np.testing.assert_allclose(float(state.squared_norm), alpha @ gram @ alpha, rtol=tolerance)


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


@pytest.mark.parametrize("capacity", [1, 127, 128, 129, 500, 1025, 3000])
def test_a_round_reads_the_chunks_in_use(capacity):
    """Room for all points, in at most 8 chunks, at most one of them unneeded. Unused chunks are not read."""
    rng, x = np.random.default_rng(capacity), np.array([0.3, -0.2])
    empty_state = empty_supports(None, capacity, jax.ShapeDtypeStruct((2,), np.float32))
    n_chunks, _, size = empty_state.points.shape
    assert capacity <= n_chunks * size < capacity + size
    assert n_chunks <= 8
    for n in sorted({0, 1, min(size, capacity), min(size + 1, capacity), capacity}):
        state, points, alpha = some_supports(rng, capacity, n)
        value = np.sum(alpha * np.exp(-np.sum((points - x) ** 2, axis=1)))
        np.testing.assert_allclose(state.evaluate(Gaussian(1.0), jnp.float32(x)), value, rtol=1e-4, atol=1e-4)


@pytest.mark.long
def test_a_batch_of_hypotheses_equals_each_hypothesis_alone():
    """Under vmap and nested vmap, for batched and unbatched arguments."""
    rng = np.random.default_rng(0)
    states = [[some_supports(rng, 400, n)[0] for n in row] for row in ([0, 1, 128], [129, 300, 400])]
    clean = jax.tree.map(lambda leaf: jnp.nan_to_num(leaf, nan=0.0) if leaf.ndim else leaf, states)
    X, widths = jnp.float32(rng.normal(size=(2, 3, 2))), jnp.float32([[0.5, 1.0, 2.0], [1.0, 1.5, 3.0]])

    def value(state, width, x):
        return state.evaluate(Gaussian(width), x)

    alone = [[value(clean[i][j], widths[i, j], X[i, j]) for j in range(3)] for i in range(2)]
    stacked = stack([stack(row) for row in clean])
    together = jax.jit(jax.vmap(jax.vmap(value)))(stacked, widths, X)
    np.testing.assert_allclose(together, np.array(alone), rtol=1e-5, atol=1e-6)
    first = jax.tree.map(lambda leaf: leaf[0], stacked)
    shared = jax.jit(jax.vmap(jax.vmap(value, (0, None, None)), (None, 0, None)))(first, widths[0], X[0, 0])
    expected = [[value(clean[0][j], width, X[0, 0]) for j in range(3)] for width in widths[0]]
    np.testing.assert_allclose(shared, np.array(expected), rtol=1e-5, atol=1e-6)


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
