"""A small study of noisy gradient learners, and results compared bit for bit."""

import jax
import numpy as np

import jaxonline as jo
from jaxonline.estimators import TwoCopies
from jaxonline.simulation.blocks import default_mesh

RUNS, ROUNDS, WIDTH = 20, 80, 2  # ten blocks: two waves on eight devices, the second not full
BALL = jo.L2Ball(1.0)


def small_game() -> jo.Game:
    model = jo.environments.LinearModel(np.array([0.6, -0.8, 0.3]), noise_std=0.1, instances="sphere")
    return jo.Game(model, jo.NoisyCopies(jo.noise.gaussian(0.2), reveal_covariance=True))


def learner(eta: float = 0.2, estimator=None) -> jo.GradientLearner:
    return jo.GradientLearner(estimator or TwoCopies(), step_size=jo.InverseSqrt(eta), radius=1.0)


def study(learners=None, **options) -> jo.Result:
    defaults = {"n_runs": RUNS, "n_rounds": ROUNDS, "key": 3, "block_size": WIDTH, "record_at": 4, "comparator": BALL}
    options = {"mesh": default_mesh(jax.devices()[:1]), **defaults, **options}
    return jo.simulate(small_game(), learners or learner(), **options)


def assert_same_bits(first: jo.Result, second: jo.Result, runs=slice(None), record_at=slice(None)):
    """`first` holds these runs and recorded rounds of `second`, bit for bit."""
    for name in ("cumulative_loss", "comparator_loss", "queries"):
        np.testing.assert_array_equal(getattr(first, name), getattr(second, name)[:, runs][:, :, record_at], name)
    np.testing.assert_array_equal(first.first_nonfinite, second.first_nonfinite[:, runs])
