"""Learners over whole sequences: the same predictions as in the game, for sequences of any length."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from tiers import some

import jaxonline as jo
from benchmarks.papers.engines.kernels import aggregate, play_sequence
from jaxonline.estimators.dictionary import Dictionary
from jaxonline.learners import OMKLGF
from jaxonline.learners.experts.aggregating import Aggregating
from jaxonline.learners.experts.boa import BOA
from jaxonline.learners.experts.ewa import EWA
from jaxonline.learners.experts.ml_poly import MLPoly
from jaxonline.learners.experts.ml_prod import MLProd
from jaxonline.learners.experts.over_advice import OverAdvice, as_learner
from jaxonline.learners.experts.truncated import Truncated
from jaxonline.learners.linear.vaw import VAW

T = 200
TRUNCATED = Truncated(EWA(0.5))
RULES = {
    "ewa": EWA(0.5),
    "ewa, late start": OverAdvice(EWA(0.5), late_start=True),
    "aggregating": Aggregating(0.0, 1.0),
    "aggregating, late start": Aggregating(0.0, 1.0, late_start=True),
    "boa": BOA(),
    "ml-poly": MLPoly(),
    "ml-prod": MLProd(),
    "vaw": VAW(),
    "ridge": VAW(forward=False),
}


def game_of_experts(T=T, K=7, seed=0):
    rng = np.random.default_rng(seed)
    y = np.clip(0.5 + 0.3 * np.sin(np.arange(T) / 9) + 0.1 * rng.normal(size=T), 0, 1)
    noise = rng.uniform(0.02, 0.5, size=K)
    return np.clip(y[:, None] + noise * rng.normal(size=(T, K)), 0, 1), y


def small_problem(T=40, d=3, N=5, m=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(T, d))
    return X, rng.uniform(size=T), Dictionary(rng.normal(size=(N, m, d)))


@pytest.mark.parametrize("name", some(RULES, "ewa, late start"))
def test_play_sequence_matches_the_learner_in_the_game(x64, name):
    """The offline forecaster, in blocks or not, is the algorithm of the game."""
    X, y = game_of_experts()
    game, learner = jo.Game(jo.environments.DataStream(X, y), jo.FullInformation()), as_learner(RULES[name])
    state, history = jo.play(game, learner, jax.random.key(0), T)
    result = aggregate(RULES[name], X, y)
    np.testing.assert_allclose(history.y_hat, result.predictions, rtol=0, atol=1e-14)
    np.testing.assert_allclose(learner.weights(state), result.weights, rtol=1e-13)
    assert np.ptp(np.asarray(result.weights)) > 0.1, "weights that have not moved would be no test"


@pytest.mark.long
@pytest.mark.parametrize("name", some(["VAW", "VAW, truncated", "EWA, truncated", "OMKL-GF"], "VAW, truncated"))
def test_n_rounds_ignores_padding(x64, name):
    """By one program for all lengths: one round, a part of a block, and all of them; what follows changes nothing."""
    X, y, dictionary = small_problem(T=70)
    learner = {
        "VAW": VAW(features=dictionary),
        "VAW, truncated": Truncated(VAW(), -1.0, 1.0),
        "EWA, truncated": TRUNCATED,
        "OMKL-GF": OMKLGF(dictionary),
    }[name]
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
