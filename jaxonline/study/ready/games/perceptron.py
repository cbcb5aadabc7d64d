"""Online linear classification: the perceptron and its variants on separable and on real data."""

from typing import Any, ClassVar, Literal

import numpy as np
from pydantic import Field

from jaxonline import bounds
from jaxonline.environments import DataStream, SeparableData
from jaxonline.feedback import FullInformation
from jaxonline.game import Game
from jaxonline.learners import PassiveAggressive, Perceptron, PNormPerceptron
from jaxonline.losses import ZeroOne
from jaxonline.simulation.measures import Mistakes
from jaxonline.study.ready.games.classical import Bound, ClassicalGame, Setting


class Perceptrons(ClassicalGame):
    """Mistakes of online linear classifiers that see every label.

    Kinds of data: in "separable" data, a unit vector separates instances of length at most 1 with the given margin.
    "cancer" and "digits" are shuffled passes over scikit-learn's breast cancer data, or over its digits 3 and 8. The
    columns of these data have unit variance, a constant 1 is added, and instances are scaled to a length of at most 1.
    """

    title: ClassVar[str] = "Mistakes of the perceptron and its variants."
    data: Literal["separable", "cancer", "digits"] = Field("separable", description="Data to classify.")
    margin: float = Field(0.1, gt=0, le=1, description="Margin of the separable data, where |x| <= 1.")
    dimension: int = Field(10, ge=2, le=100_000, description="Dimension of the separable data.")

    def setting(self) -> Setting:
        theorem_bounds: dict[str, Bound] = {}
        sentences = ["The margin of these data is unknown, so there is no bound."]
        if self.data == "separable":
            environment: Any = SeparableData(np.ones(self.dimension), margin=self.margin)
            limit = bounds.perceptron(1.0, self.margin)
            theorem_bounds = {"perceptron": lambda t: limit}
            sentences = [f"Novikoff: the perceptron makes at most (r / gamma)^2 = {limit:.0f} mistakes."]
        else:
            environment = DataStream(*load_labelled(self.data), order="shuffled")
        learners = {
            "perceptron": Perceptron(),
            "p-norm perceptron, p = 4": PNormPerceptron(4.0),
            "passive-aggressive I": PassiveAggressive("PA-I"),
            "passive-aggressive II": PassiveAggressive("PA-II"),
        }
        game = Game(environment, FullInformation(), loss=ZeroOne())
        options = {"measures": [Mistakes()], "quantity": "mistakes", "limits": (0.0, 1.0)}
        return Setting(game, learners, theorem_bounds, sentences, **options)


def load_labelled(name: str) -> tuple[np.ndarray, np.ndarray]:
    """Load the data "cancer" or "digits": instances of at most unit length, and labels -1 and +1."""
    from sklearn import datasets

    load: Any = datasets.load_breast_cancer if name == "cancer" else datasets.load_digits
    X, y = load(return_X_y=True)
    if name == "digits":
        X, y = X[np.isin(y, (3, 8))], y[np.isin(y, (3, 8))] == 8
    spread = X.std(axis=0)
    X = (X - X.mean(axis=0))[:, spread > 0] / spread[spread > 0]
    X = np.column_stack([X, np.ones(len(X))])
    return X / np.linalg.norm(X, axis=1).max(), np.where(y, 1.0, -1.0)
