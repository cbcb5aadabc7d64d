"""Rounds of full information without a game: one program for many sequences."""

import jax
import jax.numpy as jnp

from jaxonline.feedback import FullOracle
from jaxonline.game import Specs


@jax.jit
def played(learner, rows, key=None):
    """Return the move of each round (x, y), and the state and info after it."""
    key = jax.random.key(0) if key is None else key

    def play_round(state, row):
        t, x, y = row
        move = learner.predict(jax.random.fold_in(key, t), state, x)
        state, info = learner.update(jax.random.fold_in(key, -t), state, FullOracle(x, y))
        return state, (move, state, info)

    x, y = jax.tree.map(lambda leaf: jax.ShapeDtypeStruct(leaf.shape[1:], leaf.dtype), rows)
    t = jnp.arange(1, 1 + len(rows[1]), dtype=jnp.int32)
    return jax.lax.scan(play_round, learner.init(key, Specs(x, y)), (t, *rows))[1]
