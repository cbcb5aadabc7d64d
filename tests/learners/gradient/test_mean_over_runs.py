"""The mean hypothesis of gradient learners over runs against the exact expectation."""

import jax
import numpy as np
import pytest
from registry import COVARIANCE
from scipy import stats

import jaxonline as jo
from benchmarks.papers.claims.noise import PrintedKnownCovariance
from jaxonline.estimators import KnownCovariance, MeanOfCopies, NaiveCopy, TwoCopies
from jaxonline.parameters.struct import struct
from jaxonline.simulation import blocks

HORIZON, ETA, RUNS = 32, 0.08, 4096
FALSE_ALARM = 1e-6  # of each test, two-sided, multiplicity over recorded rounds included
READ_OUTS = 4
LIMIT = stats.norm.ppf(1 - FALSE_ALARM / (2 * READ_OUTS))


def fixed_data():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(HORIZON, 3)) / 2
    return X, X @ np.array([1.5, -1.0, 0.8]) + 0.5


def mean_path(extra: np.ndarray) -> np.ndarray:
    """E <w_t, x_t> [T] when E g = 2 (x x' + extra) w - 2 y x: the recursion of E w."""
    X, y = fixed_data()
    m, out = np.zeros(3), []
    for x, target in zip(X, y, strict=True):
        out.append(m @ x)
        m = m - 2 * ETA * ((np.outer(x, x) + extra) @ m - target * x)
    return np.array(out)


@struct
class Residual:
    """A linear "loss", whose expected sum is linear in E w."""

    def __call__(self, y_hat, y):
        return y_hat - y


@struct
class TimesTooMuch:
    """A mutant: two copies, with a mean that is 5 % too long."""

    def __call__(self, key, w, oracle):
        return 1.05 * TwoCopies()(key, w, oracle)


def simulated(estimator) -> jo.Result:
    laws = jo.noise.gaussian(COVARIANCE), jo.noise.gaussian(0.09)
    game = jo.Game(jo.environments.DataStream(*fixed_data()), jo.NoisyCopies(*laws, reveal_covariance=True), Residual())
    learner, mesh = jo.GradientLearner(estimator, step_size=ETA), blocks.default_mesh(jax.devices()[:1])
    return jo.simulate(game, learner, n_runs=RUNS, n_rounds=HORIZON, key=2, record_at=READ_OUTS, mesh=mesh)


def scores(result: jo.Result, exact_per_round: np.ndarray) -> np.ndarray:
    """z-scores of the mean cumulative loss at the recorded rounds."""
    estimate = result.mean("cumulative_loss")
    exact = np.cumsum(exact_per_round)[result.rounds - 1]
    return (estimate.mean[0] - exact) / estimate.standard_error[0]


BIAS = {  # E g = 2 (x x' + extra) w - 2 y x
    "two copies": (TwoCopies(), 0.0),
    "known covariance": (KnownCovariance(), 0.0),
    "as printed (E11)": (PrintedKnownCovariance(), 0.5),
    "naive": (NaiveCopy(), 1.0),
    "mean of 4 copies": (MeanOfCopies(4), 0.25),
}


@pytest.mark.long
@pytest.mark.parametrize("name", BIAS)
def test_mean_hypothesis_equals_the_exact_expectation(name):
    """E w obeys a linear recursion with the bias of the estimator; without it, z > 20."""
    estimator, extra = BIAS[name]
    _, y = fixed_data()
    result, unbiased = simulated(estimator), mean_path(np.zeros((3, 3))) - y
    assert (np.abs(scores(result, mean_path(extra * COVARIANCE) - y)) < LIMIT).all()
    without_bias = np.abs(scores(result, unbiased)).max()
    assert without_bias > 20 if extra else without_bias < LIMIT
    if name == "two copies":
        assert np.abs(scores(simulated(TimesTooMuch()), unbiased)).max() > LIMIT
