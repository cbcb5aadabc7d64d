"""A game and a learner bound together: checked, cast and traced once, before anything is played."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jaxtyping import PyTree

from jaxonline._util.struct import cast_leaves
from jaxonline.game.keys import stream_keys
from jaxonline.game.oracles import check_state, try_copies
from jaxonline.game.protocols import ChecksFeedback, Feedback, Learner
from jaxonline.game.round import Entrant, Game, Round, States, play_round, start


class Bound(NamedTuple):
    """A game and an entrant of one floating dtype, and what a round of theirs looks like.

    Attributes:
        game: the game, every number an array.
        entrant: the learner and its feedback, likewise.
        record: shapes and dtypes of a `Round`.
    """

    game: Game
    entrant: Entrant
    record: Round


def as_entrant(game: Game, learner: Any) -> Entrant:
    """The learner with the feedback it plays through: its own if it is an `Entrant`, else the game's.

    Raises:
        TypeError: if it is neither a learner nor an entrant.
    """
    entrant = learner if isinstance(learner, Entrant) else Entrant(learner, game.feedback)
    if isinstance(entrant.learner, type) or not isinstance(entrant.learner, Learner):
        what = entrant.learner.__name__ if isinstance(entrant.learner, type) else type(entrant.learner).__name__
        raise TypeError(f"a learner must have init, predict and update, got {what}")
    if not isinstance(entrant.feedback, Feedback):
        raise TypeError(f"feedback must have the method open of Feedback, got {type(entrant.feedback).__name__}")
    return entrant


def check_feedback(learner: Any, feedback: Any) -> None:
    """Let a learner that is right under some noise only look at the feedback that it is to play through.

    Raises:
        ValueError: the learner would be wrong.
    """
    if isinstance(learner, ChecksFeedback):
        learner.check_feedback(feedback)


def bind(game: Game, learner: Any) -> Bound:
    """Check that the learner can play the game, by tracing a round of it; nothing is computed.

    Raises:
        TypeError: for something that is no learner, a move that the loss cannot judge, a loss that is no number.
        ValueError: for noise of another dimension than the instances, states that change their type, noise with which
            the learner would be wrong.
    """
    entrant = as_entrant(game, learner)
    check_feedback(entrant.learner, entrant.feedback)
    game, entrant = cast_leaves((game, entrant), game.dtype)
    try_copies(entrant.feedback, game.specs, game.dtype)
    before, after, record = jax.eval_shape(_first_round, game, entrant, jax.eval_shape(lambda: jax.random.key(0)))
    name = type(entrant.learner).__name__
    check_state(f"{name}.update", before.learner, after.learner)
    check_state(f"{type(game.environment).__name__}.answer", before.environment, after.environment)
    if not isinstance(record.loss, jax.ShapeDtypeStruct) or record.loss.shape != ():
        raise TypeError(
            f"loss must be a number for the move of {name} ({_said(record.y_hat)}) and the outcome "
            f"({_said(record.y)}), got {_said(record.loss)}"
        )
    return Bound(game, entrant, record)


def _first_round(game: Game, entrant: Entrant, key: jax.Array) -> tuple[States, States, Round]:
    keys = stream_keys(key)
    before = start(game, entrant, keys)
    return before, *play_round(game, entrant, keys, jnp.int32(1), before)


def _said(spec: PyTree) -> str:
    """Shapes and dtypes in a few words."""
    leaves = [f"{leaf.dtype}{list(leaf.shape)}" for leaf in jax.tree.leaves(spec)]
    return ", ".join(leaves) or "nothing"
