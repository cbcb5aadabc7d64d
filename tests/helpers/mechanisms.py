"""What tests over the registry share: how many rounds, one learner of each way to play a round, and bits."""

from typing import Any

import jax
import numpy as np

ROUNDS = 6
MECHANISMS = (  # one of each way in which a round is played
    "two copies", "four attributes", "surrogate kernel", "kernel gradient",
    "Fourier features, naive copy", "VAW", "BOA", "OMKL-GF", "Hedge", "EXP3", "perceptron",
)  # fmt: skip
FEW = "two copies", "kernel gradient", "VAW", "EXP3"


def bits(tree: Any) -> list[bytes]:
    return [np.asarray(leaf).tobytes() for leaf in jax.tree.leaves(tree)]
