"""What suites share: learners, games, and a report of ranks, means and curves."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from pydantic import Field

from jaxonline.study import Benchmark, Context, Report, Study, Task
from jaxonline.study.study import Names, select_by_name


class Entries(NamedTuple):
    """What is played in a suite: the games, the learners, and sentences on both."""

    games: Mapping[str, Task]
    learners: Mapping[str, Any]
    sentences: Sequence[str]


class Suite(Study):
    """Runs and rounds, and `entries`: all else of a suite is there."""

    title: ClassVar[str] = ""
    runs: int = Field(100, ge=2, le=1_000_000, description="Runs of each learner in each game.")
    rounds: int = Field(2000, ge=2, le=100_000_000, description="The horizon of every game.")
    only: Names = Field((), description="Learners to play, named as in the table; by default all.")

    @abstractmethod
    def entries(self) -> Entries:
        """The games, the learners, and what is to be said of them."""

    def tuned(self, entries: Entries, context: Context) -> Entries:
        """The entries with what has to be chosen by playing; nothing, unless a suite says otherwise."""
        del context
        return entries

    def run(self, context: Context) -> Report:
        entries = self.entries()
        entries = entries._replace(learners=select_by_name("only", self.only, entries.learners))
        games, learners, sentences = self.tuned(entries, context)
        standings = Benchmark(games, learners).run(context, n_runs=self.runs, n_rounds=self.rounds)
        return Report(
            {"ranks": standings.table, "means": standings.means},
            {"figure": standings.plot},
            [*sentences, *standings.remarks],
            standings.results,
            shown=[*standings.tables(), standings.means],
        )
