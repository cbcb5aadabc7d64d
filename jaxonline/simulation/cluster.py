"""Blocks as tasks of Dask `distributed`: on the cores of this machine, or on a cluster that somebody has started.

A worker plays a block on one of its devices and writes it into the store itself. What travels is the jobs, once to each
worker, and the indices of blocks. A block whose worker died is played again by another one, from where its state was
kept; where the scheduler died the same call goes on later. Numbers do not depend on any of that.

Source of the engine: https://distributed.dask.org. It starts workers on Slurm (dask-jobqueue), Kubernetes and others.
"""

import contextlib
import dataclasses
import functools
import os
import pickle
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.simulation import blocks
from jaxonline.simulation.jobs import Job, Numbers, join_blocks
from jaxonline.simulation.metadata import versions
from jaxonline.simulation.progress import Reporter
from jaxonline.simulation.runner import finished, play_blocks
from jaxonline.simulation.segments import Matchup
from jaxonline.store.blocks import Store
from jaxonline.store.fingerprint import JAX_OPTIONS
from jaxonline.store.source_code import is_library

MAX_WORKER_FAILURES = 10  # of workers that had begun the same block, before the block is taken for the cause
PATIENCE = "20s"  # with a scheduler that does not answer


@dataclasses.dataclass(frozen=True)
class Machine:
    """What a worker has: a block has the same bits only on the same kind of device, with the same libraries."""

    backend: str
    kind: str
    versions: dict[str, str]

    @classmethod
    @functools.cache
    def here(cls) -> "Machine":
        """Of this process."""
        return cls(jax.default_backend(), jax.local_devices()[0].device_kind, versions())


@contextlib.contextmanager
def workers_of(cluster: Any) -> Iterator["Workers"]:
    """So many processes on this machine, those of the scheduler at an address, or of a client of `distributed`.

    Raises:
        TypeError: `cluster` is neither.
        ValueError: the package is not installed; a number of workers below 1; workers of more than one kind; something
            that is no address.
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
        with _reached(cluster), Client(cluster, timeout=PATIENCE, set_as_default=False) as client:
            yield Workers(client)
    else:
        check.count("cluster", cluster)
        with (
            dask.config.set({"distributed.scheduler.allowed-failures": MAX_WORKER_FAILURES}),
            LocalCluster(n_workers=cluster, threads_per_worker=1, dashboard_address="127.0.0.1:0") as local,  # type: ignore[arg-type]
            Client(local, set_as_default=False) as client,
        ):
            client.wait_for_workers(cluster, timeout=120)
            client.run(_share_cores, cluster)
            yield Workers(client)


def _share_cores(n_workers: int, dask_worker: Any) -> None:
    """On a worker of this machine: its share of the cores, since threads of several get into each other's way."""
    if hasattr(os, "sched_setaffinity"):
        cores = sorted(os.sched_getaffinity(0))
        own = cores[int(dask_worker.name) % len(cores) :: n_workers]
        os.sched_setaffinity(0, own)


class Workers:
    """The workers of a cluster.

    Args:
        client: of `distributed`.

    Attributes:
        machine: what each of them has.
        number: how many there are.

    Raises:
        ValueError: they differ.
    """

    def __init__(self, client: Any):
        self._client = client
        found: dict[str, Machine] = {}
        while not found:
            client.wait_for_workers(1, timeout=120)
            answers = client.run(Machine.here, on_error="return")
            found = {address: each for address, each in answers.items() if isinstance(each, Machine)}  # not dead by now
        (address, self.machine), *others = found.items()
        self.number = len(found)
        for other, machine in others:
            if machine != self.machine:
                raise ArgumentError(
                    "cluster",
                    f"must have workers of one kind (got {self.machine} at {address} and {machine} at {other})",
                )

    def play(
        self, jobs: Sequence[Job], reporter: Reporter, store: Store, hold: bool = True
    ) -> list[Numbers | None]:  # fmt: skip
        """All blocks of the jobs; finished ones are taken from the store.

        Returns:
            The numbers of each job; None where they are not to be held in memory, as they are in the store.

        Raises:
            ConnectionError: the scheduler is gone.
            Exception: whatever went wrong with a block, on a worker.
        """
        from distributed import as_completed

        found = [_found(job, store, hold) for job in jobs]
        missing = [
            [block for block in job.plan.blocks if block not in there] for job, there in zip(jobs, found, strict=True)
        ]
        for job, there in zip(jobs, found, strict=True):
            reporter.skip(job.plan._replace(blocks=list(there)).pieces())
        waiting: dict[Any, tuple[Job, int]] = {}
        try:
            with _connected():
                for job, some in zip(jobs, missing, strict=True):
                    waiting |= self._submitted(job, some, store)
                for task in as_completed(list(waiting), loop=self._client.loop):
                    task.result()
                    job, block = waiting[task]
                    for _ in job.plan.segments():
                        reporter.advance(job.blocks_in_words([block]))
        finally:
            with contextlib.suppress(Exception):  # of a scheduler that is gone
                self._client.cancel(list(waiting), force=True)
        for job, there, some in zip(jobs, found, missing, strict=True):
            there |= _found(job, store, hold, some)
        return [
            join_blocks([there[block] for block in job.plan.blocks]) if hold else None
            for job, there in zip(jobs, found, strict=True)
        ]

    def tasks_a_second(self, n: int) -> float:
        """How many tasks that do nothing the scheduler hands out, of n: what limits many workers."""
        began = time.perf_counter()
        self._client.gather([self._client.submit(int, i, pure=False) for i in range(n)])
        return n / (time.perf_counter() - began)

    def _submitted(self, job: Job, some: Sequence[int], store: Store) -> dict[Any, tuple[Job, int]]:
        """A task for each block."""
        if not some:
            return {}
        # a task and not data that is sent: when the last worker that has it dies, it is made again
        sent = self._client.submit(bytes, _packed(job.matchup), pure=False)
        key = str(jax.random.key_impl(job.plan.key)), np.asarray(jax.random.key_data(job.plan.key))
        bare = job._replace(matchup=None, plan=job.plan._replace(key=key, mesh=None))  # type: ignore[arg-type]
        settings = {name: getattr(jax.config, name) for name in JAX_OPTIONS}
        play = functools.partial(_play_block, store.reopener(), self.machine, settings, bare)
        return {self._client.submit(play, sent, block, pure=False): (job, block) for block in some}


def _found(job: Job, store: Store, hold: bool, some: Sequence[int] | None = None) -> dict[int, Any]:
    """The blocks that are finished, with their numbers where they are to be held in memory."""
    return {block: numbers if hold else None for block, numbers in finished(job, store, some)}


def _packed(matchup: Matchup) -> bytes:
    """With the code of modules that are not installed, which workers need not have."""
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


@functools.lru_cache(maxsize=32)
def _unpacked(content: bytes) -> Matchup:
    """The same object for the same content: another one, though equal to a reader, has programs of its own."""
    return pickle.loads(content)


def _play_block(
    join: Callable[[], Store], machine: Machine, settings: dict[str, Any], job: Job, content: bytes, block: int
) -> None:
    """On a worker: one block, into the store."""
    here = Machine.here()
    if here != machine:
        raise ArgumentError("cluster", f"must have workers of one kind (got {machine} and {here})")
    impl, data = job.plan.key  # type: ignore[misc]
    with (
        jax.enable_x64(settings["jax_enable_x64"]),
        jax.default_matmul_precision(settings["jax_default_matmul_precision"]),
        jax.threefry_partitionable(settings["jax_threefry_partitionable"]),
        join() as store,
    ):
        key = jax.random.wrap_key_data(jnp.asarray(data), impl=impl)
        plan = job.plan._replace(key=key, mesh=blocks.default_mesh(jax.local_devices()[:1]), blocks=[block])
        for _ in play_blocks(job._replace(matchup=_unpacked(content), plan=plan), [block], Reporter(False, 0), store):
            pass


@contextlib.contextmanager
def _reached(address: str) -> Iterator[None]:
    try:
        yield
    except (OSError, TimeoutError) as error:
        raise ConnectionError(f"cluster: there is no scheduler at {address} ({error})") from error


def _check_address(address: str) -> None:
    """Before a client looks for it, for longer than it takes to see that it cannot be one."""
    from distributed.comm.addressing import parse_address, parse_host_port

    try:
        scheme, place = parse_address(address)
        if scheme in ("tcp", "tls", "ws", "wss"):
            parse_host_port(place)
    except ValueError as error:
        raise ArgumentError(
            "cluster", f"must be an address, such as tcp://host:8786 (got {address!r}); {error}"
        ) from None


@contextlib.contextmanager
def _connected() -> Iterator[None]:
    """What a lost scheduler does, in words."""
    from distributed.client import FutureCancelledError
    from distributed.comm import CommClosedError

    try:
        yield
    except (FutureCancelledError, CommClosedError) as error:
        raise ConnectionError(
            "cluster: the scheduler has stopped; finished runs are in the store, and the same call continues"
        ) from error
