"""Computation of blocks as tasks of Dask `distributed`, on the cores of this machine or on a running cluster.

A worker plays a block on one of its devices and writes the numbers into the store. Each worker receives the jobs once,
and then indices of blocks. If a worker fails, another worker resumes its block from the last stored state. If the
scheduler fails, the same call resumes the study later. Failures do not change the numbers. Reference:
https://distributed.dask.org, which explains how to start workers on Slurm (dask-jobqueue), Kubernetes and others.
"""

import contextlib
import dataclasses
import functools
import os
import pickle
import socket
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Protocol, TypeAlias

import jax
import jax.numpy as jnp
import numpy as np

from jaxonline._xla.barriers import user_code
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.simulation import blocks
from jaxonline.simulation.jobs import Job, Numbers, join_blocks
from jaxonline.simulation.metadata import versions
from jaxonline.simulation.progress import Reporter
from jaxonline.simulation.runner import finished_blocks, play_blocks
from jaxonline.simulation.segments import Matchup
from jaxonline.simulation.waiting import FinishedTasks, wait_for_workers
from jaxonline.store.blocks import Store
from jaxonline.store.fingerprint import (
    JAX_OPTIONS,
    NUMERIC_LIBRARIES,
    ImportedModule,
    find_user_code,
    package_hash,
)
from jaxonline.store.source_code import is_library

MAX_WORKER_FAILURES = 10  # workers that fail in the same block, before the block counts as the cause
SCHEDULER_TIMEOUT = "20s"


@dataclasses.dataclass(frozen=True)
class Machine:
    """Devices and libraries of a worker; only workers with equal `Machine` compute a block with the same bits."""

    backend: str
    kind: str
    versions: dict[str, str]
    code: str  # hash of the files of jaxonline

    @classmethod
    @functools.cache
    def current(cls) -> "Machine":
        """Return the devices and libraries of this process."""
        return cls(jax.default_backend(), jax.local_devices()[0].device_kind, versions(), package_hash())

    def libraries(self) -> dict[str, str]:
        """Return the versions on which a store relies, and the hash of jaxonline; "" for unknown ones."""
        names = {f"the version of {name}": self.versions.get(name, "") for name in NUMERIC_LIBRARIES}
        return {**names, "the code of jaxonline": vars(self).get("code", "")}  # older workers have no hash


def _check_libraries(machine: Machine, address: str) -> None:
    """Raise an error if a worker has other numeric libraries than this process, which identifies the store."""
    own, others = Machine.current().libraries(), machine.libraries()
    for name, version in own.items():
        if others[name] != version:
            raise ArgumentError(
                "cluster",
                f"the worker at {address} must have {name} of this process, {version} (got {others[name]}); install "
                "the same files on all workers",
            )


class ClusterClient(Protocol):
    """A client of Dask `distributed`, whose class cannot be named here, since `distributed` is optional."""

    def submit(self, func: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        """Submit a task."""
        ...

    def scheduler_info(self) -> Any:
        """Describe the scheduler and its workers."""
        ...


@contextlib.contextmanager
def connect_workers(cluster: "Cluster") -> Iterator["Workers"]:
    """Connect to workers: a number of local processes, a scheduler at an address, or a client of `distributed`.

    Raises:
        TypeError: `cluster` is not a number, an address or a client.
        ValueError: `distributed` is not installed, the number of workers is below 1, the workers are of more than one
            kind, or the address is malformed.
        OSError: there is no scheduler at the address.
    """
    try:
        import dask
        from distributed import Client, LocalCluster
    except ImportError as error:
        raise ValueError(
            f"cluster: needs a package that is not installed ({error}); pip install 'jaxonline[cluster]'"
        ) from None
    if isinstance(cluster, Workers):
        yield cluster
    elif isinstance(cluster, Client):
        yield Workers(cluster)
    elif isinstance(cluster, str):
        _check_address(cluster)
        with _connection_errors(cluster):
            client = Client(cluster, timeout=SCHEDULER_TIMEOUT, set_as_default=False)
        with client:
            yield Workers(client)
    else:
        n_workers = check.count("cluster", cluster)
        with (
            dask.config.set({"distributed.scheduler.allowed-failures": MAX_WORKER_FAILURES}),
            LocalCluster(n_workers=n_workers, threads_per_worker=1, dashboard_address="127.0.0.1:0") as local,  # type: ignore[arg-type]
            Client(local, set_as_default=False) as client,
        ):
            wait_for_workers(client, n_workers)
            client.run(_share_cores, n_workers)
            yield Workers(client)


def _share_cores(n_workers: int, dask_worker: Any) -> None:
    """Bind a local worker to its share of the cores, because workers that share cores slow each other down."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        own = cores[int(dask_worker.name) % len(cores) :: n_workers]
        os.sched_setaffinity(0, own)


class Workers:
    """The `n_workers` workers of a client of `distributed`; ValueError unless all workers have the same `machine`."""

    def __init__(self, client: Any):
        self._client = client
        machines: dict[str, Machine] = {}
        while not machines:
            wait_for_workers(client, 1)
            answers = client.run(Machine.current, on_error="return")
            machines = {address: answer for address, answer in answers.items() if isinstance(answer, Machine)}
            errors = [answer for answer in answers.values() if not isinstance(answer, Machine | OSError)]
            if errors and not machines:  # an OSError: the worker has just failed
                raise ArgumentError("cluster", f"must have workers that can import jaxonline (got {errors[0]!r})")
        for address, machine in machines.items():
            _check_libraries(machine, address)
        (address, self.machine), *others = machines.items()
        self.n_workers = len(machines)
        for other, machine in others:
            if machine != self.machine:
                raise ArgumentError(
                    "cluster",
                    f"must have workers of one kind (got {self.machine} at {address} and {machine} at {other})",
                )

    def play(
        self, jobs: Sequence[Job], reporter: Reporter, store: Store, hold: bool = True
    ) -> list[Numbers | None]:  # fmt: skip
        """Play those blocks of the jobs that are not finished in the store.

        Returns the numbers of each job, or None if `hold` is False and the numbers stay in the store. Raises
        ConnectionError if the scheduler fails, or workers fail again and again in the same block, and TimeoutError if
        no worker runs a block for a long time; an error in a worker is raised here too.
        """
        finished = [_finished_blocks(job, store, hold) for job in jobs]
        missing = [
            [block for block in job.plan.blocks if block not in arrays]
            for job, arrays in zip(jobs, finished, strict=True)
        ]
        for job, arrays in zip(jobs, finished, strict=True):
            reporter.skip(job.plan._replace(blocks=list(arrays)).n_steps())
        tasks: dict[Any, tuple[Job, int]] = {}
        try:
            with _scheduler_errors():
                for job, block_indices in zip(jobs, missing, strict=True):
                    tasks |= self._submit(job, block_indices, store)
                self._collect(tasks, reporter, store)
        finally:
            with contextlib.suppress(Exception):  # the scheduler may have failed
                self._client.cancel(list(tasks), force=True)
        for job, arrays, block_indices in zip(jobs, finished, missing, strict=True):
            arrays |= _finished_blocks(job, store, hold, block_indices)
        return [
            join_blocks([arrays[block] for block in job.plan.blocks]) if hold else None
            for job, arrays in zip(jobs, finished, strict=True)
        ]

    def _collect(self, tasks: dict[Any, tuple[Job, int]], reporter: Reporter, store: Store) -> None:
        """Wait for the tasks and remove each finished task, so that the scheduler does not repeat it.

        A block in which workers failed too often is submitted again if its saved round has grown since the last time.
        """
        from distributed import KilledWorker

        finished, saved_rounds = FinishedTasks(self._client), dict[tuple[str, int], int]()
        for task in tasks:
            finished.add(task)
        while tasks:
            task = finished.next()
            job, block = tasks[task]
            try:
                task.result()
            except KilledWorker as error:
                name, rounds = (job.rows.name, block), store.saved_round(job.rows, block)
                if rounds <= saved_rounds.get(name, 0):
                    raise ConnectionError(
                        f"cluster: workers failed too often in {job.block_label([block])}, without progress; they may "
                        f"lack memory, or run for less time than the {store.every:g} s between two saved states "
                        "(Checkpoint(every=...)); the same call resumes the study"
                    ) from error
                saved_rounds[name] = rounds
                again = self._submit(job, [block], store)
                tasks |= again
                for new in again:
                    finished.add(new)
            else:
                for _ in job.plan.segments():
                    reporter.advance(job.block_label([block]))
            del tasks[task]
            task.release()

    def tasks_per_second(self, n: int) -> float:
        """Measure how many of n empty tasks the scheduler completes per second."""
        began = time.perf_counter()
        self._client.gather([self._client.submit(int, i, pure=False) for i in range(n)])
        return n / (time.perf_counter() - began)

    def _submit(self, job: Job, block_indices: Sequence[int], store: Store) -> dict[Any, tuple[Job, int]]:
        """Submit one task per block to the cluster."""
        if not block_indices:
            return {}
        # a task instead of data: `distributed` repeats it when the last worker that holds its result fails
        sent = self._client.submit(tuple, (job.matchup.code, _pickle_matchup(job.matchup)), pure=False)
        key = str(jax.random.key_impl(job.plan.key)), np.asarray(jax.random.key_data(job.plan.key))
        imports = [(module, module.hash()) for module in find_user_code({"": job.matchup}, strict=False).imports]
        bare = job._replace(matchup=None, plan=job.plan._replace(key=key, mesh=None))  # type: ignore[arg-type]
        settings = {name: getattr(jax.config, name) for name in JAX_OPTIONS}
        play = functools.partial(_play_block, store.reopener(), self.machine, settings, imports, bare)
        return {self._client.submit(play, sent, block, pure=False): (job, block) for block in block_indices}


def _finished_blocks(job: Job, store: Store, hold: bool, block_indices: Sequence[int] | None = None) -> dict[int, Any]:
    """Return the finished blocks of a job, with their numbers if `hold` is True."""
    return {block: numbers if hold else None for block, numbers in finished_blocks(job, store, block_indices)}


def _pickle_matchup(matchup: Matchup) -> bytes:
    """Pickle a matchup together with the code of the user's own modules, which workers may not have."""
    import cloudpickle

    roots = {name.partition(".")[0] for name in sys.modules} - {"__main__"}
    own = [sys.modules[root] for root in roots if not is_library(root)]
    for module in own:
        cloudpickle.register_pickle_by_value(module)
    try:
        return cloudpickle.dumps(jax.device_get(matchup))
    finally:
        for module in own:
            cloudpickle.unregister_pickle_by_value(module)


@functools.lru_cache(maxsize=1)
def _loader(code: str) -> Callable[[bytes], Matchup]:
    """Return a function that unpickles matchups; equal bytes give the same object, so that its programs are reused.

    Matchups of only one version of the user's code are kept: other versions replace the methods of its classes.
    """
    return functools.lru_cache(maxsize=32)(pickle.loads)


def _check_modules(imports: Sequence[tuple[ImportedModule, str]]) -> None:
    """Raise an error if this worker imports other modules of the user than the process that started the study."""
    for module, expected in imports:
        try:
            found = module.hash()
        except ImportError as error:
            found = str(error)
        if found != expected:
            raise ArgumentError(
                "cluster",
                f"workers must have the user's module {module.module} of the process that starts the study (got other "
                f"code or values at {socket.gethostname()}: {found}); install the same files, or import the module "
                "outside of functions, which sends it to the workers",
            )


def _play_block(
    join: Callable[[], Store], machine: Machine, settings: dict[str, Any],
    imports: Sequence[tuple[ImportedModule, str]], job: Job,
    content: tuple[str, bytes], block: int,
) -> None:  # fmt: skip
    """Play one block on a worker and write it into the store."""
    own_machine = Machine.current()
    if own_machine != machine:
        raise ArgumentError("cluster", f"must have workers of one kind (got {machine} and {own_machine})")
    _check_modules(imports)
    impl, data = job.plan.key  # type: ignore[misc]
    with (
        jax.enable_x64(settings["jax_enable_x64"]),
        jax.default_matmul_precision(settings["jax_default_matmul_precision"]),
        jax.threefry_partitionable(settings["jax_threefry_partitionable"]),
        join() as store,
    ):
        stored = store.blocks.read(job.rows, block)
        if stored is not None and stored.rounds == job.plan.n_rounds:  # by a worker that failed before it could answer
            return
        code, pickled = content
        matchup = _loader(code)(pickled)
        key = jax.random.wrap_key_data(jnp.asarray(data), impl=impl)
        plan = job.plan._replace(key=key, mesh=blocks.default_mesh(jax.local_devices()[:1]), blocks=[block])
        with user_code(code):
            for _ in play_blocks(job._replace(matchup=matchup, plan=plan), [block], Reporter(False, 0), store):
                pass


@contextlib.contextmanager
def _connection_errors(address: str) -> Iterator[None]:
    try:
        yield
    except (OSError, TimeoutError) as error:
        raise ConnectionError(f"cluster: there is no scheduler at {address} ({error})") from error


def _check_address(address: str) -> None:
    """Check the address of a scheduler before a client tries to connect and waits."""
    from distributed.comm.addressing import parse_address, parse_host_port

    try:
        scheme, location = parse_address(address)
        if scheme in ("tcp", "tls", "ws", "wss"):
            parse_host_port(location)
    except ValueError as error:
        raise ArgumentError(
            "cluster", f"must be an address such as tcp://host:8786 (got {address!r}); {error}"
        ) from None


@contextlib.contextmanager
def _scheduler_errors() -> Iterator[None]:
    """Context manager: convert the errors of a failed scheduler to a ConnectionError that explains them."""
    from distributed.client import FutureCancelledError
    from distributed.comm import CommClosedError

    try:
        yield
    except (FutureCancelledError, CommClosedError) as error:
        raise ConnectionError(
            "cluster: the scheduler failed; finished blocks are in the checkpoint, repeat the call to resume"
        ) from error


Cluster: TypeAlias = int | str | ClusterClient | Workers  # the argument `cluster` of `simulate`
