"""Computation of blocks as tasks of Dask `distributed`, on the cores of this machine or on a running cluster.

A worker plays a block on one of its devices and returns the numbers; the process that called `simulate` writes them
into the checkpoint. If a worker fails, another worker plays its block again. If the scheduler fails, the same call
resumes the study later. Failures do not change the numbers. Reference: https://distributed.dask.org, which explains how
to start workers on Slurm (dask-jobqueue), Kubernetes and others.
"""

import contextlib
import functools
import os
import pickle
import queue
import time
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from jaxonline._xla.barriers import user_code
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentOSError, UnfinishedStudyWarning
from jaxonline.parameters.optional_packages import import_package
from jaxonline.simulation import blocks
from jaxonline.simulation.jobs import Job, finished_blocks, join_blocks, play_blocks
from jaxonline.simulation.progress import Reporter
from jaxonline.simulation.segments import Matchup
from jaxonline.store.checkpoints import Numbers, Store
from jaxonline.store.fingerprint import JAX_OPTIONS, hash_user_code, library_versions

WARNING_SECONDS = 60.0  # without a worker that runs a block, until the warning
ERROR_SECONDS = 600.0  # without a worker that runs a block, until the error
CHECK_SECONDS = 5.0  # between two questions to the scheduler, if no block is finished
ANSWER_SECONDS = 20.0  # time that the scheduler has for an answer


@contextlib.contextmanager
def connect_workers(cluster: "Cluster") -> Iterator["Workers"]:
    """Connect to workers: a number of local processes, a scheduler at an address, or a client of `distributed`.

    Raises:
        TypeError: `cluster` is not a number, an address or a client.
        ValueError: the number of workers is below 1, or the workers are of more than one kind or have other files than
            this process.
        OSError: there is no scheduler at the address.
        ModuleNotFoundError: `distributed` is not installed.
    """
    distributed = import_package("distributed", "cluster")
    with contextlib.ExitStack() as stack:
        if isinstance(cluster, str):
            try:
                cluster = stack.enter_context(distributed.Client(cluster, timeout=ANSWER_SECONDS, set_as_default=False))
            except (OSError, ValueError) as error:
                expected = f"must be the address of a scheduler, such as tcp://host:8786 (got {cluster!r}); {error}"
                raise ArgumentOSError("cluster", expected) from error
        elif not isinstance(cluster, distributed.Client | Workers):
            n_workers = check.count("cluster", cluster)
            options = {"n_workers": n_workers, "threads_per_worker": 1, "dashboard_address": "127.0.0.1:0"}
            cluster = stack.enter_context(distributed.Client(**options, set_as_default=False))
            cluster.wait_for_workers(n_workers)  # type: ignore[union-attr]
            cluster.run(_share_cores, n_workers)  # type: ignore[union-attr]
        yield cluster if isinstance(cluster, Workers) else Workers(cluster)


def _share_cores(n_workers: int, dask_worker: Any) -> None:
    """Bind a local worker to its share of the cores, because workers that share cores slow each other down."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, cores[int(dask_worker.name) % len(cores) :: n_workers])


def describe_machine() -> dict[str, str]:
    """Return devices, libraries and a hash of jaxonline: only processes with equal ones compute the same bits."""
    return {"backend": jax.default_backend(), "device": jax.local_devices()[0].device_kind, **library_versions()}


class Workers:
    """The workers of a client of `distributed`, which all have the same `machine` (`describe_machine`).

    Raises ValueError if the workers differ from each other, or have other libraries than this process, which
    identifies the study.
    """

    def __init__(self, client: Any):
        self.client = client
        _wait(client, lambda: client.wait_for_workers(1, timeout=CHECK_SECONDS))
        client.get_versions(check=True)
        machines = client.run(describe_machine)
        self.n_workers, self.machine = len(machines), next(iter(machines.values()))
        for address, machine in machines.items():
            _check_machine(f"the worker at {address}", machine, self.machine | library_versions())

    def play(self, jobs: Sequence[Job], reporter: Reporter, store: Store | None) -> list[Numbers]:
        """Play those blocks of the jobs that are not finished in the store; return the numbers of each job.

        Raises ConnectionError if the scheduler fails, or workers fail again and again in the same block, and
        TimeoutError if no worker runs a block for a long time; an error in a worker is raised here too.
        """
        played, tasks = [finished_blocks(job, store) for job in jobs], dict[Any, tuple[int, int]]()
        done: queue.SimpleQueue[Any] = queue.SimpleQueue()
        with _explained_failures():
            try:
                for i, job in enumerate(jobs):
                    reporter.skip(job.plan._replace(blocks=list(played[i])).n_steps())
                    tasks |= self._submit(i, job, sorted(set(job.plan.blocks) - set(played[i])))
                for task in tasks:
                    task.add_done_callback(done.put)
                while tasks:
                    task = _wait(self.client, lambda: done.get(timeout=CHECK_SECONDS))
                    i, block = tasks[task]
                    played[i][block] = task.result()
                    if store is not None:
                        store.write_block(jobs[i].rows, block, played[i][block])
                    n_steps = sum(1 for _ in jobs[i].plan.segments())
                    for _ in range(n_steps):
                        reporter.advance(jobs[i].block_label([block]), jobs[i].name, n_steps)
                    del tasks[task]
                    task.release()
            finally:
                with contextlib.suppress(Exception):  # the scheduler may have failed
                    self.client.cancel(list(tasks), force=True)
        return [join_blocks([own[block] for block in job.plan.blocks]) for job, own in zip(jobs, played, strict=True)]

    def _submit(self, index: int, job: Job, block_indices: Sequence[int]) -> dict[Any, tuple[int, int]]:
        """Submit one task for each block of the job with this index; return index and block of each task."""
        import cloudpickle

        if not block_indices:
            return {}
        matchup = jax.device_get(job.matchup)
        code = hash_user_code({"": matchup}, strict=False)
        # a task instead of data: `distributed` repeats it when the last worker that holds its result fails
        sent = self.client.submit(tuple, (code, cloudpickle.dumps(matchup)), pure=False)
        key = str(jax.random.key_impl(job.plan.key)), np.asarray(jax.random.key_data(job.plan.key))
        bare = job._replace(matchup=None, plan=job.plan._replace(key=key, mesh=None))  # type: ignore[arg-type]
        settings = tuple(getattr(jax.config, name) for name in JAX_OPTIONS)
        play = functools.partial(_play_block, self.machine, settings, bare)
        return {self.client.submit(play, sent, block, pure=False): (index, block) for block in block_indices}


@functools.lru_cache(maxsize=1)
def _loader(code: str) -> Callable[[bytes], Matchup]:
    """Return a function that unpickles matchups; equal bytes give the same object, so that its programs are reused.

    Matchups of only one version of the user's code are kept: other versions replace the methods of its classes.
    """
    return functools.lru_cache(maxsize=32)(pickle.loads)


def _play_block(machine: dict[str, str], settings: Any, job: Job, content: tuple[str, bytes], block: int) -> Numbers:
    """Play one block on a worker."""
    _check_machine("a worker", describe_machine(), machine)
    (code, pickled), (impl, data) = content, job.plan.key  # type: ignore[misc]
    matchup = _loader(code)(pickled)
    if hash_user_code({"": matchup}, strict=False) != code:
        raise ArgumentError("cluster", "workers must have your modules with the code of this process; copy them to all")
    x64, precision, partitionable = settings
    with jax.enable_x64(x64), jax.default_matmul_precision(precision), jax.threefry_partitionable(partitionable):
        key = jax.random.wrap_key_data(jnp.asarray(data), impl=impl)  # type: ignore[arg-type]
        plan = job.plan._replace(key=key, mesh=blocks.default_mesh(jax.local_devices()[:1]), blocks=[block])
        job = job._replace(matchup=matchup, plan=plan)
        with user_code(code):
            return dict(play_blocks(job, [block], Reporter(False, 0), store=None))[block]


def _check_machine(worker: str, machine: dict[str, str], wanted: dict[str, str]) -> None:
    for name, value in wanted.items():
        if machine[name] != value:
            advice = "all workers need devices of one kind, and the files of this process"
            raise ArgumentError("cluster", f"{worker} must have {name} {value} (got {machine[name]}); {advice}")


@contextlib.contextmanager
def _explained_failures() -> Iterator[None]:
    """Context manager: convert the errors of failed workers and schedulers to a ConnectionError."""
    from distributed import KilledWorker
    from distributed.client import FutureCancelledError
    from distributed.comm import CommClosedError

    try:
        yield
    except (FutureCancelledError, CommClosedError, KilledWorker) as error:
        raise ConnectionError(
            f"cluster: the scheduler failed, or workers failed too often in one block ({error}); finished blocks are "
            "in the checkpoint, if there is one; the same call resumes the study"
        ) from error


def _wait(client: Any, ask: Callable[[], Any]) -> Any:
    """Ask until there is an answer; warn, and then raise TimeoutError, if no worker runs a block for long."""
    since, has_warned = time.monotonic(), False
    while True:
        with contextlib.suppress(queue.Empty, TimeoutError):
            return ask()
        workers, seconds = [], time.monotonic() - since
        with contextlib.suppress(OSError):  # the scheduler does not answer
            identity = client.sync(client.scheduler.identity, callback_timeout=ANSWER_SECONDS)
            workers = list(identity["workers"].values())
        n_paused = sum(worker["status"] == "paused" for worker in workers)
        counts = f"workers: {len(workers)}; paused, with almost full memory: {n_paused}"
        text = f"cluster: no worker of {client.scheduler.address} runs a block for {seconds:.0f} s ({counts})"
        if any(worker["metrics"].get("task_counts", {}).get("executing") for worker in workers):
            since, has_warned = time.monotonic(), False
        elif seconds >= ERROR_SECONDS:
            raise TimeoutError(f"{text}; start workers and repeat the call, which resumes a study with a checkpoint")
        elif seconds >= WARNING_SECONDS and not has_warned:
            has_warned = True
            warnings.warn(f"{text}; an error follows after {ERROR_SECONDS:g} s", UnfinishedStudyWarning, stacklevel=4)


Cluster: TypeAlias = int | str | Any  # number of processes, address of a scheduler, or client of `distributed`
