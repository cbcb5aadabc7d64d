"""Cases of `benchmarks.tightness`: learners of kernels from noisy copies."""

import jax.numpy as jnp
import numpy as np

import jaxonline as jo
from benchmarks._tightness_search import Case
from benchmarks._tightness_squared_loss import squared_losses
from benchmarks._tightness_tables import best_in_ball, play_rows, squared_regret
from jaxonline import bounds
from jaxonline.estimators import (
    DotProductFeatureMap,
    FiniteDistribution,
    Geometric,
    GradientLength,
    Surrogate,
    minimum_variance,
)
from jaxonline.kernels import Gaussian, Linear
from jaxonline.learners import NoisyKernel, Storage, SurrogateKernel
from jaxonline.losses import Squared

T, Y, VARIANCE, COPIES = 16, 10.0, 1e-4, 16
NOISE = 0.01  # variance in the game of the surrogate kernel


def _noisy_kernel(name: str, game: str, feature_map: DotProductFeatureMap, length: GradientLength,
                  bound: bounds.Bound) -> Case:  # fmt: skip
    storage = Storage.for_horizon(feature_map, length, dimension=2, n_rounds=T)
    settings = {"bound": bound.value, "step": bound.step_size, "Y": Y, "length": np.sqrt(1 - 2 * VARIANCE)}
    return squared_losses(
        name, f"linear kernel, {game}, d = 2, Y = {Y:g} radius x_bound, noise of variance {VARIANCE:g}, T = {T}",
        lambda extras: settings, lambda settings: NoisyKernel(feature_map, length, settings["step"], 1.0, storage),
        lambda settings: jo.NoisyCopies(jo.noise.gaussian(VARIANCE)), 0, COPIES, T,
    )  # fmt: skip


def noisy_kernel() -> Case:
    feature_map = DotProductFeatureMap(Linear(), FiniteDistribution([0.0, 1.0]))
    factors = bounds.factor_moment(1.0, 1.0, Y)
    length = GradientLength.for_loss(Squared(), minimum_variance, factors)
    bound = bounds.noisy_kernel(feature_map, length, 1.0, 1.0, T, y_bound=Y)
    return _noisy_kernel("noisy_kernel", "laws of minimum variance", feature_map, length, bound)


def noisy_kernel_geometric() -> Case:
    feature_map = DotProductFeatureMap(Linear(), Geometric(2.0))
    length = GradientLength.for_loss(Squared(), Geometric(2.0), 1.0)
    bound = bounds.noisy_kernel_geometric(Linear(), Squared(), 2.0, 1.0, 1.0, T, y_bound=Y)
    return _noisy_kernel("noisy_kernel_geometric", "p = 2", feature_map, length, bound)


def surrogate_kernel() -> Case:
    """Instances are three points on a line; comparators are combinations of the kernel at these points."""
    surrogate = Surrogate(Gaussian(1.0), [NOISE])
    constant = float(surrogate.constant())
    bound = bounds.surrogate_kernel(1.0, constant, Y, T)

    def settings(extras):
        return {"bound": bound.value, "step": bound.step_size, "spacing": 0.1 + 3 * float(extras[0])}

    def places(tables):
        return np.minimum(np.floor(3 * tables[..., 0]), 2.0)

    def play(table, settings, key):
        x = jnp.minimum(jnp.floor(3 * table[:, :1]), 2.0) * settings["spacing"]
        learner = SurrogateKernel(surrogate, settings["step"], n_rounds=T, radius=1.0)
        feedback = jo.NoisyCopies(jo.noise.gaussian([NOISE]))
        return play_rows(x, Y * (2 * table[:, 1] - 1), feedback, Squared(), learner, key).y_hat

    def ratios(y_hat, tables, settings):
        squares = (np.subtract.outer(np.arange(3), np.arange(3)) * settings["spacing"][:, None, None]) ** 2
        gram = np.exp(-squares)
        shrinkage = 1 - 2 * NOISE  # of the squared width, by the expectation over the noise
        of_surrogate = np.exp(-squares / shrinkage) / np.sqrt(shrinkage)
        factors = np.linalg.cholesky(of_surrogate + 1e-9 * np.eye(3))
        features = np.einsum("nij,nkj->nik", gram, np.linalg.inv(factors))  # K L^-T
        X = np.take_along_axis(features, places(tables).astype(int)[..., None].repeat(3, 2), axis=1)
        y = Y * (2 * tables[..., 1] - 1)
        w = best_in_ball(X, y, np.ones(len(X)))
        return squared_regret(y_hat, y, np.einsum("nti,ni->nt", X, w)) / settings["bound"][:, None]

    game = f"Gaussian kernel of width 1, noise of variance {NOISE}, 3 points, Y = {Y:g} W, T = {T}"
    return Case("surrogate_kernel", game, (T, 2), settings, play, ratios, 1, COPIES)


CASES = (noisy_kernel, noisy_kernel_geometric, surrogate_kernel)
