"""Comparison of learners in several games: ranks, and tests corrected for all pairs of learners in all games."""

import textwrap
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, SkewedRunsWarning, to_one_line
from jaxonline.results.quantities import best_first, is_reward, label_of
from jaxonline.results.report.across_games import AcrossGames, Limit
from jaxonline.results.report.columns import Measured, Number, Text
from jaxonline.results.report.critical_differences import CriticalDifferences
from jaxonline.results.report.formats import shorten, terminal_width
from jaxonline.results.report.page import html_page
from jaxonline.results.report.rank_column import RankColumn, format_rank
from jaxonline.results.report.standings_figure import GAP, RankCell, plot_ranks
from jaxonline.results.report.summary import default_quantity, format_runs
from jaxonline.results.report.tables import EXCLUDED_RUNS_COLUMNS, Table
from jaxonline.results.result import Result
from jaxonline.results.statistics import means
from jaxonline.results.statistics.game_tests import GameTests
from jaxonline.results.statistics.intervals import ConfidenceInterval, Estimate, check_interval
from jaxonline.results.statistics.missing_events import MissingEvents
from jaxonline.results.statistics.ranking import compact_letters

if TYPE_CHECKING:
    import pandas

WIDTH = 80


@dataclass(frozen=True, eq=False, repr=False)
class Standings:
    """Ranks of L learners in G games.

    In each game, learners are compared after the last round on common runs, in which all learners face the same
    instances and noise. The means are those of the regret; if the game has no comparator, of the cumulative loss or the
    cumulative reward. A `Standings` prints as a table of 80 columns.

    Attributes:
        results: by game.
        gaps: for each (game, learner) that was not played, the reason.
        quantity: quantity that is compared in all games; by default the regret, or the cumulative loss (of arms with
            rewards: the cumulative reward) in a game without comparator.
        level: probability that all statements "these two learners differ", in all games, are true together.
        interval: one of `jo.intervals` for means and paired tests, such as `jo.intervals.Betting(0.0, 1.0)` for losses
            in [0, 1], or one by game; by default as in `Result.mean` and `Result.ranking`.

    Raises:
        ValueError: no game, a quantity that a result does not have, a level outside 0 to 1.

    Example:
        >>> import jaxonline as jo
        >>> noise = np.random.default_rng(0).normal(size=(2, 30, 1))
        >>> def result(gap):
        ...     loss = np.array([gap, 1.0]).reshape(2, 1, 1) + noise
        ...     return jo.Result(("a", "b"), np.arange(30), np.array([1]), {"cumulative_loss": loss, "queries": loss})
        >>> jo.results.Standings({"easy": result(9.0), "hard": result(1.0)})
        2 learners in 2 games: ranks by cumulative loss, 30 runs of each
        learner  mean rank  easy  hard
        a             1.50  2 b   1 a
        b             1.50  1 a   2 a
        1 is best. In a game, learners without a common letter differ (paired t-tests
        for few or skewed runs with Holm's correction for all 2 pairs of 2 games
        together, 95 %). Events with probability below 1/10 per run may be missing; one
        that costs more than 76.0 would reverse b and a in easy.
    """

    results: Mapping[str, Result]
    gaps: Mapping[tuple[str, str], str] = None  # type: ignore[assignment]
    quantity: str | None = None
    level: float = 0.95
    interval: ConfidenceInterval | Mapping[str, ConfidenceInterval] | None = None

    def __post_init__(self) -> None:
        good = isinstance(self.results, Mapping) and all(isinstance(result, Result) for result in self.results.values())
        check.instance("results", self.results, good, "a dictionary of results")
        if not self.results:
            raise ArgumentError("results", "must have at least one entry (got none)")
        check.number("level", self.level, gt=0.0, lt=1.0)
        for game in self.results:
            if self._interval(game) is not None:
                check_interval(self._interval(game))
        if self.gaps is not None:
            check.instance("gaps", self.gaps, Mapping, "a dictionary of reasons by (game, learner)")
        object.__setattr__(self, "gaps", dict(self.gaps or {}))
        for game in self.results:
            if self._values(game).ndim > 2:
                raise ArgumentError(
                    "quantity", f"must be a number in each round (got {self.quantity!r}, which is a vector)"
                )

    @property
    def games(self) -> tuple[str, ...]:
        """Names [G]."""
        return tuple(self.results)

    @cached_property
    def learners(self) -> tuple[str, ...]:
        """Names of the learners [L], in the given order."""
        named = [name for result in self.results.values() for name in result.learners]
        return tuple(dict.fromkeys([*named, *(name for _, name in self.gaps)]))

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """Means after the last round with intervals, by game, in the order of `results[game].learners`."""
        with warnings.catch_warnings(action="ignore", category=SkewedRunsWarning):  # `remarks` names the learners
            estimates = {
                game: result.mean(self._quantity(game), self.level, self._interval(game))
                for game, result in self.results.items()
            }
        return {game: Estimate(*(field[:, -1] for field in estimate)) for game, estimate in estimates.items()}

    @cached_property
    def ranks(self) -> np.ndarray:
        """Ranks of the means in each game [L, G]: 1 for the best, the mean rank for ties, NaN if not played."""
        all_ranks = np.full((len(self.learners), len(self.games)), np.nan)
        for j, (game, result) in enumerate(self.results.items()):
            sign = -1.0 if self._is_reward(game) else 1.0
            mean = np.nan_to_num(sign * self.estimates[game].mean, nan=np.inf)
            below = (mean[None] < mean[:, None]).sum(axis=1)
            ranks = below + ((mean[None] == mean[:, None]).sum(axis=1) + 1) / 2
            for name, rank in zip(result.learners, ranks, strict=True):
                all_ranks[self.learners.index(name), j] = rank
        return all_ranks

    @cached_property
    def mean_rank(self) -> np.ndarray:
        """The mean rank of each learner [L] over the games that it plays; NaN for a learner without a game."""
        played = np.isfinite(self.ranks)
        total = np.where(played, self.ranks, 0.0).sum(axis=1)
        return np.where(played.any(axis=1), total / np.maximum(played.sum(axis=1), 1), np.nan)

    def across_games(self, reference: Limit, best: Limit | None = None) -> AcrossGames:
        """Return statistics over the runs of all games that every learner plays; `AcrossGames` has the arguments."""
        games, learners = self._common_games, self.learners
        if rewards := [self._quantity(game) for game in games if self._is_reward(game)]:
            problem = f"must be a quantity of which less is better (got {rewards[0]!r}); compare the regret"
            raise ArgumentError("quantity", problem)
        losses = {
            game: self._values(game)[list(map(result.learners.index, learners))] for game, result in games.items()
        }
        return AcrossGames(learners, losses, reference, best, self.level, self._what)

    def critical_differences(self) -> CriticalDifferences:
        """Return tests of the mean ranks over all games that every learner plays."""
        played = [game in self._common_games for game in self.games]
        return CriticalDifferences(self.learners, self.ranks[:, played], self.level)

    @property
    def p_values(self) -> dict[str, np.ndarray]:
        """P-values of all pairs [L, L] of `results[game].learners`, by game, corrected for all pairs and games."""
        return self._tests.p_values

    @property
    def missing(self) -> MissingEvents:
        """Events that the runs may have missed, and the cost at which one of them reverses the closest decision.

        The closest decision of all games has the smallest cost relative to the typical difference of its learners.
        """
        return self._tests.missing

    def differ(self, game: str, first: str, second: str) -> bool:
        """Return whether two learners differ in a game; all answers together are right with probability `level`."""
        names = self.results[check.choice("game", game, self.games)].learners
        i, j = (names.index(check.choice("learners", name, names)) for name in (first, second))
        return bool(self.p_values[game][i, j] < 1 - self.level)

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """One row for each game and learner of the game: rank, letters, mean with interval, excluded runs."""
        rows = []
        for j, (game, result) in enumerate(self.results.items()):
            estimate, alike = self.estimates[game], self.p_values[game] >= 1 - self.level
            order = best_first(estimate.mean, self._is_reward(game))
            counted = order[np.isfinite(estimate.mean[order])]  # others have no valid run
            letters = dict(zip(counted.tolist(), compact_letters(alike[counted][:, counted]), strict=True))
            for i in order.tolist():
                name = result.learners[i]
                rows.append(
                    {
                        "game": game, "learner": name, "rank": float(self.ranks[self.learners.index(name), j]),
                        "letters": letters.get(i, ""), "quantity": self._quantity(game),
                        "mean": float(estimate.mean[i]),
                        "low": float(estimate.low[i]), "high": float(estimate.high[i]), "runs": int(estimate.n_runs[i]),
                        "rounds": int(result.rounds[-1]), "failed": int(result.failed[i]),
                        "overflowed": int(result.overflowed[i]),
                    }
                )  # fmt: skip
        return rows

    @property
    def table(self) -> Table:
        """The table of learners, sorted by mean rank, with rank and letters in each game."""
        return Table(self.title, self._ranks(), self._columns(self.games), caption=self.caption)

    @property
    def means(self) -> Table:
        """The table of the means that determine the ranks, by game."""
        columns = (
            Text("learner"), Measured("mean", f"mean\n({100 * self.level:.6g} %)"),
            Text("letters", "same letter:\nalike"), *EXCLUDED_RUNS_COLUMNS,
        )  # fmt: skip
        return Table(f"Means behind the ranks: {self._what}", self.rows, columns, group="game", headed=True)

    def tables(self, width: int = WIDTH) -> list[Table]:
        """Split the property `table` into tables of at most `width` columns, each with some of the games."""
        rows, longest = self._ranks(), max(width // 3, 8)  # as in `Table.text`

        def room(column: Text) -> int:
            cells = [*column.head.split("\n"), *(to_one_line(column.show(row)) for row in rows)]
            return max(terminal_width(shorten(cell, longest)) for cell in cells) + 2

        learner, mean, *ranked = self._columns(self.games)
        parts: list[list[Text]] = []
        for column in ranked:
            if not parts or sum(map(room, (*parts[-1], column))) - 2 > width:
                parts.append([learner, mean])
            parts[-1].append(column)
        last = len(parts) - 1
        return [
            Table("" if i else self.title, rows, part, caption=self.caption if i == last else "")
            for i, part in enumerate(parts)
        ]

    @property
    def title(self) -> str:
        """The title of the table: numbers of learners, games and runs, and the compared quantity."""
        runs = sorted({len(result.runs) for result in self.results.values()})
        played = format_runs(runs[0]) if len(runs) == 1 else f"{runs[0]:,} to {runs[-1]:,} runs"
        learners = "one learner" if len(self.learners) == 1 else f"{len(self.learners)} learners"
        games = "one game" if len(self.games) == 1 else f"{len(self.games)} games"
        return f"{learners} in {games}: ranks by {self._what}, {played} of each"

    @property
    def caption(self) -> str:
        """The caption of the table, which explains ranks and letters."""
        pairs = sum(len(matrix) * (len(matrix) - 1) // 2 for matrix in self.p_values.values())
        words = f"1 is best. In a game, learners without a common letter differ ({self._tests.name}"
        if pairs > 1:
            games = f"of {len(self.games)} games together" if len(self.games) > 1 else "of the game"
            words += f" with Holm's correction for all {pairs:,} pairs {games}"
        words += f", {100 * self.level:.6g} %). {self._tests.reservation}"
        if np.isnan(self.ranks).any():
            words += f" {GAP} marks a game that a learner did not play; mean ranks are over the games that it played."
        if any(row["failed"] + row["overflowed"] for row in self.rows):
            words += " * marks a rank without some runs, which were excluded."
        return words

    @cached_property
    def remarks(self) -> list[str]:
        """Sentences on gaps, excluded runs and skewed distributions."""
        sentences = [f"{learner} does not play {game}: {reason}." for (game, learner), reason in self.gaps.items()]
        sentences += [
            f"{row['learner']} in {row['game']}: {row[kind]:,} of {len(self.results[row['game']].runs):,} runs {words} "
            "and are excluded from its mean and rank."
            for row in self.rows
            for kind, words in (("failed", "failed with NaN or infinity"), ("overflowed", "ran out of storage"))
            if row[kind]
        ]
        skewed = {}
        for game, result in self.results.items():
            names = means.skewed_learners(self._values(game), result.learners)
            skewed |= {game: names} if names else {}
        if skewed:
            where = "; ".join(f"{', '.join(names)} in {game}" for game, names in skewed.items())
            sentences.append(f"Skewed over the runs, so Student's interval understates the longer side: {where}.")
        return sentences

    def to_pandas(self) -> "pandas.DataFrame":
        """Return the list `rows` as a DataFrame."""
        import pandas

        return pandas.DataFrame(self.rows)

    def to_markdown(self) -> str:
        """Return the table in GitHub's Markdown."""
        return self.table.markdown()

    def to_latex(self) -> str:
        """Return the table as a LaTeX tabular (package booktabs)."""
        return self.table.latex()

    def html(self, title: str = "", *, reference: Limit | None = None) -> str:
        """Return a self-contained HTML page: the table, the figure, the means, and each game with its curves.

        If `reference` is given, the page also has the results of `across_games(reference)`.
        """
        figures, tables = {"ranks": self.plot()._repr_png_()}, [self.table, self.means]
        if reference is not None:
            across = self.across_games(reference)
            tables += [across.table, across.improvements()]
            figures["profiles"] = across.plot_profiles()._repr_png_()
        return html_page(
            title or self.title, sentences=self.remarks, results=self.results, tables=tables, figures=figures
        )

    def plot(self, path: str | Path | None = None, *, title: str | None = None, style: str = "screen") -> Any:
        """Plot a grid of learners and games: rank and letters in each cell (darker is better), and the mean ranks.

        Args:
            path: where to write the figure (the ending sets the format), or None.
            title: title of the figure; by default the table's title, or none in the style "paper".
            style: "screen" or "paper".

        Example:
            >>> import jaxonline as jo
            >>> loss = np.array([[[1.0], [3.0]], [[2.0], [5.0]]])
            >>> measures = {"cumulative_loss": loss, "queries": 0 * loss}
            >>> result = jo.Result(("a", "b"), np.arange(2), np.array([1]), measures)
            >>> figure = jo.results.Standings({"first": result, "second": result}).plot()
            >>> [text.get_text() for text in figure.axes[0].texts][:3]
            ['1 a', '1 a', '1.00']
        """
        cells = {
            (row["learner"], row["game"]): RankCell(
                format_rank(row["rank"], row["letters"], row["failed"] + row["overflowed"]),
                (row["rank"] - 1) / max(len(self.results[row["game"]].learners) - 1, 1),
            )
            for row in self.rows
        }
        order = np.argsort(self.mean_rank, kind="stable")
        mean_ranks = {self.learners[i]: float(self.mean_rank[i]) for i in order}
        heading = title or ("" if style == "paper" else self.title)
        return plot_ranks(mean_ranks, self.games, cells, path, heading=heading, style=style)

    def __repr__(self) -> str:
        return "\n".join(self._lines())

    def _repr_html_(self) -> str:
        return self.table._repr_html_()

    def _lines(self) -> Iterator[str]:
        for i, table in enumerate(self.tables()):
            yield from [""] if i else textwrap.wrap(self.title, WIDTH)
            yield from table.text(WIDTH).splitlines()
        yield from textwrap.wrap(to_one_line(self.caption), WIDTH)
        for remark in self.remarks:
            yield from textwrap.wrap(to_one_line(remark), WIDTH)

    def _ranks(self) -> list[dict[str, Any]]:
        """Return the rows of the property `table`."""
        cells = {(row["game"], row["learner"]): row for row in self.rows}
        rows = []
        for i in np.argsort(self.mean_rank, kind="stable").tolist():
            name = self.learners[i]
            row: dict[str, Any] = {"learner": name, "mean_rank": float(self.mean_rank[i])}
            for game in self.games:
                cell = cells.get((game, name), {"rank": None, "letters": None, "failed": 0, "overflowed": 0})
                row |= {f"rank in {game}": cell["rank"], f"letters in {game}": cell["letters"]}
                row |= {f"left out in {game}": cell["failed"] + cell["overflowed"]}
            rows.append(row)
        return rows

    def _columns(self, games: Sequence[str]) -> list[Text]:
        ranked = [RankColumn(game, "\n".join(to_one_line(game).split())) for game in games]
        return [Text("learner", "learner"), Number("mean_rank", "mean rank", "{:.2f}"), *ranked]

    @property
    def _what(self) -> str:
        """The name of the compared quantity."""
        return " or ".join(
            dict.fromkeys(label_of(self._quantity(game), result.meta) for game, result in self.results.items())
        )

    def _quantity(self, game: str) -> str:
        return default_quantity(self.results[game], self.quantity)

    def _is_reward(self, game: str) -> bool:
        return is_reward(self.results[game], self._quantity(game))

    @cached_property
    def _tests(self) -> GameTests:
        quantities = {game: self._quantity(game) for game in self.results}
        return GameTests(self.results, quantities, self.level, {game: self._interval(game) for game in self.results})

    def _interval(self, game: str) -> ConfidenceInterval | None:
        return self.interval.get(game) if isinstance(self.interval, Mapping) else self.interval

    @property
    def _common_games(self) -> dict[str, Result]:
        """The games that every learner plays."""
        games = {game: result for game, result in self.results.items() if set(result.learners) == set(self.learners)}
        if not games:
            raise ArgumentError("results", "must have a game that every learner plays (got none)")
        return games

    def _values(self, game: str) -> np.ndarray:
        """Return the compared quantity of all learners and runs after the last round [L, R]."""
        return self.results[game].values(self._quantity(game))[:, :, -1]
