"""Choosing a step size by playing: in other runs than those that are reported."""

import dataclasses
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxonline.game import Game
from jaxonline.learners import InverseSqrt
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results import Result
from jaxonline.results.parts import selected
from jaxonline.results.tuned import Tuned, at_edge
from jaxonline.simulation import sweep, tune
from jaxonline.simulation.halving import successive_halving
from jaxonline.simulation.tuning_trials import to_judge
from jaxonline.study.study import Context

RUNS = ("pilot", "third", "halving")
Simulate = Callable[[Context, Mapping[str, Any], int], Result]  # learners for so many rounds
Makers = Mapping[str, Callable[[Any], Any]]  # of learners from their steps


def check_etas(name: str, etas: Any) -> None:
    """Check that step sizes are a dictionary of numbers above 0, with something in it."""
    check.instance(name, etas, Mapping, "a dictionary of step sizes")
    if not etas:
        raise ArgumentError(name, "must have at least one entry (got none)")
    for label, eta in etas.items():
        check.positive(f"{name}[{label!r}]", eta)


def best_step(
    game: Game, make: Callable[[Any], Any], etas: Sequence[float], context: Context, n_runs: int, n_rounds: int
) -> Tuned:
    """Of a few steps eta / sqrt(t) the one with the least mean loss, by `jaxonline.tune`; no warning of an edge."""
    sizes = {"n_runs": n_runs, "n_rounds": n_rounds, "key": context.seed}
    where = {"mesh": context.mesh, "progress": context.progress, "checkpoint": context.checkpoint}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "eta = .* that was tried", RuntimeWarning)  # `Tuned.at_edge` says so
        return tune(game, lambda eta: make(InverseSqrt(eta)), {"eta": list(etas)}, **sizes, **where)


def _others(context: Context) -> Context:
    """With the next seed, after the last one the first: for other runs."""
    return dataclasses.replace(context, seed=(context.seed + 1) % 2**32)


@dataclasses.dataclass(frozen=True)
class BestOf:
    """Of a few steps eta / sqrt(t), for every learner the one with the least mean loss.

    Attributes:
        etas: what is tried, by label.
        runs: those that choose: "pilot", runs of their own over a quarter of the rounds; "third", the first third of
            the runs, and the others are reported; or "halving", as many runs of their own as the better steps need
            (`jaxonline.tune`), over a quarter of the rounds. The first plays the learners side by side, once for each
            step, by the programs that play the reported runs; the others each learner as a sweep over the steps; the
            last on this machine, also where a cluster plays the runs that are reported.
        also_report: with "third", labels of steps that are reported as well, as learners of that name.
    """

    etas: Mapping[str, float]
    runs: str = "pilot"
    also_report: tuple[str, ...] = ()

    def __post_init__(self):
        check.choice("runs", self.runs, RUNS)
        check_etas("etas", self.etas)
        check.instance("also_report", self.also_report, (tuple, list), "a tuple of labels of etas")
        for label in self.also_report:
            check.choice("also_report", label, self.etas)

    def at_edge(self, chosen: Mapping[str, float]) -> tuple[str, ...]:
        """The learners whose step is the smallest or the largest that was tried, where there were two or more.

        Example:
            >>> from jaxonline.study import BestOf
            >>> BestOf({"0.1": 0.1, "0.3": 0.3, "1": 1.0}).at_edge({"one": 0.3, "other": 1.0})
            ('other',)
        """
        settings = self._settings
        places = {name: settings.index({"eta": float(eta)}) for name, eta in chosen.items()}
        return tuple(name for name, place in places.items() if at_edge(settings, place))

    def choose(self, play: Simulate, learners: Makers, context: Context, n_rounds: int) -> dict[str, Tuned]:
        """For each learner the step with the least mean loss, in runs of another seed over a quarter of the rounds."""
        with _others(context).parts(len(self.etas)) as part:
            return self._least(play, learners, part, n_rounds)

    def run(
        self, game: Game, play: Simulate, learners: Makers, context: Context, n_runs: int, n_rounds: int
    ) -> tuple[Result, dict[str, float], dict[str, Tuned]]:
        """The result of the learners with their best steps, the steps of all that it has, and what chose them."""
        check.count("n_runs", n_runs, ge=3 if self.runs == "third" else 1)
        if self.runs == "third":
            return self._third(play, learners, context, n_runs, n_rounds)
        if self.runs == "pilot":
            with _others(context).parts(len(self.etas) + 1) as part:
                tuned = self._least(play, learners, part, n_rounds)
                final = dataclasses.replace(part("best"), seed=context.seed)
                result = play(final, {name: each.learner for name, each in tuned.items()}, n_rounds)
        else:
            with context.parts(len(learners) + 1) as part:
                horizon = max(n_rounds // 4, 1)
                etas = [each["eta"] for each in self._settings]
                tuned = {
                    name: best_step(game, make, etas, part(f"steps of {name}"), n_runs, horizon)
                    for name, make in learners.items()
                }
                result = play(part("best"), {name: each.learner for name, each in tuned.items()}, n_rounds)
        etas = list(self.etas.values())
        return result, {name: etas[each.chosen] for name, each in tuned.items()}, tuned

    def _least(self, play, learners, part, n_rounds):
        began, horizon, losses = time.perf_counter(), max(n_rounds // 4, 1), []
        for label, eta in self.etas.items():
            pilots = {name: make(InverseSqrt(eta)) for name, make in learners.items()}
            losses.append(to_judge(play(part(f"eta {label}"), pilots, horizon), "cumulative_loss"))
        n_runs = max(each.shape[1] for each in losses)  # where precision decides, not all steps need as many
        values = np.stack(
            [np.pad(each, ((0, 0), (0, n_runs - each.shape[1])), constant_values=np.nan) for each in losses]
        )
        seconds = time.perf_counter() - began
        return {
            name: self._tuned(values[:, i], make, horizon, seconds) for i, (name, make) in enumerate(learners.items())
        }

    def _third(self, play, learners, context, n_runs, n_rounds):
        began = time.perf_counter()
        sweeps = {
            name: sweep({label: make(InverseSqrt(eta)) for label, eta in self.etas.items()})
            for name, make in learners.items()
        }
        found, choosing, reporting = play(context, sweeps, n_rounds), slice(None, n_runs // 3), slice(n_runs // 3, None)
        seconds, members, etas, tuned = time.perf_counter() - began, {}, {}, {}
        for name, make in learners.items():
            own = {label: f"{name}[{label}]" for label in self.etas}
            values = to_judge(found.select(*own.values(), runs=choosing), "cumulative_loss")
            tuned[name] = self._tuned(values, make, n_rounds, seconds)
            best = list(self.etas)[tuned[name].chosen]
            for new, label in (*((label, label) for label in self.also_report), (name, best)):
                members[new], etas[new] = found.learners.index(own[label]), self.etas[label]
        return selected(found, list(members.values()), reporting, list(members)), etas, tuned

    def _tuned(self, losses: np.ndarray, make: Callable[[Any], Any], n_rounds: int, seconds: float) -> Tuned:
        """All steps in all runs [S, R]: a search of one rung."""
        chosen, rungs = successive_halving(lambda some, runs: losses[some][:, runs], [losses.shape])
        learner = make(InverseSqrt(list(self.etas.values())[chosen]))
        sizes = {"n_rounds": n_rounds, "rounds": losses.size * n_rounds, "seconds": seconds}
        return Tuned(self._settings, chosen, rungs, learner, "cumulative_loss", **sizes)

    @property
    def _settings(self) -> tuple[dict[str, float], ...]:
        return tuple({"eta": float(eta)} for eta in self.etas.values())
