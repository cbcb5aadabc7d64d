"""Mistake bounds of finite classes: halving and weighted majority, on realizable, noisy and adversarial labels."""

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
    """Prediction of labels -1 and +1 with a finite class of hypotheses.

    Kinds of labels: with "realizable", one hypothesis never errs, and the others are coin flips. With "noisy", the best
    hypothesis errs in a tenth of the rounds. With "contrary", the label is always the opposite of the prediction, so
    that deterministic learners err in every round. Lazy halving removes hypotheses only after its own mistakes.
    """

    title: ClassVar[str] = "Mistakes of halving and weighted majority."
    experts: int = Field(100, ge=2, le=100_000, description="Hypotheses in the class.")
    labels: Literal["realizable", "noisy", "contrary"] = Field("realizable", description="Generator of the labels.")

    def setting(self) -> Setting:
        K, error = self.experts, 0.1 * (self.labels == "noisy")
        environment: Any = FiniteClass([error, *[0.5] * (K - 1)])
        theorem_bounds: dict[str, Bound] = {}
        sentences = ["The adversary knows the prediction, so that deterministic learners err in every round."]
        if self.labels == "contrary":
            environment = ContraryLabels([1.0 if k % 2 else -1.0 for k in range(K)])
        else:
            best = "no mistake" if error == 0 else "mistakes in a tenth of the rounds"
            sentences = [f"The best hypothesis makes {best}."]
        if self.labels == "realizable":
            theorem_bounds = {
                "halving": lambda t: bounds.halving(K),
                "lazy halving": lambda t: bounds.halving(K),
                "weighted majority": lambda t: bounds.weighted_majority(K, BETA, 0),
            }
            sentences.append(f"Halving: at most log2 K = {math.log2(K):.1f} mistakes, for all labels.")
        game = Game(environment, FullInformation(), loss=ZeroOne())
        learners = {
            "halving": Halving(),
            "lazy halving": Halving(lazy=True),
            "weighted majority": WeightedMajority(BETA),
        }
        options = {"measures": [Mistakes()], "quantity": "mistakes", "limits": (0.0, 1.0)}
        return Setting(game, learners, theorem_bounds, sentences, **options)
