"""The step of Algorithm 1 along a real run: its mean is the gradient of the loss at the hypothesis of that round.

The gradient is l'(..) Psi(x) in the RKHS. The tests check its values at a few points z, <g~ Psi~, Psi(z)>, which must
have the mean l'(<w_t, Psi(x_t)>, y_t) k(x_t, z) at the hypothesis w_t of a run of the learner.
"""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

import jaxonline as jo
from jaxonline import verify
from jaxonline.estimators.counts import FiniteDistribution, minimum_variance
from jaxonline.estimators.feature_maps import DotProductFeatureMap
from jaxonline.estimators.gradient_length import GradientLength
from jaxonline.kernels import Inhomogeneous
from jaxonline.learners import NoisyKernel, Storage
from jaxonline.losses import Squared
from jaxonline.parameters.struct import cast_leaves, struct
from jaxonline.simulation.blocks import default_mesh

pytestmark = [pytest.mark.fast_compile, pytest.mark.long]
ONE_DEVICE = default_mesh(jax.devices()[:1])
CHANNEL = jo.NoisyCopies(jo.noise.uniform(0.15))
POINTS = np.array([[0.6, 0.1], [-0.3, 0.5], [0.1, -0.7]], np.float32)
X = np.random.default_rng(3).uniform(-0.7, 0.7, (40, 2)).astype(np.float32)
Y = np.sin(3 * X[:, 0]) + 0.5 * X[:, 1]
QUADRATIC = DotProductFeatureMap(Inhomogeneous(2), FiniteDistribution([0.0, 0.0, 1.0]))  # only this part is learned
LEARNER = cast_leaves(
    NoisyKernel(
        QUADRATIC, GradientLength.for_loss(Squared(), minimum_variance, 1.0), 0.1, 0.3,
        Storage(tensor_levels=2, deepest=2, most_pairs=0, most_fresh=1, n_chunks=1),
    ),
    np.float32,
)  # fmt: skip


@struct
class Repeating:
    """An oracle that repeats its first `period` copies."""

    oracle: Any
    period: Any

    def reserve(self, number):
        draw = self.oracle.reserve(number)
        return lambda index: draw(index % self.period)

    def label(self):
        return self.oracle.label()

    def labels(self, capacity, number):
        return self.oracle.labels(capacity, number)


def estimate(learner, state, x, y, period, key):
    """g~ <Psi~, Psi(z)> at every point z, from an update of w with step size 1."""
    learner_key, oracle_key = jax.random.split(key)
    learner = jo.replace(learner, step_size=np.float32(1.0), radius=None)
    oracle = Repeating(CHANNEL.open(oracle_key, jnp.int32(1), x, y, y), period)
    after, info = learner.update(learner_key, state, oracle)
    before, later = (jax.vmap(lambda z, w=w: learner.predict(key, w, z))(POINTS) for w in (state, after))
    return verify.Capped(before - later, info.overflow)


def too_long(learner):
    """The mutant whose series of l' has a coefficient that is 10 % too large."""
    series = learner.gradient_length.series
    series = jo.replace(series, coefficients=series.coefficients * np.float32([1.0, 1.1]))
    return jo.replace(learner, gradient_length=jo.replace(learner.gradient_length, series=series))


@pytest.mark.parametrize(
    ("mutant", "period", "verdict"),
    [
        (lambda learner: learner, 1 << 20, "within tolerance"), (too_long, 1 << 20, "biased"),
        (lambda learner: learner, 2, "biased"),
    ],
    ids=["learner", "a wrong coefficient", "fresh estimates that reuse copies"],
)  # fmt: skip
def test_the_mean_step_equals_the_gradient(mutant, period, verdict):
    """After 39 rounds, with projections. False-alarm rate 1e-9; a bias of 5 % is found with probability 0.999."""
    game = jo.Game(jo.environments.DataStream(X, Y), CHANNEL)
    state, history = jo.play(game, LEARNER, jax.random.key(7), 39)
    assert (np.isclose(history.info.squared_norm, 0.09)).sum() > 3, "the run meets the ball"
    w = float(LEARNER.predict(None, state, jnp.asarray(X[39])))
    target = 2 * (w - Y[39]) * (POINTS @ X[39]) ** 2
    estimator = jax.tree_util.Partial(estimate, mutant(LEARNER), state, X[39], np.float32(Y[39]), np.int32(period))
    result = verify.unbiased(estimator, target, kurtosis=100.0, detect=0.05, cap_bias=1e-6, mesh=ONE_DEVICE)
    assert result.verdict == verdict, result
