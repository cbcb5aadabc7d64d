"""Waiting for workers: a warning, and then an error."""

import itertools
import queue
import types

import pytest

from jaxonline.parameters.errors import UnfinishedStudyWarning
from jaxonline.simulation.cluster import _wait


class MadeUpClient:
    """A client whose scheduler gives the answers one after the other, and the last one again and again."""

    def __init__(self, *answers):
        self.answers = itertools.chain(answers, itertools.repeat(answers[-1]))
        self.scheduler = types.SimpleNamespace(address="tcp://here", identity=None)

    def sync(self, _, callback_timeout):
        answer = next(self.answers)
        if isinstance(answer, Exception):
            raise answer
        return {"workers": {str(i): worker for i, worker in enumerate(answer)}}


def no_task():
    raise queue.Empty


def no_worker():
    raise TimeoutError


def worker(status, executing):
    return {"status": status, "metrics": {"task_counts": {"executing": executing}}}


BUSY, PAUSED = worker("running", 1), worker("paused", 0)
FREE, PAUSED_AND_BUSY = worker("running", 0), worker("paused", 1)


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    """Each look at the clock is ten seconds after the one before, however busy the machine is."""
    monkeypatch.setattr("jaxonline.simulation.cluster.time.monotonic", itertools.count(0.0, 10.0).__next__)


@pytest.mark.parametrize("ask", [no_task, no_worker])
@pytest.mark.parametrize(("answers", "words"), [
    (([],), r"no worker of tcp://here runs a block for .* \(workers: 0; paused"),
    (([BUSY], [PAUSED_AND_BUSY], [PAUSED, FREE, PAUSED]), r"\(workers: 3; paused, with almost full memory: 2\)"),
    (([FREE],), r"\(workers: 1; paused, with almost full memory: 0\)"),
    ((TimeoutError(),), r"\(workers: 0;"),
])  # fmt: skip
def test_study_without_running_workers_warns_and_raises(ask, answers, words):
    with pytest.warns(UnfinishedStudyWarning, match=words) as warned, pytest.raises(TimeoutError, match=words):
        _wait(MadeUpClient(*answers), ask)
    assert len(warned) == 1


@pytest.mark.parametrize("busy", [BUSY, PAUSED_AND_BUSY])
def test_running_tasks_are_waited_for(busy):
    client = MadeUpClient(*[[busy]] * 200, RuntimeError("200 answers, more than the time limit"))
    with pytest.raises(RuntimeError, match="200 answers"):
        _wait(client, no_task)
    assert _wait(client, lambda: "a task") == "a task"
