"""Benchmarks: comparisons of many learners in many games, with one paired study per game and one table of ranks."""

import dataclasses
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias, Unpack

from jaxonline.game import Game, Learner, WithFeedback
from jaxonline.game.roles import Comparator, HindsightComparator
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results import Result, Standings
from jaxonline.results.statistics.intervals import ConfidenceInterval, check_interval
from jaxonline.simulation import Checkpoint
from jaxonline.simulation.cluster import Cluster
from jaxonline.simulation.options import RecordedRunOptions, check_comparator_type
from jaxonline.simulation.progress import Progress
from jaxonline.simulation.sweeps import LearnerEntry, Sweep, as_team, check_unique_names
from jaxonline.study.study import Context, file_name


@dataclasses.dataclass(frozen=True)
class Task:
    """A game of a benchmark with its comparator and horizon.

    Attributes:
        game: the game.
        comparator: comparator of the regret, as in `simulate`; without a comparator, cumulative losses are compared.
        n_rounds: the horizon; by default, the horizon of the benchmark.

    Example:
        >>> import jaxonline as jo
        >>> arms = jo.environments.BernoulliArms([0.1, 0.4])
        >>> task = jo.Task(jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss()), jo.BestArm(), n_rounds=500)
        >>> task.n_rounds
        500
    """

    game: Game
    comparator: Comparator | HindsightComparator | None = None
    n_rounds: int | None = None

    def __post_init__(self) -> None:
        check.instance("game", self.game, Game, "a Game")
        if self.comparator is not None:
            check_comparator_type(self.comparator)
        if self.n_rounds is not None:
            check.count("n_rounds", self.n_rounds)


LearnerOfTask: TypeAlias = Callable[[Task], LearnerEntry]  # a function that makes the learner of a game
Matches = dict[str, tuple[Task, dict[str, Any]]]  # by game: its task, and the learners that can play it


def match_learners(
    games: Mapping[str, Game | Task], learners: Mapping[str, LearnerEntry | LearnerOfTask], n_rounds: int, gaps: bool
) -> tuple[Matches, dict[tuple[str, str], str]]:
    """Return the task and learners of each game, and the reason for each (game, learner) that does not fit.

    Raises:
        TypeError, ValueError: a learner does not fit a game and `gaps` is False; no learner fits a game, or no game a
            learner.
    """
    matches: Matches = {}
    reasons: dict[tuple[str, str], str] = {}
    for game, entry in games.items():
        task = entry if isinstance(entry, Task) else Task(entry)
        task = dataclasses.replace(task, n_rounds=task.n_rounds or n_rounds)
        matches[game] = task, {}
        for name, learner in learners.items():
            try:
                item = _build_learner(learner, task)
                as_team(task.game, name, item)
            except (TypeError, ValueError) as error:
                if not gaps:
                    kind = TypeError if isinstance(error, TypeError) else ValueError
                    message = f"learners: {name!r} does not fit the game {game!r}: {error}"
                    raise kind(f"{message}; gaps=True leaves such cells empty") from error
                reasons |= {(game, label): str(error) for label in _result_names(name, learner)}
            else:
                matches[game][1][name] = item
        if not matches[game][1]:
            reason = next(reason for (other, _), reason in reasons.items() if other == game)
            raise ArgumentError("games", f"must each fit at least one learner (got none for {game!r}); {reason}")
    for name, learner in learners.items():
        if not any(name in fitting for _, fitting in matches.values()):
            reason = reasons[next(iter(matches)), _result_names(name, learner)[0]]
            raise ArgumentError("learners", f"must each fit at least one game (got {name!r}); {reason}")
    return matches, reasons


def _build_learner(entry: Any, task: Task) -> Any:
    return entry if isinstance(entry, Learner | WithFeedback | Sweep) or not callable(entry) else entry(task)


def _result_names(name: str, entry: Any) -> list[str]:
    learner = entry.learner if isinstance(entry, WithFeedback) else entry
    return [f"{name}[{label}]" for label in learner.labels] if isinstance(learner, Sweep) else [name]


def benchmark(
    games: Mapping[str, Game | Task],
    learners: Mapping[str, LearnerEntry | LearnerOfTask],
    *,
    n_runs: int,
    n_rounds: int,
    key: int = 0,
    gaps: bool = False,
    quantity: str | None = None,
    level: float = 0.95,
    interval: ConfidenceInterval | None = None,
    progress: Progress = False,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    cluster: Cluster | None = None,
    **options: Unpack[RecordedRunOptions],
) -> Standings:
    """Compare learners in many games: return their ranks in each game, and which learners differ significantly.

    In each game all learners meet the same instances and noise, as in `simulate`. Differences are paired and corrected
    for the number of pairs in all games together (`Standings`).

    Args:
        games: games by name, each a `Game`, or a `Task` (a game with its comparator and horizon).
        learners: learners by name, each a learner as in `simulate`, or a function that takes a `Task` (with `n_rounds`
            set) and returns a learner.
        n_runs: number of runs of each learner in each game.
        n_rounds: the horizon of games that have no horizon of their own.
        key: seed from 0 to 2^32 - 1; each game gives the same numbers as `simulate` with this key.
        gaps: whether to leave out learners in games that they cannot play, instead of raising an error.
        quantity: quantity that is compared after the last round; by default the regret, or the cumulative loss (of arms
            with rewards: the cumulative reward) in a game without comparator.
        level: probability that all statements "these two learners differ in this game" are true together.
        interval: one of `jo.intervals` for means and paired tests in all games. `jo.intervals.Betting(low, high)` holds
            for any number of runs, if the compared quantity of a round is between these limits in all games. The
            default, as in `Result.ranking`, needs no limits.
        progress: progress bar or function, as in `simulate`.
        checkpoint: folder with one store per game; an interrupted benchmark resumes from it.
        cluster: workers that compute the runs, as in `simulate`.
        **options: other arguments of `simulate`, for all games.

    Returns:
        The `Standings`, which print as a table and contain the `Result` of every game.

    Raises:
        TypeError: `games` is not a dictionary of games, or `learners` is not a dictionary of learners.
        ValueError: there is no game or no learner, or the names of two games give the same file name.
        TypeError, ValueError: a learner does not fit a game and `gaps` is False; no learner fits a game, or no game a
            learner; or an error of `simulate`.

    Example:
        >>> import jaxonline as jo
        >>> def arms(*means):
        ...     game = jo.Game(jo.environments.BernoulliArms(list(means)), jo.Bandit(), loss=jo.losses.ArmLoss())
        ...     return jo.Task(game, jo.BestArm())
        >>> learners = {
        ...     "UCB1": jo.learners.UCB1(),
        ...     "EXP3": lambda task: jo.learners.EXP3.over_horizon(2, task.n_rounds),
        ... }
        >>> games = {"easy": arms(0.1, 0.9), "hard": arms(0.4, 0.5)}
        >>> standings = jo.benchmark(games, learners, n_runs=16, n_rounds=200)
        >>> standings.learners, standings.ranks[:, 0].tolist(), standings.differ("easy", "UCB1", "EXP3")
        (('UCB1', 'EXP3'), [1.0, 2.0], True)
    """
    for name, value in (("games", games), ("learners", learners)):
        check.instance(name, value, isinstance(value, Mapping), f"a dictionary of {name} by name")
        if not value:
            raise ArgumentError(name, "must have at least one entry (got none)")
    for name, game in games.items():
        check.instance(f"games[{name!r}]", game, isinstance(game, Game | Task), "a Game or a Task")
        if not file_name(check.text("games' name", name)).strip(".") or "/" in name:
            raise ArgumentError("games", f"must have names that are valid file names (got {name!r})")
    check_unique_names("games, as files,", map(file_name, games))
    check.number("level", level, gt=0.0, lt=1.0)
    if interval is not None:
        check_interval(interval)
    if isinstance(checkpoint, os.PathLike):
        checkpoint = Path(checkpoint)
    context = Context(checkpoint=checkpoint, seed=check.seed("key", key), progress=progress, cluster=cluster)
    n_rounds = check.count("n_rounds", n_rounds)
    matches, reasons = match_learners(games, learners, n_rounds, check.flag("gaps", gaps))
    results: dict[str, Result] = {}
    with context.parts(len(matches)) as part:
        for name, (task, fitting) in matches.items():
            sizes = {"n_runs": n_runs, "n_rounds": task.n_rounds or n_rounds}
            results[name] = part(name).simulate(task.game, fitting, comparator=task.comparator, **sizes, **options)
    return Standings(results, reasons, quantity, level, interval)
