"""OMKL-GF against NumPy, and the distribution of its graphs."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from kernel_dictionary import features_in_numpy, small_problem
from scipy import stats
from tiers import some

from benchmarks.papers.engines.omkl_gf import OMKLGF, Graph
from jaxonline.estimators.fourier import Dictionary
from jaxonline.feedback import FullOracle
from jaxonline.game import Specs


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


def test_a_node_has_the_weight_of_its_kernels_and_explores():
    """p_c,j = (1 - eta_e) u_j / sum u + eta_e / J by hand, for three kernels and eta_e = 0.1 / sqrt(4)."""
    edges, w = jnp.array([[True, False], [True, True], [False, True]]), jnp.array([0.5, 0.3, 0.2], jnp.float32)
    learner = OMKLGF(Dictionary(np.ones((3, 1, 1))))
    law = jax.jit(learner._node_probabilities)(jnp.log(w), Graph(edges, edges), jnp.int32(4))
    np.testing.assert_allclose(law, 0.95 * np.array([0.8, 0.5]) / 1.3 + 0.05 / 2, rtol=1e-6)


@pytest.mark.long
@pytest.mark.parametrize("sampler", some(["correct", "published"], "correct"))
def test_graphs_follow_their_distribution(x64, sampler):
    """Edge (k, j) exists with probability 1 - (1 - p_kj)^M; the published sampler shifts kernels by one.

    20,000 first graphs, 10 frequencies, false alarm 1e-9 in all: |z| < 6.5. The mutant, one sampler
    with the other's distribution, is detected by its first kernel (frequency 0 instead of 0.67).
    """
    dictionary = Dictionary(np.ones((5, 1, 1)))
    learner = OMKLGF(dictionary, sampler=sampler)
    spec = jax.ShapeDtypeStruct((1,), np.float64)
    n = 20_000
    states = jax.jit(jax.vmap(lambda key: learner.init(key, Specs(spec, jax.ShapeDtypeStruct((), spec.dtype)))))(
        jax.random.split(jax.random.key(0), n)
    )
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


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: OMKLGF(Dictionary(np.ones((1, 1, 1))), sampler="wrong"), r"^sampler\b"),
        (lambda: OMKLGF(Dictionary(np.ones((1, 1, 1))), n_draws=0), r"^n_draws\b"),
        (lambda: OMKLGF(Dictionary(np.ones((1, 1, 1))), least_probability=0.0), r"^least_probability\b"),
    ],
)
def test_wrong_arguments_raise_errors(call, message):
    with pytest.raises(ValueError, match=message):
        call()
