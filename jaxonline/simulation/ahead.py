"""Programs are compiled side by side, and those of the next job while those of the present one are played.

Compilation keeps one core busy, and most of a small study's time is compilation. The small programs of a job are
compiled while the large one is traced, which takes as long.
"""

from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

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
    pool, waiting = ThreadPoolExecutor(max_workers=2), list[list[Future[Any]]]()
    try:
        for job in jobs:
            if to_play and job is to_play[0]:
                waiting += [_compiled(each, pool) for each in to_play[len(waiting) : 2]]
                for program in waiting.pop(0):
                    program.result()
                to_play.pop(0)
            yield job
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _compiled(job: Job, pool: ThreadPoolExecutor) -> list[Future[Any]]:
    """The programs of a job, traced, and in the hands of the pool; calls with arguments like these take them."""
    plan, mesh = job.plan, job.plan.mesh
    wave, _ = next(blocks.waves(plan.blocks, mesh))
    matchup, key = blocks.on_every_device((job.matchup, plan.key), mesh)
    keys_first = keys_of_runs.lower(key, wave, width=plan.width, mesh=mesh)
    compiled = [pool.submit(keys_first.compile)]
    keys = blocks.results_of(keys_first, mesh)
    first = begin.lower(matchup, keys, mesh=mesh)
    compiled.append(pool.submit(first.compile))
    t = np.int32(0)
    rounds = advance.lower(matchup, keys, t, t, blocks.results_of(first, mesh), mesh=mesh)
    return [*compiled, pool.submit(rounds.compile)]
