"""Simulations of the study of "Bandit Algorithms": Gaussian arms with variance 1."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from benchmarks.papers.published.explore_then_commit import commitment
from jaxonline.comparators import BestArm
from jaxonline.environments import GaussianArms
from jaxonline.feedback import Bandit
from jaxonline.game import Game
from jaxonline.learners import MOSS, AsymptoticUCB, ExploreThenCommit, FixedConfidenceUCB, GaussianThompson
from jaxonline.losses import ArmLoss
from jaxonline.simulation.sweeps import sweep
from jaxonline.study import Context

TUNED = "ETC, m of (6.5)"
COMMITMENTS = {f"ETC, m = {m}": m for m in (25, 50, 75, 100)}
UCB, ASYMPTOTIC, MINIMAX, THOMPSON = "UCB, delta = 1/n²", "UCB, f(t) = 1 + t ln² t", "MOSS", "Thompson sampling"
THOMPSON_GAP, THOMPSON_ROUNDS = 0.2, 2000  # experiment 36.1

Regrets = dict[str, np.ndarray]
"""Pseudo-regrets of all runs [R] by learner."""


def gaussian_policies(n_rounds: int) -> dict[str, Any]:
    """Return the policies of chapters 7, 8, 9 and 36 for Gaussian losses of variance 1.

    The prior of Thompson sampling is almost flat, and its mean is so small that each arm is pulled first, as in
    Theorem 36.3.
    """
    return {
        UCB: FixedConfidenceUCB.over_horizon(n_rounds),
        ASYMPTOTIC: AsymptoticUCB(),
        MINIMAX: MOSS(n_rounds, exploration=4.0),
        THOMPSON: GaussianThompson(1.0, prior_mean=-1e7, prior_std=1e6),
    }


def regrets_by_gap(context: Context, gaps: Sequence[float], runs: int, rounds: int) -> dict[float, Regrets]:
    """Return by gap the regrets of explore-then-commit and of the policies, on arms with mean losses 0 and gap."""
    regrets = {}
    with context.parts(len(gaps)) as part:
        for gap in gaps:
            pulls = {TUNED: commitment(gap, rounds), **COMMITMENTS}
            commitments = sweep({name: ExploreThenCommit(float(m)) for name, m in pulls.items()})
            learners = {"ETC": commitments, **gaussian_policies(rounds)}
            values = _final_regrets(part(f"gap {gap:g}"), [0.0, gap], learners, runs, rounds)
            regrets[gap] = dict(zip((*pulls, *list(learners)[1:]), values, strict=True))
    return regrets


def many_arms_regrets(context: Context, arms: Sequence[int], runs: int) -> dict[int, Regrets]:
    """Return by k the regrets of the UCB of chapter 8 and of MOSS in section 9.2.

    There are n = k^3 rounds, and the mean losses are 0, sqrt(k / n) and k - 2 times 1.
    """
    regrets = {}
    with context.parts(len(arms)) as part:
        for k in arms:
            rounds = k**3
            policies = gaussian_policies(rounds)
            learners = {name: policies[name] for name in (ASYMPTOTIC, MINIMAX)}
            means = [0.0, (k / rounds) ** 0.5, *[1.0] * (k - 2)]
            values = _final_regrets(part(f"k = {k}"), means, learners, max(2, runs // 10), rounds)
            regrets[k] = dict(zip(learners, values, strict=True))
    return regrets


def thompson_regrets(context: Context, runs: int) -> Regrets:
    """Return the regrets of UCB and Thompson sampling in experiment 36.1: means 1/5 and 0 and 2,000 rounds."""
    policies = gaussian_policies(THOMPSON_ROUNDS)
    learners = {name: policies[name] for name in (UCB, THOMPSON)}
    values = _final_regrets(context, [0.0, THOMPSON_GAP], learners, runs, THOMPSON_ROUNDS)
    return dict(zip(learners, values, strict=True))


def _final_regrets(context: Context, means: list[float], learners: dict[str, Any], runs: int, rounds: int) -> Any:
    """Return the pseudo-regrets at the horizon [learners, runs]."""
    game = Game(GaussianArms(means), Bandit(), loss=ArmLoss(), pseudo=True)
    result = context.simulate(game, learners, n_runs=runs, n_rounds=rounds, comparator=BestArm(), record_at=[rounds])
    return np.asarray(result.regret[..., -1])
