"""Studies that are killed or interrupted at random moments resume, with the bits of an uninterrupted one."""

import functools
import os
import random
import shutil
import signal
import subprocess
import sys
import time
import warnings
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import stores
from command_calls import ARMS, write
from fresh_python import ROOT

import jaxonline as jo

pytestmark = [
    pytest.mark.long,
    pytest.mark.filterwarnings("ignore:os.fork:RuntimeWarning"),  # the child becomes another program at once
]

DRILL = """
import os, sys, time
import jax, jax.numpy as jnp, numpy as np
import jaxonline as jo

def wait(t):
    time.sleep(0.1)
    return np.zeros(t.shape, np.float32)

@jo.struct
class Slow(jo.Environment):
    oblivious = True
    instance_spec = jax.ShapeDtypeStruct((3,), np.float32)
    outcome_spec = jax.ShapeDtypeStruct((), np.float32)

    def init(self, key):
        return jax.pure_callback(wait, jax.ShapeDtypeStruct((), np.float32), 0.0, vmap_method="broadcast_all")

    def instance(self, key, state, t):
        state += jax.pure_callback(wait, jax.ShapeDtypeStruct((), np.float32), t, vmap_method="broadcast_all")
        return state + jax.random.normal(key, (3,)), state

    def outcome(self, key, state, t, x, y_hat):
        return jnp.tanh(x.sum()), state

def descent(estimator, step):
    return jo.GradientLearner(estimator, step_size=jo.InverseSqrt(step), radius=1.0)

two = descent(jo.estimators.TwoCopies(), 0.2)
learners = {
    "two": two,
    "known": descent(jo.estimators.KnownCovariance(), 0.2),
    "naive": jo.sweep([descent(jo.estimators.NaiveCopy(), step) for step in (0.1, 0.2)]),
}
model = jo.environments.LinearModel(np.array([0.6, -0.8, 0.3]), noise_std=0.1)
environment, learners, sizes = {
    "many blocks": (model, learners, {"n_runs": 96, "n_rounds": 3000, "comparator": jo.L2Ball(1.0)}),
    "one block": (Slow(), {"two": two}, {"n_runs": 8, "n_rounds": 700}),
}[sys.argv[3]]
game = jo.Game(environment, jo.NoisyCopies(jo.noise.gaussian(0.2), reveal_covariance=True))
folder = jo.Checkpoint(sys.argv[1], version="1", every=0.05)
print("begin", flush=True)
result = jo.simulate(game, learners, key=7, block_size=8, record_at=3, checkpoint=folder, **sizes)
best = result.cumulative_loss if result.comparator_loss is None else result.comparator_loss
np.savez(sys.argv[2], loss=result.cumulative_loss, best=best, queries=result.queries)
"""
LEARNERS = {"comparator": [], "learner 0": [0], "learner 1": [1], "learner 2": [2, 3]}


def begin(command, **options):
    environment = {key: value for key, value in os.environ.items() if key != "XLA_FLAGS"} | {"PYTHONPATH": str(ROOT)}
    # in the background of a shell SIGINT is ignored, which children inherit
    listening = functools.partial(signal.signal, signal.SIGINT, signal.default_int_handler)
    return subprocess.Popen(
        [sys.executable, *command], env=environment, preexec_fn=listening, stdout=subprocess.PIPE, **options
    )


def start(folder, study):
    command = ["-W", "error", "-c", DRILL, str(folder / "kept"), str(folder / "numbers.npz"), study]
    return begin(command, stderr=subprocess.DEVNULL)


def end(process, seconds=300.0, kind=signal.SIGKILL):
    """Wait for the beginning of the study and some seconds more, and send a signal; return the exit code."""
    process.stdout.readline()
    try:
        process.wait(seconds)
    except subprocess.TimeoutExpired:
        process.send_signal(kind)
    code = process.wait(timeout=120)
    process.stdout.close()
    return code


def check_readable(folder, blocks):
    recorded = np.zeros((4, 96), bool)
    for path in blocks:
        job, block = path.parent.name, int(path.stem)
        recorded[LEARNERS[job], 8 * block : 8 * (block + 1)] = True
    if not recorded.any():  # the comparator is played first
        return
    with warnings.catch_warnings(action="ignore"):
        result = jo.load_result(folder)
    assert result.runs.tolist() == np.flatnonzero(recorded.any(axis=0)).tolist()
    missing = result.meta.get("missing", {})
    assert [96 - missing.get(name, 0) for name in result.learners] == recorded.sum(axis=1).tolist()
    np.testing.assert_array_equal(np.isfinite(result.cumulative_loss[:, :, 0]), recorded[:, result.runs])


@pytest.fixture
def folders(tmp_path):
    for name in ("cut", "whole"):
        (tmp_path / name).mkdir()
    return tmp_path / "cut", tmp_path / "whole"


def check_the_same(one, other):
    """The stores have the same bytes, and nothing is left over; the numbers have the same bits."""
    assert stores.tree(one / "kept") == stores.tree(other / "kept")
    with np.load(one / "numbers.npz") as first, np.load(other / "numbers.npz") as second:
        assert all(first[name].tobytes() == second[name].tobytes() for name in ("loss", "best", "queries"))


@pytest.mark.parametrize(("kind", "times"), [(signal.SIGKILL, 30), (signal.SIGINT, 20)], ids=["SIGKILL", "SIGINT"])
def test_study_of_48_blocks_survives_signals_at_random_moments(folders, kind, times):
    (cut, whole), moments, began = folders, random.Random(3), time.monotonic()
    assert end(start(whole, "many blocks")) == 0
    longest = 0.7 * (time.monotonic() - began)
    seen, sent, inside, starts = {}, 0, 0, 0
    while sent < times and starts < 3 * times:
        starts += 1
        code = end(start(cut, "many blocks"), moments.uniform(0.0, longest), kind)
        now = {path: path.stat().st_mtime_ns for path in stores.finished(cut / "kept")}
        assert {path: now.get(path) for path in seen} == seen, "no finished block is computed again"
        seen = now
        check_readable(cut / "kept", seen)
        sent, inside = sent + (code != 0), inside + bool(stores.in_progress(cut / "kept"))
        if code == 0:  # it was finished: begin again
            check_the_same(cut, whole)
            shutil.rmtree(cut / "kept")
            seen = {}
    assert end(start(cut, "many blocks")) == 0
    print(f"{sent} times {kind.name} in {starts} starts, {inside} times with saved states inside blocks: the same bits")
    assert sent == times
    check_the_same(cut, whole)


def test_block_survives_ten_kills(folders):
    """Each of 700 rounds waits for 0.1 seconds. Each start continues from the state that the one before it saved."""
    (cut, whole), moments, rounds = folders, random.Random(5), []

    def saved():
        return [path.stat().st_mtime_ns for path in stores.in_progress(cut / "kept")]

    uninterrupted = start(whole, "one block")
    for _ in range(10):
        before, process = saved(), start(cut, "one block")
        while saved() == before and process.poll() is None:
            time.sleep(0.05)
        assert end(process, moments.uniform(0.0, 1.0)) == -signal.SIGKILL
        assert not stores.finished(cut / "kept")
        for path in stores.in_progress(cut / "kept"):
            with np.load(path) as state:
                rounds.append(int(state["round"]))
    assert (end(uninterrupted), end(start(cut, "one block"))) == (0, 0)
    print(f"10 SIGKILLs inside a block of more than 70 s, after {rounds} of 700 rounds: the same bits")
    assert rounds == sorted(rounds)
    assert len(set(rounds)) > 5
    check_the_same(cut, whole)


def test_killed_command_resumes(tmp_path):
    file = write(tmp_path / "arms.toml", ARMS | {"runs": 600, "rounds": 20_000, "record_at": 8, "block_size": 20})

    def run(out):
        command = ["-m", "jaxonline", "run", str(file), "--out", str(tmp_path / out)]
        return begin(command, stderr=subprocess.PIPE, text=True)

    def finished():
        return len(stores.finished(tmp_path / "parts" / "checkpoint"))

    codes = []
    for kind in (signal.SIGKILL, signal.SIGINT, signal.SIGTERM):
        before, process, until = finished(), run("parts"), time.monotonic() + 120
        while finished() <= before + 2 and process.poll() is None and time.monotonic() < until:
            time.sleep(0.02)
        process.send_signal(kind)
        _, message = process.communicate(timeout=60)
        codes.append((process.returncode, "same command" in message))
    print(f"signals KILL, INT, TERM; exit code, and whether the command shows how to resume: {codes}")
    assert codes == [(-signal.SIGKILL, False), (130, True), (130, True)]
    for out in ("whole", "parts"):
        process = run(out)
        process.communicate(timeout=300)
        assert process.returncode == 0
    whole, parts = ((tmp_path / name / "numbers.json").read_bytes() for name in ("whole", "parts"))
    assert whole == parts


def cpu_seconds(process):
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_no_signal_is_lost(tmp_path):
    """60 signals at random CPU times: while modules are imported, programs are compiled, and games are played.

    Without the handler that looks again, Python drops an exception that it raises in JAX's garbage-collection callback.
    """
    file = write(tmp_path / "arms.toml", ARMS | {"runs": 100_000, "rounds": 20_000, "record_at": 8, "block_size": 20})

    def run(out, *options):
        command = ["-m", "jaxonline", "run", str(file), "--out", str(tmp_path / out), *options]
        return begin(command, stderr=subprocess.PIPE, text=True)

    moments, ends = random.Random(0), Counter()
    for _ in range(60):
        process, kind, moment = run("parts"), moments.choice([signal.SIGINT, signal.SIGTERM]), moments.uniform(0.5, 6.0)
        while cpu_seconds(process) < moment:
            assert process.poll() is None
            time.sleep(0.01)
        process.send_signal(kind)
        try:
            _, message = process.communicate(timeout=60)
            ends[process.returncode, "Traceback" in message, "ignored" in message] += 1
            if "Traceback" in message:
                print(moment, kind, message)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            ends["lost"] += 1
    print(f"60 signals; exit code, traceback, ignored exception: {dict(ends)}")
    assert ends == {(130, False, False): 60}
    for out in ("parts", "whole"):
        process = run(out, "--runs", "20")
        process.communicate(timeout=300)
        assert process.returncode == 0
    with warnings.catch_warnings(action="ignore"):
        parts, whole = (jo.load_result(tmp_path / out / "checkpoint") for out in ("parts", "whole"))
    np.testing.assert_array_equal(parts.cumulative_loss[:, :20], whole.cumulative_loss)
