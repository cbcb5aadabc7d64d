"""Programs of the next job are compiled while those of the present one are played.

Compilation keeps one core busy, and most of a small study's time is compilation.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import jax
import numpy as np

from jaxonline.results.store import Store
from jaxonline.simulation import blocks
from jaxonline.simulation.runner import Job
from jaxonline.simulation.segments import advance, begin, keys_of_runs


def compiled_ahead(jobs: Sequence[Job], store: Store | None = None) -> Iterator[Job]:
    """The jobs, each when its programs are ready; those of the job after it are being compiled then.

    A job whose blocks are all in the store needs none.
    """
    to_play = [job for job in jobs if store is None or not store.blocks.finished(job.rows).issuperset(job.plan.blocks)]
    if len(to_play) < 2:
        yield from jobs
        return
    pool, waiting = ThreadPoolExecutor(max_workers=2), list[Future[Any]]()
    try:
        for job in jobs:
            if to_play and job is to_play[0]:
                waiting += [pool.submit(_lowered(each).compile) for each in to_play[len(waiting) : 2]]
                waiting.pop(0).result()
                to_play.pop(0)
            yield job
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _lowered(job: Job) -> Any:
    """The program of the rounds, traced; calls with arguments like these take what is compiled of it."""
    plan, mesh = job.plan, job.plan.mesh
    wave, _ = next(blocks.waves(plan.blocks, mesh))
    matchup, key = blocks.on_every_device((job.matchup, plan.key), mesh)
    keys = keys_of_runs(key, wave, width=plan.width, mesh=mesh)
    first = begin.lower(matchup, keys, mesh=mesh)
    carry = jax.tree.map(
        lambda leaf, sharding: jax.ShapeDtypeStruct(leaf.shape, leaf.dtype, sharding=sharding),
        first.out_info, first.compile().output_shardings,
    )  # fmt: skip
    t = np.int32(0)
    return advance.lower(matchup, keys, t, t, carry, mesh=mesh)
