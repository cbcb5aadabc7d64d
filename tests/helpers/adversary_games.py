"""Small games with adversaries that choose the noise."""

from typing import NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from scipy import stats

import jaxonline as jo
from jaxonline.parameters.struct import struct
from jaxonline.simulation.blocks import default_mesh

ONE_DEVICE = default_mesh(jax.devices()[:1])
FALSE_ALARM = 1e-6
LIMIT = stats.norm.ppf(1 - FALSE_ALARM)


def lower(values: np.ndarray) -> float:
    """Lower confidence limit of a mean over runs, wrong with probability 1e-6 (normal limit)."""
    return float(np.mean(values) - LIMIT * np.std(values, ddof=1) / np.sqrt(len(values)))


class Seen(NamedTuple):
    first: jax.Array
    second: jax.Array
    block: jax.Array


@struct
class Looking(jo.Learner):
    """Takes copies 0 and 1, then 3 and 4 as one of three; predicts the round's number."""

    def init(self, key, specs):
        return jnp.zeros((), specs.instance.dtype)

    def predict(self, key, state, x):
        return state + 0.25

    def update(self, key, state, oracle):
        return state + 1, Seen(oracle.copy(0), oracle.copy(1), oracle.copies(3, 3, jnp.int32(2)))


def played(game: jo.Game, learner, rounds: int = 6, run: int = 0):
    key = jax.random.fold_in(jax.random.key(4), run)
    return jax.tree.map(np.asarray, jo.play(game, learner, key, rounds)[1])
