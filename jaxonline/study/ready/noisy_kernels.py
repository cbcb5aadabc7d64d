"""Algorithm 1 at work: regret and bound for every loss and two kernels, and what the law of the copies is worth.

Cesa-Bianchi, Shalev-Shwartz, Shamir, "Online learning of noisy data with kernels" (COLT 2010), Theorems 1, 2 and 4 with
the paper's law of the numbers of copies, and with better laws.
"""

import dataclasses
import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from jaxonline import bounds
from jaxonline._util import check
from jaxonline.bounds import RegretBound
from jaxonline.comparators import RKHSBall
from jaxonline.environments import DataStream
from jaxonline.estimators import (
    DotProductFeatureMap,
    GaussianFeatureMap,
    Geometric,
    GradientLength,
    best_feature_map,
    minimum_variance,
)
from jaxonline.feedback import NoisyCopies, noise
from jaxonline.game import Game
from jaxonline.kernels import ExponentialKernel, Gaussian, Kernel
from jaxonline.learners import InverseSqrt
from jaxonline.learners.noisy_kernel import NoisyKernel, Storage
from jaxonline.losses import Exponential, Loss, SmoothedAbsolute, SmoothedHinge, Squared
from jaxonline.results import Result
from jaxonline.simulation import simulate, sweep
from jaxonline.simulation.progress import Reporter

N_INSTANCES, DIMENSION = 400, 3
NOISE_VARIANCE = 0.02  # of each coordinate; |x| <= 1/2
RADIUS = 1.0
KERNELS: dict[str, Kernel] = {"exponential kernel": ExponentialKernel(), "Gaussian kernel": Gaussian(2.0)}
P = {"exponential kernel": 2.0, "Gaussian kernel": 3.0}  # good ones (see `laws`); of 1.5, 2, 3, 5
LOSSES: dict[str, Loss] = {
    "squared": Squared(),
    "smoothed absolute": SmoothedAbsolute(0.5),
    "exponential": Exponential(),
    "smoothed hinge": SmoothedHinge(0.5),
}
ETAS = (0.05, 0.15, 0.5)  # steps eta / sqrt(t) that are tried beside the theorem's
PS = (1.5, 2.0, 3.0, 5.0)
OVERHEADS = (math.inf, 0.5)
THEOREM, BEST = "the theorem's step", "the best step tried"


class Played(NamedTuple):
    """Algorithm 1 with one feature map and one loss: the theorem's step, and the best step tried.

    Attributes:
        result: of the two, in the runs in which no step was chosen.
        etas: of eta / sqrt(t), by learner.
        bound: Theorem 4 with the exact second moments.
        bounds: what it promises at each recorded round, by learner.
        queries_per_round: the expected number.

    Example:
        >>> from jaxonline.study.ready.noisy_kernels import Played
        >>> Played._fields
        ('result', 'etas', 'bound', 'bounds', 'queries_per_round')
    """

    result: Result
    etas: dict[str, float]
    bound: RegretBound
    bounds: dict[str, np.ndarray]
    queries_per_round: float


class LawRow(NamedTuple):
    """One law of the numbers of copies.

    Attributes:
        kernel: a key of `KERNELS`.
        law: "geometric" or "best".
        parameter: p, or the overhead (what an estimate costs in copies; inf where copies cost nothing).
        played: the numbers.

    Example:
        >>> from jaxonline.study.ready.noisy_kernels import LawRow
        >>> LawRow._fields
        ('kernel', 'law', 'parameter', 'played')
    """

    kernel: str
    law: str
    parameter: float
    played: Played


class NoisyKernels(NamedTuple):
    """What the study brings.

    Attributes:
        cells: by kernel (a key of `KERNELS`) and loss (of `LOSSES`), with the paper's law, p of `P`.
        laws: the squared loss with other laws.

    Example:
        >>> from jaxonline.study.ready.noisy_kernels import NoisyKernels
        >>> NoisyKernels._fields
        ('cells', 'laws')
    """

    cells: dict[tuple[str, str], Played]
    laws: list[LawRow]


def problem(kind: str, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    """Instances in a ball of radius 1/2, and targets: numbers of [-1/2, 1/2], or +1 and -1 of which 1 in 20 is wrong.

    Args:
        kind: "regression" or "classification".
        seed: of the instances.

    Raises:
        ValueError: another `kind`.

    Example:
        >>> from jaxonline.study.ready.noisy_kernels import problem
        >>> X, y = problem("classification")
        >>> X.shape, sorted(set(y.tolist()))
        ((400, 3), [-1.0, 1.0])
    """
    check.choice("kind", kind, ("regression", "classification"))
    rng = np.random.default_rng(seed)
    directions = rng.normal(size=(N_INSTANCES, DIMENSION))
    lengths = 0.5 * rng.uniform(size=N_INSTANCES) ** (1 / DIMENSION)
    X = directions * (lengths / np.linalg.norm(directions, axis=1))[:, None]
    f = np.sin(6 * X[:, 0]) + 2 * X[:, 1]
    if kind == "regression":
        return X, 0.5 * np.tanh(1.5 * f)
    wrong = rng.uniform(size=N_INSTANCES) < 0.05
    return X, np.where((f > 0) != wrong, 1.0, -1.0)


def noisy_kernels(
    n_runs: int = 72, n_rounds: int = 3000, seed: int = 0, progress: bool | Callable[[int, int, str], None] = False
) -> NoisyKernels:
    """Play the study: passes over 400 instances with Gaussian noise on every copy.

    Steps are eta / sqrt(t), the theorem's (with the anytime form of its bound) beside the best of a few, which is
    chosen in a third of the runs and reported in the others.

    Args:
        n_runs: runs of each learner, at least 4.
        n_rounds: the horizon, at least 16.
        seed: of all randomness.
        progress: as in `simulate`, by games.

    Raises:
        ValueError: too few runs or rounds.

    Example:
        >>> from jaxonline.study.ready.noisy_kernels import KERNELS, LOSSES
        >>> len(KERNELS) * len(LOSSES)
        8
    """
    check.count("n_runs", n_runs, ge=4)
    check.count("n_rounds", n_rounds, ge=16)
    copy_moment = _copy_moment(problem("regression", seed)[0])
    cases: dict[tuple[str, str, str, float], tuple[Any, Loss, Any]] = {}
    for name, kernel in KERNELS.items():
        for loss_name, loss in LOSSES.items():
            cases[name, loss_name, "geometric", P[name]] = _paper(kernel, P[name]), loss, Geometric(P[name])
        for p in PS:
            cases[name, "squared", "geometric", p] = _paper(kernel, p), LOSSES["squared"], Geometric(p)
        for overhead in OVERHEADS:
            best = best_feature_map(kernel, copy_moment, overhead=overhead)
            cases[name, "squared", "best", overhead] = best, LOSSES["squared"], minimum_variance
    played = {}
    with Reporter(progress, len(cases)) as reporter:
        for case, (feature_map, loss, length_law) in cases.items():
            played[case] = play(feature_map, loss, length_law, n_runs, n_rounds, seed)
            reporter.advance("{}, {} loss, {} law {:g}".format(*case))
    cells = {
        (name, loss_name): played[name, loss_name, "geometric", P[name]] for name in KERNELS for loss_name in LOSSES
    }
    parameters = [("geometric", p) for p in PS] + [("best", overhead) for overhead in OVERHEADS]
    laws = [LawRow(name, *each, played[(name, "squared", *each)]) for name in KERNELS for each in parameters]
    return NoisyKernels(cells, laws)


def play(
    feature_map: DotProductFeatureMap | GaussianFeatureMap, loss: Loss, length_law: Any, n_runs: int, n_rounds: int,
    seed: int = 0,
) -> Played:  # fmt: skip
    """Algorithm 1 with a feature map, a loss, and a law for the estimate of the gradient's length.

    Example:
        >>> from jaxonline.estimators import DotProductFeatureMap, Law, minimum_variance
        >>> from jaxonline.kernels import Linear
        >>> from jaxonline.losses import Squared
        >>> from jaxonline.study.ready.noisy_kernels import play
        >>> played = play(DotProductFeatureMap(Linear(), Law([0.0, 1.0])), Squared(), minimum_variance, 4, 16)
        >>> played.result.learners, played.queries_per_round
        (("the theorem's step", 'the best step tried'), 2.0)
    """
    X, y = problem(loss.kind, seed)
    copy_moment, y_bound = _copy_moment(X), float(np.abs(y).max())
    factors = bounds.factor_moment(
        RADIUS, feature_map.second_moment(copy_moment), y_bound if loss.kind == "regression" else 0.0
    )
    length = GradientLength.of(loss, length_law, factors)
    bound = bounds.noisy_kernel(feature_map, length, RADIUS, copy_moment, n_rounds, y_bound)
    own = math.sqrt(2 / bound.G) * RADIUS  # minimises the anytime form of the bound
    storage = Storage.of(feature_map, length, DIMENSION, n_rounds)
    etas = {THEOREM: own} | {f"{eta:g}": eta * RADIUS for eta in ETAS}
    learners = {name: NoisyKernel(feature_map, length, InverseSqrt(eta), RADIUS, storage) for name, eta in etas.items()}
    game = Game(DataStream(X, y), NoisyCopies(noise.gaussian(NOISE_VARIANCE)), loss=loss)
    found = simulate(
        game, {"": sweep(learners)}, n_runs=n_runs, n_rounds=n_rounds, key=seed, record_at=16,
        comparator=RKHSBall(feature_map.kernel, RADIUS, loss),
    )  # fmt: skip
    choosing, reporting = slice(None, n_runs // 3), slice(n_runs // 3, None)
    best = list(etas)[int(np.argmin(found.select(runs=choosing).mean().mean[:, -1]))]
    result = found.select(f"[{THEOREM}]", f"[{best}]", runs=reporting)
    result = dataclasses.replace(result, learners=(THEOREM, BEST))
    chosen = {THEOREM: own, BEST: etas[best]}
    promised = {name: bound.inverse_sqrt_step(eta, result.rounds) for name, eta in chosen.items()}
    queries = feature_map.expected_queries() * (1.0 + length.series.law.mean())
    return Played(result, chosen, bound, promised, queries)


def _paper(kernel: Kernel, p: float) -> DotProductFeatureMap | GaussianFeatureMap:
    if isinstance(kernel, Gaussian):
        return GaussianFeatureMap(kernel, Geometric(p))
    return DotProductFeatureMap(kernel, Geometric(p))


def _copy_moment(X: np.ndarray) -> float:
    """A bound on E|x~|^2 in every round."""
    return bounds.moment_bounds(X, np.zeros(len(X)), noise.gaussian(NOISE_VARIANCE)).x_second ** 2
