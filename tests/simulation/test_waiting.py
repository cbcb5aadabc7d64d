"""Waiting for workers: a warning, and then an error."""

import itertools
import types

import pytest

from jaxonline.parameters.errors import UnfinishedStudyWarning
from jaxonline.simulation.waiting import FinishedTasks, wait_for_workers


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

    def wait_for_workers(self, n_workers, timeout):
        raise TimeoutError


def worker(status, executing):
    return {"status": status, "metrics": {"task_counts": {"executing": executing}}}


BUSY, PAUSED, PAUSED_AND_BUSY, FREE = (
    worker("running", 1),
    worker("paused", 0),
    worker("paused", 1),
    worker("running", 0),
)


@pytest.fixture
def short_times(monkeypatch):
    """Each look at the clock is ten seconds after the one before, however busy the machine is."""
    monkeypatch.setattr("jaxonline.simulation.waiting.CHECK_SECONDS", 0.001)
    monkeypatch.setattr("jaxonline.simulation.waiting.time.monotonic", itertools.count(0.0, 10.0).__next__)


@pytest.mark.parametrize(("answers", "words"), [
    (([],), r"no worker runs a block \(workers: 0; .* scheduler tcp://here"),
    (([BUSY], [PAUSED_AND_BUSY], [PAUSED, FREE, PAUSED]), r"\(workers: 3; paused, with almost full memory: 2\)"),
    (([FREE],), r"\(workers: 1; paused, with almost full memory: 0\)"),
    ((TimeoutError(),), "the scheduler does not answer"),
])  # fmt: skip
def test_study_without_running_workers_warns_and_raises(answers, words, short_times):
    with pytest.warns(UnfinishedStudyWarning, match=words) as warned, pytest.raises(TimeoutError, match=words):
        FinishedTasks(MadeUpClient(*answers)).next()
    assert len(warned) == 1


@pytest.mark.parametrize("busy", [BUSY, PAUSED_AND_BUSY])
def test_running_tasks_are_waited_for(busy, short_times):
    tasks = FinishedTasks(MadeUpClient(*[[busy]] * 200, RuntimeError("200 answers, four times the time limit")))
    with pytest.raises(RuntimeError, match="200 answers"):
        tasks.next()
    tasks.add(types.SimpleNamespace(add_done_callback=lambda finish: finish("a task")))
    assert tasks.next() == "a task"


def test_workers_that_do_not_arrive_are_reported(short_times):
    words = "workers: 0"
    with pytest.warns(UnfinishedStudyWarning, match=words), pytest.raises(TimeoutError, match=words):
        wait_for_workers(MadeUpClient([]), 3)
