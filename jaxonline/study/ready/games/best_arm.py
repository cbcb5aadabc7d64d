"""Best-arm identification: learners that stop and then recommend an arm."""

from typing import ClassVar

import numpy as np
from pydantic import Field

from jaxonline import bounds
from jaxonline.comparators import BestArm
from jaxonline.environments import BernoulliArms
from jaxonline.feedback import Bandit
from jaxonline.game import Game
from jaxonline.learners import SequentialHalving, SuccessiveElimination
from jaxonline.losses import ArmLoss
from jaxonline.parameters.errors import ArgumentError
from jaxonline.results.statistics.intervals import ClopperPearson
from jaxonline.simulation.stopping import SimpleRegret, StoppingRound, WrongRecommendation
from jaxonline.study.ready.games.classical import ClassicalGame, Setting
from jaxonline.study.study import Numbers


class BestArmIdentification(ClassicalGame):
    """Bernoulli arms: each learner stops and recommends the arm that it estimates to be the best arm.

    Successive elimination is given the largest probability of error (fixed confidence), and sequential halving is given
    the number of pulls (fixed budget).
    """

    title: ClassVar[str] = "Best-arm identification: probability of a wrong recommendation."
    rounds: int = Field(20_000, ge=2, le=100_000_000, description="The horizon; runs that last longer are censored.")
    means: Numbers = Field((0.4, 0.5, 0.5, 0.6), min_length=2, description="Mean losses of the arms.")
    delta: float = Field(0.1, gt=0, lt=1, description="Largest probability of error of successive elimination.")
    budget: int = Field(400, ge=2, description="Number of pulls of sequential halving.")

    def setting(self) -> Setting:
        means = np.asarray(self.means)
        gaps = means - means.min()
        if (gaps == 0).sum() > 1:
            raise ArgumentError("means", f"must have one smallest number (got {', '.join(map(str, self.means))})")
        learners = {
            "successive elimination": SuccessiveElimination(self.delta),
            "sequential halving": SequentialHalving(self.budget),
        }
        halving, pulls = bounds.sequential_halving(gaps, self.budget), bounds.successive_elimination(gaps, self.delta)
        theorems = {"successive elimination": lambda t: self.delta, "sequential halving": lambda t: halving}
        sentences = [
            f"Successive elimination stops after at most {pulls:,} pulls with probability at least {1 - self.delta:g}.",
            "The stopping round of a run that has not stopped is infinite, and so is a mean over such runs.",
        ]
        game = Game(BernoulliArms(means), Bandit(), loss=ArmLoss(), pseudo=True)
        measures = [WrongRecommendation(), SimpleRegret(), StoppingRound()]
        quantity = WrongRecommendation.name
        return Setting(game, learners, theorems, sentences, BestArm(), measures, quantity, interval=ClopperPearson())
