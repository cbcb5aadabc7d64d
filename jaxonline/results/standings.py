"""Comparison of learners in several games: ranks, and tests corrected for all pairs of learners in all games."""

import itertools
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, SkewedRunsWarning
from jaxonline.results.quantities import best_first, default_quantity, is_reward, label_of
from jaxonline.results.report.across_games import AcrossGames, Limit
from jaxonline.results.report.rankings import SAME_LETTER, VALID
from jaxonline.results.report.summary import count_words
from jaxonline.results.report.tables import EXCLUDED_RUNS_COLUMNS, Interval, Number, Printed, Table, Text
from jaxonline.results.result import Result, StyleName
from jaxonline.results.statistics import estimates, means
from jaxonline.results.statistics.intervals import ConfidenceInterval, Estimate, check_interval
from jaxonline.results.statistics.ranking import MissingEvents, closest_decision, compact_letters, missing_events

if TYPE_CHECKING:
    import pandas
    from matplotlib.axes import Axes

GAP = "–"  # a game that a learner did not play


@dataclass(frozen=True, eq=False, repr=False)
class Standings(Printed):
    """Ranks of L learners in G games.

    In each game, learners are compared after the last round on common runs, in which all learners face the same
    instances and noise. The means are those of the regret; if the game has no comparator, of the cumulative loss or the
    cumulative reward.

    Attributes:
        results: by game.
        gaps: for each (game, learner) that was not played, the reason.
        quantity: quantity that is compared in all games; by default the regret, or the cumulative loss (of arms with
            rewards: the cumulative reward) in a game without comparator.
        level: probability that all statements "these two learners differ", in all games, are true together.
        interval: one of `jo.intervals` for means and paired tests, such as `jo.intervals.Betting(0.0, 1.0)` for losses
            in [0, 1]; by default as in `Result.mean` and `Result.ranking`.

    Raises:
        ValueError: no game, a quantity that a result does not have, a level outside 0 to 1.

    Example:
        >>> import jaxonline as jo
        >>> noise = np.random.default_rng(0).normal(size=(2, 30, 1))
        >>> def result(gap):
        ...     loss = np.array([gap, 1.0]).reshape(2, 1, 1) + noise
        ...     return jo.Result(("a", "b"), np.arange(30), np.array([1]), {"cumulative_loss": loss, "queries": loss})
        >>> standings = jo.results.Standings({"easy": result(9.0), "hard": result(1.0)})
        >>> print(standings.table.text())
        learner  mean rank  easy  hard
        a             1.50  2 b   1 a
        b             1.50  1 a   2 a
    """

    results: Mapping[str, Result]
    gaps: Mapping[tuple[str, str], str] = None  # type: ignore[assignment]
    quantity: str | None = None
    level: float = 0.95
    interval: ConfidenceInterval | None = None

    def __post_init__(self) -> None:
        good = isinstance(self.results, Mapping) and all(isinstance(result, Result) for result in self.results.values())
        check.instance("results", self.results, good, "a dictionary of results")
        if not self.results:
            raise ArgumentError("results", "must have at least one entry (got none)")
        check.number("level", self.level, gt=0.0, lt=1.0)
        if self.interval is not None:
            check_interval(self.interval)
        if self.gaps is not None:
            check.instance("gaps", self.gaps, Mapping, "a dictionary of reasons by (game, learner)")
        object.__setattr__(self, "gaps", dict(self.gaps or {}))
        for game, result in self.results.items():
            estimates.check_number(result, self._quantity(game))

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
            return {
                game: estimates.at_horizon(result.mean(self._quantity(game), self.level, self.interval))
                for game, result in self.results.items()
            }

    @cached_property
    def ranks(self) -> np.ndarray:
        """Ranks of the means in each game [L, G]: 1 for the best, the mean rank for ties, NaN if not played."""
        ranks = np.full((len(self.learners), len(self.games)), np.nan)
        for j, (game, result) in enumerate(self.results.items()):
            sign = -1.0 if self._is_reward(game) else 1.0
            mean = np.nan_to_num(sign * self.estimates[game].mean, nan=np.inf)
            below, equal = ((relation(mean[None], mean[:, None])).sum(axis=1) for relation in (np.less, np.equal))
            ranks[list(map(self.learners.index, result.learners)), j] = below + (equal + 1) / 2
        return ranks

    @cached_property
    def mean_rank(self) -> np.ndarray:
        """The mean rank of each learner [L] over the games that it plays; NaN for a learner without a game."""
        played = np.isfinite(self.ranks)
        total = np.where(played, self.ranks, 0.0).sum(axis=1)
        return np.where(played.any(axis=1), total / np.maximum(played.sum(axis=1), 1), np.nan)

    @cached_property
    def tests(self) -> dict[str, ConfidenceInterval]:
        """The interval whose paired test compares learners, by game."""
        return {
            game: estimates.choose_interval(result, self._quantity(game), self.interval).after(result.rounds[-1])
            for game, result in self.results.items()
        }

    @cached_property
    def p_values(self) -> dict[str, np.ndarray]:
        """P-values of all pairs [L, L] of `results[game].learners`, by game, corrected for all pairs and games."""
        matrices = means.joint_p_values(list(self._costs.values()), list(self.tests.values()))
        return dict(zip(self.results, matrices, strict=True))

    @cached_property
    def missing(self) -> MissingEvents:
        """Events that the runs may have missed, and the cost at which one of them reverses the closest decision."""
        events = {}
        for game, costs in self._costs.items():
            learners, differences = self.results[game].learners, means.paired_differences(costs)
            events[game] = missing_events(learners, differences, self.p_values[game], self.level)
        return closest_decision(events)

    def differ(self, game: str, first: str, second: str) -> bool:
        """Return whether two learners differ in a game; all answers together are right with probability `level`."""
        names = self.results[check.choice("game", game, self.games)].learners
        i, j = (names.index(check.choice("learners", name, names)) for name in (first, second))
        return bool(self.p_values[game][i, j] < 1 - self.level)

    def across_games(self, reference: Limit, best: Limit | None = None) -> AcrossGames:
        """Return statistics over the runs of all games that every learner plays; `AcrossGames` has the arguments."""
        games = {game: result for game, result in self.results.items() if set(result.learners) == set(self.learners)}
        if not games:
            raise ArgumentError("results", "must have a game that every learner plays (got none)")
        if rewards := [self._quantity(game) for game in games if self._is_reward(game)]:
            problem = f"must be a quantity that is better if it is smaller (got {rewards[0]!r}); compare the regret"
            raise ArgumentError("quantity", problem)
        losses = {
            game: self._costs[game][list(map(result.learners.index, self.learners))] for game, result in games.items()
        }
        return AcrossGames(self.learners, losses, reference, best, self.level, self._label)

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
        """The table of learners, sorted by mean rank, with rank and letters in each game (*: without some runs)."""
        cells = {(row["game"], row["learner"]): _format_rank(row) for row in self.rows}
        rows = [
            {"learner": self.learners[i], "mean_rank": float(self.mean_rank[i])}
            | {game: cells.get((game, self.learners[i]), GAP) for game in self.games}
            for i in np.argsort(self.mean_rank, kind="stable").tolist()
        ]
        ranks = [Text(game, "\n".join(game.split())) for game in self.games]
        columns = [Text("learner"), Number("mean_rank", "mean rank", "{:.2f}"), *ranks]
        return Table(self.title, rows, columns, caption=self.caption)

    @property
    def means(self) -> Table:
        """The table of the means that determine the ranks, by game."""
        level = f"{100 * self.level:.6g} %"
        columns = Text("game"), Text("learner"), Interval("mean", f"mean\n({level})"), Text("letters", SAME_LETTER)
        return Table(
            f"Means behind the ranks: {self._label}", self.rows, (*columns, *EXCLUDED_RUNS_COLUMNS), group="game"
        )

    @property
    def title(self) -> str:
        """The title of the table: numbers of learners, games and runs, and the compared quantity."""
        runs = sorted({len(result.runs) for result in self.results.values()})
        played = count_words(runs[0], "run") if len(runs) == 1 else f"{runs[0]:,} to {runs[-1]:,} runs"
        learners, games = count_words(len(self.learners), "learner"), count_words(len(self.games), "game")
        return f"{learners} in {games}: ranks by {self._label}, {played} of each"

    @property
    def caption(self) -> str:
        """The caption of the table, which explains ranks and letters."""
        names = " or ".join(dict.fromkeys(test.test for test in self.tests.values()))
        valid = all(test.holds_for_any_runs for test in self.tests.values())
        words = (
            f"1 is best. In a game, learners without a common letter differ ({names} with Holm's correction for all "
            f"pairs and games, {100 * self.level:.6g} %). {VALID if valid else self.missing.sentence}"
        )
        return " ".join([words, *self.remarks])

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
        for game, costs in self._costs.items():
            names = self.results[game].learners
            pairs = [f"{first} minus {second}" for first, second in itertools.combinations(names, 2)]
            skewed = [*means.skewed_names(costs, names), *means.skewed_names(means.paired_differences(costs), pairs)]
            if skewed:
                words = "are skewed over the runs, so intervals and tests may be wrong more often than their level says"
                sentences.append(f"In {game}, {', '.join(skewed)} {words}.")
        return sentences

    def to_pandas(self) -> "pandas.DataFrame":
        """Return the list `rows` as a DataFrame."""
        return self.means.frame

    def to_markdown(self) -> str:
        """Return the table in GitHub's Markdown."""
        return self.table.markdown()

    def to_latex(self, caption: str | None = None) -> str:
        """Return the table as a LaTeX tabular (package booktabs); a caption adds a table environment."""
        return self.table.latex(caption)

    def plot(
        self, path: str | Path | None = None, *, title: str | None = None, style: StyleName = "screen",
        ax: "Axes | None" = None,
    ) -> "Axes":  # fmt: skip
        """Plot a grid of learners and games: rank and letters in each cell (darker is better), and the mean ranks.

        Args:
            path: where to write the figure, as in `Result.plot`.
            title: title of the figure; by default the table's title, or none in the style "paper".
            style: "screen" or "paper".
            ax: Matplotlib axes in which to draw; by default, a new figure.

        Example:
            >>> import jaxonline as jo
            >>> loss = np.array([[[1.0], [3.0]], [[2.0], [5.0]]])
            >>> measures = {"cumulative_loss": loss, "queries": 0 * loss}
            >>> result = jo.Result(("a", "b"), np.arange(2), np.array([1]), measures)
            >>> axes = jo.results.Standings({"first": result, "second": result}).plot()
            >>> [text.get_text() for text in axes.texts][:3]
            ['1 a', '1 a', '1.00']
        """
        from jaxonline.results.report.distributions import plot_ranks

        played = {game: len(result.learners) for game, result in self.results.items()}
        shares = {
            (row["learner"], row["game"]): (row["rank"] - 1) / max(played[row["game"]] - 1, 1) for row in self.rows
        }
        return plot_ranks(self.table, shares, path, title, style, ax)

    @property
    def _label(self) -> str:
        """The name of the compared quantity."""
        labels = [label_of(self._quantity(game), result.meta) for game, result in self.results.items()]
        return " or ".join(dict.fromkeys(labels))

    def _quantity(self, game: str) -> str:
        return default_quantity(self.results[game], self.quantity)

    def _is_reward(self, game: str) -> bool:
        return is_reward(self.results[game], self._quantity(game))

    @cached_property
    def _costs(self) -> dict[str, np.ndarray]:
        """The compared quantity [L, R] after the last round by game; less is better."""
        return {game: estimates.costs(result, self._quantity(game)) for game, result in self.results.items()}


def _format_rank(row: Mapping[str, Any]) -> str:
    """Return the text of a cell: rank, letters, and an asterisk if runs were excluded."""
    mark = "*" if row["failed"] + row["overflowed"] else ""
    return f"{row['rank']:g} {row['letters']}".rstrip() + mark
