"""AER, AERR and the Baseline: an independent loop, theorems, and what they are made of."""

import itertools
import math

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from tiers import some

import jaxonline as jo
from jaxonline import bounds
from jaxonline.comparators.linear import L1Ball
from jaxonline.environments import DataStream, three_bits
from jaxonline.estimators.attributes import AttributePairs
from jaxonline.feedback import Attributes
from jaxonline.game.keys import part_key, stream_keys
from jaxonline.learners import AER, AERR, Baseline
from jaxonline.learners.attributes import minimise_on_l1_ball, project_l1_ball

pytestmark = pytest.mark.fast_compile

K = 4


@pytest.mark.long
@pytest.mark.parametrize("cone", some([False, True], False))
def test_the_baseline_minimises_its_estimated_loss(cone, x64):
    """A and b are means of the moments of the pairs drawn; w is a minimiser, or stationary where A is not convex."""
    rng, key = np.random.default_rng(4), jax.random.key(4)
    X = rng.uniform(-1, 1, size=(6, 4))
    y = np.clip(X @ np.linspace(1, -1, 4) + 0.1 * rng.normal(size=6), -1, 1)
    game, learner = jo.Game(DataStream(X, y), Attributes(K)), Baseline(K, 0.8, cone, n_steps=200)
    start = learner.init(key, jo.game.Specs.of_vectors(4, float))
    assert (start.t, np.any(start.A)) == (0, False), "the weight of the moments of round t is 1 / t"
    state, played = jo.play(game, learner, key, 6)
    assert played.queries.tolist() == [K] * 6
    A, b = np.zeros((4, 4)), np.zeros(4)
    for t, (x, target) in enumerate(zip(X, y, strict=True), start=1):
        chosen = AttributePairs(K).choose(part_key(stream_keys(key).learner, t, 1), 4)
        for i, j in np.asarray(chosen).reshape(2, -1).T:
            A[i, j] += 16 / K * x[i] * x[j] / 6
            A[j, i] += 16 / K * x[i] * x[j] / 6
            b[i] += target * 4 / K * x[i] / 6
            b[j] += target * 4 / K * x[j] / 6
    np.testing.assert_allclose(state.A, A, atol=1e-12)
    np.testing.assert_allclose(state.b, b, atol=1e-12)
    values, vectors = np.linalg.eigh(A)
    if cone:
        A = (vectors * np.maximum(values, 0)) @ vectors.T
    else:
        assert values[0] < 0, "otherwise the cone has no effect (E16)"
    w = np.asarray(state.w)
    assert np.abs(w).sum() <= 0.8 * (1 + 1e-12)
    slope = 2 * (A @ w - b)
    assert slope @ w + 0.8 * np.abs(slope).max() < 1e-6, "no descent direction within the ball"
    if cone:  # nothing on a grid of the ball is better
        grid = np.stack(np.meshgrid(*[np.linspace(-0.8, 0.8, 25)] * 4), -1).reshape(-1, 4)
        grid = grid[np.abs(grid).sum(1) <= 0.8]
        value = lambda w: np.einsum("...i,ij,...j", w, A, w) - 2 * w @ b  # noqa: E731
        assert value(w) <= value(grid).min() + 1e-9


@pytest.mark.long
def test_minimise_on_l1_ball_with_a_zero_matrix(x64):
    """With A = 0 and b = 0 the start is a minimiser; with A = 0 a corner is."""
    zero = jnp.zeros((2, 2))
    assert minimise_on_l1_ball(zero, jnp.zeros(2), jnp.asarray(1.0), jnp.zeros(2), 5).tolist() == [0.0, 0.0]
    assert minimise_on_l1_ball(zero, jnp.array([0.1, 0.3]), jnp.asarray(0.5), jnp.zeros(2), 40).tolist() == [0.0, 0.5]


@pytest.mark.long
def test_minimise_on_l1_ball_has_the_momentum_of_beck_and_teboulle(x64):
    """Five steps inside the ball, where the value decreases in each, equal a NumPy loop."""
    A, b = np.diag([1.0, 0.01]), np.array([0.5, 0.02])
    w, z, momentum = np.zeros(2), np.zeros(2), 1.0
    for _ in range(5):
        before, w = w, z - (A @ z - b)  # step 1/2, gradient 2 (A z - b)
        earlier, momentum = momentum, (1 + math.sqrt(1 + 4 * momentum**2)) / 2
        z = w + (earlier - 1) / momentum * (w - before)
    found = minimise_on_l1_ball(jnp.asarray(A), jnp.asarray(b), jnp.asarray(10.0), jnp.zeros(2), 5)
    np.testing.assert_allclose(found, w, rtol=1e-12)


def test_a_random_number_of_attributes_is_charged_and_budgeted():
    """The number is charged, further attributes are 0, and the capacity must be within the budget."""
    x = jnp.array([5.0, 6.0, 7.0, 8.0])

    @jax.jit
    def ask(number):
        oracle = Attributes(4).open(None, jnp.int32(1), x, jnp.float32(1.0), 0.0)
        some_of_them = oracle.attributes(jnp.array([3, 1, 0]), number)
        return some_of_them, oracle.attributes(jnp.array([2])), oracle.queries()

    for number, seen in ((0, [0.0] * 3), (2, [8.0, 6.0, 0.0]), (9, [8.0, 6.0, 5.0])):
        answers, other, queries = ask(jnp.int32(number))
        assert (answers.tolist(), other.tolist(), int(queries)) == (seen, [7.0], min(number, 3) + 1)
    oracle = Attributes(2).open(None, jnp.int32(1), x, jnp.float32(1.0), 0.0)
    with pytest.raises(ValueError, match=r"^indices\b.*got 3"):
        oracle.attributes(jnp.array([0, 1, 2]), jnp.int32(0))


@pytest.mark.long
@pytest.mark.parametrize("law", ["aer", "aerr"])
def test_regret_is_below_the_bound(law):
    """Theorem 2 (and its analogue for AERR): the upper end of the interval of the mean regret of 400 runs is below."""
    n_rounds, d = 200, 4
    environment = jo.environments.LinearModel(np.array([0.5, -0.3, 0.0, 0.2]), radius=1.0, instances="cube")
    if law == "aer":
        bound = bounds.aer_regret(d, 2, radius=1.0, norm=0.62, n_rounds=n_rounds)
        learner, comparator = AER(2, bound.regularizer, 1.0, hypothesis="last"), L1Ball(1.0)
    else:
        bound = bounds.aerr_regret(d, 2, 1.0, n_rounds, x_bound=2.0)
        learner, comparator = AERR(2, bound.step_size, 1.0, hypothesis="last"), jo.L2Ball(1.0)
    with jax.numpy_dtype_promotion("standard"):
        game = jo.Game(environment, Attributes(2))
        result = jo.simulate(game, learner, n_runs=400, n_rounds=n_rounds, comparator=comparator, record_at=1)
    row = result.table()[0]
    assert 0 < row["low"] < row["high"] < bound.value


def test_two_attributes_cannot_predict_the_mean_of_three_bits():
    """The error is at least 1/9."""
    stream = three_bits()
    X, y = np.asarray(stream.X, float), np.asarray(stream.y, float)
    for pair in itertools.combinations(range(3), 2):
        groups = {}
        for x, target in zip(X, y, strict=True):
            groups.setdefault(tuple(x[list(pair)]), []).append(target)
        assert np.mean([np.var(group) for group in groups.values()]) == pytest.approx(1 / 9)


@pytest.mark.parametrize("d", [1, 2, 784])
def test_projection_is_that_of_optax(d):
    rng = np.random.default_rng(d)
    w = jnp.asarray(rng.normal(size=(30, d)) * rng.choice([0.0, 1.0, 100.0], (30, 1)) * (rng.random((30, d)) < 0.7))
    w, radii = w.astype(jnp.float32), jnp.asarray(rng.choice([0.05, 0.3, 2.0, 1e9], 30), jnp.float32)
    with jax.numpy_dtype_promotion("standard"):
        expected = jax.vmap(optax.projections.projection_l1_ball)(w, radii)
    projected = jax.jit(jax.vmap(project_l1_ball))(w, radii)
    scale = np.maximum(np.abs(w).max(axis=1, keepdims=True), 1e-9)
    np.testing.assert_allclose(projected / scale, expected / scale, atol=3e-6)
    inside = jnp.sum(jnp.abs(w), axis=1) <= radii
    assert 0 < inside.sum() < 30
    np.testing.assert_array_equal(projected[inside], w[inside])
