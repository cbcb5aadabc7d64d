"""Claims on independent random numbers: of runs, streams, rounds and parts of a round, and of live classifiers.

A game of random numbers collects the first number of each draw: instance, outcome, two noisy copies, move and update.
"""

import functools
import itertools
import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np

from jaxonline import random
from jaxonline.claims.registry import SamplingOptions, claim
from jaxonline.game import Entrant, Game, play_round, start
from jaxonline.game.defaults import EnvironmentDefaults, FeedbackDefaults, LearnerDefaults
from jaxonline.game.keys import StreamKeys, stream_keys
from jaxonline.live import Live
from jaxonline.parameters.struct import struct
from jaxonline.simulation.blocks import item_keys
from jaxonline.verify.bias import unbiased
from jaxonline.verify.result import Verification

RUNS, ROUNDS = 2, 2


def _number(key: jax.Array) -> jax.Array:
    return random.uniform(key)


@struct
class _Environment(EnvironmentDefaults):
    instance_spec = outcome_spec = jax.ShapeDtypeStruct((), jnp.float32)

    def init(self, key: jax.Array) -> jax.Array:
        return _number(key)

    def instance(self, key: jax.Array, state: Any, t: Any) -> tuple[Any, Any]:
        return _number(key), state

    def answer(self, key: jax.Array, state: Any, t: Any, x: Any, y_hat: Any) -> tuple[Any, Any]:
        return _number(key), state


class _Oracle(NamedTuple):
    copies: jax.Array

    def queries(self) -> jax.Array:
        return jnp.int32(2)


@struct
class _Feedback(FeedbackDefaults):
    def open(self, key: jax.Array, t: Any, x: Any, y: Any, y_hat: Any) -> _Oracle:
        return _Oracle(jnp.stack([_number(jax.random.fold_in(key, index)) for index in range(2)]))


@struct
class _Learner(LearnerDefaults):
    """Its state is the number of its last update."""

    def init(self, key: jax.Array, specs: Any) -> jax.Array:
        return _number(key)

    def predict(self, key: jax.Array, state: jax.Array, x: Any) -> jax.Array:
        return _number(key)

    def update(self, key: jax.Array, state: jax.Array, oracle: Any) -> tuple[jax.Array, Any]:
        return _number(key), oracle.copies


def _numbers(shared_stream: bool, key: jax.Array) -> jax.Array:
    """Return the numbers of the runs; with a shared stream, the oracle has the key of the environment."""
    game, entrant, numbers = Game(_Environment(), _Feedback()), Entrant(_Learner(), _Feedback()), []
    for run_key in item_keys(key, jnp.uint32(0), RUNS):
        keys = stream_keys(run_key)
        keys = StreamKeys(keys.environment, keys.environment, keys.learner) if shared_stream else keys
        states = start(game, entrant, keys)
        numbers += [states.environment, states.learner]
        for t in range(1, ROUNDS + 1):
            states, record = play_round(game, entrant, keys, jnp.int32(t), states)
            numbers += [record.x, record.y, record.y_hat, record.info[0], record.info[1], states.learner]
    return math.sqrt(12) * (jnp.stack(numbers) - 0.5)


def _products(shared_stream: bool, key: jax.Array) -> jax.Array:
    numbers = _numbers(shared_stream, key)
    return numbers[:, None] * numbers[None]


def _correlations(shared_stream: bool, options: SamplingOptions) -> Verification:
    """Compare the correlations of all numbers, of variance 1, with the identity matrix."""
    sampler = jax.tree_util.Partial(functools.partial(_products, shared_stream))
    size = RUNS * (2 + 6 * ROUNDS)
    return unbiased(sampler, np.eye(size), range=(-3.001, 3.001), **options.sampling())


@claim(
    "random numbers of two runs, two rounds, and all their parts, no correlation",
    "E, setup",
    improved="within tolerance",
)
def _own_streams(form: str, options: SamplingOptions) -> Verification:
    return _correlations(False, options)


@claim("random numbers if the oracle has the key of the environment, no correlation", "E, setup", improved="biased")
def _shared_stream(form: str, options: SamplingOptions) -> Verification:
    """Show that noisy copy 0 then has the random number of the instance."""
    return _correlations(True, options)


def _share_of_equal_states(lives: list[Live]) -> Verification:
    """Compare the learners' last random numbers, in all pairs of live learners."""
    pairs = list(itertools.combinations([float(live.state) for live in lives], 2))
    return unbiased(None, 0.0, support=[(1 / len(pairs), float(first == second)) for first, second in pairs])


@claim(
    "random numbers of the classifiers of several classes, share of equal ones", "E, setup", improved="within tolerance"
)
def _classifiers(form: str, options: SamplingOptions) -> Verification:
    from jaxonline.live.estimators import OnlineClassifier  # scikit-learn takes a second to import

    classifier = OnlineClassifier(_Learner(), feedback=_Feedback(), random_state=0)
    return _share_of_equal_states(classifier.fit(np.eye(3), np.arange(3)).lives_)


@claim("random numbers of classifiers with the same key, share of equal ones", "E, setup", improved="biased")
def _classifiers_with_one_key(form: str, options: SamplingOptions) -> Verification:
    lives = [Live(_Learner(), _Feedback(), key=jax.random.key(0)) for _ in range(3)]
    for live in lives:
        live.learn(np.eye(3), np.ones(3))
    return _share_of_equal_states(lives)
