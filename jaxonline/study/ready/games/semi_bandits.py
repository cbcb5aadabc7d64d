"""Semi-bandits: learners that play sets of arms and observe the loss of each arm in the set."""

from typing import ClassVar

import numpy as np
from pydantic import Field

from jaxonline import bounds
from jaxonline.comparators import BestSet
from jaxonline.environments import BernoulliArms
from jaxonline.feedback import SemiBandit
from jaxonline.game import Game
from jaxonline.learners import CUCB
from jaxonline.losses import SmallestArms, SumOfArms
from jaxonline.parameters.errors import ArgumentError
from jaxonline.simulation.measures import Switches
from jaxonline.study.ready.games.classical import ClassicalGame, Setting
from jaxonline.study.study import Numbers


class SemiBandits(ClassicalGame):
    """Bernoulli arms: the learner plays a set of `size` arms, and its loss is the sum of the losses of these arms."""

    title: ClassVar[str] = "Sets of arms: pseudo-regret against the best set."
    on_logarithmic_axes: ClassVar[bool] = True
    rounds: int = Field(10_000, ge=2, le=100_000_000, description="The horizon.")
    means: Numbers = Field((0.1, 0.2, 0.3, 0.5, 0.6, 0.7), min_length=2, description="Mean losses of the arms.")
    size: int = Field(3, ge=1, description="Number of arms in a set.")

    def setting(self) -> Setting:
        means, m = np.asarray(self.means), self.size
        if m >= len(means):
            raise ArgumentError("size", f"must be below the number of arms, {len(means)} (got {m})")
        if np.ptp(means) == 0:
            raise ArgumentError("means", f"must not all be equal (got {', '.join(map(str, self.means))})")
        select = SmallestArms(m)
        learners = {
            "CUCB": CUCB(select), "CUCB, factor 1/2": CUCB(select, 0.5), "greedy": CUCB(select, exploration=0.0),
        }  # fmt: skip
        theorems = {"CUCB": lambda t: float(bounds.cucb(means, m, t))}
        sentences = [
            "The bound of CUCB grows with the square of the number of arms in a set.",
            "The greedy learner plays the set with the smallest mean losses, and may never return to a good arm.",
        ]
        game = Game(BernoulliArms(means), SemiBandit(), loss=SumOfArms(), pseudo=True)
        return Setting(game, learners, theorems, sentences, BestSet(select), [Switches()], limits=(-float(m), float(m)))
