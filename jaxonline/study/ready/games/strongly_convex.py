"""Strongly convex losses: a regret that grows as ln T against a regret that grows as sqrt(T)."""

import math
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from jaxonline import bounds
from jaxonline.comparators import L2Ball
from jaxonline.environments import DataStream
from jaxonline.estimators import FullGradient
from jaxonline.feedback import FullInformation
from jaxonline.game import Game
from jaxonline.learners import AdaGrad, GradientLearner, InverseSqrt, InverseTime
from jaxonline.study.ready.games.classical import Bound, ClassicalGame, Setting


class StronglyConvex(ClassicalGame):
    """Prediction of coin flips y = -1 or +1 by a number w in [-1, 1] under the squared loss (w - y)^2.

    The loss is 2-strongly convex with gradients of at most 4. With steps 1 / (2 t) the hypothesis is the mean of the
    outcomes so far, and the expected regret after T rounds is 2 + 1/2 + ... + 1/(T - 1).
    """

    title: ClassVar[str] = "Strongly convex losses: regret with steps 1/t and 1/sqrt(t)."
    on_logarithmic_axes: ClassVar[bool] = True
    rounds: int = Field(10_000, ge=2, le=100_000_000, description="The horizon.")

    def setting(self) -> Setting:
        T, G, gradient = self.rounds, 4.0, FullGradient()
        logarithmic = bounds.strongly_convex(2.0, G, T)
        descent = bounds.gradient_descent(1.0, G**2, T)
        adaptive = bounds.adagrad(1.0, [G * math.sqrt(T)])
        eta = math.sqrt(2.0) / G
        learners: dict[str, Any] = {
            "steps 1 / (2 t)": GradientLearner(gradient, InverseTime(logarithmic.eta), radius=1.0),
            "steps eta / sqrt(t)": GradientLearner(gradient, InverseSqrt(eta), radius=1.0),
            "constant step": GradientLearner(gradient, descent.step_size, radius=1.0),
            "AdaGrad": AdaGrad(gradient, adaptive.step_size, 1.0),
        }
        theorem_bounds: dict[str, Bound] = {
            "steps 1 / (2 t)": lambda t: float(logarithmic.at_rounds(t)),
            "steps eta / sqrt(t)": lambda t: float(descent.inverse_sqrt_step(eta, np.array(t))),
            "constant step": lambda t: float(descent.constant_step(descent.step_size, np.array(t))),
            "AdaGrad": lambda t: bounds.adagrad(1.0, [G * math.sqrt(t)]).value,
        }
        exact = 1.0 + sum(1.0 / t for t in range(1, T))
        sentences = [
            f"Hazan, Agarwal and Kale: with steps 1 / (2 t) the regret is at most {logarithmic.value:.1f} after {T:,} "
            f"rounds, for all outcomes. For coin flips its mean is {exact:.3f}, exactly."
        ]
        game = Game(DataStream(np.ones((2, 1)), np.array([-1.0, 1.0]), order="iid"), FullInformation())
        return Setting(game, learners, theorem_bounds, sentences, L2Ball(1.0))
