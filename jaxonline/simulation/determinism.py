"""Whether a game is deterministic: all runs of its learners are equal."""

import jax
import jax.numpy as jnp
from jaxtyping import Array

from jaxonline.game import Entrant, play_round, start, stream_keys
from jaxonline.simulation.sweeps import Team


def is_deterministic(team: Team) -> bool:
    """Return whether nothing in a round depends on random keys.

    The function traces one round and marks all values that are computed from the keys. A part that gets a key and does
    not use it counts as random if it is compiled separately, so False may also mean "unknown".

    Example:
        >>> import numpy as np, jaxonline as jo
        >>> from jaxonline.simulation.sweeps import as_team
        >>> game = jo.Game(jo.environments.DataStream(np.eye(2), np.ones(2)), jo.FullInformation())
        >>> exact = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.1)
        >>> noisy = jo.GradientLearner(jo.estimators.TwoCopies(), step_size=0.1)
        >>> copies = jo.Entrant(noisy, jo.NoisyCopies(jo.noise.gaussian(0.1)))
        >>> [is_deterministic(as_team(game, "a", learner)) for learner in (exact, copies)]
        [True, False]
    """
    learner = jax.tree.map(lambda leaf: leaf[0], team.entrant.learner)
    entrant = Entrant(learner, team.entrant.feedback)

    def first_round(run_key: Array) -> object:
        keys = stream_keys(run_key)
        return play_round(team.game, entrant, keys, jnp.int32(1), start(team.game, entrant, keys))

    program = jax.make_jaxpr(first_round)(jax.random.key(0)).jaxpr
    random = set(program.invars)
    for equation in program.eqns:
        if any(isinstance(value, type(program.invars[0])) and value in random for value in equation.invars):
            random.update(equation.outvars)
    return not any(isinstance(value, type(program.invars[0])) and value in random for value in program.outvars)
