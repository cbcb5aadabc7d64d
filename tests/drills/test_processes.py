"""Other processes: forks after JAX was used, and workers whose files differ from those of the client."""

import importlib
import os
import shutil
import subprocess
import sys
import types
from contextlib import contextmanager

import distributed
import jax
import numpy as np
import pytest
import stores
from fresh_python import ROOT, run_python

import jaxonline as jo

pytestmark = pytest.mark.long


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


LEARNER = """
import jax.numpy as jnp
import jaxonline as jo

{law}

@jo.struct
class State:
    total: object

@jo.struct
class Base(jo.Learner):
    def init(self, key, specs):
        return State(jnp.zeros(()))

@jo.struct
class Learner(Base):
    def predict(self, key, state, x):
        return law(jnp.sum(x))

    def update(self, key, state, oracle):
        return state, None
"""
INSIDE = "def law(x):\n    import {0}\n    return {0}.S * x"

# law, files of the client, files of the worker, whether the worker is rejected
CASES = {
    "comment": (INSIDE.format("helpers_comment"), "S = 2.0", "# a remark\nS = 2.0", False),
    "edited": (INSIDE.format("helpers_edited"), "S = 2.0", "S = 3.0", True),
    "missing": (INSIDE.format("helpers_missing"), "S = 2.0", None, True),
    "outside": ("from helpers_outside import S\ndef law(x): return S * x", "S = 2.0", "S = 3.0", True),
}  # fmt: skip


@contextmanager
def worker(path):
    """A scheduler in this process, and a worker process that imports from the folders of `path`."""
    options = {"processes": False, "n_workers": 0, "dashboard_address": "127.0.0.1:0", "protocol": "tcp"}
    with distributed.LocalCluster(host="127.0.0.1", **options) as cluster, distributed.Client(cluster) as client:
        command = [
            sys.executable, "-P", "-m", "distributed.cli.dask_worker", cluster.scheduler_address, "--nthreads", "1",
            "--no-dashboard", "--no-nanny",
        ]  # fmt: skip
        environment = os.environ | {"PYTHONPATH": os.pathsep.join(map(str, path))}
        with subprocess.Popen(command, env=environment, stderr=subprocess.DEVNULL) as process:
            try:
                client.wait_for_workers(1, timeout=120)
                yield client
            finally:
                process.terminate()


def play(learner, folder, **options):
    game = jo.Game(jo.environments.DataStream(np.eye(2), np.ones(2)), jo.FullInformation())
    result = jo.simulate(game, learner, n_runs=2, n_rounds=2, record_at=1, checkpoint=folder, **options)
    return float(result.cumulative_loss[0, 0, -1])


def test_worker_with_an_edited_package_is_rejected(tmp_path):
    shutil.copytree(ROOT / "jaxonline", tmp_path / "jaxonline", ignore=shutil.ignore_patterns("__pycache__"))
    file = tmp_path / "jaxonline" / "learners" / "gradient" / "descent.py"
    file.write_text(file.read_text() + "\nEDITED = True\n")
    learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)
    rejected = pytest.raises(ValueError, match=r"cluster: the worker at tcp.* must have the code of jaxonline")
    with worker([tmp_path]) as client, rejected:
        play(learner, tmp_path / "store", cluster=client)
    assert not (tmp_path / "store").exists()


def test_worker_with_other_modules_is_rejected(tmp_path, monkeypatch):
    here, there = tmp_path / "client", tmp_path / "worker"
    for folder in (here, there):
        folder.mkdir()
    monkeypatch.syspath_prepend(here)
    for name, (law, own, other, _) in CASES.items():
        (here / f"helpers_{name}.py").write_text(own)
        for folder in (here, there):
            (folder / f"study_{name}.py").write_text(LEARNER.format(law=law))
        if other is not None:
            (there / f"helpers_{name}.py").write_text(other)
    rejected = []
    with worker([there, ROOT]) as client:
        for name, (*_, wrong) in CASES.items():
            learner, folder = importlib.import_module(f"study_{name}").Learner(), tmp_path / name
            if wrong:
                with pytest.raises(ValueError, match="cluster: workers must have your modules"):
                    play(learner, folder, cluster=client)
                assert not stores.finished(folder)
                rejected.append(name)
            else:
                assert play(learner, folder, cluster=client) == 2.0
                assert stores.finished(folder)
    print(f"{len(CASES)} modules on a worker: {len(rejected)} rejected, {len(CASES) - len(rejected)} equal numbers")


def test_worker_computes_with_the_values_that_were_sent(tmp_path, monkeypatch):
    """A worker gets the same class of a script four times, with two values of a global, and compiles for each call."""
    study = types.ModuleType("__main__")  # functions of a script are sent with their globals
    exec(LEARNER.format(law="S = 2.0\ndef law(x): return S * x"), vars(study))
    monkeypatch.setitem(sys.modules, "__main__", study)
    losses = []
    with worker([ROOT]) as client:
        for i, (value, size) in enumerate([(2.0, 2), (3.0, 2), (2.0, 1), (3.0, 1)]):
            study.S = value
            client.run(jax.clear_caches)
            losses.append(play(study.Learner(), tmp_path / str(i), cluster=client, block_size=size))
    print(f"4 studies on a worker: losses {losses}, wanted 2, 8, 2, 8")
    assert losses == [2.0, 8.0, 2.0, 8.0]
