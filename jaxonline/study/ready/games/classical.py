"""Base class of the classical games: learners in one environment, a measured quantity, and a theorem that bounds it."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from jaxonline.bounds.regret_bound import Assumptions, unmet_assumptions, with_assumptions
from jaxonline.game import Game
from jaxonline.results import Result
from jaxonline.results.report.tables import EXCLUDED_RUNS_COLUMNS, Interval, Number, Table, Text
from jaxonline.results.statistics.estimates import learners_with_skewed_runs, missing_from
from jaxonline.results.statistics.intervals import Bounded, ConfidenceInterval
from jaxonline.study import Context, Report, Study
from jaxonline.study.study import Names, select_by_name

Bound = Callable[[int], Any]  # a number, with its assumptions if the function is one of `jaxonline.bounds`


class Setting(NamedTuple):
    """A classical game with its learners, bounds and measures."""

    game: Game
    learners: Mapping[str, Any]
    bounds: Mapping[str, Bound]  # the bound after t rounds, by learner
    sentences: Sequence[str]  # the theorems
    comparator: Any = None
    measures: Sequence[Any] = ()  # as in `simulate`; each number becomes a column of the table
    quantity: str = "regret"  # the plotted and bounded quantity: "regret" or a measure
    limits: tuple[float, float] | None = None  # of the quantity in one round, if it is bounded
    interval: ConfidenceInterval | None = None  # of the quantity, Student's by default
    form: str | None = None  # of the numbers in the table


class ClassicalGame(Study):
    """Base class of classical games: a game defines `setting`, and inherits runs, rounds and the report."""

    title: ClassVar[str] = ""
    on_logarithmic_axes: ClassVar[bool] = False
    runs: int = Field(256, ge=2, le=1_000_000, description="Runs of each learner.")
    rounds: int = Field(1000, ge=2, le=100_000_000, description="The horizon.")
    only: Names = Field((), description="Learners, named as in the table; by default all.")

    @abstractmethod
    def setting(self) -> Setting:
        """Return the game, its learners, and the theorems' bounds."""

    def run(self, context: Context) -> Report:
        setting = self.setting()
        learners = select_by_name("only", self.only, setting.learners)
        result = context.simulate(
            setting.game, learners, n_runs=self.runs, n_rounds=self.rounds, comparator=setting.comparator,
            measures=setting.measures, record_at=self._record_at(),
        )  # fmt: skip
        bounds = {name: bound for name, bound in setting.bounds.items() if name in learners}
        curves = {name: _curve([bound(int(t)) for t in result.rounds]) for name, bound in bounds.items()}
        title = f"{self.title.rstrip('.')}: {self.runs:,} runs of {self.rounds:,} rounds"
        with warnings.catch_warnings(record=True) as caught:  # warnings of skewed runs become remarks
            warnings.simplefilter("always", RuntimeWarning)
            table = Table(title, _rows(result, setting, curves), _columns(setting, result))
        remarks = [f"Note: {message}." for message in dict.fromkeys(str(warning.message) for warning in caught)]
        remarks += unmet_assumptions(
            {name: bound(self.rounds) for name, bound in bounds.items()}, setting.game.oblivious
        )
        remarks += _distribution_free_intervals(result, setting)
        remarks.append(missing_from(result, setting.quantity).sentence)
        return Report(
            {"table": table},
            {"figure": lambda: result.plot(quantity=setting.quantity, bounds=curves or None)},
            [*setting.sentences, *remarks],
            {"result": result},
        )

    def _record_at(self) -> Any:
        """Return about 40 recorded rounds; each recorded round is the end of one of 200 equal segments."""
        if not self.on_logarithmic_axes:
            return min(40, self.rounds)
        segment = max(1, self.rounds // 200)
        return (segment * np.unique(np.geomspace(1, self.rounds // segment, 40).round().astype(int))).tolist()


def _curve(values: Sequence[Any]) -> np.ndarray:
    """Return bounds after each recorded round as an array with the assumptions of the last one."""
    return with_assumptions(np.array(values, float), getattr(values[-1], "assumptions", Assumptions()))


def _distribution_free_intervals(result: Result, setting: Setting) -> list[str]:
    """Return a sentence with distribution-free intervals of learners with skewed runs, if the quantity is bounded."""
    names = learners_with_skewed_runs(result, setting.quantity)
    if not names or setting.limits is None:
        return []
    estimate = result.select(*names).mean(setting.quantity, interval=Bounded(*setting.limits))
    intervals = [f"{name} {estimate.low[i, -1]:,.1f} to {estimate.high[i, -1]:,.1f}" for i, name in enumerate(names)]
    low, high = setting.limits
    return [
        f"Note: the {setting.quantity} of a round lies between {low:g} and {high:g}; the 95 % intervals without "
        f"further assumptions are {'; '.join(intervals)}."
    ]


def _rows(result: Result, setting: Setting, curves: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
    """Return one row for each learner, with its quantity, bound and other measures (with intervals) at the horizon."""
    estimate = result.mean(setting.quantity, interval=setting.interval)
    others = {measure.name: result.mean(measure.name) for measure in _other_measures(setting, result)}
    return [
        {
            "learner": name,
            "mean": float(estimate.mean[i, -1]), "low": float(estimate.low[i, -1]), "high": float(estimate.high[i, -1]),
            "bound": float(curves[name][-1]) if name in curves else None,
            **{
                key + end: float(values[i, -1])
                for key, other in others.items()
                for end, values in (("", other.mean), ("_low", other.low), ("_high", other.high))
            },
            "failed": int(result.failed[i]), "overflowed": int(result.overflowed[i]),
        }
        for i, name in enumerate(result.learners)
    ]  # fmt: skip


def _columns(setting: Setting, result: Result) -> tuple[Text, ...]:
    names = [measure.name for measure in _other_measures(setting, result)]
    others = [Interval(name, name.replace("_", " "), setting.form or "{:.1f}") for name in names]
    quantity = setting.quantity.replace("_", " ")
    bounds = [Number("bound", "theorem's\nbound", setting.form or "{:,.1f}")] if setting.bounds else []
    return (
        Text("learner"),
        Interval(
            "mean",
            f"{quantity}\n(95 %)",
            setting.form or ("{:.2f}" if setting.interval is None else "{:.4f}"),
            brackets=setting.interval is not None,
        ),
        *bounds,
        *others,
        *EXCLUDED_RUNS_COLUMNS,
    )


def _other_measures(setting: Setting, result: Result) -> list[Any]:
    others = (measure for measure in setting.measures if measure.name != setting.quantity)
    return [measure for measure in others if result.values(measure.name).ndim == 3]
