"""Jobs side by side on the cores of a CPU.

XLA runs the operations of a loop one after the other on one core of a CPU, so that independent loops want a thread
each; compilations, too, go side by side.
"""

import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import jax
import jax.numpy as jnp


def in_parallel(jobs: Sequence[Callable[[], Any]], at_once: int | None = None) -> list[Any]:
    """Results of the jobs, in their order; float64 is enabled in them where it is enabled here.

    Args:
        jobs: are begun in this order; when one fails, those that have not begun are left out.
        at_once: how many are done at a time; by default one for each core of a CPU, and one on other devices.
    """
    enabled = jnp.result_type(float) == jnp.float64

    def run(job):
        with jax.enable_x64(enabled):
            return jax.block_until_ready(job())

    with ThreadPoolExecutor(max_workers=default_at_once() if at_once is None else at_once) as pool:
        return list(pool.map(run, jobs))


def default_at_once() -> int:
    """How many jobs `in_parallel` does at a time by default."""
    return usable_cores() if jax.default_backend() == "cpu" else 1


def usable_cores() -> int:
    """The cores that this process may use, at least 1."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity is not None else (os.cpu_count() or 1)
