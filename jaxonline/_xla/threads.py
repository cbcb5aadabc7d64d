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


def in_parallel(jobs: Sequence[Callable[[], Any]], at_once: int | None = None) -> list[Any]:
    """Results of the jobs, in their order, each done as it would be here.

    Args:
        jobs: are begun in this order; when one fails, those that have not begun are left out.
        at_once: how many are done at a time; by default one for each core of a CPU, and one on other devices.
    """
    at_once = min(default_at_once() if at_once is None else at_once, max(1, len(jobs)))
    return list(side_by_side(lambda job: jax.block_until_ready(job()), jobs, at_once, ahead=len(jobs)))


def side_by_side(
    function: Callable[[T], U],
    items: Iterable[T],
    at_once: int,
    ended: threading.Event | None = None,
    ahead: int | None = None,
) -> Iterator[U]:
    """`function(item)` for every item, in their order, each as it would be computed here.

    Args:
        function: is called in threads, where several items are worked on at a time.
        items: are asked for here, no more than `ahead` of them before the first result is handed out.
        at_once: how many are worked on at a time; 1 is this thread.
        ended: is set when one has failed, or when no more results are asked for. Then those that have not begun are
            left out, and the others should look, and raise `Cancelled`, as they are waited for.
        ahead: twice `at_once` by default.
    """
    if at_once == 1:
        yield from map(function, items)
        return
    ended, failures = threading.Event() if ended is None else ended, []
    elsewhere, ahead = as_here(function, at_once), 2 * at_once if ahead is None else ahead

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
    pool = ThreadPoolExecutor(max_workers=at_once)
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
def sharing_cores(at_once: int) -> Iterator[None]:
    """In this context a job has its share of the cores only, as so many are done at a time."""
    token = _sharing.set(_sharing.get() * at_once)
    try:
        yield
    finally:
        _sharing.reset(token)


def as_here(function: Callable[..., U], at_once: int = 1) -> Callable[..., U]:
    """The function for another thread, of so many: float64 is enabled there where it is enabled here.

    Without that jax takes what was compiled there for something else, too. Context variables, as those of NumPy's
    errors, have the values that they have here; other settings of jax do not follow, so that what depends on them is
    compiled here.
    """
    enabled, here = jnp.result_type(float) == jnp.float64, contextvars.copy_context()

    def there(*args: Any) -> U:
        with jax.enable_x64(enabled), sharing_cores(at_once):
            return function(*args)

    return lambda *args: here.copy().run(there, *args)


def default_at_once() -> int:
    """How many jobs `in_parallel` does at a time by default."""
    return usable_cores() if jax.default_backend() == "cpu" else 1


def usable_cores() -> int:
    """The cores that this thread may use: its share of those of the process, at least 1."""
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity is not None else (os.cpu_count() or 1)
    return max(1, cores // _sharing.get())
