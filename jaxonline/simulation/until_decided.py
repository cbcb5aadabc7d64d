"""Simulation of as many runs as are needed to decide about all pairs of learners."""

import dataclasses
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from jaxonline.parameters import check
from jaxonline.parameters.errors import ArgumentError, UndecidedWarning
from jaxonline.parameters.signatures import check_fields
from jaxonline.parameters.types import CountFrom2, NonNegativeFloat, OpenUnitFloat, Text
from jaxonline.results import Result
from jaxonline.results.statistics import estimates
from jaxonline.results.statistics.intervals import Anytime, Betting, ConfidenceInterval
from jaxonline.results.statistics.means import paired_differences
from jaxonline.results.statistics.sequential import PairStates, encode_pairs, look

ANYTIME = Anytime()
MAX_LISTED_PAIRS = 3
GROWTH = 10  # the next look is at 1 / GROWTH more runs, rounded up to a block


@dataclass(frozen=True)
class UntilDecided:
    """Stopping rule: a study ends when each pair of learners is decided: better, worse, or no difference that matters.

    The rule compares the means of the quantity at the horizon, run by run, after each further block of runs (or after
    10 % more runs). A pair is decided as soon as the interval of its mean difference excludes 0, or lies between
    -`margin` and `margin`. A decision is final. `Result.decisions` has the decisions and the number of saved runs.

    All decisions of a study are correct together with probability `level`, although the rule looks many times: the
    intervals hold for all numbers of runs at once, and are corrected for the number of pairs (Bonferroni). With
    `Anytime`, this requires that no event matters which is missing from the runs; the printed decisions say so. The
    means of a stopped study are biased. `docs/intervals.md` reports measured error rates.

    * `jo.intervals.Betting` holds for every distribution of bounded losses.
    * `jo.intervals.Anytime` holds for many runs of finite variance. It decides nothing if the differences have no
      variance (unless the game is deterministic), or if their skewness divided by sqrt(runs) is above 0.1. It cannot
      know an event that occurs in no run; the probability of such an event is at most 3 / runs (with 95 % confidence).

    Args:
        margin: the largest difference of means that does not matter; 0 if each difference matters. Then learners with
            equal means remain undecided.
        quantity: the compared quantity: "regret", or the name of a measure.
        level: probability that all decisions are correct together.
        least_runs: number of runs before the first decision.
        interval: `jo.intervals.Anytime()`, or `jo.intervals.Betting(low, high)` with the limits of the quantity in one
            round.

    Raises:
        ValueError: a number is out of its range.
        TypeError: the interval does not hold for all numbers of runs at once.

    References:
        Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas (2024), "Time-uniform central limit theory and asymptotic
        confidence sequences", for the default interval.

    Example:
        >>> import jaxonline as jo
        >>> arms = jo.environments.BernoulliArms([0.2, 0.8])
        >>> game = jo.Game(arms, jo.Bandit(), loss=jo.losses.ArmLoss())
        >>> learners = {"UCB1": jo.learners.UCB1(), "random": jo.learners.EpsilonGreedy(1.0)}
        >>> until = jo.UntilDecided(margin=0.5, quantity="cumulative_loss")
        >>> result = jo.simulate(game, learners, n_rounds=50, n_runs=10_000, block_size=64, until=until)
        >>> result.decisions.between("UCB1", "random"), result.decisions.runs, result.decisions.saved
        ('better', 128, 9872)
    """

    margin: NonNegativeFloat
    quantity: Text = "regret"
    level: OpenUnitFloat = 0.95
    least_runs: CountFrom2 = 100
    interval: ConfidenceInterval = ANYTIME

    def __post_init__(self) -> None:
        check_fields(self)
        valid = isinstance(self.interval, Anytime | Betting)
        advice = (
            "an interval for all numbers of runs at once: jo.intervals.Anytime() or jo.intervals.Betting(low, high)"
        )
        check.instance("interval", self.interval, valid, advice)

    def check_study(self, learners: int, n_runs: int) -> None:
        """Check that a study has at least two learners and enough runs."""
        if learners < 2:
            raise ArgumentError(
                "learners", f"must be at least two to be compared by until=UntilDecided (got {learners})"
            )
        if n_runs < self.least_runs:
            raise ArgumentError(
                "n_runs", f"must be at least least_runs={self.least_runs} of until=UntilDecided (got {n_runs})"
            )

    def choose_interval(self, n_rounds: int, most_runs: int) -> ConfidenceInterval:
        """Return the interval of a study, which does not depend on its runs."""
        if isinstance(self.interval, Betting):
            return dataclasses.replace(self.interval, quantity=self.quantity)
        return self.interval

    def attributes(self, reached: bool, runs: int, interval: ConfidenceInterval) -> dict[str, Any]:
        """Return attributes of the store of an unfinished study: the rule, and the kind of interval."""
        outcome = {"complete": reached, "runs": runs}
        return {"decisions": self.summary(interval) | outcome, "interval": interval.to_json()}

    def summary(self, interval: ConfidenceInterval) -> dict[str, Any]:
        """Return the numbers of the rule, for `Result.meta`."""
        named = {name: getattr(self, name) for name in ("margin", "quantity", "level", "least_runs")}
        return named | {"tests": interval.test}

    def differences(self, result: Result, n_runs: int) -> np.ndarray:
        """Return the differences of all pairs of learners [P, R] in the first `n_runs` runs of a result."""
        estimates.check_number(result, self.quantity)
        values = estimates.costs(result, self.quantity)[:, :n_runs]
        return paired_differences(values)


def until_decided(
    play: Callable[[range, Result | None], Result], rule: UntilDecided, most_runs: int, width: int, step: int,
    interval: ConfidenceInterval = ANYTIME, is_deterministic: Callable[[], bool] = lambda: False,
) -> Result:  # fmt: skip
    """Simulate runs 0, 1, 2, ... until all pairs are decided; `UndecidedWarning` if `most_runs` do not suffice.

    `play` is as in `until_precise`. The looks depend on the block size `width`, and not on the number of runs `step`
    that are played at the same time; so the result does not depend on the number of devices.
    """
    result: Any = None  # there is at least one look
    states: Any = None
    computed, n = 0, 0
    for n in looks(rule.least_runs, width, most_runs):
        if n > computed:
            until = min(most_runs, _round_up(n, step))
            result, computed = play(range(computed, until), result), until
        differences, between = rule.differences(result, n), interval.after(result.rounds[-1]).of_difference()
        states = look(
            states or PairStates.begin(len(differences)), differences, rule, between, len(differences), is_deterministic
        )
        if not states.undecided.any():
            break
    pairs = encode_pairs(result.learners, states)
    if states.undecided.any():
        _warn(pairs, n)
    outcome = {"complete": not states.undecided.any(), "runs": n, "saved": most_runs - n, "pairs": pairs}
    result = result if n == computed else result.select(runs=slice(n))
    return dataclasses.replace(
        result, meta=result.meta | {"decisions": rule.summary(interval) | outcome}, interval=interval
    )


def looks(least_runs: int, width: int, most_runs: int) -> Iterator[int]:
    """Yield the numbers of runs at which the rule looks: a further block, or 10 % more runs, each time.

    Example:
        >>> list(looks(100, 64, 500))
        [128, 192, 256, 320, 384, 448, 500]
    """
    n = _round_up(least_runs, width)
    while n < most_runs:
        yield n
        n += max(width, _round_up(n // GROWTH, width))
    yield most_runs


def _warn(pairs: list[list[Any]], n_runs: int) -> None:
    undecided = [f"{first!r} and {second!r}" for first, second, decision, *_ in pairs if decision == "undecided"]
    listed = ", ".join(undecided[:MAX_LISTED_PAIRS]) + (", ..." if len(undecided) > MAX_LISTED_PAIRS else "")
    warnings.warn(
        f"until: {len(undecided)} of {len(pairs)} pairs undecided after n_runs={n_runs:,} ({listed}); give more runs "
        "or a larger margin; if the differences do not vary or are very skewed, only "
        "interval=jo.intervals.Betting(low, high) decides",
        UndecidedWarning, stacklevel=5,
    )  # fmt: skip


def _round_up(runs: int, step: int) -> int:
    return -(-runs // step) * step
