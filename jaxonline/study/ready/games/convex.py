"""Online convex optimisation: linear predictors under the squared loss, by gradients, entropy and second order."""

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

_ADAM = optax.adam(1.0)  # made once: every call of optax makes a new program


class Convex(ClassicalGame):
    """Linear targets with noise, instances uniform on the sphere; learners see instance and target.

    Regret is to the best predictor of the unit ball. Bounds take |<w, x> - y| <= 2, which holds but for the tails of
    the noise.
    """

    title: ClassVar[str] = "Convex losses: regret to the best predictor of a ball."
    dimension: int = Field(5, ge=1, le=1000, description="Of the instances.")
    noise_std: float = Field(0.3, ge=0, description="Standard deviation of the noise on targets.")

    def setting(self) -> Setting:
        weights = np.linspace(-1.0, 1.0, self.dimension) if self.dimension > 1 else np.ones(1)
        environment = LinearModel(0.9 * weights / np.linalg.norm(weights), instances="sphere", noise_std=self.noise_std)
        steepest, farthest = 4.0, 2.0  # of the gradient 2 (<w, x> - y) x, and of |<w, x> - y|
        descent = bounds.gradient_descent(1.0, steepest**2, self.rounds)
        newton = bounds.online_newton_step(1 / (2 * farthest**2), steepest, 2.0, self.dimension, max(self.rounds, 4))
        eta, gradient = math.sqrt(2) / steepest, FullGradient()
        learners = {
            "gradient descent, constant step": GradientLearner(gradient, descent.step_size, radius=1.0),
            "gradient descent, eta / sqrt(t)": GradientLearner(gradient, InverseSqrt(eta), radius=1.0),
            "Adam": GradientLearner(gradient, InverseSqrt(0.1), radius=1.0, optimizer=_ADAM),
            "Newton step": OnlineNewtonStep(gradient, newton.gamma, newton.epsilon, 1.0),
        }
        promised = {
            "gradient descent, constant step": lambda t: float(descent.constant_step(descent.step_size, np.array(t))),
            "gradient descent, eta / sqrt(t)": lambda t: float(descent.inverse_sqrt_step(eta, np.array(t))),
            "Newton step": lambda t: (
                bounds.online_newton_step(1 / (2 * farthest**2), steepest, 2.0, self.dimension, max(t, 4)).value
            ),
        }
        sentences = [
            f"Zinkevich: gradient descent with a constant step has at most {descent.value:.0f} at the horizon; the "
            "online Newton step grows with ln t."
        ]
        game = Game(environment, FullInformation())
        return Setting(game, learners, promised, sentences, L2Ball(1.0))
