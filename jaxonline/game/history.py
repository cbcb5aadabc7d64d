"""One run with its full history: for small games, debugging and teaching."""

from typing import Annotated

import jax
import jax.numpy as jnp

from jaxonline.game.binding import as_entrant, bind, check_rounds, warn_about_loss_mismatch
from jaxonline.game.keys import stream_keys
from jaxonline.game.protocols import Learner
from jaxonline.game.round import Entrant, Game, RewardRound, Round, play_round, start
from jaxonline.parameters import check
from jaxonline.parameters.optional_packages import check_not_forked
from jaxonline.parameters.signatures import validate_arguments
from jaxonline.parameters.types import Component, PyTree, Rounds


@validate_arguments
def play(
    game: Game, learner: Annotated[Learner | Entrant, Component("learner")], key: int | jax.Array, n_rounds: Rounds
) -> tuple[PyTree, Round]:
    """Run a game once and keep its full history.

    Args:
        game: the game.
        learner: a learner, or an `Entrant` (a learner with its own feedback).
        key: the key of the run, or a seed; run r of a study with key k has the key `fold_in(k, r)`.
        n_rounds: the horizon.

    Returns:
        The learner's final state, and the `Round` records with a leading axis [n_rounds]. The records of arms with
        rewards print rewards, and have the attribute `reward` beside `loss`.

    Raises:
        TypeError, ValueError: the learner cannot play the game.

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
        >>> learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)
        >>> state, history = jo.play(game, learner, key=0, n_rounds=6)
        >>> history.loss.tolist()  # each coordinate occurs twice, and a step of 1/2 learns it at once
        [1.0, 1.0, 1.0, 0.0, 0.0, 0.0]
        >>> history
        round  instance  move  outcome  loss  queries
            1   [1 0 0]     0        1     1        1
            2   [0 1 0]     0        1     1        1
            3   [0 0 1]     0        1     1        1
            4   [1 0 0]     1        1     0        1
            5   [0 1 0]     1        1     0        1
            6   [0 0 1]     1        1     0        1
        6 rounds, sum of losses 3, 6 queries
    """
    check_not_forked()
    key = check.as_key("key", key)
    bound = bind(game, learner)
    check_rounds(game, bound.entrant, n_rounds)
    warn_about_loss_mismatch(game, {"learner": as_entrant(game, learner).learner})
    state, history = _play(bound.game, bound.entrant, key, n_rounds)
    return state, RewardRound(*history) if game.rewards else history


@jax.jit(static_argnames=("n_rounds",))
def _play(game, entrant, key, n_rounds):
    keys = stream_keys(key)
    rounds = jnp.arange(1, n_rounds + 1, dtype=jnp.int32)
    states, history = jax.lax.scan(
        lambda states, t: play_round(game, entrant, keys, t, states), start(game, entrant, keys), rounds
    )
    return states.learner, history
