"""Programs are compiled side by side, and those of the next job while those of the present one are played.

Compilation keeps one core busy, and most of a small study's time is compilation. The small programs of a job are
compiled while the large one is traced, which takes as long.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import jax

from jaxonline._xla.compile_options import has_host_callbacks, is_debugging
from jaxonline._xla.threads import bind_context, share_cores
from jaxonline.simulation import blocks
from jaxonline.simulation.jobs import Job
from jaxonline.simulation.segments import BlockPrograms, traced_programs
from jaxonline.store.blocks import Store

_compiled_kinds: set[int] = set()  # kinds of jobs that have their programs


def precompile_jobs(jobs: Sequence[Job], store: Store | None = None) -> Iterator[Job]:
    """The jobs, each when its programs are ready; those of the next job that lacks them are being compiled then.

    A job brings the programs that were compiled for it. One whose blocks are all in the store needs none.
    """
    if is_debugging():
        yield from jobs
        return
    to_compile = [job for job in jobs if _program_hash(job) not in _compiled_kinds and not _is_finished(job, store)]
    if not to_compile:
        yield from jobs
        return
    pool, waiting = ThreadPoolExecutor(max_workers=2), list[Callable[[], BlockPrograms]]()
    try:
        for job in jobs:
            if to_compile and job is to_compile[0]:
                waiting += [_start_compiling(each, pool) for each in to_compile[len(waiting) : 2]]
                _compiled_kinds.add(_program_hash(to_compile.pop(0)))
                job = job._replace(programs=waiting.pop(0)())
            yield job
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _program_hash(job: Job) -> int:
    """The same for jobs that are played by the same programs; to ask for programs takes longer than to compute it."""
    leaves, structure = jax.tree.flatten((job.matchup, job.plan.key))
    plan = job.plan
    of_leaves = ((leaf.shape, leaf.dtype) for leaf in leaves)
    return hash((str(structure), *of_leaves, plan.width, plan.mesh, blocks.thread_count(plan.mesh, len(plan.blocks))))


def _is_finished(job: Job, store: Store | None) -> bool:
    return store is not None and store.blocks.finished(job.rows).issuperset(job.plan.blocks)


def _start_compiling(job: Job, pool: ThreadPoolExecutor) -> Callable[[], BlockPrograms]:
    """The programs of a job, traced, in the hands of the pool, and to be waited for."""
    plan, programs, host = job.plan, list[Future[Any]](), False
    with share_cores(blocks.thread_count(plan.mesh, len(plan.blocks))):
        for traced in traced_programs(job.matchup, plan.key, plan.width, plan.mesh):
            programs.append(pool.submit(bind_context(traced.lower().compile)))
            host = host or has_host_callbacks(traced.jaxpr)
    return lambda: BlockPrograms(*(program.result() for program in programs), host_callbacks=host)
