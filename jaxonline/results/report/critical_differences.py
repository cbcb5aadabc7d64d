"""Mean ranks over games with Nemenyi's critical difference."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.report.across_games_figure import plot_critical_differences
from jaxonline.results.report.columns import Number, Text
from jaxonline.results.report.tables import Table
from jaxonline.results.statistics.rank_tests import RankTest, compare_ranks, rank_groups
from jaxonline.results.statistics.ranking import compact_letters

if TYPE_CHECKING:
    from jaxonline.results.report.figure import ResultFigure


@dataclass(frozen=True, eq=False, repr=False)
class CriticalDifferences:
    """Mean ranks of L learners over G games, and which of them differ (tests of Friedman and Nemenyi).

    The tests compare learners in a population of games. They assume that the G games are independent draws from this
    population, and that each game has one rank for each learner; errors of the means in a game are not used. Levels are
    asymptotic: Demsar (2006) recommends more than 10 games and more than 5 learners. If Friedman's test finds no
    difference, no two learners differ. A verdict on two learners depends on the ranks of the other learners (Benavoli,
    Corani and Mangili 2016, "Should we really use post-hoc tests based on mean-ranks?").

    Args:
        learners: names of the learners.
        ranks: rank of each learner in each game, from 1 for the best.
        level: probability that all statements "these two learners differ" are true together.

    Raises:
        ValueError: fewer than two learners or games, or ranks that are not finite.

    References:
        Demsar (2006), "Statistical comparisons of classifiers over multiple data sets", JMLR 7.

    Example:
        >>> import jaxonline as jo
        >>> tests = jo.results.CriticalDifferences(("a", "b", "c"), [[1] * 4, [2] * 4, [3] * 4])
        >>> print(tests.table.text())
        learner  mean rank  same letter: no difference seen
        a             1.00  a
        b             2.00  ab
        c             3.00  b
        >>> round(tests.test.difference, 2), tests.differ("a", "c")
        (1.66, True)
    """

    learners: tuple[str, ...]
    ranks: Float[np.ndarray, "L G"]
    level: float = 0.95

    def __post_init__(self) -> None:
        check.texts("learners", self.learners)
        ranks = check.finite_array("ranks", self.ranks, ndim=2)
        if len(ranks) != len(self.learners) or min(ranks.shape) < 2:
            raise ArgumentError(
                "ranks", f"must have at least two learners and two games that all learners play (got {ranks.shape})"
            )
        check.number("level", self.level, gt=0.0, lt=1.0)
        object.__setattr__(self, "ranks", ranks)

    @property
    def mean_ranks(self) -> np.ndarray:
        """The mean rank of each learner [L]."""
        return self.ranks.mean(axis=1)

    @cached_property
    def test(self) -> RankTest:
        """Friedman's test and the critical difference."""
        return compare_ranks(self.ranks, self.level)

    def differ(self, first: str, second: str) -> bool:
        """Return whether the mean ranks of two learners differ."""
        i, j = (self.learners.index(check.choice("learners", name, self.learners)) for name in (first, second))
        return bool(abs(self.mean_ranks[i] - self.mean_ranks[j]) > self._threshold)

    @property
    def table(self) -> Table:
        """The table of mean ranks and letters, sorted by mean rank."""
        order = np.argsort(self.mean_ranks, kind="stable")
        ranks = self.mean_ranks[order]
        letters = compact_letters(np.abs(ranks[:, None] - ranks) <= self._threshold)
        rows = [
            {"learner": self.learners[i], "mean_rank": float(self.mean_ranks[i]), "letters": letter}
            for i, letter in zip(order, letters, strict=True)
        ]
        columns = (
            Text("learner"), Number("mean_rank", "mean rank", "{:.2f}"),
            Text("letters", "same letter: no difference seen"),
        )  # fmt: skip
        return Table(f"Mean ranks over {self.ranks.shape[1]} games", rows, columns, caption=self.caption)

    @property
    def caption(self) -> str:
        """The results of both tests in words."""
        friedman = f"Friedman's test: p = {self.test.p_value:.2g}."
        if np.isinf(self._threshold):
            return f"{friedman} No difference between learners is seen."
        return (
            f"{friedman} Learners without a common letter differ: their mean ranks are more than "
            f"{self.test.difference:.2f} apart (Nemenyi's test, {100 * self.level:.6g} %, if the games are a random "
            "sample of games)."
        )

    def plot(
        self, path: str | Path | None = None, *, title: str | None = None, style: str = "screen"
    ) -> "ResultFigure":
        """Plot the critical-difference diagram: a bar joins learners whose mean ranks do not differ.

        Args:
            path: where to write the figure (the ending sets the format), or None.
            title: title of the figure; by default the number of games, or none in the style "paper".
            style: "screen" or "paper".
        """
        order = np.argsort(self.mean_ranks, kind="stable")
        ranks, games = self.mean_ranks[order], self.ranks.shape[1]
        heading = title or ("" if style == "paper" else f"mean ranks over {games} games")
        return plot_critical_differences(
            [self.learners[i] for i in order], ranks.tolist(), rank_groups(ranks, self._threshold),
            self.test.difference, path, heading=heading, style=style,
        )  # fmt: skip

    def __repr__(self) -> str:
        return repr(self.table)

    def _repr_html_(self) -> str:
        return self.table._repr_html_()

    @property
    def _threshold(self) -> float:
        """The critical difference, or infinity if Friedman's test finds no difference."""
        return self.test.difference if self.test.p_value < 1 - self.level else np.inf
