"""Workers of a cluster compute the same blocks, and the study survives failures of workers and scheduler."""

import contextlib
import os
import signal
import subprocess
import sys
import threading
import time

import dask
import distributed
import jax
import numpy as np
import pytest
import stores

import jaxonline as jo
from jaxonline.parameters.errors import UnfinishedStudyWarning
from jaxonline.simulation import cluster

SIZES = {"n_runs": 20, "n_rounds": 40, "block_size": 4}


def study(folder, **options):
    game = jo.Game(jo.environments.LinearModel(np.array([0.6, -0.8])), jo.NoisyCopies(jo.noise.gaussian(0.1)))
    learner = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=jo.InverseSqrt(0.3), radius=1.0)
    sizes = SIZES | options
    return jo.simulate(game, learner, comparator=jo.L2Ball(1.0), checkpoint=folder, **sizes)


def check_the_same(one, other):
    first, second = stores.tree(one), stores.tree(other)
    assert [name for name in first.keys() | second.keys() if first.get(name) != second.get(name)] == []


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("alone") / "store"
    study(folder)
    return folder


@pytest.fixture(scope="module")
def here():
    options = {"processes": False, "n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with distributed.Client(**options, set_as_default=False) as client:
        yield client


@pytest.mark.parametrize("error", [TimeoutError("no worker"), OSError(28, "no space")], ids=repr)
def test_errors_of_a_study_are_not_those_of_the_connection(here, error):
    with pytest.raises(type(error), match=str(error.args[-1])), cluster.connect_workers(here.scheduler.address):
        raise error


@pytest.mark.long
@pytest.mark.parametrize("stored", [True, False])
def test_cluster_gives_the_same_numbers_and_the_same_store(stored, here, alone, tmp_path):
    done = []
    found = study(tmp_path / "store" if stored else None, cluster=here, progress=lambda *each: done.append(each))
    np.testing.assert_array_equal(found.regret, jo.load_result(alone).regret)
    assert done[-1][0] == done[-1][1] == len(done)
    if stored:
        check_the_same(alone, tmp_path / "store")


@pytest.mark.long
@pytest.mark.parametrize("settings", [lambda: jax.enable_x64(True), lambda: jax.threefry_partitionable(False)])
def test_settings_of_jax_apply_on_workers(settings, here, alone, tmp_path):
    with settings():
        found, own = study(tmp_path / "there", cluster=here), study(tmp_path / "here")
    np.testing.assert_array_equal(found.cumulative_loss, own.cumulative_loss)
    assert not np.array_equal(found.cumulative_loss, jo.load_result(alone).cumulative_loss)


def test_error_on_a_worker_is_raised(here, tmp_path, monkeypatch):
    def fail(*arguments):
        raise ZeroDivisionError(f"block {arguments[-1]}")

    monkeypatch.setattr("jaxonline.simulation.cluster._play_block", fail)
    with pytest.raises(ZeroDivisionError, match=r"block \d"):
        study(tmp_path / "store", cluster=here)


@pytest.mark.parametrize(
    ("cluster", "error"), [(0, ValueError), (1.5, TypeError), ("nonsense", OSError), ("tcp://127.0.0.1:9", OSError)]
)
def test_bad_cluster_arguments_raise(cluster, error, tmp_path, monkeypatch):
    monkeypatch.setattr("jaxonline.simulation.cluster.ANSWER_SECONDS", 1.0)
    with pytest.raises(error, match=f"cluster: .*got '?{cluster}"):
        study(tmp_path / "store", cluster=cluster)


class Killing:
    """Kills the processes `of()` each time that `is_due(kills so far)`, during something else."""

    def __init__(self, of, times, is_due):
        self.of, self.times, self.is_due, self.done, self.n_processes = of, times, is_due, 0, 0
        self.thread = threading.Thread(target=self.run)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *error):
        self.times = 0
        self.thread.join()

    def run(self):
        while self.done < self.times:
            time.sleep(0.05)
            if not self.is_due(self.done):
                continue
            for process in self.of():
                with contextlib.suppress(ProcessLookupError):  # it has just died
                    os.kill(process, signal.SIGKILL)
                    self.n_processes += 1
            self.done += 1


def records(folder):
    """Times at which the files of finished blocks were written, by path."""
    return {path: path.stat().st_mtime_ns for path in stores.finished(folder)}


def long_study(folder, **options):
    return study(folder, n_runs=40, n_rounds=200_000, record_at=1, **options)


@pytest.fixture(scope="module")
def long_alone(tmp_path_factory):
    folder = tmp_path_factory.mktemp("long") / "store"
    long_study(folder)
    return folder


@pytest.mark.long
@pytest.mark.filterwarnings(
    "ignore:cluster. no worker:jaxonline.parameters.errors.UnfinishedStudyWarning"
)  # slow start
def test_finished_blocks_survive_killed_workers(long_alone, tmp_path):
    """Both workers killed after 4, 8 and 12 blocks: new ones run the other blocks, and no finished block."""
    store, earlier = tmp_path / "store", {}

    def is_due(n_kills):
        if len(records(store)) < 4 * (n_kills + 1):
            return False
        earlier.update({path: times for path, times in records(store).items() if path not in earlier})
        return True

    def pids():
        nannies = client.cluster.workers.values()
        return [nanny.process.pid for nanny in nannies if nanny.process is not None and nanny.process.pid]

    options = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with (
        dask.config.set({"distributed.scheduler.allowed-failures": 10}),
        distributed.Client(**options, set_as_default=False) as client,
        Killing(pids, 3, is_due) as killing,
    ):
        client.wait_for_workers(2)
        long_study(store, cluster=client)
    again = [path for path, times in records(store).items() if earlier.get(path, times) != times]
    print(f"{killing.n_processes} workers killed: {len(again)} of {len(earlier)} finished blocks computed again")
    assert (killing.done, len(earlier) >= 12, again) == (3, True, [])
    check_the_same(long_alone, store)


@pytest.mark.long
def test_study_without_workers_does_not_wait_forever(tmp_path, monkeypatch):
    for name, seconds in {"CHECK_SECONDS": 0.2, "WARNING_SECONDS": 2.0, "ERROR_SECONDS": 6.0}.items():
        monkeypatch.setattr(f"jaxonline.simulation.cluster.{name}", seconds)
    options = {"processes": False, "n_workers": 1, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
    with distributed.Client(**options, set_as_default=False) as client:

        def stop(*_):
            client.cluster.scale(0)

        with (
            pytest.warns(UnfinishedStudyWarning, match="workers: 0"),
            pytest.raises(TimeoutError, match="workers: 0") as error,
        ):
            long_study(tmp_path / "store", cluster=client, progress=stop)
    print(f"retired: {error.value}")


@pytest.mark.long
def test_study_resumes_after_a_killed_scheduler(alone, long_alone, tmp_path):
    """The call ends with an error that names the scheduler, and the same call, elsewhere, goes on."""
    store, file = tmp_path / "store", tmp_path / "scheduler.json"

    def start(name, *options):
        command = [sys.executable, "-m", f"distributed.cli.dask_{name}", "--scheduler-file", str(file), *options]
        return subprocess.Popen([*command, "--no-dashboard"], stderr=subprocess.DEVNULL)

    with start("scheduler", "--port", "0") as scheduler:
        while not file.exists():
            time.sleep(0.1)
        with start("worker", "--nthreads", "1", "--death-timeout", "120") as worker:
            with distributed.Client(scheduler_file=str(file), set_as_default=False) as client:
                client.wait_for_workers(1, timeout=120)
                study(tmp_path / "short", cluster=client.scheduler.address)
                check_the_same(alone, tmp_path / "short")
                with pytest.raises(ConnectionError, match="scheduler"):
                    long_study(store, cluster=client, progress=lambda *_: scheduler.kill())
            worker.kill()
    print(f"scheduler killed after {len(records(store))} of 20 blocks")
    long_study(store, cluster=1)
    check_the_same(long_alone, store)
