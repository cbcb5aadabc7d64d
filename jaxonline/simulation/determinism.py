"""Whether a game is deterministic: all runs of its learners are equal."""

import jax
import jax.numpy as jnp
from jax.interpreters.partial_eval import dce_jaxpr
from jaxtyping import Array

from jaxonline.game import WithFeedback, play_round, start, stream_keys
from jaxonline.simulation.sweeps import Team


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
