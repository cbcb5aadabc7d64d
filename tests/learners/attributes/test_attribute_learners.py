"""Learners from few attributes: NumPy loops in which the constants decide, theorems, and parts of AER and Baseline."""

import itertools
import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
from attribute_efficient import exponentiated_reference, p_norm_reference, reference
from tiers import some

import jaxonline as jo
from jaxonline import bounds
from jaxonline.comparators.linear import L1Ball
from jaxonline.environments import DataStream, LinearModel, three_bits
from jaxonline.estimators import AttributeGradient
from jaxonline.estimators.attributes import AttributePairs
from jaxonline.feedback import Attributes
from jaxonline.game.keys import part_key, stream_keys
from jaxonline.learners import AER, AERR, Baseline, ExponentiatedGradient, MirrorLearner, PNorm
from jaxonline.learners.attributes import minimise_on_l1_ball, project_l1_ball

pytestmark = pytest.mark.fast_compile

K, KEY = 4, jax.random.key(7)


def hypotheses(X, y, choose, average=False, **constants):
    """Return the hypotheses of the loop of AER or AERR before each round, or their averages."""
    after, _ = reference(X, y, choose, **constants)
    path = np.vstack([np.zeros(X.shape[1]), after[:-1]])
    return np.cumsum(path, axis=0) / np.arange(1, len(y) + 1)[:, None] if average else path


L1, L2 = AttributeGradient(K), AttributeGradient(K, "l2")
AER_LOOP, AERR_LOOP = partial(hypotheses, law="l1"), partial(hypotheses, law="l2")
LEARNERS = {  # the learner, its estimator, its loop, and the constants that decide in it
    "exponentiated": (
        ExponentiatedGradient(L1, 0.02, scale=1.5, signed=True), L1, partial(exponentiated_reference, k=K),
        {"radius": 1.5, "step": 0.02},
    ),
    "p-norm": (MirrorLearner(L1, 0.05, PNorm(4.0)), L1, partial(p_norm_reference, k=K), {"p": 4.0, "step": 0.05}),
    "AER": (AER(K, 0.7, 0.8, "last"), L1, AER_LOOP, {"rate": 0.7, "radius": 0.8}),
    "AER, average": (AER(K, 0.7, 0.8), L1, AER_LOOP, {"rate": 0.7, "radius": 0.8, "average": True}),
    "AERR": (AERR(K, 0.05, 0.3, "last"), L2, AERR_LOOP, {"rate": 0.05, "radius": 0.3}),
    "AERR, average, one for the prediction": (
        AERR(K, 0.05, 0.3, n_for_prediction=1), AttributeGradient(K, "l2", 1), AERR_LOOP,
        {"rate": 0.05, "radius": 0.3, "average": True},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", some(LEARNERS, "exponentiated", "AER", "AERR"))
def test_learner_equals_its_numpy_loop_in_which_the_constants_decide(name, x64):
    rng = np.random.default_rng(0)
    X = rng.uniform(-1, 1, size=(40, 6))
    y = X[:, 0] - 0.5 * X[:, 3]
    learner, estimator, loop, constants = LEARNERS[name]
    choose = jax.jit(lambda t, w: estimator.choose(part_key(stream_keys(KEY).learner, t, 1), w))

    def moves(**constants):
        with jax.numpy_dtype_promotion("standard"):
            return np.sum(loop(X, y, choose, **constants) * X, axis=1)

    with jax.numpy_dtype_promotion("standard"):
        _, rounds = jo.play(jo.Game(DataStream(X, y), Attributes(K)), learner, KEY, len(y))
    np.testing.assert_allclose(rounds.y_hat, moves(**constants), atol=1e-10)
    assert rounds.queries.tolist() == [K] * len(y)
    for constant, value in constants.items():
        other = constants | {constant: 1.1 * value if constant != "average" else False}
        assert not np.allclose(rounds.y_hat, moves(**other), atol=1e-8), constant


@pytest.mark.long
@pytest.mark.parametrize("cone", some([False, True], True))
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
    np.testing.assert_allclose(played.info.estimated_loss[-1], w @ A @ w - 2 * w @ b, rtol=1e-9)
    slope = 2 * (A @ w - b)
    assert slope @ w + 0.8 * np.abs(slope).max() < 1e-6, "no descent direction within the ball"
    if cone:  # nothing on a grid of the ball is better
        grid = np.stack(np.meshgrid(*[np.linspace(-0.8, 0.8, 25)] * 4), -1).reshape(-1, 4)
        grid = grid[np.abs(grid).sum(1) <= 0.8]
        value = lambda w: np.einsum("...i,ij,...j", w, A, w) - 2 * w @ b  # noqa: E731
        assert value(w) <= value(grid).min() + 1e-9


def test_minimise_on_l1_ball_with_a_zero_matrix(x64):
    """With A = 0 and b = 0 the start is a minimiser; with A = 0 a corner is."""
    zero = jnp.zeros((2, 2))
    assert minimise_on_l1_ball(zero, jnp.zeros(2), jnp.asarray(1.0), jnp.zeros(2), 5).tolist() == [0.0, 0.0]
    assert minimise_on_l1_ball(zero, jnp.array([0.1, 0.3]), jnp.asarray(0.5), jnp.zeros(2), 40).tolist() == [0.0, 0.5]


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


@pytest.mark.long
@pytest.mark.parametrize("d", some([1, 2, 784], 2))
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
    far = jax.vmap(project_l1_ball, (0, None))(jnp.float32(1e10) * w[~inside], jnp.float32(1.0))
    np.testing.assert_allclose(jnp.abs(far).sum(axis=1), 1.0, rtol=1e-5)


def test_moments_of_the_bound_are_reached_and_never_exceeded():
    """L, the range and the dual norm of the bound, from the outcomes at random corners: the worst corner has L."""
    d, radius, y_bound = 4, 1.5, 0.7
    L = 8 * (radius + y_bound) ** 2 * d / K
    largest = 4 * (radius + y_bound) * d / K
    worst = 0.0
    rng = np.random.default_rng(1)
    for corner, y in itertools.product(range(4), (-y_bound, y_bound)):
        x = rng.choice([-1.0, 1.0], size=d)
        w = radius * np.eye(d)[corner] if corner else rng.dirichlet(np.ones(d)) * radius
        support = AttributeGradient(K).support(w, x, y)
        p = rng.dirichlet(np.ones(d))
        moment = sum(q * (p @ g**2) for q, g in support)
        worst = max(worst, moment)
        assert moment <= L * (1 + 1e-12)
        assert max(np.abs(g).max() for _, g in support) <= largest * (1 + 1e-12)
        assert sum(q * np.abs(g).max() ** 2 for q, g in support) <= largest**2 * (1 + 1e-12)
    assert worst == pytest.approx(L), "half of L, or d for the root of d, is exceeded"
    bound = bounds.attribute_exponentiated_regret(d, K, radius, 500, y_bound=y_bound)
    assert 2 * bound.step_size * radius * largest < 1  # the steps are small enough for the proof


@pytest.mark.long
def test_regret_of_exponentiated_gradient_is_below_the_bound():
    """The interval of the mean regret of 40 runs (95 %) is below the theorem; w* loses nothing."""
    d, rounds = 16, 2000
    environment = LinearModel(0.9 * np.eye(d)[0], instances="cube")
    bound = bounds.attribute_exponentiated_regret(d, K, 1.0, rounds)
    learner = ExponentiatedGradient(AttributeGradient(K), bound.step_size, scale=1.0, signed=True)
    result = jo.simulate(jo.Game(environment, Attributes(K)), learner, n_runs=40, n_rounds=rounds, record_at=1)
    regret = result.mean("cumulative_loss")
    assert 0 < regret.low[0, -1] < regret.high[0, -1] < bound.value
    assert regret.high[0, -1] < 0.9 * rounds * 0.9**2 / 3, "the predictor 0 has 540"
