"""Many learners in many games: each game a paired study with a store of its own, all of them one table of ranks."""

import dataclasses
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jaxonline.game import Entrant, Game, Learner
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results import Result, Standings
from jaxonline.simulation import Checkpoint
from jaxonline.simulation.progress import Progress
from jaxonline.simulation.sweeps import Sweep, as_team, distinct
from jaxonline.study.study import Context, file_name


@dataclasses.dataclass(frozen=True)
class Task:
    """A game of a benchmark, with what the game alone does not say.

    Attributes:
        game: the game.
        comparator: for the regret, as in `simulate`; without one cumulative losses are compared.
        n_rounds: the horizon, that of the benchmark by default.

    Raises:
        TypeError: a game that is none.
        ValueError: `n_rounds` below 1.

    Example:
        >>> import jaxonline as jo
        >>> arms = jo.environments.BernoulliArms([0.1, 0.4])
        >>> task = jo.Task(jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss()), jo.BestArm(), n_rounds=500)
        >>> task.n_rounds
        500
    """

    game: Game
    comparator: Any = None
    n_rounds: int | None = None

    def __post_init__(self):
        check.instance("game", self.game, Game, "a Game")
        if self.n_rounds is not None:
            check.count("n_rounds", self.n_rounds)


Matches = dict[str, tuple[Task, dict[str, Any]]]  # by game: its task, and the learners that can play it


@dataclasses.dataclass(frozen=True)
class Benchmark:
    """Learners and the games in which they are compared.

    Attributes:
        games: by name, a `Game` or a `Task`.
        learners: by name, as in `simulate`; or functions of the task that make one, for learners whose numbers are
            those of a game (its number of arms, its horizon).
        gaps: whether a learner that cannot play a game is left out there; by default it is refused.
        quantity: what is compared, as in `Standings`.
        level: of the statements, as in `Standings`.

    Raises:
        TypeError: games or learners that are no dictionary, or something that is neither.
        ValueError: no game or no learner; names of games that are the same as names of files.

    Example:
        >>> import jaxonline as jo
        >>> from jaxonline.study import Benchmark, Context
        >>> arms = lambda *means: jo.Game(
        ...     jo.environments.BernoulliArms(list(means)), jo.Bandit(), loss=jo.losses.ArmLoss()
        ... )
        >>> learners = {"UCB1": jo.learners.UCB1(), "uniform": jo.learners.EpsilonGreedy(1.0)}
        >>> benchmark = Benchmark({"easy": arms(0.1, 0.9), "hard": arms(0.4, 0.5)}, learners)
        >>> benchmark.run(Context(seed=1), n_runs=8, n_rounds=40).games
        ('easy', 'hard')
    """

    games: Mapping[str, Game | Task]
    learners: Mapping[str, Any]
    gaps: bool = False
    quantity: str | None = None
    level: float = 0.95

    def __post_init__(self):
        for name, value, what in (("games", self.games, "game"), ("learners", self.learners, "learner")):
            check.instance(name, value, isinstance(value, Mapping), f"a dictionary of {what}s by name")
            if not value:
                raise ArgumentError(name, "must have at least one entry (got none)")
        for name, game in self.games.items():
            check.instance(f"games[{name!r}]", game, isinstance(game, Game | Task), "a Game or a Task")
        for name in self.games:
            if not file_name(check.text("games' name", name)).strip(".") or "/" in name:
                raise ArgumentError("games", f"must have names that can be names of files (got {name!r})")
        distinct("games", map(file_name, self.games))
        check.flag("gaps", self.gaps)
        check.number("level", self.level, gt=0.0, lt=1.0)

    def run(self, context: Context, *, n_runs: int, n_rounds: int, **options: Any) -> Standings:
        """Check every learner against every game, then play the games one after the other.

        Args:
            context: of the study; the checkpoint holds a folder for each game.
            n_runs: of each learner in each game.
            n_rounds: the horizon of games that have none of their own.
            **options: of `simulate`.

        Raises:
            TypeError, ValueError: a learner that cannot play a game, where there are to be no gaps; a game that
                nobody, or a learner that none can play; what `simulate` raises.
        """
        matches, gaps = self.match_learners(n_rounds)
        results: dict[str, Result] = {}
        with context.parts(len(matches)) as part:
            for name, (task, learners) in matches.items():
                results[name] = part(name).simulate(
                    task.game, learners, n_runs=n_runs, n_rounds=task.n_rounds, comparator=task.comparator,
                    **options,
                )  # fmt: skip
        return Standings(results, gaps, self.quantity, self.level)

    def match_learners(self, n_rounds: int) -> tuple[Matches, dict[tuple[str, str], str]]:
        """By game its task and the learners that can play it; and by game and learner, why the others cannot.

        Raises:
            TypeError, ValueError: as in `run`, before anything is played.
        """
        check.count("n_rounds", n_rounds)
        found: Matches = {}
        gaps: dict[tuple[str, str], str] = {}
        for game, given in self.games.items():
            task = given if isinstance(given, Task) else Task(given)
            task = dataclasses.replace(task, n_rounds=task.n_rounds or n_rounds)
            found[game] = task, {}
            for name, learner in self.learners.items():
                try:
                    item = _made(learner, task)
                    as_team(task.game, name, item)
                except (TypeError, ValueError) as error:
                    if not self.gaps:
                        kind = TypeError if isinstance(error, TypeError) else ValueError
                        words = f"learner {name!r} does not fit the game {game!r}"
                        raise kind(f"{words}; pass gaps=True to leave such cells empty ({error})") from error
                    gaps |= {(game, each): str(error) for each in _members(name, learner)}
                else:
                    found[game][1][name] = item
            if not found[game][1]:
                why = next(reason for (of, _), reason in gaps.items() if of == game)
                raise ArgumentError(
                    "games", f"must each have a learner that can play it (got none for {game!r}); {why}"
                )
        for name, learner in self.learners.items():
            if not any(name in learners for _, learners in found.values()):
                why = gaps[next(iter(found)), _members(name, learner)[0]]
                raise ArgumentError("learners", f"must each be able to play a game (got {name!r}, which is not); {why}")
        return found, gaps


def _made(given: Any, task: Task) -> Any:
    """The learner of a task."""
    return given if isinstance(given, Learner | Entrant | Sweep) or not callable(given) else given(task)


def _members(name: str, given: Any) -> list[str]:
    """What an entry's learners are called in results."""
    learner = given.learner if isinstance(given, Entrant) else given
    return [f"{name}[{label}]" for label in learner.labels] if isinstance(learner, Sweep) else [name]


def benchmark(
    games: Mapping[str, Game | Task],
    learners: Mapping[str, Any],
    *,
    n_runs: int,
    n_rounds: int,
    key: int = 0,
    gaps: bool = False,
    quantity: str | None = None,
    level: float = 0.95,
    progress: Progress = False,
    checkpoint: str | os.PathLike[str] | Checkpoint | None = None,
    cluster: Any = None,
    **options: Any,
) -> Standings:
    """Compare learners on many games: ranks in each, and which learners differ. (How fast they run: `benchmarks/`.)

    In a game all learners meet the same instances and noise, as in `simulate`; differences are paired, and corrected
    for the number of pairs in all games together (`Standings`).

    Args:
        games: by name, a `Game`, or a `Task`: a game with its comparator and horizon.
        learners: by name, as in `simulate`; or functions that make a learner for a `Task`, whose `n_rounds` is set.
        n_runs: of each learner in each game.
        n_rounds: the horizon of games that have none of their own.
        key: a seed, from 0 to 2^32 - 1; each game is played as `simulate` plays it alone with this key.
        gaps: whether a learner that cannot play a game is left out there; by default it is refused before anything is
            played.
        quantity: what is compared after the last round: by default the regret, or the cumulative loss of games without
            a comparator.
        level: with this probability all statements that two learners differ in a game are right.
        progress: as in `simulate`.
        checkpoint: a folder or a URL, from which an interrupted benchmark goes on: one store for each game, by name.
        cluster: as in `simulate`.
        **options: others of `simulate`, for all games.

    Returns:
        `Standings`: prints as a table; `plot`, `html`, `to_pandas`, `to_latex`, `to_markdown`, and the `Result` of
        every game.

    Raises:
        TypeError, ValueError: a learner that does not fit a game (without `gaps`), a game that nobody can play; what
            `simulate` raises.

    Example:
        >>> import jaxonline as jo
        >>> def arms(*means):
        ...     game = jo.Game(jo.environments.BernoulliArms(list(means)), jo.Bandit(), loss=jo.losses.ArmLoss())
        ...     return jo.Task(game, jo.BestArm())
        >>> learners = {
        ...     "UCB1": jo.learners.UCB1(),
        ...     "EXP3": lambda task: jo.learners.EXP3.over_horizon(2, task.n_rounds),
        ... }
        >>> found = jo.benchmark({"easy": arms(0.1, 0.9), "hard": arms(0.4, 0.5)}, learners, n_runs=16, n_rounds=200)
        >>> found.learners, found.ranks[:, 0].tolist(), found.differ("easy", "UCB1", "EXP3")
        (('UCB1', 'EXP3'), [1.0, 2.0], True)
    """
    if isinstance(checkpoint, os.PathLike):
        checkpoint = Path(checkpoint)
    context = Context(checkpoint=checkpoint, seed=check.seed("key", key), progress=progress, cluster=cluster)
    played = Benchmark(games, learners, gaps, quantity, level)
    return played.run(context, n_runs=n_runs, n_rounds=n_rounds, **options)
