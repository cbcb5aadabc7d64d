"""What a study measured: losses, regret and queries of every learner and run at the recorded rounds."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results import parts, saving
from jaxonline.results.report import curves, summary, tables
from jaxonline.results.statistics import estimates, means
from jaxonline.results.statistics.intervals import ConfidenceInterval, Estimate, Student, check_interval
from jaxonline.results.statistics.means import Growth
from jaxonline.results.statistics.ranking import Ranking

if TYPE_CHECKING:
    import pandas
    import xarray


@dataclass(frozen=True, eq=False, repr=False)
class Result:
    """The numbers of a study. Sizes: L learners, R runs, G recorded rounds. All numbers are float64.

    A run in which a loss of a learner was NaN or infinite has failed for that learner, and one in which the learner ran
    out of storage is not a run of its algorithm: such runs are left out of the means, counted in `failed` and
    `overflowed`, and shown in the table. Leaving runs out biases a mean, so look at these columns first.

    Attributes:
        learners: names [L].
        runs: indices of the runs [R].
        rounds: rounds t at which was recorded [G], increasing; the last is the horizon.
        measures: what was counted after t rounds, by name, each [L, R, G] or, of a measure that is a vector, with
            further axes; "cumulative_loss" and "queries" are always there. More than 64 MB of numbers in the store of
            a study stay there: an array is read, as a whole or in part, when it is indexed or computed with.
        comparator_loss: of the best fixed predictor in hindsight after t rounds [L, R, G] (a broadcast view where
            learners or runs share it), or None where no comparator was asked for.
        first_nonfinite: the first round with a NaN or infinite loss, 0 where there is none [L, R].
        first_overflow: the first round in which the learner ran out of storage, 0 where there is none [L, R]; by
            default there is none at all.
        meta: how the study was made: in readable words the game, the comparator and the learners with their parameters;
            versions, key, block size, devices, notion of regret; and the probability that a run overflows, by learner,
            as the learners themselves state it ("overflow_probability"). Of a study that is unfinished (`load_result`),
            how many runs are missing, by learner ("missing").
        interval: of means where no other is asked for: one of `jo.intervals`, Student's by default, and `Anytime` where
            the number of runs was chosen by looking (`simulate(precision=...)`).

    It prints as a table of a few lines, in a notebook as well.

    Raises:
        ValueError: if a learner or a run is there twice, an array is not of all learners, runs and rounds, or a measure
            has the name of something else ("run", "round", "learner", "comparator_loss", ...).

    Example:
        >>> import jax, numpy as np
        >>> import jaxonline as jo
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

    def __post_init__(self):
        check.sequence("learners", self.learners, "name")
        for name in self.learners:
            check.text("learners", name)
        check.instance("measures", self.measures, Mapping, "a dictionary of arrays")
        check_interval(self.interval)
        parts.check_shapes(self)
        for name in ("first_nonfinite", "first_overflow"):
            if getattr(self, name) is None:
                object.__setattr__(self, name, np.zeros((len(self.learners), len(self.runs)), np.int32))

    @property
    def cumulative_loss(self) -> np.ndarray:
        """Of the learner after t rounds [L, R, G]."""
        return self.measures["cumulative_loss"]

    @property
    def queries(self) -> np.ndarray:
        """Charged by the oracle in t rounds [L, R, G]."""
        return self.measures["queries"]

    @property
    def regret(self) -> np.ndarray:
        """Cumulative loss minus that of the best fixed predictor in hindsight [L, R, G].

        Raises:
            ValueError: if the study had no comparator.
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
        """What `values`, `mean` and the others can be asked for: measures and, with a comparator, the regret."""
        return (*(("regret", "comparator_loss") if self.comparator_loss is not None else ()), *self.measures)

    def values(self, quantity: str = "regret") -> np.ndarray:
        """A quantity as [L, R, G, ...], NaN in runs left out: "regret", "comparator_loss", or a measure by its name.

        As it was played: of antithetic runs the mean of two plays, and with nothing taken out by control variates.

        Raises:
            ValueError: for a quantity that the study does not have.
        """
        return estimates.values(self, quantity)

    def adjusted(self, quantity: str = "regret") -> np.ndarray:
        """As `values`, less beta times the control variate of the run, where the study has control variates.

        Of "regret" and "cumulative_loss", that is: what means, bands, rankings, differences and growth are made of. The
        expectation is that of `values`, since each run's beta is estimated from the other ones
        (`results.statistics.variance_reduction`).
        """
        return estimates.adjusted_values(self, quantity)

    def variance_reduction(self, quantity: str = "regret") -> np.ndarray:
        """By learner [L], at the horizon: the variance of plain plays over that of what is averaged, per play.

        A run of `simulate(antithetic=True)` is two plays; NaN where runs do not vary. It is in `table` of such studies.
        """
        return estimates.reduction(self, quantity)

    def mean(
        self, quantity: str = "regret", level: float = 0.95, interval: ConfidenceInterval | None = None
    ) -> Estimate:
        """Means over runs with two-sided intervals of the given level; fields have the shape [L, G, ...].

        Args:
            quantity: "regret", "comparator_loss", or a measure by its name.
            level: of each interval.
            interval: one of `jo.intervals`; by default that of the result. The limits of `Bounded` are those of the
                quantity in one round.

        Warns:
            SkewedRunsWarning: Student's interval of runs that are skewed at the horizon, which understates one side.

        Example:
            >>> import numpy as np
            >>> import jaxonline as jo
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
        """As `mean`, with bands that hold at all recorded rounds together, for each learner (`simultaneous`).

        With `interval`, other than Student's: intervals corrected for the number of recorded rounds (Bonferroni).

        Raises:
            ValueError: the quantity is a vector in each round.
        """
        return estimates.bands(self, quantity, level, interval)

    def ranking(
        self, quantity: str = "regret", level: float = 0.95, interval: ConfidenceInterval | None = None
    ) -> Ranking:
        """The learners from the smallest mean at the horizon to the largest, and which of them differ.

        Learners of a study face the same instances and noise in the same run, so differences are paired; all pairs are
        compared, with Holm's correction for their number.

        Args:
            quantity: as in `mean`.
            level: of all statements together, and of each interval.
            interval: of the means and of the tests of pairs; by default that of the result, and paired t-tests.

        Example:
            >>> import numpy as np
            >>> import jaxonline as jo
            >>> noise = np.random.default_rng(0).normal(size=(3, 30, 1))
            >>> loss = np.array([5.0, 1.0, 1.0]).reshape(3, 1, 1) + noise
            >>> measures = {"cumulative_loss": loss, "queries": 0 * loss}
            >>> result = jo.Result(("a", "b", "c"), np.arange(30), np.array([1]), measures)
            >>> ranking = result.ranking("cumulative_loss")
            >>> dict(zip(ranking.learners, ranking.letters, strict=True))
            {'c': 'a', 'b': 'a', 'a': 'b'}
        """
        return estimates.ranking(self, quantity, level, interval)

    def paired_difference(
        self,
        first: str,
        second: str,
        quantity: str = "regret",
        level: float = 0.95,
        interval: ConfidenceInterval | None = None,
    ) -> Estimate:
        """Mean of first minus second over common runs, with its interval (Student's by default); fields have shape [G].

        Learners of a study face the same instances and noise in the same run, so this interval is narrower than
        the two of `mean` suggest.
        """
        at = self._at("first", first), self._at("second", second)
        return estimates.paired_difference(self, *at, quantity, level, interval)

    def quantiles(self, probabilities: Any = (0.05, 0.5, 0.95), quantity: str = "regret") -> np.ndarray:
        """Quantiles over runs [Q, L, G]."""
        wanted = np.asarray(check.numbers("probabilities", probabilities, ge=0.0, le=1.0), float)
        return estimates.quantiles(self, wanted, quantity)

    def growth(
        self, first_round: int | None = None, quantity: str = "regret", level: float = 0.95
    ) -> dict[str, Growth]:
        """By learner, the exponent a with which the mean grows like t^a, with its interval (`statistics.growth`).

        Regret of a learner that learns grows at most like sqrt(t) where its steps are eta / sqrt(t); that of one that
        converges to a wrong hypothesis like t.

        Args:
            first_round: recorded rounds before it are left out; by default an eighth of the horizon.
            quantity: as in `mean`.
            level: of the intervals.

        Raises:
            ValueError: fewer than two recorded rounds from `first_round` on.

        Example:
            >>> import numpy as np
            >>> import jaxonline as jo
            >>> rounds = np.array([10, 100, 1000])
            >>> loss = np.sqrt(rounds) * np.ones((1, 2, 1))
            >>> measures = {"cumulative_loss": loss, "queries": 0 * loss}
            >>> result = jo.Result(learners=("a",), runs=np.arange(2), rounds=rounds, measures=measures)
            >>> round(result.growth(10, "cumulative_loss")["a"].exponent, 9)
            0.5
        """
        if first_round is not None:
            check.number("first_round", first_round)
        late = self.rounds >= (self.rounds[-1] / 8 if first_round is None else first_round)
        if late.sum() < 2:
            raise ArgumentError(
                "first_round", f"must leave at least two recorded rounds (got {first_round} and {self.rounds})"
            )
        since = int(np.argmax(late))
        return {
            name: means.growth(self.rounds[late], estimates.curves(self, quantity, i, since), level)
            for i, name in enumerate(self.learners)
        }

    def select(self, *learners: str, runs: Any = slice(None)) -> "Result":
        """The result of some of the learners, in the given order, all of them where none is named.

        Args:
            learners: names.
            runs: positions on the axis of runs, a slice or an array: some runs to choose a step size, the others to
                report.

        Raises:
            ValueError: a learner that the study does not have, or a run that is asked for twice.
        """
        return parts.select_runs(self, [self._at("learners", name) for name in learners or self.learners], runs)

    def merge_runs(self, other: "Result") -> "Result":
        """The same study with the runs of another part of it, too.

        Raises:
            ValueError: other learners, rounds or measures, or a run that both have.
        """
        return parts.merge_runs(self, other)

    def _at(self, argument: str, name: str) -> int:
        return self.learners.index(check.choice(argument, name, self.learners))

    @property
    def dataset(self) -> "xarray.Dataset":
        """The numbers as a labelled xarray Dataset with dimensions learner, run, round."""
        return saving.to_dataset(self)

    def save(self, path: str | Path) -> Path:
        """Write a zarr store that xarray and any zarr reader can open, replacing a result that is there.

        In a folder it is written beside its place and moved there: whenever this is killed, the old or the new one is
        whole. At a URL (`s3://...`, what fsspec reaches) it is written below it, in `.unfinished`, before the one that
        is there is removed. It is laid out as the store of a study (`simulate(checkpoint=...)`), which is not replaced.

        Numbers that stay in a store (more than 64 MB) can no longer be read where this replaces that store with other
        numbers: load the new one.

        Raises:
            FileExistsError: if something else is at the path, whatever it is, or was put into the result there.
            ValueError: a path without a name, such as "..", a path that was made of a URL, or a URL that nothing
                reaches.
            OSError: it cannot be written; the error names the path.
        """
        return saving.save(self, path)  # type: ignore[return-value]

    @classmethod
    def load(cls, path: str | Path) -> "Result":
        """What `save` wrote, or the runs of a study that are finished: `jo.load_result`."""
        return cls(**saving.read_fields(path))

    def table(
        self, bounds: Mapping[str, float] | None = None, level: float = 0.95, interval: ConfidenceInterval | None = None
    ) -> list[dict[str, Any]]:
        """One row per learner at the horizon: learner, queries, regret with interval, per round, bound, runs left out.

        Args:
            bounds: what a theorem promises, by learner.
            level: of the interval.
            interval: of the regret, as in `mean`.

        Raises:
            ValueError: a bound for a learner that the study does not have, or one that is no number.
        """
        return tables.horizon_rows(self, bounds, level, interval)

    def __repr__(self) -> str:
        return summary.result_text(self)

    def _repr_html_(self) -> str:
        return summary.result_html(self)

    def to_pandas(
        self, quantity: str | None = None, level: float = 0.95, interval: ConfidenceInterval | None = None
    ) -> "pandas.DataFrame":
        """A tidy table: one row for each learner and recorded round (and, of a measure that is a vector, entry).

        Columns: learner, round, (entry,) quantity, label, mean, standard_error, low, high, runs (in the mean).

        Args:
            quantity: as in `mean`; by default the regret, or the cumulative loss where there is no comparator.
            level: of each interval.
            interval: as in `mean`.

        Example:
            >>> import numpy as np
            >>> import jaxonline as jo
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
        """The table at the horizon, learners from the best to the worst, in GitHub's Markdown; see `to_latex`."""
        return summary.horizon_table(self, quantity, bounds, interval=interval, for_paper=True).markdown()

    def to_latex(
        self,
        quantity: str | None = None,
        bounds: Mapping[str, float] | None = None,
        interval: ConfidenceInterval | None = None,
    ) -> str:
        r"""The table at the horizon as a tabular, for LaTeX with the package booktabs.

        Learners come from the best to the worst. The first is in bold type if it differs from each of the others
        (`ranking`: paired tests of all pairs with Holm's correction, 95 %), and else nothing is.

        Args:
            quantity: as in `mean`; by default the regret, or the cumulative loss where there is no comparator.
            bounds: what a theorem promises, by learner.
            interval: as in `ranking`.
        """
        return summary.horizon_table(self, quantity, bounds, interval=interval, for_paper=True).latex()

    def plot(self, path: str | Path | None = None, **options: Any) -> Any:
        """Mean against rounds with interval bands, and bounds; see `jaxonline.results.report.curves.plot_result`."""
        return curves.plot_result(self, path, **options)
