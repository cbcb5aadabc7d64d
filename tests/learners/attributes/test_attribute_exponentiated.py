"""Learners from k attributes: NumPy loops, and moments and regrets of exponentiated gradient and p-norm descent."""

import itertools
import math
from functools import partial

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from attribute_efficient import exponentiated_reference, p_norm_reference, reference

import jaxonline as jo
from jaxonline import bounds
from jaxonline.environments import DataStream, LinearModel
from jaxonline.estimators import AttributeGradient
from jaxonline.feedback import Attributes
from jaxonline.game import Specs
from jaxonline.game.keys import part_key, stream_keys
from jaxonline.learners import AER, AERR, ExponentiatedGradient, MirrorLearner, PNorm

pytestmark = pytest.mark.fast_compile

K = 4


def descent_reference(X, y, choose, **options):
    after, _ = reference(X, y, choose, **options)
    return np.vstack([np.zeros(X.shape[1]), after[:-1]])


LEARNERS = {
    "exponentiated": (
        ExponentiatedGradient(AttributeGradient(K), 0.02, scale=1.5, signed=True),
        partial(exponentiated_reference, radius=1.5, step=0.02, k=K),
    ),
    "p-norm": (MirrorLearner(AttributeGradient(K), 0.05, PNorm(4.0)), partial(p_norm_reference, p=4.0, step=0.05, k=K)),
    "AER": (AER(K, 0.7, 0.8, "last"), partial(descent_reference, law="l1", rate=0.7, radius=0.8)),
    "AERR": (AERR(K, 0.05, 0.6, "last"), partial(descent_reference, law="l2", rate=0.05, radius=0.6)),
}


@pytest.mark.long
@pytest.mark.parametrize("name", LEARNERS)
def test_learner_from_attributes_equals_its_numpy_loop(name, x64):
    rng, key = np.random.default_rng(0), jax.random.key(7)
    X = rng.uniform(-1, 1, size=(40, 6))
    y = X[:, 0] - 0.5 * X[:, 3]
    learner, loop = LEARNERS[name]
    estimator = AttributeGradient(K, "l2" if name == "AERR" else "l1")
    with jax.numpy_dtype_promotion("standard"):
        _, rounds = jo.play(jo.Game(DataStream(X, y), Attributes(K)), learner, key, len(y))
        choose = jax.jit(lambda t, w: estimator.choose(part_key(stream_keys(key).learner, t, 1), w))
        path = loop(X, y, choose)
    np.testing.assert_allclose(rounds.y_hat, np.sum(path * X, axis=1), atol=1e-10)
    assert rounds.queries.tolist() == [K] * len(y)
    assert np.ptp(rounds.y_hat) > 0.3


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
def test_regret_is_below_the_bound():
    """The interval of the mean regret of 40 runs (95 %) is below the theorem; w* loses nothing."""
    d, rounds = 16, 2000
    environment = LinearModel(0.9 * np.eye(d)[0], instances="cube")
    bound = bounds.attribute_exponentiated_regret(d, K, 1.0, rounds)
    learner = ExponentiatedGradient(AttributeGradient(K), bound.step_size, scale=1.0, signed=True)
    result = jo.simulate(jo.Game(environment, Attributes(K)), learner, n_runs=40, n_rounds=rounds, record_at=1)
    regret = result.mean("cumulative_loss")
    assert 0 < regret.low[0, -1] < regret.high[0, -1] < bound.value
    assert regret.high[0, -1] < 0.9 * rounds * 0.9**2 / 3, "the predictor 0 has 540"


@pytest.mark.long
def test_regret_of_p_norm_descent_is_below_its_bound():
    """`bounds.mirror_descent` with |g|_p <= G, which holds as |w_t|_1 <= 1.5 in all rounds; w* loses nothing (95 %)."""
    d, n_rounds, largest = 16, 2000, 1.5
    p, target = 2 * math.log(2 * d), 0.9 * np.eye(d, dtype=np.float32)[0]
    G = 2 * (largest + 0.9) * 2 * d / K * (K / 2) ** (1 / p)
    bound = bounds.mirror_descent(PNorm(p).divergence(target), G, n_rounds)
    learner = MirrorLearner(AttributeGradient(K), bound.step_size, PNorm(p))

    @jax.jit
    @jax.vmap
    def run(key):
        def play_round(state, t):
            x_key, key_of_round = jax.random.split(jax.random.fold_in(key, t))
            x = jax.random.uniform(x_key, (d,), jnp.float32, -1.0, 1.0)
            w, y = learner.w(state), jnp.asarray(target) @ x
            state, _ = learner.update(key_of_round, state, Attributes(K).open(None, t, x, y, 0.0))
            return state, ((w @ x - y) ** 2, jnp.abs(w).sum())

        start = learner.init(None, Specs.of_vectors(d, np.float32))
        losses, norms = jax.lax.scan(play_round, start, jnp.arange(n_rounds, dtype=jnp.int32))[1]
        return losses.sum(), norms.max()

    regret, norm = map(np.asarray, run(jax.random.split(jax.random.key(0), 40)))
    assert 0.1 < norm.max() < largest
    high = regret.mean() + 2.03 * regret.std(ddof=1) / np.sqrt(40)
    assert 0 < high < bound.value
    assert high < 0.9 * n_rounds * 0.9**2 / 3, "the predictor 0 has 540"
