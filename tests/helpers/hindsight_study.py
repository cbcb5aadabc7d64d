"""A study with a comparator that counts how often it is asked."""

import jax
import numpy as np

import jaxonline as jo
from jaxonline.comparators import cumulative_statistic
from jaxonline.estimators import TwoCopies
from jaxonline.parameters.struct import struct
from jaxonline.simulation.blocks import default_mesh

ONE_DEVICE = default_mesh(jax.devices()[:1])
RUNS, ROUNDS = 10, 24
BALL = jo.L2Ball(0.7)
LEARNERS = {eta: jo.GradientLearner(TwoCopies(), step_size=eta, radius=1.0) for eta in (0.05, 0.2)}


@struct
class SlowBall:
    """L2Ball from the whole history; what it was asked is kept in `ASKED`."""

    radius: float

    def best_losses(self, X, y, rounds):
        ASKED.append((X, y, rounds))
        return np.array(
            [float(jo.L2Ball(self.radius).best_loss(cumulative_statistic(BALL, X[:t], y[:t]))) for t in rounds]
        )


ASKED: list = []


def game(feedback=None, environment=None) -> jo.Game:
    model = jo.environments.LinearModel(np.array([0.6, -0.8, 0.3]), noise_std=0.3)
    return jo.Game(environment or model, feedback or jo.NoisyCopies(jo.noise.gaussian(0.3)))


def study(of=None, comparator=None, **options) -> jo.Result:
    options = {"n_runs": RUNS, "n_rounds": ROUNDS, "key": 5, "block_size": 4, "record_at": [5, 9], **options}
    comparator = SlowBall(0.7) if comparator is None else comparator
    return jo.simulate(of or game(), LEARNERS, comparator=comparator, **{"mesh": ONE_DEVICE, **options})
