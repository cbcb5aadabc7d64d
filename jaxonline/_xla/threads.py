"""Parallel jobs in threads, one per core of a CPU.

XLA runs the operations of a loop, and the programs that one thread launches, one after the other on one core. So
independent loops and compilations need a thread each.
"""

import contextlib
import contextvars
import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, TypeVar

import jax
import jax.numpy as jnp

from jaxonline._xla.barriers import user_code

T = TypeVar("T")
U = TypeVar("U")

_sharing = contextvars.ContextVar("sharing", default=1)  # number of jobs that share the cores, including this one


class Cancelled(Exception):
    """Raised in a job that was cancelled."""


def run_parallel(jobs: Sequence[Callable[[], Any]], n_threads: int | None = None) -> list[Any]:
    """Run jobs in threads (`default_threads`), return their results in order; start no job after one has failed."""
    n_threads = min(default_threads() if n_threads is None else n_threads, max(1, len(jobs)))
    return list(map_in_threads(lambda job: jax.block_until_ready(job()), jobs, n_threads, ahead=len(jobs)))


def map_in_threads(
    function: Callable[[T], U],
    items: Iterable[T],
    n_threads: int,
    ended: threading.Event | None = None,
    ahead: int | None = None,
) -> Iterator[U]:
    """Yield `function(item)` for every item in order, computed in threads with the settings of this thread.

    Args:
        function: function of an item, called in several threads.
        items: iterable, consumed in this thread.
        n_threads: number of threads; 1 means this thread.
        ended: event that is set when a call fails or no more results are needed. Calls that have not started are then
            skipped; running calls should check the event and raise `Cancelled`.
        ahead: largest number of items to start before the first result is yielded, by default twice `n_threads`.
    """
    if n_threads == 1:
        yield from map(function, items)
        return
    ended, failures = threading.Event() if ended is None else ended, []
    call, ahead = bind_context(function, n_threads), 2 * n_threads if ahead is None else ahead

    def run(item: T) -> U:
        if ended.is_set():
            raise Cancelled
        try:
            return call(item)
        except BaseException as error:
            failures.append(error)  # the first error; the others are `Cancelled`
            ended.set()
            raise

    waiting: deque[Future[U]] = deque()
    pool = ThreadPoolExecutor(max_workers=n_threads)
    try:
        for item in items:
            waiting.append(pool.submit(run, item))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
        return
    except Cancelled:
        pass
    finally:
        ended.set()
        pool.shutdown(cancel_futures=True)
    raise failures[0]


@contextlib.contextmanager
def share_cores(n_threads: int) -> Iterator[None]:
    """Context in which `n_threads` jobs share the cores, so that `usable_cores` returns a share of them."""
    token = _sharing.set(_sharing.get() * n_threads)
    try:
        yield
    finally:
        _sharing.reset(token)


def bind_context(function: Callable[..., U], n_threads: int = 1) -> Callable[..., U]:
    """Bind a function to this thread's x64 mode, user code and context variables, to call it in `n_threads` threads.

    Without the x64 mode and the user code jax would compile the function again. Other settings of jax are not passed
    on; programs that depend on them must be compiled in this thread.
    """
    enabled, code, context = jnp.result_type(float) == jnp.float64, user_code.value, contextvars.copy_context()

    def call(*args: Any) -> U:
        with jax.enable_x64(enabled), user_code(code), share_cores(n_threads):
            return function(*args)

    return lambda *args: context.copy().run(call, *args)


def default_threads() -> int:
    """Default number of threads of `run_parallel`."""
    return usable_cores() if jax.default_backend() == "cpu" else 1


def usable_cores() -> int:
    """Number of cores that this thread may use: its share of the process's cores, at least 1."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity is not None else (os.cpu_count() or 1)
    return max(1, cores // _sharing.get())
