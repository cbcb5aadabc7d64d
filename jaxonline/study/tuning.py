"""Choosing a step size by playing: in other runs than those that are reported."""

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from jaxonline._util import check
from jaxonline.learners import InverseSqrt
from jaxonline.results import Result
from jaxonline.results.statistics import mean_over_runs
from jaxonline.simulation import sweep
from jaxonline.study.study import Context

RUNS = ("pilot", "third")
Simulate = Callable[[Context, Mapping[str, Any], int], Result]  # learners for so many rounds


def check_etas(name: str, etas: Any) -> None:
    """Check that step sizes are a dictionary of numbers above 0, with something in it."""
    check.instance(name, etas, Mapping, "a dictionary of step sizes")
    if not etas:
        raise ValueError(f"{name} must have at least one entry, got none")
    for label, eta in etas.items():
        check.positive(f"{name}[{label!r}]", eta)


@dataclasses.dataclass(frozen=True)
class BestOf:
    """Of a few steps eta / sqrt(t), for every learner the one with the least mean loss.

    Attributes:
        etas: what is tried, by label.
        runs: those that choose: "pilot", runs of their own over a quarter of the rounds; or "third", the first third of
            the runs, and the others are reported. The first plays the learners side by side, once for each step; the
            second each learner as a sweep over the steps.
        beside: with "third", labels of steps that are reported as well, as learners of that name.
    """

    etas: Mapping[str, float]
    runs: str = "pilot"
    beside: tuple[str, ...] = ()

    def __post_init__(self):
        check.choice("runs", self.runs, RUNS)
        check_etas("etas", self.etas)
        check.instance("beside", self.beside, (tuple, list), "a tuple of labels of etas")
        for label in self.beside:
            check.choice("beside", label, self.etas)

    def at_edge(self, chosen: Mapping[str, float]) -> tuple[str, ...]:
        """The learners whose step is the smallest or the largest that was tried, where there were two or more.

        Example:
            >>> from jaxonline.study import BestOf
            >>> BestOf({"0.1": 0.1, "0.3": 0.3, "1": 1.0}).at_edge({"one": 0.3, "other": 1.0})
            ('other',)
        """
        tried = [float(eta) for eta in self.etas.values()]
        ends = {min(tried), max(tried)} if len(set(tried)) > 1 else set()
        return tuple(name for name, eta in chosen.items() if float(eta) in ends)

    def choose(
        self, play: Simulate, learners: Mapping[str, Callable[[Any], Any]], context: Context, n_rounds: int
    ) -> dict[str, float]:
        """The step with the least mean loss, by learner, in runs of another seed over a quarter of the rounds."""
        others = dataclasses.replace(context, seed=context.seed + 1)
        with others.parts(len(self.etas)) as part:
            return self._least(play, learners, part, n_rounds)

    def play(
        self, play: Simulate, learners: Mapping[str, Callable[[Any], Any]], context: Context, n_runs: int, n_rounds: int
    ) -> tuple[Result, dict[str, float]]:
        """The result of the learners with their best steps, and these steps."""
        check.count("n_runs", n_runs, ge=3 if self.runs == "third" else 1)
        return (self._pilot if self.runs == "pilot" else self._third)(play, learners, context, n_runs, n_rounds)

    def _pilot(self, play, learners, context, n_runs, n_rounds):
        others = dataclasses.replace(context, seed=context.seed + 1)
        with others.parts(len(self.etas) + 1) as part:
            best = self._least(play, learners, part, n_rounds)
            final = dataclasses.replace(part("best"), seed=context.seed)
            return play(final, {name: make(InverseSqrt(best[name])) for name, make in learners.items()}, n_rounds), best

    def _least(self, play, learners, part, n_rounds):
        losses = []
        for label, eta in self.etas.items():
            pilots = {name: make(InverseSqrt(eta)) for name, make in learners.items()}
            found = play(part(f"eta {label}"), pilots, max(n_rounds // 4, 1))
            losses.append(_losses(found))
        etas = list(self.etas.values())
        return {name: etas[int(np.nanargmin(each))] for name, each in zip(learners, np.transpose(losses), strict=True)}

    def _third(self, play, learners, context, n_runs, n_rounds):
        sweeps = {
            name: sweep({label: make(InverseSqrt(eta)) for label, eta in self.etas.items()})
            for name, make in learners.items()
        }
        found, choosing, reporting = play(context, sweeps, n_rounds), slice(None, n_runs // 3), slice(n_runs // 3, None)
        members, etas = {}, {}
        for name in learners:
            own = {label: f"{name}[{label}]" for label in self.etas}
            losses = _losses(found.select(*own.values(), runs=choosing))
            best = list(self.etas)[int(np.nanargmin(losses))]
            for new, label in (*((label, label) for label in self.beside), (name, best)):
                members[new], etas[new] = own[label], self.etas[label]
        result = found.select(*members.values(), runs=reporting)
        return dataclasses.replace(result, learners=tuple(members)), etas


def _losses(found: Result) -> np.ndarray:
    """Mean losses at the horizon [L], of which no interval is asked."""
    return mean_over_runs(found.values("cumulative_loss")).mean[:, -1]
