"""Linear regression from noisy measurements on eight real data sets: what each estimator of the gradient is worth."""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from jaxonline import estimators
from jaxonline.comparators import L2Ball
from jaxonline.datasets import diabetes, known_as, load
from jaxonline.datasets.fetch import fetch_by_name
from jaxonline.datasets.loading import files_in, places_of
from jaxonline.datasets.tables import cells_of, chosen_columns, complete
from jaxonline.environments import DataStream
from jaxonline.feedback import FullInformation, NoisyCopies, noise
from jaxonline.game import Entrant, Game
from jaxonline.learners import GradientLearner, InverseSqrt
from jaxonline.study import Task
from jaxonline.study.files.data import scaled_data
from jaxonline.study.ready.suites.suite import Entries, Suite
from jaxonline.study.study import Names, chosen, load_set

SETS = {
    "diabetes": "comes with scikit-learn",
    "breast cancer": "comes with scikit-learn",
    "Airfoil": "of the UCI repository",
    "Concrete": "of the UCI repository",
    "Bias correction": "of the UCI repository",
    "cpu_act": "of OpenML",
    "wine_quality": "of OpenML",
    "houses": "of OpenML",
}


class NoisyRegression(Suite):
    """Diabetes and breast cancer, which come with scikit-learn; Airfoil, Concrete and Bias correction of the UCI
    repository; cpu_act, wine_quality and houses of OpenML.

    What does not come with scikit-learn is looked for in the folders `data` and in that which JAXONLINE_DATA names, and
    else fetched once. Sets that cannot be had are left out, and named below the table; one that is asked for by name is
    an error then. Columns are centred and divided by their deviations, instances scaled to |x| <= 1, targets to mean 0
    and |y| <= 1. The noise has the same mean square in all sets, spread evenly over the measurements of an instance.
    """

    title: ClassVar[str] = "Linear regression from noisy measurements on eight real data sets, five learners ranked."
    sets: Names = Field((), description="Sets to play, named as in the table; by default all that can be had.")
    data: Names = Field((), description="Folders and files in which to look for data; then nothing is fetched.")
    noise: float = Field(0.4, gt=0, description="Mean square of the noise on an instance.")
    radius: float = Field(1.5, gt=0, description="Radius of the ball of predictors.")
    eta: float = Field(0.5, gt=0, description="Steps are eta / sqrt(t), the same for all learners.")

    def entries(self) -> Entries:
        games, missing = {}, []
        for name in chosen("sets", self.sets, SETS):
            try:
                games[name] = self._task(*real_set(name, self.data))
            except (OSError, ValueError) as error:
                if self.sets:
                    raise type(error)(f"sets: {name}: {error}") from error
                missing.append(f"Left out: {name}, {SETS[name]}: {str(error).partition(' (')[0]}.")
        return Entries(games, self._learners(), [f"{len(games)} of {len(SETS)} sets were played.", *missing])

    def _task(self, X: np.ndarray, y: np.ndarray) -> Task:
        X, y = scaled_data(X - X.mean(axis=0), y, targets=True)
        copies = NoisyCopies(noise.gaussian(self.noise / X.shape[1]), reveal_covariance=True)
        return Task(Game(DataStream(X, y, order="shuffled"), copies), L2Ball(self.radius))

    def _learners(self) -> dict[str, Any]:
        step, radius = InverseSqrt(self.eta), self.radius
        descent = {
            "two noisy copies": estimators.TwoCopies(), "known covariance": estimators.KnownCovariance(),
            "mean of four copies": estimators.MeanOfCopies(4), "one noisy copy, naive": estimators.NaiveCopy(),
        }  # fmt: skip
        full = GradientLearner(estimators.FullGradient(), step, radius)
        noisy = {name: GradientLearner(each, step, radius) for name, each in descent.items()}
        return {"full information": Entrant(full, FullInformation()), **noisy}


def real_set(name: str, data: Sequence[str] = ()) -> tuple[np.ndarray, np.ndarray]:
    """X and y of one of `SETS`.

    Raises:
        OSError: it is in none of the folders, and cannot be fetched.
        ValueError: folders are given, and it is in none of them; it cannot be read.
    """
    if name == "diabetes":
        return diabetes()
    if name == "breast cancer":
        from sklearn.datasets import load_breast_cancer

        X, y = load_breast_cancer(return_X_y=True)
        return np.asarray(X, float), np.asarray(y, float)
    if known_as(name):
        return load_set(name, data)[1:]
    if any(file.stem == name for place in places_of(data) for file in files_in(place)):
        return load(name, data)[1:]
    if data:
        raise ValueError(f"data must hold {name}, got {', '.join(map(str, data))}; without data it is fetched")
    with warnings.catch_warnings():  # of scikit-learn, also where there was nothing to be invalid
        warnings.filterwarnings("ignore", "Invalid cache", RuntimeWarning)
        frame, target = fetch_by_name(name, version=1)
    return complete(Path(name), chosen_columns(Path(name), cells_of(frame), target, ()))
