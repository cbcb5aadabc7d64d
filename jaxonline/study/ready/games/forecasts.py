"""Prediction with expert advice on a real time series: forecasts of tomorrow's trading volume."""

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

DAYS, PAST = 1047, 20  # days of the series, and days that a forecast uses


class RealSeries(ClassicalGame):
    """Logarithm of Google's daily trading volume from August 2004 on, scaled to [0, 1] (sample data of matplotlib).

    Seven forecasters predict the value of the next day; the loss is the absolute error. Learners follow one forecaster
    on each day. The comparator is the best sequence of forecasters with the given number of switches.
    """

    title: ClassVar[str] = "Forecasters of a real series: regret against the best sequence of forecasters."
    runs: int = Field(64, ge=2, le=1_000_000, description="Runs of each learner; the draws of forecasters differ.")
    rounds: int = Field(1000, ge=2, le=DAYS - PAST, description="The horizon in days.")
    switches: int = Field(4, ge=0, le=500, description="Switches of the comparator.")

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
        theorem_bounds: dict[str, Bound] = {"fixed share": lambda t: tracking.value}
        if m == 0:
            theorem_bounds["exponential weights"] = lambda t: bounds.exponential_weights(K, t, weights.eta).value
        best = int(losses.sum(axis=0).argmin())
        sentences = [
            f"The best forecaster, {list(FORECASTERS)[best]}, loses {losses[:, best].mean():.3f} a day; a random one "
            f"{losses.mean():.3f}.",
            f"Fixed share, tuned to T and {m} switches: a regret of at most {tracking.value:.1f}, for every series.",
        ]
        game = Game(DataStream(None, losses), FullInformation(), loss=ArmLoss())
        return Setting(game, learners, theorem_bounds, sentences, BestSegments(m + 1), limits=(-1.0, 1.0))


# Functions of the previous days in order [n, PAST].
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
    """Return the values of 1,027 days [1027] and the seven forecasts for each day [1027, 7], all in [0, 1]."""
    import matplotlib

    with np.load(Path(matplotlib.get_data_path(), "sample_data", "goog.npz")) as file:
        volume = np.log(file["price_data"]["volume"].astype(float))
    series = (volume - volume.min()) / np.ptp(volume)
    past = np.lib.stride_tricks.sliding_window_view(series[:-1], PAST)
    return series[PAST:], np.column_stack([forecast(past) for forecast in FORECASTERS.values()])
