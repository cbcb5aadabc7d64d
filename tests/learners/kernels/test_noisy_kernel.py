"""Algorithm 1 against the NumPy pseudocode on the same copies: predictions, queries, norm and storage."""

import dataclasses
import functools

import jax
import noisy_kernel_reference as reference
import numpy as np
import pytest
from noisy_kernel_draws import TERMS, drawn, labels, padded, power_series, reference_kernel
from tiers import some

import jaxonline as jo
from jaxonline.estimators.counts import FiniteDistribution, Geometric
from jaxonline.estimators.feature_maps import GaussianFeatureMap
from jaxonline.estimators.gradient_length import GradientLength
from jaxonline.estimators.noisy_features import PairedFeatureMap
from jaxonline.estimators.optimal_feature_maps import best_feature_map
from jaxonline.kernels import (
    Binomial,
    ExponentialKernel,
    Gaussian,
    Homogeneous,
    Inhomogeneous,
    Linear,
)
from jaxonline.learners import NoisyKernel, Storage
from jaxonline.losses import Exponential, SmoothedAbsolute, SmoothedHinge, Squared

pytestmark = pytest.mark.fast_compile
T, D = 60, 3
CHANNEL = jo.NoisyCopies(jo.noise.gaussian(0.05))
NOISY_LABELS = jo.NoisyCopies(jo.noise.gaussian(0.05), label_noise=jo.noise.gaussian(0.09))
FLIPPED_LABELS = jo.NoisyCopies(jo.noise.gaussian(0.05), label_noise=jo.noise.FlippedLabels(0.2))
BEST = best_feature_map(Gaussian(1.5), 1.0, overhead=1.0)
MAPS = {  # those with tables, and those with the paper's laws, are one program each
    "gaussian": GaussianFeatureMap(Gaussian(2.0), padded(Geometric(2.0)), padded(Geometric(2.5))),
    "gaussian, best laws": GaussianFeatureMap(BEST.kernel, padded(BEST.law), padded(BEST.pair_law)),
    "exponential": power_series(ExponentialKernel(), padded(Geometric(1.5))),
    "linear": power_series(Linear(), FiniteDistribution([0.0, 1.0])),
    "homogeneous": power_series(Homogeneous(2), FiniteDistribution([0.2, 0.1, 0.7])),
    "binomial": power_series(Binomial(0.5), padded(Geometric(1.8))),
    "inhomogeneous, better law": power_series(Inhomogeneous(2), FiniteDistribution([0.3, 0.4, 0.3])),
    "gaussian, the paper's laws": GaussianFeatureMap(Gaussian(2.0), Geometric(2.0), Geometric(2.5)),
    "exponential, the paper's law": power_series(ExponentialKernel(), Geometric(1.5)),
}
LOSSES = {
    "squared": Squared(),
    "absolute": SmoothedAbsolute(0.3),
    "hinge": SmoothedHinge(0.3),
    "exponential": Exponential(),
}
FAR = 5.0  # a radius that w never comes to: no projection


def learner_of(feature_map, loss, radius, p=2.0, repetitions=1):
    """One of four programs: each kind of feature map and of loss stores other levels as tensors."""
    length = GradientLength.for_loss(loss, Geometric(p), second_moment=1.0, n_terms=24)
    is_gaussian, regression = isinstance(feature_map, PairedFeatureMap), loss.kind == "regression"
    levels = int(regression) if is_gaussian else 2
    storage = Storage(levels, deepest=TERMS, most_pairs=TERMS * is_gaussian, most_fresh=24, n_chunks=400)
    return NoisyKernel(feature_map, length, 0.02 if repetitions == 1 else 0.1, radius, storage, repetitions)


def stream(loss):
    rng = np.random.default_rng(3)
    X = rng.uniform(-0.6, 0.6, (T, D))
    y = np.sin(3 * X[:, 0]) + 0.5 * X[:, 1]
    return X, np.where(y > 0, 1.0, -1.0) if loss.kind == "classification" else y


def game_of(loss, channel=CHANNEL):
    return jo.Game(jo.environments.DataStream(*stream(loss)), channel)


def rounds_of(learner, X, y, run_key, channel):
    """The draws of every round; each g~ has its own labels, one for each factor in regression."""
    draws, gammas = drawn(learner, channel, X, run_key), np.asarray(learner.gradient_length.series.coefficients)
    regression, most = learner.gradient_length.kind == "regression", 24 * learner.repetitions
    noisy = np.repeat(y[:, None], most, axis=1) if channel is CHANNEL else labels(channel, y, run_key, most)
    assert channel is not NOISY_LABELS or np.ptp(noisy, axis=1).min() > 0.1, "the labels of a round differ"
    assert channel is not FLIPPED_LABELS or np.abs(np.abs(noisy) - 1 / 0.6).max() < 1e-12
    rounds = []
    for t, numbers in enumerate(np.reshape(draws.n, (len(X), -1)).tolist()):
        first, pairs = 0, []
        for i, n in enumerate(numbers):
            used = n if n < len(gammas) and gammas[n] != 0.0 else 0
            own = noisy[t, first : first + (max(used, 1) if regression else 1)]
            first += len(own)
            label = np.pad(own, (0, max(n - len(own), 0))) if regression else own[0]
            fresh = [draws.psi(t, j, i) for j in range(1, 1 + n)]
            pairs.append(reference.Round(X[t], label, draws.psi(t, 0, i), n, fresh))
        rounds.append(pairs)
    return rounds


CASES = [(k, "squared", 0.05 if k == "homogeneous" else 0.2, 1) for k in MAPS if "paper" not in k]
CASES += [
    ("gaussian", "absolute", 0.05, 1), ("gaussian, the paper's laws", "hinge", 0.2, 1),
    ("gaussian, the paper's laws", "exponential", FAR, 1), ("exponential, the paper's law", "hinge", 0.15, 1),
    ("inhomogeneous, better law", "squared", 0.2, 3), ("exponential, the paper's law", "hinge", 0.2, 3),
    ("gaussian", "absolute", 0.2, 3),
]  # fmt: skip


DECIDING = ("exponential, the paper's law", "hinge", 0.15, 1), ("gaussian", "absolute", 0.05, 1)
FEW = 30  # rounds in which other constants show


def with_other_constants(*arguments):
    """Kernel, loss, step and bound of the reference; a number or function of one of them is larger by 5 %."""
    for i, part in enumerate(arguments):
        fields = [field.name for field in dataclasses.fields(part)] if dataclasses.is_dataclass(part) else [None]
        for name in fields:
            value = part if name is None else getattr(part, name)
            if callable(value):
                other = functools.partial(lambda n, value: 1.05 * value(n), value=value)
            elif isinstance(value, float):
                other = 1.05 * value + (0.05 if value == 0 else 0.0)
            else:
                continue
            changed = other if name is None else dataclasses.replace(part, **{name: other})
            yield *arguments[:i], changed, *arguments[i + 1 :]


@pytest.mark.parametrize(("kernel", "loss", "radius", "repetitions"), some(CASES, DECIDING[0]))
def test_noisy_kernel_equals_the_pseudocode(x64, kernel, loss, radius, repetitions):
    """float64, 1e-9: predictions and |w|^2 by the double sum, with deep levels in tensors or in rows, and with means
    over several g~ Psi~ in a round. Labels are noisy (regression) or flipped (classification) in some cases."""
    all_decide = (kernel, loss, radius, repetitions) in DECIDING
    feature_map, loss, (X, y), key = MAPS[kernel], LOSSES[loss], stream(LOSSES[loss]), jax.random.key(5)
    learner = learner_of(feature_map, loss, radius, repetitions=repetitions)
    channel = CHANNEL
    if loss.kind == "regression" and ("gaussian" in kernel or repetitions > 1):
        channel = NOISY_LABELS
    elif kernel == "exponential, the paper's law" or loss is LOSSES["exponential"]:
        channel = FLIPPED_LABELS
    _, history = jo.play(game_of(loss, channel), learner, key, T)
    rounds = rounds_of(learner, X, y, key, channel)
    gammas = reference.table(np.asarray(learner.gradient_length.series.coefficients))
    by_hand = reference_kernel(feature_map), reference.Loss(gammas, loss.kind, reference.geometric(2.0))
    theirs = reference.algorithm_1_with_means(*by_hand, rounds, float(learner.step_size.value), radius**2)
    assert not bool(history.info.overflow.any())
    np.testing.assert_allclose(history.y_hat, theirs.predictions, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(history.info.length, theirs.lengths, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(history.info.squared_norm, theirs.norms, rtol=1e-9, atol=1e-12)
    copies = [[len(c) for pair in pairs for _, c in (pair.psi, *pair.fresh)] for pairs in rounds]
    assert history.queries.tolist() == [sum(numbers) for numbers in copies]
    if channel is NOISY_LABELS and loss is LOSSES["absolute"]:
        assert sum(pairs[0].n >= 3 for pairs in rounds) >= 5, "products of several labels must happen"
    for other in with_other_constants(*by_hand, float(learner.step_size.value), radius**2) if all_decide else ():
        changed = reference.algorithm_1_with_means(*other[:2], rounds[:FEW], *other[2:]).predictions
        assert np.abs(changed - theirs.predictions[:FEW]).max() > 1e-6, other
    if radius != FAR:
        assert (theirs.unprojected > radius**2 * (1 + 1e-9)).any(), "projections must happen, or this shows less"


def test_a_truncated_series_warns():
    """With the Gaussian kernel |<w, Psi(x)>| is at most the radius: the series must reach that far."""
    short = GradientLength.for_loss(Exponential(), Geometric(2.0), second_moment=0.01)
    room = Storage(1, deepest=10, most_pairs=10, most_fresh=24, n_chunks=5)
    with pytest.warns(RuntimeWarning, match=r"^gradient_length\b.*1\.26"):
        NoisyKernel(MAPS["gaussian"], short, 0.02, 2.0, room)
    NoisyKernel(MAPS["gaussian"], short, 0.02, 1.2, room)
    longer = GradientLength.for_loss(Exponential(), Geometric(2.0), second_moment=0.01, reach=2.0)
    NoisyKernel(MAPS["gaussian"], longer, 0.02, 2.0, room)
