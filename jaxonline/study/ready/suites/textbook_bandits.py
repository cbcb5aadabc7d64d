"""Benchmark of classical bandit algorithms on Bernoulli arms from textbooks and papers."""

from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from jaxonline.comparators import BestArm
from jaxonline.environments import BernoulliArms
from jaxonline.feedback import Bandit
from jaxonline.game import Game
from jaxonline.learners import (
    EXP3,
    EXP3IX,
    KLUCB,
    MOSS,
    UCB1,
    BernoulliThompson,
    EpsilonGreedy,
    ExploreThenCommit,
)
from jaxonline.losses import ArmLoss
from jaxonline.study import Task
from jaxonline.study.ready.suites.suite import Entries, Suite
from jaxonline.study.study import Names, select_by_name

# Printed probabilities of a reward of 1: Auer, Cesa-Bianchi and Fischer (2002), distributions 1, 2, 3, 11, 12, 13, 14;
# Garivier and Cappe (2011), scenario of low rewards; Chapelle and Li (2011), ten arms with the gap 0.02.
ARMS: dict[str, tuple[float, ...]] = {
    "Auer 1": (0.9, 0.6),
    "Auer 2": (0.9, 0.8),
    "Auer 3": (0.55, 0.45),
    "Auer 11": (0.9, *[0.6] * 9),
    "Auer 12": (0.9, *[0.8] * 3, *[0.7] * 3, *[0.6] * 3),
    "Auer 13": (0.9, *[0.8] * 9),
    "Auer 14": (0.55, *[0.45] * 9),
    "Garivier, low": (0.1, *[0.05] * 3, *[0.02] * 3, *[0.01] * 3),
    "Chapelle, 10": (0.5, *[0.48] * 9),
}


class TextbookBandits(Suite):
    """Nine Bernoulli bandits of Auer et al. (2002), Garivier and Cappe (2011), and Chapelle and Li (2011).

    The bandits have two or ten arms. A loss is 1 minus the reward, and regret is pseudo-regret.
    """

    title: ClassVar[str] = "Eight bandit algorithms on the arms of textbooks, ranked."
    reference: ClassVar[str] = "UCB1"
    rounds: int = Field(10_000, ge=2, le=100_000_000, description="The horizon of every game.")
    games: Names = Field((), description="Games, named as in the table; by default all.")

    def entries(self) -> Entries:
        learners: dict[str, Any] = {
            "explore, then commit": lambda task: ExploreThenCommit(_pulls_before_commitment(task)),
            "epsilon-greedy, 0.1": EpsilonGreedy(0.1), "UCB1": UCB1(), "KL-UCB": KLUCB(),
            "MOSS": lambda task: MOSS(task.n_rounds), "Thompson sampling": BernoulliThompson(),
            "EXP3": lambda task: EXP3.over_horizon(_n_arms(task), task.n_rounds),
            "EXP3-IX": lambda task: EXP3IX.over_horizon(_n_arms(task), task.n_rounds),
        }  # fmt: skip
        sentences = ["Explore, then commit: (T / K)^(2/3) pulls of each arm. MOSS and EXP3 know the horizon T."]
        games = {name: _task(rewards) for name, rewards in select_by_name("games", self.games, ARMS).items()}
        return Entries(games, learners, sentences)


def _task(rewards: tuple[float, ...]) -> Task:
    game = Game(BernoulliArms(1.0 - np.array(rewards)), Bandit(), loss=ArmLoss(), pseudo=True)
    return Task(game, BestArm())


def _pulls_before_commitment(task: Task) -> int:
    return max(1, round((task.n_rounds / _n_arms(task)) ** (2 / 3)))  # type: ignore[operator]


def _n_arms(task: Task) -> int:
    return task.game.specs[1].shape[0]
