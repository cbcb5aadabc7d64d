"""Benchmark suites, the same learners in many games: `python -m benchmarks.suites noisy-regression | textbook-bandits`.

Each suite prints and writes ranks, means and curves.
"""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar, NamedTuple

import numpy as np
import typer
from pydantic import Field

import jaxonline as jo
from benchmarks.papers.commands import StudyCommands
from benchmarks.papers.study import Names, Study, load_set, select_by_name
from jaxonline import estimators
from jaxonline.cli import main
from jaxonline.datasets import canonical_name, diabetes, load
from jaxonline.datasets.loading import data_files, scaled_data, search_paths
from jaxonline.datasets.tables import select_columns, text_cells, to_arrays
from jaxonline.parameters.errors import ArgumentError, SettingsWarning
from jaxonline.results import Standings
from jaxonline.results.report.tables import Table
from jaxonline.results.tuned import Tuned
from jaxonline.study import Context, Report, Task


class Entries(NamedTuple):
    """The games and learners of a suite, and sentences on both for the report."""

    games: Mapping[str, Task]
    learners: Mapping[str, Any]
    sentences: Sequence[str]


class Suite(Study):
    """Base class of benchmark suites: a suite defines `entries`, and inherits runs, rounds and the report."""

    title: ClassVar[str] = ""
    reference: ClassVar[str] = ""  # the learner whose mean loss normalises the losses of each game
    runs: int = Field(100, ge=2, le=1_000_000, description="Runs of each learner in each game.")
    rounds: int = Field(2000, ge=2, le=100_000_000, description="The horizon of every game.")
    only: Names = Field((), description="Learners, named as in the table; by default all.")

    @abstractmethod
    def entries(self) -> Entries:
        """Return the games, the learners, and sentences for the report."""

    def tune(self, entries: Entries, context: Context) -> Entries:
        """Return the games and learners after tuning the learners; by default, they are returned unchanged."""
        return entries

    def run(self, context: Context) -> Report:
        entries = self.entries()
        entries = entries._replace(learners=select_by_name("only", self.only, entries.learners))
        games, learners, sentences = self.tune(entries, context)
        standings = jo.benchmark(
            games, learners, n_runs=self.runs, n_rounds=self.rounds, key=context.seed, progress=context.progress,
            checkpoint=context.checkpoint, cluster=context.cluster,
        )  # fmt: skip
        tables, problems = self._across_games(standings)
        return Report(
            {"ranks": standings.table, "means": standings.means, **tables},
            {"figure": standings.plot},
            [*sentences, *problems],
            standings.results,
            shown=[standings.table, *tables.values(), standings.means],
        )

    def _across_games(self, standings: Standings) -> tuple[dict[str, Table], list[str]]:
        """Return tables of the results across games; a sentence says why there are none."""
        if self.reference not in standings.learners or min(len(standings.learners), len(standings.games)) < 2:
            return {}, []
        try:
            across = standings.across_games(self.reference)
        except ArgumentError as error:  # few runs, or failed runs of the reference
            return {}, [f"No results across games: {error}."]
        return {"across_games": across.table, "improvements": across.improvements(self.reference)}, []


# Printed probabilities of a reward of 1: Auer, Cesa-Bianchi and Fischer (2002), distributions 1, 2, 3, 11, 12, 13, 14;
# Garivier and Cappe (2011), scenario of low rewards; Chapelle and Li (2011), ten arms with the gap 0.02.
ARMS: dict[str, tuple[float, ...]] = {
    "Auer 1": (0.9, 0.6),
    "Auer 2": (0.9, 0.8),
    "Auer 3": (0.55, 0.45),
    "Auer 11": (0.9, *[0.6] * 9),
    "Auer 12": (0.9, *[0.8] * 3, *[0.7] * 3, *[0.6] * 3),
    "Auer 13": (0.9, *[0.8] * 9),
    "Auer 14": (0.55, *[0.45] * 9),
    "Garivier, low": (0.1, *[0.05] * 3, *[0.02] * 3, *[0.01] * 3),
    "Chapelle, 10": (0.5, *[0.48] * 9),
}


class TextbookBandits(Suite):
    """Nine Bernoulli bandits of Auer et al. (2002), Garivier and Cappe (2011), and Chapelle and Li (2011).

    The bandits have two or ten arms. A loss is 1 minus the reward, and regret is pseudo-regret.
    """

    title: ClassVar[str] = "Eight bandit algorithms on the arms of textbooks, ranked."
    reference: ClassVar[str] = "UCB1"
    rounds: int = Field(10_000, ge=2, le=100_000_000, description="The horizon of every game.")
    games: Names = Field((), description="Games, named as in the table; by default all.")

    def entries(self) -> Entries:
        learners: dict[str, Any] = {
            "explore, then commit": lambda task: jo.learners.ExploreThenCommit(_pulls_before_commitment(task)),
            "epsilon-greedy, 0.1": jo.learners.EpsilonGreedy(0.1),
            "UCB1": jo.learners.UCB1(),
            "KL-UCB": jo.learners.KLUCB(),
            "MOSS": lambda task: jo.learners.MOSS(task.n_rounds),
            "Thompson sampling": jo.learners.BernoulliThompson(),
            "EXP3": lambda task: jo.learners.EXP3.over_horizon(_n_arms(task), task.n_rounds),
            "EXP3-IX": lambda task: jo.learners.EXP3IX.over_horizon(_n_arms(task), task.n_rounds),
        }
        sentences = ["Explore, then commit: (T / K)^(2/3) pulls of each arm. MOSS and EXP3 know the horizon T."]
        games = {name: _task(rewards) for name, rewards in select_by_name("games", self.games, ARMS).items()}
        return Entries(games, learners, sentences)


def _task(rewards: tuple[float, ...]) -> Task:
    environment = jo.environments.BernoulliArms(1.0 - np.array(rewards))
    return Task(jo.Game(environment, jo.Bandit(), loss=jo.losses.ArmLoss(), pseudo=True), jo.BestArm())


def _pulls_before_commitment(task: Task) -> int:
    return max(1, round((task.n_rounds / _n_arms(task)) ** (2 / 3)))  # type: ignore[operator]


def _n_arms(task: Task) -> int:
    return task.game.specs[1].shape[0]


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
        step = jo.InverseSqrt(self.eta or ETAS[0])
        learners = {name: make(step) for name, make in self._makers().items()}
        return Entries(games, learners, [f"{len(games)} of {len(SETS)} sets are available.", *missing])

    def tune(self, entries: Entries, context: Context) -> Entries:
        """Choose a step for each learner in each set."""
        if self.eta is not None:
            return entries
        games, makers, sizes = entries.games, self._makers(), {"n_runs": self.runs, "n_rounds": self.rounds}
        tuned: dict[str, dict[str, Tuned]] = {name: {} for name in entries.learners}
        with context.parts(len(games) * len(tuned)) as part, warnings.catch_warnings():
            warnings.simplefilter("ignore", SettingsWarning)  # the sentences say it
            for game, task in games.items():
                for name, by_game in tuned.items():
                    step_context = part(f"steps of {name} in {game}")
                    by_game[game] = jo.tune(
                        task.game, lambda eta, make=makers[name]: make(jo.InverseSqrt(eta)), {"eta": list(ETAS)},
                        key=context.seed, mesh=context.mesh, progress=step_context.progress,
                        checkpoint=step_context.checkpoint, **sizes,
                    )  # fmt: skip

        def maker(name: str) -> Callable[[Task], Any]:
            return lambda task: next(tuned[name][game].learner for game in games if games[game].game is task.game)

        candidates = ", ".join(f"{eta:g}" for eta in ETAS)
        steps = f"Steps are eta / sqrt(t); eta is one of {candidates}, chosen in other runs:"
        chosen_etas = [f"{name}: {_format_etas(by_game)}." for name, by_game in tuned.items()]
        return Entries(games, {name: maker(name) for name in tuned}, [*entries.sentences, steps, *chosen_etas])

    def _task(self, X: np.ndarray, y: np.ndarray) -> Task:
        X, y = scaled_data(X - X.mean(axis=0), y, targets=True)
        copies = jo.NoisyCopies(jo.noise.gaussian(self.noise / X.shape[1]), reveal_covariance=True)
        return Task(jo.Game(jo.environments.DataStream(X, y, order="shuffled"), copies), jo.L2Ball(self.radius))

    def _makers(self) -> dict[str, Callable[[Any], Any]]:
        noisy = {
            "two noisy copies": estimators.TwoCopies(), "known covariance": estimators.KnownCovariance(),
            "mean of four copies": estimators.MeanOfCopies(4), "one noisy copy, naive": estimators.NaiveCopy(),
        }  # fmt: skip

        def descent(estimator: Any) -> Callable[[Any], jo.GradientLearner]:
            return lambda step: jo.GradientLearner(estimator, step, self.radius)

        full = descent(estimators.FullGradient())
        return {
            "full information": lambda step: jo.WithFeedback(full(step), jo.FullInformation()),
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
        return load_set(name, data)[1:3]
    if any(file.stem == name for path in search_paths(data or None) for file in data_files(path)):
        return load(name, data or None)[1:3]
    if data:
        raise ArgumentError("data", f"must hold {name} (got {', '.join(map(str, data))}); without data it is fetched")
    with warnings.catch_warnings():  # scikit-learn also warns where there is no cache
        warnings.filterwarnings("ignore", "Invalid cache", RuntimeWarning)
        frame, target = fetch_by_name(name, version=1)
    return to_arrays(Path(name), select_columns(Path(name), text_cells(frame), target))[:2]


def fetch_by_name(name: str, version: int | None = None) -> tuple[Any, str | None]:
    """Fetch any OpenML set by name; return its pandas frame, and the name of its target column or None."""
    import sklearn.datasets

    options: Any = {"name": name, "version": version or "active", "as_frame": True, "parser": "liac-arff"}
    try:
        bunch: Any = sklearn.datasets.fetch_openml(**options)
    except OSError as error:
        raise OSError(f"openml: the set {name!r} cannot be fetched ({error})") from error
    targets = list(bunch.target_names or [])
    return bunch.frame, targets[0] if len(targets) == 1 else None


class SuiteCommands(StudyCommands):
    """The commands of this program, one for each suite."""

    program = "python -m benchmarks.suites"
    studies: ClassVar[dict[str, str]] = {
        "noisy-regression": "benchmarks.suites:NoisyRegression",
        "textbook-bandits": "benchmarks.suites:TextbookBandits",
    }


app = typer.Typer(cls=SuiteCommands, add_completion=False, pretty_exceptions_enable=False)


@app.callback()
def _root() -> None:
    """Many learners in many games: ranks, and who is better where, each one command."""


if __name__ == "__main__":
    main(app)
