"""Curves of the experiments of Auer, Cesa-Bianchi and Fischer (2002): shares of the best arm, and final regrets."""

import numpy as np

from jaxonline.results import Result

TUNED, SECOND, FIRST = "UCB1-tuned", "UCB2", "UCB1"


def best_arm_shares(result: Result) -> np.ndarray:
    """Return the mean share of pulls of arm 0, the best one, after each recorded round [learners, rounds]."""
    return np.asarray(result.measures["pulls"])[..., 0].mean(axis=1) / result.rounds


def final_regrets(result: Result) -> dict[str, np.ndarray]:
    """Return the regrets of all runs at the horizon, by learner."""
    return {name: np.asarray(result.regret[i, :, -1]) for i, name in enumerate(result.learners)}
