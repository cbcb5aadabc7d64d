"""Streams of rounds for the registry's games, and their bits."""

from typing import Any

import jax
import numpy as np
from registry import Entry

import jaxonline as jo

ROUNDS = 6
MECHANISMS = (  # one of each way in which a round is played
    "two copies", "four attributes", "surrogate kernel", "kernel gradient",
    "Fourier features, naive copy", "VAW", "BOA", "OMKL-GF", "Hedge", "EXP3", "perceptron",
)  # fmt: skip
D = 3  # numbers of an instance, or arms


def bits(tree: Any) -> list[bytes]:
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(tree)]


def stream(entry: Entry) -> jo.environments.DataStream:
    rng = np.random.default_rng(3)
    X, y = rng.normal(size=(ROUNDS, D)), rng.normal(size=ROUNDS)
    if entry.losses_of_arms:
        x = rng.dirichlet(np.ones(D), size=(ROUNDS, D)) if entry.contexts else None
        return jo.environments.DataStream(x, rng.uniform(size=(ROUNDS, D)))
    return jo.environments.DataStream(X, np.sign(y) if entry.classes else y)
