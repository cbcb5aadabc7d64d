"""What the classical games share: learners in one environment, a quantity with its interval, and a theorem."""

import warnings
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, NamedTuple

import numpy as np
from pydantic import Field

from jaxonline.game import Game
from jaxonline.results import Result
from jaxonline.results.report.tables import LEFT_OUT, Interval, Number, Table, Text
from jaxonline.results.statistics.estimates import learners_with_skewed_runs
from jaxonline.results.statistics.intervals import Bounded
from jaxonline.study import Context, Report, Study
from jaxonline.study.study import Names, select_by_name

Bound = Callable[[int], float]


class Setting(NamedTuple):
    """A classical game with everything that is played in it.

    Attributes:
        game: the game.
        learners: by name.
        bounds: by learner, what its theorem promises after t rounds.
        sentences: the theorems.
        comparator: as in `simulate`.
        measures: as in `simulate`; a number of each becomes a column of the table, with its interval.
        quantity: what is drawn and bounded, "regret" or a measure.
        limits: the least and the largest value that the quantity can have in one round, where it has.
    """

    game: Game
    learners: Mapping[str, Any]
    bounds: Mapping[str, Bound]
    sentences: Sequence[str]
    comparator: Any = None
    measures: Sequence[Any] = ()
    quantity: str = "regret"
    limits: tuple[float, float] | None = None


class ClassicalGame(Study):
    """Runs and rounds, and `setting`: all else of a game is there."""

    title: ClassVar[str] = ""
    on_logarithmic_axes: ClassVar[bool] = False
    runs: int = Field(256, ge=2, le=1_000_000, description="Runs of each learner.")
    rounds: int = Field(1000, ge=2, le=100_000_000, description="The horizon.")
    only: Names = Field((), description="Learners to play, named as in the table; by default all.")

    @abstractmethod
    def setting(self) -> Setting:
        """The game, its learners and their theorems."""

    def run(self, context: Context) -> Report:
        setting = self.setting()
        learners = select_by_name("only", self.only, setting.learners)
        result = context.simulate(
            setting.game, learners, n_runs=self.runs, n_rounds=self.rounds, comparator=setting.comparator,
            measures=setting.measures, record_at=self._record_at(),
        )  # fmt: skip
        bounds = {name: bound for name, bound in setting.bounds.items() if name in learners}
        curves = {name: np.array([bound(int(t)) for t in result.rounds]) for name, bound in bounds.items()}
        title = f"{self.title.rstrip('.')}: {self.runs:,} runs of {self.rounds:,} rounds"
        with warnings.catch_warnings(record=True) as said:  # of skewed runs: a remark below the table
            warnings.simplefilter("always", RuntimeWarning)
            table = Table(title, _rows(result, setting, curves), _columns(setting, result))
        remarks = [*dict.fromkeys(f"Note: {each.message}." for each in said), *_whatever_the_law(result, setting)]
        return Report(
            {"table": table},
            {"figure": lambda: result.plot(quantity=setting.quantity, bounds=curves or None)},
            [*setting.sentences, *remarks],
            {"result": result},
        )

    def _record_at(self) -> Any:
        """About 40 rounds, of which all are ends of one of 200 equal segments."""
        if not self.on_logarithmic_axes:
            return min(40, self.rounds)
        segment = max(1, self.rounds // 200)
        return (segment * np.unique(np.geomspace(1, self.rounds // segment, 40).round().astype(int))).tolist()


def _whatever_the_law(result: Result, setting: Setting) -> list[str]:
    """For skewed runs of a bounded quantity, the interval that leans on the bounds alone."""
    names = learners_with_skewed_runs(result, setting.quantity)
    if not names or setting.limits is None:
        return []
    of = result.select(*names).mean(setting.quantity, interval=Bounded(*setting.limits))
    found = [f"{name} {of.low[i, -1]:,.1f} to {of.high[i, -1]:,.1f}" for i, name in enumerate(names)]
    least, most = setting.limits
    return [
        f"Note: the {setting.quantity} of a round lies between {least:g} and {most:g}, and with nothing else assumed "
        f"the 95 % intervals are {'; '.join(found)}."
    ]


def _rows(result: Result, setting: Setting, curves: Mapping[str, np.ndarray]) -> list[dict[str, Any]]:
    """One row for each learner at the horizon: the quantity with its interval, its bound, what else is measured."""
    of = result.mean(setting.quantity)
    others = {measure.name: result.mean(measure.name) for measure in _others(setting, result)}
    return [
        {
            "learner": name, "mean": float(of.mean[i, -1]), "low": float(of.low[i, -1]), "high": float(of.high[i, -1]),
            "bound": float(curves[name][-1]) if name in curves else None,
            **{
                key + end: float(part[i, -1])
                for key, other in others.items()
                for end, part in (("", other.mean), ("_low", other.low), ("_high", other.high))
            },
            "failed": int(result.failed[i]), "overflowed": int(result.overflowed[i]),
        }
        for i, name in enumerate(result.learners)
    ]  # fmt: skip


def _columns(setting: Setting, result: Result) -> tuple[Text, ...]:
    others = [Interval(each.name, each.name.replace("_", " "), "{:.1f}") for each in _others(setting, result)]
    what = setting.quantity.replace("_", " ")
    promised = [Number("bound", "theorem's\nbound", "{:,.1f}")] if setting.bounds else []
    return (Text("learner"), Interval("mean", f"{what}\n(95 %)", "{:.2f}"), *promised, *others, *LEFT_OUT)


def _others(setting: Setting, result: Result) -> list[Any]:
    return [each for each in setting.measures if each.name != setting.quantity and result.values(each.name).ndim == 3]
