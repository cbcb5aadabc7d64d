"""Parallel compilation of the programs of a job, and of the next job's programs while the current job runs.

Compilation keeps one core busy and takes most of a small study's time. The small programs of a job are compiled while
its large program (the loop over rounds) is traced.
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
from jaxonline.store.checkpoints import Store

_compiled_kinds: set[int] = set()  # hashes of jobs whose programs are compiled


def precompile_jobs(jobs: Sequence[Job], store: Store | None = None) -> Iterator[Job]:
    """Yield each job with its compiled programs, while the programs of the next job are being compiled.

    A job whose blocks are all in the store needs no programs.
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
                waiting += [_start_compiling(next_job, pool) for next_job in to_compile[len(waiting) : 2]]
                _compiled_kinds.add(_program_hash(to_compile.pop(0)))
                job = job._replace(programs=waiting.pop(0)())
            yield job
    finally:
        pool.shutdown(wait=False, cancel_futures=True)


def _program_hash(job: Job) -> int:
    """Return a hash that is equal for jobs with the same programs; hashing a job is faster than tracing it."""
    leaves, structure = jax.tree.flatten((job.matchup, job.plan.key))
    plan = job.plan
    types = ((leaf.shape, leaf.dtype) for leaf in leaves)
    return hash((str(structure), *types, plan.width, plan.mesh, blocks.thread_count(plan.mesh, len(plan.blocks))))


def _is_finished(job: Job, store: Store | None) -> bool:
    return store is not None and store.finished(job.rows).issuperset(job.plan.blocks)


def _start_compiling(job: Job, pool: ThreadPoolExecutor) -> Callable[[], BlockPrograms]:
    """Trace the programs of a job and compile them in a thread pool; returns a function that waits for the programs."""
    plan, programs, host = job.plan, list[Future[Any]](), False
    with share_cores(blocks.thread_count(plan.mesh, len(plan.blocks))):
        for traced in traced_programs(job.matchup, plan.key, plan.width, plan.mesh):
            programs.append(pool.submit(bind_context(traced.lower().compile)))
            host = host or has_host_callbacks(traced.jaxpr)
    return lambda: BlockPrograms(*(program.result() for program in programs), host_callbacks=host)
