"""The result of a study: losses, regret and queries of every learner and run at the recorded rounds."""

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, ArgumentTypeError
from jaxonline.results import parts, saving
from jaxonline.results.quantities import quantities_of
from jaxonline.results.report import rankings, summary
from jaxonline.results.report.tables import Table
from jaxonline.results.statistics import estimates
from jaxonline.results.statistics.intervals import ConfidenceInterval, Estimate, SkewCorrected, check_interval
from jaxonline.results.statistics.means import Growth, QuantileEstimate, quantile_over_runs

if TYPE_CHECKING:
    import pandas
    import xarray
    from matplotlib.axes import Axes

StyleName = Literal["screen", "paper"]


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The numbers of a study: L learners, R runs, G recorded rounds.

    All numbers are float64. A run fails for a learner if one of the learner's losses in this run is NaN or infinite. A
    run overflows if the learner runs out of storage; from then on, the learner deviates from its algorithm. Failed and
    overflowed runs are excluded from the means and counted in `failed` and `overflowed`. Excluding runs biases a mean.

    Attributes:
        learners: names [L].
        runs: indices of the runs [R].
        rounds: the recorded rounds t [G], increasing; the last is the horizon.
        measures: quantities after t rounds by name, each [L, R, G], with further axes for vectors. "cumulative_loss"
            (also for arms with rewards) and "queries" are always among them.
        comparator_loss: the cumulative loss of the best fixed predictor in hindsight after t rounds [L, R, G]; None
            without a comparator. The array is a broadcast view if it is equal for all learners or runs.
        first_nonfinite: the first round with a NaN or infinite loss, 0 if there is none [L, R].
        first_overflow: the first round in which the learner ran out of storage, 0 if there is none [L, R].
        first_out_of_range: the first round with a loss of an arm outside the range that the learner assumes, 0 if there
            is none [L, R]. Such a run counts in the means.
        meta: metadata of the study: game, comparator and learners with their parameters, versions, key, block size,
            devices, "pseudo" (the flag of the game), and the probability of an overflow by learner
            ("overflow_probability"). The metadata of an unfinished study also contain the number of missing runs by
            learner ("missing"), and under "comparator_loss" the number of runs without a comparator loss, whose
            regret is NaN. If a `Precision` chose the number of runs, "precision" says whether the mean is biased by
            stopping ("biased_mean"), and below which probability events may be missing ("unseen_probability").
        interval: the kind of interval that means, rankings and differences have by default, one of `jo.intervals`:
            `SkewCorrected`, or `Anytime` or `Betting` if `simulate(stop=Precision(...))` or
            `simulate(stop=UntilDecided(...))` chose the number of runs.

    Raises:
        ValueError: if a learner or a run occurs twice, a shape is wrong, or a measure has a reserved name ("run", ...).

    Example:
        >>> import jax, numpy as np, jaxonline as jo
        >>> game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
        >>> learner = jo.GradientLearner(jo.estimators.FullGradient(), step_size=0.5)
        >>> result = jo.simulate(game, {"gradient": learner}, n_runs=2, n_rounds=6, comparator=jo.L2Ball(2.0))
        >>> result.regret.shape, float(result.mean().mean[0, -1])
        ((1, 2, 6), 3.0)
    """

    learners: tuple[str, ...]
    runs: np.ndarray
    rounds: np.ndarray
    measures: Mapping[str, np.ndarray]
    comparator_loss: np.ndarray | None = None
    first_nonfinite: np.ndarray = None  # type: ignore[assignment]
    first_overflow: np.ndarray = None  # type: ignore[assignment]
    first_out_of_range: np.ndarray = None  # type: ignore[assignment]
    meta: dict[str, Any] = field(default_factory=dict)
    interval: ConfidenceInterval = field(default_factory=SkewCorrected)

    def __post_init__(self) -> None:
        check.texts("learners", self.learners)
        check.instance("measures", self.measures, Mapping, "a dictionary of arrays")
        check.instance("meta", self.meta, Mapping, "a dictionary")
        check_interval(self.interval)
        parts.check_shapes(self)
        parts.complete_first_rounds(self)

    @property
    def cumulative_loss(self) -> np.ndarray:
        """The learner's cumulative loss after t rounds [L, R, G]."""
        return self.measures["cumulative_loss"]

    @property
    def queries(self) -> np.ndarray:
        """The number of queries charged by the oracle in t rounds [L, R, G]."""
        return self.measures["queries"]

    @property
    def regret(self) -> np.ndarray:
        """The learner's cumulative loss minus that of the best fixed predictor in hindsight [L, R, G].

        Raises:
            ValueError: if the study has no comparator.
        """
        if self.comparator_loss is None:
            raise ArgumentError("comparator", estimates.NO_COMPARATOR)
        return self.cumulative_loss - self.comparator_loss

    @property
    def failed(self) -> np.ndarray:
        """The number of runs [L] in which the learner's loss was NaN or infinite."""
        return (self.first_nonfinite > 0).sum(axis=1)

    @property
    def overflowed(self) -> np.ndarray:
        """The number of runs [L] in which the learner ran out of storage."""
        return (self.first_overflow > 0).sum(axis=1)

    @property
    def quantities(self) -> tuple[str, ...]:
        """The names of the measures, and with a comparator "regret" and "comparator_loss"; "..._reward" for rewards."""
        return quantities_of(self)

    def values(self, quantity: str = "regret") -> np.ndarray:
        """Return a quantity [L, R, G, ...], with NaN in excluded runs."""
        return estimates.values(self, quantity)

    def mean(
        self, quantity: str = "regret", level: float = 0.95, interval: ConfidenceInterval | None = None
    ) -> Estimate:
        """Return means over runs with two-sided confidence intervals; fields have the shape [L, G, ...].

        Args:
            quantity: one of the names in `quantities`.
            level: confidence level of each interval.
            interval: one of `jo.intervals`; by default, the attribute `interval` of the result. The numbers `low`
                and `high` of `jo.intervals.Betting` are the smallest and the largest value in one round.

        Warns:
            SkewedRunsWarning: the runs are so skewed at the horizon that the interval may miss the mean.

        Example:
            >>> import numpy as np, jaxonline as jo
            >>> loss = np.array([[[1.0], [3.0]]])
            >>> measures = {"cumulative_loss": loss, "queries": 0 * loss}
            >>> result = jo.Result(learners=("a",), runs=np.arange(2), rounds=np.array([1]), measures=measures)
            >>> result.mean("cumulative_loss").mean.tolist()
            [[2.0]]
        """
        return estimates.mean(self, quantity, level, interval)

    def bands(
        self, quantity: str = "regret", level: float = 0.95, interval: ConfidenceInterval | None = None
    ) -> Estimate:
        """Return means as in `mean`, with bands that hold for a learner at all recorded rounds simultaneously.

        By default, and for `Student`, the bands are those of `simultaneous`; other intervals are corrected for the
        number of rounds (Bonferroni). The quantity must be a number, and not a vector, in each round.

        Warns:
            SkewedRunsWarning: in some round, the runs are so skewed that the bands may miss the mean.
        """
        return estimates.bands(self, quantity, level, interval)

    def ranking(
        self, quantity: str = "regret", level: float = 0.95, interval: ConfidenceInterval | None = None
    ) -> rankings.Ranking:
        """Rank learners by their mean at the horizon from the best, and test which of them differ.

        Learners face the same instances and noise in the same run, so the tests are paired. The p-values have Holm's
        correction for all pairs of learners. `level` is the confidence level of each interval, and of all statements
        "these two learners differ" together.

        The tests belong to the intervals of `mean` and `paired_difference`: by default paired t-tests for few or
        skewed runs (`jo.intervals.SkewCorrected`). Those of `jo.intervals.Betting(low, high)` hold for any number of
        runs of bounded losses. The attribute `missing` of the ranking has the probability of events that the runs may
        have missed, and the cost that reverses a decision.

        The level holds for one ranking. If you rank after every 100 runs and stop at the first difference, 15 to 20 %
        of studies with equal learners find one. Use `jo.simulate(..., stop=jo.UntilDecided(margin=...))` instead.

        Warns:
            SkewedRunsWarning: the differences of two learners are skewed over the runs, or as in `mean`.

        Example:
            >>> import numpy as np, jaxonline as jo
            >>> noise = np.random.default_rng(0).normal(size=(3, 30, 1))
            >>> loss = np.array([5.0, 1.0, 1.0]).reshape(3, 1, 1) + noise
            >>> measures = {"cumulative_loss": loss, "queries": 0 * loss}
            >>> result = jo.Result(("a", "b", "c"), np.arange(30), np.array([1]), measures)
            >>> ranking = result.ranking("cumulative_loss")
            >>> dict(zip(ranking.learners, ranking.letters, strict=True))
            {'c': 'a', 'b': 'a', 'a': 'b'}
        """
        return rankings.rank(self, quantity, level, interval)

    @property
    def decisions(self) -> rankings.Decisions:
        """The decisions of `simulate(stop=UntilDecided(...))` about all pairs of learners; see `UntilDecided`.

        Raises:
            ValueError: another rule, or no rule, chose the number of runs.
        """
        return rankings.read_decisions(self)

    def paired_difference(
        self, first: str, second: str, quantity: str = "regret", level: float = 0.95,
        interval: ConfidenceInterval | None = None,
    ) -> Estimate:  # fmt: skip
        """Return the mean of `first` minus `second` over common runs, with an interval; fields are [G].

        The interval of the difference, by default of the same kind as those of `mean`, is narrower than the two
        intervals of `mean` suggest, since both learners face the same instances and noise in a run.

        Warns:
            SkewedRunsWarning: the differences are so skewed at the horizon that the interval may miss their mean.
        """
        at = self._at("first", first), self._at("second", second)
        return estimates.paired_difference(self, *at, quantity, level, interval)

    def quantiles(self, probabilities: ArrayLike = (0.05, 0.5, 0.95), quantity: str = "regret") -> np.ndarray:
        """Return quantiles over runs [Q, L, G]."""
        wanted = np.asarray(check.numbers("probabilities", probabilities, ge=0.0, le=1.0), float)
        with warnings.catch_warnings(action="ignore", category=RuntimeWarning):  # learners that failed in all runs
            return np.nanquantile(self.values(quantity), wanted, axis=1)

    def quantile_interval(
        self, probability: float = 0.95, quantity: str = "regret", level: float = 0.95
    ) -> QuantileEstimate:
        """Return a quantile over runs with a confidence interval for any distribution; fields are [L, G].

        The estimate and the ends of its interval are values of runs; `quantiles` interpolates between runs. An end is
        infinite if there are too few runs: the upper end for the probability 0.95 and the level 0.95 needs 72 runs.
        A theorem's bound with probability 0.95 (`bounds.with_high_probability`) is a bound on the quantile 0.95.

        Args:
            probability: the quantile; 0.95 for the value that 95 % of the runs do not exceed.
            quantity: a quantity that is a number in each round, as in `mean`.
            level: confidence level of each interval.

        Raises:
            ValueError: the probability or the level is not between 0 and 1.

        Example:
            >>> import numpy as np, jaxonline as jo
            >>> loss = np.arange(1.0, 101.0).reshape(1, 100, 1)
            >>> measures = {"cumulative_loss": loss, "queries": 0 * loss}
            >>> result = jo.Result(learners=("a",), runs=np.arange(100), rounds=np.array([1]), measures=measures)
            >>> estimate = result.quantile_interval(0.9, "cumulative_loss")
            >>> estimate.value.item(), estimate.low.item(), estimate.high.item()
            (90.0, 84.0, 96.0)
        """
        check.number("probability", probability, gt=0.0, lt=1.0)
        check.number("level", level, gt=0.0, lt=1.0)
        estimates.check_number(self, quantity)
        return quantile_over_runs(self.values(quantity), probability, level)

    def growth(
        self, first_round: int | None = None, quantity: str = "regret", level: float = 0.95
    ) -> dict[str, Growth]:
        """Return for each learner the exponent a of the mean's growth t^a, with its interval (`statistics.growth`).

        The exponent of the regret is at most 1/2 for a learner with steps eta / sqrt(t), and 1 for a learner that
        converges to a wrong hypothesis.

        Args:
            first_round: the first recorded round that is used, by default an eighth of the horizon. At least two
                recorded rounds must be used.
            quantity: the quantity, as in `mean`.
            level: confidence level of the intervals.

        Example:
            >>> import numpy as np, jaxonline as jo
            >>> rounds = np.array([10, 100, 1000])
            >>> loss = np.sqrt(rounds) * np.ones((1, 2, 1))
            >>> measures = {"cumulative_loss": loss, "queries": 0 * loss}
            >>> result = jo.Result(learners=("a",), runs=np.arange(2), rounds=rounds, measures=measures)
            >>> round(result.growth(10, "cumulative_loss")["a"].exponent, 9)
            0.5
        """
        return estimates.growth_exponents(self, first_round, quantity, level)

    def select(self, *learners: str, runs: slice | Sequence[int] | np.ndarray = slice(None)) -> "Result":
        """Select learners by name, in the given order (all if none is named), and runs by position.

        `runs` is a slice or an array of positions, for example to choose a step size on some runs and report others.
        """
        if learners and isinstance(learners[0], list | tuple):
            got = check.quote(learners[0])
            raise ArgumentTypeError("learners", f"must be names, as in select('a', 'b') (got {got})")
        return parts.select_runs(self, [self._at("learners", name) for name in learners or self.learners], runs)

    def merge_runs(self, other: "Result") -> "Result":
        """Merge the distinct runs of two parts of a study with the same learners, rounds and measures."""
        return parts.merge_runs(self, other)

    def merge_learners(self, other: "Result") -> "Result":
        """Merge the learners of two results of one game with the same key, runs, rounds and measures.

        So a learner joins a finished study, and only its own runs are computed. Learners face the same noise in each
        run, as if they had been simulated together.
        """
        return parts.merge_learners(self, other)

    def _at(self, argument: str, name: str) -> int:
        return self.learners.index(check.choice(argument, name, self.learners))

    def to_xarray(self) -> "xarray.Dataset":
        """Return the numbers as an xarray Dataset with the dimensions learner, run and round, for netCDF and zarr.

        Raises:
            ModuleNotFoundError: xarray is not installed (extra `xarray`).
        """
        return saving.to_xarray(self)

    def save(self, path: str | Path) -> Path:
        """Write all numbers and metadata into one .npz file, which has a digest; an earlier result is replaced.

        Raises:
            FileExistsError: if the path holds anything other than a saved result.
            ValueError: the path does not end in .npz, or is a URL.
            OSError: the file cannot be written; the error names the path.
        """
        return saving.save(self, path)

    @classmethod
    def load(cls, path: str | Path) -> "Result":
        """Load a saved result, or the finished runs of a study; see `jo.load_result`."""
        return saving.load_as(cls, path)

    def table(
        self, bounds: Mapping[str, float] | None = None, level: float = 0.95, interval: ConfidenceInterval | None = None
    ) -> list[dict[str, Any]]:
        """Return one row per learner at the horizon: queries, regret with interval and per round, bound, excluded runs.

        `bounds` are a theorem's bounds by learner, numbers or records such as `bounds.two_copies(...)`. `interval` is
        as in `mean`.
        """
        return summary.regret_rows(self, bounds, level, interval)

    def __repr__(self) -> str:
        return summary.result_text(self)

    def _repr_html_(self) -> str:
        return summary.result_html(self)

    def to_pandas(
        self, quantity: str | None = None, level: float = 0.95, interval: ConfidenceInterval | None = None
    ) -> "pandas.DataFrame":
        """Return a tidy DataFrame with one row for each learner, recorded round and (of a vector quantity) entry.

        Columns: learner, round, (entry,) quantity, label, mean, standard_error, low, high, and runs (the number of runs
        in the mean). The default quantity is the regret; without a comparator, the cumulative loss or reward.

        Example:
            >>> import numpy as np, jaxonline as jo
            >>> loss = np.array([[[1.0, 2.0], [3.0, 5.0]]])
            >>> measures = {"cumulative_loss": loss, "queries": 0 * loss}
            >>> result = jo.Result(learners=("a",), runs=np.arange(2), rounds=np.array([1, 2]), measures=measures)
            >>> result.to_pandas()[["learner", "round", "mean", "runs"]].values.tolist()
            [['a', 1, 2.0, 2], ['a', 2, 3.5, 2]]
        """
        return summary.to_pandas(self, quantity, level, interval)

    def to_markdown(
        self, quantity: str | None = None, bounds: Mapping[str, float] | None = None,
        interval: ConfidenceInterval | None = None, *, columns: Sequence[str] | None = None,
    ) -> str:  # fmt: skip
        """Return the table at the horizon in GitHub's Markdown; arguments are as in `to_latex`."""
        table = summary.horizon_table(self, quantity, bounds, interval=interval, for_paper=True, columns=columns)
        return table.markdown() + (f"\n{table.caption}\n" if table.caption else "")

    def to_latex(
        self, quantity: str | None = None, bounds: Mapping[str, float] | None = None,
        interval: ConfidenceInterval | None = None, *, caption: str | None = None, columns: Sequence[str] | None = None,
    ) -> str:  # fmt: skip
        r"""Return the table at the horizon as a LaTeX tabular (package booktabs), from the best learner to the worst.

        The best learner is bold if it differs from each other learner (`ranking`, 95 %). A comment below the table
        names bounds whose assumptions the game violates.

        Args:
            quantity: as in `plot`.
            bounds: the regret bound of a theorem by learner.
            interval: the kind of interval, as in `mean`.
            caption: a caption, which adds a table environment. Formulas between dollar signs stay formulas.
            columns: the columns in their order: "learner", "queries_per_round", the quantity (such as "regret"), the
                quantity with "_per_round", "bound", "failed", "overflowed". By default all, without queries that are
                equal for all learners and without counts of failures that are all 0.

        Raises:
            ValueError: an unknown quantity, column or learner.
        """
        table = summary.horizon_table(self, quantity, bounds, interval=interval, for_paper=True, columns=columns)
        return table.latex(caption) + (f"% {table.caption}\n" if table.caption else "")

    def plot(
        self, path: str | Path | None = None, *, quantity: str | None = None, level: float = 0.95,
        interval: ConfidenceInterval | None = None, bounds: Mapping[str, ArrayLike] | None = None,
        learners: Sequence[str] | None = None, labels: Mapping[str, str] | None = None,
        colours: Mapping[str, Any] | None = None, title: str | None = None, style: StyleName = "screen",
        ax: "Axes | None" = None,
    ) -> "Axes":  # fmt: skip
        r"""Plot the mean of a quantity against rounds with bands; with bounds, a second panel has logarithmic axes.

        A band holds for the whole curve of its learner (`Result.bands`). A result with a single run has no bands. Axes
        are logarithmic if the recorded rounds have logarithmic spacing (`simulate(spacing="log")`). Otherwise, curves
        of sums over rounds start at (0, 0). Up to 21 learners have different colours and dashes; of more learners, the
        best 7 have colours, and the others are grey. If only one round is recorded, the figure is that of `plot_final`,
        without bounds.

        Args:
            path: where to write the figure (the ending sets the format). PDF files embed their fonts. Without a path,
                the figure is one of pyplot, which notebooks show.
            quantity: a quantity that is a number; by default the regret, or the cumulative loss without a comparator.
            level: confidence level of each learner's band.
            interval: the kind of interval, as in `Result.bands`.
            bounds: by learner, a theorem's bound at each recorded round [G]: a dashed line with hollow markers.
            learners: names of the learners to show, in this order; by default all.
            labels: texts in the figure by learner; by default the names.
            colours: colours of Matplotlib by learner; by default those of the style.
            title: title of the figure, in at most two lines.
            style: "screen", or "paper" for one column of a two-column paper. A "paper" figure is 3.25 inches wide, with
                letters of 8 points, a legend below and no title; with bounds, it has one panel with logarithmic axes.
            ax: Matplotlib axes in which to draw, with a legend inside; by default, a new figure. With bounds, the axes
                become logarithmic.

        Returns:
            The Matplotlib axes; `axes.figure` is the figure.

        Raises:
            ValueError: an unknown quantity, learner, colour or style, a wrong length of a bound, or `path` beside `ax`.

        Example:
            >>> import numpy as np, jaxonline as jo
            >>> loss = np.array([[[1.0, 2.0], [3.0, 5.0]]])
            >>> measures = {"cumulative_loss": loss, "queries": 0 * loss}
            >>> result = jo.Result(learners=("a",), runs=np.arange(2), rounds=np.array([1, 2]), measures=measures)
            >>> result.plot().get_ylabel()
            'cumulative loss'
        """
        from jaxonline.results.report.curves import plot_result

        return plot_result(self, path, quantity, level, interval, bounds, (learners, labels, colours), title, style, ax)

    def plot_final(
        self, path: str | Path | None = None, *, quantity: str | None = None, level: float = 0.95,
        interval: ConfidenceInterval | None = None, learners: Sequence[str] | None = None,
        labels: Mapping[str, str] | None = None, colours: Mapping[str, Any] | None = None, title: str | None = None,
        style: StyleName = "screen", ax: "Axes | None" = None,
    ) -> "Axes":  # fmt: skip
        """Plot the distribution over runs of the final regret or another quantity, with a histogram for each learner.

        Below each histogram, a box covers the middle half of the runs with their median, a line covers the middle 90 %,
        and the other runs are points. So a heavy tail is visible. The diamond is the mean with its interval. All
        learners have the same bins. The axis is logarithmic if all values are positive and the largest value is above
        30 times the median. Learners are sorted by their means, and the figure shows at most 40 of them. Failed runs
        are left out.

        Args:
            path: where to write the figure, as in `Result.plot`.
            quantity: a quantity that is a number; by default the regret, or the cumulative loss without a comparator.
            level: confidence level of the interval of each mean.
            interval: the kind of interval, as in `Result.mean`.
            learners: as in `Result.plot`.
            labels: as in `Result.plot`.
            colours: of the histograms, as in `Result.plot`.
            title: title of the figure.
            style: "screen" or "paper", as in `Result.plot`.
            ax: Matplotlib axes in which to draw; by default, a new figure.

        Returns:
            The Matplotlib axes.

        Raises:
            ValueError: an unknown quantity, learner, colour or style, or `path` beside `ax`.

        Warns:
            SkewedRunsWarning: as in `Result.mean`.
        """
        from jaxonline.results.report.distributions import plot_final_values

        return plot_final_values(self, path, quantity, level, interval, (learners, labels, colours), title, style, ax)

    def plot_sweep(
        self, path: str | Path | None = None, *, quantity: str | None = None, level: float = 0.95,
        interval: ConfidenceInterval | None = None, label: str | None = None, title: str | None = None,
        style: StyleName = "screen", ax: "Axes | None" = None,
    ) -> "Axes":  # fmt: skip
        """Plot the final regret, or another quantity at the horizon, against the parameter of a sweep (`jo.sweep`).

        The learners of a sweep have names such as "UCB1[0.5]". The figure shows the mean of each learner of a sweep
        with its interval over its label, and a ring around the best mean. If all labels are numbers, they are the
        positions on the axis, which is logarithmic if the numbers are spaced that way, and lines join the means.
        Learners outside sweeps are horizontal lines with their intervals. The vertical axis is logarithmic if all means
        and limits are positive and the largest mean is above 50 times the smallest.

        The best mean of many is biased: report new runs of the best learner, as with `jo.tune`.

        Args:
            path: where to write the figure, as in `Result.plot`.
            quantity: a quantity that is a number; by default the regret, or the cumulative loss without a comparator.
            level: confidence level of each interval.
            interval: the kind of interval, as in `Result.mean`.
            label: name of the parameter on the axis; by default "parameter".
            title: title of the figure.
            style: "screen" or "paper", as in `Result.plot`.
            ax: Matplotlib axes in which to draw; by default, a new figure.

        Returns:
            The Matplotlib axes.

        Raises:
            ValueError: the result has no sweep with two labels, an unknown quantity or style, or `path` beside `ax`.

        Warns:
            SkewedRunsWarning: as in `Result.mean`.

        Example:
            >>> import numpy as np, jaxonline as jo
            >>> game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
            >>> steps = {step: jo.GradientLearner(jo.estimators.FullGradient(), step) for step in (0.1, 0.3, 1.0)}
            >>> learners = {"gradient": jo.sweep(steps)}
            >>> result = jo.simulate(game, learners, n_runs=2, n_rounds=6, comparator=jo.L2Ball(2.0))
            >>> result.plot_sweep(label="step size").get_xscale()
            'log'
        """
        from jaxonline.results.report.parameters import plot_sweeps

        return plot_sweeps(self, path, quantity, level, interval, label, title, style, ax)

    def plot_pulls(
        self, path: str | Path | None = None, *, learners: Sequence[str] | None = None,
        arms: Sequence[str] | None = None, title: str | None = None, style: StyleName = "screen",
        ax: "Axes | None" = None,
    ) -> np.ndarray:  # fmt: skip
        """Plot how often each arm is pulled over time, with a panel for each learner (measure `jo.Pulls`).

        The heights of the stacked areas are the mean pulls per round between two recorded rounds. In a game with one
        move per round, they are the shares of the arms and add up to 1. Of more than 7 arms, the figure shows the 6
        with most pulls, and all others together in grey.

        Args:
            path: where to write the figure, as in `Result.plot`.
            learners: names of the learners to show; by default all.
            arms: names of all arms [K]; by default "arm 0", "arm 1", ...
            title: title of the figure.
            style: "screen" or "paper", as in `Result.plot`.
            ax: Matplotlib axes in which to draw a single learner; by default, a new figure.

        Returns:
            The Matplotlib axes of the learners [L].

        Raises:
            ValueError: the result has no measure "pulls", an unknown learner or style, a wrong number of arms, or `ax`
                for several learners.

        Example:
            >>> import jaxonline as jo
            >>> game = jo.Game(jo.environments.BernoulliArms([0.2, 0.8]), jo.Bandit(), loss=jo.losses.ArmLoss())
            >>> learners = {"UCB1": jo.learners.UCB1(), "EXP3": jo.learners.EXP3(0.1)}
            >>> result = jo.simulate(game, learners, n_runs=4, n_rounds=50, measures=[jo.Pulls()])
            >>> result.plot_pulls(arms=["good", "bad"]).shape
            (2,)
        """
        from jaxonline.results.report.distributions import plot_pulls_over_time

        return plot_pulls_over_time(self, path, learners, arms, title, style, ax)

    def pulls_table(self, level: float = 0.95, arms: Sequence[str] | None = None) -> Table:
        """Return a table of the mean number of pulls of each arm at the horizon, with intervals (measure `jo.Pulls`).

        Args:
            level: confidence level of each interval.
            arms: names of all arms [K]; by default 0, 1, ...

        Returns:
            A table with a row for each learner and arm: it prints, and has the methods `markdown`, `latex`, `csv`.

        Raises:
            ValueError: the result has no measure "pulls", or a wrong number of arms.

        Example:
            >>> import numpy as np, jaxonline as jo
            >>> pulls = np.array([[[[3, 7]], [[1, 9]]]])
            >>> measures = {"cumulative_loss": pulls[..., 0] / 2, "queries": pulls[..., 0], "pulls": pulls}
            >>> result = jo.Result(("UCB1",), np.arange(2), np.array([10]), measures)
            >>> print(result.pulls_table().markdown())
            | learner | arm | pulls (95 %) | pulls /round |
            | --- | --- | ---: | ---: |
            | UCB1 | 0 | 2 | 0.2000 |
            | UCB1 | 1 | 8 | 0.8000 |
            <BLANKLINE>
        """
        return summary.table_of_pulls(self, level, arms)
