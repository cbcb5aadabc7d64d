"""Checks of the arguments of `simulate` before the computation starts."""

import functools
import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from jaxonline.game import Game, Learner, WithFeedback, check_rounds, same_loss, warn_about_loss_mismatch
from jaxonline.game.roles import Comparator, HindsightComparator
from jaxonline.game.round import format_spec
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.optional_packages import check_not_forked
from jaxonline.parameters.struct import cast_leaves
from jaxonline.results.quantities import ROUNDS_PLAYED
from jaxonline.simulation import blocks
from jaxonline.simulation.cluster import Workers
from jaxonline.simulation.measures import RoundsPlayed, with_defaults
from jaxonline.simulation.progress import Progress, check_progress
from jaxonline.simulation.recording import check_runs, record_rounds
from jaxonline.simulation.segments import can_stop
from jaxonline.simulation.stopping_rules import Precision, UntilDecided
from jaxonline.simulation.sweeps import Sweep, Team, as_team, check_unique_names
from jaxonline.store.checkpoints import Checkpoint


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
    runs: np.ndarray  # indices of the runs to simulate
    key: jax.Array
    stop: Precision | UntilDecided | None  # the stopping rule
    width: int  # runs per block
    mesh: Mesh  # the devices
    progress: Progress
    checkpoint: Checkpoint | None  # the store, or None
    workers: Workers | None  # workers of the cluster, or None

    def with_runs(self, runs: np.ndarray) -> "SimulationOptions":
        """Return the options with the given runs instead."""
        options = replace(self, runs=runs)
        return replace(options, mesh=_mesh_for(self.mesh, len(options.blocks)))

    @property
    def members(self) -> dict[str, Any]:
        """Learners by their names in the result."""
        return {name: learner for team in self.teams for name, learner in team.members.items()}

    @property
    def blocks(self) -> list[int]:
        """Indices of the blocks that contain the runs."""
        return np.unique(self.runs // self.width).tolist()

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
    width = blocks.default_width(game.specs, n_runs, backend) if block_size is None else _check_block_size(block_size)
    _check_rule(stop, runs)
    rounds, selected = record_rounds(n_rounds, record_at, spacing), check_runs(runs, n_runs)
    root = check.as_key("key", key)
    check_progress(progress)
    store = None if checkpoint is None else Checkpoint.of(checkpoint)
    statistic = _check_comparator(game, comparator)
    counted = cast_leaves(with_defaults(measures), game.dtype)
    mesh = _mesh_for(mesh, 1 if workers else len(np.unique(selected // width)))
    teams = teams_of(game, learners, mesh)
    if game.rewards and ROUNDS_PLAYED not in counted and any(can_stop(team.record) for team in teams):
        counted = cast_leaves(with_defaults([*measures, RoundsPlayed()]), game.dtype)
    for team in teams:
        check_rounds(game, team.entrant, n_rounds)
    for measure, team in ((measure, team) for measure in counted.values() for team in teams):
        measure.init(team.record)  # raises an error if the learner's rounds lack the measured quantity
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


def _check_stopping(name: str, comparator: Any) -> None:
    if isinstance(comparator, HindsightComparator):
        kind = type(comparator).__name__
        problem = f"must be summed over rounds, such as BestArm, since {name!r} can stop (got {kind})"
        raise ArgumentError("comparator", problem)


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
    """Raise an ArgumentError if the rounds of one block need more memory than this machine has."""
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


def _bytes_of(spec: Any) -> int:
    return math.prod(spec.shape) * spec.dtype.itemsize


def check_comparator_type(comparator: Any) -> None:
    """Check that a comparator has the methods of one; raises ArgumentTypeError."""
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
