"""The result of a study: losses, regret and queries of every learner and run at the recorded rounds."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, to_one_line
from jaxonline.results import figures, parts, saving
from jaxonline.results.quantities import quantities_of
from jaxonline.results.report import summary, tables
from jaxonline.results.report.formats import escape_markdown
from jaxonline.results.report.formulas import formulas_to_text
from jaxonline.results.statistics import decisions, estimates
from jaxonline.results.statistics.intervals import ConfidenceInterval, Estimate, Student, check_interval
from jaxonline.results.statistics.means import Growth
from jaxonline.results.statistics.quantiles import QuantileEstimate
from jaxonline.results.statistics.ranking import Ranking

if TYPE_CHECKING:
    import pandas
    import xarray


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
        meta: metadata of the study: game, comparator and learners with their parameters, versions, key, block size,
            devices, "pseudo" (the flag of the game), and the probability of an overflow by learner
            ("overflow_probability"). The metadata of an unfinished study also contain the number of missing runs by
            learner ("missing"), and under "comparator_loss" the number of runs without a comparator loss, whose
            regret is NaN. If `simulate(precision=...)` chose the number of runs, "precision" says whether the mean is
            biased by stopping ("biased_mean"), and below which probability events may be missing
            ("unseen_probability").
        interval: the kind of interval that `mean` uses by default, one of `jo.intervals`: `Student`, or `Anytime` or
            `Betting` if `simulate(precision=...)` or `simulate(until=...)` chose the number of runs.

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
    meta: dict[str, Any] = field(default_factory=dict)
    interval: ConfidenceInterval = field(default_factory=Student)

    def __post_init__(self) -> None:
        check.texts("learners", self.learners)
        check.instance("measures", self.measures, Mapping, "a dictionary of arrays")
        check.instance("meta", self.meta, Mapping, "a dictionary")
        check_interval(self.interval)
        parts.check_shapes(self)
        for name in ("first_nonfinite", "first_overflow"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, np.zeros((len(self.learners), len(self.runs)), np.int32))
            parts.check_shape(name, getattr(self, name), (len(self.learners), len(self.runs)), "learners, runs")

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
            interval: one of `jo.intervals`; by default, the attribute `interval` of the result. The limits `low` and
                `high` of `jo.intervals.Bounded` are limits of the quantity in one round.

        Warns:
            SkewedRunsWarning: Student's interval understates one side because the runs are skewed at the horizon.

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

        Student's bands are those of `simultaneous`; other intervals are corrected for the number of rounds
        (Bonferroni). The quantity must be a number, and not a vector, in each round.

        Warns:
            SkewedRunsWarning: in some round, the runs are so skewed that the bands may miss the mean.
        """
        return estimates.bands(self, quantity, level, interval)

    def ranking(
        self, quantity: str = "regret", level: float = 0.95, interval: ConfidenceInterval | None = None
    ) -> Ranking:
        """Rank learners by their mean at the horizon from the best, and test which of them differ.

        Learners face the same instances and noise in the same run, so the tests are paired. The p-values have Holm's
        correction for all pairs of learners. `level` is the confidence level of each interval, and of all statements
        "these two learners differ" together.

        The default tests are paired t-tests for few or skewed runs (`jo.intervals.SkewCorrected`). Those of
        `jo.intervals.Betting(low, high)` hold for any number of runs of bounded losses. The attribute `missing` of the
        ranking has the probability of events that the runs may have missed, and the cost that reverses a decision.

        The level holds for one ranking. If you rank after every 100 runs and stop at the first difference, 15 to 20 %
        of studies with equal learners find one. Use `jo.simulate(..., until=jo.UntilDecided(margin=...))` instead.

        Warns:
            SkewedRunsWarning: few runs decide (`results.statistics.missing_events`), or as in `mean`.

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
        return estimates.ranking(self, quantity, level, interval)

    @property
    def decisions(self) -> decisions.Decisions:
        """The decisions of `simulate(until=UntilDecided(...))` about all pairs of learners; see `UntilDecided`.

        Raises:
            ValueError: another rule, or no rule, chose the number of runs.
        """
        return estimates.decisions(self)

    def paired_difference(
        self,
        first: str,
        second: str,
        quantity: str = "regret",
        level: float = 0.95,
        interval: ConfidenceInterval | None = None,
    ) -> Estimate:
        """Return the mean of `first` minus `second` over common runs, with an interval; fields are [G].

        The interval of the difference (by default Student's) is narrower than the two intervals of `mean` suggest,
        since both learners face the same instances and noise in a run.
        """
        at = self._at("first", first), self._at("second", second)
        return estimates.paired_difference(self, *at, quantity, level, interval)

    def quantiles(self, probabilities: ArrayLike = (0.05, 0.5, 0.95), quantity: str = "regret") -> np.ndarray:
        """Return quantiles over runs [Q, L, G]."""
        wanted = np.asarray(check.numbers("probabilities", probabilities, ge=0.0, le=1.0), float)
        return estimates.quantiles(self, wanted, quantity)

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
        return estimates.quantile_interval(self, probability, quantity, level)

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
        return parts.select_runs(self, [self._at("learners", name) for name in learners or self.learners], runs)

    def merge_runs(self, other: "Result") -> "Result":
        """Merge the distinct runs of two parts of a study with the same learners, rounds and measures."""
        return parts.merge_runs(self, other)

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
        return cls(**saving.read_fields(path))

    def table(
        self, bounds: Mapping[str, float] | None = None, level: float = 0.95, interval: ConfidenceInterval | None = None
    ) -> list[dict[str, Any]]:
        """Return one row per learner at the horizon: queries, regret with interval and per round, bound, excluded runs.

        `bounds` are a theorem's bounds by learner, numbers or records such as `bounds.two_copies(...)`. `interval` is
        as in `mean`.
        """
        return tables.horizon_rows(self, bounds, level, interval)

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
        self,
        quantity: str | None = None,
        bounds: Mapping[str, float] | None = None,
        interval: ConfidenceInterval | None = None,
    ) -> str:
        """Return the table at the horizon in GitHub's Markdown; arguments are as in `to_latex`."""
        table = summary.horizon_table(self, quantity, bounds, interval=interval, for_paper=True)
        return table.markdown() + (f"\n{escape_markdown(formulas_to_text(table.caption))}\n" if table.caption else "")

    def to_latex(
        self,
        quantity: str | None = None,
        bounds: Mapping[str, float] | None = None,
        interval: ConfidenceInterval | None = None,
    ) -> str:
        r"""Return the table at the horizon as a LaTeX tabular (package booktabs), from the best learner to the worst.

        The best learner is bold if it differs from each other learner (`ranking`, 95 %). `bounds` holds the regret
        bound of a theorem by learner. A comment below the table names the events that the runs may have missed.
        """
        table = summary.horizon_table(self, quantity, bounds, interval=interval, for_paper=True)
        return table.latex() + (f"% {to_one_line(table.caption)}\n" if table.caption else "")

    plot, plot_final, plot_sweep = figures.plot, figures.plot_final, figures.plot_sweep
    plot_pulls, pulls_table = figures.plot_pulls, figures.pulls_table
