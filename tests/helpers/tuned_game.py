"""The game and the learners of tests of tuning."""

import jax
import numpy as np

import jaxonline as jo
from jaxonline.simulation.blocks import default_mesh

ONE = default_mesh(jax.devices()[:1])
SIGMA, T = 0.5, 16


# w <- w - 2 step (w - y) with y = 1 + SIGMA or 1 - SIGMA by the toss of a coin
GAME = jo.Game(
    jo.environments.DataStream(np.ones((2, 1)), np.array([1 + SIGMA, 1 - SIGMA]), order="iid"), jo.FullInformation()
)
SIZES = {"n_runs": 32, "n_rounds": T, "rungs": 2, "factor": 2, "mesh": ONE}


def make(step):
    return jo.GradientLearner(jo.estimators.FullGradient(), step)
