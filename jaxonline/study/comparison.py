"""Learners side by side in one game, with their step sizes, bounds, rows and curves: what most studies are made of."""

import contextlib
import dataclasses
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from jaxonline.game import Game
from jaxonline.learners import InverseSqrt
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.warning_classes import SkewedRunsWarning
from jaxonline.results import Result
from jaxonline.results.statistics.estimates import learners_with_skewed_runs
from jaxonline.results.tuned import Tuned
from jaxonline.study.study import Context
from jaxonline.study.tuning import BestOf, check_etas


class ComparisonResult(NamedTuple):
    """What a comparison found.

    Attributes:
        result: the numbers.
        etas: of the steps eta / sqrt(t), by learner, where a step was asked for.
        bounds: what a theorem promises at each recorded round [G], by learner.
        about: entries of every row.
        late: from this share of the rounds on, growth is measured.
        at_edge: learners whose step was chosen and is the smallest or the largest of those tried: what is best may lie
            beyond.
        tuned: what chose the steps, and its cost, by learner whose step was chosen.
    """

    result: Result
    etas: dict[str, float]
    bounds: dict[str, np.ndarray]
    labels: Mapping[str, Any]
    growth_start: float
    at_edge: tuple[str, ...] = ()
    tuned: Mapping[str, Tuned] = MappingProxyType({})

    @property
    def growth_from(self) -> int:
        """The first round whose growth is measured."""
        return math.ceil(self.growth_start * self.result.rounds[-1])

    @property
    def slope_rounds(self) -> str:
        """The recorded rounds to which slopes are fitted, in words."""
        rounds = self.result.rounds[self.result.rounds >= self.growth_from]
        return f"rounds {rounds[0]:,} to {rounds[-1]:,}"

    @property
    def skewed_learners(self) -> tuple[str, ...]:
        """The learners of whose regret at the horizon `Result.mean` warns: Student's interval understates one side."""
        return learners_with_skewed_runs(self.result, "regret")

    def rows(self) -> list[dict[str, Any]]:
        """`Result.table` with what it is about, the steps, the bounds at the horizon, and the slopes.

        A slope is that of log mean regret against log rounds, over the rounds that `fitted` names.
        """
        table = self.result.table({name: bound[-1] for name, bound in self.bounds.items()})
        growths = self.result.growth(self.growth_from)
        keys = "slope", "slope_low", "slope_high"
        return [
            {**self.labels, "eta": self.etas.get(row["learner"])}
            | row
            | dict(zip(keys, growths[row["learner"]], strict=True))
            for row in table
        ]

    def curves(self) -> dict[str, Any]:
        """The curves of every learner as lists, for JSON: regret with its interval, queries, growth, runs left out."""
        result, level = self.result, 0.95
        regret, queries, growths = (
            result.mean(level=level),
            result.mean("queries", level),
            result.growth(self.growth_from),
        )
        learners = {
            name: {
                "regret": regret.mean[i], "low": regret.low[i], "high": regret.high[i], "queries": queries.mean[i],
                "bound": self.bounds.get(name), "growth": growths[name]._asdict(),
                "failed": int(result.failed[i]), "overflowed": int(result.overflowed[i]),
            }
            for i, name in enumerate(result.learners)
        }  # fmt: skip
        return {"rounds": result.rounds, "runs": len(result.runs), "level": level, "learners": learners}


def format_places(found: Mapping[str, tuple[str, ...]]) -> str:
    """Which learners were found where, from where to learners: "a (noise 0.1 / noise 0.3); b (noise 0.3)", or "none".

    Example:
        >>> from jaxonline.study.comparison import format_places
        >>> format_places({"noise 0.1": ("a",), "noise 0.3": ("a", "b")}), format_places({"noise 0.1": ()})
        ('a (noise 0.1 / noise 0.3); b (noise 0.3)', 'none')
    """
    where: dict[str, list[str]] = {}
    for place, names in found.items():
        for name in names:
            where.setdefault(name, []).append(place)
    return "; ".join(f"{name} ({' / '.join(places)})" for name, places in where.items()) or "none"


def skewness_sentences(played: Mapping[str, ComparisonResult]) -> list[str]:
    """A sentence on the learners whose runs are skewed, where there are any."""
    words = format_places({place: each.skewed_learners for place, each in played.items()})
    start = "Skewed over the runs, so that Student's interval understates the longer side"
    return [] if words == "none" else [f"{start}: {words}."]


@contextlib.contextmanager
def ignore_skewness_warnings() -> Iterator[None]:
    """No warnings of skewed runs inside, for a study that has a sentence on them (`skewness_sentences`)."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkewedRunsWarning)
        yield


@dataclasses.dataclass(frozen=True)
class Comparison:
    """Learners in one game against one comparator.

    Attributes:
        game: the game.
        learners: by name, as in `simulate`; with `tune`, functions that make one from a step size.
        comparator: as in `simulate`; or the losses of the best in hindsight after each recorded round, as a function of
            the rounds.
        bounds: by learner, what a theorem promises for steps eta / sqrt(t): functions of eta and the rounds, such as
            `RegretBound.inverse_sqrt_step`.
        tune: eta of all learners, or by learner; or `BestOf` a few.
        about: entries of every row of the table.
        late: from this share of the rounds on, growth is measured.

    Example:
        >>> import numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.study import Comparison, Context
        >>> game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
        >>> learners = {"gradient": lambda step: jo.GradientLearner(jo.estimators.FullGradient(), step)}
        >>> found = Comparison(game, learners, jo.L2Ball(2.0), tune=0.5).run(Context(), n_runs=2, n_rounds=6)
        >>> found.etas, found.rows()[0]["learner"]
        ({'gradient': 0.5}, 'gradient')
    """

    game: Game
    learners: Mapping[str, Any]
    comparator: Any = None
    bounds: Mapping[str, Callable[[float, np.ndarray], np.ndarray]] = dataclasses.field(default_factory=dict)
    tune: BestOf | Mapping[str, float] | float | None = None
    labels: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    growth_start: float = 1 / 8

    def __post_init__(self):
        check.instance("game", self.game, Game, "a Game")
        check.instance("learners", self.learners, Mapping, "a dictionary of learners by name")
        if not self.learners:
            raise ArgumentError("learners", "must have at least one entry (got none)")
        beside = self.tune.also_report if isinstance(self.tune, BestOf) else ()
        check.dictionary("bounds", self.bounds, (*self.learners, *beside))
        for name, bound in self.bounds.items():
            check.function(f"bounds[{name!r}]", bound, "eta and the rounds")
        for name, make in self.learners.items() if self.tune is not None else ():
            check.function(f"learners[{name!r}]", make, "a step size, which tune gives")
        if isinstance(self.tune, Mapping):
            check_etas("tune", self.tune)
            check.dictionary("tune", self.tune, self.learners)
            for name in self.learners:
                check.choice("learners", name, tuple(self.tune))
        elif self.tune is not None and not isinstance(self.tune, BestOf):
            check.positive("tune", self.tune)
        check.instance("labels", self.labels, Mapping, "a dictionary")
        check.number("growth_start", self.growth_start, ge=0.0, lt=1.0)

    def run(
        self, context: Context, *, n_runs: int, n_rounds: int, record_at: Any = 40, **options: Any
    ) -> ComparisonResult:
        """Choose the steps, play, and work out the bounds.

        Args:
            context: of the study, or of a part of it.
            n_runs: of each learner.
            n_rounds: the horizon.
            record_at: as in `simulate`, or a function of the horizon.
            **options: of `simulate`.
        """

        def simulate(context: Context, learners: Mapping[str, Any], horizon: int) -> Result:
            rounds: Any = record_at(horizon) if callable(record_at) else record_at
            if not isinstance(rounds, int):
                rounds = [t for t in rounds if t <= horizon]  # of pilot runs
            own = None if callable(self.comparator) else self.comparator
            sizes = {"n_runs": n_runs, "n_rounds": horizon, "record_at": rounds}
            return context.simulate(self.game, learners, comparator=own, **sizes, **options)

        etas, tuned = {}, {}
        if isinstance(self.tune, BestOf):
            if self.tune.runs == "halving" and options.get("precision") is not None:
                raise ArgumentError(
                    "tune", "must have a number of runs to choose by halving (got a precision); pass n_runs"
                )
            result, etas, tuned = self.tune.run(self.game, simulate, self.learners, context, n_runs, n_rounds)
        elif self.tune is None:
            result = simulate(context, self.learners, n_rounds)
        else:
            tune = self.tune
            etas = {name: tune[name] if isinstance(tune, Mapping) else tune for name in self.learners}
            made = {name: make(InverseSqrt(etas[name])) for name, make in self.learners.items()}
            result = simulate(context, made, n_rounds)
        if callable(self.comparator):
            best = np.broadcast_to(np.asarray(self.comparator(result.rounds)), result.cumulative_loss.shape)
            result = dataclasses.replace(result, comparator_loss=best)
        bounds = {name: bound(etas[name], result.rounds) for name, bound in self.bounds.items() if name in etas}
        at_edge = tuple(name for name, each in tuned.items() if each.at_edge)
        return ComparisonResult(result, etas, bounds, self.labels, self.growth_start, at_edge, tuned)
