"""Comparisons of learners in one game, with the choice of their steps, theoretical bounds, tables and curves."""

import dataclasses
import math
import time
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, Literal, NamedTuple, TypeAlias, Unpack

import numpy as np
from numpy.typing import ArrayLike

from jaxonline.game import Game
from jaxonline.game.roles import Comparator, HindsightComparator
from jaxonline.learners import InverseSqrt
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.parameters.short_repr import short_repr
from jaxonline.results import Result
from jaxonline.results.parts import select_runs
from jaxonline.results.statistics import estimates, means
from jaxonline.results.statistics.ranking import MissingEvents, missing_events
from jaxonline.results.tuned import Tuned
from jaxonline.simulation import sweep
from jaxonline.simulation.options import RecordedRounds, RunOptions
from jaxonline.simulation.sweeps import LearnerEntry
from jaxonline.simulation.tuning import horizon_values, successive_halving
from jaxonline.study import Context
from jaxonline.study.study import best_step

LearnerMaker: TypeAlias = Callable[[InverseSqrt], LearnerEntry]  # a function of a step size
Makers: TypeAlias = Mapping[str, LearnerMaker]


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
        return estimates.learners_with_skewed_runs(self.result, "regret")

    @property
    def missing(self) -> MissingEvents:
        """Events that the runs may have missed, and the cost at which one of them reverses the closest decision."""
        result, costs = self.result, estimates.costs(self.result, "regret")
        test = estimates.choose_interval(result, "regret", None).after(result.rounds[-1])
        p_values = means.pairwise_p_values(costs, test)
        return missing_events(result.learners, means.paired_differences(costs), p_values, 0.95)

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


@dataclasses.dataclass(frozen=True)
class BestOf:
    """Choice of a step: for every learner, the step eta / sqrt(t) with the least mean loss among a few candidates.

    Attributes:
        etas: candidate values of eta, by label.
        runs: the runs in which the step is chosen. "pilot": as many separate runs over a quarter of the rounds, a
            search of `jaxonline.tune` for each learner. "third": the first third of the runs, as a sweep over the
            steps; the other runs are reported.
        also_report: with "third", labels of further steps to report; each becomes a learner with the label as its name.

    Example:
        >>> from benchmarks.papers.comparison import BestOf
        >>> BestOf({"0.1": 0.1, "0.3": 0.3, "1": 1.0}).at_edge({"one": 0.3, "other": 1.0})
        ('other',)
    """

    etas: Mapping[str, float]
    runs: Literal["pilot", "third"] = "pilot"
    also_report: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check.choice("runs", self.runs, ("pilot", "third"))
        check.instance("etas", self.etas, Mapping, "a dictionary of step sizes")
        if not self.etas:
            raise ArgumentError("etas", "must have at least one entry (got none)")
        for label, eta in self.etas.items():
            check.positive(f"etas[{label!r}]", eta)
        for label in self.also_report:
            check.choice("also_report", label, self.etas)

    def at_edge(self, chosen: Mapping[str, float]) -> tuple[str, ...]:
        """Return the learners whose step is the smallest or the largest of two or more candidates."""
        ends = {min(self.etas.values()), max(self.etas.values())}
        return tuple(name for name, eta in chosen.items() if len(self.etas) > 1 and eta in ends)

    def choose(self, game: Game, learners: Makers, context: Context, n_runs: int, n_rounds: int) -> dict[str, Tuned]:
        """Choose the step of each learner in pilot runs of the next seed over a quarter of the rounds."""
        options = {"n_runs": n_runs, "n_rounds": max(n_rounds // 4, 1)}
        with context.parts(len(learners)) as part:
            return {
                name: best_step(game, make, list(self.etas.values()), part(name), **options)
                for name, make in learners.items()
            }

    def choose_in_third(
        self, play: Callable[[Mapping[str, Any]], Result], learners: Makers, n_rounds: int
    ) -> tuple[Result, dict[str, float], dict[str, Tuned]]:
        """Run sweeps over the steps; return the reported runs of the best steps, the steps, and the searches."""
        began = time.perf_counter()
        steps = {label: InverseSqrt(eta) for label, eta in self.etas.items()}
        result = play({name: sweep({at: make(step) for at, step in steps.items()}) for name, make in learners.items()})
        seconds, third = time.perf_counter() - began, len(result.runs) // 3
        members, etas, tuned = {}, {}, {}
        for name, make in learners.items():
            labels = {label: f"{name}[{label}]" for label in self.etas}
            losses = horizon_values(result.select(*labels.values(), runs=slice(third)), "cumulative_loss")
            best, rungs = successive_halving(lambda some, runs, of=losses: of[some][:, runs], [losses.shape])
            settings, rounds = tuple({"eta": float(eta)} for eta in self.etas.values()), losses.size * n_rounds
            learner = make(list(steps.values())[best])
            tuned[name] = Tuned(settings, best, rungs, learner, "cumulative_loss", n_rounds, rounds, seconds)
            for new, label in (*((label, label) for label in self.also_report), (name, list(self.etas)[best])):
                members[new], etas[new] = result.learners.index(labels[label]), self.etas[label]
        return select_runs(result, list(members.values()), slice(third, None), list(members)), etas, tuned


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
        >>> from benchmarks.papers.comparison import Comparison
        >>> from jaxonline.study import Context
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
        check.instance("learners", self.learners, Mapping, "a dictionary of learners by name")
        also_report = self.tune.also_report if isinstance(self.tune, BestOf) else ()
        check.dictionary("bounds", self.bounds, (*self.learners, *also_report))
        for name, learner in self.learners.items() if self.tune is not None else ():
            check.function(f"learners[{name!r}]", learner, "a step size, as tune is given")
        if isinstance(self.tune, Mapping):
            check.dictionary("tune", self.tune, self.learners)
            for name in self.learners:
                check.choice("learners", name, tuple(self.tune))
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
        comparator = None if callable(self.comparator) else self.comparator
        recorded: Any = record_at(n_rounds) if callable(record_at) else record_at

        def play(context: Context, learners: Mapping[str, Any]) -> Result:
            return context.simulate(
                self.game, learners, n_runs=n_runs, n_rounds=n_rounds, comparator=comparator, record_at=recorded,
                **options,
            )  # fmt: skip

        etas, tuned, learners = {}, {}, dict(self.learners)
        if isinstance(self.tune, BestOf) and self.tune.runs == "third":
            check.count("n_runs", n_runs, ge=3)
            result, etas, tuned = self.tune.choose_in_third(lambda sweeps: play(context, sweeps), learners, n_rounds)
        elif isinstance(self.tune, BestOf):
            with context.parts(2) as part:
                tuned = self.tune.choose(self.game, learners, part("steps"), n_runs, n_rounds)
                etas = {name: search.choice["eta"] for name, search in tuned.items()}
                result = play(part("best"), {name: search.learner for name, search in tuned.items()})
        else:
            if self.tune is not None:
                etas = dict(self.tune) if isinstance(self.tune, Mapping) else dict.fromkeys(learners, self.tune)
                learners = {name: learners[name](InverseSqrt(eta)) for name, eta in etas.items()}
            result = play(context, learners)
        if callable(self.comparator):
            best = np.broadcast_to(np.asarray(self.comparator(result.rounds)), result.cumulative_loss.shape)
            result = dataclasses.replace(result, comparator_loss=best)
        if self.game.rewards:
            tuned = {name: search.in_rewards() for name, search in tuned.items()}
        bounds = {name: bound(etas[name], result.rounds) for name, bound in self.bounds.items() if name in etas}
        at_edge = tuple(name for name, search in tuned.items() if search.at_edge)
        return ComparisonResult(result, etas, bounds, self.labels, self.growth_start, at_edge, tuned)
