"""Exponents of the regret in T with partial information: strong and weak feedback graphs, and dynamic pricing.

python -m benchmarks.information [--runs 400]

Each horizon T has its own learner, tuned for T, and its own game, with the gap that is hard for T: of order T^(-1/2)
for the strong graph and T^(-1/3) for the others. The exponent is the slope of ln(mean regret) on ln T, by least
squares. Its 95 % interval has the standard errors of the mean regrets.
"""

import argparse
from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np

import jaxonline as jo
from jaxonline.environments import BernoulliArms, DataStream
from jaxonline.learners import EXP3G, FeedExp3

HORIZONS = tuple(4**k for k in range(5, 9))
K = 4
STRONG = 1 - np.eye(K, dtype=int)  # every arm shows all others
WEAK = np.eye(K, dtype=int)[:1].T @ np.ones((1, K), int)  # the first arm, which has the largest loss, shows all
PRICES, VALUES = np.indices((K, K))
PRICING = jo.PartialMonitoring(
    losses=np.where(PRICES <= VALUES, (VALUES - PRICES) / K, 1 / 2),  # 1/2 if the price is above the buyer's value
    signals=np.where(PRICES <= VALUES, 1, 0),  # whether the buyer buys
)


class Exponent(NamedTuple):
    """A game, the class of its information, mean regrets with their standard errors, and the exponent."""

    name: str
    information: str
    means: np.ndarray
    errors: np.ndarray

    @property
    def slope(self) -> tuple[float, float]:
        """The exponent and the half-width of its 95 % interval."""
        x = np.log(HORIZONS) - np.log(HORIZONS).mean()
        weights = x / (x @ x)
        return float(weights @ np.log(self.means)), float(1.96 * np.linalg.norm(weights * self.errors / self.means))


def strong(n_rounds: int) -> tuple[jo.Game, Any]:
    """Return a graph in which each arm shows all others, and one arm is better by 1 / sqrt(T)."""
    arms = BernoulliArms([0.5, 0.5, 0.5, 0.5 - n_rounds**-0.5])
    game = jo.Game(arms, jo.FeedbackGraph(STRONG), loss=jo.losses.ArmLoss(), pseudo=True)
    return game, EXP3G.over_horizon(STRONG, n_rounds)


def weak(n_rounds: int) -> tuple[jo.Game, Any]:
    """Return a graph in which only the arm with loss 1 shows losses, and one arm is better by T^(-1/3)."""
    arms = BernoulliArms([1.0, 0.5, 0.5, 0.5 - n_rounds ** (-1 / 3)])
    game = jo.Game(arms, jo.FeedbackGraph(WEAK), loss=jo.losses.ArmLoss(), pseudo=True)
    return game, EXP3G.over_horizon(WEAK, n_rounds)


def pricing(n_rounds: int, n_rows: int = 3000) -> tuple[jo.Game, Any]:
    """Return dynamic pricing with a law of the values that makes the mean losses of the prices differ by T^(-1/3)."""
    losses = np.array(PRICING.losses)
    # the law of the value on which all prices have the same mean loss, moved towards the highest value
    balanced = np.linalg.lstsq(np.vstack([losses[1:] - losses[:-1], np.ones(K)]), np.eye(K)[K - 1])[0]
    law = balanced + n_rounds ** (-1 / 3) * (np.eye(K)[K - 1] - balanced)
    values = np.searchsorted(np.cumsum(law), (np.arange(n_rows) + 0.5) / n_rows)
    game = jo.Game(DataStream(None, losses.T[values], order="iid"), PRICING, loss=jo.losses.ArmLoss())
    return game, FeedExp3.over_horizon(PRICING, n_rounds)


def exponents(n_runs: int) -> Iterator[Exponent]:
    """Measure the exponents."""
    games = {
        "graph: each arm shows all others": (strong, jo.FeedbackGraph(STRONG).observability),
        "graph: the worst arm shows all": (weak, jo.FeedbackGraph(WEAK).observability),
        "dynamic pricing, 4 prices": (pricing, PRICING.observability),
    }
    for name, (make, information) in games.items():
        regrets = np.zeros((len(HORIZONS), n_runs))
        for row, n_rounds in zip(regrets, HORIZONS, strict=True):
            game, learner = make(n_rounds)
            row[:] = jo.simulate(
                game, learner, n_runs=n_runs, n_rounds=n_rounds, comparator=jo.BestArm(), key=1
            ).regret[0, :, -1]  # fmt: skip
        yield Exponent(name, information, regrets.mean(axis=1), regrets.std(axis=1, ddof=1) / np.sqrt(n_runs))


def main() -> None:
    """Print a table of mean regrets and exponents."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=400)
    head = ["game", "information", *(f"T = {n_rounds:,}" for n_rounds in HORIZONS), "exponent"]
    print(f"| {' | '.join(head)} |\n| --- | --- {'| ---: ' * (len(head) - 2)}|")
    for each in exponents(parser.parse_args().runs):
        slope, width = each.slope
        regrets = [f"{mean:.1f} ± {1.96 * error:.1f}" for mean, error in zip(each.means, each.errors, strict=True)]
        print(f"| {each.name} | {each.information} | {' | '.join(regrets)} | {slope:.3f} ± {width:.3f} |", flush=True)


if __name__ == "__main__":
    main()
