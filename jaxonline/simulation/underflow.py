"""Warning of losses that are positive, but so small that they are rounded to 0 or lose their digits."""

import warnings
from typing import Any

import jax
import numpy as np

from jaxonline.game import Game, WithFeedback, play
from jaxonline.losses.base import Loss
from jaxonline.parameters.errors import SettingsWarning
from jaxonline.simulation.sweeps import Team

MAX_ROUNDS = 100  # rounds that are played again


def warn_of_underflow(
    game: Game, teams: tuple[Team, ...], cumulative_loss: np.ndarray, run_key: jax.Array, n_rounds: int
) -> None:
    """Warn of learners whose mean loss is below the normal numbers although their predictions differ from the labels.

    Only if the mean loss of a learner is so small in every run (mostly 0), rounds are played again with `run_key`, for
    the predictions. A loss without a gradient, or with the gradient 0 there, such as the zero-one loss, causes no
    warning.

    Args:
        game: the game.
        teams: the learners.
        cumulative_loss: the cumulative losses of the learners after the last round [L, R].
        run_key: the key of a run.
        n_rounds: the number of rounds.
    """
    if not isinstance(game.loss, Loss):
        return
    members = [(name, learner, team) for team in teams for name, learner in team.members.items()]
    least = np.finfo(game.dtype).tiny
    pairs = zip(members, cumulative_loss, strict=True)
    tiny = [member for member, losses in pairs if np.abs(losses).max() < n_rounds * least]
    names = [repr(name) for name, learner, team in tiny if _underflows(game, learner, team, run_key, n_rounds)]
    if names:
        warnings.warn(
            f"the losses of {', '.join(names)} are positive, but so small that they are rounded to 0 in "
            f"{game.dtype.name}; scale the labels, or enable float64",
            SettingsWarning,
            stacklevel=6,
        )


def _underflows(game: Game, learner: Any, team: Team, run_key: jax.Array, n_rounds: int) -> bool:
    """Whether a loss is below the normal numbers although the prediction differs from the label."""
    record = team.record
    if any(getattr(leaf, "dtype", None) != game.dtype for leaf in (record.y, record.y_hat)):
        return False
    history = play(game, WithFeedback(learner, team.entrant.feedback), run_key, min(n_rounds, MAX_ROUNDS))[1]
    gradient = jax.vmap(game.loss.gradient)(history.y_hat, history.y)
    differs = np.asarray(history.y_hat) != np.asarray(history.y)
    too_small = np.abs(history.loss) < np.finfo(game.dtype).tiny
    return bool((differs & (np.asarray(gradient) != 0) & too_small).any())
