"""Programs are compiled side by side, and those of the next job while those of the present one are played.

Compilation keeps one core busy, and most of a small study's time is compilation. The small programs of a job are
compiled while the large one is traced, which takes as long.
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

_known: set[int] = set()  # kinds of jobs that have their programs


def compiled_ahead(jobs: Sequence[Job], store: Store | None = None) -> Iterator[Job]:
    """The jobs, each when its programs are ready; those of the next job that lacks them are being compiled then.

    A job whose blocks are all in the store needs none.
    """
    to_compile = [job for job in jobs if _kind(job) not in _known and not _is_finished(job, store)]
    if not to_compile:
        yield from jobs
        return
    pool, waiting = ThreadPoolExecutor(max_workers=2), list[list[Future[Any]]]()
    try:
        for job in jobs:
            if to_compile and job is to_compile[0]:
                waiting += [_compiled(each, pool) for each in to_compile[len(waiting) : 2]]
                for program in waiting.pop(0):
                    program.result()
                _known.add(_kind(to_compile.pop(0)))
            yield job
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _kind(job: Job) -> int:
    """The same for jobs that are played by the same programs; to ask for programs takes longer than to compute it."""
    leaves, structure = jax.tree.flatten((job.matchup, job.plan.key))
    return hash((structure, *((leaf.shape, leaf.dtype) for leaf in leaves), job.plan.width, job.plan.mesh))


def _is_finished(job: Job, store: Store | None) -> bool:
    return store is not None and store.blocks.finished(job.rows).issuperset(job.plan.blocks)


def _compiled(job: Job, pool: ThreadPoolExecutor) -> list[Future[Any]]:
    """The programs of a job, traced, and in the hands of the pool; calls with arguments like these take them."""
    plan, mesh = job.plan, job.plan.mesh
    wave, _ = next(blocks.waves(plan.blocks, mesh))
    matchup, key = blocks.specs((job.matchup, plan.key), mesh)
    of_keys = keys_of_runs.lower(key, wave, width=plan.width, mesh=mesh)
    compiled = [pool.submit(of_keys.compile)]
    keys = blocks.specs(of_keys.out_info, mesh, blockwise=True)
    of_start = begin.lower(matchup, keys, mesh=mesh)
    compiled.append(pool.submit(of_start.compile))
    carry, t = blocks.specs(of_start.out_info, mesh, blockwise=True), np.int32(0)
    of_rounds = advance.lower(matchup, keys, t, t, carry, mesh=mesh)
    return [*compiled, pool.submit(of_rounds.compile)]
