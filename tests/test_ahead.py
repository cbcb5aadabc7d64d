"""Programs that are compiled ahead are the ones that are played."""

import re

import jax
import numpy as np
import pytest

import jaxonline as jo
from jaxonline.learners import InverseTime
from jaxonline.simulation import ahead, monte_carlo
from jaxonline.simulation.segments import advance

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
    assert "XLA compilation of jit(begin)" in said
    assert "XLA compilation of jit(advance)" not in said


def test_the_numbers_are_those_of_each_learner_alone():
    together = study(29)
    for i, name in enumerate(STEPS):
        np.testing.assert_array_equal(together.cumulative_loss[i], study(29, (name,)).cumulative_loss[0])


def test_the_next_one_is_under_way_when_a_job_is_played(monkeypatch):
    begun, played = [], []
    monkeypatch.setattr(ahead, "_lowered", lambda job: begun.append(job) or jax.jit(lambda: 0).lower())
    monkeypatch.setattr(monte_carlo, "play_job", lambda job, *_: played.append((job, list(begun))) or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        study(29)
    (first, before), *others = played
    assert not others
    assert [job.name for job in before] == ["fixed", "falling"]
    assert first.name == "fixed"


def test_a_single_job_is_just_played(monkeypatch):
    monkeypatch.setattr(ahead, "_lowered", None)
    assert list(ahead.compiled_ahead(["job"])) == ["job"]


@pytest.mark.filterwarnings("ignore:step_size = 0.1 is the smallest:RuntimeWarning")
def test_a_search_is_one_program_also_where_its_first_rung_leaves_devices_idle():
    """Of eight devices it plays on the two that the 9 runs of the first rung keep busy, in both rungs."""
    game = jo.Game(jo.environments.DataStream(np.eye(31), np.ones(31)), jo.FullInformation())
    learner = jo.GradientLearner(jo.estimators.FullGradient(), 0.1)
    steps = {"step_size": [0.1, 0.2, 0.3, 0.4]}
    before = advance.n_compiled()
    jo.tune(game, learner, steps, n_runs=27, n_rounds=5, rungs=2, factor=3)
    assert advance.n_compiled() == before + 1
