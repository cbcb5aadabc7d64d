"""Online convex optimisation: linear prediction under the squared loss by first- and second-order methods."""

import math
from typing import ClassVar

import numpy as np
import optax
from pydantic import Field

from jaxonline import bounds
from jaxonline.comparators import L2Ball
from jaxonline.environments import LinearModel
from jaxonline.estimators import FullGradient
from jaxonline.feedback import FullInformation
from jaxonline.game import Game
from jaxonline.learners import GradientLearner, InverseSqrt, OnlineNewtonStep
from jaxonline.study.ready.games.classical import ClassicalGame, Setting

_ADAM = optax.adam(1.0)  # a constant, since every call of optax compiles anew


class Convex(ClassicalGame):
    """Linear targets with noise, and instances that are uniform on the sphere.

    The comparator is the best linear predictor in the unit ball. The regret bounds assume |<w, x> - y| <= 2, which only
    the tails of the noise violate.
    """

    title: ClassVar[str] = "Convex losses: regret against the best predictor of a ball."
    dimension: int = Field(5, ge=1, le=1000, description="Dimension of the instances.")
    noise_std: float = Field(0.3, ge=0, description="Standard deviation of the noise on targets.")

    def setting(self) -> Setting:
        weights = np.linspace(-1.0, 1.0, self.dimension) if self.dimension > 1 else np.ones(1)
        environment = LinearModel(0.9 * weights / np.linalg.norm(weights), instances="sphere", noise_std=self.noise_std)
        max_gradient, max_error = 4.0, 2.0  # of |2 (<w, x> - y) x| and of |<w, x> - y|
        descent = bounds.gradient_descent(1.0, max_gradient**2, self.rounds)
        alpha = 1 / (2 * max_error**2)  # exp-concavity
        newton = bounds.online_newton_step(alpha, max_gradient, 2.0, self.dimension, max(self.rounds, 4))
        eta, gradient = math.sqrt(2) / max_gradient, FullGradient()
        learners = {
            "gradient descent, constant step": GradientLearner(gradient, descent.step_size, radius=1.0),
            "gradient descent, eta / sqrt(t)": GradientLearner(gradient, InverseSqrt(eta), radius=1.0),
            "Adam": GradientLearner(gradient, InverseSqrt(0.1), radius=1.0, optimizer=_ADAM),
            "Newton step": OnlineNewtonStep(gradient, newton.gamma, newton.epsilon, 1.0),
        }
        theorem_bounds = {
            "gradient descent, constant step": lambda t: float(descent.constant_step(descent.step_size, np.array(t))),
            "gradient descent, eta / sqrt(t)": lambda t: float(descent.inverse_sqrt_step(eta, np.array(t))),
            "Newton step": lambda t: (
                bounds.online_newton_step(alpha, max_gradient, 2.0, self.dimension, max(t, 4)).value
            ),
        }
        sentences = [
            f"Zinkevich: gradient descent with a constant step has a regret of at most {descent.value:.0f} at the "
            "horizon; that of the online Newton step grows with ln t."
        ]
        game = Game(environment, FullInformation())
        return Setting(game, learners, theorem_bounds, sentences, L2Ball(1.0))
