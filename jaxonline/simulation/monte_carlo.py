"""Monte Carlo regret studies: thousands of runs of every learner."""

import contextlib
import functools
import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import jax
from jax.sharding import Mesh

from jaxonline._xla.barriers import user_code
from jaxonline.game import Game
from jaxonline.game.binding import warn_of_losses_out_of_range
from jaxonline.game.roles import Comparator, HindsightComparator, Measure
from jaxonline.parameters.signatures import explain_calls
from jaxonline.results import Result
from jaxonline.simulation import blocks
from jaxonline.simulation.cluster import Cluster, connect_workers
from jaxonline.simulation.options import (
    RecordedRounds,
    RunIndices,
    SimulationOptions,
    Spacing,
    check_options,
    is_deterministic,
)
from jaxonline.simulation.planning import collect_result, plan_study, run_study
from jaxonline.simulation.progress import Progress
from jaxonline.simulation.stopping_rules import Precision, UntilDecided, until_decided, until_precise
from jaxonline.simulation.sweeps import LearnerEntries
from jaxonline.store.checkpoints import Checkpoint, update_meta
from jaxonline.store.fingerprint import hash_user_code


@explain_calls
def simulate(
    game: Game,
    learners: LearnerEntries,
    *,
    n_runs: int,
    n_rounds: int,
    key: int | jax.Array = 0,
    comparator: Comparator | HindsightComparator | None = None,
    measures: Iterable[Measure] = (),
    record_at: RecordedRounds = 40,
    spacing: Spacing = "linear",
    runs: RunIndices | None = None,
    stop: Precision | UntilDecided | None = None,
    block_size: int | None = None,
    mesh: Mesh | None = None,
    progress: Progress = False,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    cluster: Cluster | None = None,
) -> Result:
    """Simulate online learning: run every learner `n_runs` times, and record losses, queries, regret and measures.

    The same key gives the same numbers, bit for bit, on any number of devices of one kind, for any recorded rounds and
    selection of runs, with or without interruptions. All learners face the same instances, and learners that share a
    feedback face the same noise. A different `block_size` changes the last bits of the numbers.

    A run overflows if the learner's info has a boolean field `overflow` that is true in some round. Overflowed runs are
    counted (`Result.overflowed`), excluded from the means, and cause a warning that ends with the learner's trait
    `capacity_hint`. If the learner has `overflow_probability(n_rounds)`, then `progress` and `Result.meta` report this
    probability at the start, and a warning appears if it is above 1 %.

    Args:
        game: the game; its feedback is used by learners that are not a `WithFeedback` with their own feedback.
        learners: learners by name, each a learner, a `WithFeedback` (a learner with its own feedback) or a `sweep`; a
            single learner needs no name.
        n_runs: number of runs of each learner, at most 10^9.
        n_rounds: the horizon T.
        key: a seed or a JAX key; run r has the key `fold_in(key, r)`.
        comparator: the comparator of the regret, e.g. `L2Ball(radius)`; None for no regret. A comparator with the
            method `best_losses` is solved on the host for each run and recorded round (record few rounds), and needs an
            oblivious environment. If the comparator has a `loss`, it must be the loss of the game.
        measures: more measures (`jaxonline.measures`): `Mistakes()`, `Pulls()`, `Switches()`,
            `OfInfo("gradient_norm")`, or your own; each appears in the result by name.
        record_at: number of recorded rounds, or a list of the recorded rounds.
        spacing: spacing of the recorded rounds, "linear" or "log".
        runs: indices of the runs of the study to simulate. The whole blocks of the selected runs are computed, so that
            the runs have the same numbers as in the complete study.
        stop: a rule that stops the study before `n_runs`; not together with `runs`. `Precision(half_width)` stops as
            soon as the intervals are narrow enough, and `UntilDecided(margin)` as soon as all pairs of learners are
            decided (`Result.decisions`).
        block_size: number of runs per block, at most 2^20. By default it follows from the shapes of the game's
            instances and outcomes: 8 to 128 on a CPU, 16384 on an accelerator, at most `n_runs`. A study that continues
            keeps its block size. A core plays one block at a time, so a study of fewer blocks than cores leaves cores
            idle.
        mesh: devices, as a mesh with the single axis "blocks"; all local devices by default. A CPU is one device with a
            thread per core, up to 32 threads; to use more cores, call `jax.config.update("jax_num_cpu_devices", n)`.
        progress: True for a progress bar, or a function (done, total, what). The function is called after recorded
            rounds, and more often if these are far apart. Several threads may call it, one at a time.
        checkpoint: a store (a path, or a `Checkpoint`, which can also name a version of the study). An interrupted
            study resumes from its store, also with more runs, or with more learners after the others.
        cluster: workers of Dask `distributed` (extra `cluster`) that compute the blocks: a number of local processes,
            the address of a scheduler, or a client. This process writes the checkpoint. A script that starts processes
            needs `if __name__ == "__main__":`. By default, this process computes the blocks on the devices of `mesh`.

    Returns:
        A `Result`.

    Raises:
        ValueError: a size below 1, a block that does not fit into memory, unknown or repeated runs, a mesh with other
            axes, a checkpoint of a different study, a comparator for another loss, or a comparator with `best_losses`
            for an adaptive environment; a cluster has workers of more than one kind, or with other files; a learner can
            stop, and the comparator has `best_losses`.
        TypeError: a learner, comparator or measure lacks methods, the feedback does not answer the learner's queries,
            the learner, loss or comparator cannot use the instances and outcomes, or the checkpoint cannot identify
            everything that decides the numbers.
        OSError: the checkpoint cannot be written or is in use by another process; the cluster cannot be reached, or
            none of its workers runs a block for ten minutes.
        RuntimeError: this process was forked after its parent had used jaxonline.

    Warns:
        SettingsWarning: a learner is made for a loss that differs from the loss of the game, or losses of an
            environment of your own are outside the range that a learner assumes.
        UnfinishedStudyWarning: no worker of the cluster runs a block for a minute.
        PrecisionWarning: the precision was not reached, or some pairs of learners are undecided after `n_runs`.
        DivergedRunsWarning: a learner's losses were NaN or infinite in some runs.
        OverflowWarning: a learner ran out of storage in some runs, or probably will.
        DamagedStoreWarning: parts of the checkpoint were damaged and are computed again.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> game = jo.Game(
        ...     jo.environments.LinearModel(np.array([0.6, -0.8])), jo.NoisyCopies(jo.noise.gaussian(0.1))
        ... )
        >>> learner = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=jo.InverseSqrt(0.3), radius=1.0)
        >>> result = jo.simulate(game, {"two copies": learner}, n_runs=64, n_rounds=200, comparator=jo.L2Ball(1.0))
        >>> result.table()[0]["queries_per_round"]
        2.0
    """
    with contextlib.nullcontext() if cluster is None else connect_workers(cluster) as workers:
        options = check_options(
            game, learners, workers, n_runs=n_runs, n_rounds=n_rounds, key=key, comparator=comparator,
            measures=measures, record_at=record_at, spacing=spacing, runs=runs, stop=stop,
            block_size=block_size, mesh=mesh, progress=progress, checkpoint=checkpoint,
        )  # fmt: skip
        result = _compute(options) if options.stop is None else _compute_until(options, options.stop)
        warn_of_losses_out_of_range(game, options.members, result.first_out_of_range)
        return result


def _compute(options: SimulationOptions, attributes: Mapping[str, Any] = {}) -> Result:
    """Compute a study with a given number of runs; `attributes` are stored in the checkpoint too."""
    decisive = {name: getattr(options, name) for name in ("game", "learners", "comparator", "measures")}
    if options.checkpoint is not None:
        code = options.checkpoint.refresh_code(decisive)
    else:
        code = "" if options.workers is None else hash_user_code(decisive, strict=False)
    with user_code(code):
        study = plan_study(options)
        return collect_result(options, study, run_study(options, study, attributes))


def _compute_until(options: SimulationOptions, rule: Precision | UntilDecided) -> Result:
    """Compute a study with as many runs as the stopping rule needs."""

    def play_more(runs: range, before: Result | None) -> Result:
        if options.checkpoint is None:
            new = _compute(options.with_runs(runs))
            return new if before is None else before.merge_runs(new)
        # the checkpoint has the earlier runs; it records from the start that intervals are looked at repeatedly
        return _compute(options.with_runs(range(runs.stop)), rule.attributes(False, runs.stop, interval))

    @functools.cache
    def all_runs_are_equal() -> bool:
        return all(map(is_deterministic, options.teams))

    width, step = options.width, options.width * options.blocks_at_once
    interval = rule.choose_interval(int(options.rounds[-1]), options.n_runs)
    if isinstance(rule, Precision):
        result = until_precise(play_more, rule, options.n_runs, step, interval, all_runs_are_equal)
        outcome = {"precision": result.meta["precision"]}
    else:
        if options.workers is None:  # idle cores play ahead; the result has only the runs until the decision
            step *= blocks.thread_count(options.mesh, blocks.MAX_THREADS)
        result = until_decided(play_more, rule, options.n_runs, width, step, interval, all_runs_are_equal)
        outcome = {"decisions": result.meta["decisions"]}
    if options.checkpoint is not None:
        update_meta(Path(options.checkpoint.folder), outcome | {"interval": interval.to_json()})
    return result
