"""Jobs use programs that were compiled in advance, nothing is compiled twice, and the remaining time is estimated."""

import itertools
import re

import jax
import numpy as np
import pytest
from count_programs import n_compiled

import jaxonline as jo
from jaxonline.learners import InverseTime
from jaxonline.simulation import jobs
from jaxonline.simulation.progress import Reporter

STEPS = {"fixed": 0.1, "falling": jo.InverseSqrt(0.1), "inverse": InverseTime(0.1)}


def game(d):
    return jo.Game(jo.environments.DataStream(np.eye(d), np.ones(d)), jo.FullInformation())


def study(d, **options):
    """Learners with programs of their own, in a game of a size that no other test has."""
    learners = {name: jo.GradientLearner(jo.estimators.FullGradient(), step) for name, step in STEPS.items()}
    return jo.simulate(game(d), learners, n_runs=2, n_rounds=20, record_at=1, **options)


def test_every_program_is_compiled_once(caplog):
    """It is traced and lowered once; what the threads compile is not logged here, and nothing else is compiled."""
    with jax.log_compiles():
        study(29)
    said = " ".join(record.message for record in caplog.records)
    for name in ("begin", "advance"):
        assert len(re.findall(rf"MLIR module conversion jit\({name}\)", said)) == len(STEPS)
        assert f"XLA compilation of jit({name})" not in said


@pytest.mark.long
@pytest.mark.parametrize("settings", [lambda: jax.enable_x64(True), lambda: jax.default_matmul_precision("highest")])
def test_jax_config_contexts_do_not_compile_twice(settings):
    before = [n_compiled(name) for name in ("begin", "advance")]
    with settings():
        study(43)
    assert [n_compiled(name) for name in ("begin", "advance")] == [n + len(STEPS) for n in before]


def test_other_static_fields_compile_another_program(monkeypatch):
    asked, compiled = [], jobs._start_compiling
    monkeypatch.setattr(jobs, "_start_compiling", lambda job, pool: asked.append(job.name) or compiled(job, pool))
    for hypothesis in ("last", "average", "last"):
        learner = jo.GradientLearner(jo.estimators.FullGradient(), 0.1, hypothesis=hypothesis)
        jo.simulate(game(53), {hypothesis: learner}, n_runs=2, n_rounds=20, record_at=1)
    assert asked == ["last", "average"]


def test_finished_jobs_are_not_compiled(monkeypatch, tmp_path):
    before = study(2, checkpoint=tmp_path)
    monkeypatch.setattr(jobs, "_compiled_kinds", set())
    monkeypatch.setattr(jobs, "_start_compiling", None)
    np.testing.assert_array_equal(study(2, checkpoint=tmp_path).cumulative_loss, before.cumulative_loss)


@pytest.mark.filterwarnings("ignore:step_size = 0.1 is the smallest:UserWarning")
def test_search_compiles_one_program_even_if_its_first_rung_needs_few_devices():
    """Of eight devices it plays on the two that the 9 runs of the first rung keep busy, in both rungs."""
    learner, steps = jo.GradientLearner(jo.estimators.FullGradient(), 0.1), {"step_size": [0.1, 0.2, 0.3, 0.4]}
    before = n_compiled("advance")
    jo.tune(game(31), learner, steps, n_runs=27, n_rounds=5, rungs=2, factor=3)
    assert n_compiled("advance") == before + 1


def test_the_remaining_time_follows_from_two_blocks_of_one_learner(monkeypatch):
    """Six blocks of two steps. The first block takes 100 s, the others 1 s a step.

    The second learner has the pace of all steps, with the compilation of the first one.
    """
    clock = itertools.chain([0.0, 50.0, 100.0], itertools.count(101.0))
    monkeypatch.setattr("jaxonline.simulation.progress.time.monotonic", lambda: next(clock))
    with Reporter(False, total=12) as reporter:

        def seconds_left(learner, n_steps):
            left = []
            for _ in range(n_steps):
                reporter.advance("a block", learner, steps_per_block=2)
                left.append(reporter.seconds_left)
            return left

        assert seconds_left("first", 6) == [None, None, None, 8.0, 7.0, 6.0]
        assert seconds_left("second", 6) == [None, None, None, 108 / 10 * 2, 109 / 11, 0.0]
        reporter.advance("best in hindsight")
        assert reporter.seconds_left is None
