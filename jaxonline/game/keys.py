"""The keys of a run: run -> stream -> round, by `fold_in`.

So all learners of a study face the same instances and the same noise, and any run can be played again.
"""

from typing import NamedTuple

import jax
from jaxtyping import Array, Int, Key

from jaxonline.random.threefry import written_out

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

    Their numbers are those of jax's threefry, in a form that is compiled better (`random.threefry`). What insists on
    jax's own generator, as `jax.random.poisson` does, takes `jax.random.wrap_key_data(jax.random.key_data(key))`.
    """
    run_key = written_out(run_key)
    return StreamKeys(*(jax.random.fold_in(run_key, stream) for stream in range(3)))


def part_key(stream_key: Key[Array, ""], t: Int[Array, ""] | int, part: int) -> Key[Array, ""]:
    """The key of one part of round t (`INSTANCE`, `ANSWER`, `PREDICT`, `UPDATE`) of a stream."""
    return jax.random.fold_in(jax.random.fold_in(stream_key, t), part)
