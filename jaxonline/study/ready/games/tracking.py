"""Tracking the best expert: comparators that switch between experts, and fixed share."""

from typing import ClassVar

from pydantic import Field

from jaxonline import bounds
from jaxonline.comparators import BestSegments
from jaxonline.environments import SwitchingExperts
from jaxonline.feedback import FullInformation
from jaxonline.game import Game
from jaxonline.learners import BOA, EWA, FixedShare, Hedge
from jaxonline.losses import ExpectedLoss
from jaxonline.parameters.errors import ArgumentError
from jaxonline.study.ready.games.classical import ClassicalGame, Setting


class Tracking(ClassicalGame):
    """Experts that are good one after the other; the comparator is the best sequence of experts with m switches.

    The comparator's loss is exact: it is computed by dynamic programming in every run.
    """

    title: ClassVar[str] = "Tracking experts: regret against the best sequence of experts."
    runs: int = Field(64, ge=2, le=1_000_000, description="Runs of each learner.")
    experts: int = Field(5, ge=2, le=10_000, description="Number of experts.")
    switches: int = Field(4, ge=1, le=10_000, description="Switches of the good expert.")
    gap: float = Field(0.8, gt=0, le=1, description="The good expert's mean loss is (1 - gap) / 2, the others' 1/2.")

    def setting(self) -> Setting:
        K, T, m = self.experts, self.rounds, self.switches
        if 2 * m > T - 1:
            raise ArgumentError("switches", f"must be at most half of rounds - 1 (got {m} and {T} rounds)")
        environment = SwitchingExperts(K, every=-(-T // (m + 1)), gap=self.gap)
        share, weights = FixedShare.over_horizon(K, T, m), bounds.exponential_weights(K, T)
        learners = {
            "fixed share": Hedge(share),
            "exponential weights": Hedge(EWA(weights.eta)),
            "BOA": Hedge(BOA()),
        }
        theorem_bounds = {"fixed share": lambda t: bounds.fixed_share(K, T, m).value}
        sentences = [
            f"Fixed share, tuned to T and {m} switches: a regret of at most {bounds.fixed_share(K, T, m).value:.1f} "
            "against every such sequence. Exponential weights have no bound against switching sequences."
        ]
        game = Game(environment, FullInformation(), loss=ExpectedLoss())
        return Setting(game, learners, theorem_bounds, sentences, BestSegments(m + 1), limits=(-1.0, 1.0))
