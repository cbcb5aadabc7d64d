"""The problems and the learners of the study of kernel learners under Gaussian noise."""

import math
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxonline import bounds, datasets
from jaxonline.claims.printed_bounds import printed_surrogate_radius
from jaxonline.comparators import positive_negative_angle, rkhs_norm
from jaxonline.comparators.rkhs import gram_matrix
from jaxonline.estimators import (
    FourierFeatures,
    FullGradient,
    GaussianFeatureMap,
    GradientLength,
    Law,
    MeanOfCopies,
    NaiveCopy,
    Surrogate,
    TwoCopies,
    best_feature_map,
    minimum_variance,
)
from jaxonline.kernels import Gaussian
from jaxonline.learners import GradientLearner, KernelGradient, NoisyKernel, Storage, SurrogateKernel, WithFeatures
from jaxonline.losses import Squared

NOISES = (0.0, 0.1, 0.2, 0.3, 0.45, 0.6)  # per coordinate; Algorithm 2 needs less than width / sqrt(2) = 0.707
WIDTH, DISC, RADIUS, LABEL_NOISE = 1.0, 0.5, 2.0, 0.1
SET_NOISES = (0.25, 0.5)  # in standard deviations of a column
SET_WIDTH, SET_RADIUS = 2.0, 3.0
PASSES = 5  # over the rows, for the learner that needs them
N_FREQUENCIES = 100

CLEAN, ALGORITHM_1, ALGORITHM_2 = "clean instances", "Algorithm 1", "Algorithm 2"
NAIVE = "one copy"
MEANS = {f"mean of {n} copies": n for n in (2, 5, 20)}
FOURIER = {  # under noise the mean features are shrunken, each by exp(-|omega|^2 sigma^2 / 2)
    "Fourier, 1 copy": NaiveCopy(),
    "Fourier, 2 copies": TwoCopies(),
    "Fourier, mean of 5": MeanOfCopies(5),
}
NOISY = (ALGORITHM_2, ALGORITHM_1, NAIVE, *MEANS, *FOURIER)


class Problem(NamedTuple):
    """What is to be learned.

    Attributes:
        name: of the data.
        X: instances [n, d], one a round, in every run and pass the same.
        y: targets [n].
        kernel: of the learners and of the comparator.
        radius: of the comparator's ball.
        noises: the standard deviations of each coordinate of a copy with which it is played.
        points: x_i of the target sum a_i k(x_i, .), or None where it is not known.
        coefficients: a_i, or None.
        passes: over the rows for which there is room, for learners that do not store a point a round.

    Example:
        >>> from jaxonline.study.ready.gaussian_noise_learners import disc
        >>> problem = disc(n_rounds=50)
        >>> problem.X.shape, problem.coefficients.round(2).tolist()
        ((50, 2), [1.78, -1.78])
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    kernel: Gaussian
    radius: float
    noises: tuple[float, ...]
    points: np.ndarray | None = None
    coefficients: np.ndarray | None = None
    passes: int = 1


def disc(n_rounds: int, seed: int = 0) -> Problem:
    """Instances uniform on a disc, y = a k(c, x) - a k(-c, x) + noise, with a target of the norm `RADIUS`.

    Example:
        >>> from jaxonline.comparators import rkhs_norm
        >>> from jaxonline.study.ready.gaussian_noise_learners import disc
        >>> problem = disc(n_rounds=50)
        >>> round(rkhs_norm(problem.kernel, problem.points, problem.coefficients), 9)
        2.0
    """
    generator = np.random.default_rng(seed)
    distance = DISC * np.sqrt(generator.uniform(size=n_rounds))
    angle = generator.uniform(0.0, 2.0 * math.pi, n_rounds)
    X = np.stack([distance * np.cos(angle), distance * np.sin(angle)], axis=1)
    kernel, points, a = Gaussian(WIDTH), DISC * np.array([[1.0, 0.0], [-1.0, 0.0]]), np.array([1.0, -1.0])
    a *= RADIUS / rkhs_norm(kernel, points, a)
    y = gram_matrix(kernel, X, points) @ a + LABEL_NOISE * generator.standard_normal(n_rounds)
    return Problem("disc", X, y, kernel, RADIUS, NOISES, points, a, PASSES)


def real_set(name: str, data: str | Path | None = None, seed: int = 0) -> Problem:
    """A real set, in a random order: columns standardised and divided by sqrt(d), targets standardised.

    Raises:
        ValueError: `data` does not exist.
        OSError: the set is not there and cannot be fetched.

    Example:
        >>> import pathlib, tempfile
        >>> import numpy as np
        >>> from jaxonline.study.ready.gaussian_noise_learners import real_set
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     np.savez(pathlib.Path(folder) / "airfoil.npz", X=np.arange(8.0).reshape(4, 2), y=np.arange(4.0))
        ...     problem = real_set("Airfoil", folder)
        >>> round(float((problem.X**2).sum(axis=1).mean()), 9)
        1.0
    """
    _, X, y = datasets.load(name, data)
    order = np.random.default_rng(seed).permutation(len(y))
    X, y = X[order], y[order]
    X = (X - X.mean(axis=0)) / X.std(axis=0) / math.sqrt(X.shape[1])
    noises = tuple(each / math.sqrt(X.shape[1]) for each in SET_NOISES)
    return Problem(name, X, (y - y.mean()) / y.std(), Gaussian(SET_WIDTH), SET_RADIUS, noises)


def geometry(problem: Problem, noise_std: float) -> dict[str, float]:
    """The target in the RKHS of the surrogate kernel: what Theorem 3 of paper B depends on.

    Returns:
        `angle` beta in radians, `constant` R, the target's norm `W` there, which is the radius of Algorithm 2, and
        what the theorem takes for it, from the angle alone: `W_sharp` (Lemmas 5, 6 and 9) and `W_printed`.

    Example:
        >>> from jaxonline.study.ready.gaussian_noise_learners import disc, geometry
        >>> {name: round(value, 3) for name, value in geometry(disc(10), 0.3).items()}
        {'noise': 0.3, 'angle': 1.194, 'constant': 1.104, 'W': 2.332, 'W_sharp': 2.778, 'W_printed': 5.311}
    """
    R, W = float(_surrogate(problem, noise_std).constant()), _surrogate_ball(problem, noise_std)
    angle = positive_negative_angle(problem.kernel, *_target(problem))
    by_angle = {
        "W_sharp": bounds.surrogate_radius(problem.radius, R, angle),
        "W_printed": printed_surrogate_radius(problem.radius, R, angle),
    }
    return {"noise": noise_std, "angle": angle, "constant": R, "W": W} | by_angle


def makers(problem: Problem, noise_std: float) -> dict[str, Callable[[Any], Any]]:
    """A function of the step size for every learner: `CLEAN` and those of `NOISY`.

    There is room for one pass over the rows where a learner stores a point a round, in Algorithm 1 for
    `problem.passes`.

    Raises:
        ValueError: noise for which there is no surrogate kernel.

    Example:
        >>> from jaxonline.study.ready.gaussian_noise_learners import disc, makers
        >>> make = makers(disc(10), 0.3)
        >>> make["Algorithm 2"](0.1).n_rounds, make["mean of 5 copies"](0.1).estimator.n_copies
        (10, 5)
    """
    kernel, radius, d = problem.kernel, problem.radius, problem.X.shape[1]
    surrogate, ball = _surrogate(problem, noise_std), _surrogate_ball(problem, noise_std)
    n_points = len(problem.y)
    storage = Storage.of(*_estimators(problem, max(problem.noises)), d, problem.passes * n_points)
    estimates = _estimators(problem, noise_std)
    features = FourierFeatures.draw(jax.random.key(0), kernel, d, N_FREQUENCIES)

    def points(estimator: Any) -> Callable[[Any], Any]:
        return lambda step: KernelGradient(kernel, estimator, step, n_points, radius)

    def fourier(estimator: Any) -> Callable[[Any], Any]:
        return lambda step: WithFeatures(GradientLearner(estimator, step, radius), features)

    return {
        CLEAN: points(FullGradient()),
        ALGORITHM_2: lambda step: SurrogateKernel(surrogate, step, n_points, ball),
        ALGORITHM_1: lambda step: NoisyKernel(*estimates, step, radius, storage),
        NAIVE: points(NaiveCopy()),
        **{name: points(MeanOfCopies(n)) for name, n in MEANS.items()},
        **{name: fourier(estimator) for name, estimator in FOURIER.items()},
    }


def theorems(problem: Problem, noise_std: float, n_rounds: int) -> dict[str, bounds.RegretBound]:
    """What is promised against the target: Theorem 3 of paper B, Theorem 4 of paper A with the exact moments.

    Example:
        >>> from jaxonline.study.ready.gaussian_noise_learners import disc, theorems
        >>> {name: round(bound.radius, 2) for name, bound in theorems(disc(10), 0.3, 10).items()}
        {'Algorithm 2': 2.33, 'Algorithm 1': 2.0}
    """
    y_bound, R = float(np.abs(problem.y).max()), float(_surrogate(problem, noise_std).constant())
    moments, pairs = (float(each.max()) for each in _copy_moments(problem, noise_std))
    estimators = _estimators(problem, noise_std)
    return {
        ALGORITHM_2: bounds.surrogate_kernel(_surrogate_ball(problem, noise_std), R, y_bound, n_rounds),
        ALGORITHM_1: bounds.noisy_kernel(*estimators, problem.radius, moments, n_rounds, y_bound, pairs),
    }


def target_losses(problem: Problem, rounds: np.ndarray) -> np.ndarray:
    """The target's cumulative loss after each of `rounds`, over as many passes as they need.

    Example:
        >>> import numpy as np
        >>> from jaxonline.study.ready.gaussian_noise_learners import disc, target_losses
        >>> once, twice = target_losses(disc(100), np.array([100, 200]))
        >>> bool(0.5 < once < 1.5), bool(abs(twice - 2 * once) < 1e-9)  # 100 times the variance of the labels' noise
        (True, True)
    """
    points, coefficients = _target(problem)
    errors = gram_matrix(problem.kernel, problem.X, points) @ coefficients - problem.y
    losses, n = np.concatenate([[0.0], np.cumsum(errors**2)]), len(errors)
    return np.array([losses[n] * (t // n) + losses[t % n] for t in rounds.tolist()])


def _target(problem: Problem) -> tuple[np.ndarray, np.ndarray]:
    assert problem.points is not None
    assert problem.coefficients is not None
    return problem.points, problem.coefficients


def _surrogate(problem: Problem, noise_std: float) -> Surrogate:
    return Surrogate(problem.kernel, noise_std**2, dimension=problem.X.shape[1])


def _surrogate_ball(problem: Problem, noise_std: float) -> float:
    """W: the target's norm; where there is no target, that of one whose coefficients are of one sign, at most."""
    surrogate = _surrogate(problem, noise_std)
    if problem.points is None:
        return problem.radius * float(surrogate.constant())
    return rkhs_norm(surrogate, *_target(problem))


def _copy_moments(problem: Problem, noise_std: float) -> tuple[np.ndarray, np.ndarray]:
    """E|x~|^2 and E<x~, x~'>^2 of every row [n]."""
    squares, d = (problem.X**2).sum(axis=1), problem.X.shape[1]
    return squares + d * noise_std**2, squares**2 + 2 * squares * noise_std**2 + d * noise_std**4


def _estimators(problem: Problem, noise_std: float) -> tuple[GaussianFeatureMap, GradientLength]:
    """Of Algorithm 1: the best laws for the mean moments, padded so that all noises make one program."""
    moments, pairs = (float(each.mean()) for each in _copy_moments(problem, noise_std))
    best = best_feature_map(problem.kernel, moments, pairs)
    assert isinstance(best, GaussianFeatureMap)
    laws = [np.asarray(law.probabilities) for law in (best.law, best.pair_law) if isinstance(law, Law)]
    padded = GaussianFeatureMap(problem.kernel, *(Law(np.pad(law, (0, max(64 - len(law), 0)))) for law in laws))
    factors = bounds.factor_moment(problem.radius, padded.second_moment(moments, pairs), np.abs(problem.y).max())
    return padded, GradientLength.of(Squared(), minimum_variance, factors)
