"""Random keys of a run, derived by `fold_in`: run -> stream -> round.

All learners of a study have the same instances and noise, and every run can be repeated.
"""

from typing import NamedTuple

import jax
from jaxtyping import Array, Int, Key

from jaxonline import random
from jaxonline.parameters.types import PyTree

INIT = 0  # index in a stream's key: the state before round 1
INSTANCE, ANSWER = 0, 1  # indices in the environment's key of a round
PREDICT, UPDATE = 0, 1  # indices in the learner's key of a round


class StreamKeys(NamedTuple):
    """The keys of one run: one each for the environment, the oracle and the learner."""

    environment: Key[Array, ""]
    oracle: Key[Array, ""]
    learner: Key[Array, ""]


def stream_keys(run_key: Key[Array, ""]) -> StreamKeys:
    """Return the three keys of a run; run r of a study with key k has the key `fold_in(k, r)`.

    Draws with these keys equal those of JAX's threefry generator, and programs with them compile better. Draw with
    `jaxonline.random`.
    """
    run_key = random.inlined(run_key)
    return StreamKeys(*(jax.random.fold_in(run_key, stream) for stream in range(3)))


def part_key(stream_key: Key[Array, ""], t: Int[Array, ""] | int, part: int) -> Key[Array, ""]:
    """Return the key of one part (`INSTANCE`, `ANSWER`, `PREDICT` or `UPDATE`) of round t, from a stream's key."""
    return jax.random.fold_in(jax.random.fold_in(stream_key, t), part)


def update_key(learner_key: Key[Array, ""], y_hat: PyTree) -> Key[Array, ""]:
    """Return the update key from the learner's key of the round; derived after the move to update states in place."""
    return random.fold_in(learner_key, 1, after=y_hat)
