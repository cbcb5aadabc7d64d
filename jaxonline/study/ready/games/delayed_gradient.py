"""Gradient descent with delayed labels: how much a delay increases the regret, in the theorem and in simulations."""

from typing import ClassVar

import numpy as np
from pydantic import Field

from jaxonline import bounds
from jaxonline.comparators import L2Ball
from jaxonline.environments import LinearModel
from jaxonline.estimators import FullGradient
from jaxonline.feedback import Delayed, FullInformation
from jaxonline.game import Entrant, Game
from jaxonline.learners import BOLD, GradientLearner, UpdateOnArrival
from jaxonline.simulation.measures import Unanswered
from jaxonline.study.ready.games.classical import Bound, ClassicalGame, Setting
from jaxonline.study.ready.games.delayed import whole_delays
from jaxonline.study.study import Numbers


class DelayedGradient(ClassicalGame):
    """Noisy linear targets (labels) that arrive after a fixed number of rounds, for several delays at once.

    The regret bounds assume |<w, x> - y| <= 2, which only the tails of the noise violate. BOLD plays with one copy of
    the learner per round whose label has not arrived.
    """

    title: ClassVar[str] = "Delayed labels: regret of gradient descent against the best predictor of a ball."
    delays: Numbers = Field((0, 20, 100), description="Delays, each a number of rounds.")

    def setting(self) -> Setting:
        weights, G = np.linspace(-1.0, 1.0, 5), 16.0  # |2 (<w, x> - y) x| <= 4
        environment = LinearModel(0.9 * weights / np.linalg.norm(weights), instances="sphere", noise_std=0.3)
        learners: dict[str, Entrant] = {}
        theorem_bounds: dict[str, Bound] = {}
        for d in whole_delays(self.delays):
            feedback = Delayed(FullInformation(), d)
            bound = bounds.delayed_gradient_descent(1.0, G, d, self.rounds)
            copy = bounds.gradient_descent(1.0, G, -(-self.rounds // (d + 1)))
            learners[f"on arrival, d = {d}"] = Entrant(UpdateOnArrival(_descent(bound)), feedback)
            theorem_bounds[f"on arrival, d = {d}"] = lambda t, b=bound: float(b.constant_step(b.step_size, np.array(t)))
            learners[f"BOLD, d = {d}"] = Entrant(BOLD(_descent(copy), d), feedback)
            theorem_bounds[f"BOLD, d = {d}"] = lambda t, b=copy, d=d: float(
                bounds.bold(lambda rounds: b.constant_step(b.step_size, rounds), d, t)
            )
        sentences = [
            "A delay d multiplies the bound of updates on arrival by sqrt(1 + 2 d), and that of BOLD by sqrt(1 + d)."
        ]
        return Setting(
            Game(environment, FullInformation()), learners, theorem_bounds, sentences, L2Ball(1.0), [Unanswered()]
        )


def _descent(bound: bounds.RegretBound) -> GradientLearner:
    return GradientLearner(FullGradient(), bound.step_size, radius=1.0)
