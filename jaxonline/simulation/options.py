"""Options of a study: their types, the checks before the first run, and warnings about storage."""

import functools
import math
import os
import warnings
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, TypedDict, get_args

import jax
import jax.numpy as jnp
import numpy as np
from jax.interpreters.partial_eval import dce_jaxpr
from jax.sharding import Mesh
from jaxtyping import Array, Float

from jaxonline.game import (
    Game,
    Learner,
    WithFeedback,
    check_rounds,
    play_round,
    same_loss,
    start,
    stream_keys,
    warn_about_loss_mismatch,
)
from jaxonline.game.roles import Comparator, HindsightComparator, Measure
from jaxonline.game.round import format_spec
from jaxonline.parameters import check
from jaxonline.parameters.errors import (
    ArgumentError,
    ArgumentTypeError,
    DivergedRunsWarning,
    OverflowWarning,
    SettingsWarning,
)
from jaxonline.parameters.optional_packages import check_not_forked
from jaxonline.parameters.struct import cast_leaves
from jaxonline.results.quantities import REWARD_OF_LOSS, ROUNDS_PLAYED
from jaxonline.results.statistics.estimates import NO_COMPARATOR
from jaxonline.simulation import blocks
from jaxonline.simulation.cluster import Workers
from jaxonline.simulation.measures import RoundsPlayed, with_defaults
from jaxonline.simulation.progress import Progress, check_progress
from jaxonline.simulation.segments import can_stop
from jaxonline.simulation.stopping_rules import Precision, UntilDecided
from jaxonline.simulation.sweeps import Sweep, Team, as_team, check_unique_names
from jaxonline.store.checkpoints import Checkpoint

# ---------------------------------------------------------------------------------------------------------------------
# Selection of recorded rounds and of runs.


Spacing = Literal["linear", "log"]
SPACINGS: tuple[str, ...] = get_args(Spacing)
RecordedRounds = int | Sequence[int] | np.ndarray  # a number of rounds, or the rounds
RunIndices = Sequence[int] | np.ndarray
MAX_ROUNDS = 2**31 - 2  # so that the round after the last one is an int32


def record_rounds(n_rounds: int, record_at: RecordedRounds, spacing: Spacing = "linear") -> np.ndarray:
    """Return the recorded rounds of a study; the last recorded round is the horizon.

    If `record_at` is a number and `spacing` is linear, rounds are equally spaced, preferably by a divisor of the
    horizon. Therefore there may be fewer rounds than requested.

    Args:
        n_rounds: the horizon T.
        record_at: number of rounds, or a list of rounds (the horizon is added).
        spacing: "linear", or "log" for a logarithmic axis; ignored for a list of rounds.

    Raises:
        ValueError: a horizon or a number of rounds below 1, rounds outside 1..T, or an unknown spacing.

    Example:
        >>> from jaxonline.simulation import record_rounds
        >>> record_rounds(100, 4)
        array([ 25,  50,  75, 100])
        >>> record_rounds(1000, 4, "log")
        array([   1,   10,  100, 1000])
    """
    if check.count("n_rounds", n_rounds) > MAX_ROUNDS:
        raise ArgumentError(
            "n_rounds", f"must be at most {MAX_ROUNDS:,} because rounds are counted in int32 (got {n_rounds:,})"
        )
    check.choice("spacing", spacing, SPACINGS)
    if not isinstance(record_at, int | np.integer):
        if not np.issubdtype(check.finite_array("record_at", record_at).dtype, np.integer) or np.size(record_at) == 0:
            got = check.quote(record_at)
            raise ArgumentTypeError(
                "record_at", f"must be a number of recorded rounds or a sequence of rounds (got {got})"
            )
        rounds = np.unique(np.append(record_at, n_rounds))
        if rounds[0] < 1 or rounds[-1] > n_rounds:
            raise ArgumentError(
                "record_at", f"must be rounds between 1 and n_rounds={n_rounds} (got {rounds[[0, -1]]})"
            )
        return rounds
    check.count("record_at", record_at)
    if spacing == "log":
        length = max(1, n_rounds // 512)
        rounds = np.round(np.geomspace(length, n_rounds, record_at) / length).astype(int) * length
        rounds[-1] = n_rounds
        return np.unique(np.minimum(rounds, n_rounds))
    shortest = -(-n_rounds // record_at)
    divisors = (length for length in range(shortest, 2 * shortest) if n_rounds % length == 0)
    length = next(divisors, shortest)
    return np.minimum(np.arange(length, n_rounds + length, length), n_rounds)


def check_runs(runs: RunIndices | None, n_runs: int) -> range | np.ndarray:
    """Return the indices of the runs to simulate (default: all); ValueError unless they are distinct and in range."""
    if runs is None:
        return range(n_runs)
    selected = check.finite_array("runs", runs)
    if selected.ndim != 1 or selected.size == 0 or not np.issubdtype(selected.dtype, np.integer):
        raise ArgumentError("runs", f"must be a sequence of at least one run index (got {check.quote(runs)})")
    if selected.min() < 0 or selected.max() >= n_runs:
        raise ArgumentError(
            "runs", f"must be between 0 and n_runs - 1 = {n_runs - 1} (got {selected.min()}..{selected.max()})"
        )
    distinct_runs, counts = np.unique(selected, return_counts=True)
    if (counts > 1).any():
        raise ArgumentError("runs", f"must be distinct (got {distinct_runs[counts > 1][0]} more than once)")
    return selected


# ---------------------------------------------------------------------------------------------------------------------
# Types of the keyword arguments of `simulate` that other functions pass on to it.


class RunOptions(TypedDict, total=False):
    """Keyword arguments of `simulate` about runs and measures."""

    measures: Iterable[Measure]
    spacing: Spacing
    runs: RunIndices | None
    stop: Precision | UntilDecided | None
    block_size: int | None


class RecordedRunOptions(RunOptions, total=False):
    """`RunOptions` with the recorded rounds."""

    record_at: RecordedRounds


class StudyOptions(RecordedRunOptions, total=False):
    """`RecordedRunOptions` with the comparator."""

    comparator: Comparator | HindsightComparator | None


# ---------------------------------------------------------------------------------------------------------------------
# Checks of the arguments of `simulate` before the computation starts.


@dataclass(frozen=True)
class SimulationOptions:
    """The arguments of `simulate` after checking."""

    game: Game
    learners: Any
    teams: tuple[Team, ...]  # the learners, checked against the game
    comparator: Any
    measures: dict[str, Any]  # measures by name, with cumulative loss and queries
    n_rounds: int
    rounds: np.ndarray  # recorded rounds
    n_runs: int
    runs: range | np.ndarray  # indices of the runs to simulate
    key: jax.Array
    stop: Precision | UntilDecided | None  # the stopping rule
    width: int  # runs per block
    mesh: Mesh  # the devices
    progress: Progress
    checkpoint: Checkpoint | None  # the store, or None
    workers: Workers | None  # workers of the cluster, or None

    def with_runs(self, runs: range) -> "SimulationOptions":
        """Return the options with the given runs instead."""
        options = replace(self, runs=runs)
        return replace(options, mesh=_mesh_for(self.mesh, len(options.blocks)))

    @property
    def members(self) -> dict[str, Any]:
        """Learners by their names in the result."""
        return {name: learner for team in self.teams for name, learner in team.members.items()}

    @property
    def last_run(self) -> int:
        """The largest index of a run."""
        return self.runs[-1] if isinstance(self.runs, range) else int(self.runs.max())

    @property
    def blocks(self) -> Sequence[int]:
        """Indices of the blocks that contain the runs."""
        return _blocks_of(self.runs, self.width)

    @property
    def blocks_at_once(self) -> int:
        """Number of blocks played at the same time."""
        return self.mesh.devices.size if self.workers is None else self.workers.n_workers

    @property
    def device_kind(self) -> str:
        """Name of the hardware of the devices that play blocks, such as "cpu"."""
        return self.mesh.devices.flat[0].device_kind if self.workers is None else self.workers.machine["device"]


def check_options(
    game: Any, learners: Any, workers: Workers | None, *, n_runs: Any, n_rounds: Any, key: Any, comparator: Any,
    measures: Any, record_at: Any, spacing: Any, runs: Any, stop: Any, block_size: Any,
    mesh: Any, progress: Any, checkpoint: Any,
) -> SimulationOptions:  # fmt: skip
    """Check the arguments of `simulate`, whose cluster has the given `workers`. Raises the errors of `simulate`."""
    check_not_forked()
    check.instance("game", game, Game, "a Game")
    check.count("n_runs", n_runs, ge=1, le=blocks.MAX_RUNS)
    mesh = blocks.default_mesh() if mesh is None else blocks.check_mesh(mesh)
    backend = jax.default_backend() if workers is None else workers.machine["backend"]
    store = None if checkpoint is None else Checkpoint.of(checkpoint)
    if block_size is not None:
        width = _check_block_size(block_size)
    else:
        width = (store and store.block_size()) or blocks.default_width(game.specs, n_runs, backend)
    _check_rule(stop, runs)
    rounds, selected = record_rounds(n_rounds, record_at, spacing), check_runs(runs, n_runs)
    root = check.as_key("key", key)
    check_progress(progress)
    statistic = _check_comparator(game, comparator)
    counted = cast_leaves(with_defaults(measures), game.dtype)
    mesh = _mesh_for(mesh, 1 if workers else len(_blocks_of(selected, width)))
    teams = teams_of(game, learners, mesh)
    if game.rewards and ROUNDS_PLAYED not in counted and any(can_stop(team.record) for team in teams):
        counted = cast_leaves(with_defaults([*measures, RoundsPlayed()]), game.dtype)
    for team in teams:
        check_rounds(game, team.entrant, n_rounds)
    for measure, team in ((measure, team) for measure in counted.values() for team in teams):
        measure.init(team.record)  # raises an error if the learner's rounds lack the measured quantity
    _check_quantity(stop, counted, game, comparator, [team.record for team in teams])
    options = SimulationOptions(
        game, learners, teams, comparator, counted, n_rounds, rounds, n_runs, selected, root, stop,
        width, mesh, progress, store, workers,
    )  # fmt: skip
    if workers is None:
        _check_memory(options, statistic)
    if isinstance(stop, UntilDecided):
        stop.check_study(len(options.members), n_runs)
    warn_about_loss_mismatch(game, options.members)
    for team in teams:
        if can_stop(team.record):
            _check_stopping(team.name, comparator)
    return options


def _check_rule(stop: Any, runs: Any) -> None:
    if stop is not None:
        check.instance("stop", stop, (Precision, UntilDecided), "a Precision or an UntilDecided")
        if runs is not None:
            raise ArgumentError("runs", "must be None if stop decides how many runs there are (got both)")


def _check_quantity(
    stop: Any, measures: Mapping[str, Any], game: Game, comparator: Any, records: Sequence[Any]
) -> None:
    """Check that the study has the quantity of its stopping rule, and that this is a number in each round."""
    if stop is not None:
        if comparator is None and stop.quantity == "regret":
            raise ArgumentError("comparator", NO_COMPARATOR)
        other, names = REWARD_OF_LOSS if game.rewards else {}, ("regret", "comparator_loss", *measures)
        check.choice("stop", stop.quantity, [other.get(name, name) for name in names])
        measure = measures.get(stop.quantity)
        read = jax.eval_shape(lambda: [measure.read(measure.init(record)) for record in records if measure is not None])
        if any(leaf.shape for leaf in jax.tree.leaves(read)):
            raise ArgumentError("stop", f"must have a number in each round (got {stop.quantity!r}, which is a vector)")


def _check_stopping(name: str, comparator: Any) -> None:
    if isinstance(comparator, HindsightComparator):
        kind = type(comparator).__name__
        problem = f"must be summed over rounds, such as BestArm, since {name!r} can stop (got {kind})"
        raise ArgumentError("comparator", problem)


def _blocks_of(runs: range | np.ndarray, width: int) -> Sequence[int]:
    if isinstance(runs, range):
        return range(runs.start // width, -(-runs.stop // width))
    return np.unique(runs // width).tolist()


def _mesh_for(mesh: Mesh, n_blocks: int) -> Mesh:
    """Return a mesh of only as many devices as there are blocks; more devices would repeat the last block."""
    return blocks.default_mesh(list(mesh.devices.flat)[:n_blocks])


def teams_of(game: Game, learners: Any, mesh: Mesh) -> tuple[Team, ...]:
    """Check the learners of a study against the game.

    Raises:
        TypeError, ValueError: a learner cannot play the game, there is no learner, or two learners have the same name.
    """
    if isinstance(learners, list | tuple):
        raise ArgumentTypeError(
            "learners",
            "must be a learner or a dictionary of learners by name (got a list); name the learners, or use jo.sweep",
        )
    if not isinstance(learners, Mapping | Learner | WithFeedback | Sweep):
        wanted = "a learner, whose class inherits from jo.Learner, or a dictionary of learners by name"
        check.instance("learners", learners, False, wanted)
    named = dict(learners) if isinstance(learners, Mapping) else {"learner": learners}
    if not named:
        raise ArgumentError("learners", "must have at least one learner (got none)")
    shapes_of = functools.partial(blocks.shapes_of, mesh)
    teams = tuple(as_team(game, name, item, shapes_of) for name, item in named.items())
    check_unique_names("learners", [name for team in teams for name in team.members])
    return teams


def _check_block_size(block_size: Any) -> int:
    return check.count("block_size", block_size, ge=1, le=blocks.MAX_BLOCK_SIZE)


def _check_memory(options: SimulationOptions, statistic: Any) -> None:
    """Raise an ArgumentError if the rounds of a block, or the numbers of all runs, need more memory than there is."""
    rounds = max(sum(map(_bytes_of, jax.tree.leaves(team.record))) * len(team.members) for team in options.teams)
    run_bytes = rounds + sum(map(_bytes_of, jax.tree.leaves(statistic)))
    available = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else math.inf
    if options.width * run_bytes > available:
        needed, memory = options.width * run_bytes / 1e9, available / 1e9
        raise ArgumentError(
            "block_size",
            f"must fit into memory: {options.width:,} runs of this game need more than {needed:,.0f} GB, and this "
            f"machine has {memory:,.0f} GB (got {options.width})",
        )
    recorded = 8 * len(options.measures) * len(options.members) * len(options.rounds)
    if options.stop is None and len(options.runs) * recorded > available:
        needed, memory = len(options.runs) * recorded / 1e9, available / 1e9
        raise ArgumentError(
            "n_runs",
            f"must fit into memory: the numbers of {len(options.runs):,} runs need over {needed:,.0f} GB, and this "
            f"machine has {memory:,.0f} GB (got {options.n_runs:,}); use fewer runs or a smaller record_at",
        )


def _bytes_of(spec: Any) -> int:
    return math.prod(spec.shape) * spec.dtype.itemsize


def check_comparator_type(comparator: Any) -> None:
    """Check that an object has the methods of a comparator; raises ArgumentTypeError."""
    is_comparator = isinstance(comparator, Comparator | HindsightComparator)
    check.instance("comparator", comparator, is_comparator, "a comparator, e.g. jo.L2Ball(1.0) or jo.BestArm()")


def _check_comparator(game: Game, comparator: Any) -> Any:
    """Check that a comparator can judge the game; return the shapes of the statistic that it sums over rounds."""
    if comparator is None:
        return None
    check_comparator_type(comparator)
    name = type(comparator).__name__
    loss = getattr(comparator, "loss", None)
    if loss is not None and not same_loss(game, loss):
        raise ArgumentError("comparator", f"{name} must have the loss of the game, {game.loss} (got {loss})")
    if isinstance(comparator, Comparator):
        try:
            return jax.eval_shape(cast_leaves(comparator, game.dtype, "comparator").statistic, *game.specs)
        except (TypeError, ValueError, AttributeError) as error:
            instances, outcomes = map(format_spec, game.specs)
            raise ArgumentTypeError(
                "comparator",
                f"{name} cannot judge this game (got instances {instances} and outcomes {outcomes}); "
                f"{next(iter(str(error).splitlines()), '')[:250]}",
            ) from error
    return None


# ---------------------------------------------------------------------------------------------------------------------
# Warnings of runs that are excluded from the means: diverged runs, and runs in which a learner's storage overflows.


LIKELY_PROBABILITY = 0.01  # of overflow in one run


def overflow_probabilities(learners: Mapping[str, Any], n_rounds: int) -> dict[str, float]:
    """Return the probability that a run overflows, by name, for learners that declare this probability."""
    by_name = {}
    for name, learner in learners.items():
        probability = learner.overflow_probability(n_rounds)
        if probability is not None:
            by_name[name] = check.number(f"overflow_probability of {name!r}", float(probability), ge=0.0, le=1.0)
    return by_name


def warn_of_likely_overflow(learners: Mapping[str, object], probabilities: Mapping[str, float], n_rounds: int) -> None:
    """Warn of all learners that overflow with a probability above 1 %."""
    likely = {name: probability for name, probability in probabilities.items() if probability > LIKELY_PROBABILITY}
    facts = (f"{name!r} with probability {probability:.2g}" for name, probability in likely.items())
    headline = f"a run of {n_rounds:,} rounds may run out of storage, and is then excluded from the means"
    _warn(learners, likely, headline, facts)


def warn_of_overflow(learners: Mapping[str, object], overflowed: np.ndarray, n_runs: int) -> None:
    """Warn of all learners with runs that overflowed; `overflowed` counts these runs per learner."""
    counts = {name: int(n) for name, n in zip(learners, overflowed, strict=True) if n}
    facts = (f"{name!r} in {n:,} of {n_runs:,} runs" for name, n in counts.items())
    _warn(learners, counts, "runs that ran out of storage are excluded from the means", facts)


def warn_of_divergence(
    learners: Mapping[str, object], first_nonfinite: np.ndarray, max_copies: Mapping[str, int | None]
) -> None:
    """Warn of learners with NaN or infinite losses; `first_nonfinite` [L, R] is the first round with one, or 0.

    `max_copies` has the number of measured copies of an instance by name; None for copies that are not measured.
    """
    facts, limits = [], set()
    for name, first in zip(learners, first_nonfinite, strict=True):
        failed = first[first > 0]
        if failed.size:
            facts.append(f"{name!r} in {failed.size:,} of {first.size:,} runs, from round {failed.min():,} on")
            limits |= {limit for limit in [max_copies[name]] if limit is not None}
    advice = (
        "If steps are too large, use a smaller step size or a radius, or scale the data; a move that is no arm has the "
        "loss NaN"
    )
    if limits:
        advice += (
            f". A round with more copies than the {' or '.join(map(str, sorted(limits)))} measured has the loss NaN"
        )
    if facts:
        warnings.warn(
            f"runs with NaN or infinite numbers are excluded from the means: {'; '.join(facts)}. {advice}",
            DivergedRunsWarning,
            stacklevel=6,
        )


def warn_of_equal_runs(learners: Mapping[str, Any], losses: Float[np.ndarray, "L R G"]) -> None:
    """Warn of the user's own learners with equal losses in all runs; the game is random."""
    equal = (losses == losses[:, :1]).all(axis=(1, 2)) & (losses.shape[1] > 1)
    own = [not type(learner).__module__.startswith("jaxonline.") for learner in learners.values()]
    if names := [name for name, is_equal, is_own in zip(learners, equal, own, strict=True) if is_equal and is_own]:
        warnings.warn(
            f"all runs of {', '.join(map(repr, names))} are equal although the game is random; draw with the key that "
            "`predict` receives, and keep what changes in the state (a Python counter or a fixed key never changes)",
            SettingsWarning, stacklevel=6,
        )  # fmt: skip


def _warn(learners: Mapping[str, Any], affected: Mapping[str, object], headline: str, facts: Iterator[str]) -> None:
    if affected:
        hints = dict.fromkeys(learners[name].capacity_hint for name in affected)
        warnings.warn(f"{headline}: {', '.join(facts)}. {'; '.join(hints)}", OverflowWarning, stacklevel=7)


# ---------------------------------------------------------------------------------------------------------------------
# Whether a game is deterministic: all runs of its learners are equal.


def is_deterministic(team: Team) -> bool:
    """Return whether nothing in a round depends on random keys.

    The function traces one round and looks whether its results need the key.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> from jaxonline.simulation.sweeps import as_team
        >>> game = jo.Game(jo.environments.DataStream(np.eye(2), np.ones(2)), jo.FullInformation())
        >>> exact = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.1)
        >>> noisy = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=0.1)
        >>> copies = jo.WithFeedback(noisy, jo.NoisyCopies(jo.noise.gaussian(0.1)))
        >>> [is_deterministic(as_team(game, "a", learner)) for learner in (exact, copies)]
        [True, False]
    """
    learner = jax.tree.map(lambda leaf: leaf[0], team.entrant.learner)
    entrant = WithFeedback(learner, team.entrant.feedback)

    def first_round(run_key: Array) -> object:
        keys = stream_keys(run_key)
        return play_round(team.game, entrant, keys, jnp.int32(1), start(team.game, entrant, keys))

    program = jax.make_jaxpr(first_round)(jax.random.key(0)).jaxpr
    _, used_inputs = dce_jaxpr(program, [True] * len(program.outvars))
    return not any(used_inputs)
