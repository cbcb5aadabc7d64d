"""Algorithm 1 against the NumPy pseudocode fed the same copies, its queries, its norm and its storage."""

import jax
import noisy_kernel_reference as reference
import numpy as np
import pytest
from noisy_kernel_draws import drawn, reference_kernel

import jaxonline as jo
from jaxonline.estimators.best_laws import best_feature_map
from jaxonline.estimators.feature_maps import DotProductFeatureMap, GaussianFeatureMap
from jaxonline.estimators.gradient_length import GradientLength
from jaxonline.estimators.laws import Geometric, Law
from jaxonline.kernels import Binomial, ExponentialKernel, Gaussian, Homogeneous, Inhomogeneous, Linear
from jaxonline.learners.noisy_kernel import NoisyKernel, Storage
from jaxonline.losses import Exponential, SmoothedAbsolute, SmoothedHinge, Squared

pytestmark = pytest.mark.fast_compile
T, D = 60, 3
MAPS = {
    "gaussian": GaussianFeatureMap(Gaussian(2.0), Geometric(2.0), Geometric(2.5)),
    "exponential": DotProductFeatureMap(ExponentialKernel(), Geometric(1.5)),
    "linear": DotProductFeatureMap(Linear(), Law([0.0, 1.0])),
    "homogeneous": DotProductFeatureMap(Homogeneous(2), Law([0.2, 0.1, 0.7])),
    "binomial": DotProductFeatureMap(Binomial(0.5), Geometric(1.8)),
    "gaussian, best laws": best_feature_map(Gaussian(1.5), 1.0, overhead=1.0),
    "inhomogeneous, better law": DotProductFeatureMap(Inhomogeneous(2), Law([0.3, 0.4, 0.3])),
}
LOSSES = {
    "squared": Squared(),
    "absolute": SmoothedAbsolute(0.3),
    "hinge": SmoothedHinge(0.3),
    "exponential": Exponential(),
}


def learner_of(feature_map, loss, radius, n_rounds=T, step=0.02, tensor_levels=None):
    length = GradientLength.of(loss, Geometric(2.0), second_moment=1.0)
    storage = Storage.of(feature_map, length, D, n_rounds)
    if tensor_levels is not None:
        storage = Storage(tensor_levels, storage.deepest, storage.most_pairs, storage.most_fresh, 400)
    return NoisyKernel(feature_map, length, step, radius, storage)


def stream(loss, n_rounds=T):
    rng = np.random.default_rng(3)
    X = rng.uniform(-0.6, 0.6, (n_rounds, D))
    y = np.sin(3 * X[:, 0]) + 0.5 * X[:, 1]
    return X, np.where(y > 0, 1.0, -1.0) if loss.kind == "classification" else y


def rounds_of(learner, feedback, X, y, run_key):
    """What the learner drew in every round, from the keys that the game gives it."""
    draws = drawn(learner, feedback, X, run_key)
    return [
        reference.Round(X[t], y[t], draws.psi(t), int(n), [draws.psi(t, j) for j in range(1, 1 + int(n))])
        for t, n in enumerate(draws.n)
    ]


@pytest.mark.parametrize(
    ("kernel", "loss", "radius", "tensor_levels"),
    [(k, "squared", 0.05 if k == "homogeneous" else 0.2, None) for k in MAPS]
    + [("gaussian", "absolute", 0.05, 1), ("gaussian", "hinge", 0.2, 1)]
    + [("gaussian", "exponential", None, 0), ("exponential", "hinge", 0.15, 2)],
)
def test_it_is_the_pseudocode(x64, kernel, loss, radius, tensor_levels):
    """float64, 1e-9: predictions and |w|^2 by the double sum, with deep levels in tensors or in rows."""
    feature_map, loss = MAPS[kernel], LOSSES[loss]
    learner = learner_of(feature_map, loss, radius, tensor_levels=tensor_levels)
    X, y = stream(loss)
    feedback = jo.NoisyCopies(jo.noise.gaussian(0.05))
    game = jo.Game(jo.environments.DataStream(X, y), feedback, loss)
    key = jax.random.key(5)
    _, history = jo.play(game, learner, key, T)
    rounds = rounds_of(learner, feedback, X, y, key)

    series = learner.gradient_length.series
    gammas, law = reference.table(np.asarray(series.coefficients)), reference.geometric(2.0)
    theirs = reference.algorithm_1(
        reference_kernel(feature_map), reference.Loss(gammas, loss.kind, law), rounds, 0.02,
        np.inf if radius is None else radius**2,
    )  # fmt: skip
    assert not bool(history.info.overflow.any())
    np.testing.assert_allclose(history.y_hat, theirs.predictions, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(history.info.length, theirs.lengths, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(history.info.squared_norm, theirs.norms, rtol=1e-9, atol=1e-12)
    assert history.queries.tolist() == [sum(len(c) for _, c in [r.psi, *r.fresh]) for r in rounds]
    if radius is not None:
        assert (theirs.unprojected > radius**2 * (1 + 1e-9)).any(), "projections must happen, or this shows less"


@pytest.mark.parametrize(
    ("kernel", "p", "wanted"), [("gaussian", 2.0, 6.0), ("dot", 2.0, 2.0), ("gaussian", 3.0, 2.25)]
)
def test_queries_per_round(kernel, p, wanted):
    """3p/(p-1)^2 and p/(p-1)^2, within 5 standard errors of the runs (false alarms 6e-7)."""
    law = Geometric(p)
    feature_map = GaussianFeatureMap(Gaussian(2.0), law) if kernel == "gaussian" else DotProductFeatureMap(
        ExponentialKernel(), law
    )  # fmt: skip
    length = GradientLength.of(Squared(), law, second_moment=1.0)
    learner = NoisyKernel(feature_map, length, 0.01, 1.0, Storage.of(feature_map, length, D, 40))
    X, y = stream(Squared(), 40)
    game = jo.Game(jo.environments.DataStream(X, y), jo.NoisyCopies(jo.noise.gaussian(0.05)))
    queries = jo.simulate(game, learner, n_runs=64, n_rounds=40, record_at=1).queries[0, :, -1] / 40
    assert abs(queries.mean() - wanted) < 5 * queries.std(ddof=1) / 8


def test_a_full_storage_is_not_silent():
    learner = learner_of(MAPS["exponential"], Squared(), 1.0)
    small = jo.replace(learner, storage=Storage(1, 30, 0, 30, 2))
    assert learner.overflow_probability(T) < 1e-6
    assert small.overflow_probability(T) > 0.9
    X, y = stream(Squared())
    game = jo.Game(jo.environments.DataStream(X, y), jo.NoisyCopies(jo.noise.gaussian(0.05)))
    with pytest.warns(RuntimeWarning, match=r"Storage.of\(feature_map, length, dimension, n_rounds, risk\)"):
        result = jo.simulate(game, small, n_runs=16, n_rounds=T, record_at=1)
    assert result.overflowed[0] > 0


def test_what_is_wrong_is_said():
    learner = learner_of(MAPS["exponential"], Squared(), 1.0)
    with pytest.raises(ValueError, match="radius must be above 0, got -1"):
        jo.replace(learner, radius=-1.0)
    with pytest.raises(TypeError, match="storage must be a Storage"):
        jo.replace(learner, storage=3)
    with pytest.raises(ValueError, match="n_chunks must be at least 1"):
        Storage(1, 1, 0, 1, 0)
