"""Experts on a real series: forecasters of tomorrow's volume of trade, of which another one may be best for a while."""

from pathlib import Path
from typing import Any, ClassVar

import numpy as np
from pydantic import Field

from jaxonline import bounds
from jaxonline.comparators import BestSegments
from jaxonline.environments import DataStream
from jaxonline.feedback import FullInformation
from jaxonline.game import Game
from jaxonline.learners import BOA, EWA, DrawnExpert, FixedShare, FollowTheLeader, MLPoly
from jaxonline.losses import ArmLoss
from jaxonline.parameters.errors import ArgumentError
from jaxonline.study.ready.games.classical import Bound, ClassicalGame, Setting

DAYS, PAST = 1047, 20  # of the series; that a forecast may look back


class RealSeries(ClassicalGame):
    """The logarithm of Google's daily volume of trade, from August 2004 on, scaled to [0, 1]: a sample of matplotlib's.

    Seven forecasters predict the next day from the days before; the loss is the distance to the value. Learners follow
    one of them. Regret is to the best sequence of forecasters with so many switches; without any, to the best of them.
    """

    title: ClassVar[str] = "Forecasters of a real series: regret to the best sequence of them."
    runs: int = Field(64, ge=2, le=1_000_000, description="Runs of each learner, which draws whom it follows.")
    rounds: int = Field(1000, ge=2, le=DAYS - PAST, description="Days.")
    switches: int = Field(4, ge=0, le=500, description="How often the comparator may change.")

    def setting(self) -> Setting:
        T, m = self.rounds, self.switches
        if 2 * m > T - 1:
            raise ArgumentError("switches", f"must be at most half of rounds - 1 (got {m} and {T} rounds)")
        values, predictions = forecasts()
        losses = np.abs(predictions - values[:, None])[:T]
        K = losses.shape[1]
        weights, tracking = bounds.exponential_weights(K, T), bounds.fixed_share(K, T, m)
        learners = {
            "exponential weights": DrawnExpert(EWA(weights.eta)),
            "fixed share": DrawnExpert(FixedShare.over_horizon(K, T, m)),
            "BOA": DrawnExpert(BOA()),
            "ML-Poly": DrawnExpert(MLPoly()),
            "follow the leader": DrawnExpert(FollowTheLeader()),
        }
        promised: dict[str, Bound] = {"fixed share": lambda t: tracking.value}
        if m == 0:
            promised["exponential weights"] = lambda t: bounds.exponential_weights(K, t, weights.eta).value
        best = int(losses.sum(axis=0).argmin())
        sentences = [
            f"The best forecaster, {list(FORECASTERS)[best]}, loses {losses[:, best].mean():.3f} a day; a random one "
            f"{losses.mean():.3f}.",
            f"Fixed share, tuned to T and {m} switches: at most {tracking.value:.1f} at the horizon, for every series.",
        ]
        game = Game(DataStream(None, losses), FullInformation(), loss=ArmLoss())
        return Setting(game, learners, promised, sentences, BestSegments(m + 1), limits=(-1.0, 1.0))


# from the days before, the last one last [n, PAST]
FORECASTERS: dict[str, Any] = {
    "the day before": lambda past: past[:, -1],
    "the line through two days": lambda past: np.clip(2 * past[:, -1] - past[:, -2], 0, 1),
    "the same day of the week before": lambda past: past[:, -5],
    "the mean of 5 days": lambda past: past[:, -5:].mean(axis=1),
    "the mean of 20 days": lambda past: past.mean(axis=1),
    "half the way from the mean to the day before": lambda past: (past[:, -1] + past.mean(axis=1)) / 2,
    "always 1/2": lambda past: np.full(len(past), 0.5),
}


def forecasts() -> tuple[np.ndarray, np.ndarray]:
    """The values of 1,027 days, and the forecasts of each of them [1027, 7], all from 0 to 1."""
    import matplotlib

    with np.load(Path(matplotlib.get_data_path(), "sample_data", "goog.npz")) as file:
        volume = np.log(file["price_data"]["volume"].astype(float))
    series = (volume - volume.min()) / np.ptp(volume)
    past = np.lib.stride_tricks.sliding_window_view(series[:-1], PAST)
    return series[PAST:], np.column_stack([forecast(past) for forecast in FORECASTERS.values()])
