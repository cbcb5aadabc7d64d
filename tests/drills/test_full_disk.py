"""Studies on a full disk."""

import errno
import os
import subprocess
import sys
import warnings

import numpy as np
import pytest
import stores
from fresh_python import ROOT
from small_study import assert_same_bits, study
from stopping import SWEEP

import jaxonline as jo
from jaxonline.parameters.errors import UnfinishedStudyWarning
from jaxonline.store import files


@pytest.mark.long
def test_study_resumes_after_a_full_disk(tmp_path, monkeypatch):
    reference, write, left = study(SWEEP, n_runs=7), files.write_atomically, [9]

    def full(path, content):
        left[0] -= 1
        if left[0] < 0:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))
        write(path, content)

    monkeypatch.setattr(files, "write_atomically", full)
    for _ in range(2):
        with pytest.raises(OSError, match="No space left on device") as error:
            study(SWEEP, n_runs=7, checkpoint=tmp_path)
        assert str(tmp_path) in error.value.filename
        with pytest.warns(UnfinishedStudyWarning, match="is unfinished"):
            found = jo.load_result(tmp_path)
        done = np.isfinite(found.cumulative_loss)
        assert 0 < done.sum() < done.size
        np.testing.assert_array_equal(found.cumulative_loss[done], reference.cumulative_loss[:, found.runs][done])
    monkeypatch.undo()
    assert_same_bits(study(SWEEP, n_runs=7, checkpoint=tmp_path), reference)


FULL = """
import sys
import numpy as np, jaxonline as jo
environment = jo.environments.LinearModel(np.array([0.6, -0.8, 0.3]), noise_std=0.1)
game = jo.Game(environment, jo.NoisyCopies(jo.noise.gaussian(0.2)))
learner = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=0.1, radius=1.0)
jo.simulate(game, learner, n_runs=512, n_rounds=50, block_size=16, comparator=jo.L2Ball(1.0), checkpoint=sys.argv[1])
"""


@pytest.fixture
def small_disk(tmp_path):
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", str(tmp_path)], capture_output=True)
    if done.returncode:
        pytest.skip("only the superuser makes disks; the test with a writer without room is for all")
    yield tmp_path
    subprocess.run(["umount", str(tmp_path)], check=True)


@pytest.mark.long
def test_study_on_a_small_disk(small_disk):
    folder, environment = small_disk / "kept", os.environ | {"PYTHONPATH": str(ROOT)}

    def run(folder):
        command = [sys.executable, "-c", FULL, str(folder)]
        return subprocess.run(command, env=environment, capture_output=True, text=True)

    *_, line = run(folder).stderr.splitlines()
    assert line.startswith(f"OSError: [Errno 28] No space left on device: '{folder}/")
    with pytest.warns(UnfinishedStudyWarning, match="is unfinished"):
        found = jo.load_result(folder)
    assert 16 <= len(found.runs) < 512
    subprocess.run(["mount", "-o", "remount,size=9m", str(small_disk)], check=True)
    for each in (folder, small_disk / "elsewhere"):
        assert run(each).returncode == 0
    with warnings.catch_warnings(action="error"):
        whole = jo.load_result(folder)
    np.testing.assert_array_equal(whole.cumulative_loss[:, found.runs], found.cumulative_loss)
    assert stores.tree(folder) == stores.tree(small_disk / "elsewhere")
