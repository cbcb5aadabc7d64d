"""Random numbers of runs, streams, rounds and parts of a round are independent."""

import dataclasses
import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxonline import random, verify
from jaxonline.game import Game, WithFeedback, play_round, start
from jaxonline.game.keys import StreamKeys, stream_keys
from jaxonline.game.roles import Environment, Feedback, Learner, Oracle
from jaxonline.parameters.struct import struct
from jaxonline.simulation.blocks import item_keys

RUNS, ROUNDS = 2, 2


@struct
class Environment(Environment):
    instance_spec = outcome_spec = jax.ShapeDtypeStruct((), jnp.float32)

    def init(self, key):
        return random.uniform(key)

    def instance(self, key, state, t):
        return random.uniform(key), state

    def outcome(self, key, state, t, x, y_hat):
        return random.uniform(key), state


@dataclasses.dataclass
class Oracle(Oracle):
    copies: jax.Array

    def queries(self):
        return jnp.int32(2)


@struct
class Feedback(Feedback):
    def open(self, key, t, x, y, y_hat, state=()):
        return Oracle(jnp.stack([random.uniform(jax.random.fold_in(key, index)) for index in range(2)]))


@struct
class Learner(Learner):
    def init(self, key, specs):
        return random.uniform(key)

    def predict(self, key, state, x):
        return random.uniform(key)

    def update(self, key, state, oracle):
        return random.uniform(key), oracle.copies


def products(is_shared: bool, key: jax.Array) -> Any:
    """All products of two numbers of variance 1; with a shared stream the oracle has the key of the environment."""
    game, entrant, numbers = Game(Environment(), Feedback()), WithFeedback(Learner(), Feedback()), []
    for run_key in item_keys(key, jnp.uint32(0), RUNS):
        keys = stream_keys(run_key)
        keys = StreamKeys(keys.environment, keys.environment, keys.learner) if is_shared else keys
        states = start(game, entrant, keys)
        numbers += [states.environment, states.learner]
        for t in range(1, ROUNDS + 1):
            states, record = play_round(game, entrant, keys, jnp.int32(t), states)
            numbers += [record.x, record.y, record.y_hat, record.info[0], record.info[1], states.learner]
    numbers = math.sqrt(12) * (jnp.stack(numbers) - 0.5)
    return numbers[:, None] * numbers[None]


@pytest.mark.long
@pytest.mark.parametrize(
    ("is_shared", "verdict"), [pytest.param(False, "within tolerance", marks=pytest.mark.long), (True, "biased")]
)
def test_random_numbers_are_uncorrelated(is_shared, verdict):
    """Seed 0, false-alarm rate 1e-9; correlations of 0.1 are found with probability 0.999. The planted error: noisy
    copy 0 has the key of the instance."""
    sampler = jax.tree_util.Partial(functools.partial(products, is_shared))
    target = np.eye(RUNS * (2 + 6 * ROUNDS))
    assert verify.unbiased(sampler, target, range=(-3.001, 3.001), detect=0.1).verdict == verdict
