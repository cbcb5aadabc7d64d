"""Monte Carlo regret studies: thousands of runs of every learner, in fixed blocks and segments."""

import contextlib
import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from jaxonline.game import Game
from jaxonline.game.protocols import Comparator, HindsightComparator, Measure
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results import Result
from jaxonline.simulation.checking import SimulationOptions, check_options
from jaxonline.simulation.cluster import workers_of
from jaxonline.simulation.collecting import collect_result
from jaxonline.simulation.execution import run_study
from jaxonline.simulation.planning import plan_study
from jaxonline.simulation.precision import Precision, until_precise
from jaxonline.simulation.progress import Progress
from jaxonline.store.blocks import update_attributes
from jaxonline.store.checkpoints import Checkpoint


def simulate(
    game: Game,
    learners: Any,
    *,
    n_runs: int,
    n_rounds: int,
    key: int | jax.Array = 0,
    comparator: Comparator | HindsightComparator | None = None,
    measures: Iterable[Measure] = (),
    record_at: int | Sequence[int] = 40,
    spacing: str = "linear",
    runs: Sequence[int] | None = None,
    precision: Precision | None = None,
    control_variates: bool = False,
    antithetic: bool = False,
    block_size: int | None = None,
    mesh: Mesh | None = None,
    progress: Progress = False,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    cluster: Any = None,
) -> Result:
    """Play every learner `n_runs` times, and record losses, queries, regret and other measures along the way.

    The same key gives the same numbers, bit for bit, on any number of devices of one kind, for any recorded rounds, for
    all runs or a selection of them, interrupted and resumed or not. All learners face the same instances, and learners
    that share a feedback the same noise. Runs are computed in blocks; another `block_size` changes the last bits.
    Every learner is checked against the game before the first is played.

    A run overflows when the learner's info has a boolean field `overflow` that is true in some round. Such runs are
    counted (`Result.overflowed`), left out of the means, and warned of. `learner.overflow_probability(n_rounds)` is
    stated at the start, if the learner has it: by `progress`, in `Result.meta`, and as a warning if it is above 1 %.
    The warnings end with `capacity_hint`, one of the learner's traits.

    Args:
        game: the game; its feedback is the one for learners that bring none of their own.
        learners: learners by name; a value is a learner, an `Entrant` (a learner with its own feedback) or a `sweep`.
            A single one may be given without a name.
        n_runs: runs of each learner, at least 1.
        n_rounds: the horizon T, at least 1.
        key: a seed or a jax key; run r has the key `fold_in(key, r)`.
        comparator: for the regret, e.g. `L2Ball(radius)`; None leaves the regret out. One with `best_losses` needs all
            instances and outcomes of a run: the environment, which must be oblivious, is played alone to collect them,
            and one run after the other is solved on the host, at every recorded round; so ask for few. One with a
            `loss` must have the game's.
        measures: what else is counted (`jaxonline.measures`): `Mistakes()`, `Pulls()`, `Switches()`,
            `OfInfo("gradient_norm")`, or your own; in the result by name.
        record_at: at how many rounds, or at which.
        spacing: of the recorded rounds, "linear" or "log".
        runs: replay only these runs of the study (each with its whole block, so that they come out the same).
        precision: play no more runs than this asks for, at most `n_runs` (`Precision`); not with `runs`.
        control_variates: take out of regret and loss what the noise did to the same learner without projection, whose
            expected loss given the environment is known exactly (`Result.adjusted`): for `GradientLearner(TwoCopies())`
            with plain steps, on `NoisyCopies` whose laws state their covariance. Others are played as they are.
        antithetic: each run is the mean of two plays with opposite noise, in the same environment; noise is drawn once
            for both. Laws must be symmetric. `n_runs` counts such pairs.
        block_size: runs per block; by default 512 on a CPU, 16384 on an accelerator, at most `n_runs`.
        mesh: devices to use, a mesh with the single axis "blocks"; all local devices by default. A CPU is one device
            whose cores have a thread each, up to 32 (for more of them: `jax.config.update("jax_num_cpu_devices", n)`).
        progress: True for a progress bar, or a function (done, total, what), called as blocks are played, at every
            recorded round and where these are far apart in between; by several threads, but never by two at once.
        checkpoint: a store of what was computed, from which an interrupted study goes on, also with more runs or
            rounds; a path, a URL, or a `Checkpoint`, which also names a version of the study. More than 64 MB of
            numbers are not held in memory, but read from it when they are asked for.
        cluster: where blocks are played by workers of Dask `distributed` (extra `cluster`), which write them into the
            checkpoint: how many processes to start on this machine, the address of a scheduler, or a client. A script
            that has processes started needs the usual `if __name__ == "__main__":`. By default this process plays, on
            the devices of `mesh`.

    Returns:
        A `Result`. Of a study that got longer it has the rounds that were recorded before, where others are asked for.

    Raises:
        ValueError: for sizes below 1, runs that are unknown or asked for twice, a mesh with other axes, a checkpoint
            of another study, a comparator for another loss than the game's, or an adaptive environment that is asked
            for a comparator it does not have; control variates that no learner has; antithetic noise of a law that is
            not symmetric, that no learner sees, or on which the comparator is judged; a cluster without a checkpoint,
            or with workers of more than one kind.
        TypeError: for a learner, a comparator or a measure that is none, a feedback that does not answer what a
            learner asks, instances and outcomes that it, the loss or the comparator cannot use, or a checkpoint that
            cannot see what decides the numbers.
        OSError: for a checkpoint that cannot be written, or in which another process is working; a cluster that cannot
            be reached, or whose scheduler is gone.

    Warns:
        LossMismatchWarning: a learner is made for another loss than the game's.
        PrecisionWarning: the precision was not reached.
        DivergedRunsWarning: a learner's losses were NaN or infinite in some of the runs.
        OverflowWarning: a learner ran out of storage in some of the runs, or is likely to.
        ControlVariateWarning: a control variate is of no use, as steps are too large without a projection.
        DamagedStoreWarning: a damaged checkpoint, parts of which are played again.

    Example:
        >>> import numpy as np
        >>> import jaxonline as jo
        >>> game = jo.Game(
        ...     jo.environments.LinearModel(np.array([0.6, -0.8])), jo.NoisyCopies(jo.noise.gaussian(0.1))
        ... )
        >>> learner = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=jo.InverseSqrt(0.3), radius=1.0)
        >>> result = jo.simulate(game, {"two copies": learner}, n_runs=64, n_rounds=200, comparator=jo.L2Ball(1.0))
        >>> result.table()[0]["queries_per_round"]
        2.0

        As precise with fewer runs (`docs/variance-reduction.md`), most of all where runs differ by the noise only:

        >>> game = jo.Game(jo.environments.DataStream(np.eye(2), np.ones(2)), jo.NoisyCopies(jo.noise.gaussian(0.1)))
        >>> options = dict(n_runs=64, n_rounds=50, comparator=jo.L2Ball(2.0), control_variates=True)
        >>> learner = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=jo.InverseSqrt(0.3), radius=2.0)
        >>> bool(jo.simulate(game, learner, **options).table()[0]["variance_reduction"] > 10)
        True
    """
    if cluster is not None and checkpoint is None:
        raise ArgumentError("checkpoint", "must be given with a cluster (got None), as workers write their runs to it")
    with contextlib.nullcontext() if cluster is None else workers_of(cluster) as workers:
        options = check_options(
            game, learners, workers, n_runs=n_runs, n_rounds=n_rounds, key=key, comparator=comparator,
            measures=measures, record_at=record_at, spacing=spacing, runs=runs, precision=precision,
            control_variates=control_variates, antithetic=antithetic, block_size=block_size, mesh=mesh,
            progress=progress, checkpoint=checkpoint,
        )  # fmt: skip
        return _compute(options) if precision is None else _compute_until_precise(options, precision)


def _compute(options: SimulationOptions, attributes: Mapping[str, Any] = {}) -> Result:
    """The result of a study with a given number of runs; a checkpoint gets more attributes."""
    study = plan_study(options)
    return collect_result(options, study, run_study(options, study, attributes))


def _compute_until_precise(options: SimulationOptions, precision: Precision) -> Result:
    """The result of a study that has as many runs as its intervals need."""

    def play_more(some: range, before: Result | None) -> Result:
        if options.checkpoint is None:
            new = _compute(options.with_runs(np.asarray(some)))
            return new if before is None else before.merge_runs(new)
        # those before are in the checkpoint, which says from the start that one looks
        return _compute(options.with_runs(np.arange(some.stop)), precision.attributes(False, some.stop))

    result = until_precise(play_more, precision, options.n_runs, options.width * options.blocks_at_once)
    if options.checkpoint is not None:
        reached = result.meta["precision"]["reached"]
        update_attributes(options.checkpoint.folder, precision.attributes(reached, len(result.runs)))
    return result
