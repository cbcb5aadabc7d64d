"""Learners in other processes: joblib, and processes that are forked after JAX was used."""

import numpy as np
import pytest
from fresh_python import run_python

import jaxonline as jo

pytestmark = pytest.mark.long


def test_processes_of_joblib_give_the_same_numbers():
    joblib = pytest.importorskip("joblib")
    game = jo.Game(jo.environments.LinearModel([0.5, -0.5]), jo.FullInformation())
    learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.1)
    sizes = {"n_runs": 4, "n_rounds": 5}
    expected = jo.simulate(game, learner, key=3, **sizes).cumulative_loss
    jobs = [joblib.delayed(jo.simulate)(game, learner, key=key, **sizes) for key in (3, 4)]
    results = joblib.Parallel(n_jobs=2)(jobs)
    np.testing.assert_array_equal(results[0].cumulative_loss, expected)
    assert (results[1].cumulative_loss != expected).any()


FORK = """
import os, signal, sys, warnings
import jaxonline as jo

game = jo.Game(jo.environments.LinearModel([0.5, -0.5]), jo.FullInformation())
learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.1)
live = jo.Live(learner)
calls = {
    "simulate": lambda: jo.simulate(game, learner, n_runs=4, n_rounds=5),
    "tune": lambda: jo.tune(game, learner, {"step_size": [0.1, 0.2]}, n_runs=2, n_rounds=5),
    "play": lambda: jo.play(game, learner, 0, 5),
    "live": lambda: live.predict([1.0, 2.0]),
    "verify": lambda: jo.verify.unbiased(lambda key: jo.random.normal(key), 0.0),
}
calls["simulate"]()
for name, call in calls.items():
    with warnings.catch_warnings(action="ignore"):
        child = os.fork()
    if child == 0:
        signal.alarm(60)
        try:
            call()
        except RuntimeError as error:
            print(name, type(error).__name__, flush=True)
        os._exit(0)
    os.waitpid(child, 0)
"""


def test_forked_process_raises_instead_of_waiting_forever():
    lines = run_python(FORK).splitlines()
    assert lines == [f"{name} ForkedProcessError" for name in ("simulate", "tune", "play", "live", "verify")]
