"""Monte Carlo regret studies: thousands of runs of every learner, in fixed blocks and segments."""

import contextlib
import functools
import os
from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from jaxonline.game import Entrant, Game, same_loss, warn_of_other_losses
from jaxonline.game.defaults import FeedbackDefaults, method_of
from jaxonline.game.protocols import Comparator, HindsightComparator, Measure
from jaxonline.game.specs import said
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.struct import cast_leaves
from jaxonline.results import Result
from jaxonline.results.statistics.variance_reduction import CONTROL
from jaxonline.simulation import blocks
from jaxonline.simulation.cluster import Workers, workers_of
from jaxonline.simulation.controls import with_controls, without_diverged
from jaxonline.simulation.hindsight import Hindsight
from jaxonline.simulation.measures import with_defaults
from jaxonline.simulation.metadata import in_words
from jaxonline.simulation.overflow import (
    overflow_probabilities,
    warn_of_divergence,
    warn_of_likely_overflow,
    warn_of_overflow,
)
from jaxonline.simulation.precision import Precision, until_precise
from jaxonline.simulation.precompile import compiled_ahead
from jaxonline.simulation.progress import Progress, Reporter, check_progress
from jaxonline.simulation.recording import record_rounds, selected_runs
from jaxonline.simulation.runner import Job, Plan, numbers_of, play_job
from jaxonline.simulation.segments import Matchup
from jaxonline.simulation.store_layout import layout_of, what_decides
from jaxonline.simulation.sweeps import Team, as_team, distinct
from jaxonline.store.blocks import note
from jaxonline.store.checkpoints import Checkpoint
from jaxonline.store.layout import BEST, FIRSTS, Rows
from jaxonline.store.lazy_arrays import Finished, are_few, arrays_of


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
        UserWarning: a learner is made for another loss than the game's.
        RuntimeWarning: the precision was not reached; a learner diverged, or ran out of storage (or is likely to), in
            some of the runs; a control variate is of no use, as steps are too large without a projection; a damaged
            checkpoint, parts of which are played again.

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
    check.instance("game", game, Game, "a Game")
    check.count("n_runs", n_runs)
    if cluster is not None and checkpoint is None:
        raise ValueError("cluster needs a checkpoint, into which the workers write what they have played, got None")
    with contextlib.nullcontext() if cluster is None else workers_of(cluster) as workers:
        mesh = blocks.default_mesh() if mesh is None else blocks.check_mesh(mesh)
        backend = jax.default_backend() if workers is None else workers.machine.backend
        width = blocks.default_width(n_runs, backend) if block_size is None else check.count("block_size", block_size)
        if precision is not None:
            check.instance("precision", precision, Precision, "a Precision")
            if runs is not None:
                raise ArgumentError("runs", "must be left out where precision decides how many there are, got both")

        def play(some: Sequence[int] | None, noted: Mapping[str, Any]) -> Result:
            return _simulate(
                game, learners, n_runs=n_runs, n_rounds=n_rounds, key=key, comparator=comparator, measures=measures,
                record_at=record_at, spacing=spacing, runs=some, control_variates=control_variates,
                antithetic=antithetic, width=width, mesh=mesh, progress=progress, checkpoint=checkpoint,
                workers=workers, noted=noted,
            )  # fmt: skip

        if precision is None:
            return play(runs, {})

        def play_more(some: range, before: Result | None) -> Result:
            if checkpoint is None:
                return play(some, {}) if before is None else before.with_runs_of(play(some, {}))
            # those before are in the checkpoint, which says from the start that one looks
            return play(range(some.stop), {"precision": precision.told(False, some.stop)})

        at_once = mesh.devices.size if workers is None else workers.number
        result = until_precise(play_more, precision, n_runs, width * at_once)
        if checkpoint is not None:
            note(Checkpoint.of(checkpoint).folder, {"precision": result.meta["precision"]})
        return result


def _simulate(
    game: Game, learners: Any, *, n_runs: int, n_rounds: int, key: Any, comparator: Any, measures: Any, record_at: Any,
    spacing: str, runs: Sequence[int] | None, control_variates: bool, antithetic: bool, width: int, mesh: Mesh,
    progress: Progress, checkpoint: Any, workers: "Workers | None", noted: Mapping[str, Any],
) -> Result:  # fmt: skip
    """`simulate` with a given number of runs; more attributes of the checkpoint are noted there."""
    rounds = record_rounds(n_rounds, record_at, spacing)
    selected = selected_runs(runs, n_runs)
    root = check.key_of("key", key)
    check_progress(progress)
    check.flag("control_variates", control_variates)
    check.flag("antithetic", antithetic)
    if checkpoint is not None:
        good = isinstance(checkpoint, str | Path | Checkpoint)
        check.instance("checkpoint", checkpoint, good, "a folder, or a Checkpoint")
    _check_comparator(game, comparator)
    counted = cast_leaves(with_defaults(measures), game.dtype)
    own = sorted({int(run) // width for run in selected})
    # a device without a block of its own would play one for nothing
    mesh = blocks.default_mesh(list(mesh.devices.flat)[: 1 if workers else len(own)])
    teams = _teams(game, learners, mesh)
    members = {name: learner for team in teams for name, learner in team.members.items()}
    for measure, team in ((measure, team) for measure in counted.values() for team in teams):
        measure.init(team.record)  # raises where the learner's rounds have not what is measured
    warn_of_other_losses(game, members)
    if antithetic:
        _check_antithetic(game, teams)
    counting = with_controls(teams) if control_variates else [(team.entrant, {}) for team in teams]

    kind = workers.machine.kind if workers else mesh.devices.flat[0].device_kind
    folder = None if checkpoint is None else Checkpoint.of(checkpoint)
    summed = None if isinstance(comparator, HindsightComparator) else comparator
    played = {"game": game, "learners": learners, "comparator": summed, "measures": counted}
    code = "" if folder is None else folder.code(played)
    plan = Plan(root, n_rounds, rounds, width, mesh, own)
    hindsight = None
    if isinstance(comparator, HindsightComparator):
        hindsight = Hindsight(game, comparator, plan, selected, code)
    best_job = _best_job(game, summed, plan, code) if summed is not None and game.oblivious else None
    own_best = None if best_job else summed
    ends = list(accumulate(len(team.members) for team in teams))
    jobs = [
        _job(team, entrant, own_best, counted | control, plan, antithetic, code, end)
        for team, (entrant, control), end in zip(teams, counting, ends, strict=True)
    ]
    probabilities = overflow_probabilities(members, n_rounds)
    meta = {
        **in_words(game, comparator, learners, teams),
        "n_runs": n_runs, "n_rounds": n_rounds, "block_size": width, "regret": type(game.regret).__name__,
        "devices": mesh.devices.size, "device_kind": kind,
        "dtype": str(game.dtype), "key": np.asarray(jax.random.key_data(root)).tolist(),
        "jax": jax.__version__, "overflow_probability": probabilities,
        **({"control_variates": True} if control_variates else {}), **({"antithetic": True} if antithetic else {}),
    }  # fmt: skip
    kept = contextlib.nullcontext()
    if folder is not None:
        matchups = [job.matchup for job in (*jobs, best_job) if job]
        shared = [each.rows for each in (best_job, hindsight) if each]
        comparators = [matchup.comparator for matchup in matchups], hindsight and hindsight.comparator
        study = what_decides(
            plan, kind, list(members), jobs, **({"antithetic": True} if antithetic else {}),
            game=[matchup.game for matchup in matchups], comparator=comparators, measures=counted,
        )  # fmt: skip
        layout = layout_of(teams, jobs, shared, int(selected.max()) + 1, counted)
        told = {name: of for name, of in meta.items() if name != "devices"}  # which decide nothing
        kept = folder.open(study, layout, told | dict(noted))
    with kept as store:
        if store is not None and (recorded := store.blocks.layout.rounds) != tuple(rounds.tolist()):  # it got longer
            jobs = [job._replace(plan=job.plan.recording(recorded)) for job in jobs]
            best_job = best_job and best_job._replace(plan=best_job.plan.recording(recorded))
            if hindsight:
                hindsight.recording(recorded)
        pieces = sum(job.plan.pieces() for job in (*jobs, best_job) if job) + (hindsight.pieces() if hindsight else 0)
        with Reporter(progress, pieces) as reporter:
            for name, probability in probabilities.items():
                if probability > 0:
                    chance = f"out of storage with probability {probability:.2g}"
                    reporter.say(f"{name}: {chance} in a run of {n_rounds:,} rounds")
            warn_of_likely_overflow(members, probabilities, n_rounds)
            todo = [*([best_job] if best_job else []), *jobs]  # so that an unfinished study has regrets
            hold = store is None or are_few(store.blocks.layout, len(selected))
            if workers is not None and store is not None:
                played_jobs = workers.play(todo, reporter, store, hold)
            else:
                played_jobs = [play_job(job, reporter, store, hold) for job in compiled_ahead(todo, store)]
            solved = hindsight.best_losses(reporter, store) if hindsight else None

    # the rounds that were asked for; all of them where some were not recorded before
    reached, recorded = jobs[0].plan.rounds, None
    if set(rounds) < set(reached):
        reached, recorded = rounds, np.flatnonzero(np.isin(reached, rounds))
    if store is not None and not hold:
        numbers = arrays_of(store.blocks, Finished.all_of(store.blocks.layout), selected, recorded)
    else:
        rows = np.searchsorted(own, selected // width) * width + selected % width
        played = [each for each in played_jobs if each is not None]
        best = played.pop(0).best if best_job else None
        if best is not None:
            solved = best[0, 0] if best.shape[1] == 1 else best[0, rows]
        numbers: dict[str, Any] = numbers_of(played, rows, recorded)
        if solved is not None:
            solved = solved if recorded is None else solved[..., recorded]
            numbers[BEST] = np.broadcast_to(solved, numbers["cumulative_loss"].shape)
    if control_variates:
        numbers[CONTROL] = without_diverged(members, numbers[CONTROL])
    result = Result(
        learners=tuple(members), runs=selected, rounds=reached, comparator_loss=numbers.pop(BEST, None),
        **{name: numbers.pop(name) for name in FIRSTS}, measures=numbers, meta=meta,
    )  # fmt: skip
    warn_of_overflow(members, result.overflowed, len(selected))
    warn_of_divergence(members, result.first_nonfinite)
    return result


def _check_comparator(game: Game, comparator: Any) -> None:
    if comparator is None:
        return
    good = isinstance(comparator, Comparator | HindsightComparator)
    check.instance("comparator", comparator, good, "a comparator, with statistic and best_loss, or best_losses")
    name = type(comparator).__name__
    loss = getattr(comparator, "loss", None)
    if loss is not None and not same_loss(game, loss):
        raise ValueError(f"comparator {name} must be for the loss of the game, {game.loss}, got one for {loss}")
    if isinstance(comparator, Comparator):
        try:
            jax.eval_shape(cast_leaves(comparator, game.dtype, "comparator").statistic, *game.specs)
        except (TypeError, ValueError, AttributeError) as error:
            instances, outcomes = map(said, game.specs)
            raise TypeError(
                f"comparator {name} cannot judge instances {instances} and outcomes {outcomes}: "
                f"{next(iter(str(error).splitlines()), '')[:250]}"
            ) from error


def _teams(game: Game, learners: Any, mesh: Mesh) -> list[Team]:
    if isinstance(learners, list | tuple):
        raise ArgumentTypeError(
            "learners", "must be one, or a dictionary of them by name, got a list: give them names, or a sweep"
        )
    named = dict(learners) if isinstance(learners, Mapping) else {"learner": learners}
    if not named:
        raise ArgumentError("learners", "must be at least one, got none")
    shapes_of = functools.partial(blocks.shapes_of, mesh)
    teams = [as_team(game, name, item, shapes_of) for name, item in named.items()]
    distinct("learners", [name for team in teams for name in team.members])
    return teams


def _check_antithetic(game: Game, teams: Iterable[Team]) -> None:
    if game.regret.comparator_on_copies:
        raise ValueError(
            f"antithetic plays need a comparator on clean instances, got the regret {type(game.regret).__name__}"
        )
    feedbacks = [team.entrant.feedback for team in teams] + [game.feedback] * game.regret.learner_on_copies
    turned = [method_of(feedback, FeedbackDefaults.mirrored)(-1.0) for feedback in feedbacks]  # raises without symmetry
    if all(after is before for after, before in zip(turned, feedbacks, strict=True)):
        raise ValueError(
            "antithetic plays need a learner with noisy feedback, as NoisyCopies, got only "
            f"{', '.join(sorted({type(feedback).__name__ for feedback in feedbacks}))}"
        )


def _job(
    team: Team, entrant: Entrant, comparator: Any, measures: dict[str, Any], plan: Plan, antithetic: bool, code: str,
    end: int,
) -> Job:  # fmt: skip
    """A team with its measures and, where the environment listens to it, with the comparator of its own game."""
    comparator = cast_leaves(comparator, team.game.dtype)
    matchup = Matchup(team.game, entrant, comparator, measures, len(team.members), antithetic, code)
    start = end - len(team.members)
    return Job(team.name, Rows(f"learner {start}", f"learner {team.name}", (start, end), plan.width), matchup, plan)


def _best_job(game: Game, comparator: Any, plan: Plan, code: str) -> Job:
    """The environment alone, for the comparator that all learners share; one run shows what all runs see, if all do."""
    matchup = cast_leaves(Matchup(game, None, comparator, {}, code=code), game.dtype)
    rows = Rows("comparator", "comparator", None, 0 if game.deterministic else plan.width)
    return Job("best in hindsight", rows, matchup, plan.of_one_run() if game.deterministic else plan)
