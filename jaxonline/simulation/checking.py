"""The arguments of `simulate`, checked before anything is computed."""

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import jax
import numpy as np
from jax.sharding import Mesh

from jaxonline.game import Game, same_loss, warn_of_other_losses
from jaxonline.game.defaults import FeedbackDefaults, method_of
from jaxonline.game.protocols import Comparator, HindsightComparator
from jaxonline.game.specs import said
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.parameters.struct import cast_leaves
from jaxonline.simulation import blocks
from jaxonline.simulation.cluster import Workers
from jaxonline.simulation.measures import with_defaults
from jaxonline.simulation.precision import Precision
from jaxonline.simulation.progress import Progress, check_progress
from jaxonline.simulation.recording import record_rounds, selected_runs
from jaxonline.simulation.sweeps import Team, as_team, distinct
from jaxonline.store.checkpoints import Checkpoint


@dataclass(frozen=True)
class SimulationOptions:
    """The arguments of `simulate` after checking.

    Attributes:
        game, comparator, n_rounds, precision, control_variates, antithetic, progress: as given.
        learners: as given.
        teams: the learners, checked against the game.
        measures: by name, cumulative loss and queries included.
        rounds: the recorded ones.
        n_runs: as given.
        runs: the indices of those that are played.
        key: a jax key.
        width: runs of a block.
        mesh: the devices.
        checkpoint: the store, or None.
        workers: of the cluster, or None.
    """

    game: Game
    learners: Any
    teams: tuple[Team, ...]
    comparator: Any
    measures: dict[str, Any]
    n_rounds: int
    rounds: np.ndarray
    n_runs: int
    runs: np.ndarray
    key: jax.Array
    precision: Precision | None
    control_variates: bool
    antithetic: bool
    width: int
    mesh: Mesh
    progress: Progress
    checkpoint: Checkpoint | None
    workers: Workers | None

    def with_runs(self, runs: np.ndarray) -> "SimulationOptions":
        """The same for other runs."""
        other = replace(self, runs=runs)
        return replace(other, mesh=_mesh_for(self.mesh, len(other.blocks)))

    @property
    def members(self) -> dict[str, Any]:
        """The learners by their names in the result."""
        return {name: learner for team in self.teams for name, learner in team.members.items()}

    @property
    def blocks(self) -> list[int]:
        """The blocks in which the runs are."""
        return np.unique(self.runs // self.width).tolist()

    @property
    def blocks_at_once(self) -> int:
        """How many blocks are played at the same time."""
        return self.mesh.devices.size if self.workers is None else self.workers.number

    @property
    def device_kind(self) -> str:
        """What a block is played on."""
        return self.mesh.devices.flat[0].device_kind if self.workers is None else self.workers.machine.kind


def check_options(
    game: Any, learners: Any, workers: Workers | None, *, n_runs: Any, n_rounds: Any, key: Any, comparator: Any,
    measures: Any, record_at: Any, spacing: Any, runs: Any, precision: Any, control_variates: Any, antithetic: Any,
    block_size: Any, mesh: Any, progress: Any, checkpoint: Any,
) -> SimulationOptions:  # fmt: skip
    """The arguments of `simulate`, checked; `workers` are those of its cluster.

    Raises:
        TypeError, ValueError: as `simulate`.
    """
    check.instance("game", game, Game, "a Game")
    check.count("n_runs", n_runs)
    mesh = blocks.default_mesh() if mesh is None else blocks.check_mesh(mesh)
    backend = jax.default_backend() if workers is None else workers.machine.backend
    width = blocks.default_width(n_runs, backend) if block_size is None else check.count("block_size", block_size)
    if precision is not None:
        check.instance("precision", precision, Precision, "a Precision")
        if runs is not None:
            raise ArgumentError("runs", "must be left out where precision decides how many there are (got both)")
    rounds, selected = record_rounds(n_rounds, record_at, spacing), selected_runs(runs, n_runs)
    root = check.as_key("key", key)
    check_progress(progress)
    check.flag("control_variates", control_variates)
    check.flag("antithetic", antithetic)
    if checkpoint is not None:
        good = isinstance(checkpoint, str | Path | Checkpoint)
        check.instance("checkpoint", checkpoint, good, "a folder, or a Checkpoint")
    _check_comparator(game, comparator)
    counted = cast_leaves(with_defaults(measures), game.dtype)
    mesh = _mesh_for(mesh, 1 if workers else len(np.unique(selected // width)))
    teams = teams_of(game, learners, mesh)
    for measure, team in ((measure, team) for measure in counted.values() for team in teams):
        measure.init(team.record)  # raises where the learner's rounds have not what is measured
    options = SimulationOptions(
        game, learners, teams, comparator, counted, n_rounds, rounds, n_runs, selected, root, precision,
        control_variates, antithetic, width, mesh, progress,
        None if checkpoint is None else Checkpoint.of(checkpoint), workers,
    )  # fmt: skip
    warn_of_other_losses(game, options.members)
    if antithetic:
        _check_antithetic(game, teams)
    return options


def _mesh_for(mesh: Mesh, n_blocks: int) -> Mesh:
    """A device without a block of its own would play one for nothing."""
    return blocks.default_mesh(list(mesh.devices.flat)[:n_blocks])


def teams_of(game: Game, learners: Any, mesh: Mesh) -> tuple[Team, ...]:
    """The learners of a study, each checked against the game.

    Raises:
        TypeError, ValueError: a learner that cannot play the game, none at all, or two with one name.
    """
    if isinstance(learners, list | tuple):
        raise ArgumentTypeError(
            "learners", "must be one, or a dictionary of them by name (got a list); give them names, or a sweep"
        )
    named = dict(learners) if isinstance(learners, Mapping) else {"learner": learners}
    if not named:
        raise ArgumentError("learners", "must be at least one (got none)")
    shapes_of = functools.partial(blocks.shapes_of, mesh)
    teams = tuple(as_team(game, name, item, shapes_of) for name, item in named.items())
    distinct("learners", [name for team in teams for name in team.members])
    return teams


def _check_comparator(game: Game, comparator: Any) -> None:
    if comparator is None:
        return
    good = isinstance(comparator, Comparator | HindsightComparator)
    check.instance("comparator", comparator, good, "a comparator such as jo.L2Ball(1.0) or jo.BestArm()")
    name = type(comparator).__name__
    loss = getattr(comparator, "loss", None)
    if loss is not None and not same_loss(game, loss):
        raise ArgumentError("comparator", f"{name} must be for the loss of the game, {game.loss} (got one for {loss})")
    if isinstance(comparator, Comparator):
        try:
            jax.eval_shape(cast_leaves(comparator, game.dtype, "comparator").statistic, *game.specs)
        except (TypeError, ValueError, AttributeError) as error:
            instances, outcomes = map(said, game.specs)
            raise ArgumentTypeError(
                "comparator",
                f"{name} cannot judge this game (got instances {instances} and outcomes {outcomes}); "
                f"{next(iter(str(error).splitlines()), '')[:250]}",
            ) from error


def _check_antithetic(game: Game, teams: Iterable[Team]) -> None:
    if game.regret.comparator_on_copies:
        raise ArgumentError(
            "antithetic", f"must have a comparator on clean instances (got the regret {type(game.regret).__name__})"
        )
    feedbacks = [team.entrant.feedback for team in teams] + [game.feedback] * game.regret.learner_on_copies
    turned = [method_of(feedback, FeedbackDefaults.mirrored)(-1.0) for feedback in feedbacks]  # raises without symmetry
    if all(after is before for after, before in zip(turned, feedbacks, strict=True)):
        raise ValueError(
            "antithetic: must have a learner with noisy feedback, such as NoisyCopies (got only "
            f"{', '.join(sorted({type(feedback).__name__ for feedback in feedbacks}))})"
        )
