"""Tracking the best expert: the comparator may change a few times, and fixed share may follow."""

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
    """One expert is good for a while, then another: regret to the best sequence of experts with so many switches.

    The comparator is exact: by dynamic programming over all such sequences, run by run.
    """

    title: ClassVar[str] = "Tracking experts: regret to the best sequence of experts."
    runs: int = Field(64, ge=2, le=1_000_000, description="Runs of each learner.")
    experts: int = Field(5, ge=2, le=10_000, description="Their number.")
    switches: int = Field(4, ge=1, le=10_000, description="How often the good expert changes.")
    gap: float = Field(0.8, gt=0, le=1, description="Between the good expert's mean loss, (1 - gap) / 2, and 1/2.")

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
        promised = {"fixed share": lambda t: bounds.fixed_share(K, T, m).value}
        sentences = [
            f"Fixed share, tuned to T and {m} switches: at most {bounds.fixed_share(K, T, m).value:.1f} at the "
            "horizon, to every such sequence. Exponential weights promise nothing to sequences that switch."
        ]
        game = Game(environment, FullInformation(), loss=ExpectedLoss())
        return Setting(game, learners, promised, sentences, BestSegments(m + 1), limits=(-1.0, 1.0))
