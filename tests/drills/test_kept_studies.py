"""`jaxonline run` of killed, interrupted, extended, edited and invalid studies."""

import copy
import functools
import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest
from command_calls import ARMS, call, write
from fresh_python import ROOT

pytestmark = pytest.mark.fast_compile  # what is compared is compiled in this module


@pytest.mark.long
@pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning")  # the child becomes another program at once
def test_killed_study_resumes(tmp_path):
    """Ended by a signal in the middle, the same command ends with the numbers of an uninterrupted one."""
    table = ARMS | {"runs": 1500, "rounds": 20_000, "record_at": 8, "block_size": 50}
    file = write(tmp_path / "arms.toml", table)
    environment = os.environ | {"PYTHONPATH": str(ROOT), "XLA_FLAGS": ""}

    def start(out):
        command = [sys.executable, "-m", "jaxonline", "run", str(file), "--out", str(tmp_path / out)]
        pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        # in the background of a shell SIGINT is ignored, which children inherit
        listening = functools.partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        return subprocess.Popen(command, env=environment, preexec_fn=listening, **pipes)

    def to_the_end(out):
        process = start(out)
        process.communicate(timeout=300)
        assert process.returncode == 0

    to_the_end("whole")
    codes = []

    def finished():
        return len(list((tmp_path / "parts" / "checkpoint" / "blocks").rglob("*.npz")))

    for end in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
        before, process = finished(), start("parts")
        until = time.monotonic() + 120
        while process.poll() is None and time.monotonic() < until:
            if finished() > before + 2:
                process.send_signal(end)
                break
            time.sleep(0.02)
        _, said = process.communicate(timeout=60)
        codes.append((process.returncode, "same command" in said))
    print(f"signals KILL, INT, TERM; exit code, and whether the command shows how to resume: {codes}")
    assert codes == [(-signal.SIGKILL, False), (130, True), (130, True)]
    to_the_end("parts")
    whole, parts = ((tmp_path / name / "numbers.json").read_bytes() for name in ("whole", "parts"))
    assert whole == parts


def test_interrupted_command_shows_how_to_resume(tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("jaxonline.study.files.study_file.StudyFile.run", interrupted)
    done = call("run", write(tmp_path / "arms.toml", ARMS), "--out", tmp_path / "out")
    assert done.exit_code == 130
    assert "same command" in done.stderr


@pytest.mark.long
def test_study_with_more_runs_resumes_or_raises(tmp_path):
    """More runs in the same blocks are the study played in one go; other blocks are refused by the checkpoint."""
    table = ARMS | {"runs": 6, "block_size": 3}
    file, out = write(tmp_path / "arms.toml", table), tmp_path / "out"
    assert call("run", file, "--out", out).exit_code == 0
    assert call("run", file, "--out", out, "--runs", 9).exit_code == 0
    assert call("run", file, "--out", tmp_path / "whole", "--runs", 9).exit_code == 0
    assert (out / "numbers.json").read_bytes() == (tmp_path / "whole" / "numbers.json").read_bytes()
    write(file, table | {"block_size": 2})
    done = call("run", file, "--out", out)
    assert (done.exit_code, "block_size (was 3, is 2)" in done.stderr) == (2, True)
    write(file, ARMS | {"runs": 6})  # in one block, by default
    assert call("run", file, "--out", tmp_path / "one").exit_code == 0
    done = call("run", file, "--out", tmp_path / "one", "--runs", 9)
    assert (done.exit_code, "give block_size=6" in done.stderr) == (2, True)
    write(file, ARMS | {"runs": 9, "block_size": 6})
    assert call("run", file, "--out", tmp_path / "one").exit_code == 0


@pytest.mark.long
def test_edited_custom_learner_raises(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    call("new", "own-data")
    small = ("run", "own-data.toml", "--runs", 2, "--rounds", 20, "--out", "out")
    assert call(*small).exit_code == 0
    code = tmp_path / "my_learner.py"
    code.write_text(code.read_text().replace("1e-12", "1e-6"))
    done = call(*small)
    assert done.exit_code == 2
    assert "another study" in done.stderr


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::jaxonline.parameters.errors.SkewedRunsWarning")
def test_precision_in_a_study_file_decides_the_runs(tmp_path):
    table = ARMS | {"precision": {"half_width": 0.3, "relative": True, "most_runs": 4000, "least_runs": 64}}
    del table["runs"]
    done = call("run", write(tmp_path / "arms.toml", table), "--out", tmp_path / "out")
    assert done.exit_code == 0, done.output
    assert "looking at the runs" in " ".join(done.stdout.split())
    rows = json.loads((tmp_path / "out" / "numbers.json").read_text())["learners"]
    for each in rows.values():
        assert each["high"][-1] - each["mean"][-1] <= 0.3 * each["mean"][-1]


def test_unsuitable_comparator_error_names_its_key(tmp_path):
    wrong = ARMS | {"comparator": {"type": "L2Ball", "radius": 1.0}}
    done = call("run", write(tmp_path / "arms.toml", wrong), "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert re.match(r"Error: .+arms\.toml:\d+: comparator: L2Ball (must|cannot)", done.stderr)


def test_unsuitable_learner_leaves_no_files(tmp_path):
    wrong = copy.deepcopy(ARMS)
    wrong["learners"]["odd"] = "Perceptron"
    done = call("run", write(tmp_path / "arms.toml", wrong), "--out", tmp_path / "out")
    assert done.exit_code == 2
    assert "learners.odd: " in done.stderr
    assert not (tmp_path / "out").exists()
