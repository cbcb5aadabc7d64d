"""The first study: linear prediction from noisy medical measurements, five learners side by side."""

from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from jaxonline import bounds, estimators
from jaxonline.bounds import RegretBound
from jaxonline.claims import PrintedKnownCovariance
from jaxonline.comparators import L2Ball
from jaxonline.datasets import diabetes
from jaxonline.environments import DataStream
from jaxonline.feedback import FullInformation, NoisyCopies, noise
from jaxonline.game import Entrant, Game
from jaxonline.learners import GradientLearner, InverseSqrt
from jaxonline.results import Result
from jaxonline.simulation import simulate
from jaxonline.study.files import write_csv

RADIUS = 1.5  # of the ball of predictors
NOISE_VARIANCE = 0.04  # of each measurement, twice the mean square of a measurement after scaling
ETA = 0.5  # steps eta / sqrt(t), the same for all learners


class Quickstart(NamedTuple):
    """What the study brings: the numbers, and the bounds of the learners that have one.

    Attributes:
        result: the numbers.
        bounds: what the theorem promises at each recorded round [G], by learner.

    Example:
        >>> from jaxonline.study.ready.quickstart import Quickstart
        >>> Quickstart._fields
        ('result', 'bounds')
    """

    result: Result
    bounds: dict[str, np.ndarray]


def quickstart(
    n_runs: int = 1000, passes: int = 10, seed: int = 0, progress: bool | Callable[[int, int, str], None] = False
) -> Quickstart:
    """Play the study: scikit-learn's diabetes data, Gaussian noise on every measurement, shuffled passes.

    Instances are scaled to unit variance per column and then to |x| <= 1, targets to mean zero and |y| <= 1. Bounds
    are paper B's Theorems 1 and 2, corrected (errata E10 and E11), for steps eta / sqrt(t).

    Args:
        n_runs: runs of each learner.
        passes: over the 442 patients.
        seed: of all randomness.
        progress: as in `simulate`.

    Example:
        >>> from jaxonline.study.ready.quickstart import quickstart
        >>> result, bounds = quickstart(n_runs=8, passes=1)
        >>> list(bounds)
        ['full information', 'two noisy copies', 'known covariance']
    """
    X, y = diabetes()
    X = X / X.std(axis=0)
    X = X / np.linalg.norm(X, axis=1).max()
    y = y - y.mean()
    y = y / np.abs(y).max()
    n_rounds = passes * len(y)
    law = noise.gaussian(NOISE_VARIANCE)
    game = Game(DataStream(X, y, order="shuffled"), NoisyCopies(law, reveal_covariance=True))

    def learner(estimator: Any) -> GradientLearner:
        return GradientLearner(estimator, step_size=InverseSqrt(ETA), radius=RADIUS)

    learners = {
        "full information": Entrant(learner(estimators.FullGradient()), FullInformation()),
        "two noisy copies": learner(estimators.TwoCopies()),
        "known covariance": learner(estimators.KnownCovariance()),
        "known covariance, as printed": learner(PrintedKnownCovariance()),
        "one noisy copy, naive": learner(estimators.NaiveCopy()),
    }
    result = simulate(
        game, learners, n_runs=n_runs, n_rounds=n_rounds, key=seed, comparator=L2Ball(RADIUS), progress=progress
    )
    clean, noisy = bounds.moment_bounds(X, y), bounds.moment_bounds(X, y, law)
    theorems: dict[str, RegretBound] = {
        "full information": bounds.full_information(RADIUS, clean.x_second, clean.y_second, n_rounds),
        "two noisy copies": bounds.two_copies(RADIUS, noisy.x_second, noisy.y_second, n_rounds),
        "known covariance": bounds.known_covariance(
            RADIUS, noisy.x_fourth, noisy.y_second, noisy.covariance_norm, n_rounds
        ),
    }
    return Quickstart(result, {name: bound.inverse_sqrt_step(ETA, result.rounds) for name, bound in theorems.items()})


def write(study: Quickstart, folder: Path) -> list[Path]:
    """Write table.csv, figure.png and result.zarr; returns their paths.

    Example:
        >>> import tempfile, pathlib
        >>> from jaxonline.study.ready.quickstart import quickstart, write
        >>> study = quickstart(n_runs=8, passes=1)
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     [path.name for path in write(study, pathlib.Path(folder))]
        ['table.csv', 'figure.png', 'result.zarr']
    """
    folder.mkdir(parents=True, exist_ok=True)
    rows = study.result.table({name: bound[-1] for name, bound in study.bounds.items()})
    table, figure = write_csv(folder / "table.csv", rows), folder / "figure.png"
    study.result.plot(
        figure, bounds=study.bounds,
        title="Linear prediction when every measurement is noisy (diabetes data, regret on the clean data)",
    )  # fmt: skip
    return [table, figure, study.result.save(folder / "result.zarr")]
