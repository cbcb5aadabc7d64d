"""Stores that an earlier version wrote are read, or rejected with what to do.

`data/stores_of_format_1.zip` holds a study and a saved result of the commit before the format "jaxonline study 2".
"""

import zipfile
from pathlib import Path

import numpy as np
import pytest
import stores

import jaxonline as jo


@pytest.fixture
def earlier(tmp_path):
    with zipfile.ZipFile(Path(__file__).parent / "data" / "stores_of_format_1.zip") as archive:
        archive.extractall(tmp_path)
    return tmp_path


def test_a_saved_result_is_read(earlier):
    result = jo.load_result(earlier / "result")
    assert (result.learners, result.rounds.tolist(), result.runs.tolist()) == (("gradient",), [3, 6], [0, 1])
    np.testing.assert_array_equal(result.regret, np.full((1, 2, 2), 3.0))
    assert result.meta["versions"]["jaxonline"] == "0.1.0"


def test_a_study_is_rejected_and_left_as_it_is(earlier):
    before = stores.tree(earlier)
    game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
    learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)
    message = r"study.* jaxonline 0\.1\.0 in the format 'jaxonline study 1'"
    with pytest.raises(ValueError, match=message):
        jo.load_result(earlier / "study")
    with pytest.raises(ValueError, match=f"checkpoint .*{message}"):
        jo.simulate(
            game, {"gradient": learner}, n_runs=2, n_rounds=6, record_at=2, comparator=jo.L2Ball(2.0),
            checkpoint=jo.Checkpoint(earlier / "study", version="1"),
        )  # fmt: skip
    assert stores.tree(earlier) == before
