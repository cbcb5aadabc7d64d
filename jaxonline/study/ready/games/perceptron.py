"""Linear classifiers that learn from mistakes: the perceptron and its kin, on data with a margin and on real data."""

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from jaxonline import bounds
from jaxonline.environments import DataStream, SeparableData
from jaxonline.feedback import FullInformation
from jaxonline.game import Game
from jaxonline.learners import PassiveAggressive, Perceptron, PNormPerceptron, VotedPerceptron
from jaxonline.losses import ZeroOne
from jaxonline.simulation.measures import Mistakes
from jaxonline.study.ready.games.classical import Bound, ClassicalGame, Setting


class Perceptrons(ClassicalGame):
    """Mistakes of linear classifiers, which are told every label.

    "separable": a unit vector separates the labels with the margin, and instances have a length of at most 1. "cancer"
    and "digits": scikit-learn's breast cancer data, and its digits 3 and 8, in shuffled passes; columns have unit
    variance, a constant 1 is added, and instances are then scaled to a length of at most 1.
    """

    title: ClassVar[str] = "Mistakes of the perceptron and its kin."
    data: Literal["separable", "cancer", "digits"] = Field("separable", description="What is to be classified.")
    margin: float = Field(0.1, gt=0, le=1, description="Of the separable data, whose instances have |x| <= 1.")
    dimension: int = Field(10, ge=2, le=100_000, description="Of the separable data.")

    def setting(self) -> Setting:
        promised: dict[str, Bound] = {}
        sentences = ["No margin is known of these data, and so no bound."]
        if self.data == "separable":
            environment: Any = SeparableData(np.ones(self.dimension), margin=self.margin)
            limit = bounds.perceptron(1.0, self.margin)
            room, promised = int(min(limit, self.rounds)) + 1, {"perceptron": lambda t: limit}
            sentences = [f"Novikoff: the perceptron makes at most (r / gamma)^2 = {limit:.0f} mistakes."]
        else:
            environment, room = DataStream(*labelled(self.data), order="shuffled"), self.rounds
        learners = {
            "perceptron": Perceptron(),
            "voted perceptron": VotedPerceptron(room),
            "p-norm perceptron, p = 4": PNormPerceptron(4.0),
            "passive-aggressive I": PassiveAggressive("PA-I"),
            "passive-aggressive II": PassiveAggressive("PA-II"),
        }
        game = Game(environment, FullInformation(), loss=ZeroOne())
        counted = {"measures": [Mistakes()], "quantity": "mistakes", "limits": (0.0, 1.0)}
        return Setting(game, learners, promised, sentences, **counted)


def labelled(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Instances of at most unit length, and labels -1 and +1, of "cancer" or "digits"."""
    from sklearn import datasets

    load: Any = datasets.load_breast_cancer if name == "cancer" else datasets.load_digits
    X, y = load(return_X_y=True)
    if name == "digits":
        X, y = X[np.isin(y, (3, 8))], y[np.isin(y, (3, 8))] == 8
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0))[:, spread > 0] / spread[spread > 0]
    X = np.column_stack([X, np.ones(len(X))])
    return X / np.linalg.norm(X, axis=1).max(), np.where(y, 1.0, -1.0)
