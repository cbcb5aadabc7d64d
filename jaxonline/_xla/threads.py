"""Jobs side by side on the cores of a CPU.

XLA runs the operations of a loop one after the other on one core of a CPU, and the programs that one thread launches
one after the other, so that independent loops want a thread each; compilations, too, go side by side.
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

T = TypeVar("T")
U = TypeVar("U")

_sharing = contextvars.ContextVar("sharing", default=1)  # jobs that are done at a time, this one among them


class Cancelled(Exception):
    """Raised in a job that nobody waits for any more."""


def run_parallel(jobs: Sequence[Callable[[], Any]], n_threads: int | None = None) -> list[Any]:
    """Results of the jobs, in their order, each done as it would be here.

    Args:
        jobs: are begun in this order; when one fails, those that have not begun are left out.
        n_threads: how many are done at a time; by default one for each core of a CPU, and one on other devices.
    """
    n_threads = min(default_threads() if n_threads is None else n_threads, max(1, len(jobs)))
    return list(map_in_threads(lambda job: jax.block_until_ready(job()), jobs, n_threads, ahead=len(jobs)))


def map_in_threads(
    function: Callable[[T], U],
    items: Iterable[T],
    n_threads: int,
    ended: threading.Event | None = None,
    ahead: int | None = None,
) -> Iterator[U]:
    """`function(item)` for every item, in their order, each as it would be computed here.

    Args:
        function: is called in threads, where several items are worked on at a time.
        items: are asked for here, no more than `ahead` of them before the first result is handed out.
        n_threads: how many are worked on at a time; 1 is this thread.
        ended: is set when one has failed, or when no more results are asked for. Then those that have not begun are
            left out, and the others should look, and raise `Cancelled`, as they are waited for.
        ahead: twice `n_threads` by default.
    """
    if n_threads == 1:
        yield from map(function, items)
        return
    ended, failures = threading.Event() if ended is None else ended, []
    elsewhere, ahead = bind_context(function, n_threads), 2 * n_threads if ahead is None else ahead

    def run(item: T) -> U:
        if ended.is_set():
            raise Cancelled
        try:
            return elsewhere(item)
        except BaseException as error:
            failures.append(error)  # the first one; the others have seen that it ended
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
    """In this context a job has its share of the cores only, as so many are done at a time."""
    token = _sharing.set(_sharing.get() * n_threads)
    try:
        yield
    finally:
        _sharing.reset(token)


def bind_context(function: Callable[..., U], n_threads: int = 1) -> Callable[..., U]:
    """The function for another thread, of so many: float64 is enabled there where it is enabled here.

    Without that jax takes what was compiled there for something else, too. Context variables, as those of NumPy's
    errors, have the values that they have here; other settings of jax do not follow, so that what depends on them is
    compiled here.
    """
    enabled, here = jnp.result_type(float) == jnp.float64, contextvars.copy_context()

    def there(*args: Any) -> U:
        with jax.enable_x64(enabled), share_cores(n_threads):
            return function(*args)

    return lambda *args: here.copy().run(there, *args)


def default_threads() -> int:
    """How many jobs `run_parallel` does at a time by default."""
    return usable_cores() if jax.default_backend() == "cpu" else 1


def usable_cores() -> int:
    """The cores that this thread may use: its share of those of the process, at least 1."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity is not None else (os.cpu_count() or 1)
    return max(1, cores // _sharing.get())
