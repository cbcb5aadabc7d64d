"""Results across games: statistics of normalised losses, as in Agarwal et al. (2021)."""

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from jaxtyping import ArrayLike, Float

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.report.summary import count_words
from jaxonline.results.report.tables import Interval, Printed, Table, Text
from jaxonline.results.statistics.across_games import AGGREGATES, NormalisedRuns, percentile_estimate, resample_runs
from jaxonline.results.statistics.intervals import Estimate

Limit = str | Mapping[str, float]
MIN_STANDARD_ERRORS = 4.0  # between the losses that become 0 and 1


@dataclass(frozen=True, eq=False, repr=False)
class AcrossGames(Printed):
    """Statistics of the losses of L learners over the runs of G games, with stratified bootstrap intervals.

    Losses of different games have different scales, so they are normalised by (loss - best) / (reference - best). The
    caller chooses both limits. A regret divided by the regret of a learner has `reference="name of the learner"`, and
    the default `best=None`, which means 0. A run that failed or ran out of storage counts as an infinite loss.

    The intervals hold for these games, not for other games: runs are resampled, games are not. A resample draws the
    same runs for all learners, since learners face the same noise in a run. Percentile intervals are approximate for
    few runs (docs/many-games.md has their coverage). Each interval has the level `level` alone. If a limit is the mean
    of a learner, the aggregates have no intervals (NaN): the error of this mean would have to be in them.

    Args:
        learners: names of the learners.
        losses: by game, the regret or loss of each learner and run [L, R]; NaN in failed runs.
        reference: loss that becomes 1: the mean of the learner with this name, or a number for each game.
        best: loss that becomes 0, of the same kind; by default the number 0.
        level: level of the intervals.
        quantity: name of the loss, for titles.

    Raises:
        TypeError: a limit is neither a name nor a dictionary.
        ValueError: fewer than two runs, an unknown learner or game, a learner with failed runs as a limit, or a
            `reference` that is not clearly above `best` in a game (in each run, or by 4 standard errors in the mean).

    References:
        Agarwal, Schwarzer, Castro, Courville and Bellemare (2021), "Deep reinforcement learning at the edge of the
        statistical precipice". Their library rliable uses scores, of which larger ones are better, that are normalised
        before; it resamples the runs of each learner separately.

    Example:
        >>> import jaxonline as jo
        >>> noise = np.random.default_rng(0).normal(size=(2, 30))
        >>> losses = {"easy": np.array([[20.0], [10.0]]) + noise, "hard": np.array([[300.0], [240.0]]) + noise}
        >>> across = jo.results.AcrossGames(("a", "b"), losses, reference="a")
        >>> across.aggregates["interquartile mean"].mean.round(2).tolist()
        [1.0, 0.68]
        >>> across.probability_of_improvement("b", "a").mean.item()
        1.0
    """

    learners: tuple[str, ...]
    losses: Mapping[str, Float[ArrayLike, "L R"]]
    reference: Limit
    best: Limit | None = None
    level: float = 0.95
    quantity: str = "loss"

    def __post_init__(self) -> None:
        check.texts("learners", self.learners)
        check.text("quantity", self.quantity)
        check.number("level", self.level, gt=0.0, lt=1.0)
        check.instance("losses", self.losses, Mapping, "a dictionary of losses by game")
        if not self.losses:
            raise ArgumentError("losses", "must have at least one entry (got none)")
        for game, array in self.losses.items():
            shape = np.shape(array)
            if len(shape) != 2 or shape[0] != len(self.learners) or shape[1] < 2:
                raise ArgumentError(
                    f"losses[{game!r}]", f"must have {len(self.learners)} learners and at least two runs (got {shape})"
                )
        self._check_limits()

    @property
    def games(self) -> tuple[str, ...]:
        """Names [G]."""
        return tuple(self.losses)

    @cached_property
    def aggregates(self) -> dict[str, Estimate]:
        """By name, statistics of the normalised losses of each learner [L]; smaller is better.

        The interquartile mean is the mean of the middle half of all runs, where games with different numbers of runs
        have the same weight. The mean and the median are those of the means of the games. The optimality gap is the
        mean of max(normalised loss - 1, 0).
        """
        estimate = self._estimate(self._runs.aggregates)
        if not self._has_fixed_limits:
            missing = np.full_like(estimate.mean, np.nan)
            estimate = estimate._replace(standard_error=missing, low=missing, high=missing)
        return {name: Estimate(*(field[k] for field in estimate)) for k, name in enumerate(AGGREGATES)}

    @cached_property
    def table(self) -> Table:
        """The table of the statistics of all learners, sorted by interquartile mean."""
        rows = [
            {"learner": name}
            | {
                f"{key}{end}": float(field[i])
                for key, estimate in self.aggregates.items()
                for end, field in (("", estimate.mean), ("_low", estimate.low), ("_high", estimate.high))
            }
            for i, name in enumerate(self.learners)
        ]
        rows.sort(key=lambda row: row[AGGREGATES[0]])  # type: ignore[arg-type, return-value]
        columns = [Text("learner"), *(Interval(key, "\n".join(key.split())) for key in AGGREGATES)]
        title = f"Across {count_words(len(self.games), 'game')}: normalised {self.quantity}"
        intervals = self._intervals if self._has_fixed_limits else "Intervals need numbers as limits."
        return Table(title, rows, columns, caption=f"{self.normalisation} Smaller is better. {intervals}")

    @property
    def normalisation(self) -> str:
        """A sentence that says which losses are 0 and 1."""
        if self.best is None:
            return f"In each game, divided by {_describe(self.reference)}."
        return f"In each game, 0 is {_describe(self.best)} and 1 is {_describe(self.reference)}."

    def probability_of_improvement(self, first: str, second: str, *, paired: bool = False) -> Estimate:
        """Return the probability that `first` has a smaller loss than `second` in a run, averaged over games.

        Equal losses count half. This number needs no normalisation.

        Args:
            first: name of a learner.
            second: name of another learner.
            paired: whether to compare losses in the same run, so with the same instances and noise. By default, all
                pairs of runs are compared, as in Agarwal et al. (2021). If learners share noise, the R pairs of equal
                runs among R² pairs bias the default by at most 1 / R.

        Example:
            >>> across = AcrossGames(("a", "b"), {"game": np.array([[1.0, 3.0], [2.0, 4.0]])}, {"game": 2.0})
            >>> [across.probability_of_improvement("a", "b", paired=paired).mean.item() for paired in (True, False)]
            [1.0, 0.75]
        """
        i, j = (self.learners.index(check.choice("learners", name, self.learners)) for name in (first, second))
        check.flag("paired", paired)
        estimate = self._estimate(lambda counts: self._runs.improvement(counts, i, j, paired))
        # percentiles of equal resamples have no width: the largest share of an event that no run shows
        independent = min(self._n_runs) // (1 if paired else 2)
        rare = min(np.log(2.0 / (1.0 - self.level)) / (independent * len(self.games)), 1.0)
        low = np.where(estimate.mean == 1.0, np.minimum(estimate.low, 1.0 - rare), estimate.low)
        high = np.where(estimate.mean == 0.0, np.maximum(estimate.high, rare), estimate.high)
        return estimate._replace(low=low, high=high)

    def improvements(self, against: str | None = None, *, paired: bool = False) -> Table:
        """Return the table of `probability_of_improvement` for all pairs, or for all learners against one."""
        if against is None:
            pairs = list(itertools.combinations([row["learner"] for row in self.table.rows], 2))
        else:
            check.choice("against", against, self.learners)
            pairs = [(name, against) for name in self.learners if name != against]
        rows = []
        for first, second in pairs:
            chance = self.probability_of_improvement(first, second, paired=paired)
            ends = {"probability": float(chance.mean), "low": float(chance.low), "high": float(chance.high)}
            rows.append({"first": first, "second": second} | ends)
        columns = (Text("first"), Text("second"), Interval("probability", form="{:.2f}", brackets=True))
        runs = "in the same run" if paired else "in independent runs"
        caption = f"Average over games of P(smaller {self.quantity}) + P(equal) / 2 {runs}. {self._intervals}"
        return Table("Probability that the first learner is better than the second", rows, columns, caption=caption)

    @property
    def _intervals(self) -> str:
        return f"{100 * self.level:.6g} % stratified bootstrap intervals, for these games and each alone."

    @property
    def _has_fixed_limits(self) -> bool:
        return not any(isinstance(limit, str) for limit in (self.best, self.reference))

    @cached_property
    def _runs(self) -> NormalisedRuns:
        losses = [np.asarray(array, float) for array in self.losses.values()]
        best, reference = (
            np.array([array[limit].mean() for array in losses]) if isinstance(limit, int) else limit
            for limit in (self._limit(self.best), self._limit(self.reference))
        )
        return NormalisedRuns([np.where(np.isnan(array), np.inf, array) for array in losses], best, reference)

    @property
    def _n_runs(self) -> list[int]:
        return [np.shape(array)[1] for array in self.losses.values()]

    def _estimate(self, statistic: Any) -> Estimate:
        return percentile_estimate(*resample_runs(statistic, self._n_runs), self.level, sum(self._n_runs))

    def _limit(self, limit: Limit | None) -> int | np.ndarray:
        if isinstance(limit, str):
            return self.learners.index(limit)
        return np.array([0.0 if limit is None else float(limit[game]) for game in self.games])

    def _check_limits(self) -> None:
        for name, limit in (("best", self.best), ("reference", self.reference)):
            if isinstance(limit, str):
                check.choice(name, limit, self.learners)
            elif limit is not None or name == "reference":
                wanted = "the name of a learner or a dictionary of numbers by game"
                numbers = check.instance(name, limit, Mapping, wanted)
                for game in self.games:
                    if game not in numbers:
                        raise ArgumentError(name, f"must have a number for each game (got none for {game!r})")
                    check.number(f"{name}[{game!r}]", numbers[game])
        best, reference = self._limit(self.best), self._limit(self.reference)
        for k, (game, array) in enumerate(self.losses.items()):
            losses = np.asarray(array, float)
            zero, one = (losses[limit] if isinstance(limit, int) else limit[k] for limit in (best, reference))
            gap = np.broadcast_to(one - zero, losses.shape[1:])
            if np.isnan(gap).any():
                raise ArgumentError("reference", f"must have no failed run, nor must `best` (got one in {game!r})")
            if gap.min() <= 0 and gap.mean() <= MIN_STANDARD_ERRORS * gap.std(ddof=1) / np.sqrt(len(gap)):
                raise ArgumentError(
                    "reference", f"must be above `best` in each run, or by {MIN_STANDARD_ERRORS:g} standard errors "
                    f"(got a mean difference of {gap.mean():.4g} in {game!r}); choose another reference",
                )  # fmt: skip


def _describe(limit: Limit) -> str:
    """Return in words which loss a limit is."""
    return f"the mean of {limit}" if isinstance(limit, str) else "the given number"
