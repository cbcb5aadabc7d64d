"""Random rounds of bandits, and runs of policies on them."""

import functools

import jax
import jax.numpy as jnp
import numpy as np

from jaxonline.feedback import BanditOracle
from jaxonline.game import Draw, Specs
from jaxonline.parameters.struct import replace

T, K = 120, 4


def random_rounds(seed=0) -> tuple[np.ndarray, np.ndarray]:
    """Return contexts [T, K, K] of distributions, and losses [T, K] in [0, 1], linear in contexts plus noise."""
    rng = np.random.default_rng(seed)
    x = rng.dirichlet(np.ones(K), size=(T, K))
    losses = 0.5 * x @ np.linspace(0, 1, K) + 0.1 * np.arange(K) + 0.2 * rng.uniform(size=(T, K))
    return x, losses


@functools.partial(jax.jit, static_argnums=0)
def play(oracle, learner, rows):
    """Return the moves that were made, those of the policy, their probabilities, and diagnostics, of R runs.

    Ties go to the first arm, as in the loops of NumPy."""
    if hasattr(learner, "ties"):
        learner = replace(learner, ties="first")

    def play_round(state, row):
        recorded, y, x, key, update_key = row
        move = learner.predict(key, state, x)
        own = move.arm if isinstance(move, Draw) else move
        made = jnp.where(recorded < 0, own, recorded)
        move = move._replace(arm=made) if isinstance(move, Draw) else made
        state, info = learner.update(update_key, state, oracle(x, move, y))
        return state, (made, own, move.probabilities if isinstance(move, Draw) else (), info)

    specs = Specs(*(jax.ShapeDtypeStruct(rows[i].shape[2:], rows[i].dtype) for i in (2, 1)))
    return jax.vmap(lambda row: jax.lax.scan(play_round, learner.init(None, specs), row)[1])(rows)


def own_moves(learner, x, losses):
    """Return the arms of a run, and the probabilities of arms, or ()."""
    keys = jax.random.split(jax.random.key(0), (2, 1, len(losses)))
    recorded = jnp.full((1, len(losses)), -1, jnp.int32)
    arms, _, p, _ = play(BanditOracle, learner, (recorded, jnp.asarray(losses)[None], jnp.asarray(x)[None], *keys))
    return arms[0].tolist(), np.asarray(p)[0] if len(p) else ()
