"""Choice of a step size by simulation, in other runs than the reported runs."""

import dataclasses
import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np

from jaxonline.game import Game
from jaxonline.learners import InverseSqrt
from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results import Result
from jaxonline.results.parts import select_runs
from jaxonline.results.tuned import Tuned, at_edge
from jaxonline.simulation import sweep, tune
from jaxonline.simulation.search import successive_halving
from jaxonline.simulation.tuning import horizon_values
from jaxonline.study.study import Context

TuningRuns = Literal["pilot", "third", "halving"]
RUNS: tuple[str, ...] = get_args(TuningRuns)
Simulate = Callable[[Context, Mapping[str, Any], int], Result]  # (context, learners, n_rounds)
Makers = Mapping[str, Callable[[Any], Any]]  # functions from a step to a learner


def check_etas(name: str, etas: Any) -> None:
    """Check that step sizes are a non-empty dictionary of positive numbers."""
    check.instance(name, etas, Mapping, "a dictionary of step sizes")
    if not etas:
        raise ArgumentError(name, "must have at least one entry (got none)")
    for label, eta in etas.items():
        check.positive(f"{name}[{label!r}]", eta)


def best_step(
    game: Game, make: Callable[[Any], Any], etas: Sequence[float], context: Context, n_runs: int, n_rounds: int
) -> Tuned:
    """Return the search of `jaxonline.tune` for the best step eta / sqrt(t); its `SettingsWarning` is suppressed."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "eta = .* that was tried", RuntimeWarning)  # reported as `Tuned.at_edge`
        return tune(
            game, lambda eta: make(InverseSqrt(eta)), {"eta": list(etas)}, n_runs=n_runs, n_rounds=n_rounds,
            key=context.seed, mesh=context.mesh, progress=context.progress, checkpoint=context.checkpoint,
        )  # fmt: skip


def _with_next_seed(context: Context) -> Context:
    """Return the context with the next seed; the seed 0 follows the largest seed."""
    return dataclasses.replace(context, seed=(context.seed + 1) % 2**32)


@dataclasses.dataclass(frozen=True)
class BestOf:
    """Choice of a step: for every learner, the step eta / sqrt(t) with the least mean loss among a few candidates.

    Attributes:
        etas: candidate values of eta, by label.
        runs: the runs in which the step is chosen. "pilot": separate runs over a quarter of the rounds, which play all
            learners together for each step and use the compiled programs of the reported runs. "third": the first third
            of the runs, as a sweep over the steps; the other runs are reported. "halving": as many separate runs over a
            quarter of the rounds as `jaxonline.tune` needs; these runs are computed on this machine even if a cluster
            computes the reported runs.
        also_report: with "third", labels of further steps to report; each becomes a learner with the label as its name.
    """

    etas: Mapping[str, float]
    runs: TuningRuns = "pilot"
    also_report: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        check.choice("runs", self.runs, RUNS)
        check_etas("etas", self.etas)
        check.instance("also_report", self.also_report, (tuple, list), "a tuple of labels of etas")
        for label in self.also_report:
            check.choice("also_report", label, self.etas)

    def at_edge(self, chosen: Mapping[str, float]) -> tuple[str, ...]:
        """Return the learners whose step is the smallest or the largest of two or more candidates.

        Example:
            >>> from jaxonline.study import BestOf
            >>> BestOf({"0.1": 0.1, "0.3": 0.3, "1": 1.0}).at_edge({"one": 0.3, "other": 1.0})
            ('other',)
        """
        settings = self._settings
        indices = {name: settings.index({"eta": float(eta)}) for name, eta in chosen.items()}
        return tuple(name for name, index in indices.items() if at_edge(settings, index))

    def choose(self, simulate: Simulate, learners: Makers, context: Context, n_rounds: int) -> dict[str, Tuned]:
        """Choose for each learner the step with the least mean loss in pilot runs over a quarter of the rounds."""
        with _with_next_seed(context).parts(len(self.etas)) as part:
            return self._choose_in_pilot_runs(simulate, learners, part, n_rounds)

    def run(
        self, game: Game, simulate: Simulate, learners: Makers, context: Context, n_runs: int, n_rounds: int
    ) -> tuple[Result, dict[str, float], dict[str, Tuned]]:
        """Return the result of the learners with their best steps, the steps by learner, and the searches."""
        check.count("n_runs", n_runs, ge=3 if self.runs == "third" else 1)
        if self.runs == "third":
            result, steps, tuned = self._run_and_choose_in_third(simulate, learners, context, n_runs, n_rounds)
            return result, steps, _in_rewards(game, tuned)
        if self.runs == "pilot":
            with _with_next_seed(context).parts(len(self.etas) + 1) as part:
                tuned = self._choose_in_pilot_runs(simulate, learners, part, n_rounds)
                final = dataclasses.replace(part("best"), seed=context.seed)
                result = simulate(final, {name: search.learner for name, search in tuned.items()}, n_rounds)
        else:
            with context.parts(len(learners) + 1) as part:
                horizon = max(n_rounds // 4, 1)
                etas = [setting["eta"] for setting in self._settings]
                tuned = {
                    name: best_step(game, make, etas, part(f"steps of {name}"), n_runs, horizon)
                    for name, make in learners.items()
                }
                result = simulate(part("best"), {name: search.learner for name, search in tuned.items()}, n_rounds)
        etas = list(self.etas.values())
        return result, {name: etas[search.chosen] for name, search in tuned.items()}, _in_rewards(game, tuned)

    def _choose_in_pilot_runs(self, simulate, learners, part, n_rounds):
        began, horizon, losses = time.perf_counter(), max(n_rounds // 4, 1), []
        for label, eta in self.etas.items():
            pilots = {name: make(InverseSqrt(eta)) for name, make in learners.items()}
            losses.append(horizon_values(simulate(part(f"eta {label}"), pilots, horizon), "cumulative_loss"))
        n_runs = max(array.shape[1] for array in losses)  # with a precision, steps need different numbers of runs
        values = np.stack(
            [np.pad(array, ((0, 0), (0, n_runs - array.shape[1])), constant_values=np.nan) for array in losses]
        )
        seconds = time.perf_counter() - began
        return {
            name: self._search(values[:, i], make, horizon, seconds) for i, (name, make) in enumerate(learners.items())
        }

    def _run_and_choose_in_third(self, simulate, learners, context, n_runs, n_rounds):
        began = time.perf_counter()
        sweeps = {
            name: sweep({label: make(InverseSqrt(eta)) for label, eta in self.etas.items()})
            for name, make in learners.items()
        }
        result, choosing, reporting = simulate(context, sweeps, n_rounds), slice(n_runs // 3), slice(n_runs // 3, None)
        seconds, members, etas, tuned = time.perf_counter() - began, {}, {}, {}
        for name, make in learners.items():
            labels = {label: f"{name}[{label}]" for label in self.etas}
            values = horizon_values(result.select(*labels.values(), runs=choosing), "cumulative_loss")
            tuned[name] = self._search(values, make, n_rounds, seconds)
            best = list(self.etas)[tuned[name].chosen]
            for new, label in (*((label, label) for label in self.also_report), (name, best)):
                members[new], etas[new] = result.learners.index(labels[label]), self.etas[label]
        return select_runs(result, list(members.values()), reporting, list(members)), etas, tuned

    def _search(self, losses: np.ndarray, make: Callable[[Any], Any], n_rounds: int, seconds: float) -> Tuned:
        """Return the step with the least mean loss, from the losses of all steps in all runs [S, R], as a `Tuned`."""
        chosen, rungs = successive_halving(lambda steps, runs: losses[steps][:, runs], [losses.shape])
        learner = make(InverseSqrt(list(self.etas.values())[chosen]))
        sizes = {"n_rounds": n_rounds, "rounds": losses.size * n_rounds, "seconds": seconds}
        return Tuned(self._settings, chosen, rungs, learner, "cumulative_loss", **sizes)

    @property
    def _settings(self) -> tuple[dict[str, float], ...]:
        return tuple({"eta": float(eta)} for eta in self.etas.values())


def _in_rewards(game: Game, tuned: dict[str, Tuned]) -> dict[str, Tuned]:
    """Return the searches with rewards in place of losses if the arms of the game have rewards."""
    return {name: search.in_rewards() for name, search in tuned.items()} if game.rewards else tuned
