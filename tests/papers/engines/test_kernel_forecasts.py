"""Forecasts of many kernels in parallel equal those of each kernel alone."""

import jax
import numpy as np
import pytest
from tiers import some
from vaw_equations import normal_equations, sequence

import jaxonline as jo
from benchmarks.papers.engines import kernels
from benchmarks.papers.engines.kernels import expert_forecasts
from jaxonline.estimators.dictionary import Dictionary
from jaxonline.learners.linear.vaw import VAW


@pytest.mark.parametrize(
    ("N", "cores", "shapes"),
    some(
        [(2, 3, [(1, 1)] * 2), (30, 2, [(2, 8)] * 2), (131, 2, [(3, 11)] * 4), (30, 1, [(3, 10)])],
        (30, 2, [(2, 8)] * 2),
    ),
)
def test_expert_forecasts_equal_single_forecasts(x64, monkeypatch, N, cores, shapes):
    """In jobs of one shape, turns and kernels that are played at once; the last one is filled up with the first."""
    monkeypatch.setattr(kernels, "default_threads", lambda: cores)
    played, play = [], kernels._forecast_batches
    monkeypatch.setattr(
        kernels, "_forecast_batches", lambda part, *rest: played.append(part) or play(part, *rest)
    )
    X, y = sequence(50, 3)
    dictionary = Dictionary(np.random.default_rng(1).normal(size=(N, 4, 3)))
    forecasts = expert_forecasts(dictionary, X, y, regularizer=0.5)
    assert [part.frequencies.shape[:2] for part in played] == shapes
    assert forecasts.ridge.shape == forecasts.vaw.shape == (50, N)
    for kernel in {0, 1, N // 2 - 1, N // 2, N - 1}:
        angles = X @ dictionary.frequencies[kernel].T
        Z = np.concatenate([np.sin(angles), np.cos(angles)], axis=1) / 2
        ridge, vaw, _ = normal_equations(Z, y, 0.5)
        np.testing.assert_allclose(forecasts.ridge[:, kernel], ridge, rtol=0, atol=1e-12)
        np.testing.assert_allclose(forecasts.vaw[:, kernel], vaw, rtol=0, atol=1e-12)


def test_kernel_forecasts_match_the_learner_in_the_game(x64):
    X, y = sequence(30, 3)
    dictionary = Dictionary(np.random.default_rng(1).normal(size=(3, 4, 3)))
    forecasts = expert_forecasts(dictionary, X, y)
    game = jo.Game(jo.environments.DataStream(X, y), jo.FullInformation())
    learner = VAW(features=Dictionary(dictionary.frequencies[1:2]))
    history = jo.play(game, learner, jax.random.key(0), 30)[1]
    np.testing.assert_allclose(forecasts.vaw[:, 1], history.y_hat, rtol=0, atol=1e-12)
