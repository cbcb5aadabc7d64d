"""Linear regression from noisy measurements on eight real data sets: what each estimator of the gradient is worth."""

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
    """Diabetes and breast cancer, which come with scikit-learn; Airfoil, Concrete and Bias correction of the UCI
    repository; cpu_act, wine_quality and houses of OpenML.

    What does not come with scikit-learn is looked for in the folders `data` and in that which JAXONLINE_DATA names, and
    else fetched once. Sets that cannot be had are left out, and named below the table; one that is asked for by name is
    an error then. Columns are centred and divided by their deviations, instances scaled to |x| <= 1, targets to mean 0
    and |y| <= 1. The noise has the same mean square in all sets, spread evenly over the measurements of an instance.
    Each learner has in each set the step that is best there in other runs, by successive halving.
    """

    title: ClassVar[str] = "Linear regression from noisy measurements on eight real data sets, five learners ranked."
    sets: Names = Field((), description="Sets to play, named as in the table; by default all that can be had.")
    data: Names = Field((), description="Folders and files in which to look for data; then nothing is fetched.")
    noise: float = Field(0.4, gt=0, description="Mean square of the noise on an instance.")
    radius: float = Field(1.5, gt=0, description="Radius of the ball of predictors.")
    eta: float | None = Field(
        None, gt=0, description="Steps are eta / sqrt(t) for all learners; by default each has its own in each set."
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
                missing.append(f"Left out: {name}, {SETS[name]}: {str(error).partition(' (')[0]}.")
        step = InverseSqrt(self.eta or ETAS[0])
        learners = {name: make(step) for name, make in self._makers().items()}
        return Entries(games, learners, [f"{len(games)} of {len(SETS)} sets were played.", *missing])

    def tuned(self, entries: Entries, context: Context) -> Entries:
        """With its own step for each learner in each set."""
        if self.eta is not None:
            return entries
        games, makers = entries.games, self._makers()
        found: dict[str, dict[str, Tuned]] = {name: {} for name in entries.learners}
        with context.parts(len(games) * len(found)) as part:
            for game, task in games.items():
                for name, of_game in found.items():
                    own = part(f"steps of {name} in {game}")
                    of_game[game] = best_step(task.game, makers[name], ETAS, own, self.runs, self.rounds)

        def made(name: str) -> Callable[[Task], Any]:
            return lambda task: next(found[name][game].learner for game in games if games[game].game is task.game)

        steps = (
            f"Steps are eta / sqrt(t), and eta one of {', '.join(f'{eta:g}' for eta in ETAS)}, chosen in other runs:"
        )
        chosen_etas = [f"{name}: {_etas(of_game)}." for name, of_game in found.items()]
        return Entries(games, {name: made(name) for name in found}, [*entries.sentences, steps, *chosen_etas])

    def _task(self, X: np.ndarray, y: np.ndarray) -> Task:
        X, y = scaled_data(X - X.mean(axis=0), y, targets=True)
        copies = NoisyCopies(noise.gaussian(self.noise / X.shape[1]), reveal_covariance=True)
        return Task(Game(DataStream(X, y, order="shuffled"), copies), L2Ball(self.radius))

    def _makers(self) -> dict[str, Callable[[Any], Any]]:
        """The learners, as functions of their steps."""
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


def _etas(found: Mapping[str, Tuned]) -> str:
    """What was chosen in each set."""

    def said(tuned: Tuned) -> str:
        eta = tuned.choice["eta"]
        end = f", the {'smallest' if eta == ETAS[0] else 'largest'}" if tuned.at_edge else ""
        return f"{eta:g}{end}"

    return "; ".join(f"{said(tuned)} in {game}" for game, tuned in found.items())


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
    if canonical_name(name):
        return load_set(name, data)[1:]
    if any(file.stem == name for place in search_paths(data) for file in data_files(place)):
        return load(name, data)[1:]
    if data:
        raise ArgumentError("data", f"must hold {name} (got {', '.join(map(str, data))}); without data it is fetched")
    with warnings.catch_warnings():  # of scikit-learn, also where there was nothing to be invalid
        warnings.filterwarnings("ignore", "Invalid cache", RuntimeWarning)
        frame, target = fetch_by_name(name, version=1)
    return to_arrays(Path(name), select_columns(Path(name), text_cells(frame), target, ()))
