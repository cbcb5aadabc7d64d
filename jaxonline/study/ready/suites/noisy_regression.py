"""Benchmark of gradient estimators: linear regression from noisy measurements on eight real data sets."""

import warnings
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from jaxonline import estimators
from jaxonline.comparators import L2Ball
from jaxonline.datasets import canonical_name, diabetes, load
from jaxonline.datasets.fetch import fetch_by_name
from jaxonline.datasets.loading import data_files, search_paths
from jaxonline.datasets.tables import select_columns, text_cells, to_arrays
from jaxonline.environments import DataStream
from jaxonline.feedback import FullInformation, NoisyCopies, noise
from jaxonline.game import Entrant, Game
from jaxonline.learners import GradientLearner, InverseSqrt
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.tuned import Tuned
from jaxonline.study import Context, Task
from jaxonline.study.files.data import scaled_data
from jaxonline.study.ready.suites.suite import Entries, Suite
from jaxonline.study.study import Names, load_set, select_by_name
from jaxonline.study.tuning import best_step

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
ETAS = (0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4)


class NoisyRegression(Suite):
    """Benchmark of linear regression from noisy measurements on eight real data sets.

    Diabetes and breast cancer come with scikit-learn; Airfoil, Concrete and Bias correction come from the UCI
    repository; cpu_act, wine_quality and houses come from OpenML.

    Data are searched in the folders `data` and in the folder that JAXONLINE_DATA names. Data that are not found are
    fetched once. Unavailable sets are left out and named below the table; a set requested by name raises an error
    instead. Columns are standardised, instances are scaled to |x| <= 1, and targets are scaled to mean 0 and |y| <= 1.
    The noise on an instance has the same mean square in all sets, spread evenly over the instance's measurements. Each
    learner uses its best step for each set, which successive halving chooses in other runs.
    """

    title: ClassVar[str] = "Linear regression from noisy measurements on eight real data sets, five learners ranked."
    reference: ClassVar[str] = "one noisy copy, naive"
    sets: Names = Field((), description="Data sets, named as in the table; by default all that are available.")
    data: Names = Field((), description="Folders and files to search for data; nothing is fetched then.")
    noise: float = Field(0.4, gt=0, description="Mean square of the noise on an instance.")
    radius: float = Field(1.5, gt=0, description="Radius of the ball of predictors.")
    eta: float | None = Field(
        None, gt=0, description="Step eta / sqrt(t) of all learners; by default chosen by learner and set."
    )

    def entries(self) -> Entries:
        games, missing = {}, []
        for name in select_by_name("sets", self.sets, SETS):
            try:
                games[name] = self._task(*real_set(name, self.data))
            except (OSError, ValueError) as error:
                if self.sets:
                    kind = OSError if isinstance(error, OSError) else ValueError
                    raise kind(f"sets: {name}: {error}") from error
                reason = "it cannot be fetched" if isinstance(error, OSError) else str(error)
                missing.append(f"Left out: {name}, {SETS[name]}: {reason}.")
        step = InverseSqrt(self.eta or ETAS[0])
        learners = {name: make(step) for name, make in self._makers().items()}
        return Entries(games, learners, [f"{len(games)} of {len(SETS)} sets are available.", *missing])

    def tune(self, entries: Entries, context: Context) -> Entries:
        """Choose a step for each learner in each set."""
        if self.eta is not None:
            return entries
        games, makers = entries.games, self._makers()
        tuned: dict[str, dict[str, Tuned]] = {name: {} for name in entries.learners}
        with context.parts(len(games) * len(tuned)) as part:
            for game, task in games.items():
                for name, by_game in tuned.items():
                    step_context = part(f"steps of {name} in {game}")
                    by_game[game] = best_step(task.game, makers[name], ETAS, step_context, self.runs, self.rounds)

        def maker(name: str) -> Callable[[Task], Any]:
            return lambda task: next(tuned[name][game].learner for game in games if games[game].game is task.game)

        candidates = ", ".join(f"{eta:g}" for eta in ETAS)
        steps = f"Steps are eta / sqrt(t); eta is one of {candidates}, chosen in other runs:"
        chosen_etas = [f"{name}: {_format_etas(by_game)}." for name, by_game in tuned.items()]
        return Entries(games, {name: maker(name) for name in tuned}, [*entries.sentences, steps, *chosen_etas])

    def _task(self, X: np.ndarray, y: np.ndarray) -> Task:
        X, y = scaled_data(X - X.mean(axis=0), y, targets=True)
        copies = NoisyCopies(noise.gaussian(self.noise / X.shape[1]), reveal_covariance=True)
        return Task(Game(DataStream(X, y, order="shuffled"), copies), L2Ball(self.radius))

    def _makers(self) -> dict[str, Callable[[Any], Any]]:
        noisy = {
            "two noisy copies": estimators.TwoCopies(), "known covariance": estimators.KnownCovariance(),
            "mean of four copies": estimators.MeanOfCopies(4), "one noisy copy, naive": estimators.NaiveCopy(),
        }  # fmt: skip

        def descent(estimator: Any) -> Callable[[Any], GradientLearner]:
            return lambda step: GradientLearner(estimator, step, self.radius)

        full = descent(estimators.FullGradient())
        return {
            "full information": lambda step: Entrant(full(step), FullInformation()),
            **{name: descent(estimator) for name, estimator in noisy.items()},
        }


def _format_etas(tuned: Mapping[str, Tuned]) -> str:
    def format_eta(search: Tuned) -> str:
        eta = search.choice["eta"]
        edge = f", the {'smallest' if eta == ETAS[0] else 'largest'}" if search.at_edge else ""
        return f"{eta:g}{edge}"

    return "; ".join(f"{format_eta(search)} in {game}" for game, search in tuned.items())


def real_set(name: str, data: Sequence[str] = ()) -> tuple[np.ndarray, np.ndarray]:
    """Load X and y of a set of `SETS`.

    Raises:
        OSError: the set is in none of the folders and cannot be fetched.
        ValueError: folders are given that do not contain the set, or the set cannot be read.
    """
    if name == "diabetes":
        return diabetes()
    if name == "breast cancer":
        from sklearn.datasets import load_breast_cancer

        X, y = load_breast_cancer(return_X_y=True)
        return np.asarray(X, float), np.asarray(y, float)
    if canonical_name(name):
        return load_set(name, data)[1:]
    if any(file.stem == name for path in search_paths(data) for file in data_files(path)):
        return load(name, data)[1:]
    if data:
        raise ArgumentError("data", f"must hold {name} (got {', '.join(map(str, data))}); without data it is fetched")
    with warnings.catch_warnings():  # scikit-learn also warns where there is no cache
        warnings.filterwarnings("ignore", "Invalid cache", RuntimeWarning)
        frame, target = fetch_by_name(name, version=1)
    return to_arrays(Path(name), select_columns(Path(name), text_cells(frame), target, ()))
