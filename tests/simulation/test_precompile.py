"""Jobs use the programs that were compiled in advance, and nothing is compiled twice."""

import re

import jax
import numpy as np
import pytest
from count_programs import n_compiled

import jaxonline as jo
from jaxonline.learners import InverseTime
from jaxonline.simulation import jobs

STEPS = {"fixed": 0.1, "falling": jo.InverseSqrt(0.1), "inverse": InverseTime(0.1)}


def study(d, names=tuple(STEPS)):
    """Learners with programs of their own, in a game of a size that no other test has."""
    game = jo.Game(jo.environments.DataStream(np.eye(d), np.ones(d)), jo.FullInformation())
    learners = {name: jo.GradientLearner(jo.estimators.FullGradient(), STEPS[name]) for name in names}
    return jo.simulate(game, learners, n_runs=2, n_rounds=20, record_at=1)


def test_every_program_is_compiled_once(caplog):
    """It is traced and lowered once; what the threads compile is not logged here, and nothing else is compiled."""
    with jax.log_compiles():
        study(29)
    said = " ".join(record.message for record in caplog.records)
    for name in ("begin", "advance"):
        assert len(re.findall(rf"MLIR module conversion jit\({name}\)", said)) == len(STEPS)
        assert f"XLA compilation of jit({name})" not in said


@pytest.mark.parametrize("settings", [lambda: jax.enable_x64(True), lambda: jax.default_matmul_precision("highest")])
def test_jax_config_contexts_do_not_compile_twice(settings):
    """The threads that compile are not in that context."""
    before = [n_compiled(name) for name in ("begin", "advance")]
    with settings():
        study(43)
    assert [n_compiled(name) for name in ("begin", "advance")] == [n + len(STEPS) for n in before]


def test_other_static_fields_compile_another_program(monkeypatch):
    """Static fields are in the structure of a learner, and not in its hash as jax has it."""
    asked, compiled = [], jobs._start_compiling
    monkeypatch.setattr(jobs, "_start_compiling", lambda job, pool: asked.append(job.name) or compiled(job, pool))
    game = jo.Game(jo.environments.DataStream(np.eye(53), np.ones(53)), jo.FullInformation())
    for hypothesis in ("last", "average", "last"):
        learner = jo.GradientLearner(jo.estimators.FullGradient(), 0.1, hypothesis=hypothesis)
        jo.simulate(game, {hypothesis: learner}, n_runs=2, n_rounds=20, record_at=1)
    assert asked == ["last", "average"]


def test_finished_jobs_are_not_compiled(monkeypatch, tmp_path):
    path = tmp_path / "study"
    learner = jo.GradientLearner(jo.estimators.FullGradient(), 0.1)
    game = jo.Game(jo.environments.DataStream(np.eye(2), np.ones(2)), jo.FullInformation())
    options = {"n_runs": 2, "n_rounds": 20, "record_at": 1, "checkpoint": path}
    before = jo.simulate(game, learner, **options)
    monkeypatch.setattr(jobs, "_compiled_kinds", set())
    monkeypatch.setattr(jobs, "_start_compiling", None)
    np.testing.assert_array_equal(jo.simulate(game, learner, **options).cumulative_loss, before.cumulative_loss)


@pytest.mark.filterwarnings("ignore:step_size = 0.1 is the smallest:UserWarning")
def test_search_compiles_one_program_even_if_its_first_rung_needs_few_devices():
    """Of eight devices it plays on the two that the 9 runs of the first rung keep busy, in both rungs."""
    game = jo.Game(jo.environments.DataStream(np.eye(31), np.ones(31)), jo.FullInformation())
    learner = jo.GradientLearner(jo.estimators.FullGradient(), 0.1)
    steps = {"step_size": [0.1, 0.2, 0.3, 0.4]}
    before = n_compiled("advance")
    jo.tune(game, learner, steps, n_runs=27, n_rounds=5, rungs=2, factor=3)
    assert n_compiled("advance") == before + 1
