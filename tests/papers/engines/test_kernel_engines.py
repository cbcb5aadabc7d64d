"""Learners over whole sequences, forecasts of many kernels, and OMKL-GF, against NumPy."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from expert_games import game_of_experts
from kernel_dictionary import features_in_numpy, small_problem
from scipy import stats
from tiers import some
from vaw_equations import normal_equations, sequence

import jaxonline as jo
from benchmarks.papers.engines import kernels
from benchmarks.papers.engines.kernels import aggregate, expert_forecasts, forecast, play_sequence
from benchmarks.papers.engines.omkl_gf import OMKLGF
from benchmarks.papers.studies.multikernel import LateStart
from jaxonline.estimators.fourier import Dictionary
from jaxonline.feedback import FullOracle
from jaxonline.game import Specs
from jaxonline.learners.experts.advice import Aggregating, OverAdvice, Truncated, as_learner
from jaxonline.learners.experts.combiners import BOA, EWA, MLPoly, MLProd
from jaxonline.learners.linear.vaw import VAW

T = 200
RULES = {
    "ewa": EWA(0.5),
    "ewa, late start": LateStart(OverAdvice(EWA(0.5))),
    "aggregating": Aggregating(0.0, 1.0),
    "aggregating, late start": LateStart(Aggregating(0.0, 1.0)),
    "boa": BOA(),
    "ml-poly": MLPoly(),
    "ml-prod": MLProd(),
    "vaw": VAW(),
    "ridge": VAW(forward=False),
}


@pytest.mark.parametrize("name", some(RULES, "ewa, late start"))
def test_play_sequence_matches_the_learner_in_the_game(x64, name):
    X, y = game_of_experts()
    game, learner = jo.Game(jo.environments.DataStream(X, y), jo.FullInformation()), as_learner(RULES[name])
    state, history = jo.play(game, learner, jax.random.key(0), T)
    result = aggregate(RULES[name], X, y)
    np.testing.assert_allclose(history.y_hat, result.predictions, rtol=0, atol=1e-14)
    np.testing.assert_allclose(learner.weights(state), result.weights, rtol=1e-13)
    assert np.ptp(np.asarray(result.weights)) > 0.1, "weights that have not moved would be no test"


@pytest.mark.long
@pytest.mark.parametrize("name", ["VAW, truncated", "OMKL-GF"])
def test_n_rounds_ignores_padding(x64, name):
    """By one program for all lengths: one round, a part of a block, and all of them; what follows changes nothing."""
    X, y, dictionary = small_problem(T=70)
    learner = Truncated(VAW(), -1.0, 1.0) if name == "VAW, truncated" else OMKLGF(dictionary)
    X, y, key = jnp.asarray(X), jnp.asarray(np.clip(y, 0.0, 1.0)), jax.random.key(1)
    play = jax.jit(lambda X, y, n: play_sequence(learner, X, y, key, n))
    for n in (1, 40, 70):
        after = jnp.arange(70) >= n
        spoiled = jnp.where(after[:, None], 7.0, X), jnp.where(after, -7.0, y)
        (predictions, weights), state = play(*spoiled, n)
        (short, short_weights), short_state = play_sequence(learner, X[:n], y[:n], key)
        np.testing.assert_allclose(predictions[:n], short, rtol=0, atol=1e-12)
        np.testing.assert_allclose(weights, short_weights, rtol=0, atol=1e-12)
        jax.tree.map(lambda a, b: np.testing.assert_allclose(a, b, rtol=0, atol=1e-11), state, short_state)
    assert play._cache_size() == 1


@pytest.mark.long
def test_expert_forecasts_equal_single_forecasts(x64, monkeypatch):
    """In jobs of one shape, turns and kernels that are played at once; the last one is filled up with the first."""
    N, shapes = 30, [(2, 8)] * 2
    monkeypatch.setattr(kernels, "default_threads", lambda: 2)
    played, play = [], kernels._forecast_batches
    monkeypatch.setattr(kernels, "_forecast_batches", lambda part, *rest: played.append(part) or play(part, *rest))
    X, y = sequence(50, 3)
    dictionary = Dictionary(np.random.default_rng(1).normal(size=(N, 4, 3)))
    forecasts = expert_forecasts(dictionary, X, y, regularizer=0.5)
    assert [part.frequencies.shape[:2] for part in played] == shapes
    assert forecasts.ridge.shape == forecasts.vaw.shape == (50, N)
    for kernel in (0, 1, 14, 15, 29):
        angles = X @ dictionary.frequencies[kernel].T
        Z = np.concatenate([np.sin(angles), np.cos(angles)], axis=1) / 2
        ridge, vaw, _ = normal_equations(Z, y, 0.5)
        np.testing.assert_allclose(forecasts.ridge[:, kernel], ridge, rtol=0, atol=1e-12)
        np.testing.assert_allclose(forecasts.vaw[:, kernel], vaw, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("T", "m", "regularizer"), some([(1, 3, 1.0), (33, 3, 1.0), (300, 20, 0.01), (300, 1, 1.0)], (300, 1, 1.0))
)
def test_forecast_matches_direct_solve(x64, T, m, regularizer):
    Z, y = sequence(T, m)
    ridge, vaw, w = normal_equations(Z, y, regularizer)
    for block in (1, 7, 300) if m == 20 else (1, 32):
        forecasts, state = forecast(Z, y, regularizer=regularizer, block=block)
        np.testing.assert_allclose(forecasts.ridge, ridge, rtol=0, atol=1e-9)
        np.testing.assert_allclose(forecasts.vaw, vaw, rtol=0, atol=1e-9)
        np.testing.assert_allclose(state.w, w, rtol=0, atol=1e-9)


@pytest.mark.long
def test_omkl_gf_equals_its_numpy_loop(x64):
    """A run is replayed in NumPy from its graphs and nodes; the graph is not drawn again after `redraw_rounds`."""
    X, y, dictionary = small_problem(T=30)
    learner = OMKLGF(dictionary, redraw_rounds=12)
    Z = features_in_numpy(dictionary, X)
    state = learner.init(jax.random.key(3), Specs.of_vectors(3, np.float64))
    theta, w, graphs = np.zeros((5, 8)), np.ones(5), []
    predict = jax.jit(lambda state, x: learner.predict(None, state, x))
    update = jax.jit(lambda key, state, x, y: learner.update(key, state, FullOracle(x, y))[0])
    for t in range(len(y)):
        A, pi = np.asarray(state.graph.edges), np.asarray(state.graph.probabilities)
        graphs.append(A)
        eta = 0.1 / np.sqrt(t + 1)
        if t < 12:
            for j in range(2):
                p = (1 - eta ** (j + 1)) * w / w.sum() + eta ** (j + 1) / 5
                np.testing.assert_allclose(pi[:, j], 1 - (1 - p) ** 5, rtol=0, atol=1e-14)
        u = w @ A
        law = (1 - eta) * u / u.sum() + eta / 2
        S = np.flatnonzero(A[:, int(state.node)])
        f = (theta * Z[t]).sum(axis=1)
        prediction = predict(state, jnp.asarray(X[t]))
        assert prediction == pytest.approx(w[S] @ f[S] / w[S].sum(), abs=1e-13)
        q = np.maximum(pi @ law, 0.05)
        for k in S:
            theta[k] -= eta / q[k] * (2 * (f[k] - y[t]) * Z[t, k] + 2e-3 * theta[k])
            w[k] *= np.exp(-eta * ((f[k] - y[t]) ** 2 + 1e-3 * theta[k] @ theta[k]) / q[k])
        state = update(jax.random.key(100 + t), state, jnp.asarray(X[t]), jnp.asarray(y[t]))
        np.testing.assert_allclose(state.theta, theta, rtol=0, atol=1e-13)
        np.testing.assert_allclose(np.exp(state.log_weights), w, rtol=0, atol=1e-13)
    assert all(np.array_equal(graph, graphs[11]) for graph in graphs[11:])
    assert not all(np.array_equal(graph, graphs[0]) for graph in graphs[:12])


@pytest.mark.long
@pytest.mark.parametrize("sampler", some(["correct", "published"], "correct"))
def test_graphs_follow_their_distribution(x64, sampler):
    """Edge (k, j) exists with probability 1 - (1 - p_kj)^M; the published sampler shifts kernels by one. 20,000 first
    graphs, 10 frequencies, false alarm 1e-9 in all. The mutant is one sampler with the other's distribution."""
    dictionary = Dictionary(np.ones((5, 1, 1)))
    learner = OMKLGF(dictionary, sampler=sampler)
    n, specs = 20_000, Specs.of_vectors(1, np.float64)
    states = jax.jit(jax.vmap(lambda key: learner.init(key, specs)))(jax.random.split(jax.random.key(0), n))
    frequency = np.asarray(states.graph.edges, float).mean(axis=0)
    p = np.full(5, 0.2)
    shifted = np.array([0.0, 0.2, 0.2, 0.2, 0.4])
    laws = {"correct": 1 - (1 - p) ** 5, "published": 1 - (1 - shifted) ** 5}

    def distance(law):
        deviation = np.sqrt(np.maximum(law * (1 - law), 1e-12) / n)
        return np.abs((frequency - law[:, None]) / deviation[:, None]).max()

    assert distance(laws[sampler]) < stats.norm.isf(1e-9 / 20)
    assert distance(laws["published" if sampler == "correct" else "correct"]) > 50
    nodes = np.asarray(states.node)
    u = np.asarray(states.graph.edges, float).sum(axis=1)
    chance = np.mean(0.9 * u[:, 1] / u.sum(axis=1) + 0.05)
    assert abs(nodes.mean() - chance) < stats.norm.isf(1e-9 / 2) * 0.5 / np.sqrt(n)
