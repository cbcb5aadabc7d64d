"""BOA and ML-Poly reproduce the numbers that the authors of `opera` published.

The data are those of the package's vignette: the French weekly electric load and its forecasts by three models
(`electric_load.csv`: from data/experts.csv and data/targets.csv of opera-python, rounded to one decimal).
"""

from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxonline.learners import BOA, MLPoly

pytestmark = pytest.mark.fast_compile

FORECASTS = np.loadtxt(Path(__file__).with_name("electric_load.csv"), delimiter=",", skiprows=1)
X, Y = FORECASTS[:, :3], FORECASTS[:, 3]


def weights_of(combiner, n_rounds, judge):
    """Return weights before each round and after the last; `judge(predictions, mean, y)` returns the losses."""

    @jax.jit
    def run(X, y):
        def play_round(state, row):
            x, y = row
            weights = combiner.weights(state)
            return combiner.update(state, *judge(x, weights @ x, y)), weights

        state, weights = jax.lax.scan(play_round, combiner.init(3, X.dtype), (X, y))
        return jnp.vstack([weights, combiner.weights(state)])

    return np.asarray(run(jnp.asarray(X[:n_rounds]), jnp.asarray(Y[:n_rounds])))


def absolute(x, mean, y):
    return jnp.abs(x - y), jnp.abs(mean - y)


def linear_of_squared(x, mean, y):
    return 2 * (mean - y) * x, 2 * (mean - y) * mean


def linear_of_absolute(x, mean, y):
    return jnp.sign(mean - y) * x, jnp.sign(mean - y) * mean


def test_boa_reproduces_weights_of_opera_python(x64):
    """presentation.ipynb of opera-python: weights before the last of 100 rounds, or after it, for three losses. The
    rounding of the data changes them by about 1e-5; another loss changes them by 0.1."""
    published = {
        absolute: (99, [0.9144574, 0.05490843, 0.03063417]),
        linear_of_squared: (100, [0.76757951, 0.15823262, 0.07418788]),
        linear_of_absolute: (99, [0.71018186, 0.11499822, 0.17481992]),
    }
    weights_by_loss = {judge: weights_of(BOA(), 100, judge) for judge in published}
    for judge, (t, weights) in published.items():
        np.testing.assert_allclose(weights_by_loss[judge][t], weights, atol=1e-4)
    first = [[0.91823072, 0.05492458, 0.0268447], [0.74426645, 0.11538228, 0.14035127]]
    weights_95 = [weights_by_loss[judge][95] for judge in (absolute, linear_of_absolute)]
    np.testing.assert_allclose(weights_95, first, atol=1e-4)


def test_ml_poly_reproduces_weights_and_errors_of_r_opera(x64):
    """README of R's opera: weights 0.577, 0.423 and 0 after 112 rounds, root mean squared error 1460 (1480 of the best
    expert, 1560 of the plain mean)."""
    weights = weights_of(MLPoly(initial=float(np.exp(700.0))), 112, linear_of_squared)
    np.testing.assert_allclose(weights[-1], [0.577, 0.423, 0.0], atol=5e-4)
    errors = [(weights[:-1] * X).sum(axis=1) - Y, X.mean(axis=1) - Y, X[:, 0] - Y]
    assert [round(float(np.sqrt(np.mean(e**2))), -1) for e in errors] == [1460, 1560, 1480]
