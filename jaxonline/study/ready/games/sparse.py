"""Labels that few of many boolean attributes decide: Winnow, the perceptron, and halving over all such rules."""

import math
from typing import Any, ClassVar

from pydantic import Field

from jaxonline import bounds
from jaxonline.environments import SparseBooleans
from jaxonline.feedback import FullInformation
from jaxonline.game import Game
from jaxonline.learners import Halving, Perceptron, ThresholdAdvice, Winnow, WithFeatures
from jaxonline.losses import ZeroOne
from jaxonline.parameters.errors import ArgumentError
from jaxonline.simulation.measures import Mistakes
from jaxonline.study.ready.games.classical import Bound, ClassicalGame, Setting

MAX_FUNCTIONS = 20_000  # for halving, whose round costs one operation for each function


class SparseAttributes(ClassicalGame):
    """Boolean instances (the words of a message) whose label is +1 if at least r of k relevant attributes are present.

    Winnow's bound grows with the logarithm of the number of attributes, and the perceptron's bound in proportion to it.
    Halving votes over all sets of k attributes, of which there are at most 20,000; for more sets it does not play.
    """

    title: ClassVar[str] = "Mistakes with few relevant attributes: Winnow, perceptron and halving."
    runs: int = Field(64, ge=2, le=1_000_000, description="Runs of each learner.")
    attributes: int = Field(64, ge=2, le=100_000, description="Attributes of an instance; the last is always present.")
    relevant: int = Field(2, ge=1, le=1000, description="Relevant attributes, k.")
    required: int = Field(1, ge=1, le=1000, description="Relevant attributes that make a label +1, r.")
    presence: float = Field(0.2, gt=0, lt=1, description="Probability of an attribute.")

    def setting(self) -> Setting:
        d, k, r = self.attributes, self.relevant, self.required
        if k >= d:
            raise ArgumentError("relevant", f"must be less than attributes, {d} (got {k})")
        if r > k:
            raise ArgumentError("required", f"must be at most relevant, {k} (got {r})")
        promotion = 2.0 if r == 1 else 1.0 + 1.0 / (2.0 * r)
        # u = 1 on the relevant attributes and 1/2 - r on the last one: y <u, x> >= 1/2
        margin = 0.5 / math.sqrt(k + (r - 0.5) ** 2)
        limits = {
            "Winnow": bounds.winnow(d, k, promotion, n_required=r),
            "perceptron": bounds.perceptron(math.sqrt(d), margin),
        }
        learners: dict[str, Any] = {"Winnow": Winnow(promotion), "perceptron": Perceptron()}
        if math.comb(d, k) <= MAX_FUNCTIONS:
            advice = ThresholdAdvice(d, k, r)
            learners["halving"] = WithFeatures(Halving(), advice)
            limits["halving"] = float(bounds.halving(advice.n_functions))
        theorem_bounds: dict[str, Bound] = {name: lambda t, limit=limit: limit for name, limit in limits.items()}
        sentences = [
            f"Of {d} attributes {k} are relevant: Winnow makes at most {limits['Winnow']:.0f} mistakes, the perceptron "
            f"at most {limits['perceptron']:.0f}, and halving over the {math.comb(d, k):,} rules at most "
            f"{bounds.halving(math.comb(d, k))}."
        ]
        game = Game(SparseBooleans(d, k, r, self.presence), FullInformation(), loss=ZeroOne())
        options = {"measures": [Mistakes()], "quantity": "mistakes", "limits": (0.0, 1.0)}
        return Setting(game, learners, theorem_bounds, sentences, **options)
