"""Mistakes in a finite class: few where one hypothesis is perfect, and one every round against an adversary."""

import math
from typing import Any, ClassVar, Literal

from pydantic import Field

from jaxonline import bounds
from jaxonline.environments import ContraryLabels, FiniteClass
from jaxonline.feedback import FullInformation
from jaxonline.game import Game
from jaxonline.learners import Halving, WeightedMajority
from jaxonline.losses import ZeroOne
from jaxonline.simulation.measures import Mistakes
from jaxonline.study.ready.games.classical import Bound, ClassicalGame, Setting

BETA = 0.5


class FiniteClasses(ClassicalGame):
    """Labels -1 and +1, and hypotheses that predict them.

    "realizable": one hypothesis never errs, the others are coins. "noisy": it errs in one round of ten. "contrary": the
    label is what the learner did not predict, so that every deterministic learner errs in every round.
    """

    title: ClassVar[str] = "Mistakes of halving and weighted majority."
    experts: int = Field(100, ge=2, le=100_000, description="Hypotheses in the class.")
    labels: Literal["realizable", "noisy", "contrary"] = Field("realizable", description="Where labels come from.")

    def setting(self) -> Setting:
        K, error = self.experts, 0.1 * (self.labels == "noisy")
        environment: Any = FiniteClass([error, *[0.5] * (K - 1)])
        promised: dict[str, Bound] = {}
        sentences = ["The adversary knows the prediction: every deterministic learner errs in every round."]
        if self.labels == "contrary":
            environment = ContraryLabels([1.0 if k % 2 else -1.0 for k in range(K)])
        else:
            best = "no mistake" if error == 0 else "mistakes in a tenth of the rounds"
            sentences = [f"The best hypothesis makes {best}."]
        if self.labels == "realizable":
            promised = {
                "halving": lambda t: bounds.halving(K),
                "weighted majority": lambda t: bounds.weighted_majority(K, BETA, 0),
            }
            sentences.append(f"Halving: at most log2 K = {math.log2(K):.1f} mistakes, whatever the labels.")
        game = Game(environment, FullInformation(), loss=ZeroOne())
        learners = {"halving": Halving(), "weighted majority": WeightedMajority(BETA)}
        counted = {"measures": [Mistakes()], "quantity": "mistakes", "limits": (0.0, 1.0)}
        return Setting(game, learners, promised, sentences, **counted)
