"""Adversaries that react to the moves: the theorems of papers A and B as printed, and corrected."""

from typing import ClassVar, Literal

import numpy as np
from pydantic import Field

from jaxonline import bounds
from jaxonline.bounds.regret_bound import RegretBound
from jaxonline.comparators import L2Ball
from jaxonline.environments import ChasingNoise, DataStream, OppositeInstances, OppositeLabels
from jaxonline.estimators import FullGradient, TwoCopies
from jaxonline.feedback import AdversarialCopies, FullInformation, NoisyCopies, noise
from jaxonline.game import Entrant, Game
from jaxonline.learners import GradientLearner
from jaxonline.study.ready.games.classical import ClassicalGame, Setting


class AdaptiveAdversaries(ClassicalGame):
    """Linear regression on two noisy copies against adversaries that see the predictions (erratum E21).

    An adversary chooses labels or instances against the sign of the prediction, or only the noise of data that are
    fixed beforehand.
    """

    title: ClassVar[str] = "Adversaries that react: regret against the best predictor of the unit ball."
    runs: int = Field(3000, ge=2, le=1_000_000, description="Runs of each learner.")
    rounds: int = Field(400, ge=2, le=100_000_000, description="The horizon.")
    adversary: Literal["labels", "instances", "noise"] = Field("labels", description="What the adversary chooses.")
    size: float = Field(40.0, gt=0, description="Absolute value of the labels.")

    def setting(self) -> Setting:
        x, variance, T = 0.3, 1.0, self.rounds
        copies = bounds.two_copies(1.0, float(np.hypot(x, np.sqrt(variance))), self.size, T)
        clean = bounds.full_information(1.0, x, self.size, T)
        feedback: NoisyCopies | AdversarialCopies = NoisyCopies(noise.gaussian(variance))
        if self.adversary == "noise":
            environment: DataStream | OppositeLabels | OppositeInstances = DataStream([[x]], [self.size], order="iid")
            feedback = AdversarialCopies(ChasingNoise(variance, always=True, skew=1.0))
        else:
            environment = {"labels": OppositeLabels, "instances": OppositeInstances}[self.adversary]([x], self.size)
        learners = {
            "two copies, theorem as printed": Entrant(_descent(TwoCopies(), copies), feedback),
            "two copies, corrected theorem": Entrant(_descent(TwoCopies(), copies), feedback),
            "full information": Entrant(_descent(FullGradient(), clean), FullInformation()),
        }
        theorem_bounds = {
            name: lambda t, bound=bound: bound.constant_step(bound.step_size, t)
            for name, bound in zip(learners, (copies, copies.in_any_environment(), clean), strict=True)
        }
        sentences = [
            "Papers A and B fix the best predictor before the game. If the adversary reacts to the predictions, the "
            "best predictor in hindsight depends on the noise, and the corrected bound is twice as large (erratum E21)."
        ]
        return Setting(Game(environment, FullInformation()), learners, theorem_bounds, sentences, L2Ball(1.0))


def _descent(estimator: FullGradient | TwoCopies, bound: RegretBound) -> GradientLearner:
    return GradientLearner(estimator, bound.step_size, radius=1.0)
