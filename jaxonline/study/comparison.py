"""Comparisons of learners in one game, with their step sizes, theoretical bounds, tables and curves."""

import contextlib
import dataclasses
import math
import warnings
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from jaxonline.game import Game
from jaxonline.game.roles import Comparator, HindsightComparator
from jaxonline.learners import InverseSqrt
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, SkewedRunsWarning
from jaxonline.parameters.short_repr import short_repr
from jaxonline.results import Result
from jaxonline.results.statistics.estimates import learners_with_skewed_runs, missing_from
from jaxonline.results.statistics.ranking import MissingEvents, closest_decision
from jaxonline.results.tuned import Tuned
from jaxonline.simulation.checking import check_comparator_type
from jaxonline.simulation.options import RunOptions
from jaxonline.simulation.recording import RecordedRounds
from jaxonline.simulation.sweeps import LearnerEntry, check_learner
from jaxonline.study.study import Context
from jaxonline.study.tuning import BestOf, check_etas

LearnerMaker: TypeAlias = Callable[[InverseSqrt], LearnerEntry]  # a function of a step size


class ComparisonResult(NamedTuple):
    """The result of a `Comparison`; `labels` and `growth_start` are copied from the comparison.

    Attributes:
        result: the result of the simulation.
        etas: eta by learner, for learners whose steps eta / sqrt(t) are set by the comparison.
        bounds: the regret bound of a theorem at each recorded round [G] by learner.
        at_edge: learners whose chosen step is the smallest or the largest candidate; a better step may lie beyond.
        tuned: for each learner whose step was chosen, the search for the step and its cost.
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
        """The first round from which the growth of the regret is measured."""
        return math.ceil(self.growth_start * self.result.rounds[-1])

    @property
    def slope_rounds(self) -> str:
        """The recorded rounds to which the slope is fitted, as text."""
        rounds = self.result.rounds[self.result.rounds >= self.growth_from]
        return f"rounds {rounds[0]:,} to {rounds[-1]:,}"

    @property
    def skewed_learners(self) -> tuple[str, ...]:
        """Learners with skewed regret at the horizon, so that Student's interval is too short on one side."""
        return learners_with_skewed_runs(self.result, "regret")

    @property
    def missing(self) -> MissingEvents:
        """Events that the runs may have missed, and the cost at which one of them reverses the closest decision."""
        return missing_from(self.result, "regret")

    def __repr__(self) -> str:
        return repr(self.result)

    def _repr_html_(self) -> str:
        return self.result._repr_html_()

    def rows(self) -> list[dict[str, Any]]:
        """Return the rows of `Result.table`, with labels, etas, final bounds, and slopes over `slope_rounds`."""
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
        """Return the curves of every learner for JSON: regret with its interval, queries, growth, excluded runs."""
        result, level = self.result, 0.95
        regret, queries, growths = (
            result.mean(level=level),
            result.mean("queries", level),
            result.growth(self.growth_from),
        )
        learners = {
            name: {
                "regret": regret.mean[i], "low": regret.low[i], "high": regret.high[i], "queries": queries.mean[i],
                "bound": np.asarray(self.bounds[name]) if name in self.bounds else None,
                "growth": growths[name]._asdict(),
                "failed": int(result.failed[i]), "overflowed": int(result.overflowed[i]),
            }
            for i, name in enumerate(result.learners)
        }  # fmt: skip
        return {"rounds": result.rounds, "runs": len(result.runs), "level": level, "learners": learners}


def format_places(learners_at: Mapping[str, tuple[str, ...]]) -> str:
    """Format the places of each learner, such as "a (noise 0.1 / noise 0.3); b (noise 0.3)", or "none".

    Example:
        >>> from jaxonline.study.comparison import format_places
        >>> format_places({"noise 0.1": ("a",), "noise 0.3": ("a", "b")}), format_places({"noise 0.1": ()})
        ('a (noise 0.1 / noise 0.3); b (noise 0.3)', 'none')
    """
    places_of: dict[str, list[str]] = {}
    for place, names in learners_at.items():
        for name in names:
            places_of.setdefault(name, []).append(place)
    return "; ".join(f"{name} ({' / '.join(places)})" for name, places in places_of.items()) or "none"


def skewness_sentences(results: Mapping[str, ComparisonResult]) -> list[str]:
    """Return a sentence that names the learners with skewed runs, if there are any."""
    skewed = {place: result.skewed_learners for place, result in results.items()}
    start = "The runs are skewed, and Student's interval understates the longer side, of"
    return [f"{start}: {format_places(skewed)}."] if any(skewed.values()) else []


def missing_events_sentence(results: Mapping[str, ComparisonResult]) -> str:
    """Return a sentence on the events that the runs may have missed, for the closest decision between two learners."""
    return closest_decision({place: result.missing for place, result in results.items()}).sentence


@contextlib.contextmanager
def ignore_skewness_warnings() -> Iterator[None]:
    """Suppress warnings of skewed runs in a study that reports them with `skewness_sentences`."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", SkewedRunsWarning)
        yield


@dataclasses.dataclass(frozen=True, repr=False)
class Comparison:
    """Comparison of learners in one game, against one comparator.

    Attributes:
        game: the game.
        learners: learners by name, as in `simulate`; if `tune` is given, functions that take a step size and return a
            learner.
        comparator: comparator as in `simulate`, or a function that maps recorded rounds to the losses of the best
            predictor in hindsight.
        bounds: regret bound by learner for steps eta / sqrt(t): a function of eta and the rounds, such as
            `lambda eta, rounds: bound.at_rounds(rounds, eta=eta)`.
        tune: one eta for all learners, one eta by learner, or a `BestOf` that chooses eta.
        labels: entries added to every row of the table.
        growth_start: the share of the horizon after which growth is measured.

    Example:
        >>> import numpy as np
        >>> import jaxonline as jo
        >>> from jaxonline.study import Comparison, Context
        >>> game = jo.Game(jo.environments.DataStream(np.eye(3), np.ones(3)), jo.FullInformation())
        >>> learners = {"gradient": lambda step: jo.GradientLearner(jo.estimators.FullGradient(), step)}
        >>> result = Comparison(game, learners, jo.L2Ball(2.0), tune=0.5).run(Context(), n_runs=2, n_rounds=6)
        >>> result.etas, result.rows()[0]["learner"]
        ({'gradient': 0.5}, 'gradient')
    """

    game: Game
    learners: Mapping[str, LearnerEntry | LearnerMaker]
    comparator: Comparator | HindsightComparator | Callable[[np.ndarray], ArrayLike] | None = None
    bounds: Mapping[str, Callable[[float, np.ndarray], np.ndarray]] = dataclasses.field(default_factory=dict)
    tune: BestOf | Mapping[str, float] | float | None = None
    labels: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    growth_start: float = 1 / 8

    def __post_init__(self) -> None:
        check.instance("game", self.game, Game, "a Game")
        check.instance("learners", self.learners, Mapping, "a dictionary of learners by name")
        if not self.learners:
            raise ArgumentError("learners", "must have at least one entry (got none)")
        is_function = callable(self.comparator) and not isinstance(self.comparator, type)
        if self.comparator is not None and not is_function:
            check_comparator_type(self.comparator)
        also_report = self.tune.also_report if isinstance(self.tune, BestOf) else ()
        check.instance("bounds", self.bounds, Mapping, "a dictionary of functions by learner")
        check.dictionary("bounds", self.bounds, (*self.learners, *also_report))
        for name, bound in self.bounds.items():
            check.function(f"bounds[{name!r}]", bound, "eta and the rounds")
        for name, learner in self.learners.items():
            if self.tune is None:
                check_learner(f"learners[{name!r}]", learner)
            else:
                check.function(f"learners[{name!r}]", learner, "a step size, as tune is given")
        if isinstance(self.tune, Mapping):
            check_etas("tune", self.tune)
            check.dictionary("tune", self.tune, self.learners)
            for name in self.learners:
                check.choice("learners", name, tuple(self.tune))
        elif self.tune is not None and not isinstance(self.tune, BestOf):
            check.positive("tune", self.tune)
        check.instance("labels", self.labels, Mapping, "a dictionary")
        check.number("growth_start", self.growth_start, ge=0.0, lt=1.0)

    def __repr__(self) -> str:
        return short_repr(self)

    def run(
        self,
        context: Context,
        *,
        n_runs: int,
        n_rounds: int,
        record_at: RecordedRounds | Callable[[int], RecordedRounds] = 40,
        **options: Unpack[RunOptions],
    ) -> ComparisonResult:
        """Choose the steps, simulate the learners, and compute the bounds; arguments are as in `simulate`.

        `record_at` may also be a function of the horizon.
        """

        def simulate(context: Context, learners: Mapping[str, Any], horizon: int) -> Result:
            rounds: Any = record_at(horizon) if callable(record_at) else record_at
            if not isinstance(rounds, int):
                rounds = [t for t in rounds if t <= horizon]  # of pilot runs
            comparator = None if callable(self.comparator) else self.comparator
            return context.simulate(
                self.game, learners, n_runs=n_runs, n_rounds=horizon, comparator=comparator, record_at=rounds, **options
            )

        etas, tuned = {}, {}
        makers: Any = self.learners  # functions if `tune` is given, else learners
        if isinstance(self.tune, BestOf):
            rules = [name for name in ("stop",) if options.get(name) is not None]
            if self.tune.runs == "halving" and rules:
                raise ArgumentError(
                    "tune", f"must not choose by halving with {rules[0]}= (got both); give n_runs alone"
                )
            result, etas, tuned = self.tune.run(self.game, simulate, makers, context, n_runs, n_rounds)
        elif self.tune is None:
            result = simulate(context, makers, n_rounds)
        else:
            tune = self.tune
            etas = {name: tune[name] if isinstance(tune, Mapping) else tune for name in self.learners}
            learners = {name: make(InverseSqrt(etas[name])) for name, make in makers.items()}
            result = simulate(context, learners, n_rounds)
        if callable(self.comparator):
            best = np.broadcast_to(np.asarray(self.comparator(result.rounds)), result.cumulative_loss.shape)
            result = dataclasses.replace(result, comparator_loss=best)
        bounds = {name: bound(etas[name], result.rounds) for name, bound in self.bounds.items() if name in etas}
        at_edge = tuple(name for name, search in tuned.items() if search.at_edge)
        return ComparisonResult(result, etas, bounds, self.labels, self.growth_start, at_edge, tuned)
