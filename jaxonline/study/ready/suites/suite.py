"""Base class of benchmark suites: learners, games, and a report of ranks, means and curves."""

from abc import abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

from pydantic import Field

from jaxonline.parameters.errors import ArgumentError
from jaxonline.results import Standings
from jaxonline.results.report.tables import Table
from jaxonline.study import Benchmark, Context, Report, Study, Task
from jaxonline.study.study import Names, select_by_name


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
        del context
        return entries

    def run(self, context: Context) -> Report:
        entries = self.entries()
        entries = entries._replace(learners=select_by_name("only", self.only, entries.learners))
        games, learners, sentences = self.tune(entries, context)
        standings = Benchmark(games, learners).run(context, n_runs=self.runs, n_rounds=self.rounds)
        tables, figures, problems = self._across_games(standings)
        return Report(
            {"ranks": standings.table, "means": standings.means, **tables},
            {"figure": standings.plot, **figures},
            [*sentences, *standings.remarks, *problems],
            standings.results,
            shown=[*standings.tables(), *tables.values(), standings.means],
        )

    def _across_games(self, standings: Standings) -> tuple[dict[str, Table], dict[str, Any], list[str]]:
        """Return tables, figures and sentences of the results across games; the sentence says why there are none."""
        if self.reference not in standings.learners or min(len(standings.learners), len(standings.games)) < 2:
            return {}, {}, []
        try:
            across, ranks = standings.across_games(self.reference), standings.critical_differences()
        except ArgumentError as error:  # few runs, or failed runs of the reference
            return {}, {}, [f"No results across games: {error}."]
        tables = {
            "across_games": across.table, "improvements": across.improvements(self.reference),
            "mean_ranks": ranks.table,
        }  # fmt: skip
        return tables, {"profiles": across.plot_profiles, "critical_differences": ranks.plot}, []
