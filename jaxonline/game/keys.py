"""The keys of a run: run -> stream -> round, by `fold_in`.

So all learners of a study face the same instances and the same noise, and any run can be played again.
"""

from typing import NamedTuple

import jax
from jaxtyping import Array, Int, Key, PyTree

from jaxonline import random

INIT = 0  # of a stream's key: the state before round 1
INSTANCE, ANSWER = 0, 1  # of the environment's key of a round
PREDICT, UPDATE = 0, 1  # of the learner's key of a round


class StreamKeys(NamedTuple):
    """The keys of one run: one stream each for the environment, the oracle and the learner."""

    environment: Key[Array, ""]
    oracle: Key[Array, ""]
    learner: Key[Array, ""]


def stream_keys(run_key: Key[Array, ""]) -> StreamKeys:
    """The three streams of a run; run r of a study with key k has the key `fold_in(k, r)`.

    Their numbers are those of jax's threefry, in a form that is compiled better: draw with `jaxonline.random`.
    """
    run_key = random.inlined(run_key)
    return StreamKeys(*(jax.random.fold_in(run_key, stream) for stream in range(3)))


def part_key(stream_key: Key[Array, ""], t: Int[Array, ""] | int, part: int) -> Key[Array, ""]:
    """The key of one part of round t (`INSTANCE`, `ANSWER`, `PREDICT`, `UPDATE`) of a stream."""
    return jax.random.fold_in(jax.random.fold_in(stream_key, t), part)


def update_key(learner_key: Key[Array, ""], y_hat: PyTree) -> Key[Array, ""]:
    """The key of a learner's update, from its key of the round: known after the move, which reads the same state."""
    return random.fold_in(learner_key, 1, after=y_hat)
