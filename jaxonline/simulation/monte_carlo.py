"""Monte Carlo regret studies: thousands of runs of every learner, in fixed blocks and equal segments."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from jaxonline._util import check
from jaxonline._util.struct import cast_leaves, stack
from jaxonline.game import Entrant, Game, as_entrant
from jaxonline.game.protocols import Comparator, HindsightComparator
from jaxonline.results import Result
from jaxonline.simulation import blocks
from jaxonline.simulation.checkpoint import Checkpoint
from jaxonline.simulation.hindsight import Hindsight
from jaxonline.simulation.overflow import Member, overflow_probabilities, warn_of_likely_overflow, warn_of_overflow
from jaxonline.simulation.progress import Reporter
from jaxonline.simulation.runner import BEST, Plan, Played, play_pass
from jaxonline.simulation.segments import Matchup, Sweep

SPACINGS = ("linear", "log")


def sweep(learners: Mapping[Any, Any] | Sequence[Any]) -> Sweep:
    """Learners that differ in numbers only (step size, radius, ...), to be played as one compiled program.

    In a study a sweep named "sgd" with the labels 0.1 and 0.2 becomes the learners "sgd[0.1]" and "sgd[0.2]".

    Args:
        learners: learners by label, or a sequence, labelled 0, 1, ...

    Raises:
        ValueError: if there is none, or if they differ in more than numbers (another estimator, another optimiser).

    Example:
        >>> import jaxonline as jo
        >>> etas = [0.01, 0.1, 1.0]
        >>> sweep = jo.sweep({eta: jo.GradientLearner(jo.estimators.TwoCopies(), step_size=eta) for eta in etas})
        >>> sweep.labels
        ('0.01', '0.1', '1.0')
    """
    items = dict(learners if isinstance(learners, Mapping) else enumerate(learners))
    if not items:
        raise ValueError("learners of a sweep must be at least one, got none")
    return Sweep(stack(list(items.values())), _distinct("labels", map(str, items)))


def record_rounds(n_rounds: int, record_at: int | Sequence[int], spacing: str = "linear") -> tuple[int, np.ndarray]:
    """The segment length and the rounds at which a study reads out; the last one is the horizon.

    Segments are equal, so that their program is compiled once. For a number of recorded rounds the length is, where
    there is one not much longer, a divisor of the horizon; so there may be fewer of them than asked for, never more.

    Args:
        n_rounds: the horizon T.
        record_at: how many, or the rounds themselves (the horizon is added).
        spacing: "linear", or "log" for a logarithmic axis; ignored when the rounds are given.

    Raises:
        ValueError: for a horizon or a number of recorded rounds below 1, rounds outside 1..T, or an unknown spacing.

    Example:
        >>> from jaxonline.simulation import record_rounds
        >>> record_rounds(100, 4)
        (25, array([ 25,  50,  75, 100]))
        >>> record_rounds(1000, 4, "log")
        (1, array([   1,   10,  100, 1000]))
    """
    check.count("n_rounds", n_rounds)
    check.choice("spacing", spacing, SPACINGS)
    if not isinstance(record_at, int | np.integer):
        if not np.issubdtype(np.asarray(record_at).dtype, np.integer):
            raise TypeError(f"record_at must be a number of recorded rounds or a sequence of rounds, got {record_at!r}")
        rounds = np.unique(np.append(record_at, n_rounds))
        if rounds[0] < 1 or rounds[-1] > n_rounds:
            raise ValueError(f"record_at must be rounds between 1 and n_rounds={n_rounds}, got {rounds[[0, -1]]}")
        return int(np.gcd.reduce(rounds[:-1] if len(rounds) > 1 else rounds)), rounds
    check.count("record_at", record_at)
    if spacing == "log":
        length = max(1, n_rounds // 512)
        wanted = np.round(np.geomspace(length, n_rounds, record_at) / length).astype(int) * length
        wanted[-1] = n_rounds
        return length, np.unique(np.minimum(wanted, n_rounds))
    shortest = -(-n_rounds // record_at)
    divisors = (length for length in range(shortest, 2 * shortest) if n_rounds % length == 0)
    length = next(divisors, shortest)
    return length, np.minimum(np.arange(length, n_rounds + length, length), n_rounds)


def simulate(
    game: Game,
    learners: Any,
    *,
    n_runs: int,
    n_rounds: int,
    key: int | jax.Array = 0,
    comparator: Comparator | HindsightComparator | None = None,
    record_at: int | Sequence[int] = 40,
    spacing: str = "linear",
    runs: Sequence[int] | None = None,
    block_size: int | None = None,
    mesh: Mesh | None = None,
    progress: bool | Callable[[int, int, str], None] = False,
    checkpoint: str | Path | None = None,
) -> Result:
    """Play every learner `n_runs` times and read out losses, regret and queries along the way.

    The same key gives the same numbers, bit for bit, on any number of devices of one kind, for any number of
    recorded rounds, for all runs or a selection of them, interrupted and resumed or not. All learners face the same
    instances, and learners that share a feedback the same noise. Runs are computed in blocks; another `block_size`
    changes the last bits.

    A learner whose info has a boolean `overflow` says with it that it ran out of storage in a round. Such runs are
    counted (`Result.overflowed`), left out of the means, and warned of. Where it has `overflow_probability(n_rounds)`,
    that is stated at the start: by `progress`, in `Result.meta`, and as a warning where it is above 1 %. Its
    `capacity_hint()`, a sentence on how to raise the capacity, ends the warnings.

    Args:
        game: the game; its feedback is the one for learners that bring none of their own.
        learners: learners by name; a value is a learner, a `Entrant` (a learner with its own feedback) or a `sweep`.
            A single one may be given without a name.
        n_runs: runs of each learner, at least 1.
        n_rounds: the horizon T, at least 1.
        key: a seed or a jax key; run r has the key `fold_in(key, r)`.
        comparator: for the regret, e.g. `L2Ball(radius)`; None leaves the regret out. One with `best_losses` needs all
            instances and targets of a run: the environment, which must be oblivious, is played alone to collect them,
            and one run after the other is solved on the host, at every recorded round; so ask for few. One with a
            `loss` must have the game's.
        record_at: how many, or the rounds themselves.
        spacing: of the recorded rounds, "linear" or "log".
        runs: replay only these runs of the study (each with its whole block, so that they come out the same).
        block_size: runs per block; by default 512 on a CPU, 16384 on an accelerator, at most `n_runs`.
        mesh: devices to use, a mesh with the single axis "blocks"; all local devices by default.
        progress: True for a progress bar, or a function (done, total, what).
        checkpoint: a folder to which finished blocks are written, and from which an interrupted study goes on.

    Returns:
        A `Result`.

    Raises:
        ValueError: for sizes below 1, unknown runs, a mesh with other axes, a checkpoint of another study, a
            comparator for another loss than the game's, or an adaptive environment that is asked for a comparator it
            does not have.
        TypeError: for a learner that is none.

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
    """
    check.count("n_runs", n_runs)
    length, rounds = record_rounds(n_rounds, record_at, spacing)
    width = check.count("block_size", block_size) if block_size is not None else blocks.default_width(n_runs)
    mesh = blocks.default_mesh() if mesh is None else blocks.check_mesh(mesh)
    selected = _selected_runs(runs, n_runs)
    _check_comparator(game, comparator)
    named = dict(learners) if isinstance(learners, Mapping) else {"learner": learners}
    if not named:
        raise ValueError("learners must be at least one, got none")

    members = list(_members(named))
    names = _distinct("learners", (member.name for member in members))
    key = key if isinstance(key, jax.Array) else jax.random.key(key)
    plan = Plan(key, n_rounds, length, rounds, width, mesh, sorted({int(run) // width for run in selected}))
    hindsight = None
    if isinstance(comparator, HindsightComparator):
        hindsight, comparator = Hindsight(game, comparator, plan, selected), None
    passes = _passes(game, named, comparator, plan)
    studied = {name: (each, own.key, own.rounds, own.width) for name, (each, own) in passes.items()}
    store = None
    if checkpoint is not None:
        store = Checkpoint(Path(checkpoint), (Played._fields, studied, hindsight and hindsight.comparator))
    probabilities = overflow_probabilities(members, n_rounds)
    pieces = sum(plan.pieces() for _, plan in passes.values()) + (hindsight.pieces() if hindsight else 0)
    with Reporter(progress, pieces) as reporter:
        for name, probability in probabilities.items():
            if probability > 0:
                chance = f"out of storage with probability {probability:.2g}"
                reporter.say(f"{name}: {chance} in a run of {n_rounds:,} rounds")
        warn_of_likely_overflow(members, probabilities, n_rounds)
        played = {name: play_pass(name, *each, reporter, store) for name, each in passes.items()}
        best = hindsight.best_losses(reporter, store) if hindsight else None

    # the rows of the played blocks that were asked for
    at = np.searchsorted(plan.blocks, selected // width) * width + selected % width
    meta = {
        "n_runs": n_runs, "n_rounds": n_rounds, "block_size": width, "regret": game.regret,
        "devices": mesh.devices.size, "device_kind": mesh.devices.flat[0].device_kind,
        "dtype": str(game.environment.instance_spec.dtype), "key": np.asarray(jax.random.key_data(key)).tolist(),
        "jax": jax.__version__, "overflow_probability": probabilities,
    }  # fmt: skip
    result = _assemble(names, played, best, at, selected, rounds, meta)
    warn_of_overflow(members, result.overflowed, len(selected))
    return result


def _check_comparator(game: Game, comparator: Any) -> None:
    if comparator is None:
        return
    if not isinstance(comparator, Comparator | HindsightComparator):
        raise TypeError(
            f"comparator must have statistic and best_loss, or best_losses, got {type(comparator).__name__}"
        )
    losses = game.loss, getattr(comparator, "loss", game.loss)
    cast = cast_leaves(losses, game.environment.instance_spec.dtype)
    (leaves, structure), (own_leaves, own_structure) = map(jax.tree.flatten, cast)
    if structure != own_structure or not all(map(np.array_equal, leaves, own_leaves)):
        raise ValueError(
            f"comparator {type(comparator).__name__} must be for the loss of the game, {losses[0]}, "
            f"got one for {losses[1]}"
        )


def _members(named: Mapping[Any, Any]) -> Iterator[Member]:
    """The single learners, sweeps unpacked."""
    for name, item in named.items():
        learner = item.learner if isinstance(item, Entrant) else item
        if isinstance(learner, Sweep):
            yield from (Member(f"{name}[{label}]", learner.learners, i) for i, label in enumerate(learner.labels))
        else:
            yield Member(str(name), learner)


def _distinct(what: str, names: Iterable[str]) -> tuple[str, ...]:
    names = tuple(names)
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"{what} must have distinct names, got {twice[0]!r} more than once")
    return names


def _selected_runs(runs: Sequence[int] | None, n_runs: int) -> np.ndarray:
    if runs is None:
        return np.arange(n_runs)
    selected = np.asarray(runs)
    if selected.ndim != 1 or selected.size == 0 or not np.issubdtype(selected.dtype, np.integer):
        raise ValueError(f"runs must be a sequence of at least one run index, got {runs!r}")
    if selected.min() < 0 or selected.max() >= n_runs:
        raise ValueError(
            f"runs must be between 0 and n_runs - 1 = {n_runs - 1}, got {selected.min()}..{selected.max()}"
        )
    return selected


def _passes(game: Game, named: Mapping[str, Any], comparator: Any, plan: Plan) -> dict[str, tuple[Matchup, Plan]]:
    """What has to be played: every learner, and once without a learner for an oblivious environment's comparator."""
    shared = comparator is not None and game.oblivious
    dtype = game.environment.instance_spec.dtype
    passes = {
        str(name): (cast_leaves(Matchup(game, _as_entrant(game, item), None if shared else comparator), dtype), plan)
        for name, item in named.items()
    }
    if shared:
        if game.deterministic:  # one run shows what all runs see
            plan = plan.of_one_run()
        passes[BEST] = (cast_leaves(Matchup(game, None, comparator), dtype), plan)
    return passes


def _as_entrant(game: Game, item: Any) -> Entrant:
    """As `game.as_entrant`, for sweeps too."""
    entrant = item if isinstance(item, Entrant) else Entrant(item, game.feedback)
    if isinstance(entrant.learner, Sweep):
        as_entrant(game, Entrant(entrant.learner.learners, entrant.feedback))
        return entrant
    return as_entrant(game, item)


def _assemble(
    names: tuple[str, ...], played: dict[str, Played], best: np.ndarray | None, at: np.ndarray, selected: np.ndarray,
    rounds: np.ndarray, meta: dict[str, Any],
) -> Result:  # fmt: skip
    """One result from the passes: the runs asked for, sweeps unpacked. `best` has one row for each of them, or one."""
    shared = played.pop(BEST, None)
    loss, queries, nonfinite, overflow, own_best = Played.join(
        [each.map(lambda part: part[:, at]) for each in played.values()], axis=0
    )
    if shared is not None and shared.best is not None:
        best = shared.best[0] if shared.best.shape[1] == 1 else shared.best[0, at]
    best = own_best if best is None else np.broadcast_to(best, loss.shape)
    return Result(names, selected, rounds, loss, best, queries, nonfinite, meta, overflow)
