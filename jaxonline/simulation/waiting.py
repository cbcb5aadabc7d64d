"""Waiting for the workers of a cluster: warns if no worker runs a task, and raises an error if this lasts."""

import queue
import time
import warnings
from typing import Any

from jaxonline.parameters.errors import UnfinishedStudyWarning

WARNING_SECONDS = 30.0  # without a running task, until the warning
ERROR_SECONDS = 600.0  # without a running task, until the error
CHECK_SECONDS = 5.0  # between two questions to the scheduler, if no task finishes
ANSWER_SECONDS = 20.0  # time that the scheduler has for an answer


def wait_for_workers(client: Any, n_workers: int) -> None:
    """Wait until workers can run tasks; warn after `WARNING_SECONDS`, raise TimeoutError after `ERROR_SECONDS`."""
    idle = IdleTime(client)
    while True:
        try:
            client.wait_for_workers(n_workers, timeout=CHECK_SECONDS)
            return
        except TimeoutError:
            idle.check()


class FinishedTasks:
    """Futures of a client, which `next` returns in the order in which they finish."""

    def __init__(self, client: Any):
        self._finished: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._idle = IdleTime(client)

    def add(self, task: Any) -> None:
        """Add a future."""
        task.add_done_callback(self._finished.put)

    def next(self) -> Any:
        """Wait for a future that has finished, failed or been cancelled, and return it.

        Warns after `WARNING_SECONDS` without a running task; raises TimeoutError after `ERROR_SECONDS`.
        """
        while True:
            try:
                task = self._finished.get(timeout=CHECK_SECONDS)
            except queue.Empty:
                self._idle.check()
            else:
                self._idle.restart()
                return task


class IdleTime:
    """The time during which no worker of a client runs a task."""

    def __init__(self, client: Any):
        self._client = client
        self.restart()

    def restart(self) -> None:
        """Set the time to 0, as a worker runs a task."""
        self._since, self._has_warned = time.monotonic(), False

    def check(self) -> None:
        """Ask the scheduler; warn, or raise TimeoutError, if no worker has run a task for long."""
        try:
            identity = self._client.sync(self._client.scheduler.identity, callback_timeout=ANSWER_SECONDS)
        except OSError:
            reason = "the scheduler does not answer"
        else:
            workers = identity["workers"].values()
            if any(worker["metrics"].get("task_counts", {}).get("executing") for worker in workers):
                self.restart()
                return
            n_paused = sum(worker["status"] == "paused" for worker in workers)
            reason = f"no worker runs a block (workers: {len(workers)}; paused, with almost full memory: {n_paused})"
        seconds, scheduler = time.monotonic() - self._since, self._client.scheduler.address
        if seconds >= ERROR_SECONDS:
            raise TimeoutError(
                f"cluster: {reason} for {seconds:.0f} s, with the scheduler {scheduler}; finished blocks are in the "
                "checkpoint; start workers and repeat the call"
            )
        if seconds >= WARNING_SECONDS and not self._has_warned:
            self._has_warned = True
            warnings.warn(
                f"cluster: {reason} for {seconds:.0f} s, with the scheduler {scheduler}; an error follows after "
                f"{ERROR_SECONDS:g} s",
                UnfinishedStudyWarning, stacklevel=3,
            )  # fmt: skip
